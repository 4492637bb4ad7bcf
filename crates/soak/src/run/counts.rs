//! Makes intervals and counts of the lines of a load (`pitot load --intervals`).

use pitot_durability::Acknowledged;
use pitot_meter::{Buckets, Histogram};
use pitot_results::interval::Interval as Line;
use pitot_results::load::{ErrorRow, Steps};

use pitot_record::soak::{Interval, Kind, Totals};

/// A line's report on a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Told {
    /// Its begin, whole seconds from the start of the load's measured part.
    pub(crate) t_s: u64,
    /// Its replies and errors in steps, if the load has them.
    pub(crate) steps: Option<Steps>,
    pub(crate) replies: u64,
    /// Whether something was sent, or a connection could not be opened.
    pub(crate) asked: bool,
    /// What the server acknowledged in it, if the load records that.
    pub(crate) durability: Option<Acknowledged>,
}

/// A second of a load, for people.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LastSecond {
    pub(crate) replies: u64,
    pub(crate) p50_ns: u64,
    pub(crate) p99_ns: u64,
    /// Connections at its end.
    pub(crate) open: u64,
}

/// The counts of a load, over all of its processes.
#[derive(Debug)]
pub(crate) struct LoadCounts {
    load: i64,
    totals: Totals,
    /// Errors that the current process has reported.
    known: Vec<ErrorRow>,
    open: Interval,
    response: Histogram,
    /// All response times that it reported since the lab was started.
    buckets: Buckets,
    /// The last second that it reported.
    last: LastSecond,
    /// When the current process was started, seconds since the soak began, and how much of its time is in intervals.
    begun_s: f64,
    counted_s: f64,
}

impl LoadCounts {
    /// A load with its earlier counts.
    pub(crate) fn new(load: i64, totals: Totals) -> LoadCounts {
        LoadCounts {
            load,
            totals,
            known: Vec::new(),
            open: Interval::default(),
            response: Histogram::new(),
            buckets: Buckets::default(),
            last: LastSecond::default(),
            begun_s: 0.0,
            counted_s: 0.0,
        }
    }

    /// The load.
    pub(crate) fn load(&self) -> i64 {
        self.load
    }

    /// The last reported second; none once its process has ended.
    pub(crate) fn last_second(&self) -> LastSecond {
        self.last
    }

    /// Notes that its process has ended.
    pub(crate) fn end_process(&mut self) {
        self.last = LastSecond::default();
    }

    /// Notes that a new process is started for it, which counts from 0.
    pub(crate) fn begin_process(&mut self, now_s: f64) {
        self.known.clear();
        // Counts of an earlier process in the current interval are added.
        (self.begun_s, self.counted_s) = (now_s, -self.open.length_s);
    }

    /// Handles a line. Returns its report; none for other lines.
    pub(crate) fn line(&mut self, text: &str) -> Option<Told> {
        let line: Line = serde_json::from_str(text).ok()?;
        let response = Histogram::decode(&line.response).ok()?;
        self.response.merge(&response);
        self.buckets.add(&response);
        let at = |share: f64| response.at(share).0;
        self.last = LastSecond {
            replies: line.completed / line.length_s.max(1),
            p50_ns: at(0.5),
            p99_ns: at(0.99),
            open: line.open,
        };
        self.open.completed += line.completed;
        self.open.errors += line.errors;
        self.open.missed += line.missed;
        self.open.received += line.received;
        self.open.open = line.open;
        self.open.length_s += line.length_s as f64;
        let totals = &mut self.totals;
        totals.completed += line.completed;
        let by_status = [line.status_2xx, line.status_3xx, line.status_4xx, line.status_5xx];
        totals.by_status.iter_mut().zip(by_status).for_each(|(sum, n)| *sum += n);
        totals.errors += line.errors;
        totals.missed += line.missed;
        totals.received += line.received;
        totals.sent += line.sent;
        for row in &line.error_kinds {
            let known = self.known.iter().find(|k| k.phase == row.phase && k.kind == row.kind);
            let new = row.count.saturating_sub(known.map_or(0, |k| k.count));
            match totals.kinds.iter_mut().find(|k| k.phase == row.phase && k.kind == row.kind) {
                Some(kind) => kind.count += new,
                None if new > 0 => {
                    totals.kinds.push(Kind { phase: row.phase.clone(), kind: row.kind.clone(), count: new });
                }
                None => {}
            }
        }
        let asked = line.sent > 0 || line.open == 0;
        if let Some(durability) = &line.durability {
            totals.kept = Some(durability.of);
            totals.acknowledged += durability.count();
        }
        let Line { t_s, steps, durability, completed: replies, error_kinds, .. } = line;
        self.known = error_kinds;
        Some(Told { t_s, steps, replies, asked, durability })
    }

    /// The interval from `begin_s` to `end_s`, if the load ran in it. Loads report each second after it is over, so counts
    /// are up to a second older. The last second may be shorter, so the length is limited to the time since the load was
    /// started.
    pub(crate) fn end_interval(&mut self, begin_s: f64, end_s: f64) -> Option<Interval> {
        let mut interval = std::mem::take(&mut self.open);
        if interval.length_s <= 0.0 {
            return None;
        }
        let left_s = end_s - self.begun_s - self.counted_s;
        if left_s > 0.0 {
            interval.length_s = interval.length_s.min(left_s);
        }
        self.counted_s += interval.length_s;
        self.totals.loaded_s += interval.length_s;
        let response = self.response.encode();
        self.response.clear();
        let start_s = (end_s - interval.length_s).max(begin_s);
        Some(Interval { load: self.load, start_s, response, ..interval })
    }

    pub(crate) fn totals(&self) -> &Totals {
        &self.totals
    }

    pub(crate) fn buckets(&self) -> &Buckets {
        &self.buckets
    }

    /// Adds acknowledged requests that are lost or stored more than once.
    pub(crate) fn add_losses(&mut self, lost: u64, torn: u64, doubled: u64) {
        self.totals.lost += lost;
        self.totals.torn += torn;
        self.totals.doubled += doubled;
    }
}

#[cfg(test)]
mod tests {
    use pitot_meter::Nanos;

    use super::*;

    fn line(t_s: u64, completed: u64, resets: u64) -> String {
        let mut response = Histogram::new();
        (0..completed).for_each(|_| response.record(Nanos::from_micros(30)));
        let row =
            ErrorRow { phase: "receive".into(), kind: "reset".into(), count: resets, ..ErrorRow::default() };
        let line = Line {
            t_s,
            length_s: 1,
            completed,
            status_2xx: completed,
            errors: 1,
            response: response.encode(),
            error_kinds: vec![row],
            ..Line::default()
        };
        serde_json::to_string(&line).unwrap()
    }

    #[test]
    fn counts_go_on_over_processes_and_no_error_is_counted_twice() {
        let mut counts = LoadCounts::new(1, Totals { completed: 100, ..Totals::default() });
        counts.begin_process(9.5);
        assert_eq!(counts.line(&line(0, 5, 1)).map(|told| told.replies), Some(5));
        assert_eq!(counts.line(&line(1, 6, 2)).map(|told| told.replies), Some(6));
        let interval = counts.end_interval(2.0, 12.0).unwrap();
        assert_eq!((interval.start_s, interval.length_s, interval.completed), (10.0, 2.0, 11));
        assert_eq!(Histogram::decode(&interval.response).unwrap().count(), 11);
        assert_eq!(counts.end_interval(12.0, 13.0), None);
        counts.begin_process(12.0);
        assert_eq!(counts.line(&line(0, 1, 1)).map(|told| told.replies), Some(1));
        assert_eq!((counts.totals().completed, counts.totals().kinds[0].count), (112, 3));
        assert_eq!(counts.totals().by_status[0], 12);
        assert_eq!((counts.line("ready"), counts.totals().errors), (None, 3));
        // Those of all processes and intervals together.
        assert_eq!(counts.buckets().count(), 12);
        // It was ended half-way.
        assert_eq!(counts.end_interval(12.0, 12.5).unwrap().length_s, 0.5);
        assert_eq!(counts.totals().loaded_s, 2.5);
        // Two processes in one interval, and seconds that were over before the last one began.
        counts.line(&line(1, 1, 1));
        counts.begin_process(13.5);
        (0..2).for_each(|second| drop(counts.line(&line(second, 1, 1))));
        let last = counts.end_interval(13.0, 15.2).unwrap();
        assert_eq!((last.completed, (last.length_s * 10.0).round()), (3, 27.0));
    }
}
