//! What a ring reports.

use std::io;

use super::buffers::Chunk;
use super::payload::Payload;
use super::socket::RingFd;
use crate::Token;

/// A finished operation, or a part of a multishot one.
#[derive(Debug)]
pub enum Completion {
    /// From [`Ring::accept`](super::Ring::accept).
    Accepted {
        /// The listener's token.
        token: Token,
        /// The connection, or why there is none.
        result: io::Result<RingFd>,
        /// The operation has ended and must be armed again for more.
        last: bool,
    },
    /// From [`Ring::receive`](super::Ring::receive).
    Received {
        /// The connection's token.
        token: Token,
        /// Bytes in a buffer of the ring, to be read by [`Ring::chunk`](super::Ring::chunk) and given back by [`Ring::recycle`](super::Ring::recycle). `None` is
        /// the end of input. ENOBUFS means that all buffers were lent out.
        result: io::Result<Option<Chunk>>,
        /// The operation has ended and must be armed again for more.
        last: bool,
    },
    /// From [`Ring::send`](super::Ring::send).
    Sent {
        /// The connection's token.
        token: Token,
        /// How many bytes were taken.
        result: io::Result<usize>,
        /// What was to be sent.
        payload: Box<Payload>,
    },
    /// From [`Ring::read`](super::Ring::read).
    Read {
        /// The token of the operation.
        token: Token,
        /// How many bytes were read into the buffer; 0 at the end of the file.
        result: io::Result<usize>,
        /// The buffer given, with what was read.
        buffer: Vec<u8>,
    },
    /// From [`Ring::connect`](super::Ring::connect).
    Connected {
        /// The token of the operation.
        token: Token,
        /// Done, or why not.
        result: io::Result<()>,
    },
    /// From [`Ring::poll`](super::Ring::poll): the descriptor is readable. Reported once for each call.
    Readable {
        /// The token of the operation.
        token: Token,
    },
}
