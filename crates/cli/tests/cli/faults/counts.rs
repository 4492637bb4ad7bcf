//! Whether what a report says of service around a fault agrees with what the load generator counted. A busy machine changes
//! what happens, and both with it: a test needs no second try.

use std::ops::Range;

use pitot_fault::FaultRecord;
use pitot_record::Repetition;
use serde_json::Value;

/// Steps of a stretch: a tenth of a second in steps of 10 ms.
const STRETCH: usize = 10;
/// A report learns what is usual from so many stretches, of so long before a fault.
const STRETCHES_MIN: usize = 5;
const BEFORE_NS: u64 = 3_000_000_000;
/// A silence of so many steps is an outage, if it is three times as long as any before.
const SILENT_MIN: usize = 5;

/// What was counted around a fault.
struct Counts<'r> {
    right: &'r [u64],
    length_ns: u64,
    start_ns: u64,
    /// Steps of the time before it, up to its begin, and of the time up to the next fault or the end.
    before: Range<usize>,
    after: Range<usize>,
}

impl<'r> Counts<'r> {
    fn of(repetition: &'r Repetition, fault: &FaultRecord) -> Counts<'r> {
        let load = repetition.load.as_ref().unwrap();
        let steps = load.steps.as_ref().unwrap();
        let (start_ns, end_ns) = (load.clock_ns.start, load.clock_ns.end);
        let step = |at: u64| (at.saturating_sub(start_ns) / steps.length_ns) as usize;
        let step_from = |at: u64| at.saturating_sub(start_ns).div_ceil(steps.length_ns) as usize;
        let others = || repetition.faults.iter().filter(|f| f.was_made() && f.number != fault.number);
        let earlier = others().filter(|f| f.began_ns < fault.began_ns).map(|f| f.ended_ns.max(f.began_ns));
        let from = earlier.max().unwrap_or(0).max(start_ns).max(fault.began_ns.saturating_sub(BEFORE_NS));
        let next = others().map(|f| f.began_ns).filter(|at| *at >= fault.began_ns).min();
        let until = next.unwrap_or(end_ns).min(end_ns);
        Counts {
            right: &steps.right,
            length_ns: steps.length_ns,
            start_ns,
            before: step_from(from)..step(fault.began_ns),
            after: step_from(fault.began_ns)..step(until),
        }
    }

    fn right(&self, steps: Range<usize>) -> u64 {
        steps.map(|step| self.right.get(step).copied().unwrap_or(0)).sum()
    }

    /// The longest run of steps without a right reply.
    fn silent(&self, steps: Range<usize>) -> usize {
        let (mut longest, mut now) = (0, 0);
        for step in steps {
            now = if self.right(step..step + 1) == 0 { now + 1 } else { 0 };
            longest = longest.max(now);
        }
        longest
    }

    /// Right replies in stretches before the fault, ascending.
    fn usual(&self) -> Vec<u64> {
        let from = self.before.clone().step_by(STRETCH).filter(|from| from + STRETCH <= self.before.end);
        let mut usual: Vec<u64> = from.map(|from| self.right(from..from + STRETCH)).collect();
        usual.sort_unstable();
        usual
    }

    /// The step that begins at a moment, nanoseconds.
    fn step_at(&self, at_ns: f64) -> usize {
        ((at_ns - self.start_ns as f64) / self.length_ns as f64).round().max(0.0) as usize
    }
}

/// Asserts that a fault of a report agrees with what was counted around it. False if it was not made, for which there is a
/// reason.
pub(crate) fn agrees(fault: &Value, repetition: &Repetition) -> bool {
    let number = fault["number"].as_u64().unwrap();
    let record = repetition.faults.iter().find(|record| u64::from(record.number) == number);
    let Some(record) = record.filter(|record| record.was_made()) else {
        assert!(fault["made"] == false && !fault["what"].as_str().unwrap().is_empty(), "{fault:#}");
        return false;
    };
    assert_eq!(fault["made"], true, "{fault:#}");
    let counts = Counts::of(repetition, record);
    let usual = counts.usual();
    let service = &fault["service"];
    if service.is_null() {
        let is_little = usual.len() < STRETCHES_MIN || usual[usual.len() / 2] == 0;
        let load = repetition.load.as_ref().unwrap();
        let is_outside = !(load.clock_ns.start..load.clock_ns.end).contains(&record.began_ns);
        assert!(is_little || is_outside, "there was enough to judge by: {fault:#}");
        return true;
    }
    let moment =
        |name: &str| service[name].as_f64().map(|s| counts.step_at(record.began_ns as f64 + s * 1e9));
    match service["first_reply_s"].as_f64() {
        None => {
            let last = counts.after.end.saturating_sub(SILENT_MIN)..counts.after.end;
            assert_eq!(counts.right(last), 0, "service was back: {fault:#}");
        }
        Some(0.0) => {
            let (before, after) = (counts.silent(counts.before.clone()), counts.silent(counts.after.clone()));
            let ended = counts.step_at(record.ended_ns.max(record.began_ns) as f64);
            let begins_by = counts.after.start..(ended + STRETCH).min(counts.after.end);
            let is_outage = counts.silent(begins_by) >= (before * 3).max(SILENT_MIN);
            assert!(!is_outage, "an outage of {after} steps: {fault:#}");
        }
        Some(_) => {
            // The moment is the end of the step in which the reply came.
            let reply = moment("first_reply_s").unwrap() - 1;
            assert!(counts.right(reply..reply + 1) > 0, "no reply came then: {fault:#}");
            let silent = reply - SILENT_MIN..reply;
            assert_eq!(counts.right(silent), 0, "replies came before: {fault:#}");
        }
    }
    if let Some(full) = moment("full_rate_s").filter(|_| service["full_rate_s"] != 0.0) {
        let least = (usual[usual.len() / 2] as f64 * 0.95).min(usual[0] as f64);
        let rate = counts.right(full..full + STRETCH) as f64;
        assert!(rate >= least, "{rate} replies in a stretch, of {least} wanted: {fault:#}");
    }
    true
}
