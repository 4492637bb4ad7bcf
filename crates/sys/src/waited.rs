//! The end of a child, with what it has used (wait4(2)).

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

use crate::usage::{Usage, of_rusage};

/// How a child ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// By itself, with this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// It was killed, since it took too long.
    TimedOut,
}

/// A child that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waited {
    /// How.
    pub ending: Ending,
    /// What it used in its whole life, with the children that it waited for.
    pub used: Usage,
}

/// Waits for a child that leads a process group of its own. The group is killed if the child takes longer than `time`; zero is without
/// limit.
///
/// # Errors
/// If it is no child of this process, or was waited for already.
pub fn wait_at_most(child: u32, time: Duration) -> io::Result<Waited> {
    let no_child = || io::Error::from_raw_os_error(libc::ECHILD);
    let pid = i32::try_from(child).ok().and_then(Pid::from_raw).ok_or_else(no_child)?;
    let is_late = !time.is_zero() && !ends_within(&pidfd_open(pid, PidfdFlags::empty())?, time)?;
    if is_late {
        // A group whose last process has just ended is gone.
        let _ = kill_process_group(pid, Signal::KILL);
    }
    let mut status = 0;
    let mut used = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    loop {
        // SAFETY: both pointers are to local variables of the types that the call fills.
        let ended = unsafe { libc::wait4(pid.as_raw_nonzero().get(), &raw mut status, 0, used.as_mut_ptr()) };
        if ended >= 0 {
            break;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    // SAFETY: all fields are integers, so that zeroes are valid, and the kernel has filled them.
    let used = of_rusage(&unsafe { used.assume_init() });
    let ending = match (is_late, libc::WIFSIGNALED(status)) {
        (true, true) => Ending::TimedOut,
        (_, true) => Ending::Signal(libc::WTERMSIG(status)),
        (_, false) => Ending::Code(libc::WEXITSTATUS(status)),
    };
    Ok(Waited { ending, used })
}

fn ends_within(process: &OwnedFd, time: Duration) -> io::Result<bool> {
    let deadline = std::time::Instant::now() + time;
    loop {
        let left = deadline.saturating_duration_since(std::time::Instant::now());
        let left = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
        match poll(&mut [PollFd::new(process, PollFlags::IN)], Some(&left)) {
            Ok(ready) => return Ok(ready > 0),
            Err(rustix::io::Errno::INTR) => continue,
            Err(e) => return Err(e.into()),
        }
    }
}
