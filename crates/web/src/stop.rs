//! Interrupts what writes a file, as Ctrl-C does.
//!
//! The server is confined and can signal nobody. A process that was forked before does it, and nothing else: it takes the path of a file and
//! sends SIGINT to the process that holds the lock of this file (flock(2)), if that is a Pitot of the same user.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use pitot_results::Failure;
use pitot_sys::process::{Fork, SingleThreaded};
use rustix::process::{Pid, PidfdFlags, Signal, geteuid, pidfd_open, pidfd_send_signal};

/// The longest path (limits.h, `PATH_MAX`).
const PATH_BYTES_MAX: usize = 4096;
/// It only reads /proc.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The way to the process that interrupts.
#[derive(Debug)]
pub(crate) struct Stopper(Mutex<UnixStream>);

impl Stopper {
    /// Starts it. This process must have one thread. The other one ends with it.
    pub(crate) fn start() -> Result<Stopper, Failure> {
        let failed = |e: io::Error| {
            Failure::run(format!("cannot start a process: {e}"), "raise ulimit -u and ulimit -n")
        };
        let (own, other) = UnixStream::pair().map_err(failed)?;
        let proof =
            SingleThreaded::check().ok_or_else(|| failed(io::Error::other("there are other threads")))?;
        match proof.fork().map_err(failed)? {
            Fork::Child => {
                drop(own);
                serve(other);
                std::process::exit(0);
            }
            Fork::Parent(_) => {
                own.set_read_timeout(Some(TIMEOUT)).map_err(failed)?;
                Ok(Stopper(Mutex::new(own)))
            }
        }
    }

    /// Interrupts what writes a file. False if nothing of this user writes it.
    pub(crate) fn stop(&self, path: &Path) -> bool {
        let mut other = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let path = path.as_os_str().as_bytes();
        let Ok(length) = u16::try_from(path.len()) else { return false };
        let mut done = [0];
        let asked = other.write_all(&[&length.to_le_bytes(), path].concat());
        asked.and_then(|()| other.read_exact(&mut done)).is_ok() && done == [1]
    }
}

/// Answers one path after the other: 1 if something was interrupted.
fn serve(mut other: UnixStream) {
    let mut length = [0; 2];
    while other.read_exact(&mut length).is_ok() {
        let mut path = vec![0; u16::from_le_bytes(length).into()];
        if path.len() > PATH_BYTES_MAX || other.read_exact(&mut path).is_err() {
            return;
        }
        let done = interrupt(Path::new(OsStr::from_bytes(&path)));
        if other.write_all(&[done.into()]).is_err() {
            return;
        }
    }
}

fn interrupt(path: &Path) -> bool {
    let Ok(about) = fs::metadata(path) else { return false };
    let locks = fs::read_to_string("/proc/locks").unwrap_or_default();
    owners(&locks, about.ino()).filter_map(Pid::from_raw).any(|pid| {
        // The descriptor stands for whoever has the number now: it is opened before the process is looked at.
        let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) else { return false };
        is_writer(pid, &about) && pidfd_send_signal(process, Signal::INT).is_ok()
    })
}

/// The processes with a lock of flock(2) for writing on an inode (proc_locks(5)). The number of a device is not compared: that of a lock is
/// the superblock's, from which stat(2) differs on btrfs.
fn owners(locks: &str, inode: u64) -> impl Iterator<Item = i32> {
    locks.lines().filter_map(move |line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, "FLOCK", _, "WRITE", pid, file, ..] = words[..] else { return None };
        let is_its = file.rsplit(':').next()?.parse() == Ok(inode);
        pid.parse().ok().filter(|pid| is_its && *pid > 0)
    })
}

/// Whether a process is a Pitot of this user that has the file open.
fn is_writer(pid: Pid, about: &fs::Metadata) -> bool {
    let proc = format!("/proc/{}", pid.as_raw_nonzero());
    let is_own = fs::metadata(&proc).is_ok_and(|process| process.uid() == geteuid().as_raw());
    let program = fs::read_link(format!("{proc}/exe")).unwrap_or_default();
    let own = std::env::current_exe().unwrap_or_default();
    // One that was replaced by a newer version has ` (deleted)` behind its name.
    let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let is_pitot = program == own || name == "pitot" || name == "pitot (deleted)";
    let files = fs::read_dir(format!("{proc}/fd")).into_iter().flatten().flatten();
    let is_it = |file: fs::Metadata| (file.dev(), file.ino()) == (about.dev(), about.ino());
    is_own && is_pitot && files.filter_map(|file| fs::metadata(file.path()).ok()).any(is_it)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_locks_of_flock_for_writing_on_the_file_count() {
        let locks = "1: FLOCK  ADVISORY  WRITE 101 08:02:77 0 EOF\n\
                     2: FLOCK  ADVISORY  READ 102 08:02:77 0 EOF\n\
                     3: POSIX  ADVISORY  WRITE 103 08:02:77 0 EOF\n\
                     4: -> FLOCK  ADVISORY  WRITE 104 08:02:77 0 EOF\n\
                     5: FLOCK  ADVISORY  WRITE 0 08:02:77 0 EOF\n\
                     6: FLOCK  ADVISORY  WRITE 105 08:02:777 0 EOF\n\
                     7: FLOCK";
        assert_eq!(owners(locks, 77).collect::<Vec<_>>(), [101]);
    }

    #[test]
    fn a_file_is_written_by_the_process_that_has_it_open_and_locked() {
        let dir = tempfile::tempdir().unwrap();
        let (path, other) = (dir.path().join("a.pitot"), dir.path().join("b.pitot"));
        let file = fs::File::create(&path).unwrap();
        file.try_lock().unwrap();
        fs::write(&other, "").unwrap();
        let own = rustix::process::getpid();
        let about = |path: &Path| fs::metadata(path).unwrap();
        let locks = fs::read_to_string("/proc/locks").unwrap();
        assert!(owners(&locks, about(&path).ino()).any(|pid| pid == own.as_raw_nonzero().get()));
        assert!(is_writer(own, &about(&path)) && !is_writer(own, &about(&other)));
        assert!(!is_writer(Pid::INIT, &about(&path)));
        assert!(!interrupt(&other) && !interrupt(&dir.path().join("none")));
    }
}
