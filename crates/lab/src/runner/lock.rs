//! One run at a time on a machine: an advisory lock.
//!
//! Two runs at once disturb each other. The lock is flock(2) on a file, so that the kernel releases it however a run ends. Each user
//! has a lock in a private directory, since anybody could hold a shared one forever; so runs of different users do not see each
//! other. Without a lock the run continues, and the report says so.

use std::fs::{DirBuilder, File, TryLockError};
use std::io::{Seek, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pitot_sys::safe_open::{own_directory, own_file, read_text};
use rustix::fs::{CWD, OFlags};
use rustix::process::geteuid;

/// The file's name, in [`directory`].
const FILE_NAME: &str = "pitot.run-lock";
/// Interval of attempts to take the lock.
const INTERVAL: Duration = Duration::from_millis(100);
/// Maximum size of the file that is read.
const READ_BYTES_MAX: u64 = 1 << 20;

/// This run's lock, or its entry in the file of the run that has the lock.
#[derive(Debug)]
pub struct RunLock {
    file: Option<File>,
    /// The run that has the lock.
    other: Option<OtherRun>,
    /// The lock is not available.
    is_unavailable: bool,
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
    fn with(file: Option<File>, other: Option<OtherRun>) -> RunLock {
        RunLock { file, other, is_unavailable: false }
    }

    /// Takes the lock if it is free. Other runs see `plan`.
    pub fn take(plan: &str) -> RunLock {
        take(path().as_deref(), plan)
    }

    /// Waits until the lock is free. `waiting` is called once with the run that has it.
    ///
    /// Returns `None` once `stop` is true.
    pub fn wait(plan: &str, stop: &dyn Fn() -> bool, waiting: &mut dyn FnMut(&OtherRun)) -> Option<RunLock> {
        wait(path().as_deref(), plan, stop, waiting)
    }

    /// The run that has the lock.
    pub fn other(&self) -> Option<&OtherRun> {
        self.other.as_ref()
    }

    /// A sentence for the report, if other runs were running at the same time, or if that is unknown.
    pub fn note(&self) -> Option<String> {
        if self.is_unavailable {
            return Some(
                "Another run of Pitot may have been running at the same time: there is no place for a lock file that \
                 nobody else can write. Set TMPDIR to a directory of your own."
                    .to_owned(),
            );
        }
        let others = match (&self.other, &self.file) {
            (Some(other), _) => vec![other.clone()],
            // If it could not be written, it still names earlier runs.
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
            "Another run of Pitot was running on this machine at the same time ({first}{more}). They disturb each other: \
             run one after the other, with `pitot run --wait`."
        ))
    }
}

fn path() -> Option<PathBuf> {
    directory().map(|directory| directory.join(FILE_NAME))
}

/// `TMPDIR`, /run (for root) or /run/user/UID, if nobody else can write it; else a new directory for the lock.
fn directory() -> Option<PathBuf> {
    let me = geteuid().as_raw();
    let given = std::env::var_os("TMPDIR").map(PathBuf::from);
    let mut places = given.into_iter().chain(["/run".into(), format!("/run/user/{me}").into()]);
    places.find(|place| own_directory(place).is_ok()).or_else(|| {
        let made = std::env::temp_dir().join(format!("pitot-lock-{me}"));
        let _ = DirBuilder::new().mode(0o700).create(&made);
        own_directory(&made).is_ok().then_some(made)
    })
}

/// The result of an attempt to take the lock.
enum Attempt {
    /// This run has it.
    Taken(File),
    /// Another run has it, or is checking it.
    Busy(File),
    /// It is not available.
    Unavailable,
}

fn attempt(path: Option<&Path>, plan: &str) -> Attempt {
    let Some(mut file) = path.and_then(open) else { return Attempt::Unavailable };
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

/// The file has a line for each run: the one with the lock, then those that found it taken.
fn line_of(plan: &str) -> String {
    format!("{} {}\n", std::process::id(), plan.replace(char::is_control, " "))
}

fn take(path: Option<&Path>, plan: &str) -> RunLock {
    match attempt(path, plan) {
        Attempt::Taken(file) => RunLock::with(Some(file), None),
        Attempt::Busy(mut file) => {
            let other = read(&file).into_iter().next();
            let _ = file.write_all(line_of(plan).as_bytes());
            RunLock::with(None, other)
        }
        Attempt::Unavailable => RunLock { is_unavailable: true, ..RunLock::with(None, None) },
    }
}

fn wait(
    path: Option<&Path>,
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
            Attempt::Taken(file) => return Some(RunLock::with(Some(file), None)),
            Attempt::Unavailable => {
                return Some(RunLock { is_unavailable: true, ..RunLock::with(None, None) });
            }
            Attempt::Busy(file) => file,
        };
        // A run that has just taken it may not have written its line yet.
        if !told && let Some(other) = read(&file).into_iter().next() {
            told = true;
            waiting(&other);
        }
        std::thread::sleep(INTERVAL);
    }
}

/// Opens or creates the file.
fn open(path: &Path) -> Option<File> {
    own_file(CWD, path, OFlags::RDWR | OFlags::APPEND | OFlags::CREATE).ok()
}

/// The runs that the file names, the one that has the lock first.
fn read(mut file: &File) -> Vec<OtherRun> {
    let _ = file.rewind();
    let text = read_text(file, READ_BYTES_MAX).unwrap_or_default();
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
        assert!(wait(Some(&path), "second", &stop, &mut |_| panic!("nobody is named")).is_none());
        drop(holder);
        assert!(wait(Some(&path), "second", &|| false, &mut |_| {}).unwrap().file.is_some());
    }

    #[test]
    fn a_second_run_learns_of_the_first_and_the_first_of_the_second() {
        let (_dir, path) = bed();
        let first = take(Some(&path), "quick");
        assert!(first.other().is_none() && first.note().is_none());
        let second = take(Some(&path), "own.toml");
        let other = second.other().unwrap();
        assert_eq!((other.pid, other.plan.as_str()), (std::process::id(), "quick"));
        assert!(second.note().unwrap().contains(&format!("(process {}, `quick`)", std::process::id())));
        let third = take(Some(&path), "third");
        assert!(first.note().unwrap().contains("`own.toml`, and 1 more)"));
        drop((first, second, third));
        // A child of another test that has not executed its program yet may hold the file for a moment.
        let next = wait(Some(&path), "next", &|| false, &mut |_| {}).unwrap();
        assert!(next.other().is_none() && next.note().is_none(), "what an ended run wrote is gone");
    }

    #[test]
    fn whoever_waits_has_the_lock_when_the_other_run_ends() {
        let (_dir, path) = bed();
        let first = std::cell::RefCell::new(Some(take(Some(&path), "quick")));
        let mut told = Vec::new();
        let lock = wait(Some(&path), "own", &|| false, &mut |other| {
            told.push(other.plan.clone());
            first.take();
        });
        assert!(lock.unwrap().other().is_none());
        assert_eq!(told, ["quick"]);
        let _held = take(Some(&path), "quick");
        assert!(wait(Some(&path), "own", &|| true, &mut |_| {}).is_none(), "the user stops it");
    }

    #[test]
    fn where_the_lock_cannot_be_had_a_run_goes_on() {
        let (dir, path) = bed();
        for path in [None, Some(dir.path().join("no/such/folder"))] {
            let lock = take(path.as_deref(), "quick");
            assert!(lock.other().is_none() && lock.note().unwrap().contains("may have been running"));
        }
        std::fs::write(&path, "neither\nnor\n").unwrap();
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o666)).unwrap();
        assert!(take(Some(&path), "quick").file.is_none(), "anybody can have written that");
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
        assert!(take(Some(&path), "quick").note().is_none(), "a file of something else is overwritten");
    }
}
