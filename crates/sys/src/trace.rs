//! Runs a program under a tracer that sees each of its system calls that touch files, before and after it is made.
//!
//! The tracer can let such a call fail, shorten a write, or end the program there. It is ptrace(2); a filter (seccomp(2)) lets
//! all other calls pass at full speed. The kernel needs to be 5.3 or newer (PTRACE_GET_SYSCALL_INFO).

use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use rustix::process::{Pid, Signal, kill_process};

/// An open file of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handle {
    /// Its number in the program.
    pub descriptor: i32,
    /// Where it is now. What is no file has a name that does not begin with a slash.
    pub path: PathBuf,
    /// Its number in its file system.
    pub inode: u64,
}

/// A system call. Paths are absolute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    /// open(2), openat(2), openat2(2).
    Open {
        /// What is opened.
        path: PathBuf,
        /// With O_CREAT.
        creates: bool,
        /// With O_TRUNC.
        truncates: bool,
    },
    /// write(2), pwrite64(2), writev(2).
    Write {
        /// To where.
        file: Handle,
        /// Where in the file.
        at: u64,
        /// What.
        bytes: Vec<u8>,
    },
    /// ftruncate(2).
    Truncate {
        /// Which file.
        file: Handle,
        /// Its size then.
        length: u64,
    },
    /// fallocate(2) without flags: the file is so long at least.
    Allocate {
        /// Which file.
        file: Handle,
        /// Its size then, unless it is larger.
        length: u64,
    },
    /// fsync(2), fdatasync(2).
    Sync {
        /// Which file or directory.
        file: Handle,
    },
    /// rename(2) and the like.
    Rename {
        /// The old name.
        from: PathBuf,
        /// The new one.
        to: PathBuf,
    },
    /// link(2), linkat(2).
    Link {
        /// The name that is there.
        from: PathBuf,
        /// The new one.
        to: PathBuf,
    },
    /// unlink(2), rmdir(2), unlinkat(2).
    Unlink {
        /// The name that goes.
        path: PathBuf,
    },
    /// mkdir(2), mkdirat(2).
    MakeDirectory {
        /// The new directory.
        path: PathBuf,
    },
    /// A call that changes files in a way that has no name here.
    Other(i64),
}

/// Treatment of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallFate {
    /// It is made, or was made.
    Go,
    /// It is not made, and returns this error.
    Fail(i32),
    /// It is a write, of so many bytes only.
    Shorten(u64),
    /// The program is killed (SIGKILL).
    Kill,
}

/// Looks at calls.
pub trait Watch {
    /// A call is about to be made.
    fn begins(&mut self, call: &Call) -> CallFate;

    /// A call has returned this, the negative number of an error or a result; `opened` is what it has opened. One that was
    /// let fail has not been made. [`CallFate::Kill`] ends the program, all else lets it go on.
    fn ended(&mut self, call: &Call, result: i64, opened: Option<&Handle>) -> CallFate;
}

/// Calls that are looked at. Those of [`Call::Other`] are among them, so that nothing is missed.
const NUMBERS: &[i64] = &[
    libc::SYS_open,
    libc::SYS_openat,
    libc::SYS_openat2,
    libc::SYS_write,
    libc::SYS_pwrite64,
    libc::SYS_writev,
    libc::SYS_ftruncate,
    libc::SYS_fallocate,
    libc::SYS_fsync,
    libc::SYS_fdatasync,
    libc::SYS_rename,
    libc::SYS_renameat,
    libc::SYS_renameat2,
    libc::SYS_link,
    libc::SYS_linkat,
    libc::SYS_unlink,
    libc::SYS_unlinkat,
    libc::SYS_rmdir,
    libc::SYS_mkdir,
    libc::SYS_mkdirat,
    libc::SYS_creat,
    libc::SYS_truncate,
    libc::SYS_symlink,
    libc::SYS_symlinkat,
    libc::SYS_pwritev,
    libc::SYS_pwritev2,
    libc::SYS_copy_file_range,
    libc::SYS_sendfile,
    libc::SYS_sync,
    libc::SYS_syncfs,
    libc::SYS_io_uring_setup,
];

/// The places of registers in the kernel's `struct user` (sys/user.h).
const ORIG_RAX: usize = 15 * 8;
const RAX: usize = 10 * 8;
const RDX: usize = 12 * 8;

/// PTRACE_GET_SYSCALL_INFO, which not every C library has.
const GET_SYSCALL_INFO: u16 = 0x420e;
/// A stop at a return from a system call, with PTRACE_O_TRACESYSGOOD.
const RETURN_STOP: i32 = libc::SIGTRAP | 0x80;
/// More is not read of a program's memory at once.
const BYTES_MAX: u64 = 64 << 20;

/// Whether programs can be traced here. Some containers do not allow it.
pub fn is_possible() -> bool {
    struct Seen(bool);
    impl Watch for Seen {
        fn begins(&mut self, _: &Call) -> CallFate {
            CallFate::Go
        }
        fn ended(&mut self, call: &Call, result: i64, _: Option<&Handle>) -> CallFate {
            self.0 |= matches!(call, Call::Write { bytes, .. } if bytes == b"x\n" && result == 2);
            CallFate::Go
        }
    }
    let mut seen = Seen(false);
    let mut command = Command::new("sh");
    command.args(["-c", "echo x"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    trace(&mut command, &mut seen).is_ok_and(|status| status.success()) && seen.0
}

/// Starts a program and watches it until it has ended. It dies with this thread.
///
/// # Errors
/// If it cannot be started or traced.
pub fn trace(command: &mut Command, watch: &mut dyn Watch) -> io::Result<ExitStatus> {
    let mut filter = filter();
    let prepare = move || {
        let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
        // SAFETY: both calls take numbers and a pointer to a filter that lives until they return.
        let refused = unsafe {
            libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) < 0
                || libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0
                || libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) < 0
        };
        if refused { Err(io::Error::last_os_error()) } else { Ok(()) }
    };
    // SAFETY: the closure runs between fork and exec and makes system calls only; the filter was made before.
    unsafe { command.pre_exec(prepare) };
    let child = command.spawn()?;
    let pid = child.id() as libc::pid_t;
    let traced = follow(pid, watch);
    if traced.is_err() {
        kill(pid);
    }
    traced
}

/// A filter that has the tracer asked about each call of [`NUMBERS`].
fn filter() -> Vec<libc::sock_filter> {
    let step = |code: u32, jt: usize, k: u32| libc::sock_filter { code: code as u16, jt: jt as u8, jf: 0, k };
    let mut steps = vec![step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0)];
    for (i, number) in NUMBERS.iter().enumerate() {
        let rest = NUMBERS.len() - i;
        steps.push(step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, rest, *number as u32));
    }
    steps.push(step(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_ALLOW));
    steps.push(step(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_TRACE));
    steps
}

fn follow(pid: libc::pid_t, watch: &mut dyn Watch) -> io::Result<ExitStatus> {
    // The stop after exec.
    let (_, status) = wait(pid)?;
    if !libc::WIFSTOPPED(status) {
        return Ok(ExitStatus::from_raw(status));
    }
    let options = libc::PTRACE_O_EXITKILL
        | libc::PTRACE_O_TRACECLONE
        | libc::PTRACE_O_TRACESECCOMP
        | libc::PTRACE_O_TRACESYSGOOD;
    request(libc::PTRACE_SETOPTIONS, pid, 0, options as usize)?;
    request(libc::PTRACE_CONT, pid, 0, 0)?;
    let mut under_way: HashMap<libc::pid_t, Call> = HashMap::new();
    loop {
        let (thread, status) = wait(-1)?;
        if !libc::WIFSTOPPED(status) {
            match thread == pid {
                true => return Ok(ExitStatus::from_raw(status)),
                false => continue,
            }
        }
        let (signal, event) = (libc::WSTOPSIG(status), status >> 16);
        // A thread that was killed while it stood is gone: that is seen by the next wait.
        let stood = if event == libc::PTRACE_EVENT_SECCOMP {
            begins(pid, thread, watch, &mut under_way)
        } else if signal == RETURN_STOP {
            ended(pid, thread, watch, &mut under_way)
        } else {
            // New threads begin with SIGSTOP.
            let passed_on = if event != 0 || signal == libc::SIGSTOP { 0 } else { signal };
            request(libc::PTRACE_CONT, thread, 0, passed_on as usize)
        };
        match stood {
            Err(e) if e.raw_os_error() == Some(libc::ESRCH) => {}
            stood => stood?,
        }
    }
}

fn begins(
    pid: libc::pid_t,
    thread: libc::pid_t,
    watch: &mut dyn Watch,
    under_way: &mut HashMap<libc::pid_t, Call>,
) -> io::Result<()> {
    let info = info(thread)?;
    let call = Program { thread }.call(info[3] as i64, &info[4..10])?;
    match watch.begins(&call) {
        CallFate::Go => {}
        CallFate::Shorten(bytes) => request(libc::PTRACE_POKEUSER, thread, RDX, bytes as usize)?,
        CallFate::Fail(error) => {
            request(libc::PTRACE_POKEUSER, thread, ORIG_RAX, usize::MAX)?;
            request(libc::PTRACE_POKEUSER, thread, RAX, -error as isize as usize)?;
            if watch.ended(&call, -i64::from(error), None) == CallFate::Kill {
                kill(pid);
            }
            return request(libc::PTRACE_CONT, thread, 0, 0);
        }
        CallFate::Kill => kill(pid),
    }
    under_way.insert(thread, call);
    request(libc::PTRACE_SYSCALL, thread, 0, 0)
}

fn ended(
    pid: libc::pid_t,
    thread: libc::pid_t,
    watch: &mut dyn Watch,
    under_way: &mut HashMap<libc::pid_t, Call>,
) -> io::Result<()> {
    let result = info(thread)?[3] as i64;
    if let Some(call) = under_way.remove(&thread) {
        let opened = match &call {
            Call::Open { .. } if result >= 0 => Some(Program { thread }.handle(result as u64)?),
            _ => None,
        };
        if watch.ended(&call, result, opened.as_ref()) == CallFate::Kill {
            kill(pid);
        }
    }
    request(libc::PTRACE_CONT, thread, 0, 0)
}

fn kill(pid: libc::pid_t) {
    if let Some(pid) = Pid::from_raw(pid) {
        let _ = kill_process(pid, Signal::KILL);
    }
}

fn wait(pid: libc::pid_t) -> io::Result<(libc::pid_t, i32)> {
    loop {
        let mut status = 0;
        // SAFETY: the status is a local variable. Of another thread of this process nothing is waited for.
        match unsafe { libc::waitpid(pid, &raw mut status, libc::__WALL | libc::__WNOTHREAD) } {
            -1 => match io::Error::last_os_error() {
                e if e.kind() == io::ErrorKind::Interrupted => {}
                e => return Err(e),
            },
            thread => return Ok((thread, status)),
        }
    }
}

/// A request whose address and data are numbers. The type of its own number is the C library's choice.
fn request(request: impl Into<i64>, thread: libc::pid_t, address: usize, data: usize) -> io::Result<()> {
    // SAFETY: none of the requests of this file that come here reads or writes memory of this process.
    match unsafe { libc::ptrace(request.into() as _, thread, address, data) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// `struct ptrace_syscall_info` in words: the call's number or its result is in the fourth, its arguments follow.
fn info(thread: libc::pid_t) -> io::Result<[u64; 11]> {
    let mut words = [0u64; 11];
    // SAFETY: the kernel writes at most as many bytes as the call says, which is the size of the array.
    let filled =
        unsafe { libc::ptrace(GET_SYSCALL_INFO.into(), thread, size_of_val(&words), words.as_mut_ptr()) };
    if filled < 0 { Err(io::Error::last_os_error()) } else { Ok(words) }
}

/// The program, as one of its threads sees it.
struct Program {
    thread: libc::pid_t,
}

impl Program {
    fn call(&self, number: i64, arguments: &[u64]) -> io::Result<Call> {
        let [a, b, c, d, ..] = *arguments else { return Err(io::ErrorKind::InvalidData.into()) };
        let here = libc::AT_FDCWD as u64;
        Ok(match number {
            libc::SYS_open => self.open(here, a, b)?,
            libc::SYS_openat => self.open(a, b, c)?,
            libc::SYS_openat2 => self.open(a, b, self.word(c)?)?,
            libc::SYS_write => self.write(a, None, self.bytes(b, c)?)?,
            libc::SYS_pwrite64 => self.write(a, Some(d), self.bytes(b, c)?)?,
            libc::SYS_writev => {
                let mut bytes = Vec::new();
                for i in 0..c {
                    let part = b + i * 16;
                    bytes.extend(self.bytes(self.word(part)?, self.word(part + 8)?)?);
                }
                self.write(a, None, bytes)?
            }
            libc::SYS_ftruncate => Call::Truncate { file: self.handle(a)?, length: b },
            libc::SYS_fallocate if b == 0 => Call::Allocate { file: self.handle(a)?, length: c + d },
            libc::SYS_fsync | libc::SYS_fdatasync => Call::Sync { file: self.handle(a)? },
            libc::SYS_rename => Call::Rename { from: self.path(here, a)?, to: self.path(here, b)? },
            libc::SYS_renameat | libc::SYS_renameat2 => {
                Call::Rename { from: self.path(a, b)?, to: self.path(c, d)? }
            }
            libc::SYS_link => Call::Link { from: self.path(here, a)?, to: self.path(here, b)? },
            libc::SYS_linkat => Call::Link { from: self.path(a, b)?, to: self.path(c, d)? },
            libc::SYS_unlink | libc::SYS_rmdir => Call::Unlink { path: self.path(here, a)? },
            libc::SYS_unlinkat => Call::Unlink { path: self.path(a, b)? },
            libc::SYS_mkdir => Call::MakeDirectory { path: self.path(here, a)? },
            libc::SYS_mkdirat => Call::MakeDirectory { path: self.path(a, b)? },
            other => Call::Other(other),
        })
    }

    fn open(&self, directory: u64, path: u64, flags: u64) -> io::Result<Call> {
        let has = |flag: i32| flags & flag as u64 != 0;
        let (creates, truncates) = (has(libc::O_CREAT), has(libc::O_TRUNC));
        Ok(Call::Open { path: self.path(directory, path)?, creates, truncates })
    }

    fn write(&self, descriptor: u64, at: Option<u64>, bytes: Vec<u8>) -> io::Result<Call> {
        let file = self.handle(descriptor)?;
        let at = match at {
            Some(at) => at,
            None => self.position(descriptor)?,
        };
        Ok(Call::Write { file, at, bytes })
    }

    fn proc(&self, file: &str) -> PathBuf {
        format!("/proc/{}/{file}", self.thread).into()
    }

    /// Where the next write(2) writes.
    fn position(&self, descriptor: u64) -> io::Result<u64> {
        let text = fs::read_to_string(self.proc(&format!("fdinfo/{}", descriptor as i32)))?;
        let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        let flags = field("flags:").and_then(|flags| i32::from_str_radix(flags, 8).ok()).unwrap_or(0);
        if flags & libc::O_APPEND != 0 {
            return Ok(fs::metadata(self.proc(&format!("fd/{}", descriptor as i32)))?.len());
        }
        Ok(field("pos:").and_then(|position| position.parse().ok()).unwrap_or(0))
    }

    fn handle(&self, descriptor: u64) -> io::Result<Handle> {
        let descriptor = descriptor as i32;
        let link = self.proc(&format!("fd/{descriptor}"));
        // One that is not open makes the call fail.
        let path = fs::read_link(&link).unwrap_or_default();
        let inode = fs::metadata(&link).map_or(0, |about| about.ino());
        Ok(Handle { descriptor, path, inode })
    }

    fn path(&self, directory: u64, address: u64) -> io::Result<PathBuf> {
        let mut text = Vec::new();
        while !text.contains(&0) && text.len() < libc::PATH_MAX as usize {
            // Not over the end of a page, behind which there may be none.
            let from = address + text.len() as u64;
            text.extend(self.bytes(from, 4096 - from % 4096)?);
        }
        text.truncate(text.iter().position(|&b| b == 0).unwrap_or(text.len()));
        let path = PathBuf::from(std::ffi::OsString::from_vec(text));
        let base = match directory as i32 {
            _ if path.is_absolute() => PathBuf::new(),
            libc::AT_FDCWD => fs::read_link(self.proc("cwd"))?,
            descriptor => fs::read_link(self.proc(&format!("fd/{descriptor}"))).unwrap_or_default(),
        };
        Ok(plain(&base.join(path)))
    }

    fn word(&self, address: u64) -> io::Result<u64> {
        let bytes = self.bytes(address, 8)?;
        Ok(u64::from_ne_bytes(bytes.try_into().map_err(|_| io::ErrorKind::InvalidData)?))
    }

    fn bytes(&self, address: u64, length: u64) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; length.min(BYTES_MAX) as usize];
        File::open(self.proc("mem"))?.read_exact_at(&mut bytes, address)?;
        Ok(bytes)
    }
}

/// A path without `.` and with `..` taken at its word.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::CurDir => {}
            std::path::Component::ParentDir => drop(plain.pop()),
            part => plain.push(part),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Script {
        at: PathBuf,
        answers: Vec<CallFate>,
        ended: Vec<(Call, i64)>,
    }

    impl Watch for Script {
        fn begins(&mut self, call: &Call) -> CallFate {
            match call {
                Call::Write { file, .. } if file.path == self.at => {
                    self.answers.pop().unwrap_or(CallFate::Go)
                }
                _ => CallFate::Go,
            }
        }

        fn ended(&mut self, call: &Call, result: i64, opened: Option<&Handle>) -> CallFate {
            match call {
                Call::Write { file, .. } if file.path == self.at => self.ended.push((call.clone(), result)),
                Call::Open { path, .. } if *path == self.at => assert_eq!(opened.unwrap().path, self.at),
                _ => {}
            }
            CallFate::Go
        }
    }

    /// What a shell that prints two lines to a file makes of these answers: what is in the file, how the writes ended, and how it did.
    fn printing(answers: &[CallFate]) -> (String, Vec<i64>, ExitStatus) {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().canonicalize().unwrap().join("file");
        let mut watch =
            Script { at: at.clone(), answers: answers.iter().rev().copied().collect(), ended: vec![] };
        let mut command = Command::new("sh");
        command.args(["-c", "exec >./file; echo one; echo two"]);
        command.current_dir(folder.path()).stderr(Stdio::null());
        let status = trace(&mut command, &mut watch).unwrap();
        let results = watch.ended.iter().map(|(_, result)| *result).collect();
        (fs::read_to_string(at).unwrap_or_default(), results, status)
    }

    #[test]
    fn calls_are_seen_and_fail_where_they_shall() {
        if !is_possible() {
            return;
        }
        let (text, results, status) = printing(&[]);
        assert_eq!((&*text, results, status.code()), ("one\ntwo\n", vec![4, 4], Some(0)));
        let (text, results, status) = printing(&[CallFate::Go, CallFate::Fail(libc::ENOSPC)]);
        assert_eq!((&*text, &results[..2]), ("one\n", &[4, i64::from(-libc::ENOSPC)][..]));
        assert_ne!(status.code(), Some(0));
        let (text, results, _) = printing(&[CallFate::Shorten(1), CallFate::Go, CallFate::Go]);
        assert_eq!((&*text, results), ("one\ntwo\n", vec![1, 3, 4]));
        let (text, results, status) = printing(&[CallFate::Go, CallFate::Kill]);
        assert_eq!((&*text, results, status.signal()), ("one\n", vec![4], Some(libc::SIGKILL)));
    }
}
