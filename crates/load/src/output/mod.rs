//! The result for people: a summary, charts, a line of progress, and a table by the second.

mod chart;
mod csv;
mod progress;
mod summary;

pub use csv::write_csv;
pub use progress::{progress_line, step_line};
pub use summary::summary;

/// Bytes with the binary unit that suits: `1.25 GiB`.
fn bytes(n: u64) -> String {
    let mut value = n as f64;
    for unit in ["B", "KiB", "MiB", "GiB"] {
        if value < 1024.0 {
            return if unit == "B" { format!("{n} B") } else { format!("{value:.2} {unit}") };
        }
        value /= 1024.0;
    }
    format!("{value:.2} TiB")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_for_people() {
        assert_eq!([5, 2048, 3 << 30].map(bytes), ["5 B", "2.00 KiB", "3.00 GiB"]);
    }
}
