//! Processes: fork(2), the death of parents and children, signals to them.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use rustix::process::{self, Pid, WaitId, WaitIdOptions, WaitOptions};

/// Proof that the process had one thread when it was made. A process with several threads must not fork and go on:
/// the child would hold locks whose owners do not exist in it.
#[derive(Clone, Copy, Debug)]
pub struct SingleThreaded(());

/// How often and at what distance the threads are counted before there are said to be several.
const LOOKS: u32 = 100;
const POLL_INTERVAL: std::time::Duration = std::time::Duration::from_millis(1);

impl SingleThreaded {
    /// Counts the threads of this process. The caller promises to start none while it holds the proof.
    pub fn check() -> Option<SingleThreaded> {
        // A thread that has been joined may be seen for a moment longer.
        for _ in 0..LOOKS {
            let threads = std::fs::read_dir("/proc/self/task").ok()?.count();
            if threads == 1 {
                return Some(SingleThreaded(()));
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        None
    }

    /// Forks. The child dies (SIGKILL) when this thread does.
    ///
    /// # Errors
    /// EAGAIN (RLIMIT_NPROC, pids cgroup), ENOMEM.
    pub fn fork(self) -> io::Result<Fork> {
        let parent = process::getpid();
        // SAFETY: the process has one thread, so no lock is held by a thread that the child lacks, and the child may
        // do whatever the parent may.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                die_with(parent);
                Ok(Fork::Child)
            }
            pid => Ok(Fork::Parent(Child(Pid::from_raw(pid).ok_or(io::ErrorKind::InvalidData)?))),
        }
    }
}

/// Which side of a fork this is.
#[derive(Debug)]
pub enum Fork {
    /// The parent, with its child.
    Parent(Child),
    /// This process is the child.
    Child,
}

/// A child of this process, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Child(Pid);

impl Child {
    fn from_id(id: u32) -> Option<Child> {
        Pid::from_raw(i32::try_from(id).ok()?).map(Child)
    }

    /// Its process number.
    pub fn id(self) -> u32 {
        self.0.as_raw_nonzero().get().unsigned_abs()
    }

    /// Asks it to end (SIGTERM). One that has ended already is fine.
    pub fn terminate(self) {
        let _ = process::kill_process(self.0, process::Signal::TERM);
    }

    /// Ends it (SIGKILL). One that has ended already is fine.
    pub fn kill(self) {
        let _ = process::kill_process(self.0, process::Signal::KILL);
    }
}

/// Makes this process die (SIGKILL) when `parent` does, also if it has died already (prctl(2), PR_SET_PDEATHSIG).
fn die_with(parent: Pid) {
    let _ = process::set_parent_process_death_signal(Some(process::Signal::KILL));
    if process::getppid() != Some(parent) {
        exit_now(1);
    }
}

/// As a forked child does: makes this process die (SIGKILL) when the process that is its parent now does. `parent`
/// is the number that the parent said it has.
pub fn die_with_parent(parent: u32) {
    if let Some(parent) = Child::from_id(parent) {
        die_with(parent.0);
    }
}

/// The number of this process.
pub fn id() -> u32 {
    std::process::id()
}

/// A child that has ended, if there is one, without waiting; it is no zombie any more. `None` if all go on or there
/// is none.
pub fn reap() -> Option<Ended> {
    loop {
        match process::wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) => {
                return Some(Ended {
                    child: Child(pid),
                    exit_code: status.exit_status(),
                    signal: status.terminating_signal(),
                });
            }
            Err(rustix::io::Errno::INTR) => {}
            Ok(None) | Err(_) => return None,
        }
    }
}

/// How a child ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// The child that ended.
    pub child: Child,
    /// Its exit code, if it exited.
    pub exit_code: Option<i32>,
    /// The signal that ended it, if one did.
    pub signal: Option<i32>,
}

impl std::fmt::Display for Ended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.exit_code, self.signal) {
            (Some(code), _) => write!(f, "exit code {code}"),
            (_, Some(signal)) => write!(f, "signal {signal}"),
            _ => f.write_str("an unknown cause"),
        }
    }
}

/// Puts this process into its own group, which its children will be in too.
///
/// # Errors
/// EPERM for the leader of a session.
pub fn lead_group() -> io::Result<()> {
    Ok(process::setpgid(None, None)?)
}

/// Asks every process of this process's group to end (SIGTERM), this one among them.
pub fn terminate_group() {
    let _ = process::kill_current_process_group(process::Signal::TERM);
}

/// Waits until this process has no child any more.
pub fn wait_for_children() {
    while !matches!(process::wait(WaitOptions::empty()), Err(e) if e != rustix::io::Errno::INTR) {}
}

/// Whether this process has a child, be it one that has ended and is not reaped yet.
pub fn has_children() -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    loop {
        match process::waitid(WaitId::All, options) {
            Err(rustix::io::Errno::INTR) => {}
            result => return result.is_ok(),
        }
    }
}

/// From now on the descendants whose parents end become children of this process, before it can see those parents'
/// ends (prctl(2), PR_SET_CHILD_SUBREAPER); it has to reap them.
///
/// # Errors
/// None that a Linux since 3.4 is known to give.
pub fn adopt_orphans() -> io::Result<()> {
    Ok(process::set_child_subreaper(Some(process::getpid()))?)
}

/// Lets programs that this process executes inherit the descriptor.
///
/// # Errors
/// EBADF.
pub fn let_inherit(fd: impl std::os::fd::AsFd) -> io::Result<()> {
    Ok(rustix::io::fcntl_setfd(fd, rustix::io::FdFlags::empty())?)
}

/// From now on a panic in any thread ends this process, with exit code 101, once its message is printed. A process
/// whose threads or children serve together must not go on without one of them.
pub fn end_on_panic() {
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        print(info);
        exit_now(101);
    }));
}

/// Ends this process at once, without running anything of the program: right for a forked child, whose buffers and
/// destructors are its parent's too.
pub fn exit_now(code: i32) -> ! {
    // SAFETY: _exit has no conditions.
    unsafe { libc::_exit(code) }
}

/// Makes a file standard error, for this process and those that it starts from now on. Returns what it was before.
///
/// # Errors
/// EMFILE.
pub fn redirect_stderr(file: impl AsFd) -> io::Result<OwnedFd> {
    let before = io::stderr().as_fd().try_clone_to_owned()?;
    // SAFETY: both are open; the number of standard error belongs to nobody who would close it.
    if unsafe { libc::dup2(file.as_fd().as_raw_fd(), libc::STDERR_FILENO) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(before)
}

/// Whether this process acts as root.
pub fn is_root() -> bool {
    process::geteuid().is_root()
}
