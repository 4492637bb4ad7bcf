//! What is under way on a connection.

use crate::{Next, Outbox, StoreStep, Upload};

/// What a core fills in for whoever drives it: bytes to send, a file to open, a step of storing, and its counts.
///
/// A connection has one only while something is under way, so that an idle connection is small; an empty one serves
/// one connection after another.
#[derive(Debug, Default)]
pub struct Exchange {
    /// What is to be sent.
    pub out: Outbox,
    /// The file that [`Next::Open`] asks for, and that a [`Next::Store`] which begins an upload is to become: a path
    /// below the root, without a leading slash, decoded, and free of `..`, NUL and empty components.
    pub path: Vec<u8>,
    /// What [`Next::Store`] asks for. Whoever carries it out leaves no bytes in it.
    pub step: StoreStep,
    /// What the core has counted and the driver has not collected yet.
    pub counts: Counts,
}

/// What cores count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Replies given.
    pub replies: u32,
    /// Recipients of mail that were accepted, whether or not a message followed.
    pub recipients_accepted: u32,
    /// Messages that were acknowledged.
    pub messages: u32,
    /// The recipients of these.
    pub recipients: u32,
}

impl Exchange {
    /// An empty exchange.
    pub fn new() -> Exchange {
        Exchange::default()
    }

    /// Counts one reply.
    pub fn reply_done(&mut self) {
        self.counts.replies += 1;
    }

    /// Lets `write` write the path to be opened or stored, into an empty buffer that serves again and again.
    pub fn name_file<R>(&mut self, write: impl FnOnce(&mut Vec<u8>) -> R) -> R {
        self.path.clear();
        write(&mut self.path)
    }

    /// Has the bytes of the step appended to an upload, or a new one begun with them.
    pub fn store(&mut self, upload: Option<Upload>, is_last: bool) -> Next {
        self.step.upload = upload;
        self.step.is_last = is_last;
        Next::Store
    }

    /// Drops everything, as when the connection has failed.
    pub fn clear(&mut self) {
        self.out.clear();
        self.step.clear();
        self.counts = Counts::default();
    }
}
