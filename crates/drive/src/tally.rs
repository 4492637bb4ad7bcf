//! What a thread has counted, in the form in which threads and processes hand it on to be added up.

use std::collections::BTreeMap;

use pitot_durability::add_range;
use pitot_meter::{Histogram, Nanos};
use pitot_results::load::{
    ConnectionCounts, ErrorRow, IdleCounts, RequestCounts, ThreadUse, WarmupCounts, Window,
};
use serde::{Deserialize, Serialize};

use crate::handshakes::Handshakes;
use crate::histogram_text as text;
use crate::pages::PageTally;
use crate::sessions::SessionTally;
use crate::steps::StepCounts;

/// Missed arrivals are known by the second in which they were due for so many seconds of a run: one of days does not grow with them.
pub const MISSED_SECONDS_MAX: usize = 86_400;

/// First digits that a status may have.
pub const STATUS_CLASSES: usize = 10;

/// Everything that one thread counted in a run, except response times, which go by the second ([`Interval`]).
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Tally {
    /// Requests of the measured part.
    pub requests: RequestCounts,
    /// Of the warm-up.
    pub warmup: WarmupCounts,
    /// Of the whole run, but for peak and mean.
    pub connections: ConnectionCounts,
    /// Errors of the measured part, by phase and kind.
    pub errors: Vec<ErrorRow>,
    /// Complete replies of the measured part by their status, where the protocol has one.
    pub statuses: BTreeMap<u16, u64>,
    /// Bytes of the content of right replies of the measured part.
    pub content: u64,
    /// From the send to the end of the reply.
    #[serde(with = "text")]
    pub service: Histogram,
    /// From the intended start to the send.
    #[serde(with = "text")]
    pub schedule_lag: Histogram,
    /// From the connect to the established connection.
    #[serde(with = "text")]
    pub connect: Histogram,
    /// From the send to the first byte of the reply.
    #[serde(with = "text")]
    pub first_byte: Histogram,
    /// TLS handshakes.
    pub tls: Handshakes,
    /// Between arrivals of the same reply.
    #[serde(with = "text")]
    pub gaps: Histogram,
    /// The sum of all gaps.
    pub flow_ns: u64,
    /// The sum of those that are long.
    pub stalled_ns: u64,
    /// One entry a thread.
    pub threads: Vec<ThreadUse>,
    /// The result of a storm of connections.
    pub storm: Option<StormEnd>,
    /// How idle connections were served, if they send anything.
    pub idle: Option<IdleCounts>,
    /// Arrivals missed, by the second of the measured part in which they were due.
    pub missed_by_second: Vec<u64>,
    /// When the last complete reply came, in the warm-up or later; 0 if none did.
    pub last_reply_ns: u64,
    /// When the last error was counted; 0 if none was.
    pub last_error_ns: u64,
    /// Of a run whose users read pages.
    pub pages: Option<Box<PageTally>>,
    /// The measured part, if the run got so far.
    pub window: Option<Window>,
    /// Of sessions, if requests were steps of such.
    pub sessions: Option<Box<SessionTally>>,
    /// What the protocol counted by itself, warm-up and all.
    pub protocol: BTreeMap<String, u64>,
    /// What was acknowledged, if requests had names and no second was measured; otherwise it goes by the second.
    pub acknowledged: Acknowledgements,
    /// Where the first redirect led that was not followed.
    pub redirects_to: Option<String>,
    /// The first refusal of the server in its own words.
    pub server_said: Option<String>,
}

/// What the server has acknowledged of requests that have names: by connection, the ranges of their numbers.
pub type Acknowledgements = BTreeMap<String, Vec<(u64, u64)>>;

/// How far a storm got.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StormEnd {
    /// Connections established.
    pub established: u64,
    /// When the last of them was, from the start.
    pub last_at_ns: u64,
}

/// One second of the measured part: what was done in it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Interval {
    /// Which second, from 0.
    pub second: u64,
    /// Replies completed in it.
    pub completed: u64,
    /// The same by the first digit of their status, where the protocol has one; the others at 0.
    pub by_class: [u64; STATUS_CLASSES],
    /// Requests that ended in it without a reply.
    pub failed: u64,
    /// Errors of all phases.
    pub errors: u64,
    /// The same by phase and kind.
    pub kinds: Vec<ErrorRow>,
    /// Bytes from the server.
    pub received: u64,
    /// Bytes to the server.
    pub sent: u64,
    /// Arrivals found to be missed in it, which were due in it or before.
    pub missed: u64,
    /// Connections open at its end.
    pub open: u64,
    /// The most connections open at once in it.
    pub open_peak: u64,
    /// The sum over all connections of the time for which they were open in it.
    pub open_ns: u64,
    /// Response times of the replies completed and of the timeouts in it.
    #[serde(with = "text")]
    pub response: Histogram,
    /// The same in parts of the second, where they are asked for.
    pub steps: StepCounts,
    /// What was acknowledged since the second before, if requests have names.
    pub acknowledged: Acknowledgements,
}

impl Tally {
    /// Adds what another thread or process counted in the same run.
    pub fn merge(&mut self, other: &Tally) {
        let (a, b) = (&mut self.requests, &other.requests);
        a.attempted += b.attempted;
        a.completed += b.completed;
        a.ok += b.ok;
        a.failed += b.failed;
        a.cut += b.cut;
        a.cut_oldest_ns = a.cut_oldest_ns.max(b.cut_oldest_ns);
        a.missed += b.missed;
        a.started_late += b.started_late;
        if self.redirects_to.is_none() {
            self.redirects_to.clone_from(&other.redirects_to);
        }
        if self.server_said.is_none() {
            self.server_said.clone_from(&other.server_said);
        }
        self.warmup.requests += other.warmup.requests;
        self.warmup.errors += other.warmup.errors;
        merge_connections(&mut self.connections, &other.connections);
        add_errors(&mut self.errors, &other.errors);
        for (status, count) in &other.statuses {
            *self.statuses.entry(*status).or_default() += count;
        }
        self.content += other.content;
        self.service.merge(&other.service);
        self.schedule_lag.merge(&other.schedule_lag);
        self.connect.merge(&other.connect);
        self.first_byte.merge(&other.first_byte);
        self.tls.merge(&other.tls);
        self.gaps.merge(&other.gaps);
        self.flow_ns += other.flow_ns;
        self.stalled_ns += other.stalled_ns;
        self.threads.extend_from_slice(&other.threads);
        self.storm = match (self.storm, other.storm) {
            (Some(a), Some(b)) => Some(StormEnd {
                established: a.established + b.established,
                last_at_ns: a.last_at_ns.max(b.last_at_ns),
            }),
            (a, b) => a.or(b),
        };
        self.idle = match (self.idle, other.idle) {
            (Some(a), Some(b)) => Some(IdleCounts {
                connections: a.connections + b.connections,
                replies: a.replies + b.replies,
                replies_min: a.replies_min.min(b.replies_min),
                gap_max_s: a.gap_max_s.max(b.gap_max_s),
            }),
            (a, b) => a.or(b),
        };
        if self.missed_by_second.len() < other.missed_by_second.len() {
            self.missed_by_second.resize(other.missed_by_second.len(), 0);
        }
        for (mine, missed) in self.missed_by_second.iter_mut().zip(&other.missed_by_second) {
            *mine += missed;
        }
        match (&mut self.sessions, &other.sessions) {
            (Some(mine), Some(other)) => mine.merge(other),
            (mine, other) => *mine = mine.take().or_else(|| other.clone()),
        }
        self.last_reply_ns = self.last_reply_ns.max(other.last_reply_ns);
        self.last_error_ns = self.last_error_ns.max(other.last_error_ns);
        for (name, count) in &other.protocol {
            self.count(name, *count);
        }
        add_all_acknowledged(&mut self.acknowledged, &other.acknowledged);
        if let Some(pages) = &other.pages {
            self.pages.get_or_insert_default().merge(pages);
        }
        self.window = match (self.window, other.window) {
            (Some(a), Some(b)) => Some(Window { start: a.start.min(b.start), end: a.end.max(b.end) }),
            (a, b) => a.or(b),
        };
    }

    /// What was due and begun: the pages, where users read pages, sessions, where they play such, and else the requests.
    pub fn begun(&self) -> u64 {
        match (&self.pages, &self.sessions) {
            (Some(pages), _) => pages.begun,
            (None, Some(sessions)) => sessions.begun,
            (None, None) => self.requests.attempted,
        }
    }

    /// Adds what a protocol has counted. Of what is a maximum the largest is kept.
    pub fn count(&mut self, name: &str, count: u64) {
        let all = self.protocol.entry(name.to_owned()).or_default();
        *all = if name.starts_with("max-") { count.max(*all) } else { *all + count };
    }

    /// Errors of all kinds together.
    pub fn error_count(&self) -> u64 {
        self.errors.iter().map(|e| e.count).sum()
    }
}

/// Adds errors to those of the same kind; the first came first.
pub fn add_errors(all: &mut Vec<ErrorRow>, others: &[ErrorRow]) {
    for row in others {
        match all.iter_mut().find(|r| r.phase == row.phase && r.kind == row.kind) {
            Some(mine) => {
                mine.count += row.count;
                mine.first_at_s = mine.first_at_s.min(row.first_at_s);
            }
            None => all.push(row.clone()),
        }
    }
}

/// Adds what was acknowledged on a connection, later than what is known of it.
pub fn add_acknowledged(all: &mut Acknowledgements, connection: &str, numbers: &[(u64, u64)]) {
    let known = all.entry(connection.to_owned()).or_default();
    numbers.iter().for_each(|range| add_range(known, *range));
}

/// The same for many connections.
pub fn add_all_acknowledged(all: &mut Acknowledgements, more: &Acknowledgements) {
    more.iter().for_each(|(connection, numbers)| add_acknowledged(all, connection, numbers));
}

/// Adds another thread's counts; peak and mean are known only by the second and added there.
fn merge_connections(all: &mut ConnectionCounts, other: &ConnectionCounts) {
    all.requested += other.requested;
    all.opened += other.opened;
    all.reopened += other.reopened;
    all.closed_by_peer += other.closed_by_peer;
    all.connect_failures += other.connect_failures;
    all.trickled += other.trickled;
    all.retransmits += other.retransmits;
    all.asked += other.asked;
    all.unanswered += other.unanswered;
}

impl Interval {
    /// Makes it the empty record of `second`, whose memory it keeps.
    pub fn begin(&mut self, second: u64, open: u64) {
        self.response.clear();
        self.second = second;
        self.completed = 0;
        self.by_class = [0; STATUS_CLASSES];
        self.failed = 0;
        self.errors = 0;
        self.kinds.clear();
        self.received = 0;
        self.sent = 0;
        self.missed = 0;
        self.open = open;
        self.open_peak = open;
        self.open_ns = 0;
        self.steps.clear();
        self.acknowledged.clear();
    }

    /// Adds what another source did in the same second. Peaks of one second are added, as if they had come at once.
    pub fn merge(&mut self, other: &Interval) {
        self.completed += other.completed;
        self.by_class.iter_mut().zip(other.by_class).for_each(|(mine, count)| *mine += count);
        self.failed += other.failed;
        self.errors += other.errors;
        add_errors(&mut self.kinds, &other.kinds);
        self.received += other.received;
        self.sent += other.sent;
        self.missed += other.missed;
        self.open += other.open;
        self.open_peak += other.open_peak;
        self.open_ns += other.open_ns;
        self.response.merge(&other.response);
        self.steps.merge(&other.steps);
        add_all_acknowledged(&mut self.acknowledged, &other.acknowledged);
    }
}

/// The first digit of a status.
#[inline]
pub fn status_class(status: u16) -> usize {
    usize::from(status / 100).min(STATUS_CLASSES - 1)
}

/// The difference of two readings of a thread's clocks.
pub fn thread_use(cpu: (Nanos, Nanos), run_queue: Option<Nanos>, wall: Nanos, late_max: Nanos) -> ThreadUse {
    let (user, system) = (cpu.0.as_secs_f64(), cpu.1.as_secs_f64());
    ThreadUse {
        cpu_user_s: user,
        cpu_system_s: system,
        // The clock of CPU time is coarser than that of the wall.
        cpu_utilisation: if wall == Nanos::ZERO {
            0.0
        } else {
            ((user + system) / wall.as_secs_f64()).min(1.0)
        },
        run_queue_s: run_queue.map(Nanos::as_secs_f64),
        late_max_ns: late_max.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(kind: &str, count: u64, first_at_s: f64) -> ErrorRow {
        ErrorRow { phase: "connect".into(), kind: kind.into(), count, first_at_s }
    }

    #[test]
    fn errors_of_one_kind_add_up_and_the_first_comes_first() {
        let mut a = Tally { errors: vec![row("ECONNREFUSED", 2, 1.5)], ..Tally::default() };
        let b =
            Tally { errors: vec![row("ETIMEDOUT", 1, 3.0), row("ECONNREFUSED", 5, 0.5)], ..Tally::default() };
        a.merge(&b);
        assert_eq!(a.errors, [row("ECONNREFUSED", 7, 0.5), row("ETIMEDOUT", 1, 3.0)]);
        assert_eq!(a.error_count(), 8);
    }

    #[test]
    fn a_tally_passes_through_text_unchanged() {
        let mut tally = Tally { errors: vec![row("EPIPE", 1, 0.0)], ..Tally::default() };
        tally.service.record(Nanos::from_micros(7));
        tally.requests.ok = 3;
        let text = serde_json::to_string(&tally).unwrap();
        let back: Tally = serde_json::from_str(&text).unwrap();
        assert_eq!((back.requests, back.errors), (tally.requests, tally.errors));
        assert_eq!(back.service.max(), tally.service.max());
    }

    #[test]
    fn a_begun_interval_is_empty() {
        let mut interval = Interval { completed: 4, open_ns: 9, ..Interval::default() };
        interval.response.record(Nanos(5));
        interval.begin(7, 3);
        assert_eq!((interval.second, interval.completed, interval.open, interval.open_peak), (7, 0, 3, 3));
        assert_eq!((interval.response.count(), interval.open_ns), (0, 0));
    }
}
