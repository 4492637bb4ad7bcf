//! One direction of a connection: received bytes that are not forwarded yet.

use std::collections::VecDeque;
use std::io::{ErrorKind, IoSlice};
use std::os::fd::BorrowedFd;

use pitot_meter::Nanos;
use pitot_sys::socket;

use super::bucket::Bucket;

/// Maximum size of the buffer; if it is full, nothing more is received.
const WAITING_BYTES_MAX: usize = 256 * 1024;

/// Bytes that came together.
#[derive(Debug)]
struct Piece {
    due: Nanos,
    bytes: Vec<u8>,
    sent: usize,
}

/// One direction.
#[derive(Debug, Default)]
pub(super) struct Way {
    pieces: VecDeque<Piece>,
    waiting: usize,
    /// The sender has finished.
    pub(super) ended: bool,
    /// The end was forwarded.
    pub(super) is_closed: bool,
}

/// What to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    /// Nothing: there is nothing to send.
    Nothing,
    /// Room in the receiver's socket.
    Room,
    /// A time.
    Until(Nanos),
}

impl Way {
    /// Whether more may be received.
    pub(super) fn has_room(&self) -> bool {
        !self.ended && self.waiting < WAITING_BYTES_MAX
    }

    /// Adds received bytes, which are forwarded at `due` or later, in order.
    pub(super) fn push(&mut self, bytes: &[u8], due: Nanos) {
        let due = self.pieces.back().map_or(due, |last| due.max(last.due));
        self.waiting += bytes.len();
        self.pieces.push_back(Piece { due, bytes: bytes.to_vec(), sent: 0 });
    }

    /// Forwards what is due, as far as limit and receiver allow. The error is that of a broken connection.
    pub(super) fn send(
        &mut self,
        to: BorrowedFd<'_>,
        bucket: &mut Bucket,
        now: Nanos,
    ) -> std::io::Result<Wait> {
        while let Some(piece) = self.pieces.front_mut() {
            if piece.due > now {
                return Ok(Wait::Until(piece.due));
            }
            let allowed = match bucket.allows(now) {
                Ok(allowed) => allowed,
                Err(until) => return Ok(Wait::Until(until)),
            };
            let rest = &piece.bytes[piece.sent..];
            match socket::send(to, &[IoSlice::new(&rest[..rest.len().min(allowed)])], false) {
                Ok(sent) => {
                    bucket.passed(sent);
                    piece.sent += sent;
                    self.waiting -= sent;
                    if piece.sent == piece.bytes.len() {
                        self.pieces.pop_front();
                    }
                }
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(Wait::Room),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        if self.ended && !self.is_closed {
            self.is_closed = true;
            // A closed receiver needs no end.
            let _ = socket::finish_sending(to);
        }
        Ok(Wait::Nothing)
    }
}
