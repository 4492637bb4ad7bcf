//! A worker's engine with its buffers.

use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;

use pitot_disk::{
    Buffer, BufferPool, Completion, DiskFile, DiskOp, Engine, PAGE, Queued, Route, Transfer, Wait,
};
use pitot_proto::{FileFailure, Outbox};
use pitot_sys::{Token, Unavailable};

use super::plan::DiskPlan;
use crate::send::unreadable;

/// Bytes that an engine sends to one socket before it serves others.
const SEND_BYTES: u64 = 1 << 20;

/// An engine with the buffers that its reads fill.
///
/// There are twice as many buffers as requests in flight, so that half of them can wait in outboxes for slow clients
/// while the other half keeps the disk busy. When none is free, connections whose sockets are full release theirs and
/// read again later, mostly from the page cache. So slow clients neither delay fast ones nor need more memory.
pub struct Disk {
    engine: Box<dyn Engine>,
    buffers: BufferPool,
    route: Route,
    direct: bool,
    block_bytes: usize,
    done: Vec<Completion>,
    /// Connections that wait for a buffer, or for room in the engine.
    starved: VecDeque<Token>,
    /// Connections that hold a block and cannot send it, because their sockets are full.
    stalled: VecDeque<Token>,
    staged: bool,
    /// True if the engine has refused a request since the last completion.
    full: bool,
}

/// The result of a request for the next part of a file.
#[derive(Debug)]
pub enum Started {
    /// It is complete, or failed.
    Done(Completion),
    /// It is in flight.
    InFlight,
    /// No buffer is free. [`Disk::next_starved`] will return its token.
    Starved,
}

impl Disk {
    /// Opens the engine for the calling thread.
    ///
    /// # Errors
    /// Which resource is not available.
    pub fn open(plan: &DiskPlan) -> Result<Disk, Unavailable> {
        let route = plan.route();
        // An engine that only sends needs no buffers; one that reads in its caller only those that wait to be sent.
        let (count, size) =
            if route == Route::Read { (2 * plan.options.depth, plan.block_bytes) } else { (1, PAGE) };
        let buffers = BufferPool::new(count, size).map_err(|e| Unavailable {
            what: format!("{count} buffers of {size} bytes"),
            cause: e.to_string(),
            fix: "use a smaller --disk-block or --disk-depth".into(),
        })?;
        Ok(Disk {
            engine: (plan.engine.open)(&plan.options, &buffers)?,
            buffers,
            route,
            direct: plan.options.direct,
            block_bytes: size,
            done: Vec::new(),
            starved: VecDeque::new(),
            stalled: VecDeque::new(),
            staged: false,
            full: false,
        })
    }

    /// Checks whether the engine can read this file.
    ///
    /// # Errors
    /// What its file system does not support.
    pub fn admit(&self, file: &DiskFile) -> Result<(), Unavailable> {
        self.engine.admit(file)
    }

    /// The descriptor that becomes readable on completions, if the engine has one.
    pub fn completion_fd(&self) -> Option<BorrowedFd<'_>> {
        self.engine.completion_fd()
    }

    /// True if requests are in flight whose completion is not notified, so that the engine must be polled.
    pub fn needs_polling(&self) -> bool {
        self.engine.in_flight() > 0 && self.engine.completion_fd().is_none()
    }

    /// Requests the next part of a file: into memory or, if the engine does that, to the socket.
    pub fn start(
        &mut self,
        token: Token,
        file: Arc<DiskFile>,
        range: Range<u64>,
        socket: Option<&Arc<OwnedFd>>,
    ) -> Started {
        let left = range.end - range.start;
        let (offset, transfer) = match (self.route, socket) {
            (Route::Send, Some(socket)) => {
                let len = left.min(SEND_BYTES) as usize;
                (range.start, Transfer::Send { socket: Arc::clone(socket), len })
            }
            _ => {
                let Some(buffer) = self.buffers.take() else {
                    self.starved.push_back(token);
                    return Started::Starved;
                };
                // Direct reads need an offset and a length that are multiples of the device's block size.
                let offset = if self.direct { range.start & !(PAGE as u64 - 1) } else { range.start };
                let wanted = range.end - offset;
                let len = if self.direct { wanted.next_multiple_of(PAGE as u64) } else { wanted };
                let len = len.min(self.block_bytes as u64) as usize;
                (offset, Transfer::Read { buffer, len })
            }
        };
        let operation = DiskOp { token: pack(token), file: file.into(), offset, transfer };
        match self.engine.queue(operation) {
            Queued::Done(completion) => Started::Done(completion),
            Queued::InFlight => {
                self.staged = true;
                Started::InFlight
            }
            Queued::Full(_) => {
                self.full = true;
                self.starved.push_back(token);
                Started::Starved
            }
        }
    }

    /// Submits the queued requests.
    ///
    /// # Errors
    /// The engine has failed.
    pub fn commit(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.staged) { self.engine.commit() } else { Ok(()) }
    }

    /// Returns the completions, each with the token of its connection.
    ///
    /// # Errors
    /// The engine has failed.
    pub fn reap(&mut self) -> io::Result<Vec<(Token, Completion)>> {
        self.engine.reap(Wait::No, &mut self.done)?;
        self.full &= self.done.is_empty();
        Ok(self.done.drain(..).map(|completion| (unpack(completion.operation.token), completion)).collect())
    }

    /// True if a connection waits for room.
    pub fn is_starved(&self) -> bool {
        !self.starved.is_empty()
    }

    /// The next connection that waits for room, if there may be room now.
    pub fn next_starved(&mut self) -> Option<Token> {
        if self.full || self.is_short() { None } else { self.starved.pop_front() }
    }

    /// True if all buffers are in use.
    pub fn is_short(&self) -> bool {
        self.buffers.free() == 0
    }

    /// Notes that a connection holds a block and its socket is full. Must not be called again for the connection before
    /// [`Disk::next_stalled`] has returned it.
    pub fn stalled(&mut self, token: Token) {
        self.stalled.push_back(token);
    }

    /// The connection that has been stalled for longest, if all buffers are in use and another one waits for a buffer.
    pub fn next_stalled(&mut self) -> Option<Token> {
        if self.is_starved() && self.is_short() { self.stalled.pop_front() } else { None }
    }
}

/// The file and range that the outbox needs next.
pub fn file_to_read(out: &Outbox) -> Option<(Arc<DiskFile>, Range<u64>)> {
    let (handle, range) = out.file_to_read()?;
    Some((Arc::clone(&handle.0).downcast().ok()?, range))
}

/// Puts a completed read into the outbox.
///
/// # Errors
/// The read failed, or the file is shorter than its announced size.
pub fn fill(out: &mut Outbox, completion: Completion) -> Result<(), FileFailure> {
    let Completion { operation, result } = completion;
    let n = match result {
        Ok(n) => n,
        Err(e) if e.kind() == io::ErrorKind::Interrupted => return Ok(()),
        Err(e) => return Err(unreadable(&e)),
    };
    let Some((_, range)) = out.file_to_read() else { return Ok(()) };
    let skip = (range.start - operation.offset) as usize;
    let usable = (n.saturating_sub(skip) as u64).min(range.end - range.start) as usize;
    match operation.transfer {
        Transfer::Read { buffer, .. } if usable > 0 => {
            out.fill(Arc::new(Lent(buffer)), skip..skip + usable);
            Ok(())
        }
        _ => Err(FileFailure::Truncated),
    }
}

/// A buffer in an outbox. Dropping it returns the buffer to its pool.
struct Lent(Buffer);

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

fn pack(token: Token) -> u64 {
    u64::from(token.generation()) << 32 | u64::from(token.index())
}

fn unpack(bits: u64) -> Token {
    Token::new(bits as u32, (bits >> 32) as u32)
}

impl std::fmt::Debug for Disk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Disk")
            .field("route", &self.route)
            .field("buffers", &self.buffers)
            .field("in_flight", &self.engine.in_flight())
            .finish_non_exhaustive()
    }
}
