//! A set of files of one size with known contents, to read from.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::{DiskFile, FileOptions, content};

/// The set to make, or to find.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetPlan {
    /// The directory: missing, empty, or holding just such a set.
    pub dir: PathBuf,
    /// The number of files.
    pub files: u32,
    /// Bytes in each file.
    pub size: u64,
    /// The seed of their contents.
    pub seed: u64,
    /// Leave the files there.
    pub keep: bool,
}

/// Why a set cannot be prepared.
#[derive(Debug, thiserror::Error)]
pub enum SetError {
    /// No files, or files without bytes.
    #[error("a set needs at least one file of at least one byte")]
    Empty,
    /// The directory has other content.
    #[error("{dir} is not empty and does not contain this file set: {why}")]
    Foreign {
        /// The directory.
        dir: PathBuf,
        /// The first difference, in words.
        why: String,
    },
    /// A system call failed.
    #[error("{path}: {error}")]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The error of the system call.
        error: io::Error,
    },
    /// The stop flag was raised.
    #[error("interrupted; the files were removed")]
    Interrupted,
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> SetError + '_ {
    move |error| SetError::Io { path: path.to_owned(), error }
}

/// Files that are removed on drop, unless the plan keeps them.
#[derive(Debug)]
pub struct FileSet {
    plan: SetPlan,
    made_dir: bool,
    /// How many files were made here, and so are ours to remove.
    made: u32,
}

impl FileSet {
    /// Creates the files and syncs them to the disk, or finds those of an earlier run.
    ///
    /// # Errors
    /// [`SetError`]; created files are then removed.
    pub fn prepare(plan: SetPlan, stop: &AtomicBool) -> Result<FileSet, SetError> {
        if plan.files == 0 || plan.size == 0 {
            return Err(SetError::Empty);
        }
        let made_dir = match fs::create_dir(&plan.dir) {
            Ok(()) => true,
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => false,
            Err(e) => return Err(failed(&plan.dir)(e)),
        };
        let mut set = FileSet { made_dir, made: 0, plan };
        if fs::read_dir(&set.plan.dir).map_err(failed(&set.plan.dir))?.next().is_some() {
            set.recognise()?;
        } else {
            set.make(stop)?;
        }
        Ok(set)
    }

    /// The number of files.
    pub fn files(&self) -> u32 {
        self.plan.files
    }

    /// Bytes in each file.
    pub fn size(&self) -> u64 {
        self.plan.size
    }

    /// The directory.
    pub fn dir(&self) -> &Path {
        &self.plan.dir
    }

    /// The key of a file's [`content`].
    pub fn key(&self, index: u32) -> u64 {
        content::key(self.plan.seed, index.into())
    }

    /// The path of a file.
    pub fn path(&self, index: u32) -> PathBuf {
        self.plan.dir.join(format!("pitot-{index:06}"))
    }

    /// Opens a file.
    ///
    /// # Errors
    /// Those of [`DiskFile::open`], with the path.
    pub fn open(&self, index: u32, options: &FileOptions) -> Result<DiskFile, SetError> {
        let path = self.path(index);
        DiskFile::open(&path, options).map_err(failed(&path))
    }

    fn make(&mut self, stop: &AtomicBool) -> Result<(), SetError> {
        let mut bytes = vec![0; 1 << 20];
        for index in 0..self.plan.files {
            let path = self.path(index);
            let mut file = File::create_new(&path).map_err(failed(&path))?;
            self.made = index + 1;
            let mut at = 0;
            while at < self.plan.size {
                if stop.load(Ordering::Relaxed) {
                    // An incomplete set is useless.
                    self.plan.keep = false;
                    return Err(SetError::Interrupted);
                }
                let count = bytes.len().min((self.plan.size - at).try_into().unwrap_or(usize::MAX));
                content::fill(self.key(index), at, &mut bytes[..count]);
                if let Err(e) = file.write_all(&bytes[..count]) {
                    self.plan.keep = false;
                    return Err(failed(&path)(e));
                }
                at += count as u64;
            }
            file.sync_data().map_err(failed(&path))?;
        }
        Ok(())
    }

    /// Checks that the directory contains this set and nothing else.
    fn recognise(&self) -> Result<(), SetError> {
        let foreign = |why: String| SetError::Foreign { dir: self.plan.dir.clone(), why };
        let entries = fs::read_dir(&self.plan.dir).map_err(failed(&self.plan.dir))?.count();
        if entries != self.plan.files as usize {
            return Err(foreign(format!("it contains {entries} entries instead of {}", self.plan.files)));
        }
        for index in 0..self.plan.files {
            let path = self.path(index);
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let file = File::open(&path).map_err(|_| foreign(format!("{name} is missing")))?;
            let len = file.metadata().map_err(failed(&path))?.len();
            if len != self.plan.size {
                return Err(foreign(format!("{name} has {len} bytes instead of {}", self.plan.size)));
            }
            // The last word of the file: a set that was cut off or made with another seed differs there.
            let at = len.saturating_sub(8) / 8 * 8;
            let mut word = vec![0; (len - at).min(8) as usize];
            file.read_exact_at(&mut word, at).map_err(failed(&path))?;
            if !content::is_right(self.key(index), at, &word) {
                return Err(foreign(format!("{name} has other content")));
            }
        }
        Ok(())
    }
}

impl Drop for FileSet {
    fn drop(&mut self) {
        if self.plan.keep {
            return;
        }
        for index in 0..self.made {
            let _ = fs::remove_file(self.path(index));
        }
        if self.made_dir {
            let _ = fs::remove_dir(&self.plan.dir);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(dir: PathBuf) -> SetPlan {
        SetPlan { dir, files: 3, size: 10_001, seed: 1, keep: false }
    }

    #[test]
    fn a_set_is_removed_unless_it_is_to_be_kept() {
        let tmp = tempfile::tempdir().unwrap();
        let (dir, stop) = (tmp.path().join("set"), AtomicBool::new(false));
        let set = FileSet::prepare(plan(dir.clone()), &stop).unwrap();
        assert!(content::is_right(set.key(2), 0, &fs::read(set.path(2)).unwrap()));
        drop(set);
        assert!(!dir.exists());

        drop(FileSet::prepare(SetPlan { keep: true, ..plan(dir.clone()) }, &stop).unwrap());
        // Found again, and not ours to remove.
        drop(FileSet::prepare(plan(dir.clone()), &stop).unwrap());
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 3);
        for other in [
            SetPlan { seed: 2, ..plan(dir.clone()) },
            SetPlan { files: 2, ..plan(dir.clone()) },
            SetPlan { size: 10_000, ..plan(dir.clone()) },
        ] {
            let refused = FileSet::prepare(other, &stop);
            assert!(matches!(refused, Err(SetError::Foreign { .. })), "{refused:?}");
        }
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 3, "a refusal removes nothing");
    }

    #[test]
    fn an_interrupted_set_leaves_nothing() {
        let tmp = tempfile::tempdir().unwrap();
        let dir = tmp.path().join("set");
        let made = FileSet::prepare(SetPlan { keep: true, ..plan(dir.clone()) }, &AtomicBool::new(true));
        assert!(matches!(made, Err(SetError::Interrupted)));
        assert!(!dir.exists());
    }
}
