//! Records of a held load, which are those of one slice at a time.

use pitot_meter::Nanos;
use pitot_results::load::{ErrorRow, RequestCounts};
use pitot_sys::usage::ThreadCpu;

use super::Recorder;
use crate::handshakes::Handshakes;
use crate::tally::Interval;

/// What one thread recorded of one slice.
#[derive(Debug)]
pub(crate) struct SliceRecord {
    pub(crate) requests: RequestCounts,
    pub(crate) errors: Vec<ErrorRow>,
    /// Bytes of the content of right replies.
    pub(crate) content: u64,
    /// Connections established in the slice.
    pub(crate) connects: u64,
    /// Connections established before it, in the place of others that were lost.
    pub(crate) reconnects: u64,
    /// CPU time of the thread, from the beginning until the slice was drained.
    pub(crate) cpu: ThreadCpu,
    /// Response times and bytes.
    pub(crate) interval: Box<Interval>,
    /// TLS handshakes since the slice before, if there were any.
    pub(crate) tls: Option<Box<Handshakes>>,
}

/// What is known when a slice begins.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Beginning {
    reconnects: u64,
    cpu: ThreadCpu,
}

impl Recorder {
    /// Connections are looked at and opened before a slice. Errors of those that cannot be opened belong to the slice.
    pub(crate) fn prepare(&mut self) {
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
    pub(crate) fn begin(&mut self, at: Nanos) {
        self.beginning = Beginning { reconnects: self.tally.connections.opened, cpu: ThreadCpu::now() };
        self.tally.connections.opened = 0;
        self.started = true;
        self.measuring = true;
        self.measure_at = at;
        // What was sent and received to open connections is no part of the slice.
        (self.interval.received, self.interval.sent) = (0, 0);
    }

    /// The slice is drained. The records of the next one are made in `next`, which is empty.
    pub(crate) fn end_slice(&mut self, next: Box<Interval>) -> SliceRecord {
        let cpu = ThreadCpu::now().since(self.beginning.cpu);
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
