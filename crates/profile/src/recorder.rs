//! Records what some processes do, and all that they start.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;

use pitot_meter::stack::{Frame, KERNEL, PREEMPTED, UNKNOWN, push};
use pitot_plan::Profiled;
use pitot_sys::Unavailable;
use pitot_sys::perf::{Event, Record, Sample, Sampler, Scope};

use crate::amount::Amount;
use crate::calls::Calls;
use crate::counters::Counted;
use crate::java::Compiled;
use crate::memory::Memory;
use crate::names::Names;
use crate::tracked::Tracked;
use crate::unwind::Unwinder;
use crate::waits::Waits;

thread_local! {
    /// Reading the symbols of the kernel and of programs takes longer than a slice, so they are kept.
    static NAMES: RefCell<Names> = RefCell::new(Names::new());
    /// And so are the tables of programs.
    static UNWINDER: RefCell<Unwinder> = RefCell::new(Unwinder::new());
}

/// A sample at most so many times a second, unless the kernel allows fewer: enough for a thousand in a slice of a busy server, so that
/// chance moves the share of a function by one percent of all time at most, and at no multiple of the timer's rate.
const FREQUENCY_MAX: u64 = 4_999;
/// How many the kernel allows (Documentation/admin-guide/sysctl/kernel.rst).
const FREQUENCY_ALLOWED: &str = "/proc/sys/kernel/perf_event_max_sample_rate";

fn samples_of_cpu() -> Event {
    let allowed = std::fs::read_to_string(FREQUENCY_ALLOWED).ok().and_then(|text| text.trim().parse().ok());
    Event::Cpu { frequency: FREQUENCY_MAX.min(allowed.unwrap_or(FREQUENCY_MAX)) }
}

/// A running record of one kind.
#[derive(Debug)]
pub struct Recorder {
    tracked: Tracked,
    kept: Kept,
    /// None of what is counted without records.
    sampler: Option<Sampler>,
    /// Samples that were read, of all processes, and those that found no room.
    read: u64,
    lost: u64,
}

/// What is kept, by kind.
#[derive(Debug)]
enum Kept {
    Cpu(Vec<Sample>),
    OffCpu(Waits),
    Calls(Calls),
    Counters(Counted, BTreeMap<String, Amount>),
}

/// What was recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    /// By stack ([`pitot_meter::stack`]), or by the name of a call or counter.
    pub amounts: BTreeMap<String, Amount>,
    /// What found no room in the kernel's rings, as many as there would be of these processes.
    pub lost: u64,
    /// Whether the kernel's part is seen.
    pub sees_kernel: bool,
    /// The CPU time that all samples stand for, where they are by the timer.
    pub sampled_ns: Option<u64>,
}

impl Recorder {
    /// Prepares to record these processes and what they start, on these CPUs: of the whole machine where that is allowed, and else
    /// of their threads.
    ///
    /// # Errors
    /// [`Unavailable`]: not allowed, or not there.
    pub fn of(what: Profiled, pids: &[u32], cpus: &[usize]) -> Result<Recorder, Unavailable> {
        Recorder::new(what, pids, false, cpus)
    }

    /// The same of what a process starts, without the process itself.
    ///
    /// # Errors
    /// As [`of`](Self::of).
    pub fn of_children(what: Profiled, pid: u32, cpus: &[usize]) -> Result<Recorder, Unavailable> {
        Recorder::new(what, &[pid], true, cpus)
    }

    fn new(
        what: Profiled,
        pids: &[u32],
        is_of_children: bool,
        cpus: &[usize],
    ) -> Result<Recorder, Unavailable> {
        let threads: Vec<u32> = pids.iter().flat_map(|&pid| threads(pid)).collect();
        let sampler = |events: &[Event]| {
            Sampler::open(events, Scope::Machine, cpus)
                .or_else(|_| Sampler::open(events, Scope::Threads(&threads), cpus))
        };
        let (kept, sampler) = match what {
            Profiled::Cpu => (Kept::Cpu(Vec::new()), Some(sampler(&[samples_of_cpu()])?)),
            Profiled::OffCpu => (Kept::OffCpu(Waits::default()), Some(sampler(&[Event::Switches])?)),
            Profiled::Calls => {
                let calls = Calls::new()?;
                let sampler = sampler(&calls.events())?;
                (Kept::Calls(calls), Some(sampler))
            }
            Profiled::Counters => {
                (Kept::Counters(Counted::open(&threads, is_of_children)?, BTreeMap::new()), None)
            }
        };
        let tracked = if is_of_children { Tracked::new(&[], pids) } else { Tracked::new(pids, &[]) };
        Ok(Recorder { tracked, kept, sampler, read: 0, lost: 0 })
    }

    /// Begins.
    ///
    /// # Errors
    /// Those of ioctl(2).
    pub fn start(&mut self) -> io::Result<()> {
        if let Kept::Counters(counted, _) = &mut self.kept {
            counted.start()?;
        }
        self.sampler.as_ref().map_or(Ok(()), Sampler::start)
    }

    /// Takes what was recorded so far out of the kernel's rings, which hold a tenth of a second of it, and completes the stacks.
    pub fn look(&mut self) {
        UNWINDER.with_borrow_mut(|unwinder| self.look_with(unwinder));
    }

    fn look_with(&mut self, unwinder: &mut Unwinder) {
        let Recorder { sampler, tracked, kept, read, lost } = self;
        let Some(sampler) = sampler else { return };
        sampler.read(&mut |record| {
            *read += u64::from(matches!(record, Record::Sample(_)));
            match (record, &mut *kept) {
                (Record::Sample(sample), _) if !tracked.contains(sample.pid) => {}
                (Record::Sample(mut sample), Kept::Cpu(samples)) => {
                    unwinder.complete(&mut sample, &tracked.memory);
                    samples.push(sample);
                }
                (Record::Sample(mut sample), Kept::OffCpu(waits)) => {
                    unwinder.complete(&mut sample, &tracked.memory);
                    waits.left_with(sample);
                }
                (Record::Sample(sample), Kept::Calls(calls)) => calls.take(&sample),
                (Record::Switched(switch), Kept::OffCpu(waits)) if tracked.contains(switch.pid) => {
                    waits.switched(switch);
                }
                (Record::Lost(count), _) => *lost += count,
                (record, _) => tracked.follow(record),
            }
        });
    }

    /// Ends it.
    ///
    /// # Errors
    /// Those of ioctl(2).
    pub fn stop(&mut self) -> io::Result<()> {
        if let Kept::Counters(counted, amounts) = &mut self.kept {
            *amounts = counted.stop()?;
        }
        self.sampler.as_ref().map_or(Ok(()), Sampler::stop)?;
        self.look();
        Ok(())
    }

    /// All that was recorded. Names of functions are looked up now: processes should still run.
    pub fn recorded(&mut self) -> Recorded {
        let Recorder { sampler, tracked, kept, read, lost } = self;
        let mut recorded = Recorded {
            sees_kernel: sampler.as_ref().is_some_and(Sampler::sees_kernel),
            ..Recorded::default()
        };
        let has_stacks = matches!(kept, Kept::Cpu(_) | Kept::OffCpu(_));
        let compiled = if has_stacks { Compiled::of(&tracked.memory) } else { Compiled::default() };
        NAMES.with_borrow_mut(|names| {
            names.of_other_processes(compiled);
            match kept {
                Kept::Cpu(samples) => {
                    let by_timer = sampler.as_ref().is_some_and(|sampler| !sampler.counts_cycles());
                    recorded.sampled_ns = by_timer.then(|| samples.iter().map(|sample| sample.period).sum());
                    for sample in &*samples {
                        let stack = stack(names, &tracked.memory, sample, false);
                        recorded.amounts.entry(stack).or_default().add(0);
                    }
                }
                Kept::OffCpu(waits) => {
                    for wait in waits.ended() {
                        let stack = stack(names, &tracked.memory, wait.sample, wait.preempted);
                        recorded.amounts.entry(stack).or_default().add(wait.ns);
                    }
                }
                Kept::Calls(calls) => recorded.amounts = calls.ended(),
                Kept::Counters(counted, amounts) => {
                    recorded.sees_kernel = counted.sees_kernel();
                    recorded.amounts.clone_from(amounts);
                }
            }
        });
        // The same share of these processes' as of all.
        let count: u64 = recorded.amounts.values().map(|amount| amount.count).sum();
        recorded.lost = (u128::from(*lost) * u128::from(count) / u128::from((*read).max(1))) as u64;
        recorded
    }
}

/// Whether this can be recorded here.
///
/// # Errors
/// [`Unavailable`], with what to do.
pub fn check(what: Profiled) -> Result<(), Unavailable> {
    let cpus = pitot_sys::affinity::allowed().unwrap_or_default();
    Recorder::of(what, &[std::process::id()], &cpus).map(drop)
}

/// The frames of a sample with their names.
fn stack(names: &mut Names, memory: &Memory, sample: &Sample, preempted: bool) -> String {
    let mut line = String::new();
    // A return address lies behind its call, which may be the last of its function.
    let called = |at: usize, address: u64| if at == 0 { address } else { address.saturating_sub(1) };
    let user = sample.user.iter().enumerate().rev();
    for (at, &address) in user.filter(|(_, address)| **address != 0) {
        if let Some(frame) = names.process(sample.pid, called(at, address), memory) {
            push(&mut line, frame);
        }
    }
    for (at, &address) in sample.kernel.iter().enumerate().rev() {
        push(&mut line, names.kernel(called(at, address)));
    }
    if preempted {
        push(&mut line, &Frame { module: KERNEL, function: PREEMPTED }.text());
    }
    if line.is_empty() {
        line = Frame { module: UNKNOWN, function: UNKNOWN }.text();
    }
    line
}

/// The threads of a process.
fn threads(pid: u32) -> Vec<u32> {
    let entries = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pitot_needs::needs;

    #[inline(never)]
    fn the_function_that_works(rounds: u64) -> u64 {
        (0..rounds).fold(0u64, |sum, i| std::hint::black_box(sum.wrapping_mul(31).wrapping_add(i)))
    }

    #[inline(never)]
    fn the_function_that_waits() {
        std::thread::sleep(std::time::Duration::from_millis(2));
        // So that it does not end with a jump.
        std::hint::black_box(());
    }

    /// A recorder of this process.
    fn started(what: Profiled) -> Recorder {
        let cpus = pitot_sys::affinity::allowed().unwrap();
        let mut recorder = Recorder::of(what, &[std::process::id()], &cpus).unwrap();
        recorder.start().unwrap();
        recorder
    }

    /// The sum over all stacks with a function.
    fn sum(recorded: &Recorded, name: &str, of: fn(&Amount) -> u64) -> u64 {
        let has = |line: &str| line.split(';').any(|frame| frame.ends_with(name));
        recorded.amounts.iter().filter(|(line, _)| has(line)).map(|(_, amount)| of(amount)).sum()
    }

    #[needs("own-sampling")]
    #[test]
    fn the_function_that_works_is_found() {
        let mut recorder = started(Profiled::Cpu);
        for _ in 0..200 {
            std::hint::black_box(the_function_that_works(500_000));
            recorder.look();
        }
        recorder.stop().unwrap();
        let recorded = recorder.recorded();
        // Other tests of this process take their part.
        assert!(sum(&recorded, "the_function_that_works", |amount| amount.count) >= 10, "{recorded:#?}");
    }

    #[needs("sampling")]
    #[test]
    fn a_wait_has_its_stack_and_its_time() {
        let mut recorder = started(Profiled::OffCpu);
        (0..5).for_each(|_| the_function_that_waits());
        recorder.stop().unwrap();
        let recorded = recorder.recorded();
        let waited_ns = sum(&recorded, "the_function_that_waits", |amount| amount.ns);
        assert!(waited_ns >= 5 * 2_000_000, "{recorded:#?}");
    }

    #[needs("sampling")]
    #[test]
    fn calls_and_counters_are_by_name() {
        let recorded = |what| {
            let mut recorder = started(what);
            (0..5).for_each(|_| the_function_that_waits());
            recorder.stop().unwrap();
            recorder.recorded()
        };
        let slept = recorded(Profiled::Calls).amounts["clock_nanosleep"];
        assert!(slept.count >= 5 && slept.ns >= 10_000_000, "{slept:?}");
        let counted = recorded(Profiled::Counters);
        assert!(counted.sees_kernel && counted.amounts["context switches"].count >= 5, "{counted:?}");
    }
}
