//! The effect of a fault on clients: time until recovery, errors, and lasting degradation.
//!
//! It is computed from right replies and errors in short steps (`pitot load --steps`), and from the fault's begin and end, on the same
//! clock. The normal state comes from the time just before the fault: the longest gap between replies, and the rate in stretches of
//! [`STRETCH_NS`].

use pitot_results::load::{Steps, Window};
use serde::{Deserialize, Serialize};

use crate::record::FaultRecord;

/// The length of a stretch for rates: shorter ones have too few replies, longer ones are imprecise.
const STRETCH_NS: u64 = 100_000_000;
/// A rate has recovered after this time, including the first stretch.
const SUSTAINED_STRETCHES: usize = 4;
/// The length of steps (`pitot load --steps`).
pub const STEP_NS: u64 = 10_000_000;
/// Maximum time before the fault for the normal state.
pub const BEFORE_NS: u64 = 3_000_000_000;
/// The fewest stretches for the normal state.
const STRETCHES_MIN: usize = 5;
/// The rate has recovered at this share of the normal one.
const BACK: f64 = 0.95;
/// A gap between replies is an outage if it is so many times as long as the longest before the fault, ...
const GAPS_MIN: u64 = 3;
/// ... and at least so long.
const GAP_MIN_NS: u64 = 50_000_000;

/// Replies around a fault.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Service {
    /// Right replies per second before it: the median of stretches.
    pub before_rps: f64,
    /// The rate after recovery, or if there was none, after the fault, until the next one or the end; `None` if that was
    /// too short or without replies.
    pub after_rps: Option<f64>,
    /// Right replies per second during the fault.
    pub during_rps: f64,
    /// The longest time without right replies, seconds; `None` if no gap was longer than normal.
    pub outage_s: Option<f64>,
    /// From its begin to the first right reply after the outage, seconds: 0 without an outage; `None` if there was none
    /// before the next fault or the end.
    pub first_reply_s: Option<f64>,
    /// From its begin until the rate was at 95% of the normal one and stayed there, seconds: 0 if it never was below;
    /// `None` if it did not recover.
    pub full_rate_s: Option<f64>,
    /// Whether the rate afterwards was below 95% of the normal one, and below that of nine of ten earlier stretches.
    pub stays_slower: bool,
}

/// The effect of a fault on clients.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    /// How long it lasted, seconds.
    pub lasted_s: f64,
    /// The replies; `None` if there were too few right ones before it for a normal state.
    pub service: Option<Service>,
    /// Errors from its begin to the next fault or the end, by phase and kind, most frequent first.
    pub errors: Vec<(String, String, u64)>,
    /// Errors in an equally long time before it.
    pub errors_before: u64,
}

impl Effect {
    /// All errors together.
    pub fn error_count(&self) -> u64 {
        self.errors.iter().map(|(_, _, count)| count).sum()
    }
}

/// The effect of fault `index` of a repetition with the measured part `window`. `None` if it was not made in the measured
/// part.
pub fn service_around(steps: &Steps, window: Window, faults: &[FaultRecord], index: usize) -> Option<Effect> {
    let fault = faults.get(index).filter(|fault| fault.was_made() && steps.length_ns > 0)?;
    if !(window.start..window.end).contains(&fault.began_ns) {
        return None;
    }
    let others = || faults.iter().filter(|other| other.was_made() && other.number != fault.number);
    let end_of = |fault: &FaultRecord| fault.ended_ns.max(fault.began_ns);
    let next = others().map(|f| f.began_ns).filter(|at| *at >= fault.began_ns).min();
    let until = next.unwrap_or(window.end).min(window.end);
    let earlier = others().filter(|f| f.began_ns < fault.began_ns).map(end_of).max().unwrap_or(0);
    let from = earlier.max(window.start).max(fault.began_ns.saturating_sub(BEFORE_NS)).min(fault.began_ns);
    let line = Line { steps, start: window.start, whole: window.end };
    let errors = errors(&line, fault.began_ns, until);
    let length = until - fault.began_ns;
    let errors_before =
        sum(&self::errors(&line, fault.began_ns.saturating_sub(length).max(from), fault.began_ns));
    Some(Effect {
        lasted_s: (end_of(fault) - fault.began_ns) as f64 / 1e9,
        service: service(&line, (from, fault.began_ns), (end_of(fault).min(until), until)),
        errors,
        errors_before,
    })
}

/// Steps on the clock of the run.
struct Line<'a> {
    steps: &'a Steps,
    start: u64,
    whole: u64,
}

impl Line<'_> {
    fn right(&self, step: u64) -> u64 {
        self.steps.right.get(step as usize).copied().unwrap_or(0)
    }

    /// The step of a time.
    fn step(&self, at: u64) -> u64 {
        at.saturating_sub(self.start) / self.steps.length_ns
    }

    /// The first step that begins at this time or later.
    fn step_from(&self, at: u64) -> u64 {
        at.saturating_sub(self.start).div_ceil(self.steps.length_ns)
    }

    /// When a step begins.
    fn at(&self, step: u64) -> u64 {
        self.start + step * self.steps.length_ns
    }

    fn stretch(&self) -> u64 {
        (STRETCH_NS / self.steps.length_ns).max(1)
    }

    /// Right replies per second in `count` steps.
    fn rate(&self, step: u64, count: u64) -> f64 {
        let replies: u64 = (step..step + count).map(|step| self.right(step)).sum();
        replies as f64 * 1e9 / (count * self.steps.length_ns) as f64
    }

    /// The rates of consecutive stretches, ascending.
    fn rates(&self, from: u64, to: u64) -> Vec<f64> {
        let stretch = self.stretch();
        let mut rates: Vec<f64> = (self.step_from(from)..)
            .step_by(stretch as usize)
            .take_while(|step| step + stretch <= self.step(to))
            .map(|step| self.rate(step, stretch))
            .collect();
        rates.sort_by(f64::total_cmp);
        rates
    }

    /// The longest run of steps without a right reply that begins by `latest`: its first step, and the one after it.
    fn longest_gap(&self, (from, to): (u64, u64), latest: u64) -> (u64, u64) {
        let mut longest = (0, 0);
        let mut begins = None;
        for step in self.step_from(from)..=self.step(to) {
            let is_silent = step < self.step(to) && self.right(step) == 0;
            match (begins, is_silent) {
                (None, true) => begins = Some(step),
                (Some(first), false) => {
                    if self.at(first) <= latest && step - first > longest.1 - longest.0 {
                        longest = (first, step);
                    }
                    begins = None;
                }
                _ => {}
            }
        }
        longest
    }
}

fn service(line: &Line<'_>, before: (u64, u64), (ended, until): (u64, u64)) -> Option<Service> {
    let began = before.1;
    let usual = line.rates(before.0, began);
    if usual.len() < STRETCHES_MIN {
        return None;
    }
    let before_rps = usual[usual.len() / 2];
    if before_rps == 0.0 {
        return None;
    }
    let threshold = (before_rps * BACK).min(usual[0]);
    let gap = line.longest_gap((began, until), ended + STRETCH_NS);
    let usual_gap = line.longest_gap(before, began);
    let length = |(from, to): (u64, u64)| (to - from) * line.steps.length_ns;
    let outage = (length(gap) >= (length(usual_gap) * GAPS_MIN).max(GAP_MIN_NS)).then_some(gap);
    let since = |at: u64| at.saturating_sub(began) as f64 / 1e9;
    // The first reply has certainly come at the end of its step.
    let back = outage.map(|(_, first)| (first < line.step(until)).then_some(first));
    let first_reply_s = match back {
        None => Some(0.0),
        Some(first) => first.map(|step| since(line.at(step + 1))),
    };
    let full = match back {
        Some(None) => None,
        Some(Some(first)) => full_rate(line, first, until, threshold),
        None => match first_below(line, (began, ended.max(began + STRETCH_NS).min(until)), threshold) {
            None => Some(line.step(began)),
            Some(below) => full_rate(line, below, until, threshold),
        },
    };
    // If the rate did not recover, the final rate.
    let is_back = !matches!(back, Some(None));
    let after_from = full.map_or(ended, |step| line.at(step).max(ended));
    let after = is_back.then(|| line.rates(after_from, until)).filter(|rates| rates.len() >= STRETCHES_MIN);
    let after_rps = after.map(|rates| rates[rates.len() / 2]);
    let low = usual[usual.len() / 10];
    let during = line.step(ended).saturating_sub(line.step_from(began)).max(1);
    Some(Service {
        before_rps,
        after_rps,
        during_rps: line.rate(line.step_from(began), during),
        outage_s: outage.map(|gap| length(gap) as f64 / 1e9),
        first_reply_s,
        full_rate_s: full.map(|step| since(line.at(step))),
        stays_slower: after_rps.is_some_and(|after| after < before_rps * BACK && after < low),
    })
}

/// The first stretch in a time that is slower than the threshold, by its first step.
fn first_below(line: &Line<'_>, (from, to): (u64, u64), threshold: f64) -> Option<u64> {
    let stretch = line.stretch();
    (line.step_from(from)..=line.step(to))
        .take_while(|step| line.at(step + stretch) <= line.whole)
        .find(|step| line.rate(*step, stretch) < threshold)
}

/// The first stretch from a step on from which all are as fast as the threshold, by its first step.
fn full_rate(line: &Line<'_>, from: u64, until: u64, threshold: f64) -> Option<u64> {
    let stretch = line.stretch();
    let sustained = stretch * SUSTAINED_STRETCHES as u64;
    (from..).take_while(|step| line.at(step + stretch) <= until).find(|step| {
        let room = line.step(until).saturating_sub(*step).min(sustained);
        line.rate(*step, stretch) >= threshold && line.rate(*step, room) >= threshold
    })
}

fn errors(line: &Line<'_>, from: u64, to: u64) -> Vec<(String, String, u64)> {
    // The step in which the next fault begins belongs to that fault.
    let end = if to < line.whole { line.step(to) } else { u64::MAX };
    let first = line.step(from);
    let mut found: Vec<(String, String, u64)> = line
        .steps
        .errors
        .iter()
        .map(|row| {
            let count =
                row.at.iter().filter(|(step, _)| (first..end).contains(step)).map(|(_, count)| count).sum();
            (row.phase.clone(), row.kind.clone(), count)
        })
        .filter(|(_, _, count)| *count > 0)
        .collect();
    found.sort_by_key(|(_, _, count)| std::cmp::Reverse(*count));
    found
}

fn sum(errors: &[(String, String, u64)]) -> u64 {
    errors.iter().map(|(_, _, count)| count).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pitot_results::load::StepErrors;

    const MS: u64 = 1_000_000;
    const START: u64 = 5_000_000_000;

    /// A run of six seconds in steps of 10 ms, `rate(ms)` replies in each, with a fault from 2 s to 3 s.
    fn effect(rate: impl Fn(u64) -> u64) -> Effect {
        let steps = Steps {
            length_ns: 10 * MS,
            right: (0..600).map(|step| rate(step * 10)).collect(),
            errors: vec![StepErrors {
                phase: "receive".into(),
                kind: "ECONNRESET".into(),
                at: vec![(200, 3), (205, 4)],
            }],
        };
        let window = Window { start: START, end: START + 6000 * MS };
        let fault = FaultRecord {
            began_ns: START + 2000 * MS,
            ended_ns: START + 3000 * MS,
            kind: "stop".into(),
            ..FaultRecord::default()
        };
        service_around(&steps, window, &[fault], 0).unwrap()
    }

    #[test]
    fn an_outage_is_as_long_as_the_fault_and_its_errors_are_counted() {
        let effect = effect(|ms| if (2000..3000).contains(&ms) { 0 } else { 100 + ms / 10 % 3 });
        let service = effect.service.clone().unwrap();
        assert_eq!((effect.lasted_s, service.outage_s), (1.0, Some(1.0)));
        assert!((service.first_reply_s.unwrap() - 1.01).abs() < 1e-9, "{service:?}");
        assert!((service.full_rate_s.unwrap() - 1.0).abs() < 0.011, "{service:?}");
        assert!((service.before_rps - 10_100.0).abs() < 100.0 && !service.stays_slower);
        assert_eq!(effect.errors, [("receive".to_owned(), "ECONNRESET".to_owned(), 7)]);
        assert_eq!((effect.error_count(), effect.errors_before), (7, 0));
    }

    #[test]
    fn a_rate_that_rises_slowly_is_back_later_than_the_first_reply() {
        let service = effect(|ms| match ms {
            2000..3000 => 0,
            3000..4000 => (ms - 3000) / 10,
            _ => 100,
        });
        let service = service.service.unwrap();
        assert!((service.first_reply_s.unwrap() - 1.02).abs() < 1e-9, "{service:?}");
        assert!((1.85..2.0).contains(&service.full_rate_s.unwrap()), "{service:?}");
    }

    #[test]
    fn service_that_goes_on_slower_or_does_not_come_back_is_told_apart() {
        let part = effect(|ms| if (2000..3000).contains(&ms) { 75 } else { 100 }).service.unwrap();
        assert_eq!((part.outage_s, part.first_reply_s), (None, Some(0.0)));
        assert!((0.9..=1.0).contains(&part.full_rate_s.unwrap()), "{part:?}");
        assert_eq!((part.during_rps, part.after_rps), (7500.0, Some(10_000.0)));
        let unmoved = effect(|_| 100).service.unwrap();
        assert_eq!((unmoved.first_reply_s, unmoved.full_rate_s), (Some(0.0), Some(0.0)));
        let dead = effect(|ms| if ms < 2000 { 100 } else { 0 }).service.unwrap();
        assert_eq!((dead.first_reply_s, dead.full_rate_s, dead.after_rps), (None, None, None));
        let worse = effect(|ms| if ms < 2000 { 100 } else { 60 }).service.unwrap();
        assert_eq!((worse.first_reply_s, worse.full_rate_s), (Some(0.0), None));
        assert!(worse.stays_slower && worse.after_rps == Some(6000.0), "{worse:?}");
    }

    #[test]
    fn a_gap_long_after_the_fault_is_not_its_own() {
        let late = effect(|ms| if (4000..4500).contains(&ms) { 0 } else { 100 }).service.unwrap();
        assert_eq!((late.outage_s, late.first_reply_s), (None, Some(0.0)), "{late:?}");
    }

    #[test]
    fn what_is_usual_is_learnt_from_sparse_replies_too() {
        // A reply every 40 ms: gaps of 30 ms are usual, and one of 80 ms is no outage.
        let sparse = |ms: u64| u64::from(ms.is_multiple_of(40) && !(2040..2080).contains(&ms));
        let service = effect(sparse).service.unwrap();
        assert_eq!((service.outage_s, service.first_reply_s), (None, Some(0.0)), "{service:?}");
    }
}
