//! Samples some processes, and all that they start.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashSet};
use std::io;

use pitot_meter::stack::{Frame, UNKNOWN, push};
use pitot_sys::Unavailable;
use pitot_sys::perf::{Event, Record, Sample, Sampler, Scope};

use crate::memory::Memory;
use crate::names::Names;

thread_local! {
    /// Reading the symbols of the kernel and of programs takes longer than a slice, so they are kept.
    static NAMES: RefCell<Names> = RefCell::new(Names::new());
}

/// A running profile.
#[derive(Debug)]
pub struct Recorder {
    sampler: Sampler,
    /// Whose samples are kept.
    processes: HashSet<u32>,
    /// Whose children are kept, and they are not.
    parents: HashSet<u32>,
    memory: Memory,
    samples: Vec<Sample>,
    lost: u64,
}

/// Stacks, and how often each was met.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stacks {
    /// By stack ([`pitot_meter::stack`]).
    pub counts: BTreeMap<String, u64>,
    /// Records that found no room.
    pub lost: u64,
    /// Whether stacks have the frames of the kernel.
    pub sees_kernel: bool,
    /// The CPU time that all samples stand for, where they are by the timer.
    pub sampled_ns: Option<u64>,
}

impl Recorder {
    /// Prepares to sample these processes and what they start, on these CPUs: `event` of the whole machine where that is
    /// allowed, and else of their threads.
    ///
    /// # Errors
    /// [`Unavailable`]: not allowed, or not there.
    pub fn of(pids: &[u32], event: Event, cpus: &[usize]) -> Result<Recorder, Unavailable> {
        let recorder = Recorder::of_nobody(pids, event, cpus)?;
        Ok(Recorder { processes: pids.iter().copied().collect(), ..recorder })
    }

    /// The same of what a process starts, without the process itself.
    ///
    /// # Errors
    /// As [`of`](Self::of).
    pub fn of_children(pid: u32, event: Event, cpus: &[usize]) -> Result<Recorder, Unavailable> {
        let recorder = Recorder::of_nobody(&[pid], event, cpus)?;
        Ok(Recorder { parents: HashSet::from([pid]), ..recorder })
    }

    /// One that sees these processes and keeps no samples yet.
    fn of_nobody(pids: &[u32], event: Event, cpus: &[usize]) -> Result<Recorder, Unavailable> {
        let (sampler, memory) = open(pids, event, cpus)?;
        let (processes, parents) = (HashSet::new(), HashSet::new());
        Ok(Recorder { sampler, processes, parents, memory, samples: Vec::new(), lost: 0 })
    }

    /// Begins.
    ///
    /// # Errors
    /// Those of ioctl(2).
    pub fn start(&self) -> io::Result<()> {
        self.sampler.start()
    }

    /// Takes what was sampled so far out of the kernel's rings, which hold a few seconds of it.
    pub fn look(&mut self) {
        let Recorder { sampler, processes, parents, memory, samples, lost } = self;
        sampler.read(&mut |record| match record {
            Record::Sample(sample) if processes.contains(&sample.pid) => samples.push(sample),
            Record::Fork { pid, parent }
                if pid != parent && (processes.contains(&parent) || parents.contains(&parent)) =>
            {
                processes.insert(pid);
                memory.forked(pid, parent);
            }
            Record::Executed { pid } if processes.contains(&pid) => memory.executed(pid),
            Record::Mapped(mapped) if processes.contains(&mapped.pid) => memory.mapped(mapped),
            Record::Lost(count) => *lost += count,
            _ => {}
        });
    }

    /// Ends it.
    ///
    /// # Errors
    /// Those of ioctl(2).
    pub fn stop(&mut self) -> io::Result<()> {
        self.sampler.stop()?;
        self.look();
        Ok(())
    }

    /// All samples so far, by stack. Names are looked up now: processes should still run.
    pub fn stacks(&self) -> Stacks {
        NAMES.with_borrow_mut(|names| self.named(names))
    }

    fn named(&self, names: &mut Names) -> Stacks {
        names.forget_processes();
        let mut stacks =
            Stacks { lost: self.lost, sees_kernel: self.sampler.sees_kernel(), ..Stacks::default() };
        let sampled_ns: u64 = self.samples.iter().map(|sample| sample.period).sum();
        stacks.sampled_ns = (!self.sampler.counts_cycles()).then_some(sampled_ns);
        for sample in &self.samples {
            let mut line = String::new();
            // A return address lies behind its call, which may be the last of its function.
            let called = |at: usize, address: u64| if at == 0 { address } else { address.saturating_sub(1) };
            let user = sample.user.iter().enumerate().rev();
            for (at, &address) in user.filter(|(_, address)| **address != 0) {
                if let Some(frame) = names.process(sample.pid, called(at, address), &self.memory) {
                    push(&mut line, frame);
                }
            }
            for (at, &address) in sample.kernel.iter().enumerate().rev() {
                push(&mut line, names.kernel(called(at, address)));
            }
            if line.is_empty() {
                line = Frame { module: UNKNOWN, function: UNKNOWN }.text();
            }
            *stacks.counts.entry(line).or_default() += 1;
        }
        stacks
    }
}

/// Whether the CPU can be sampled here.
///
/// # Errors
/// [`Unavailable`], with what to do.
pub fn check() -> Result<(), Unavailable> {
    let cpus = pitot_sys::affinity::allowed().unwrap_or_default();
    Recorder::of(&[std::process::id()], Event::Cpu { frequency: 99 }, &cpus).map(drop)
}

fn open(pids: &[u32], event: Event, cpus: &[usize]) -> Result<(Sampler, Memory), Unavailable> {
    let sampler = match Sampler::open(event, Scope::Machine, cpus) {
        Ok(sampler) => sampler,
        Err(_) => {
            let threads: Vec<u32> = pids.iter().flat_map(|&pid| threads(pid)).collect();
            Sampler::open(event, Scope::Threads(&threads), cpus)?
        }
    };
    let mut memory = Memory::default();
    pids.iter().for_each(|&pid| memory.look_at(pid));
    Ok((sampler, memory))
}

/// The threads of a process.
fn threads(pid: u32) -> Vec<u32> {
    let entries = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[inline(never)]
    fn the_function_that_works(rounds: u64) -> u64 {
        (0..rounds).fold(0u64, |sum, i| std::hint::black_box(sum.wrapping_mul(31).wrapping_add(i)))
    }

    #[test]
    fn the_function_that_works_is_found() {
        let cpus = pitot_sys::affinity::allowed().unwrap();
        let event = Event::Cpu { frequency: 1_999 };
        let mut recorder = match Recorder::of(&[std::process::id()], event, &cpus) {
            Ok(recorder) => recorder,
            Err(unavailable) => return assert!(!unavailable.fix.is_empty()),
        };
        recorder.start().unwrap();
        while recorder.samples.len() < 50 {
            std::hint::black_box(the_function_that_works(1_000_000));
            recorder.look();
        }
        recorder.stop().unwrap();
        let stacks = recorder.stacks();
        let of = |name: &str| -> u64 {
            let has = |line: &&String| line.split(';').any(|frame| frame.ends_with(name));
            stacks.counts.iter().filter(|(line, _)| has(line)).map(|(_, count)| count).sum()
        };
        let all: u64 = stacks.counts.values().sum();
        assert!(of("the_function_that_works") * 2 > all, "{stacks:#?}");
    }
}
