//! When the rate of a server that warms up has settled.

/// Seconds of a part of such a warm-up.
pub(super) const PART_S: f64 = 0.5;
/// So many parts are compared with as many before them.
const PARTS: usize = 3;
/// A rate that has risen by less has settled.
const RISE_MAX: f64 = 0.05;

/// Whether the rates of the parts so far, in their order, rise no more.
pub(super) fn has_settled(rates: &[f64]) -> bool {
    let Some(start) = rates.len().checked_sub(2 * PARTS) else { return false };
    let sum = |rates: &[f64]| rates.iter().sum::<f64>();
    let (before, last) = rates[start..].split_at(PARTS);
    sum(last) <= sum(before) * (1.0 + RISE_MAX)
}

/// What a reader should know of it: how it ends.
pub(in crate::runner) fn rule(within_s: f64) -> String {
    format!(
        "before it is measured it is loaded in parts of {PART_S} s, until {PARTS} parts together give at most \
         {:.0}% more than the {PARTS} before, for at most {within_s:.0} s",
        RISE_MAX * 100.0
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_has_settled_when_it_rises_no_more() {
        assert!(!has_settled(&[100.0; 5]), "too few parts");
        assert!(has_settled(&[100.0; 6]));
        assert!(!has_settled(&[1.0, 5.0, 20.0, 50.0, 80.0, 95.0]));
        assert!(has_settled(&[1.0, 5.0, 20.0, 95.0, 102.0, 99.0, 100.0, 96.0, 104.0]));
        assert!(has_settled(&[100.0, 100.0, 100.0, 90.0, 90.0, 90.0]), "falling is not rising");
    }
}
