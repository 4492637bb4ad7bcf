//! Charts in plain text.

use std::fmt::Write as _;

use pitot_meter::units::grouped;
use pitot_meter::{Histogram, Nanos};

use pitot_results::load::Step;

const BAR_WIDTH: usize = 50;
const ROWS_MAX: usize = 16;

/// How many samples were how long: a bar for each step of a scale that is even in the logarithm, since latencies
/// spread over decades.
pub(super) fn distribution(histogram: &Histogram) -> String {
    if histogram.count() == 0 {
        return String::new();
    }
    let (low, high) = (histogram.min().0.max(1) as f64, histogram.max().0.max(1) as f64 * 1.001);
    let rows = if high / low < 1.05 { 1 } else { ROWS_MAX };
    let edge = |row: usize| Nanos((low * (high / low).powf(row as f64 / rows as f64)) as u64);
    let counts: Vec<u64> = (0..rows)
        .map(|row| {
            let from = if row == 0 { Nanos::ZERO } else { edge(row) };
            match row + 1 == rows {
                true => histogram.count_from(from),
                false => histogram.count_within(from, edge(row + 1)),
            }
        })
        .collect();
    let largest = counts.iter().copied().max().unwrap_or(1).max(1);
    let mut text = String::new();
    for (row, &count) in counts.iter().enumerate() {
        let mut width = (count as f64 / largest as f64 * BAR_WIDTH as f64).round() as usize;
        // Every row with a sample has a bar, however short: the tail is what matters.
        width = width.max(usize::from(count > 0));
        let _ = writeln!(
            text,
            "  {:>8} .. {:>8}  {:<BAR_WIDTH$} {}",
            edge(row).to_string(),
            edge(row + 1).to_string(),
            "#".repeat(width),
            grouped(count)
        );
    }
    text
}

/// Latency against rate: a row for each rate that was tried, the bar is the 99th percentile on a logarithmic scale.
pub(super) fn curve(steps: &[Step]) -> String {
    let mut steps: Vec<&Step> = steps.iter().filter(|step| step.response_ns.count > 0).collect();
    steps.sort_by(|a, b| a.rate_rps.total_cmp(&b.rate_rps));
    let values = || steps.iter().map(|step| step.response_ns.p99.max(1) as f64);
    let (low, high) = (values().fold(f64::MAX, f64::min), values().fold(1.0, f64::max));
    let mut text = String::new();
    for (step, value) in steps.iter().zip(values()) {
        let position = if high > low { (value / low).ln() / (high / low).ln() } else { 0.0 };
        let bar = "#".repeat(1 + (position * (BAR_WIDTH - 1) as f64).round() as usize);
        let _ = writeln!(
            text,
            "  {:>10} rps  p99 {:>8}  {bar}{}",
            grouped(step.rate_rps.round() as u64),
            Nanos(step.response_ns.p99).to_string(),
            if step.passed { "" } else { " x" }
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sample_is_in_one_bar() {
        let mut histogram = Histogram::new();
        for us in [1, 10, 10, 100, 1_000, 50_000] {
            histogram.record(Nanos::from_micros(us));
        }
        let chart = distribution(&histogram);
        let total: u64 =
            chart.lines().map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap()).sum();
        assert_eq!(total, 6, "{chart}");
        assert_eq!(chart.lines().count(), ROWS_MAX);
    }

    #[test]
    fn equal_samples_make_one_bar_and_none_make_none() {
        let mut histogram = Histogram::new();
        assert_eq!(distribution(&histogram), "");
        histogram.record(Nanos::from_millis(3));
        assert_eq!(distribution(&histogram).lines().count(), 1);
    }
}
