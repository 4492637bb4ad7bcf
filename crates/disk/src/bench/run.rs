//! Carrying a plan out: preparation, warm-up, measurement, report.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use pitot_meter::{Nanos, now};
use pitot_sys::disk::BufferPool;
use pitot_sys::usage;

use super::counts::Counts;
use super::drain::Drain;
use super::order::Pattern;
use super::page_cache::{establish, residency};
use super::plan::{BenchError, CacheState, ReadPlan, ReadReport, Until, failed};
use super::reads::{Ended, Reads};
use crate::cache::Residency;
use crate::set::{FileSet, SetError};
use crate::{Destination, DiskFile, FileOptions};

/// Measures. The set must have been made before; `stop` ends the run early with [`BenchError::Interrupted`].
///
/// # Errors
/// [`BenchError`]. Reads that fail one by one are counted, not errors.
pub fn run(plan: &ReadPlan, set: &FileSet, stop: &AtomicBool) -> Result<ReadReport, BenchError> {
    let target = plan.check(set.size() * u64::from(set.files()))?;
    let depth = plan.options.depth;
    let files = open_all(plan, set)?;
    let before = establish(plan.state, &files)?;
    let pool = BufferPool::new(depth, plan.block).map_err(failed("allocating the buffers"))?;
    let engine = (plan.engine.open)(&plan.options, &pool)?;
    for file in &files {
        engine.admit(file)?;
    }
    let drain = match target {
        Destination::Socket => Some(Drain::new(depth).map_err(failed("connecting over loopback"))?),
        Destination::Buffer => None,
    };
    let reads = Reads::new(plan, set, &files, &pool, engine, drain.as_ref(), stop);
    let mut run = Run { plan, files: &files, reads, drain };
    run.warm_up()?;
    let misses_before = run.reads.misses();
    run.measure()?;
    let misses = run.reads.misses() - misses_before;
    let after = residency(&files)?;
    Ok(run.report(target, before, after, misses))
}

/// Opens the files of the set as the engine and the order of reads need them.
fn open_all(plan: &ReadPlan, set: &FileSet) -> Result<Vec<Arc<DiskFile>>, BenchError> {
    let descriptors = if plan.options.descriptor_per_slot { plan.options.depth } else { 1 };
    let options = FileOptions { direct: plan.options.direct, descriptors, ..FileOptions::default() };
    let files = (0..set.files())
        .map(|index| Ok(Arc::new(set.open(index, &options)?)))
        .collect::<Result<Vec<_>, SetError>>()?;
    for file in &files {
        file.expect_order(plan.pattern == Pattern::Random).map_err(failed("posix_fadvise"))?;
    }
    Ok(files)
}

struct Run<'a> {
    plan: &'a ReadPlan,
    files: &'a [Arc<DiskFile>],
    reads: Reads<'a>,
    drain: Option<Drain>,
}

impl Run<'_> {
    fn warm_up(&mut self) -> Result<(), BenchError> {
        if self.plan.warmup > Nanos::ZERO {
            let end = now() + self.plan.warmup;
            while self.reads.drive(end, u64::MAX)? == Ended::Pass {
                self.next_pass()?;
            }
            self.next_pass()?;
        }
        self.reads.counts = Counts::new();
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
            let left = count.saturating_sub(self.reads.counts.ended());
            let ended = self.reads.drive(start + (duration - self.reads.counts.elapsed), left)?;
            let counts = &mut self.reads.counts;
            counts.elapsed += now() - start;
            let cpu = usage::of_this_process();
            counts.cpu_user += cpu.cpu_user.saturating_sub(cpu_before.cpu_user);
            // Discarding is nearly all system time, and no part of the engine's work.
            let system = cpu.cpu_system.saturating_sub(cpu_before.cpu_system);
            let discarding = self.drained()?.saturating_sub(drained_before);
            self.reads.counts.cpu_system += system.saturating_sub(discarding);
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
        self.reads.restart();
        if self.plan.state == CacheState::ColdByDrop {
            establish(self.plan.state, self.files)?;
        }
        Ok(())
    }

    fn report(self, target: Destination, before: Residency, after: Residency, misses: u64) -> ReadReport {
        // This drops the engine and its requests: a drain's sockets end when their last reference is gone.
        let (mut counts, sent) = self.reads.finish();
        let lost = self.drain.map_or(0, |drain| sent.abs_diff(drain.finish()));
        if lost > 0 {
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
