//! The shared state of a worker's connections: the time, the limits, spare memory, and the counts.

use std::sync::Arc;
use std::time::Duration;

use crate::log::LogSink;
use crate::{Context, Exchange, Handshake, Layer, LayerFailure, Layers, Scratch, Violation, ViolationKind};

/// A point in time in sixteenths of a second since a start that the worker chooses. Deadlines are then four bytes per
/// connection, in one compact array per worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tick(u32);

/// Ticks in a second.
const TICKS_PER_SECOND: u64 = 16;

impl Tick {
    /// The start.
    pub const START: Tick = Tick(0);
    /// Later than every other.
    pub const NEVER: Tick = Tick(u32::MAX);

    /// The current tick when this time has passed since the start.
    pub fn at(since_start: Duration) -> Tick {
        let whole = since_start.as_secs().saturating_mul(TICKS_PER_SECOND);
        let part = u64::from(since_start.subsec_nanos()) * TICKS_PER_SECOND / 1_000_000_000;
        Tick(u32::try_from(whole.saturating_add(part)).unwrap_or(u32::MAX).min(u32::MAX - 1))
    }

    /// The first tick at which `time` has certainly passed since this one.
    pub fn after(self, time: Duration) -> Tick {
        self.plus(Ticks::lasting(time))
    }

    /// The time from this tick to a later one; zero if it is not later.
    pub fn until(self, later: Tick) -> Duration {
        let ticks = u64::from(later.0.saturating_sub(self.0));
        Duration::from_nanos(ticks * (1_000_000_000 / TICKS_PER_SECOND))
    }

    /// How long to wait for a tick; `None` if it never comes.
    pub fn wait_for(self, later: Tick) -> Option<Duration> {
        (later != Tick::NEVER).then(|| self.until(later))
    }

    fn plus(self, ticks: Ticks) -> Tick {
        Tick(self.0.saturating_add(ticks.0))
    }
}

/// A number of ticks that is at least as long as a duration, wherever in a tick it begins.
#[derive(Clone, Copy, Debug)]
struct Ticks(u32);

impl Ticks {
    fn lasting(time: Duration) -> Ticks {
        let ticks = (time.as_nanos() * u128::from(TICKS_PER_SECOND)).div_ceil(1_000_000_000);
        Ticks(u32::try_from(ticks).ok().and_then(|ticks| ticks.checked_add(1)).unwrap_or(u32::MAX))
    }
}

/// Limits of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// From the first byte of a request's head to its last.
    pub header_timeout: Duration,
    /// Between requests.
    pub idle_timeout: Duration,
    /// Without progress in sending a reply or receiving a body.
    pub write_timeout: Duration,
    /// How long input is discarded before the close, so that a reset does not destroy the reply in flight.
    pub linger: Duration,
    /// Replies buffered for a slow client, in bytes, before its further requests are held back.
    pub outbox_bytes: u64,
}

impl Default for ConnectionLimits {
    fn default() -> ConnectionLimits {
        ConnectionLimits {
            header_timeout: Duration::from_secs(30),
            idle_timeout: Duration::from_secs(75),
            write_timeout: Duration::from_secs(60),
            linger: Duration::from_secs(2),
            outbox_bytes: 256 << 10,
        }
    }
}

/// The phase of a connection, which determines its timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// No request is in progress.
    Idle,
    /// The head of a request is arriving.
    Head,
    /// The body of a request is arriving.
    Body,
    /// A reply is being prepared or sent.
    Reply,
    /// Everything is sent; late input is discarded.
    Linger,
}

impl Phase {
    /// True if its timeout runs from its start rather than from the last progress.
    pub const fn counts_from_start(self) -> bool {
        matches!(self, Phase::Head | Phase::Linger)
    }
}

/// The counts of connections since the driver last collected them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Replies.
    pub replies: u64,
    /// Replies that report an error of the client (HTTP's 4xx).
    pub client_errors: u64,
    /// Replies that report an error of the server (HTTP's 5xx).
    pub server_errors: u64,
    /// Bytes received.
    pub bytes_received: u64,
    /// Bytes sent.
    pub bytes_sent: u64,
    /// Connections reset by the peer, or broken.
    pub reset: u64,
    /// Connections that the peer ended in the middle of a request.
    pub ended_early: u64,
    /// Malformed requests.
    pub malformed: u64,
    /// Requests that exceeded a size limit.
    pub too_large: u64,
    /// Requests that took too long to arrive.
    pub timed_out_request: u64,
    /// Connections that were idle for too long.
    pub timed_out_idle: u64,
    /// Replies that the peer took too long to read.
    pub timed_out_write: u64,
    /// Files that became shorter while they were sent.
    pub file_truncated: u64,
    /// Files that could not be read to the end.
    pub file_failed: u64,
    /// Recipients of mail that were accepted, whether or not a message followed.
    pub recipients_accepted: u64,
    /// Messages that were acknowledged.
    pub messages: u64,
    /// Recipients of acknowledged messages.
    pub recipients: u64,
    /// Complete handshakes of a layer.
    pub handshakes: u64,
    /// Those of them that resumed an earlier session.
    pub handshakes_resumed: u64,
    /// Connections whose layer the kernel has taken over.
    pub layers_in_kernel: u64,
    /// Connections whose peer used the protocol without the layer.
    pub layer_absent: u64,
    /// Connections whose peer supports nothing that the server does.
    pub layer_incompatible: u64,
    /// Connections whose peer refused the layer.
    pub layer_refused: u64,
    /// Connections with malformed records.
    pub layer_malformed: u64,
    /// Handshakes that took too long.
    pub handshake_timed_out: u64,
    /// Connections that the peer ended in a handshake.
    pub handshake_ended: u64,
}

impl Tally {
    /// Adds the counts of a core.
    pub(crate) fn collect(&mut self, exchange: &mut Exchange) {
        let counts = std::mem::take(&mut exchange.counts);
        self.replies += u64::from(counts.replies);
        self.client_errors += u64::from(counts.client_errors);
        self.server_errors += u64::from(counts.server_errors);
        self.recipients_accepted += u64::from(counts.recipients_accepted);
        self.messages += u64::from(counts.messages);
        self.recipients += u64::from(counts.recipients);
    }

    pub(crate) fn handshake(&mut self, handshake: Handshake) {
        self.handshakes += 1;
        self.handshakes_resumed += u64::from(handshake == Handshake::Resumed);
    }

    pub(crate) fn layer_failed(&mut self, failure: LayerFailure) {
        match failure {
            LayerFailure::Absent => self.layer_absent += 1,
            LayerFailure::Incompatible => self.layer_incompatible += 1,
            LayerFailure::Refused => self.layer_refused += 1,
            LayerFailure::Malformed => self.layer_malformed += 1,
        }
    }

    pub(crate) fn violation(&mut self, violation: Violation) {
        match violation.kind {
            ViolationKind::Malformed => self.malformed += 1,
            ViolationKind::TooLarge => self.too_large += 1,
        }
    }
}

/// Exchanges kept for reuse.
const SPARE_MAX: usize = 64;

/// What the connections of one worker share. The driver sets the time before it reports events.
#[derive(Debug)]
pub struct Worker {
    /// The time, for deadlines.
    pub now: Tick,
    /// Seconds since 1970-01-01 UTC.
    pub unix_s: u64,
    /// The same time as an IMF-fixdate (RFC 9110 section 5.6.7).
    pub date: String,
    /// True if the server is stopping.
    pub stopping: bool,
    /// True if a file is opened only once all replies before it are sent, for drivers that do one thing at a time per
    /// connection.
    pub opens_when_sent: bool,
    /// The layer of connections, from their start or on request of their protocol.
    pub layers: Option<Arc<dyn Layers>>,
    /// True if connections get the layer on request of their protocol ([`Next::Secure`](crate::Next::Secure)).
    pub layers_on_request: bool,
    /// What has happened.
    pub tally: Tally,
    pub(crate) scratch: Scratch,
    /// Where lines about requests go, if they are logged.
    pub log: Option<Box<dyn LogSink>>,
    timeouts: Timeouts,
    pub(crate) outbox_bytes: u64,
    #[expect(
        clippy::vec_box,
        reason = "they move between here and the connections, which hold a pointer only"
    )]
    spare: Vec<Box<Exchange>>,
}

#[derive(Debug)]
struct Timeouts {
    head: Ticks,
    idle: Ticks,
    progress: Ticks,
    linger: Ticks,
}

impl Worker {
    /// A worker at tick 0.
    pub fn new(limits: &ConnectionLimits) -> Worker {
        Worker {
            now: Tick::START,
            unix_s: 0,
            date: String::new(),
            stopping: false,
            opens_when_sent: false,
            layers: None,
            layers_on_request: false,
            tally: Tally::default(),
            scratch: Scratch::default(),
            log: None,
            timeouts: Timeouts {
                head: Ticks::lasting(limits.header_timeout),
                idle: Ticks::lasting(limits.idle_timeout),
                progress: Ticks::lasting(limits.write_timeout),
                linger: Ticks::lasting(limits.linger),
            },
            outbox_bytes: limits.outbox_bytes,
            spare: Vec::new(),
        }
    }

    /// The context for a core.
    pub(crate) fn context(&self) -> Context<'_> {
        Context { unix_s: self.unix_s, date: &self.date, stopping: self.stopping }
    }

    /// The deadline of a phase that begins or makes progress now.
    pub(crate) fn deadline(&self, phase: Phase) -> Tick {
        self.now.plus(match phase {
            Phase::Idle => self.timeouts.idle,
            Phase::Head => self.timeouts.head,
            Phase::Body | Phase::Reply => self.timeouts.progress,
            Phase::Linger => self.timeouts.linger,
        })
    }

    /// The layer of a new connection.
    pub(crate) fn layer(&self) -> Option<Box<dyn Layer>> {
        self.layers.as_ref().map(|layers| layers.layer())
    }

    pub(crate) fn exchange(&mut self) -> Box<Exchange> {
        self.spare.pop().unwrap_or_default()
    }

    pub(crate) fn recycle(&mut self, mut exchange: Box<Exchange>) {
        exchange.clear();
        if self.spare.len() < SPARE_MAX {
            self.spare.push(exchange);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_is_never_early_and_at_most_two_ticks_late() {
        for millis in [0, 1, 62, 63, 100, 999, 1000, 75_000] {
            let time = Duration::from_millis(millis);
            let lasts = Tick::START.until(Tick::START.after(time));
            assert!(lasts > time && lasts <= time + Duration::from_millis(125), "{time:?}: {lasts:?}");
        }
        assert_eq!(Tick::START.after(Duration::MAX), Tick::NEVER);
        assert!(Tick::at(Duration::MAX) < Tick::NEVER);
    }
}
