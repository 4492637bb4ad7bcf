//! The warm-up of a server whose rate rises for seconds, and when it has settled.

use super::repetition::Abort;

/// Seconds of a part of such a warm-up.
const PART_S: f64 = 0.5;
/// So many parts are compared with as many before them.
const PARTS: usize = 3;
/// A rate that has risen by less has settled.
const RISE_MAX: f64 = 0.05;

/// A warm-up that ended by itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct WarmUp {
    /// Seconds of load.
    pub(super) seconds: f64,
    /// Replies per second in its last part.
    pub(super) rate: f64,
    /// The limit came before the rate had settled: a sentence about that.
    pub(super) unsettled: Option<String>,
}

/// Loads a server in parts until its rate rises no more, for at most `within_s`. `load` loads it for so many seconds and
/// returns its replies per second; none if it cannot be loaded any more, and then there is no warm-up.
pub(super) fn warm_up(
    within_s: f64,
    mut load: impl FnMut(f64) -> Result<Option<f64>, Abort>,
) -> Result<Option<WarmUp>, Abort> {
    let mut rates = Vec::new();
    while let Some(rate) = load(PART_S)? {
        rates.push(rate);
        let seconds = rates.len() as f64 * PART_S;
        let late = || format!("its rate had not settled after {within_s:.0} s of warm-up");
        if has_settled(&rates) {
            return Ok(Some(WarmUp { seconds, rate, unsettled: None }));
        }
        if seconds >= within_s {
            return Ok(Some(WarmUp { seconds, rate, unsettled: Some(late()) }));
        }
    }
    Ok(None)
}

/// Whether the rates of the parts so far, in their order, rise no more.
fn has_settled(rates: &[f64]) -> bool {
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
    fn a_warm_up_ends_when_the_rate_has_settled_or_at_its_limit() {
        let mut parts = 0.0;
        let mut rising = |_| {
            parts += 1.0;
            Ok(Some(100.0 * f64::min(parts, 10.0)))
        };
        let settled = warm_up(30.0, &mut rising).unwrap().unwrap();
        assert_eq!(settled, WarmUp { seconds: 7.0, rate: 1000.0, unsettled: None });
        let mut rate = 1.0;
        let endless = warm_up(4.0, |_| {
            rate *= 2.0;
            Ok(Some(rate))
        });
        let endless = endless.unwrap().unwrap();
        assert_eq!(endless.seconds, 4.0);
        assert_eq!(endless.unsettled.unwrap(), "its rate had not settled after 4 s of warm-up");
        assert_eq!(warm_up(4.0, |_| Ok(None)).unwrap(), None);
    }

    #[test]
    fn a_rate_has_settled_when_it_rises_no_more() {
        assert!(!has_settled(&[100.0; 5]), "too few parts");
        assert!(has_settled(&[100.0; 6]));
        assert!(!has_settled(&[1.0, 5.0, 20.0, 50.0, 80.0, 95.0]));
        assert!(has_settled(&[1.0, 5.0, 20.0, 95.0, 102.0, 99.0, 100.0, 96.0, 104.0]));
        assert!(has_settled(&[100.0, 100.0, 100.0, 90.0, 90.0, 90.0]), "falling is not rising");
    }
}
