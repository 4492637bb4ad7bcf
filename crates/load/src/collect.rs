//! Merges what threads and processes recorded, second by second.

use std::collections::BTreeMap;

use pitot_meter::{Histogram, Nanos};
use pitot_results::load::{ErrorRow, Second, Steps};

use pitot_drive::tally::{
    Acknowledgements, Interval, MISSED_SECONDS_MAX, Tally, add_all_acknowledged, add_errors,
};

/// Called for each second that all sources have reported, with its response times.
pub(crate) type Finished<'a> = dyn FnMut(&Collector, &Second, &Histogram) + 'a;

/// Everything collected.
pub(crate) struct Collector {
    /// For each source the next second that it will report; `None` once it has ended.
    next: Vec<Option<u64>>,
    /// Seconds that some source has not reported yet.
    partial: BTreeMap<u64, Interval>,
    /// Response times of all finished seconds.
    pub(crate) response: Histogram,
    /// The seconds that are over, unless they are not kept.
    series: Option<Vec<Second>>,
    pub(crate) tally: Tally,
    pub(crate) completed: u64,
    pub(crate) failed: u64,
    pub(crate) errors: u64,
    /// Errors of all finished seconds by phase and kind.
    pub(crate) kinds: Vec<ErrorRow>,
    pub(crate) missed: u64,
    pub(crate) received: u64,
    pub(crate) sent: u64,
    pub(crate) open_ns: u128,
    pub(crate) peak_open: u64,
    /// The measured part by its steps, where they are asked for; where its seconds are not kept, the last one.
    steps: Option<Steps>,
    /// What was acknowledged in the second that was finished last, if seconds are not kept.
    acknowledged: Acknowledgements,
}

impl Collector {
    pub(crate) fn new(sources: usize, keeps_seconds: bool) -> Collector {
        Collector {
            next: vec![Some(0); sources],
            partial: BTreeMap::new(),
            response: Histogram::new(),
            series: keeps_seconds.then(Vec::new),
            tally: Tally::default(),
            completed: 0,
            failed: 0,
            errors: 0,
            kinds: Vec::new(),
            missed: 0,
            received: 0,
            sent: 0,
            open_ns: 0,
            peak_open: 0,
            steps: None,
            acknowledged: Acknowledgements::new(),
        }
    }

    /// Collects steps of this length too.
    pub(crate) fn in_steps(mut self, step: Option<Nanos>) -> Collector {
        self.steps = step.map(|step| Steps { length_ns: step.0, ..Steps::default() });
        self
    }

    /// Takes a second of one source.
    pub(crate) fn interval(&mut self, source: usize, interval: &Interval, finished: &mut Finished<'_>) {
        self.next[source] = Some(interval.second + 1);
        self.partial
            .entry(interval.second)
            .or_insert_with(|| Interval { second: interval.second, ..Interval::default() })
            .merge(interval);
        self.finish_seconds(finished);
    }

    /// Takes the end of one source.
    pub(crate) fn end(&mut self, source: usize, tally: &Tally, finished: &mut Finished<'_>) {
        self.next[source] = None;
        self.tally.merge(tally);
        self.finish_seconds(finished);
    }

    /// True once every source has ended.
    pub(crate) fn is_complete(&self) -> bool {
        self.next.iter().all(Option::is_none)
    }

    fn finish_seconds(&mut self, finished: &mut Finished<'_>) {
        let reported = self.next.iter().flatten().min().copied().unwrap_or(u64::MAX);
        while let Some(entry) = self.partial.first_entry().filter(|entry| *entry.key() < reported) {
            let interval = entry.remove();
            let second = Second {
                t_s: interval.second,
                completed: interval.completed,
                status_2xx: interval.by_class[2],
                status_3xx: interval.by_class[3],
                status_4xx: interval.by_class[4],
                status_5xx: interval.by_class[5],
                errors: interval.errors,
                missed: interval.missed,
                received: interval.received,
                sent: interval.sent,
                open: interval.open,
                p50_ns: interval.response.at(0.5).0,
                p95_ns: interval.response.at(0.95).0,
                p99_ns: interval.response.at(0.99).0,
                max_ns: interval.response.max().0,
            };
            self.response.merge(&interval.response);
            self.completed += interval.completed;
            self.failed += interval.failed;
            self.errors += interval.errors;
            add_errors(&mut self.kinds, &interval.kinds);
            self.missed += interval.missed;
            self.received += interval.received;
            self.sent += interval.sent;
            self.open_ns += u128::from(interval.open_ns);
            self.peak_open = self.peak_open.max(interval.open_peak);
            if let Some(series) = &mut self.series {
                series.push(second.clone());
            }
            match (&mut self.steps, &self.series) {
                (Some(steps), Some(_)) => interval.steps.append_to(steps, interval.second),
                (Some(steps), None) => {
                    *steps = Steps { length_ns: steps.length_ns, ..Steps::default() };
                    interval.steps.append_to(steps, 0);
                }
                (None, _) => {}
            }
            if self.series.is_some() {
                add_all_acknowledged(&mut self.tally.acknowledged, &interval.acknowledged);
            } else {
                self.acknowledged = interval.acknowledged;
            }
            finished(self, &second, &interval.response);
        }
    }

    /// The measured part by its steps, if its seconds are kept.
    pub(crate) fn whole_steps(&self) -> Option<&Steps> {
        self.steps.as_ref().filter(|_| self.series.is_some())
    }

    /// The steps of the second that was finished last, if seconds are not kept.
    pub(crate) fn steps_of_second(&self) -> Option<&Steps> {
        self.steps.as_ref().filter(|_| self.series.is_none())
    }

    /// What was acknowledged in the second that was finished last, if seconds are not kept; otherwise the tally has it.
    pub(crate) fn acknowledged_in_second(&self) -> Option<&Acknowledgements> {
        self.series.is_none().then_some(&self.acknowledged)
    }

    /// The series with missed arrivals in the seconds in which they were due, as is known at the end only.
    pub(crate) fn series(&self) -> Vec<Second> {
        let known = |second: u64| self.tally.missed_by_second.get(second as usize).copied().unwrap_or(0);
        let missed = |second: &Second| {
            if second.t_s < MISSED_SECONDS_MAX as u64 { known(second.t_s) } else { second.missed }
        };
        let series = self.series.iter().flatten();
        series.map(|second| Second { missed: missed(second), ..second.clone() }).collect()
    }

    /// The mean number of connections open over `length`.
    pub(crate) fn mean_open(&self, length: Nanos) -> f64 {
        if length == Nanos::ZERO { 0.0 } else { self.open_ns as f64 / length.0 as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(second: u64, completed: u64) -> Interval {
        let mut interval = Interval { second, completed, open_peak: completed, ..Interval::default() };
        interval.response.record(Nanos::from_millis(completed));
        interval
    }

    #[test]
    fn where_seconds_are_not_kept_each_has_its_own_steps() {
        let mut collector = Collector::new(1, false).in_steps(Some(Nanos::from_millis(100)));
        let mut seen = Vec::new();
        for second in 0..3 {
            let mut interval = interval(second, 1);
            interval.steps.right(second as usize);
            let mut take = |collector: &Collector, _: &Second, _: &Histogram| {
                seen.push(collector.steps_of_second().unwrap().right.clone());
            };
            collector.interval(0, &interval, &mut take);
        }
        collector.end(0, &Tally::default(), &mut |collector, _, _| {
            assert!(collector.whole_steps().is_none());
            seen.push(collector.steps_of_second().unwrap().right.clone());
        });
        assert_eq!(seen, [vec![1], vec![0, 1], vec![0, 0, 1]]);
    }

    #[test]
    fn a_second_is_finished_when_all_sources_have_reported_it() {
        let mut collector = Collector::new(2, true);
        let mut seen = Vec::new();
        let mut take =
            |_: &Collector, second: &Second, _: &Histogram| seen.push((second.t_s, second.completed));
        collector.interval(0, &interval(0, 1), &mut take);
        collector.interval(0, &interval(1, 2), &mut take);
        collector.interval(1, &interval(0, 10), &mut take);
        collector.end(1, &Tally::default(), &mut take);
        assert!(!collector.is_complete());
        collector.end(0, &Tally::default(), &mut take);
        assert_eq!(seen, [(0, 11), (1, 2)]);
        assert!(collector.is_complete());
        assert_eq!((collector.completed, collector.peak_open, collector.response.count()), (13, 11, 3));
    }
}
