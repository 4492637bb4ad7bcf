//! An event of perf_event_open(2): its attributes, how it is opened and controlled, and why it is not there.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::Unavailable;

/// PERF_TYPE_* and what is counted: PERF_COUNT_HW_CPU_CYCLES, PERF_COUNT_SW_CPU_CLOCK.
pub(super) const HARDWARE: u32 = 0;
pub(super) const SOFTWARE: u32 = 1;
pub(super) const TRACEPOINT: u32 = 2;
pub(super) const CPU_CYCLES: u64 = 0;
pub(super) const CPU_CLOCK: u64 = 0;
/// PERF_COUNT_SW_CONTEXT_SWITCHES.
pub(super) const CONTEXT_SWITCHES: u64 = 3;

/// Bits of the flags in `perf_event_attr`.
pub(super) const DISABLED: u64 = 1 << 0;
pub(super) const INHERIT: u64 = 1 << 1;
pub(super) const EXCLUDE_KERNEL: u64 = 1 << 5;
pub(super) const EXCLUDE_HV: u64 = 1 << 6;
pub(super) const MMAP: u64 = 1 << 8;
pub(super) const COMM: u64 = 1 << 9;
pub(super) const FREQ: u64 = 1 << 10;
pub(super) const TASK: u64 = 1 << 13;
pub(super) const SAMPLE_ID_ALL: u64 = 1 << 18;
pub(super) const MMAP2: u64 = 1 << 23;
pub(super) const USE_CLOCKID: u64 = 1 << 25;
pub(super) const CONTEXT_SWITCH: u64 = 1 << 26;

/// PERF_FLAG_FD_CLOEXEC.
pub(super) const CLOEXEC: u64 = 1 << 3;
/// PERF_EVENT_IOC_ENABLE, _DISABLE and _SET_OUTPUT.
pub(super) const ENABLE: libc::Ioctl = 0x2400;
pub(super) const DISABLE: libc::Ioctl = 0x2401;
pub(super) const SET_OUTPUT: libc::Ioctl = 0x2405;

/// `struct perf_event_attr` of linux/perf_event.h, as of version 5 (112 bytes). What a kernel does not know must be zero.
#[repr(C)]
#[derive(Default)]
pub(super) struct Attributes {
    pub(super) kind: u32,
    pub(super) size: u32,
    pub(super) config: u64,
    pub(super) period_or_frequency: u64,
    pub(super) sample_type: u64,
    pub(super) read_format: u64,
    pub(super) flags: u64,
    pub(super) wakeup: u32,
    pub(super) breakpoint: u32,
    pub(super) config1: u64,
    pub(super) config2: u64,
    pub(super) branch_sample_type: u64,
    pub(super) user_registers: u64,
    pub(super) user_stack: u32,
    pub(super) clock: i32,
    pub(super) interrupt_registers: u64,
    pub(super) aux_watermark: u32,
    pub(super) stack_max: u16,
    pub(super) reserved: u16,
}

/// Opens an event of a thread, or -1 for all, on a CPU, or -1 for all.
pub(super) fn open(attributes: &Attributes, thread: i32, cpu: i32) -> io::Result<OwnedFd> {
    // SAFETY: the kernel reads `size` bytes of the attributes, which is what they have, and returns a new descriptor.
    let opened = unsafe { libc::syscall(libc::SYS_perf_event_open, attributes, thread, cpu, -1, CLOEXEC) };
    if opened < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: it was just opened, and nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(opened as i32) })
}

pub(super) fn control(event: &OwnedFd, request: libc::Ioctl, argument: i32) -> io::Result<()> {
    // SAFETY: these requests take a number and touch no memory of the process.
    match unsafe { libc::ioctl(event.as_raw_fd(), request, libc::c_long::from(argument)) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

pub(super) fn unavailable(error: &io::Error) -> Unavailable {
    let (cause, fix) = match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => (
            "kernel.perf_event_paranoid or the container does not allow it to this user".to_owned(),
            "run as root, or: sysctl kernel.perf_event_paranoid=1; in a container: --cap-add PERFMON --security-opt seccomp=unconfined"
                .to_owned(),
        ),
        Some(libc::EMFILE) => {
            ("too few descriptors may be open".to_owned(), "raise the limit: ulimit -n 65536".to_owned())
        }
        // gVisor answers ENODEV.
        Some(libc::ENOSYS | libc::ENODEV) => (
            "this kernel has no perf events".to_owned(),
            "use Linux with CONFIG_PERF_EVENTS, not gVisor".to_owned(),
        ),
        _ => (error.to_string(), "see perf_event_open(2)".to_owned()),
    };
    Unavailable { what: "sampling by perf_event_open".to_owned(), cause, fix }
}
