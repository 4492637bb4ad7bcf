//! One end of a connection between a relay and its data process, which receives and sends frames.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use pitot_disk::Buffer;
use pitot_sys::readiness::Interest;
use pitot_sys::socket;

use super::frame::{self, Frame, HEADER_BYTES, Malformed, PAYLOAD_MAX};

/// Size of the receive buffer: more than the longest frame.
const INBOX_BYTES: usize = 2 * (HEADER_BYTES + PAYLOAD_MAX);
/// Bytes received from one peer before others are served.
const TURN_BYTES: usize = 4 << 20;
/// Small frames are gathered into buffers of about this size.
const GATHER_BYTES: usize = 16 << 10;
/// Buffers in one send.
const SLICES_MAX: usize = 16;

/// A connection with its buffered input and output. Its user bounds the output with [`Peer::unsent`].
#[derive(Debug)]
pub struct Peer {
    socket: OwnedFd,
    inbox: Box<[u8]>,
    start: usize,
    end: usize,
    parts: VecDeque<OutgoingPart>,
    /// Sent bytes of the first part.
    sent: usize,
    unsent: usize,
    /// The interest that is registered with the mechanism.
    pub interest: Interest,
}

#[derive(Debug)]
enum OutgoingPart {
    Bytes(Vec<u8>),
    Block(Buffer, Range<usize>),
}

impl OutgoingPart {
    fn bytes(&self) -> &[u8] {
        match self {
            OutgoingPart::Bytes(bytes) => bytes,
            OutgoingPart::Block(buffer, range) => &buffer[range.clone()],
        }
    }
}

/// How a receive ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    /// The socket is empty.
    All,
    /// The peer's share of the turn is used up; there may be more.
    ShareUsed,
}

impl Peer {
    /// A connection on a non-blocking socket.
    pub fn new(socket: OwnedFd) -> Peer {
        Peer {
            socket,
            inbox: vec![0; INBOX_BYTES].into_boxed_slice(),
            start: 0,
            end: 0,
            parts: VecDeque::new(),
            sent: 0,
            unsent: 0,
            interest: Interest::Nothing,
        }
    }

    /// Queued bytes that are not yet sent.
    pub fn unsent(&self) -> usize {
        self.unsent
    }

    /// Queues a frame.
    pub fn write(&mut self, stream: u64, frame: &Frame<'_>) {
        if !matches!(self.parts.back(), Some(OutgoingPart::Bytes(bytes)) if bytes.len() < GATHER_BYTES) {
            self.parts.push_back(OutgoingPart::Bytes(Vec::new()));
        }
        if let Some(OutgoingPart::Bytes(bytes)) = self.parts.back_mut() {
            let before = bytes.len();
            frame::write(bytes, stream, frame);
            self.unsent += bytes.len() - before;
        }
    }

    /// Queues a DATA frame with a part of a block, without a copy.
    pub fn write_block(&mut self, stream: u64, buffer: Buffer, range: Range<usize>) {
        self.unsent += HEADER_BYTES + range.len();
        self.parts.push_back(OutgoingPart::Bytes(frame::data_header(stream, range.len()).to_vec()));
        self.parts.push_back(OutgoingPart::Block(buffer, range));
    }

    /// Sends as much as the socket takes.
    ///
    /// # Errors
    /// The connection is broken.
    pub fn flush(&mut self) -> io::Result<()> {
        while self.unsent > 0 {
            let mut slices = [IoSlice::new(&[]); SLICES_MAX];
            let mut count = 0;
            for part in self.parts.iter().take(SLICES_MAX) {
                let from = if count == 0 { self.sent } else { 0 };
                slices[count] = IoSlice::new(&part.bytes()[from..]);
                count += 1;
            }
            match socket::send(&self.socket, &slices[..count], self.parts.len() > count) {
                Ok(n) => self.advance(n),
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    fn advance(&mut self, n: usize) {
        self.unsent -= n;
        self.sent += n;
        while let Some(first) = self.parts.front()
            && self.sent >= first.bytes().len()
        {
            self.sent -= first.bytes().len();
            self.parts.pop_front();
        }
    }

    /// Receives, and calls `take` with each frame.
    ///
    /// # Errors
    /// The connection was closed by the peer or is broken, or the input is malformed.
    pub fn receive(&mut self, mut take: impl FnMut(u64, Frame<'_>)) -> io::Result<Received> {
        let mut received = 0;
        while received < TURN_BYTES {
            match socket::recv(&self.socket, &mut self.inbox[self.end..]) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(n) => {
                    self.end += n;
                    received += n;
                    while let Some((stream, frame, len)) = frame::read(&self.inbox[self.start..self.end])
                        .map_err(|Malformed| io::ErrorKind::InvalidData)?
                    {
                        take(stream, frame);
                        self.start += len;
                    }
                    // The rest is the start of a frame, and the buffer has room for all of it.
                    self.inbox.copy_within(self.start..self.end, 0);
                    self.end -= self.start;
                    self.start = 0;
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(Received::All),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(Received::ShareUsed)
    }
}

impl AsFd for Peer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
