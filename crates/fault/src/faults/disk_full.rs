//! Fills the disk.

use std::fs::{File, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use pitot_host::journal;
use rustix::fs::{CWD, FallocateFlags, Mode, OFlags, fallocate, openat, statvfs};
use rustix::io::{Errno, pwrite};

use crate::entry::{Aim, Begun, Fault, Means};
use crate::options::Options;
use crate::undo::{Note, Undo};

pub(super) static FAULT: Fault = Fault {
    name: "disk-full",
    summary: "Fill the file system of the server's private directory.",
    doc: "Writes fail with ENOSPC. Only a small, separate file system is filled: not that of /, /var, /home or /tmp, and none with \
          more than 5 GiB free, so let the plan create one for its servers (`host.filesystem = [\"ext4\"]`, as root). An unnamed \
          file takes the space (fallocate(2), O_TMPFILE), including space that is freed meanwhile. It disappears when the \
          program or the machine ends in any way.",
    aim: Aim::Directory,
    takes: &[],
    lasts_s: 1.0,
    is_moment: false,
    may_end_server: true,
    can_silence: true,
    speaks_http: false,
    probe: || Ok(()),
    means: Means::Program {
        begin,
        undo: |path| match std::fs::remove_file(path) {
            Ok(()) => Ok(true),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(false),
            Err(e) => Err(format!("{path} cannot be removed: {e}")),
        },
    },
};

/// Maximum free space of a file system that may be filled.
const FREE_BYTES_MAX: u64 = 5 << 30;
/// Directories whose file systems are never filled.
const OF_OTHERS: [&str; 11] =
    ["/", "/tmp", "/var", "/var/lib", "/var/log", "/var/tmp", "/home", "/root", "/usr", "/run", "/dev/shm"];
/// The name of the file on file systems without unnamed files.
const NAME: &str = ".pitot-disk-full";
/// Sizes of reservations, from the largest to the smallest.
const PARTS: [u64; 4] = [256 << 20, 16 << 20, 1 << 20, 4096];
/// Maximum and minimum size of a write.
const PIECE_MAX: usize = 64 << 10;
const PIECE_MIN: usize = 4096;
/// Interval of checks for freed space.
const FILL_INTERVAL: Duration = Duration::from_millis(20);

fn begin(options: &Options, undo: &mut Undo) -> Result<Begun, String> {
    let dir = options.dir.as_deref().ok_or("the directory is unknown")?;
    let free = check(dir)?;
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    let file = match openat(CWD, dir, flags, Mode::RUSR | Mode::WUSR) {
        Ok(file) => File::from(file),
        Err(_) => named(&dir.join(NAME), undo)?,
    };
    let mut filled = 0;
    fill(&file, &mut filled).map_err(|e| match e {
        Errno::OPNOTSUPP => format!(
            "the file system of {} does not support fallocate(2); ext4, xfs, btrfs and tmpfs do",
            dir.display()
        ),
        e => format!("{} cannot be filled: {e}", dir.display()),
    })?;
    let what = format!("{filled} of {free} free bytes on the file system of {} are used up", dir.display());
    Ok(Begun { what, held: Some(Box::new(Filler::start(file, filled))) })
}

/// A named file that has to be removed.
fn named(path: &Path, undo: &mut Undo) -> Result<File, String> {
    let text = path.to_str().filter(|text| !text.contains('\n'));
    let text = text.ok_or_else(|| format!("the path {} cannot be recorded", path.display()))?;
    undo.note(vec![Note { outlasts_boot: true, ..Note::new(format!("file {text}"), text.to_owned()) }])?;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    options.open(path).map_err(|e| format!("{} cannot be created: {e}", path.display()))
}

/// Takes freed space, such as that of replaced files, until this is dropped.
struct Filler {
    stop: Sender<()>,
    thread: Option<JoinHandle<()>>,
}

impl Filler {
    fn start(file: File, mut filled: u64) -> Filler {
        let (stop, stopped) = channel();
        let thread = std::thread::spawn(move || {
            while stopped.recv_timeout(FILL_INTERVAL) == Err(RecvTimeoutError::Timeout) {
                let _ = fill(&file, &mut filled);
            }
        });
        Filler { stop, thread: Some(thread) }
    }
}

impl Drop for Filler {
    fn drop(&mut self) {
        let _ = self.stop.send(());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Checks that this fault may fill the file system of a directory. The error is a sentence.
///
/// # Errors
/// If other programs need it, or it is too large.
pub fn can_be_filled(dir: &Path) -> Result<(), String> {
    check(dir).map(drop)
}

/// The free space, if the file system may be filled.
fn check(dir: &Path) -> Result<u64, String> {
    let device = |path: &Path| std::fs::metadata(path).map(|data| data.dev());
    let own = device(dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    let journal = journal::place();
    let others = OF_OTHERS.iter().map(Path::new).chain(journal.parent());
    if let Some(other) = others.into_iter().find(|other| device(other).is_ok_and(|other| other == own)) {
        return Err(format!(
            "{} is on the file system of {}, which other programs need; let the plan create one: host.filesystem = [\"ext4\"]",
            dir.display(),
            other.display()
        ));
    }
    let system = statvfs(dir).map_err(|e| e.to_string())?;
    let free = system.f_bfree * system.f_frsize;
    if free > FREE_BYTES_MAX {
        return Err(format!(
            "the file system of {} has {free} bytes free, too many for a test file system",
            dir.display()
        ));
    }
    Ok(free)
}

/// Reserves all free space after the first `filled` bytes of a file, and updates `filled`. The rest, which cannot be
/// reserved, is written.
fn fill(file: &File, filled: &mut u64) -> Result<(), Errno> {
    for part in PARTS {
        take(filled, |at| fallocate(file, FallocateFlags::empty(), at, part).map(|()| part))?;
    }
    let zeros = vec![0; PIECE_MAX];
    for piece in [&zeros[..], &zeros[..PIECE_MIN]] {
        take(filled, |at| pwrite(file, piece, at).map(|written| written as u64))?;
    }
    Ok(())
}

/// Takes space again and again until there is none.
fn take(filled: &mut u64, some: impl Fn(u64) -> Result<u64, Errno>) -> Result<(), Errno> {
    loop {
        match some(*filled) {
            Ok(taken) => *filled += taken,
            Err(Errno::NOSPC) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(e) => return Err(e),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_system_that_others_need_is_never_filled() {
        assert!(check(Path::new("/")).unwrap_err().contains("other programs need"));
        assert!(check(&std::env::temp_dir()).is_err());
    }
}
