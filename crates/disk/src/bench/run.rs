//! Carrying a plan out.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use pitot_meter::{Histogram, Nanos, now};
use pitot_sys::disk::{BufferPool, Transfer, Wait};
use pitot_sys::usage;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use super::drain::Drain;
use super::order::{Block, Order};
use super::plan::{ERRORS_MAX, HOT_SHARE_MIN, failed};
use super::{BenchError, Check, Pattern, ReadPlan, ReadReport, State, Until};
use crate::cache::{self, Residency};
use crate::set::{FileSet, SetError};
use crate::{Completion, DiskFile, DiskOp, Engine, FileOptions, Queued, Target, content};

/// Measures. The set must have been made before; `stop` ends the run early with [`BenchError::Interrupted`].
///
/// # Errors
/// [`BenchError`]. Reads that fail one by one are counted, not errors.
pub fn run(plan: &ReadPlan, set: &FileSet, stop: &AtomicBool) -> Result<ReadReport, BenchError> {
    let target = plan.check(set.size() * u64::from(set.files()))?;
    let depth = plan.options.depth;
    let descriptors = if plan.options.descriptor_per_slot { depth } else { 1 };
    let file_options = FileOptions { direct: plan.options.direct, descriptors, ..FileOptions::default() };
    let files = (0..set.files())
        .map(|index| Ok(Arc::new(set.open(index, &file_options)?)))
        .collect::<Result<Vec<_>, SetError>>()?;
    for file in &files {
        file.expect_order(plan.pattern == Pattern::Random).map_err(failed("posix_fadvise"))?;
    }
    let before = bring_about(plan.state, &files)?;
    let pool = BufferPool::new(depth, plan.block).map_err(failed("allocating the buffers"))?;
    let engine = (plan.engine.open)(&plan.options, &pool)?;
    for file in &files {
        engine.admit(file)?;
    }
    let drain = match target {
        Target::Socket => Some(Drain::new(depth).map_err(failed("connecting over loopback"))?),
        Target::Buffer => None,
    };
    let mut run = Run::new(plan, set, files, &pool, engine, drain, stop);
    run.warm_up()?;
    run.measure()?;
    let after = residency(&run.files)?;
    Ok(run.report(before, after, target))
}

fn residency(files: &[Arc<DiskFile>]) -> Result<Residency, BenchError> {
    cache::residency(files.iter().map(AsRef::as_ref)).map_err(failed("asking the page cache"))
}

/// Brings the page cache into a state and proves it.
fn bring_about(state: State, files: &[Arc<DiskFile>]) -> Result<Residency, BenchError> {
    for file in files {
        match state {
            State::Hot => cache::make_hot(file).map_err(failed("reading the set"))?,
            State::ColdByDrop => cache::make_cold(file).map_err(failed("dropping pages"))?,
            State::AsIs | State::ColdByDirect | State::ColdByLimit => {}
        }
    }
    let found = residency(files)?;
    let right = match state {
        State::Hot => found.share() >= HOT_SHARE_MIN,
        State::ColdByDrop => found.share() <= cache::COLD_SHARE_MAX,
        State::AsIs | State::ColdByDirect | State::ColdByLimit => true,
    };
    if right {
        return Ok(found);
    }
    let witness = found.witness.name();
    Err(BenchError::State { wanted: state.name(), share: found.share() * 100.0, witness })
}

/// What a request is at. Its token is the index of its slot.
#[derive(Clone, Copy)]
struct Slot {
    block: Block,
    queued: Nanos,
    /// Bytes of a send that the socket has taken.
    sent: usize,
}

struct Run<'a> {
    plan: &'a ReadPlan,
    set: &'a FileSet,
    stop: &'a AtomicBool,
    files: Vec<Arc<DiskFile>>,
    engine: Box<dyn Engine>,
    drain: Option<Drain>,
    order: Order,
    slots: Vec<Slot>,
    /// Requests without a block.
    idle: Vec<DiskOp>,
    /// Requests that are to be queued as they are, before others.
    ready: Vec<DiskOp>,
    /// Sends whose sockets took no more.
    stalled: Vec<DiskOp>,
    uncommitted: u32,
    /// All bytes that sockets took, whether they are counted or not.
    sent: u64,
    misses_before: u64,
    counts: Counts,
}

/// What is counted between the warm-up and the end.
struct Counts {
    operations: u64,
    bytes: u64,
    elapsed: Nanos,
    cpu_user: Duration,
    cpu_system: Duration,
    latency: Histogram,
    passes: u64,
    failures: u64,
    errors: BTreeMap<String, u64>,
}

/// Why a drive ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ended {
    /// The time is over or the count reached.
    Done,
    /// Every block was read once, and the cache must be made cold again.
    Pass,
}

impl<'a> Run<'a> {
    fn new(
        plan: &'a ReadPlan,
        set: &'a FileSet,
        files: Vec<Arc<DiskFile>>,
        pool: &BufferPool,
        engine: Box<dyn Engine>,
        drain: Option<Drain>,
        stop: &'a AtomicBool,
    ) -> Run<'a> {
        let depth = plan.options.depth as usize;
        let request = |slot: usize| {
            let transfer = match &drain {
                Some(drain) => Transfer::Send { socket: drain.socket(slot), len: 0 },
                None => Transfer::Read { buffer: pool.take()?, len: 0 },
            };
            Some(DiskOp { token: slot as u64, file: Arc::clone(&files[0]).into(), offset: 0, transfer })
        };
        let nothing = Slot { block: Block { file: 0, offset: 0, len: 0 }, queued: Nanos::ZERO, sent: 0 };
        Run {
            idle: (0..depth).rev().map_while(request).collect(),
            ready: Vec::with_capacity(depth),
            stalled: Vec::with_capacity(depth),
            slots: vec![nothing; depth],
            order: Order::new(plan.pattern, set.files(), set.size(), plan.block, plan.seed),
            uncommitted: 0,
            sent: 0,
            misses_before: 0,
            counts: Counts::new(),
            plan,
            set,
            stop,
            files,
            engine,
            drain,
        }
    }

    fn warm_up(&mut self) -> Result<(), BenchError> {
        if self.plan.warmup > Nanos::ZERO {
            let end = now() + self.plan.warmup;
            while self.drive(end, u64::MAX)? == Ended::Pass {
                self.next_pass()?;
            }
            self.next_pass()?;
        }
        self.counts = Counts::new();
        self.misses_before = self.engine.misses();
        Ok(())
    }

    fn measure(&mut self) -> Result<(), BenchError> {
        let (duration, count) = match self.plan.until {
            Until::Duration(duration) => (duration, u64::MAX),
            Until::Count(count) => (Nanos::MAX, count),
        };
        loop {
            let (cpu_before, drained_before) = (usage::of_this_process(), self.drained()?);
            let start = now();
            let done = self.counts.operations + self.counts.failures;
            let ended = self.drive(start + (duration - self.counts.elapsed), count.saturating_sub(done))?;
            self.counts.elapsed += now() - start;
            let (cpu, drained) = (usage::of_this_process(), self.drained()?);
            // Discarding is nearly all system time, and no part of the engine's work.
            let discarding = drained.saturating_sub(drained_before);
            self.counts.cpu_user += cpu.cpu_user.saturating_sub(cpu_before.cpu_user);
            self.counts.cpu_system +=
                cpu.cpu_system.saturating_sub(cpu_before.cpu_system).saturating_sub(discarding);
            if ended == Ended::Done {
                return Ok(());
            }
            self.next_pass()?;
        }
    }

    fn drained(&self) -> Result<Duration, BenchError> {
        self.drain.as_ref().map_or(Ok(Duration::ZERO), Drain::cpu).map_err(failed("reading /proc/self/task"))
    }

    fn next_pass(&mut self) -> Result<(), BenchError> {
        self.order.restart();
        if self.plan.state == State::ColdByDrop {
            bring_about(self.plan.state, &self.files)?;
        }
        Ok(())
    }

    /// The next block to read; none at the end of a pass after which the cache must be made cold again.
    fn next_block(&mut self) -> Option<Block> {
        self.order.next().or_else(|| {
            if self.plan.state == State::ColdByDrop {
                return None;
            }
            self.counts.passes += 1;
            self.order.restart();
            self.order.next()
        })
    }

    /// Reads until the deadline, until `left` reads were begun, or until the pass is over. Nothing is in flight after it.
    fn drive(&mut self, deadline: Nanos, mut left: u64) -> Result<Ended, BenchError> {
        self.counts.passes += 1;
        let mut ended = None;
        let mut done = Vec::with_capacity(self.slots.len());
        let mut time = now();
        loop {
            while let Some(operation) = self.ready.pop().or_else(|| {
                if ended.is_none() && (time >= deadline || left == 0) {
                    ended = Some(Ended::Done);
                }
                if ended.is_some() { None } else { self.idle.pop() }
            }) {
                let operation = if operation.transfer.is_empty() {
                    let Some(block) = self.next_block() else {
                        self.idle.push(operation);
                        ended = Some(Ended::Pass);
                        break;
                    };
                    left -= 1;
                    self.aim(operation, block, time)
                } else {
                    operation
                };
                let queued = self.engine.queue(operation);
                time = now();
                match queued {
                    Queued::Done(completion) => self.finish(completion, time)?,
                    Queued::InFlight => self.commit_batch()?,
                    Queued::Full(operation) => {
                        self.ready.push(operation);
                        break;
                    }
                }
                if self.stop.load(Ordering::Relaxed) {
                    return Err(BenchError::Interrupted);
                }
            }
            self.commit()?;
            if self.engine.in_flight() > 0 || !self.stalled.is_empty() {
                self.await_one(&mut done)?;
                time = now();
                for completion in done.drain(..) {
                    self.finish(completion, time)?;
                }
            } else if let (true, Some(ended)) = (self.ready.is_empty(), ended) {
                return Ok(ended);
            }
        }
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
    fn await_one(&mut self, done: &mut Vec<Completion>) -> Result<(), BenchError> {
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

    /// Checks and counts what has come back.
    fn finish(&mut self, completion: Completion, time: Nanos) -> Result<(), BenchError> {
        let Completion { mut operation, result } = completion;
        let slot = &mut self.slots[operation.token as usize];
        let Block { file, offset, len } = slot.block;
        let verdict = match (&mut operation.transfer, result) {
            (Transfer::Send { len: left, .. }, result) => {
                let taken = match result {
                    Ok(n) => Ok(n),
                    Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => Ok(0),
                    Err(e) => Err(e),
                };
                let taken = match taken {
                    Ok(n) => n,
                    Err(e) => return self.fail(operation, e.to_string()),
                };
                slot.sent += taken;
                self.sent += taken as u64;
                if slot.sent < len {
                    *left -= taken;
                    operation.offset += taken as u64;
                    self.stalled.push(operation);
                    return Ok(());
                }
                Ok(())
            }
            (_, Err(e)) => Err(e.to_string()),
            (_, Ok(n)) if n != len => Err(format!("short read: {n} of {len} bytes")),
            (transfer, Ok(n)) => {
                let bytes = transfer.buffer().map_or(&[][..], |buffer| &buffer[..n]);
                let key = self.set.key(file);
                let right = match self.plan.check {
                    Check::Ends => content::ends_are_right(key, offset, bytes),
                    Check::All => content::is_right(key, offset, bytes),
                };
                if right { Ok(()) } else { Err("wrong content".to_owned()) }
            }
        };
        match verdict {
            Ok(()) => {
                self.counts.operations += 1;
                self.counts.bytes += len as u64;
                self.counts.latency.record(time - slot.queued);
                self.retire(operation);
                Ok(())
            }
            Err(what) => self.fail(operation, what),
        }
    }

    fn fail(&mut self, operation: DiskOp, what: String) -> Result<(), BenchError> {
        *self.counts.errors.entry(what).or_default() += 1;
        self.counts.failures += 1;
        self.retire(operation);
        if self.counts.failures < ERRORS_MAX {
            return Ok(());
        }
        let most = self.counts.errors.iter().max_by_key(|(_, count)| **count);
        let most = most.map_or(String::new(), |(what, _)| what.clone());
        Err(BenchError::Errors { count: self.counts.failures, most })
    }

    /// Makes a request ready for its next block: one without a length has none.
    fn retire(&mut self, mut operation: DiskOp) {
        if let Transfer::Read { len, .. } | Transfer::Send { len, .. } = &mut operation.transfer {
            *len = 0;
        }
        self.idle.push(operation);
    }

    fn report(self, before: Residency, after: Residency, target: Target) -> ReadReport {
        let Run { engine, drain, sent, misses_before, mut counts, idle, .. } = self;
        let misses = engine.misses() - misses_before;
        // The sockets end when nobody can send to them any more.
        drop((engine, idle));
        if let Some(lost) = drain.map(|drain| sent.abs_diff(drain.finish())).filter(|&lost| lost > 0) {
            counts.errors.insert(format!("{lost} bytes sent and received differ"), 1);
        }
        ReadReport {
            operations: counts.operations,
            bytes: counts.bytes,
            elapsed: counts.elapsed,
            latency: counts.latency,
            cpu_user: counts.cpu_user,
            cpu_system: counts.cpu_system,
            passes: counts.passes,
            before,
            after,
            misses,
            errors: counts.errors,
            target,
        }
    }
}

impl Counts {
    fn new() -> Counts {
        Counts {
            operations: 0,
            bytes: 0,
            elapsed: Nanos::ZERO,
            cpu_user: Duration::ZERO,
            cpu_system: Duration::ZERO,
            latency: Histogram::new(),
            passes: 0,
            failures: 0,
            errors: BTreeMap::new(),
        }
    }
}
