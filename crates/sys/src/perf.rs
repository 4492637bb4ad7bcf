//! Samples of what the CPUs do (perf_event_open(2)): an event for each CPU, or for each thread and CPU, whose records the kernel
//! writes into rings that are read here.
//!
//! The interrupt is `cycles` where the machine counts them, and otherwise the timer `cpu-clock`, as in most guests.

mod count;
mod event;
mod tracepoint;

pub use count::{Count, Counters};
pub use tracepoint::tracepoint;

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use crate::Unavailable;
use event::{
    Attributes, COMM, CONTEXT_SWITCH, CONTEXT_SWITCHES, CPU_CLOCK, CPU_CYCLES, DISABLE, DISABLED, ENABLE,
    EXCLUDE_HV, EXCLUDE_KERNEL, FREQ, HARDWARE, INHERIT, MMAP, MMAP2, SAMPLE_ID_ALL, SET_OUTPUT, SOFTWARE,
    TASK, TRACEPOINT, USE_CLOCKID, control, open, unavailable,
};

/// PERF_SAMPLE_*, in the order in which a record has them.
const SAMPLE_TID: u64 = 1 << 1;
const SAMPLE_TIME: u64 = 1 << 2;
const SAMPLE_CALLCHAIN: u64 = 1 << 5;
const SAMPLE_PERIOD: u64 = 1 << 8;
const SAMPLE_RAW: u64 = 1 << 10;
const SAMPLE_REGS_USER: u64 = 1 << 12;
const SAMPLE_STACK_USER: u64 = 1 << 13;

/// The registers of a program in a sample, as bits of `asm/perf_regs.h`: BP, SP and IP, or X29, LR, SP and PC. A record has them
/// in this order.
#[cfg(target_arch = "x86_64")]
const USER_REGISTERS: u64 = 1 << 6 | 1 << 7 | 1 << 8;
#[cfg(target_arch = "aarch64")]
const USER_REGISTERS: u64 = 1 << 29 | 1 << 30 | 1 << 31 | 1 << 32;
/// PERF_SAMPLE_REGS_ABI_64: they are those of a program of 64 bits.
const ABI_64: u64 = 2;

/// PERF_RECORD_*.
const RECORD_LOST: u32 = 2;
const RECORD_COMM: u32 = 3;
const RECORD_FORK: u32 = 7;
const RECORD_SAMPLE: u32 = 9;
const RECORD_MMAP2: u32 = 10;
const RECORD_SWITCH: u32 = 14;
const RECORD_SWITCH_CPU_WIDE: u32 = 15;
/// PERF_RECORD_MISC_COMM_EXEC: the name changed with execve(2).
const BY_EXEC: u16 = 1 << 13;
/// PERF_RECORD_MISC_SWITCH_OUT, and _OUT_PREEMPT: the thread could go on.
const OUT: u16 = 1 << 13;
const PREEMPTED: u16 = 1 << 14;
/// PERF_CONTEXT_*: markers between the parts of a stack.
const CONTEXT_MIN: u64 = -4095i64 as u64;
const CONTEXT_KERNEL: u64 = -128i64 as u64;
const CONTEXT_USER: u64 = -512i64 as u64;

/// Where the kernel's head and the reader's tail stand in the first page of a ring (`perf_event_mmap_page`).
const DATA_HEAD: usize = 1024;
const DATA_TAIL: usize = 1032;
const PAGE: usize = 4096;
/// Pages of a ring, and the bytes that a sample of the CPU has of a program's stack: of one who may lock memory, and of others,
/// who have perf_event_mlock_kb (516) for each CPU. At 2,000 samples a second the rings are full after 0.2 and 0.1 seconds.
const RINGS: [(usize, u32); 2] = [(1024, 8192), (128, 2048)];
/// The same of threads that leave their CPU, which they may do a hundred thousand times a second.
const SWITCHED_STACK_BYTES: u32 = 1024;

/// What is sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The CPU, so many times a second of CPU time.
    Cpu {
        /// Samples per second.
        frequency: u64,
    },
    /// Each time a thread leaves a CPU, with its stack, and each time it comes back.
    Switches,
    /// Each time a tracepoint of this number is passed, with its fields and no stack.
    Tracepoint(u64),
}

impl Event {
    /// What a record of it has.
    fn sample_type(self) -> u64 {
        let stack_or_fields = match self {
            Event::Tracepoint(_) => SAMPLE_RAW,
            Event::Cpu { .. } | Event::Switches => SAMPLE_CALLCHAIN | SAMPLE_REGS_USER | SAMPLE_STACK_USER,
        };
        SAMPLE_TID | SAMPLE_TIME | SAMPLE_PERIOD | stack_or_fields
    }
}

/// Whom it is sampled of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope<'a> {
    /// All that runs on the machine.
    Machine,
    /// These threads, and those that they start from now on.
    Threads(&'a [u32]),
}

/// A record of a ring.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// A sample.
    Sample(Sample),
    /// A process began or a thread was started.
    Fork {
        /// The new process.
        pid: u32,
        /// The process that made it.
        parent: u32,
    },
    /// A process executes another program: all that was mapped is gone.
    Executed {
        /// The process.
        pid: u32,
    },
    /// A process mapped a file from which it can execute.
    Mapped(Mapped),
    /// A thread left its CPU or came back to one.
    Switched(Switched),
    /// So many records found no room.
    Lost(u64),
}

/// A sample.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// The process.
    pub pid: u32,
    /// Its thread.
    pub tid: u32,
    /// `CLOCK_MONOTONIC`.
    pub time_ns: u64,
    /// What it stands for: nanoseconds of `cpu-clock`, cycles, or passes of a tracepoint.
    pub period: u64,
    /// Addresses in the kernel, the innermost first.
    pub kernel: Vec<u64>,
    /// Addresses in the program, the innermost first, by its frame pointers.
    pub user: Vec<u64>,
    /// The registers of the program. None for a thread of the kernel, a program of 32 bits and a tracepoint.
    pub registers: Option<Registers>,
    /// The program's stack from `sp` on, as far as it was copied.
    pub stack: Vec<u8>,
    /// The fields of a tracepoint.
    pub fields: Vec<u8>,
}

/// A thread that left its CPU or came back to one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Switched {
    /// The process.
    pub pid: u32,
    /// Its thread.
    pub tid: u32,
    /// `CLOCK_MONOTONIC`.
    pub time_ns: u64,
    /// Whether it left, and not came.
    pub left: bool,
    /// Whether it left although it could go on, for instance because another thread was to run.
    pub preempted: bool,
}

/// The registers by which the stack of a program is unwound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Registers {
    /// The next instruction.
    pub pc: u64,
    /// The stack pointer, where [`Sample::stack`] begins.
    pub sp: u64,
    /// The frame pointer: RBP or X29.
    pub fp: u64,
    /// The return address in X30; 0 on x86-64, where it is on the stack.
    pub lr: u64,
}

/// A file in the memory of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapped {
    /// The process.
    pub pid: u32,
    /// Its first address.
    pub start: u64,
    /// The first address behind it.
    pub end: u64,
    /// Where in the file it begins.
    pub offset: u64,
    /// The file.
    pub path: String,
    /// Its device (major and minor number) and inode: zeros of memory without a file.
    pub inode: (u32, u32, u64),
}

/// Running events and their rings.
#[derive(Debug)]
pub struct Sampler {
    events: Vec<OwnedFd>,
    rings: Vec<Ring>,
    sees_kernel: bool,
    counts_cycles: bool,
    sample_type: u64,
}

impl Sampler {
    /// Opens events that are not enabled yet. Several of them share rings, so all or none must be tracepoints.
    ///
    /// # Errors
    /// [`Unavailable`]: the kernel has no perf events, forbids them, or allows fewer descriptors than it takes.
    pub fn open(events: &[Event], scope: Scope<'_>, cpus: &[usize]) -> Result<Sampler, Unavailable> {
        // Cycles before the timer, and stacks of the kernel as well where they are allowed. Other events are the kernel's own.
        let choices: &[(bool, bool)] = match events {
            [Event::Cpu { .. }] => &[(true, true), (true, false), (false, true), (false, false)],
            _ => &[(true, false)],
        };
        let mut refused = None;
        for &(sees_kernel, counts_cycles) in choices {
            for ring in RINGS {
                match Sampler::with(events, scope, cpus, sees_kernel, counts_cycles, ring) {
                    Ok(sampler) => return Ok(sampler),
                    Err(error) => refused = Some(error),
                }
            }
        }
        let error = refused.unwrap_or_else(|| io::Error::from_raw_os_error(libc::ENOENT));
        Err(unavailable(&error))
    }

    fn with(
        events: &[Event],
        scope: Scope<'_>,
        cpus: &[usize],
        sees_kernel: bool,
        counts_cycles: bool,
        (pages, stack_bytes): (usize, u32),
    ) -> io::Result<Sampler> {
        let mut sampler = Sampler {
            events: Vec::new(),
            rings: Vec::new(),
            sees_kernel,
            counts_cycles,
            sample_type: events.iter().fold(0, |all, event| all | event.sample_type()),
        };
        let (threads, inherit) = match scope {
            Scope::Machine => (vec![-1], 0),
            Scope::Threads(threads) => (threads.iter().map(|&tid| tid as i32).collect(), INHERIT),
        };
        for &cpu in cpus {
            let mut ring_of: Option<i32> = None;
            for (&event, &thread) in
                events.iter().flat_map(|event| threads.iter().map(move |tid| (event, tid)))
            {
                let mut attributes = attributes(event, sees_kernel, counts_cycles, stack_bytes);
                attributes.flags |= inherit;
                let opened = match open(&attributes, thread, cpu as i32) {
                    Ok(opened) => opened,
                    // The thread has ended meanwhile.
                    Err(error) if error.raw_os_error() == Some(libc::ESRCH) => continue,
                    Err(error) => return Err(error),
                };
                match ring_of {
                    None => {
                        sampler.rings.push(Ring::of(&opened, pages)?);
                        ring_of = Some(opened.as_raw_fd());
                    }
                    Some(ring) => control(&opened, SET_OUTPUT, ring)?,
                }
                sampler.events.push(opened);
            }
        }
        match sampler.events.is_empty() {
            true => Err(io::Error::from_raw_os_error(libc::ESRCH)),
            false => Ok(sampler),
        }
    }

    /// Whether stacks of the kernel are seen.
    pub fn sees_kernel(&self) -> bool {
        self.sees_kernel
    }

    /// Whether it samples by cycles, and not by the timer.
    pub fn counts_cycles(&self) -> bool {
        self.counts_cycles
    }

    /// Begins to sample.
    ///
    /// # Errors
    /// Those of ioctl(2).
    pub fn start(&self) -> io::Result<()> {
        self.events.iter().try_for_each(|event| control(event, ENABLE, 0))
    }

    /// Ends it. What was recorded can still be read.
    ///
    /// # Errors
    /// Those of ioctl(2).
    pub fn stop(&self) -> io::Result<()> {
        self.events.iter().try_for_each(|event| control(event, DISABLE, 0))
    }

    /// Reads what the rings have, the oldest record first: a process that moves to another CPU has records in two rings.
    pub fn read(&mut self, take: &mut dyn FnMut(Record)) {
        let sample_type = self.sample_type;
        let mut records = Vec::new();
        for ring in &mut self.rings {
            ring.read(&mut |kind, misc, body| {
                if let Some(record) = parse(kind, misc, body, sample_type) {
                    records.push((time_ns(&record, body), record));
                }
            });
        }
        records.sort_by_key(|(time_ns, _)| *time_ns);
        records.into_iter().for_each(|(_, record)| take(record));
    }
}

fn attributes(event: Event, sees_kernel: bool, counts_cycles: bool, stack_bytes: u32) -> Attributes {
    let (kind, config) = match event {
        Event::Cpu { .. } if counts_cycles => (HARDWARE, CPU_CYCLES),
        Event::Cpu { .. } => (SOFTWARE, CPU_CLOCK),
        Event::Switches => (SOFTWARE, CONTEXT_SWITCHES),
        Event::Tracepoint(id) => (TRACEPOINT, id),
    };
    let (period_or_frequency, how) = match event {
        Event::Cpu { frequency } => (frequency, FREQ),
        Event::Switches => (1, CONTEXT_SWITCH),
        Event::Tracepoint(_) => (1, 0),
    };
    let (user_registers, user_stack) = match event {
        Event::Cpu { .. } => (USER_REGISTERS, stack_bytes),
        Event::Switches => (USER_REGISTERS, stack_bytes.min(SWITCHED_STACK_BYTES)),
        Event::Tracepoint(_) => (0, 0),
    };
    let kernel = if sees_kernel { 0 } else { EXCLUDE_KERNEL };
    Attributes {
        kind,
        size: size_of::<Attributes>() as u32,
        config,
        period_or_frequency,
        sample_type: event.sample_type(),
        flags: DISABLED
            | EXCLUDE_HV
            | MMAP
            | MMAP2
            | COMM
            | TASK
            | SAMPLE_ID_ALL
            | USE_CLOCKID
            | how
            | kernel,
        user_registers,
        user_stack,
        clock: libc::CLOCK_MONOTONIC,
        ..Attributes::default()
    }
}

/// The ring of an event (perf_event_open(2), "MMAP layout"): a page of positions and a power of two of pages of records.
#[derive(Debug)]
struct Ring {
    start: *mut u8,
    bytes: usize,
}

impl Ring {
    fn of(event: &OwnedFd, pages: usize) -> io::Result<Ring> {
        let bytes = (pages + 1) * PAGE;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address that the kernel chooses touches nothing that exists.
        let start = unsafe { mmap(std::ptr::null_mut(), bytes, protection, MapFlags::SHARED, event, 0) }?;
        Ok(Ring { start: start.cast(), bytes })
    }

    fn position(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: both positions lie in the first page of the mapping, aligned, for as long as the ring lives, and the kernel
        // writes them as a whole.
        unsafe { &*self.start.add(offset).cast::<AtomicU64>() }
    }

    fn read(&mut self, take: &mut dyn FnMut(u32, u16, &[u8])) {
        let size = self.bytes - PAGE;
        let head = self.position(DATA_HEAD).load(Ordering::Acquire);
        let mut tail = self.position(DATA_TAIL).load(Ordering::Relaxed);
        let mut record = Vec::new();
        while tail < head {
            // Records have a header of 8 bytes and lengths of a multiple of 8, so the header does not wrap.
            self.copy(tail, 8, &mut record);
            let kind = u32::from_ne_bytes([record[0], record[1], record[2], record[3]]);
            let misc = u16::from_ne_bytes([record[4], record[5]]);
            let length = usize::from(u16::from_ne_bytes([record[6], record[7]]));
            if length < 8 || length > size {
                break;
            }
            self.copy(tail, length, &mut record);
            take(kind, misc, &record[8..]);
            tail += length as u64;
        }
        self.position(DATA_TAIL).store(head, Ordering::Release);
    }

    fn copy(&self, from: u64, length: usize, into: &mut Vec<u8>) {
        into.clear();
        let size = self.bytes - PAGE;
        let at = (from % size as u64) as usize;
        let first = length.min(size - at);
        // SAFETY: both pieces lie within the mapping, behind its first page, and the kernel does not write them again before the
        // tail has passed them.
        unsafe {
            let records = self.start.add(PAGE);
            into.extend_from_slice(std::slice::from_raw_parts(records.add(at), first));
            into.extend_from_slice(std::slice::from_raw_parts(records, length - first));
        }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own, and nothing refers to it any more.
        let _ = unsafe { munmap(self.start.cast(), self.bytes) };
    }
}

/// Reads numbers from the body of a record.
struct Body<'a>(&'a [u8]);

impl<'a> Body<'a> {
    fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        Some(u32::from_ne_bytes(self.bytes(4)?.try_into().ok()?))
    }

    fn u64(&mut self) -> Option<u64> {
        Some(u64::from_ne_bytes(self.bytes(8)?.try_into().ok()?))
    }
}

/// When a record was made. All but samples end with it (SAMPLE_ID_ALL).
fn time_ns(record: &Record, body: &[u8]) -> u64 {
    match record {
        Record::Sample(sample) => sample.time_ns,
        _ => body.last_chunk().map_or(0, |bytes| u64::from_ne_bytes(*bytes)),
    }
}

/// Addresses in the kernel and in the program, the innermost first.
fn chain(body: &mut Body<'_>) -> Option<(Vec<u64>, Vec<u64>)> {
    let (mut kernel, mut user) = (Vec::new(), Vec::new());
    let depth = body.u64()?;
    let mut part = None;
    for _ in 0..depth {
        match body.u64()? {
            CONTEXT_KERNEL => part = Some(true),
            CONTEXT_USER => part = Some(false),
            marker if marker >= CONTEXT_MIN => part = None,
            address => match part {
                Some(true) => kernel.push(address),
                Some(false) => user.push(address),
                None => {}
            },
        }
    }
    Some((kernel, user))
}

/// A record of interest, from its body.
fn parse(kind: u32, misc: u16, body: &[u8], sample_type: u64) -> Option<Record> {
    let mut body = Body(body);
    match kind {
        RECORD_SAMPLE => {
            let (pid, tid, time_ns, period) = (body.u32()?, body.u32()?, body.u64()?, body.u64()?);
            let mut sample = Sample { pid, tid, time_ns, period, ..Sample::default() };
            if sample_type & SAMPLE_CALLCHAIN != 0 {
                (sample.kernel, sample.user) = chain(&mut body)?;
            }
            if sample_type & SAMPLE_RAW != 0 {
                let length = body.u32()? as usize;
                sample.fields = body.bytes(length)?.to_vec();
            }
            if sample_type & SAMPLE_REGS_USER != 0 {
                sample.registers = registers(&mut body)?;
            }
            if sample_type & SAMPLE_STACK_USER != 0 {
                let stack = stack(&mut body)?;
                sample.stack = if sample.registers.is_some() { stack.to_vec() } else { Vec::new() };
            }
            Some(Record::Sample(sample))
        }
        RECORD_COMM if misc & BY_EXEC != 0 => Some(Record::Executed { pid: body.u32()? }),
        RECORD_FORK => Some(Record::Fork { pid: body.u32()?, parent: body.u32()? }),
        RECORD_SWITCH | RECORD_SWITCH_CPU_WIDE => {
            if kind == RECORD_SWITCH_CPU_WIDE {
                // The other thread.
                body.u64()?;
            }
            let (pid, tid, time_ns) = (body.u32()?, body.u32()?, body.u64()?);
            let (left, preempted) = (misc & OUT != 0, misc & PREEMPTED != 0);
            Some(Record::Switched(Switched { pid, tid, time_ns, left, preempted }))
        }
        RECORD_LOST => {
            body.u64()?;
            Some(Record::Lost(body.u64()?))
        }
        RECORD_MMAP2 => {
            let pid = body.u32()?;
            body.u32()?;
            let (start, length, offset) = (body.u64()?, body.u64()?, body.u64()?);
            let inode = (body.u32()?, body.u32()?, body.u64()?);
            // The generation of the inode, protection and flags.
            body.bytes(16)?;
            let name = body.0.split(|&byte| byte == 0).next()?;
            let path = String::from_utf8_lossy(name).into_owned();
            Some(Record::Mapped(Mapped {
                pid,
                start,
                end: start.saturating_add(length),
                offset,
                path,
                inode,
            }))
        }
        _ => None,
    }
}

/// The registers of a sample. A thread of the kernel has none.
fn registers(body: &mut Body<'_>) -> Option<Option<Registers>> {
    let abi = body.u64()?;
    if abi == 0 {
        return Some(None);
    }
    let fp = body.u64()?;
    let lr = if cfg!(target_arch = "aarch64") { body.u64()? } else { 0 };
    let (sp, pc) = (body.u64()?, body.u64()?);
    Some((abi == ABI_64).then_some(Registers { pc, sp, fp, lr }))
}

/// The part of a sample's stack that could be read.
fn stack<'a>(body: &mut Body<'a>) -> Option<&'a [u8]> {
    let size = usize::try_from(body.u64()?).ok()?;
    let stack = body.bytes(size)?;
    // Without a stack there is no word that says how much of it was read.
    let read = if size == 0 { 0 } else { usize::try_from(body.u64()?).ok()? };
    stack.get(..read)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn burn(until_samples: &mut dyn FnMut() -> bool) -> u64 {
        let mut sum = 0u64;
        while !until_samples() {
            for i in 0..100_000u64 {
                sum = std::hint::black_box(sum.wrapping_mul(31).wrapping_add(i));
            }
        }
        sum
    }

    #[test]
    fn a_thread_that_works_is_sampled_with_its_stack() {
        let tid = rustix::thread::gettid().as_raw_nonzero().get() as u32;
        let cpus = crate::affinity::allowed().unwrap();
        let mut sampler = match Sampler::open(&[Event::Cpu { frequency: 999 }], Scope::Threads(&[tid]), &cpus)
        {
            Ok(sampler) => sampler,
            // Not allowed to this user, or not there in this kernel: it is said which, with what to do.
            Err(unavailable) => return assert!(!unavailable.fix.is_empty()),
        };
        sampler.start().unwrap();
        let mut samples = Vec::new();
        burn(&mut || {
            sampler.read(&mut |record| {
                if let Record::Sample(sample) = record {
                    samples.push(sample);
                }
            });
            samples.len() >= 20
        });
        sampler.stop().unwrap();
        assert!(samples.iter().all(|s| s.pid == std::process::id() && s.tid == tid && s.period > 0));
        assert!(samples.iter().any(|s| !s.user.is_empty()));
        assert!(samples.windows(2).any(|two| two[1].time_ns > two[0].time_ns));
        sampler.read(&mut |_| ());
        let mut after = 0;
        sampler.read(&mut |_| after += 1);
        assert_eq!(after, 0, "a record is read once");
    }

    #[test]
    fn records_are_read_and_what_is_cut_off_is_none() {
        let words = |words: &[u64]| words.iter().flat_map(|word| word.to_ne_bytes()).collect::<Vec<u8>>();
        let ids = (8u64 << 32) | 7;
        let body = words(&[
            ids,
            100,
            250_000,
            6,
            CONTEXT_KERNEL,
            0xffff_ffff_8100_0000,
            CONTEXT_USER,
            0x40,
            0x50,
            0,
        ]);
        let Some(Record::Sample(sample)) = parse(RECORD_SAMPLE, 0, &body, SAMPLE_CALLCHAIN) else { panic!() };
        assert_eq!((sample.pid, sample.tid, sample.time_ns, sample.period), (7, 8, 100, 250_000));
        assert_eq!((sample.kernel, sample.user), (vec![0xffff_ffff_8100_0000], vec![0x40, 0x50, 0]));
        for cut in 0..body.len() {
            assert_eq!(parse(RECORD_SAMPLE, 0, &body[..cut], SAMPLE_CALLCHAIN), None);
        }
        let mut mapped = words(&[ids, 0x1000, 0x2000, 0x3000, (1 << 32) | 254, 1234, 0, 0]);
        mapped.extend(b"/bin/true\0\0\0");
        let Some(Record::Mapped(mapped)) = parse(RECORD_MMAP2, 0, &mapped, 0) else { panic!() };
        assert_eq!(
            (mapped.start, mapped.end, mapped.offset, &mapped.path[..], mapped.inode),
            (0x1000, 0x3000, 0x3000, "/bin/true", (254, 1, 1234))
        );
        let named = words(&[ids, 0]);
        assert_eq!(parse(RECORD_COMM, BY_EXEC, &named, 0), Some(Record::Executed { pid: 7 }));
        assert_eq!(parse(RECORD_COMM, 0, &named, 0), None);
        assert_eq!(parse(RECORD_LOST, 0, &words(&[1, 5]), 0), Some(Record::Lost(5)));
        assert_eq!(parse(RECORD_FORK, 0, &words(&[ids, 0]), 0), Some(Record::Fork { pid: 7, parent: 8 }));
    }

    #[test]
    fn registers_and_stack_are_read_and_what_is_cut_off_is_none() {
        let words = |words: &[u64]| words.iter().flat_map(|word| word.to_ne_bytes()).collect::<Vec<u8>>();
        let sample_type = SAMPLE_CALLCHAIN | SAMPLE_REGS_USER | SAMPLE_STACK_USER;
        let sample = |body: &[u8]| match parse(RECORD_SAMPLE, 0, body, sample_type) {
            Some(Record::Sample(sample)) => Some(sample),
            _ => None,
        };
        let before = words(&[(8u64 << 32) | 7, 100, 250_000, 2, CONTEXT_USER, 0x40]);
        let registers = match cfg!(target_arch = "aarch64") {
            true => Registers { pc: 0x40, sp: 0x7000, fp: 0x7100, lr: 0x50 },
            false => Registers { pc: 0x40, sp: 0x7000, fp: 0x7100, lr: 0 },
        };
        let numbers = match cfg!(target_arch = "aarch64") {
            true => words(&[registers.fp, registers.lr, registers.sp, registers.pc]),
            false => words(&[registers.fp, registers.sp, registers.pc]),
        };
        // Of a copy of 32 bytes 16 could be read.
        let stack = words(&[32, 1, 2, 3, 4, 16]);
        let whole = [&before[..], &words(&[ABI_64]), &numbers, &stack].concat();
        let read = sample(&whole).unwrap();
        assert_eq!((read.registers, &read.stack), (Some(registers), &words(&[1, 2])));
        assert_eq!(read.user, vec![0x40]);
        for cut in 0..whole.len() {
            assert_eq!(sample(&whole[..cut]), None, "{cut}");
        }
        let bits_32 = sample(&[&before[..], &words(&[1]), &numbers, &stack].concat()).unwrap();
        assert_eq!((bits_32.registers, bits_32.stack.len()), (None, 0));
        let kernel = sample(&[&before[..], &words(&[0, 0])].concat()).unwrap();
        assert_eq!((kernel.registers, kernel.stack.len()), (None, 0));
        let more_than_copied = words(&[8, 1, 16]);
        assert_eq!(sample(&[&before[..], &words(&[ABI_64]), &numbers, &more_than_copied].concat()), None);
    }
}
