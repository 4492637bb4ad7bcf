//! One run at a time on a machine: an advisory lock by which runs of Pitot know of each other.
//!
//! Two runs at once disturb each other and the figures of both. The lock is flock(2) on a file in the directory for
//! temporary files, so that the kernel releases it however a run ends. Where it cannot be had, nothing is known of others
//! and the run goes on.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// In the directory for temporary files.
const FILE_NAME: &str = "pitot.lock";
/// Time between attempts to take the lock.
const INTERVAL: Duration = Duration::from_millis(100);
/// So much of the file is read: whatever else may stand there.
const READ_BYTES_MAX: u64 = 4096;

/// This run's share of the lock: taken, or noted in the file of the run that has it.
#[derive(Debug)]
pub struct RunLock {
    file: Option<File>,
    /// The run that has the lock.
    other: Option<OtherRun>,
}

/// Another run on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherRun {
    /// Its process.
    pub pid: u32,
    /// Its plan.
    pub plan: String,
}

impl std::fmt::Display for OtherRun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "process {}, `{}`", self.pid, self.plan)
    }
}

impl RunLock {
    /// Takes the lock if it is free. `plan` is told to others.
    pub fn take(plan: &str) -> RunLock {
        take(&path(), plan)
    }

    /// Waits until the lock is free. `waiting` is told once of the run that has it.
    ///
    /// Returns `None` once `stop` is true.
    pub fn wait(plan: &str, stop: &dyn Fn() -> bool, waiting: &mut dyn FnMut(&OtherRun)) -> Option<RunLock> {
        wait(&path(), plan, stop, waiting)
    }

    /// The run that was there first.
    pub fn other(&self) -> Option<&OtherRun> {
        self.other.as_ref()
    }

    /// A sentence for the report, if other runs were under way while this one was: the one that had the lock, or those
    /// that came later and noted it.
    pub fn note(&self) -> Option<String> {
        let others = match (&self.other, &self.file) {
            (Some(other), _) => vec![other.clone()],
            // A file of another user, which cannot be written, still names that user's runs.
            (None, Some(file)) => match &read(file)[..] {
                [own, others @ ..] if own.pid == std::process::id() => others.to_vec(),
                _ => Vec::new(),
            },
            (None, None) => Vec::new(),
        };
        let first = others.first()?;
        let more = match others.len() {
            1 => String::new(),
            n => format!(", and {} more", n - 1),
        };
        Some(format!(
            "Another run of Pitot was under way on this machine at the same time ({first}{more}). They disturb each other: \
             run one after the other, with `pitot run --wait`."
        ))
    }
}

fn path() -> PathBuf {
    std::env::temp_dir().join(FILE_NAME)
}

/// What came of trying to take the lock.
enum Attempt {
    /// This run has it.
    Taken(File),
    /// Another run has it, or is looking whether it is free.
    Busy(File),
    /// It cannot be had.
    Unavailable,
}

fn attempt(path: &Path, plan: &str) -> Attempt {
    let Some(mut file) = open(path) else { return Attempt::Unavailable };
    match file.try_lock() {
        Ok(()) => {
            let _ = file.set_len(0);
            let _ = file.write_all(line_of(plan).as_bytes());
            Attempt::Taken(file)
        }
        Err(TryLockError::WouldBlock) => Attempt::Busy(file),
        Err(TryLockError::Error(_)) => Attempt::Unavailable,
    }
}

/// A line for each run: the one that has the lock, then those that found it taken.
fn line_of(plan: &str) -> String {
    format!("{} {}\n", std::process::id(), plan.replace(['\n', '\r'], " "))
}

fn take(path: &Path, plan: &str) -> RunLock {
    match attempt(path, plan) {
        Attempt::Taken(file) => RunLock { file: Some(file), other: None },
        Attempt::Busy(mut file) => {
            let other = read(&file).into_iter().next();
            let _ = file.write_all(line_of(plan).as_bytes());
            RunLock { file: None, other }
        }
        Attempt::Unavailable => RunLock { file: None, other: None },
    }
}

fn wait(
    path: &Path,
    plan: &str,
    stop: &dyn Fn() -> bool,
    waiting: &mut dyn FnMut(&OtherRun),
) -> Option<RunLock> {
    let mut told = false;
    loop {
        if stop() {
            return None;
        }
        let file = match attempt(path, plan) {
            Attempt::Taken(file) => return Some(RunLock { file: Some(file), other: None }),
            Attempt::Unavailable => return Some(RunLock { file: None, other: None }),
            Attempt::Busy(file) => file,
        };
        // Whoever has taken it just now may not have written who it is.
        if !told && let Some(other) = read(&file).into_iter().next() {
            told = true;
            waiting(&other);
        }
        std::thread::sleep(INTERVAL);
    }
}

/// Opens the file, and makes it if need be. It is shared by all users, and a link is not followed.
fn open(path: &Path) -> Option<File> {
    let no_follow = rustix::fs::OFlags::NOFOLLOW.bits() as i32;
    let existing = || OpenOptions::new().read(true).append(true).custom_flags(no_follow).open(path);
    let new = || {
        let file = OpenOptions::new().read(true).append(true).create_new(true).open(path)?;
        // Whatever the mask of the user who comes first.
        file.set_permissions(std::fs::Permissions::from_mode(0o666))?;
        Ok::<_, std::io::Error>(file)
    };
    let read_only = || OpenOptions::new().read(true).custom_flags(no_follow).open(path);
    existing().or_else(|_| new()).or_else(|_| existing()).or_else(|_| read_only()).ok()
}

/// The runs that the file names, the one that has the lock first.
fn read(mut file: &File) -> Vec<OtherRun> {
    let mut text = String::new();
    let _ = file.rewind();
    let _ = file.take(READ_BYTES_MAX).read_to_string(&mut text);
    let run = |line: &str| {
        let (pid, plan) = line.split_once(' ')?;
        Some(OtherRun { pid: pid.parse().ok()?, plan: plan.to_owned() })
    };
    text.lines().filter_map(run).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bed() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(FILE_NAME);
        (dir, path)
    }

    #[test]
    fn a_lock_whose_holder_has_not_said_who_it_is_is_waited_for() {
        let (_dir, path) = bed();
        let holder = open(&path).unwrap();
        holder.lock().unwrap();
        let looks = std::cell::Cell::new(0);
        let stop = || looks.replace(looks.get() + 1) == 2;
        assert!(wait(&path, "second", &stop, &mut |_| panic!("nobody is named")).is_none());
        drop(holder);
        assert!(wait(&path, "second", &|| false, &mut |_| {}).unwrap().file.is_some());
    }

    #[test]
    fn a_second_run_learns_of_the_first_and_the_first_of_the_second() {
        let (_dir, path) = bed();
        let first = take(&path, "quick");
        assert!(first.other().is_none() && first.note().is_none());
        let second = take(&path, "own.toml");
        let other = second.other().unwrap();
        assert_eq!((other.pid, other.plan.as_str()), (std::process::id(), "quick"));
        assert!(second.note().unwrap().contains(&format!("(process {}, `quick`)", std::process::id())));
        let third = take(&path, "third");
        assert!(first.note().unwrap().contains("`own.toml`, and 1 more)"));
        drop((first, second, third));
        let next = take(&path, "next");
        assert!(next.other().is_none() && next.note().is_none(), "what an ended run wrote is gone");
    }

    #[test]
    fn whoever_waits_has_the_lock_when_the_other_run_ends() {
        let (_dir, path) = bed();
        let first = std::cell::RefCell::new(Some(take(&path, "quick")));
        let mut told = Vec::new();
        let lock = wait(&path, "own", &|| false, &mut |other| {
            told.push(other.plan.clone());
            first.take();
        });
        assert!(lock.unwrap().other().is_none());
        assert_eq!(told, ["quick"]);
        let _held = take(&path, "quick");
        assert!(wait(&path, "own", &|| true, &mut |_| {}).is_none(), "the user stops it");
    }

    #[test]
    fn where_the_lock_cannot_be_had_a_run_goes_on() {
        let (dir, path) = bed();
        let lock = take(&dir.path().join("no/such/folder"), "quick");
        assert!(lock.other().is_none() && lock.note().is_none());
        std::fs::write(&path, "neither\nnor\n").unwrap();
        assert!(take(&path, "quick").note().is_none(), "a file of something else is overwritten");
    }
}
