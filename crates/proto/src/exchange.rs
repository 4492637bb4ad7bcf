//! The state of a request in progress.

use std::time::Duration;

use crate::{Log, LoggedReply, Next, Outbox, StoreStep, Upload};

/// The output of a core for its driver: bytes to send, a file to open, a step of storing, and counts.
///
/// A connection has one only while a request is in progress, so that an idle connection is small; connections reuse it.
#[derive(Debug)]
pub struct Exchange {
    /// The output to be sent.
    pub out: Outbox,
    /// The output of the connection's layer, if it has one, for the socket.
    pub(crate) wire: Outbox,
    /// The file that [`Next::Open`] asks for, or the target of an upload that [`Next::Store`] begins: a path below the
    /// root, decoded, without a leading slash and free of `..`, NUL and empty components.
    pub path: Vec<u8>,
    /// The step that [`Next::Store`] asks for. The driver takes its bytes out.
    pub step: StoreStep,
    /// How long [`Next::Delay`] lasts.
    pub delay: Duration,
    /// Counts that the driver has not collected yet.
    pub counts: Counts,
    /// The last reply, for cores whose replies have a status; its length is not filled in.
    pub last: LoggedReply,
    /// Lines for the log of the worker, about replies that are queued.
    pub log: Log,
}

/// Counts of a core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Replies.
    pub replies: u32,
    /// Replies that report an error of the client (HTTP's 4xx).
    pub client_errors: u32,
    /// Replies that report an error of the server (HTTP's 5xx).
    pub server_errors: u32,
    /// Recipients of mail that were accepted, whether or not a message followed.
    pub recipients_accepted: u32,
    /// Messages that were acknowledged.
    pub messages: u32,
    /// Recipients of acknowledged messages.
    pub recipients: u32,
}

impl Default for Exchange {
    fn default() -> Exchange {
        Exchange::new()
    }
}

impl Exchange {
    /// An empty exchange.
    pub fn new() -> Exchange {
        Exchange {
            out: Outbox::new(),
            wire: Outbox::new(),
            path: Vec::new(),
            step: StoreStep::default(),
            delay: Duration::ZERO,
            counts: Counts::default(),
            last: LoggedReply::default(),
            log: Log::default(),
        }
    }

    /// Counts one reply.
    pub fn reply_done(&mut self) {
        self.counts.replies += 1;
    }

    /// Counts one reply that has a status, with content of this length.
    pub fn replied(&mut self, status: u16, content: u64) {
        self.last = LoggedReply { status, content, len: 0 };
        self.reply_done();
    }

    /// Lets `write` write the path to be opened or stored, into an empty buffer that is reused.
    pub fn name_file<R>(&mut self, write: impl FnOnce(&mut Vec<u8>) -> R) -> R {
        self.path.clear();
        write(&mut self.path)
    }

    /// Sets up a step that appends bytes to an upload, or begins one.
    pub fn store(&mut self, upload: Option<Upload>, is_last: bool) -> Next {
        self.step.upload = upload;
        self.step.is_last = is_last;
        Next::Store
    }

    /// Sets up a delay.
    pub fn wait(&mut self, delay: Duration) -> Next {
        self.delay = delay;
        Next::Delay
    }

    /// The outbox that is sent to the socket.
    pub(crate) fn sending(&mut self) -> &mut Outbox {
        if self.wire.is_empty() { &mut self.out } else { &mut self.wire }
    }

    /// Drops everything, when the connection has failed.
    pub fn clear(&mut self) {
        self.out.clear();
        self.wire.clear();
        self.step.clear();
        self.counts = Counts::default();
        if !self.log.is_empty() {
            self.log.clear();
        }
    }
}
