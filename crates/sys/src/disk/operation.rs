//! What the asynchronous interfaces carry.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use super::buffer::Buffer;

/// One request to a file. It owns its memory and keeps what it works on open, so it may be in flight alone.
#[derive(Debug)]
pub struct Operation<F> {
    /// The caller's name for it; nothing here looks at it.
    pub token: u64,
    /// The file, or whatever keeps it open.
    pub file: F,
    /// Where in the file, in bytes. Ignored by `Sync`.
    pub offset: u64,
    /// The kind of transfer, with its memory or socket.
    pub transfer: Transfer,
}

/// What to do with the file, and where the bytes go to or come from.
#[derive(Debug)]
pub enum Transfer {
    /// Read up to `len` bytes into the start of the buffer.
    Read {
        /// The memory that is filled.
        buffer: Buffer,
        /// How many; at most the buffer's size.
        len: usize,
    },
    /// Write the first `len` bytes of the buffer.
    Write {
        /// The memory that is written.
        buffer: Buffer,
        /// How many; at most the buffer's size.
        len: usize,
    },
    /// Send up to `len` bytes to a non-blocking socket, until it takes no more.
    Send {
        /// The socket. To abandon the operation, shut the socket down.
        socket: Arc<OwnedFd>,
        /// Bytes to send at most.
        len: usize,
    },
    /// Make what was written durable.
    Sync {
        /// Leave out metadata that is not needed to read the data back (fdatasync(2)).
        data_only: bool,
    },
}

impl Transfer {
    /// Bytes asked for.
    pub fn len(&self) -> usize {
        match self {
            Transfer::Read { len, .. } | Transfer::Write { len, .. } | Transfer::Send { len, .. } => *len,
            Transfer::Sync { .. } => 0,
        }
    }

    /// True if no bytes are asked for.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The memory of a read or a write.
    pub fn buffer(&self) -> Option<&Buffer> {
        match self {
            Transfer::Read { buffer, .. } | Transfer::Write { buffer, .. } => Some(buffer),
            Transfer::Send { .. } | Transfer::Sync { .. } => None,
        }
    }

    /// Start and length of the memory that is lent to the kernel; the length never exceeds the buffer.
    pub(super) fn memory(&self) -> (*mut u8, usize) {
        match self {
            Transfer::Read { buffer, len } | Transfer::Write { buffer, len } => {
                (buffer.start(), (*len).min(buffer.len()))
            }
            Transfer::Send { .. } | Transfer::Sync { .. } => (std::ptr::null_mut(), 0),
        }
    }
}

/// An operation given back, with the bytes it moved or why it did not.
///
/// A count below the length asked for means the end of the file, or for `Send` that the socket took no more.
#[derive(Debug)]
pub struct Finished<F> {
    /// The operation, with its memory.
    pub operation: Operation<F>,
    /// The number of bytes moved, or the error.
    pub result: io::Result<usize>,
}

/// An operation that an interface did not take.
#[derive(Debug)]
pub enum Refused<F> {
    /// As many as it may hold are in flight: reap, then try again.
    Full(Operation<F>),
    /// It failed at once.
    Failed(Finished<F>),
}

/// Whether to wait for a completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Take what is there.
    No,
    /// Wait until at least one operation completes, if any is in flight.
    ForOne,
}
