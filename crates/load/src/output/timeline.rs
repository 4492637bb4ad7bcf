use std::fmt::Write as _;

use pitot_meter::Nanos;
use pitot_meter::units::grouped;
use pitot_results::load::Second;

const BAR_WIDTH: usize = 24;

/// The run second by second, as a table. The bar is the 99th percentile on a logarithmic scale from the least to the
/// greatest, since latencies spread over decades.
pub(super) fn timeline(series: &[Second]) -> String {
    let answered = || series.iter().filter(|second| second.completed > 0 && second.p99_ns > 0);
    let values = || answered().map(|second| second.p99_ns as f64);
    let (low, high) = (values().fold(f64::MAX, f64::min), values().fold(1.0, f64::max));
    let mut text = String::new();
    if series.is_empty() {
        return text;
    }
    let _ = writeln!(
        text,
        "\n  Second   replies  errors  missed    open      p50      p95      p99      max  p99 from {} to {}",
        Nanos(if high < low { 0 } else { low as u64 }),
        Nanos(if high < low { 0 } else { high as u64 })
    );
    for second in series {
        let value = second.p99_ns as f64;
        let position = if high > low && value >= low { (value / low).ln() / (high / low).ln() } else { 0.0 };
        let width = match second.p99_ns {
            0 => 0,
            _ => 1 + (position * (BAR_WIDTH - 1) as f64).round() as usize,
        };
        let mut row = format!(
            "  {:>6}{:>10}{:>8}{:>8}{:>8}",
            second.t_s,
            grouped(second.completed),
            grouped(second.errors),
            grouped(second.missed),
            grouped(second.open)
        );
        for value in [second.p50_ns, second.p95_ns, second.p99_ns, second.max_ns] {
            let shown = if value == 0 { "-".to_owned() } else { Nanos(value).to_string() };
            let _ = write!(row, "{shown:>9}");
        }
        let _ = write!(row, "  {}", "#".repeat(width));
        let _ = writeln!(text, "{}", row.trim_end());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_second_is_a_row_and_the_slowest_has_the_longest_bar() {
        let second = |t_s, p99_ns| Second { t_s, completed: 5, p99_ns, max_ns: p99_ns, ..Second::default() };
        let silent = Second { t_s: 2, errors: 7, ..Second::default() };
        let text = timeline(&[second(0, 1_000_000), second(1, 50_000_000), silent]);
        let rows: Vec<&str> = text.lines().skip(2).collect();
        let bar = |row: &str| row.matches('#').count();
        assert_eq!(rows.len(), 3, "{text}");
        assert_eq!((bar(rows[0]), bar(rows[1]), bar(rows[2])), (1, BAR_WIDTH, 0), "{text}");
        assert!(rows[2].split_ascii_whitespace().skip(5).all(|word| word == "-"), "{text}");
        assert!(text.lines().all(|line| line.len() <= 110), "{text}");
        assert_eq!(timeline(&[]), "");
    }
}
