//! Figures for readers: three significant digits, one unit for a figure and its interval.

use pitot_meter::units;
/// A count with separators: `12,345`.
pub(crate) use pitot_meter::units::grouped as count;
use pitot_record::{Metric, Unit};
use pitot_stats::Estimate;

/// A divisor and its unit.
type Scale = (f64, &'static str);

const PLAIN: &[Scale] = &[(1e9, " G"), (1e6, " M"), (1e3, " k"), (1.0, "")];
const TIME: &[Scale] = &[(1.0, " s"), (1e-3, " ms"), (1e-6, " µs"), (1e-9, " ns")];
const BYTES: &[Scale] = &[(1_073_741_824.0, " GiB"), (1_048_576.0, " MiB"), (1024.0, " KiB"), (1.0, " B")];
const RATE: &[Scale] = &[(1e9, " GB/s"), (1e6, " MB/s"), (1e3, " kB/s"), (1.0, " B/s")];
const PERCENT: &[Scale] = &[(1.0, "%")];

/// The factor to the base unit, and the scale for `value`.
fn scale(value: f64, unit: Unit) -> (f64, Scale) {
    let (base, scales) = match unit {
        Unit::PerSecond | Unit::Count => (1.0, PLAIN),
        Unit::Nanoseconds => (1e-9, TIME),
        Unit::Seconds => (1.0, TIME),
        Unit::Bytes => (1.0, BYTES),
        Unit::BytesPerSecond => (1.0, RATE),
        Unit::Percent => (1.0, PERCENT),
    };
    let size = (value * base).abs();
    // Rounding to three digits may reach the next unit: 999.7 is 1.00 k.
    let chosen = scales.iter().find(|s| size >= s.0 * 0.9995).or(scales.last());
    let zero_scale = if size == 0.0 {
        if unit == Unit::Bytes { scales.last() } else { scales.iter().find(|s| s.0 == 1.0) }
    } else {
        None
    };
    (base, *zero_scale.or(chosen).unwrap_or(&PERCENT[0]))
}

/// Decimals that leave three significant digits of `value`.
fn decimals(value: f64) -> usize {
    match value.abs() {
        v if v == 0.0 || v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        v if v >= 0.9995 => 2,
        v if v >= 0.099_95 => 3,
        _ => 4,
    }
}

/// A figure with its unit: `142 k`, `4.93 µs`, `3.41 MiB`, `52.8%`.
pub(crate) fn figure(value: f64, unit: Unit) -> String {
    let (base, (divisor, sign)) = scale(value, unit);
    let shown = value * base / divisor;
    let decimals = if sign == " B" { 0 } else { decimals(shown) };
    format!("{shown:.decimals$}{sign}")
}

/// A difference of times, with its sign: `+1.20 µs`.
pub(crate) fn signed_ns(ns: f64) -> String {
    format!("{}{}", if ns < 0.0 { "-" } else { "+" }, figure(ns.abs(), Unit::Nanoseconds))
}

/// A metric's figure with its unit, or in words if its zero means too small to measure.
pub(crate) fn figure_of(metric: &Metric, value: f64) -> String {
    metric.zero.filter(|_| value == 0.0).map_or_else(|| figure(value, metric.unit), str::to_owned)
}

/// The ends of an interval in the unit that [`figure`] gives `value`, with as many decimals as three digits of the
/// larger end need: `[138, 145]`.
pub(crate) fn interval(value: f64, low: f64, high: f64, unit: Unit) -> String {
    let (base, (divisor, _)) = scale(value, unit);
    let decimals = decimals(value.max(high) * base / divisor);
    let end = |v: f64| format!("{:.decimals$}", v * base / divisor);
    format!("[{}, {}]", end(low), end(high))
}

/// The interval of an estimate, `[138, 145]`, or with too few repetitions their range, `(138 to 145)`. Empty for a single
/// repetition, or if the figure is in words.
pub(crate) fn spread(metric: &Metric, estimate: &Estimate) -> String {
    if estimate.repetitions < 2 || (metric.zero.is_some() && estimate.value == 0.0) {
        return String::new();
    }
    let (low, high) = estimate.span();
    let ends = interval(estimate.value, low, high, metric.unit);
    if estimate.interval.is_some() {
        ends
    } else {
        format!("({})", ends.trim_matches(['[', ']']).replace(", ", " to "))
    }
}

/// A metric's figure with its interval: `142 k [138, 145]`.
pub(crate) fn figure_with_spread(metric: &Metric, estimate: &Estimate) -> String {
    format!("{} {}", figure_of(metric, estimate.value), spread(metric, estimate)).trim_end().to_owned()
}

/// A plain number with three significant digits and no sign: `11.9`.
pub(crate) fn plain(value: f64) -> String {
    format!("{value:.*}", decimals(value))
}

/// A ratio: `11.9`, `1.04`, `0.62`, `0.018`.
pub(crate) fn ratio(value: f64) -> String {
    let decimals = match value.abs() {
        v if v >= 99.5 => 0,
        v if v >= 9.95 => 1,
        v if v >= 0.1 => 2,
        _ => 3,
    };
    format!("{value:.decimals$}")
}

/// A share as a percentage with up to three digits: `4.2%`.
pub(crate) fn percent(share: f64) -> String {
    let value = share * 100.0;
    let decimals = usize::from(value.abs() < 9.95 && value.fract().abs() > 1e-9);
    format!("{value:.decimals$}%")
}

/// Seconds in words: `250 ms`, `1 min 32 s`, `2 h 5 min`.
pub(crate) fn span(seconds: f64) -> String {
    if seconds < 9.5 { crate::axis::trim(&figure(seconds, Unit::Seconds)) } else { units::span(seconds) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pitot_record::metric::named;

    #[test]
    fn memory_that_is_too_small_to_be_measured_is_not_called_nothing() {
        let memory = named("memory-per-connection");
        assert_eq!(figure_of(memory, 0.0), "not measurable");
        assert_eq!(figure_of(memory, 128.0), "128 B");
        assert_eq!(figure_of(named("error-rate"), 0.0), "0%");
    }

    #[test]
    fn figures_have_three_digits_and_the_unit_that_suits() {
        for (value, unit, text) in [
            (142_312.0, Unit::PerSecond, "142 k"),
            (999.7, Unit::PerSecond, "1.00 k"),
            (38_100.0, Unit::PerSecond, "38.1 k"),
            (87.0, Unit::PerSecond, "87.0"),
            (0.0, Unit::PerSecond, "0"),
            (4_930.0, Unit::Nanoseconds, "4.93 µs"),
            (12_300_000.0, Unit::Nanoseconds, "12.3 ms"),
            (84.0, Unit::Seconds, "84.0 s"),
            (0.0123, Unit::Seconds, "12.3 ms"),
            (0.0, Unit::Seconds, "0 s"),
            (3_575_644.0, Unit::Bytes, "3.41 MiB"),
            (612.0, Unit::Bytes, "612 B"),
            (52.8, Unit::Percent, "52.8%"),
            (0.3, Unit::Percent, "0.300%"),
            (1.234, Unit::Count, "1.23"),
        ] {
            assert_eq!(figure(value, unit), text);
        }
    }

    #[test]
    fn an_interval_shares_the_unit_of_its_figure() {
        assert_eq!(interval(142_312.0, 138_011.0, 145_000.0, Unit::PerSecond), "[138, 145]");
        assert_eq!(interval(1_020.0, 970.0, 1_100.0, Unit::PerSecond), "[0.97, 1.10]");
        assert_eq!(interval(9_080.0, 8_320.0, 11_610.0, Unit::PerSecond), "[8.3, 11.6]");
        assert_eq!(interval(4_930.0, 4_800.0, 5_111.0, Unit::Nanoseconds), "[4.80, 5.11]");
    }

    #[test]
    fn ratios_and_counts_and_spans_read_well() {
        assert_eq!([11.93, 1.043, 0.621, 0.0184, 140.2].map(ratio), ["11.9", "1.04", "0.62", "0.018", "140"]);
        assert_eq!([0, 999, 1_000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(
            [0.5, 48.2, 92.0, 120.0, 132.0, 7_500.0].map(span),
            ["500 ms", "48 s", "1 min 32 s", "2 min", "2 min 12 s", "2 h 5 min"]
        );
        assert_eq!([0.02, 0.005, 0.125].map(percent), ["2%", "0.5%", "12%"]);
    }
}
