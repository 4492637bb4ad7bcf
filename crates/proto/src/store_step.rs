//! Storing received data: piece by piece, by the driver of the connection.

use std::any::Any;
use std::fmt;

/// A step of [`Next::Store`](crate::Next::Store): append these bytes to the upload, or begin one with them. After the last
/// bytes, complete it so that it survives a power failure.
///
/// An upload is never held in memory: the core passes on its input, and the driver keeps the [`Upload`] so far.
#[derive(Debug, Default)]
pub struct StoreStep {
    /// The upload so far. `None` if it begins with this step.
    pub upload: Option<Upload>,
    /// The bytes to append.
    pub bytes: Vec<u8>,
    /// True in the last step.
    pub is_last: bool,
}

impl StoreStep {
    /// Clears the step, and discards its upload.
    pub fn clear(&mut self) {
        self.upload = None;
        self.bytes.clear();
    }
}

/// A file or a message that is being stored; opaque to the core, which only passes it back. Dropping it discards the data.
pub struct Upload(pub Box<dyn Any + Send>);

impl fmt::Debug for Upload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Upload")
    }
}

/// Why a step of storing failed. The upload is discarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreError {
    /// The disk or the quota is full (ENOSPC, EDQUOT, EFBIG).
    NoSpace,
    /// The directory does not exist.
    NoDirectory,
    /// The server has no permission to write there.
    Forbidden,
    /// Any other error of the disk.
    Failed,
    /// The process that stores is not running.
    Unavailable,
}
