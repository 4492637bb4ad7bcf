//! The private directory of a run, and leftovers of killed runs.
//!
//! A file in the directory is locked (flock(2)) while the lab or its guardian is alive, and names the run's control groups. If it
//! can be locked, lab and guardian were both killed, and the directory is one of the [`Leftovers`]. Names prove nothing, since
//! process ids are reused and anybody can create a directory for temporary files: only directories and files count that belong
//! to this user and that nobody else can write.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use pitot_sys::safe_open::{own_directory, own_file, read_text};
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

use super::groups::own_groups;
use super::marks::end_run;

/// Prefix of the names of directories, before the run's cookie.
const PREFIX: &str = "pitot-";
/// Suffix of a directory until its file is locked.
const UNFINISHED_PREFIX: &str = "new-pitot-";
/// The locked file: the directories of control groups, one on a line.
const OWNER_FILE: &str = ".run";
/// Maximum size of the file that is read.
const OWNER_BYTES_MAX: u64 = 64 << 10;

/// After this time the guardian of a killed lab has finished, and a child that was being started has closed the lock.
const SETTLES_WITHIN: Duration = Duration::from_secs(1);
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// The directory of one run.
#[derive(Debug)]
pub(super) struct PrivateDir {
    path: PathBuf,
    /// Holds the lock. The guardian shares the open file, and so the lock.
    _owner: Option<File>,
}

impl PrivateDir {
    /// Creates the directory of the run with this cookie in `parent`.
    pub(super) fn make(parent: &Path, cookie: &str) -> std::io::Result<PrivateDir> {
        let unfinished = parent.join(format!("{UNFINISHED_PREFIX}{cookie}"));
        let path = parent.join(format!("{PREFIX}{cookie}"));
        // Independent of the umask: others can read, for servers that change their user, but not write.
        DirBuilder::new().mode(0o755).create(&unfinished)?;
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true).mode(0o600);
        let mut owner = options.open(unfinished.join(OWNER_FILE))?;
        for group in own_groups() {
            writeln!(owner, "{}", group.display())?;
        }
        // A file system without locks: others leave the directory alone.
        let is_locked = owner.try_lock().is_ok();
        std::fs::rename(&unfinished, &path)?;
        if !is_locked {
            std::fs::remove_file(path.join(OWNER_FILE))?;
        }
        Ok(PrivateDir { path, _owner: is_locked.then_some(owner) })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

/// Leftovers of runs whose lab and guardian were both killed.
#[derive(Debug)]
pub struct Leftovers(Vec<Leftover>);

/// The leftovers of one run, locked against other processes.
#[derive(Debug)]
struct Leftover {
    path: PathBuf,
    cookie: String,
    owner: File,
}

impl Leftovers {
    /// Finds leftovers in the directory for temporary files.
    pub fn find() -> Leftovers {
        Leftovers::below(&std::env::temp_dir())
    }

    fn below(parent: &Path) -> Leftovers {
        let entries = std::fs::read_dir(parent).into_iter().flatten().flatten();
        Leftovers(entries.filter_map(|entry| Leftover::of(entry.path())).collect())
    }

    /// Kills the remaining processes, which may use what is undone next, and removes their control groups.
    pub fn end_processes(&self) {
        for leftover in &self.0 {
            // Without groups the other marks are enough.
            let groups = read_text(&leftover.owner, OWNER_BYTES_MAX).unwrap_or_default();
            let groups: Vec<PathBuf> = groups.lines().map(PathBuf::from).collect();
            end_run(&leftover.cookie, &[], &groups);
        }
    }

    /// Removes the directories and returns those that are gone. Call it after host changes are undone, since file
    /// systems of a run are mounted in its directory.
    pub fn remove(self) -> Vec<PathBuf> {
        let gone = self.0.into_iter().filter(|leftover| std::fs::remove_dir_all(&leftover.path).is_ok());
        gone.map(|leftover| leftover.path).collect()
    }
}

impl Leftover {
    /// The directory at `path`, if it is that of a run of this user and nobody holds its lock.
    fn of(path: PathBuf) -> Option<Leftover> {
        let cookie = path.file_name()?.to_str()?.strip_prefix(PREFIX)?.to_owned();
        let owner = own_file(own_directory(&path).ok()?, OWNER_FILE, OFlags::RDWR).ok()?;
        let deadline = Instant::now() + SETTLES_WITHIN;
        while owner.try_lock().is_err() {
            if is_alive(&cookie) || Instant::now() >= deadline {
                return None;
            }
            std::thread::sleep(LOOK_AGAIN);
        }
        Some(Leftover { path, cookie, owner })
    }
}

/// Whether the lab's process, whose id the cookie begins with, may exist.
fn is_alive(cookie: &str) -> bool {
    let number = cookie.split('-').next().and_then(|number| number.parse().ok());
    number.and_then(Pid::from_raw).is_none_or(|lab| test_kill_process(lab) != Err(Errno::SRCH))
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    /// The number of a process that has ended, as a lab's: the lock of its directory is waited for, as a child of another test may hold it
    /// that has not executed its program yet.
    fn ended_lab() -> u32 {
        let mut lab = Command::new("true").spawn().unwrap();
        lab.wait().unwrap();
        lab.id()
    }

    #[test]
    fn the_lock_of_a_killed_lab_is_waited_for_that_a_child_still_holds() {
        let parent = tempfile::tempdir().unwrap();
        let dir = PrivateDir::make(parent.path(), &format!("{}-0", ended_lab())).unwrap();
        // As a child that has not executed its program yet has it.
        let held: Stdio = dir._owner.as_ref().unwrap().try_clone().unwrap().into();
        let mut child = Command::new("sleep").arg("0.2").stdin(held).spawn().unwrap();
        let path = dir.path().to_owned();
        drop(dir);
        assert_eq!(Leftovers::below(parent.path()).remove(), [path]);
        child.wait().unwrap();
    }

    #[test]
    fn only_what_no_run_holds_is_left_over() {
        let parent = tempfile::tempdir().unwrap();
        let cookie = format!("{}-0", ended_lab());
        let alive = PrivateDir::make(parent.path(), &cookie).unwrap();
        let dead = PrivateDir::make(parent.path(), &format!("{cookie}-dead")).unwrap();
        std::fs::write(dead.path().join("server.conf"), "x").unwrap();
        let path = dead.path().to_owned();
        // Of another program, or of a run that could not lock.
        let foreign = parent.path().join(format!("{PREFIX}foreign"));
        std::fs::create_dir(&foreign).unwrap();
        drop(dead);
        assert_eq!(Leftovers::below(parent.path()).remove().len(), 1);
        assert!(!path.exists());
        assert!(alive.path().exists() && foreign.exists());
        drop(alive);
        assert_eq!(Leftovers::below(parent.path()).remove().len(), 1);
    }
}
