//! The directories of the files.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use pitot_meter::now;
use rustix::fs::{IFlags, ioctl_getflags, ioctl_setflags};

use super::plan::{FilesError, FilesPlan, failed};

/// Directories, which are removed with their contents at the end.
pub(super) struct Scratch<'a> {
    plan: &'a FilesPlan,
    dirs: Vec<PathBuf>,
    made_dir: bool,
}

impl Scratch<'_> {
    pub(super) fn new(plan: &FilesPlan) -> Result<Scratch<'_>, FilesError> {
        let made_dir = match fs::create_dir(&plan.dir) {
            Ok(()) => true,
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => false,
            Err(e) => return Err(failed(&plan.dir)(e)),
        };
        let scratch = Scratch { plan, dirs: Vec::new(), made_dir };
        if fs::read_dir(&plan.dir).map_err(failed(&plan.dir))?.next().is_some() {
            return Err(FilesError::NotEmpty(plan.dir.clone()));
        }
        // A hint that not all file systems support, and that changes only where the directories are placed.
        if made_dir && let Ok(dir) = File::open(&plan.dir) {
            let flags = ioctl_getflags(&dir).unwrap_or(IFlags::empty());
            let _ = ioctl_setflags(&dir, flags | IFlags::TOPDIR);
        }
        Ok(scratch)
    }

    /// Makes the directory for a size. ext4 places it by its name, so the name is a new one each time.
    pub(super) fn add(&mut self, size: u64) -> Result<PathBuf, FilesError> {
        let dir = self.plan.dir.join(format!("{}-{size}-{:x}", self.dirs.len(), now().0));
        fs::create_dir(&dir).map_err(failed(&dir))?;
        self.dirs.push(dir.clone());
        Ok(dir)
    }
}

impl Drop for Scratch<'_> {
    fn drop(&mut self) {
        for dir in &self.dirs {
            let _ = fs::remove_dir_all(dir);
        }
        if self.made_dir {
            let _ = fs::remove_dir(&self.plan.dir);
        }
    }
}

/// The path of a file.
pub(super) fn path(dir: &Path, index: u32) -> PathBuf {
    dir.join(format!("pitot-{index:06}"))
}
