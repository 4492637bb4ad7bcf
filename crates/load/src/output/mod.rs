//! The result for people: a summary, charts, a line of progress, and a table by the second.

mod chart;
mod csv;
mod progress;
mod summary;

pub use csv::write_csv;
pub use progress::{progress_line, step_line};
pub use summary::summary;

/// A count with its thousands apart: `1,234,567`.
fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

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
    fn numbers_for_people() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([5, 2048, 3 << 30].map(bytes), ["5 B", "2.00 KiB", "3.00 GiB"]);
    }
}
