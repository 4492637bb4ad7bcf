//! Other programs: started so that they can be watched, and so that none outlives its starter.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use rustix::process::{self, Pid};

use crate::affinity;
use crate::process::exit_now;

/// Makes `command` start its program in its own session (so that a terminal's Ctrl-C does not reach it and its
/// descendants can be recognised by their session), bound to `cpus`, and killed (SIGKILL) when the thread that starts it ends.
///
/// The last holds for the program alone; its own children are its affair. An empty `cpus` leaves the binding alone.
/// Signals that the starter has blocked, to read them from a descriptor, are not blocked in the program, and those that
/// ask it to stop are not ignored, as they are in what a shell starts in the background.
pub fn isolate(command: &mut Command, cpus: &[usize]) {
    let cpus = cpus.to_vec();
    let parent = process::getpid();
    let prepare = move || {
        process::setsid()?;
        let mut none = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: sigemptyset initialises the set, and all calls may be made between fork and exec (signal-safety(7)).
        unsafe {
            libc::sigemptyset(none.as_mut_ptr());
            libc::pthread_sigmask(libc::SIG_SETMASK, none.as_ptr(), std::ptr::null_mut());
            for signal in [libc::SIGINT, libc::SIGQUIT, libc::SIGTERM] {
                libc::signal(signal, libc::SIG_DFL);
            }
        }
        if !cpus.is_empty() {
            affinity::pin(&cpus)?;
        }
        process::set_parent_process_death_signal(Some(process::Signal::KILL))?;
        if process::getppid() != Some(parent) {
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
        Ok(())
    };
    // SAFETY: the closure runs between fork and exec and makes system calls only: it neither allocates nor locks, and
    // the list it reads was made before the fork.
    unsafe { command.pre_exec(prepare) };
}

/// Makes `command` start its program by fork(2) and not by vfork(2), so that until then it has only the memory that this process has
/// written, and no file that this process has mapped: what wait4(2) reports as its peak includes that.
pub fn with_own_memory(command: &mut Command) {
    // SAFETY: the closure does nothing.
    unsafe { command.pre_exec(|| Ok(())) };
}

/// Makes `command` start its program in the control group whose `cgroup.procs` is open for writing as `members`, so that
/// every process it ever starts is a member too (cgroups(7)).
///
/// The program cannot be started if the group refuses it.
pub fn enter_cgroup(command: &mut Command, members: std::fs::File) {
    // SAFETY: the closure runs between fork and exec and makes one system call. A zero stands for the writing process.
    unsafe { command.pre_exec(move || Ok(rustix::io::write(&members, b"0").map(drop)?)) };
}

/// Whether a process of this user can enter the control group whose `cgroup.procs` is open for writing as `members`.
///
/// A list that can be opened may still refuse: among threaded groups, or when the group above belongs to somebody else.
pub fn can_enter_cgroup(members: std::fs::File) -> bool {
    // It is never executed: its process ends once it has tried to enter.
    let mut command = Command::new("/");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let prepare = move || exit_now(i32::from(rustix::io::write(&members, b"0").is_err()));
    // SAFETY: the closure runs between fork and exec and makes two system calls.
    unsafe { command.pre_exec(prepare) };
    command.status().is_ok_and(|status| status.success())
}

/// Makes `command` start its program in its own mount namespace (mount_namespaces(7)), so that what it mounts is gone with it.
///
/// The program cannot be started without CAP_SYS_ADMIN.
pub fn own_mounts(command: &mut Command) {
    // SAFETY: the function may be called between fork and exec.
    unsafe { command.pre_exec(enter_own_mounts) };
}

/// The same for this thread, and for what it starts. It makes two system calls and nothing else.
///
/// # Errors
/// Without CAP_SYS_ADMIN.
pub fn enter_own_mounts() -> io::Result<()> {
    // SAFETY: the strings are literals, and what is not given is null.
    let failed = unsafe {
        libc::unshare(libc::CLONE_NEWNS) < 0
            || libc::mount(
                std::ptr::null(),
                c"/".as_ptr(),
                std::ptr::null(),
                libc::MS_REC | libc::MS_SLAVE,
                std::ptr::null(),
            ) < 0
    };
    if failed { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Makes `command` start its program in its own session, without a terminal and with SIGHUP ignored, so that it goes
/// on when its starter and the terminal of that are gone.
pub fn detach(command: &mut Command) {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let prepare = || {
        process::setsid()?;
        // SAFETY: the call may be made between fork and exec (signal-safety(7)).
        unsafe { libc::signal(libc::SIGHUP, libc::SIG_IGN) };
        Ok(())
    };
    // SAFETY: the closure runs between fork and exec and makes two system calls.
    unsafe { command.pre_exec(prepare) };
}

/// Undoes, in a process forked by [`SingleThreaded::fork`](crate::process::SingleThreaded::fork), its ties to the
/// parent: it is not killed with the parent and has its own session.
///
/// # Errors
/// EPERM if it leads a process group already.
pub fn outlive_parent() -> io::Result<()> {
    process::set_parent_process_death_signal(None)?;
    process::setsid()?;
    Ok(())
}

/// A signal that asks a program to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// SIGTERM.
    Terminate,
    /// SIGINT.
    Interrupt,
    /// SIGQUIT.
    Quit,
    /// SIGKILL.
    Kill,
}

/// Sends a signal to a process. One that has ended already is fine.
pub fn stop(pid: u32, signal: Stop) {
    let signal = match signal {
        Stop::Terminate => process::Signal::TERM,
        Stop::Interrupt => process::Signal::INT,
        Stop::Quit => process::Signal::QUIT,
        Stop::Kill => process::Signal::KILL,
    };
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        let _ = process::kill_process(pid, signal);
    }
}

/// CPU time that a process has used so far, all its threads but not its children, in nanoseconds; `None` if there is
/// no such process. Finer than /proc/PID/stat, which counts in clock ticks.
pub fn cpu_time_ns(pid: u32) -> Option<u64> {
    let pid = libc::pid_t::try_from(pid).ok().filter(|&p| p > 0)?;
    let mut clock: libc::clockid_t = 0;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: both pointers are to local variables of the types that the calls fill.
    let known = unsafe {
        libc::clock_getcpuclockid(pid, &raw mut clock) == 0 && libc::clock_gettime(clock, &raw mut time) == 0
    };
    known.then(|| time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn an_isolated_program_leads_its_own_session_on_its_cpu() {
        let cpu = *affinity::allowed().unwrap().last().unwrap();
        let mut command = Command::new("sh");
        command
            .args(["-c", "cat /proc/self/stat; grep Cpus_allowed_list /proc/self/status"])
            .stdout(Stdio::piped());
        isolate(&mut command, &[cpu]);
        let child = command.spawn().unwrap();
        let id = child.id();
        let text = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
        let session = text.rsplit_once(") ").unwrap().1.split(' ').nth(3).unwrap();
        assert_eq!(session, id.to_string());
        assert_eq!(text.split_whitespace().last().unwrap(), cpu.to_string());
    }

    #[test]
    fn an_isolated_program_dies_with_the_thread_that_started_it() {
        let (mut child, mut output) = std::thread::spawn(|| {
            let mut command = Command::new("sleep");
            command.arg("60").stdout(Stdio::piped());
            isolate(&mut command, &[]);
            let mut child = command.spawn().unwrap();
            let output = child.stdout.take().unwrap();
            (child, output)
        })
        .join()
        .unwrap();
        let mut rest = Vec::new();
        output.read_to_end(&mut rest).unwrap();
        let status = child.wait().unwrap();
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(libc::SIGKILL));
    }

    #[test]
    fn signals_that_the_starter_reads_from_a_descriptor_still_end_the_program() {
        use crate::signal::{Signal, SignalFd};
        let child = std::thread::spawn(|| {
            let _own = SignalFd::new(&[Signal::Terminate]).unwrap();
            let mut command = Command::new("cat");
            command.stdin(Stdio::piped());
            isolate(&mut command, &[]);
            let mut child = command.spawn().unwrap();
            stop(child.id(), Stop::Terminate);
            child.wait().unwrap()
        });
        let status = child.join().unwrap();
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(libc::SIGTERM));
    }

    #[test]
    fn cpu_time_grows_with_work_and_ends_with_the_process() {
        let before = cpu_time_ns(std::process::id()).unwrap();
        let mut x = 1u64;
        for i in 0..1_000_000 {
            x = std::hint::black_box(x.wrapping_mul(i | 1));
        }
        assert!(cpu_time_ns(std::process::id()).unwrap() > before);
        let mut child = Command::new("true").spawn().unwrap();
        let id = child.id();
        child.wait().unwrap();
        assert_eq!(cpu_time_ns(id), None);
        assert_eq!(cpu_time_ns(0), None);
    }
}
