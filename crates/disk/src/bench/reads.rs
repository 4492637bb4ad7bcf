//! Reads in flight: blocks go out to the engine, completions come back, are checked and counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pitot_meter::{Nanos, now};
use pitot_sys::disk::{BufferPool, Transfer, Wait};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use super::counts::Counts;
use super::drain::Drain;
use super::order::{Block, Order};
use super::plan::{BenchError, CacheState, Check, ReadPlan, failed};
use crate::set::FileSet;
use crate::{Completion, DiskFile, DiskOp, Engine, Queued, content};

/// The block that a request reads. The request's token is the index of its slot.
#[derive(Clone, Copy)]
struct Slot {
    block: Block,
    queued: Nanos,
    /// Bytes of a send that the socket has taken.
    sent: usize,
}

/// Why [`Reads::drive`] ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    /// The time is over or the count reached.
    Done,
    /// Every block was read once, and the cache must be made cold again.
    Pass,
}

/// What has become of a completed request.
enum Progress {
    /// All of its block arrived, and it is right.
    Right,
    /// A socket took a part of it.
    Partial,
    Failed(String),
}

/// The requests of a run, each of which is idle, ready, stalled or in flight.
pub(super) struct Reads<'a> {
    plan: &'a ReadPlan,
    set: &'a FileSet,
    files: &'a [Arc<DiskFile>],
    stop: &'a AtomicBool,
    engine: Box<dyn Engine>,
    order: Order,
    slots: Vec<Slot>,
    /// Requests without a block.
    idle: Vec<DiskOp>,
    /// Requests to be queued as they are, before others.
    ready: Vec<DiskOp>,
    /// Sends whose sockets are full.
    stalled: Vec<DiskOp>,
    uncommitted: u32,
    /// All bytes that sockets took, whether they are counted or not.
    sent: u64,
    pub(super) counts: Counts,
}

impl<'a> Reads<'a> {
    /// As many requests as the engine's depth, with buffers of the pool or the sockets of the drain.
    pub(super) fn new(
        plan: &'a ReadPlan,
        set: &'a FileSet,
        files: &'a [Arc<DiskFile>],
        pool: &BufferPool,
        engine: Box<dyn Engine>,
        drain: Option<&Drain>,
        stop: &'a AtomicBool,
    ) -> Reads<'a> {
        let depth = plan.options.depth as usize;
        let request = |slot: usize| {
            let transfer = match drain {
                Some(drain) => Transfer::Send { socket: drain.socket(slot), len: 0 },
                None => Transfer::Read { buffer: pool.take()?, len: 0 },
            };
            Some(DiskOp { token: slot as u64, file: Arc::clone(&files[0]).into(), offset: 0, transfer })
        };
        let nothing = Slot { block: Block { file: 0, offset: 0, len: 0 }, queued: Nanos::ZERO, sent: 0 };
        Reads {
            idle: (0..depth).rev().map_while(request).collect(),
            ready: Vec::with_capacity(depth),
            stalled: Vec::with_capacity(depth),
            slots: vec![nothing; depth],
            order: Order::new(plan.pattern, set.files(), set.size(), plan.block, plan.seed),
            uncommitted: 0,
            sent: 0,
            counts: Counts::new(),
            plan,
            set,
            files,
            stop,
            engine,
        }
    }

    /// Reads that were not in memory and went to helper threads, since the engine was opened.
    pub(super) fn misses(&self) -> u64 {
        self.engine.misses()
    }

    /// Ends the engine and returns the counts, and the bytes that sockets took.
    pub(super) fn finish(self) -> (Counts, u64) {
        (self.counts, self.sent)
    }

    /// Begins the next pass over the set.
    pub(super) fn restart(&mut self) {
        self.order.restart();
    }

    /// Reads until the deadline, until `left` reads were begun, or until the pass is over. Nothing is in flight after it.
    pub(super) fn drive(&mut self, deadline: Nanos, mut left: u64) -> Result<Ended, BenchError> {
        self.counts.passes += 1;
        let mut ended = None;
        let mut done = Vec::with_capacity(self.slots.len());
        let mut time = now();
        loop {
            if let Some(why) = self.queue_all(deadline, &mut left, &mut time, ended)? {
                ended = Some(why);
            }
            self.commit()?;
            if self.engine.in_flight() > 0 || !self.stalled.is_empty() {
                self.wait_for_one(&mut done)?;
                time = now();
                for completion in done.drain(..) {
                    self.take(completion, time)?;
                }
            } else if let (true, Some(ended)) = (self.ready.is_empty(), ended) {
                return Ok(ended);
            }
        }
    }

    /// Queues until the engine is full, no request is left, or no block is to be begun; that is the case from the start
    /// if `ended` says so. Returns why no further block is to be begun.
    fn queue_all(
        &mut self,
        deadline: Nanos,
        left: &mut u64,
        time: &mut Nanos,
        mut ended: Option<Ended>,
    ) -> Result<Option<Ended>, BenchError> {
        loop {
            let operation = match self.ready.pop() {
                Some(operation) => operation,
                None => {
                    if ended.is_none() && (*time >= deadline || *left == 0) {
                        ended = Some(Ended::Done);
                    }
                    if ended.is_some() {
                        return Ok(ended);
                    }
                    let Some(operation) = self.idle.pop() else { return Ok(ended) };
                    let Some(block) = self.next_block() else {
                        self.idle.push(operation);
                        return Ok(Some(Ended::Pass));
                    };
                    *left -= 1;
                    self.aim(operation, block, *time)
                }
            };
            let queued = self.engine.queue(operation);
            *time = now();
            match queued {
                Queued::Done(completion) => self.take(completion, *time)?,
                Queued::InFlight => self.commit_batch()?,
                Queued::Full(operation) => {
                    self.ready.push(operation);
                    return Ok(ended);
                }
            }
            if self.stop.load(Ordering::Relaxed) {
                return Err(BenchError::Interrupted);
            }
        }
    }

    /// The next block to read; none at the end of a pass after which the cache must be made cold again.
    fn next_block(&mut self) -> Option<Block> {
        self.order.next().or_else(|| {
            if self.plan.state == CacheState::ColdByDrop {
                return None;
            }
            self.counts.passes += 1;
            self.order.restart();
            self.order.next()
        })
    }

    /// Points a request at a block.
    fn aim(&mut self, mut operation: DiskOp, block: Block, time: Nanos) -> DiskOp {
        self.slots[operation.token as usize] = Slot { block, queued: time, sent: 0 };
        operation.file = Arc::clone(&self.files[block.file as usize]).into();
        operation.offset = block.offset;
        match &mut operation.transfer {
            // Direct reads must be aligned, so the last one of a file asks for more than there is.
            Transfer::Read { len, .. } if self.plan.options.direct => *len = self.plan.block,
            Transfer::Read { len, .. } | Transfer::Send { len, .. } => *len = block.len,
            Transfer::Write { .. } | Transfer::Sync { .. } => unreachable!("this bench only reads"),
        }
        operation
    }

    fn commit_batch(&mut self) -> Result<(), BenchError> {
        self.uncommitted += 1;
        if self.uncommitted >= self.plan.batch { self.commit() } else { Ok(()) }
    }

    fn commit(&mut self) -> Result<(), BenchError> {
        if self.uncommitted > 0 {
            self.uncommitted = 0;
            self.engine.commit().map_err(failed("committing"))?;
        }
        Ok(())
    }

    /// Waits for a completion, or for a socket to take more.
    fn wait_for_one(&mut self, done: &mut Vec<Completion>) -> Result<(), BenchError> {
        if self.stalled.is_empty() {
            return self.engine.reap(Wait::ForOne, done).map_err(failed("reaping"));
        }
        let sockets = self.stalled.iter().filter_map(|operation| match &operation.transfer {
            Transfer::Send { socket, .. } => Some(PollFd::new(socket, PollFlags::OUT)),
            _ => None,
        });
        let completions = self.engine.completion_fd().map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN));
        let mut fds: Vec<PollFd<'_>> = sockets.chain(completions).collect();
        match poll(&mut fds, None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(failed("poll")(error.into())),
        }
        let writable: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        drop(fds);
        let mut at = 0;
        self.ready.extend(self.stalled.extract_if(.., |_| {
            at += 1;
            writable[at - 1]
        }));
        self.engine.reap(Wait::No, done).map_err(failed("reaping"))
    }

    /// Counts a completed request, or keeps the rest of a send for later.
    fn take(&mut self, completion: Completion, time: Nanos) -> Result<(), BenchError> {
        let Completion { mut operation, result } = completion;
        match self.progress(&mut operation, result) {
            Progress::Partial => self.stalled.push(operation),
            Progress::Right => {
                let slot = &self.slots[operation.token as usize];
                self.counts.add_read(slot.block.len, time - slot.queued);
                self.retire(operation);
            }
            Progress::Failed(cause) => {
                self.retire(operation);
                self.counts.add_failure(cause)?;
            }
        }
        Ok(())
    }

    fn progress(&mut self, operation: &mut DiskOp, result: std::io::Result<usize>) -> Progress {
        let slot = &mut self.slots[operation.token as usize];
        let Block { file, offset, len } = slot.block;
        if let Transfer::Send { len: left, .. } = &mut operation.transfer {
            let taken = match result {
                Ok(n) => n,
                Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => 0,
                Err(e) => return Progress::Failed(e.to_string()),
            };
            slot.sent += taken;
            self.sent += taken as u64;
            if slot.sent == len {
                return Progress::Right;
            }
            *left -= taken;
            operation.offset += taken as u64;
            return Progress::Partial;
        }
        let n = match result {
            Ok(n) if n == len => n,
            Ok(n) => return Progress::Failed(format!("short read: {n} of {len} bytes")),
            Err(e) => return Progress::Failed(e.to_string()),
        };
        let bytes = operation.transfer.buffer().map_or(&[][..], |buffer| &buffer[..n]);
        let key = self.set.key(file);
        let right = match self.plan.check {
            Check::Ends => content::ends_are_right(key, offset, bytes),
            Check::All => content::is_right(key, offset, bytes),
        };
        if right { Progress::Right } else { Progress::Failed("wrong content".to_owned()) }
    }

    /// Makes a request ready for its next block: one without a length has none.
    fn retire(&mut self, mut operation: DiskOp) {
        if let Transfer::Read { len, .. } | Transfer::Send { len, .. } = &mut operation.transfer {
            *len = 0;
        }
        self.idle.push(operation);
    }
}
