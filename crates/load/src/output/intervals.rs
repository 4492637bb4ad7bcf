//! A run as it goes on, a line for each interval: for runs of days, of which no second is kept.

use pitot_durability::Acknowledged;
use pitot_meter::Histogram;
use pitot_results::interval::Interval;
use pitot_results::load::{ErrorRow, StepErrors, Steps};

use crate::watch::Progress;

const SECOND_NS: u64 = 1_000_000_000;

/// Puts seconds together to intervals.
#[derive(Debug)]
pub struct Intervals {
    length_s: u64,
    /// The interval under way, if it has a second.
    open: Option<Interval>,
    response: Histogram,
}

impl Intervals {
    /// Intervals of so many seconds, which is not 0. They begin at its multiples.
    pub fn new(length_s: u64) -> Intervals {
        Intervals { length_s, open: None, response: Histogram::new() }
    }

    /// Takes a second, and returns the line of the interval that is over with it.
    pub fn second(&mut self, progress: &Progress<'_>) -> Option<String> {
        let second = progress.second;
        let interval = self.open.get_or_insert_with(|| Interval { t_s: second.t_s, ..Interval::default() });
        interval.length_s = second.t_s + 1 - interval.t_s;
        interval.completed += second.completed;
        interval.status_2xx += second.status_2xx;
        interval.status_3xx += second.status_3xx;
        interval.status_4xx += second.status_4xx;
        interval.status_5xx += second.status_5xx;
        interval.errors += second.errors;
        interval.missed += second.missed;
        interval.received += second.received;
        interval.sent += second.sent;
        interval.open = second.open;
        self.response.merge(progress.response);
        if let Some(steps) = progress.steps {
            append(interval.steps.get_or_insert_default(), steps, second.t_s - interval.t_s);
        }
        if let Some(told) = &progress.durability {
            let blank = || Acknowledged { connections: Vec::new(), ..told.clone() };
            interval.durability.get_or_insert_with(blank).add(told);
        }
        if (second.t_s + 1).is_multiple_of(self.length_s) { self.end(progress.kinds) } else { None }
    }

    /// The line of the interval that was under way when the run ended, if there was one.
    pub fn end(&mut self, kinds: &[ErrorRow]) -> Option<String> {
        let mut interval = self.open.take()?;
        interval.response = self.response.encode();
        self.response.clear();
        interval.error_kinds = kinds.to_vec();
        serde_json::to_string(&interval).ok()
    }
}

/// Adds the steps of a second to those of its interval, in which it is the one of that number.
fn append(all: &mut Steps, steps: &Steps, second: u64) {
    all.length_ns = steps.length_ns;
    let first = second * SECOND_NS / steps.length_ns.max(1);
    all.right.resize(first as usize, 0);
    all.right.extend(&steps.right);
    for row in &steps.errors {
        let at = row.at.iter().map(|(step, count)| (first + step, *count));
        match all.errors.iter_mut().find(|known| known.phase == row.phase && known.kind == row.kind) {
            Some(known) => known.at.extend(at),
            None => all.errors.push(StepErrors { at: at.collect(), ..row.clone() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use pitot_durability::OfConnection;
    use pitot_meter::Nanos;
    use pitot_results::load::{Second, StepErrors, Steps};

    use super::*;

    #[test]
    fn seconds_are_put_together_and_none_is_lost_at_the_end() {
        let mut intervals = Intervals::new(3);
        let mut lines = Vec::new();
        for t_s in 0..5 {
            let second = Second { t_s, completed: 10 + t_s, errors: 1, open: t_s, ..Second::default() };
            let mut response = Histogram::new();
            response.record(Nanos::from_millis(t_s + 1));
            let kinds = [ErrorRow { kind: "reset".into(), count: t_s + 1, ..ErrorRow::default() }];
            let row = StepErrors { phase: "receive".into(), kind: "reset".into(), at: vec![(1, t_s)] };
            let steps = Steps { length_ns: SECOND_NS / 4, right: vec![t_s, 2], errors: vec![row] };
            let progress = Progress {
                second: &second,
                response: &response,
                steps: Some(&steps),
                durability: Some(Acknowledged {
                    connections: vec![OfConnection {
                        connection: "a".into(),
                        numbers: vec![(2 * t_s, 2 * t_s + 1)],
                    }],
                    ..Acknowledged::default()
                }),
                errors: t_s + 1,
                kinds: &kinds,
                left: None,
                trying_rps: None,
            };
            lines.extend(intervals.second(&progress));
        }
        lines.extend(intervals.end(&[]));
        let read: Vec<Interval> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
        let spans: Vec<_> = read.iter().map(|i| (i.t_s, i.length_s, i.completed, i.errors, i.open)).collect();
        assert_eq!(spans, [(0, 3, 33, 3, 2), (3, 2, 27, 2, 4)]);
        assert_eq!(read[0].error_kinds[0].count, 3);
        let steps = read[1].steps.as_ref().unwrap();
        assert_eq!(steps.right, [3, 2, 0, 0, 4, 2]);
        assert_eq!((steps.errors.len(), &steps.errors[0].at), (1, &vec![(1, 3), (5, 4)]));
        let durability: Vec<_> =
            read.iter().map(|i| i.durability.as_ref().unwrap().connections[0].numbers.clone()).collect();
        assert_eq!(durability, [vec![(0, 5)], vec![(6, 9)]]);
        let response = Histogram::decode(&read[1].response).unwrap();
        // To the resolution of a histogram.
        assert_eq!((response.count(), (response.min().0 + 500_000) / 1_000_000), (2, 4));
        assert_eq!(intervals.end(&[]), None);
    }
}
