//! A file that appears under its name only when it is complete and on the disk.
//!
//! The content is written to a temporary name. At the end the file is synchronised and renamed to its target, and the
//! target's directory is synchronised. On any failure before the rename the file is removed.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use rustix::fs::{self, AtFlags, Mode, OFlags};
use rustix::io::Errno;

/// When what was stored is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acknowledged {
    /// Once it is on the disk.
    OnDisk,
    /// Once it is in the page cache: a loss of power loses it.
    InCache,
}

/// A file that is being written, which is removed unless it is finished.
#[derive(Debug)]
pub struct PendingFile {
    directory: Arc<OwnedFd>,
    name: String,
    file: OwnedFd,
    renamed: bool,
}

impl PendingFile {
    /// Creates an empty file of the first of these names that does not exist yet. A process that was killed may have left a
    /// file, and its number comes again.
    ///
    /// # Errors
    /// Those of openat(2).
    pub fn begin(
        directory: Arc<OwnedFd>,
        mut name: impl FnMut() -> String,
        mode: Mode,
    ) -> Result<PendingFile, Errno> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        loop {
            let name = name();
            match fs::openat(&directory, &name, flags, mode) {
                Err(Errno::EXIST) => {}
                opened => return Ok(PendingFile { directory, name, file: opened?, renamed: false }),
            }
        }
    }

    /// The temporary name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Appends to it.
    ///
    /// # Errors
    /// Those of write(2).
    pub fn write(&self, mut bytes: &[u8]) -> Result<(), Errno> {
        while !bytes.is_empty() {
            match rustix::io::write(self.file.as_fd(), bytes) {
                Ok(n) => bytes = &bytes[n..],
                Err(Errno::INTR) => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    /// Synchronises, unless it is acknowledged before that, and renames the file, replacing an existing target. If only the last synchronisation fails, the file
    /// is at its target but may not survive a loss of power.
    ///
    /// # Errors
    /// Those of fsync(2) and rename(2).
    pub fn finish(
        &mut self,
        directory: &OwnedFd,
        name: &[u8],
        acknowledged: Acknowledged,
    ) -> Result<(), Errno> {
        let synchronise = |file| if acknowledged == Acknowledged::OnDisk { fs::fsync(file) } else { Ok(()) };
        synchronise(&self.file)?;
        fs::renameat(&self.directory, &self.name, directory, name)?;
        self.renamed = true;
        synchronise(directory)
    }

    /// True once it has its final name.
    pub fn is_renamed(&self) -> bool {
        self.renamed
    }
}

impl Drop for PendingFile {
    fn drop(&mut self) {
        if !self.renamed {
            let _ = fs::unlinkat(&self.directory, &self.name, AtFlags::empty());
        }
    }
}
