//! A file on its way in: it is whole and on the disk under its name, or it is not there.
//!
//! The content goes to a name of its own. At the end the file is synchronised and renamed to where it belongs, and that
//! directory is synchronised. Whatever goes wrong before the rename, the file is removed again.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use rustix::fs::{self, AtFlags, Mode, OFlags};
use rustix::io::Errno;

/// A file that is being written, which is removed unless it is finished.
#[derive(Debug)]
pub struct PendingFile {
    directory: Arc<OwnedFd>,
    name: String,
    file: OwnedFd,
    renamed: bool,
}

impl PendingFile {
    /// An empty file of a name that the directory does not have yet.
    ///
    /// # Errors
    /// Those of openat(2).
    pub fn begin(directory: Arc<OwnedFd>, name: String, mode: Mode) -> Result<PendingFile, Errno> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = fs::openat(&directory, &name, flags, mode)?;
        Ok(PendingFile { directory, name, file, renamed: false })
    }

    /// The name that it has until it is finished.
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

    /// Puts it where it belongs, in the place of what may be there. If only the last synchronisation fails, it is there
    /// and may not outlive a loss of power.
    ///
    /// # Errors
    /// Those of fsync(2) and rename(2).
    pub fn finish(&mut self, directory: &OwnedFd, name: &[u8]) -> Result<(), Errno> {
        fs::fsync(&self.file)?;
        fs::renameat(&self.directory, &self.name, directory, name)?;
        self.renamed = true;
        fs::fsync(directory)
    }

    /// True once it has its last name.
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
