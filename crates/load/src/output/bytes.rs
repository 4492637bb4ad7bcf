/// Bytes with the binary unit that suits: `1.25 GiB`.
pub(super) fn bytes(n: u64) -> String {
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
