//! Warm-ups, above all of servers whose rate rises for seconds, until it has settled.

use super::repetition::context::Abort;
use pitot_plan::Settling;
use pitot_results::hold::Slice;

/// The time that is compared with as much before it, seconds, at most.
const WINDOW_S: f64 = 1.5;
/// Turns in that time. Servers that are compared take turns, and rest for less.
const TURNS: f64 = 12.0;
/// A turn of a warm-up whose length is given, seconds, at most.
const TURN_S: f64 = 0.25;
/// What the sum of turns may lack of it by rounding, seconds.
const ROUNDING_S: f64 = 1e-9;
/// A rate that rises by less has settled, and so has one whose requests get cheaper by less: other work ended then.
const RISE_MAX: f64 = 0.05;

/// A turn of a warm-up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Warmed {
    pub(super) replies: u64,
    /// With the time in which the last replies came.
    pub(super) seconds: f64,
    /// CPU time of the server, if it is known.
    pub(super) cpu_ns: Option<u64>,
}

impl Warmed {
    pub(super) fn of(slice: &Slice, cpu_ns: Option<u64>) -> Warmed {
        Warmed { replies: slice.requests, seconds: slice.elapsed_s(), cpu_ns }
    }
}

/// The result of a warm-up.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct WarmUp {
    /// Seconds of load.
    pub(super) seconds: f64,
    /// Replies per second at its end.
    pub(super) rate: f64,
    /// A warning, if the limit came before the rate had settled.
    pub(super) unsettled: Option<String>,
}

/// When a warm-up ends.
#[derive(Clone, Copy, Debug)]
pub(super) enum Until {
    /// After so many seconds.
    Over(f64),
    /// When the rate has settled.
    Settled(Settling),
}

/// A warm-up under way.
#[derive(Clone, Debug)]
pub(super) struct Warming {
    until: Until,
    /// The time whose rate counts, seconds.
    window_s: f64,
    /// Seconds of each turn.
    pub(super) turn_s: f64,
    turns: Vec<Warmed>,
    /// Its result so far, once it may end. It may go on, as where others are not warm yet.
    pub(super) over: Option<WarmUp>,
}

impl Warming {
    pub(super) fn new(until: Until) -> Warming {
        let (window_s, turn_s) = match until {
            Until::Over(seconds) => {
                let turn_s = seconds / (seconds / TURN_S).ceil().max(1.0);
                (turn_s, turn_s)
            }
            Until::Settled(rule) => (window_s(rule), window_s(rule) / TURNS),
        };
        Warming { until, window_s, turn_s, turns: Vec::new(), over: None }
    }

    /// Adds its next turn.
    pub(super) fn add(&mut self, turn: Warmed) {
        // What took no time, since nothing could be sent, counts as a turn.
        self.turns.push(Warmed { seconds: turn.seconds.max(self.turn_s), ..turn });
        let seconds: f64 = self.turns.iter().map(|turn| turn.seconds).sum();
        let has_lasted = |wanted_s: f64| seconds > wanted_s - self.turn_s / 2.0;
        let unsettled = match (self.over.take(), self.until) {
            (Some(before), _) => before.unsettled,
            (None, Until::Over(all_s)) if has_lasted(all_s) => None,
            (None, Until::Settled(rule)) if seconds >= rule.at_least_s && self.has_settled() => None,
            (None, Until::Settled(rule)) if has_lasted(rule.within_s) => {
                Some(format!("its rate had not settled after {:.1} s of warm-up", rule.within_s))
            }
            (None, _) => return,
        };
        let end = self.window(self.turns.len()).unwrap_or(0);
        self.over = Some(WarmUp { seconds, rate: rate(&self.turns[end..]), unsettled });
    }

    /// Ends it without a rate, if a turn could not be loaded.
    pub(super) fn give_up(&mut self) {
        self.over.get_or_insert_default();
    }

    /// The first turn of the window that ends before a turn; none if there are too few.
    fn window(&self, end: usize) -> Option<usize> {
        let mut missing_s = self.window_s;
        self.turns[..end].iter().rposition(|turn| {
            missing_s -= turn.seconds;
            missing_s < ROUNDING_S
        })
    }

    /// Whether the rate rises no more.
    fn has_settled(&self) -> bool {
        let Some(last) = self.window(self.turns.len()) else { return false };
        let Some(before) = self.window(last) else { return false };
        let (before, last) = (&self.turns[before..last], &self.turns[last..]);
        let rises = rate(last) > rate(before) * (1.0 + RISE_MAX);
        let gets_cheaper = match (cost_ns(before), cost_ns(last)) {
            (Some(before), Some(last)) => last < before * (1.0 - RISE_MAX),
            _ => true,
        };
        !(rises && gets_cheaper)
    }
}

/// Replies per second.
fn rate(turns: &[Warmed]) -> f64 {
    let seconds: f64 = turns.iter().map(|turn| turn.seconds).sum();
    turns.iter().map(|turn| turn.replies).sum::<u64>() as f64 / seconds
}

/// CPU time of the server per reply.
fn cost_ns(turns: &[Warmed]) -> Option<f64> {
    let cpu_ns: u64 = turns.iter().map(|turn| turn.cpu_ns).sum::<Option<u64>>()?;
    Some(cpu_ns as f64 / turns.iter().map(|turn| turn.replies).sum::<u64>() as f64)
}

/// What is compared takes at most half of the time, and no more than the time in which the rate rises.
fn window_s(Settling { at_least_s, within_s }: Settling) -> f64 {
    let all_s = if at_least_s > 0.0 { at_least_s.min(within_s / 2.0) } else { within_s / 2.0 };
    WINDOW_S.min(all_s / 2.0)
}

/// Loads a server in turns until its rate has settled, within the limits of the rule. `load` loads it for so many seconds; if it
/// returns none, so does this.
pub(super) fn warm_up(
    settling: Settling,
    mut load: impl FnMut(f64) -> Result<Option<Warmed>, Abort>,
) -> Result<Option<WarmUp>, Abort> {
    let mut warming = Warming::new(Until::Settled(settling));
    while let Some(turn) = load(warming.turn_s)? {
        warming.add(turn);
        if warming.over.is_some() {
            return Ok(warming.over);
        }
    }
    Ok(None)
}

/// How such a warm-up ends, for the report.
pub(in crate::runner) fn rule(within_s: f64) -> String {
    format!(
        "the warm-up goes on until {:.1} s give at most {:.0}% more replies than as much time before, or replies that are no cheaper, \
         for at most {within_s:.1} s",
        window_s(Settling { at_least_s: 0.0, within_s }),
        RISE_MAX * 100.0
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A turn of so many seconds at this rate.
    fn warmed(rate: f64, seconds: f64) -> Warmed {
        Warmed { replies: (rate * seconds * 1e3) as u64, seconds, cpu_ns: None }
    }

    /// What came of a warm-up whose rate in thousands per second at each second is this.
    fn warm_up_at(settling: Settling, rate: impl Fn(f64) -> f64) -> WarmUp {
        let mut now_s = 0.0;
        let warmed_up = warm_up(settling, |turn_s| {
            now_s += turn_s;
            Ok(Some(warmed(rate(now_s), turn_s)))
        });
        warmed_up.unwrap().unwrap()
    }

    fn within(within_s: f64) -> Settling {
        Settling { at_least_s: 0.0, within_s }
    }

    #[test]
    fn a_warm_up_ends_when_the_rate_has_settled_or_at_its_limit() {
        let settled = warm_up_at(within(30.0), |now_s| f64::min(now_s, 10.0));
        assert!((11.0..13.0).contains(&settled.seconds) && settled.rate > 9.9e3, "{settled:?}");
        assert_eq!(settled.unsettled, None);
        let slow_for_s = Settling { at_least_s: 3.75, within_s: 12.0 };
        let warm = warm_up_at(slow_for_s, |now_s| if now_s < 3.0 { 34.0 } else { 100.0 });
        assert!(warm.rate > 99e3 && warm.unsettled.is_none() && warm.seconds > 4.0, "{warm:?}");
        let endless = warm_up_at(within(4.0), |now_s| f64::exp2(now_s * 4.0));
        assert!((endless.seconds - 4.0).abs() < 0.1, "{endless:?}");
        assert_eq!(endless.unsettled.unwrap(), "its rate had not settled after 4.0 s of warm-up");
        // Even the shortest limit leaves time to see that a rate has settled.
        let short = warm_up_at(Settling { at_least_s: 0.3, within_s: 0.9 }, |_| 100.0);
        assert!(short.unsettled.is_none() && short.seconds < 0.5, "{short:?}");
        assert_eq!(warm_up(within(4.0), |_| Ok(None)).unwrap(), None);
    }

    #[test]
    fn a_warm_up_of_a_length_has_it_in_turns_and_may_go_on() {
        let mut warming = Warming::new(Until::Over(0.6));
        for turn in 1..=4 {
            warming.add(warmed(f64::from(turn), warming.turn_s));
            assert_eq!(warming.over.is_some(), turn >= 3, "{warming:?}");
        }
        let over = warming.over.unwrap();
        assert!((over.seconds - 0.8).abs() < 1e-9 && (over.rate - 4e3).abs() < 10.0, "{over:?}");
        // The last replies of a slow server come when the turn is over, and count.
        let mut warming = Warming::new(Until::Over(0.1));
        warming.add(warmed(1.0, 0.4));
        assert!(warming.over.is_some());
        let mut warming = Warming::new(Until::Over(0.1));
        warming.give_up();
        assert_eq!(warming.over, Some(WarmUp::default()));
    }

    #[test]
    fn a_rate_has_settled_when_it_rises_no_more() {
        // Each lasts for a quarter of the window.
        let has_settled = |rates: &[f64]| {
            let mut warming = Warming::new(Until::Settled(within(12.0)));
            warming.turns = rates.iter().map(|&rate| warmed(rate, WINDOW_S / 4.0)).collect();
            warming.has_settled()
        };
        assert!(!has_settled(&[100.0; 7]), "too short");
        assert!(has_settled(&[100.0; 8]));
        assert!(!has_settled(&[1.0, 5.0, 20.0, 50.0, 80.0, 95.0, 96.0, 97.0]));
        assert!(has_settled(&[1.0, 5.0, 20.0, 95.0, 102.0, 99.0, 98.0, 100.0, 96.0, 104.0, 99.0]));
        assert!(has_settled(&[[100.0; 4], [90.0; 4]].concat()), "falling is not rising");
    }

    #[test]
    fn a_rate_that_rises_because_other_work_ended_has_settled() {
        let has_settled = |cost_ns: u64| {
            let mut warming = Warming::new(Until::Settled(within(12.0)));
            let of = |rate: u64, cost_ns: u64| Warmed {
                replies: rate,
                seconds: 0.5,
                cpu_ns: Some(rate * cost_ns),
            };
            warming.turns = [[of(50, cost_ns); 3], [of(100, 1000); 3]].concat();
            warming.has_settled()
        };
        assert!(has_settled(1000));
        assert!(!has_settled(2000), "requests got cheaper");
    }
}
