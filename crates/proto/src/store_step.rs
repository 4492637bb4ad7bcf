//! How a core has what it receives stored: piece by piece, by whoever drives the connection.

use std::any::Any;
use std::fmt;

/// What a core asks for with [`Next::Store`](crate::Next::Store): append these bytes to the upload, or begin one with
/// them, and after the last of them put it where it belongs, so that it survives a loss of power.
///
/// An upload is never held in memory: the core passes on what it was shown, and nothing else of it exists but what the
/// driver has made of it so far, the [`Upload`].
#[derive(Debug, Default)]
pub struct StoreStep {
    /// What the driver has made of it so far. `None` if it begins with this step.
    pub upload: Option<Upload>,
    /// What is to be appended.
    pub bytes: Vec<u8>,
    /// Nothing follows.
    pub is_last: bool,
}

impl StoreStep {
    /// Forgets the step; an upload under way is discarded.
    pub fn clear(&mut self) {
        self.upload = None;
        self.bytes.clear();
    }
}

/// A file or a message that is being stored; opaque to the core, which only passes it back. Dropping it discards what
/// was stored so far.
pub struct Upload(pub Box<dyn Any + Send>);

impl fmt::Debug for Upload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Upload")
    }
}

/// Why something could not be stored. Nothing is left of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreError {
    /// The disk or the quota is full (ENOSPC, EDQUOT, EFBIG).
    NoSpace,
    /// The directory does not exist.
    NoDirectory,
    /// The server may not write there.
    Forbidden,
    /// Any other error of the disk.
    Failed,
    /// The process that stores is not running.
    Unavailable,
}
