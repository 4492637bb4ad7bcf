//! Where one thread records. Nothing here is shared and nothing is allocated for a request: once a second the finished
//! second is handed to the collector, which sends the memory back.

mod errors;
mod slice;
mod statuses;

use std::sync::mpsc::{Receiver, Sender};

use pitot_client::Handshake;
use pitot_durability::OfConnection;
use pitot_meter::Nanos;
use pitot_results::load::{ErrorRow, RequestCounts, Window};
use pitot_sys::{sched, usage};

use crate::message::Message;
use crate::sample::{ErrorKind, ErrorPhase, Outcome, Sample};
use crate::tally::{
    Interval, MISSED_SECONDS_MAX, StormEnd, Tally, add_acknowledged, status_class, thread_use,
};

use errors::Errors;
use slice::Beginning;
pub use slice::SliceRecord;
use statuses::Statuses;

/// A gap within a reply that is longer than this counts as a stall: a stream with a small buffer stops there.
pub const STALL: Nanos = Nanos::from_millis(100);
/// Lateness that counts as such.
const LATE: Nanos = Nanos::from_millis(1);
const SECOND: Nanos = Nanos::from_secs(1);

/// Where finished seconds go and used memory comes back.
pub struct Intervals {
    /// Index of this thread or process at the collector.
    pub source: usize,
    /// Finished seconds.
    pub finished: Sender<Message>,
    /// Used memory.
    pub spare: Receiver<Box<Interval>>,
}

/// The records of one thread.
pub struct Recorder {
    tally: Tally,
    errors: Errors,
    statuses: Statuses,
    interval: Box<Interval>,
    intervals: Intervals,
    /// The whole run has started: what comes before belongs to the opening of connections.
    started: bool,
    /// The start of the measured part.
    measure_at: Nanos,
    /// When the measured part ends, where that is known.
    end_at: Nanos,
    /// The end of the present second of the measured part; before it, its start. In the last second it is never.
    second_ends: Nanos,
    measuring: bool,
    open: u64,
    /// Up to when the open connections of this second are added up.
    open_counted_to: Nanos,
    clocks_at_start: Clocks,
    /// Of the present slice, if the load is held.
    beginning: Beginning,
    late_max: Nanos,
    /// The length of a step, where the seconds are counted in steps too.
    step: Option<Nanos>,
}

#[derive(Clone, Copy, Default)]
struct Clocks {
    user: Nanos,
    system: Nanos,
    run_queue: Option<Nanos>,
}

impl Clocks {
    /// Two system calls: for the start and the end of a run only.
    fn read() -> Clocks {
        let used = usage::of_this_thread();
        Clocks {
            user: used.cpu_user.into(),
            system: used.cpu_system.into(),
            run_queue: sched::run_queue_delay().map(Nanos::from),
        }
    }
}

impl Recorder {
    /// Of a thread with so many connections.
    pub fn new(requested: u64, intervals: Intervals) -> Recorder {
        let mut tally = Tally::default();
        tally.connections.requested = requested;
        Recorder {
            tally,
            errors: Errors::new(),
            statuses: Statuses::new(),
            interval: Box::default(),
            intervals,
            started: false,
            measure_at: Nanos::MAX,
            end_at: Nanos::MAX,
            second_ends: Nanos::MAX,
            measuring: false,
            open: 0,
            open_counted_to: Nanos::ZERO,
            clocks_at_start: Clocks::default(),
            beginning: Beginning::default(),
            late_max: Nanos::ZERO,
            step: None,
        }
    }

    /// Counts right replies and errors in steps of this length as well.
    pub fn in_steps(mut self, step: Option<Nanos>) -> Recorder {
        self.step = step;
        self
    }

    /// The run has started and will be measured from `measure_at` to `end_at`, which is `MAX` if it is not known.
    pub fn start(&mut self, measure_at: Nanos, end_at: Nanos) {
        self.started = true;
        self.measure_at = measure_at;
        self.end_at = end_at;
        self.second_ends = measure_at;
    }

    /// When [`Recorder::tick`] has something to do.
    pub fn next_tick(&self) -> Nanos {
        self.second_ends
    }

    /// Goes on to the second in which `now` lies.
    #[inline]
    pub fn tick(&mut self, now: Nanos) {
        while now >= self.second_ends {
            self.turn();
        }
    }

    fn turn(&mut self) {
        if self.measuring {
            self.count_open(self.second_ends);
            let second = self.interval.second + 1;
            self.hand_over(second);
        } else {
            self.measuring = true;
            self.clocks_at_start = Clocks::read();
            self.open_counted_to = self.measure_at;
            self.interval.begin(0, self.open);
        }
        // What the loop notices after the end belongs to the last second, and no empty one follows.
        let next = self.second_ends + SECOND;
        self.second_ends = if next < self.end_at { next } else { Nanos::MAX };
    }

    fn hand_over(&mut self, next_second: u64) {
        if self.interval.errors > 0 {
            self.interval.kinds = self.errors.take_new(self.measure_at);
        }
        let mut next = self.intervals.spare.try_recv().unwrap_or_default();
        next.begin(next_second, self.open);
        let finished = std::mem::replace(&mut self.interval, next);
        // Nobody needs the record if the collector is gone.
        let source = self.intervals.source;
        let _ = self.intervals.finished.send(Message::Interval { source, interval: finished });
    }

    fn count_open(&mut self, now: Nanos) {
        self.interval.open_ns += self.open * now.since(self.open_counted_to).0;
        self.open_counted_to = now;
    }

    /// The start of the measured part.
    pub fn measure_at(&self) -> Nanos {
        self.measure_at
    }

    /// True if a request intended at that time belongs to the measured part.
    #[inline]
    pub fn measured(&self, intended: Nanos) -> bool {
        intended >= self.measure_at
    }

    /// Whether the measured part has begun.
    pub fn is_measuring(&self) -> bool {
        self.measuring
    }

    /// The server has acknowledged requests that have names.
    pub fn acknowledged(&mut self, told: OfConnection) {
        if !told.numbers.is_empty() {
            add_acknowledged(&mut self.interval.acknowledged, &told.connection, &told.numbers);
        }
    }

    /// A request begins; true if it belongs to the measured part.
    #[inline]
    pub fn begun(&mut self, intended: Nanos) -> bool {
        let measured = self.measured(intended);
        if measured {
            self.tally.requests.attempted += 1;
        } else {
            self.tally.warmup.requests += 1;
        }
        measured
    }

    /// A request has its complete reply.
    #[inline]
    pub fn sample(&mut self, sample: &Sample) {
        self.tick(sample.done);
        self.interval.completed += u64::from(self.measuring);
        self.interval.by_class[status_class(sample.status)] += u64::from(self.measuring);
        if self.step.is_some() && sample.outcome == Outcome::Right {
            self.step_at(sample.done).inspect(|step| self.interval.steps.right(*step));
        }
        self.tally.last_reply_ns = sample.done.0;
        if !self.measured(sample.intended) {
            if sample.outcome != Outcome::Right {
                self.tally.warmup.errors += 1;
            }
            return;
        }
        self.tally.requests.completed += 1;
        self.statuses.count(sample.status);
        self.interval.response.record(sample.done.since(sample.intended));
        self.tally.service.record(sample.done.since(sample.sent));
        self.tally.first_byte.record(sample.first_byte.since(sample.sent));
        self.tally.schedule_lag.record(sample.sent.since(sample.intended));
        match sample.outcome {
            Outcome::Right => {
                self.tally.requests.ok += 1;
                self.tally.content += sample.content;
            }
            Outcome::Wrong(phase, kind) => self.count_error(phase, kind, sample.done),
        }
    }

    /// More of a reply has come, so long after what came before of the same reply.
    #[inline]
    pub fn gap(&mut self, now: Nanos, gap: Nanos) {
        self.tick(now);
        if self.measuring {
            self.tally.gaps.record(gap);
            self.tally.flow_ns += gap.0;
            if gap > STALL {
                self.tally.stalled_ns += gap.0;
            }
        }
    }

    /// The step of the present second in which `now` lies, where there are steps.
    fn step_at(&self, now: Nanos) -> Option<usize> {
        let step = self.step.filter(|_| self.measuring)?;
        let begins = self.measure_at + Nanos(self.interval.second * SECOND.0);
        Some((now.since(begins).0 / step.0) as usize)
    }

    /// A request has ended without a complete reply.
    pub fn failed(&mut self, intended: Nanos, now: Nanos, phase: ErrorPhase, kind: ErrorKind) {
        self.tick(now);
        if !self.measured(intended) {
            self.tally.warmup.errors += 1;
            return;
        }
        self.tally.requests.failed += 1;
        self.interval.failed += 1;
        self.count_error(phase, kind, now);
        // A timeout is a response time of which only a lower bound is known; without it the worst would be missing.
        if phase == ErrorPhase::Timeout {
            self.interval.response.record(now.since(intended));
        }
    }

    /// Something went wrong with a connection that had no request.
    pub fn connection_error(&mut self, now: Nanos, phase: ErrorPhase, kind: ErrorKind) {
        self.tick(now);
        if self.started && now < self.measure_at {
            self.tally.warmup.errors += 1;
        } else {
            self.count_error(phase, kind, now);
        }
    }

    fn count_error(&mut self, phase: ErrorPhase, kind: ErrorKind, now: Nanos) {
        self.interval.errors += 1;
        self.tally.last_error_ns = now.0;
        if let Some(step) = self.step_at(now) {
            self.interval.steps.error(step, phase, kind);
        }
        self.errors.count(phase, kind, now);
    }

    /// The run ends with this request unanswered.
    pub fn cut(&mut self, intended: Nanos, now: Nanos) {
        if self.measured(intended) {
            let requests = &mut self.tally.requests;
            requests.cut += 1;
            requests.cut_oldest_ns = requests.cut_oldest_ns.max(now.since(intended).0);
        }
    }

    /// An arrival that was due then will not be sent; true if it belongs to the measured part.
    pub fn missed(&mut self, intended: Nanos) -> bool {
        let measured = self.measured(intended);
        if measured {
            self.tally.requests.missed += 1;
            self.interval.missed += 1;
            // It was due in an earlier second than the one in which that is known.
            let second = (intended.since(self.measure_at).0 / SECOND.0) as usize;
            let seconds = &mut self.tally.missed_by_second;
            if second < MISSED_SECONDS_MAX {
                if seconds.len() <= second {
                    seconds.resize(second + 1, 0);
                }
                seconds[second] += 1;
            }
        }
        measured
    }

    /// A request starts `late` after it was due although a connection was free.
    #[inline]
    pub fn lateness(&mut self, intended: Nanos, late: Nanos) {
        if late > LATE && self.measured(intended) {
            self.tally.requests.started_late += 1;
            self.late_max = self.late_max.max(late);
        }
    }

    #[inline]
    pub(crate) fn bytes_received(&mut self, count: usize) {
        self.interval.received += count as u64;
    }

    #[inline]
    pub(crate) fn bytes_sent(&mut self, count: usize) {
        self.interval.sent += count as u64;
    }

    /// A connection is established after `elapsed`.
    pub fn opened(&mut self, now: Nanos, elapsed: Nanos, again: bool) {
        self.tick(now);
        self.count_open(now);
        self.open += 1;
        self.interval.open = self.open;
        self.interval.open_peak = self.interval.open_peak.max(self.open);
        self.tally.connections.opened += 1;
        self.tally.connections.reopened += u64::from(again);
        self.tally.connect.record(elapsed);
    }

    /// A connection is no more.
    pub fn closed(&mut self, now: Nanos, by_peer: bool, retransmits: u32) {
        self.tick(now);
        self.count_open(now);
        self.open -= 1;
        self.interval.open = self.open;
        self.tally.connections.closed_by_peer += u64::from(by_peer);
        self.tally.connections.retransmits += u64::from(retransmits);
    }

    /// A TLS handshake is over, so long after its connection was established.
    pub fn handshake(&mut self, elapsed: Nanos, handshake: Handshake) {
        self.tally.tls.done(elapsed, handshake);
    }

    /// A connection has ended in its handshake.
    pub fn handshake_failed(&mut self) {
        self.tally.tls.counts.failed += 1;
    }

    pub(crate) fn connect_failed(&mut self) {
        self.tally.connections.connect_failures += 1;
    }

    pub(crate) fn retransmitted(&mut self, segments: u32) {
        self.tally.connections.retransmits += u64::from(segments);
    }

    pub(crate) fn trickled(&mut self) {
        self.tally.connections.trickled += 1;
    }

    pub(crate) fn storm(&mut self, end: StormEnd) {
        self.tally.storm = Some(end);
    }

    /// The connections that are open now.
    pub fn open(&self) -> u64 {
        self.open
    }

    /// The end of the run: all that was recorded. The last, unfinished second is handed over too.
    pub fn finish(mut self, now: Nanos) -> Tally {
        self.tick(now);
        self.count_open(now);
        let used = Clocks::read();
        if self.measuring {
            let second = self.interval.second;
            let begins = self.measure_at + Nanos(second * SECOND.0);
            // A run without a fixed end may end just as a second begins.
            let counted = self.interval.completed > 0 || self.interval.errors > 0;
            if second == 0 || begins < now || counted || !self.interval.acknowledged.is_empty() {
                self.hand_over(second + 1);
            }
            let before = self.clocks_at_start;
            let run_queue = used.run_queue.zip(before.run_queue).map(|(now, then)| now.since(then));
            let cpu = (used.user.since(before.user), used.system.since(before.system));
            let wall = now.since(self.measure_at);
            self.tally.threads.push(thread_use(cpu, run_queue, wall, self.late_max));
            self.tally.window = Some(Window { start: self.measure_at.0, end: now.0 });
        } else {
            self.tally.acknowledged = std::mem::take(&mut self.interval.acknowledged);
        }
        let from = if self.measure_at == Nanos::MAX { now } else { self.measure_at };
        self.tally.errors = self.error_rows(from);
        self.tally.statuses = self.statuses.seen();
        self.tally
    }

    /// The errors counted so far, with times from `from` on.
    pub fn error_rows(&self, from: Nanos) -> Vec<ErrorRow> {
        self.errors.rows(from)
    }
}

/// A held load has records of one slice at a time.
impl Recorder {
    /// Connections are looked at and opened before a slice. Errors of those that cannot be opened belong to the slice.
    pub fn prepare(&mut self) {
        self.started = false;
        self.measuring = false;
        self.measure_at = Nanos::MAX;
        self.errors.clear();
        self.tally.requests = RequestCounts::default();
        self.tally.content = 0;
        self.tally.missed_by_second.clear();
        self.tally.connections.opened = 0;
    }

    /// The slice begins at `at`.
    pub fn begin(&mut self, at: Nanos) {
        self.beginning =
            Beginning { reconnects: self.tally.connections.opened, cpu: usage::ThreadCpu::now() };
        self.tally.connections.opened = 0;
        self.started = true;
        self.measuring = true;
        self.measure_at = at;
        // What was sent and received to open connections is no part of the slice.
        (self.interval.received, self.interval.sent) = (0, 0);
    }

    /// The slice is drained. The records of the next one are made in `next`, which is empty.
    pub fn end_slice(&mut self, next: Box<Interval>) -> SliceRecord {
        let cpu = usage::ThreadCpu::now().since(self.beginning.cpu);
        let tls = self.tally.tls.is_any().then(|| Box::new(std::mem::take(&mut self.tally.tls)));
        SliceRecord {
            requests: self.tally.requests,
            content: self.tally.content,
            errors: self.error_rows(self.measure_at),
            connects: self.tally.connections.opened,
            reconnects: self.beginning.reconnects,
            cpu,
            interval: std::mem::replace(&mut self.interval, next),
            tls,
        }
    }
}
