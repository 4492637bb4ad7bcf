//! An open file with what engines need for it.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockWriteGuard};

use pitot_sys::disk::Mapping;
use rustix::fs::{Advice, Mode, OFlags, fadvise, fcntl_getfl, fcntl_setfl, fstat, open};

/// What may be done with a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Access {
    /// Read it.
    #[default]
    Read,
    /// Read and write it.
    ReadWrite,
}

/// How to open a file.
#[derive(Clone, Copy, Debug)]
pub struct FileOptions {
    /// What may be done with it.
    pub access: Access,
    /// Go around the page cache (O_DIRECT): offsets, lengths and memory must then be multiples of the device's block.
    pub direct: bool,
    /// Descriptors for the same file, at least 1. glibc's POSIX AIO serves one request at a time per descriptor.
    pub descriptors: u32,
}

impl Default for FileOptions {
    fn default() -> FileOptions {
        FileOptions { access: Access::Read, direct: false, descriptors: 1 }
    }
}

/// An open file with what engines keep for it. Shared by all requests to it, on any thread.
#[derive(Debug)]
pub struct DiskFile {
    descriptors: Box<[OwnedFd]>,
    len: u64,
    random: AtomicBool,
    mapping: RwLock<Option<Mapping>>,
}

impl DiskFile {
    /// Opens a file that exists.
    ///
    /// # Errors
    /// Those of open(2) and fstat(2); EINVAL where the file system has no O_DIRECT.
    pub fn open(path: &Path, options: &FileOptions) -> io::Result<DiskFile> {
        let access = match options.access {
            Access::Read => OFlags::RDONLY,
            Access::ReadWrite => OFlags::RDWR,
        };
        DiskFile::from_fd(open(path, access | OFlags::CLOEXEC, Mode::empty())?, options)
    }

    /// Uses a file that was opened elsewhere, with its access mode.
    ///
    /// # Errors
    /// Those of fstat(2), dup(2) and fcntl(2).
    pub fn from_fd(fd: OwnedFd, options: &FileOptions) -> io::Result<DiskFile> {
        if options.direct {
            fcntl_setfl(&fd, fcntl_getfl(&fd)? | OFlags::DIRECT)?;
        }
        let len = fstat(&fd)?.st_size as u64;
        let mut descriptors = Vec::with_capacity(options.descriptors.max(1) as usize);
        descriptors.push(fd);
        for _ in 1..options.descriptors {
            descriptors.push(descriptors[0].try_clone()?);
        }
        Ok(DiskFile {
            descriptors: descriptors.into(),
            len,
            random: AtomicBool::new(false),
            mapping: RwLock::new(None),
        })
    }

    /// Its length in bytes when it was opened.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// True if it had no bytes when it was opened.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Its present length in bytes.
    ///
    /// # Errors
    /// Those of fstat(2).
    pub fn len_now(&self) -> io::Result<u64> {
        Ok(fstat(self)?.st_size as u64)
    }

    /// Advises the kernel whether the file will be read at random (no read-ahead) or in sequence (twice the usual
    /// read-ahead). Mappings get the advice for random reads, too.
    ///
    /// # Errors
    /// Those of posix_fadvise(2).
    pub fn expect_order(&self, random: bool) -> io::Result<()> {
        self.random.store(random, Ordering::Relaxed);
        self.unmap();
        Ok(fadvise(self, 0, None, if random { Advice::Random } else { Advice::Sequential })?)
    }

    /// Drops the mapping, since the page cache keeps mapped pages.
    pub fn unmap(&self) {
        self.mapping.write().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// Calls `look` with a mapping of the file if there is one, or can be, that holds the bytes up to `end`, or all of
    /// the file if that is shorter. `None` for an empty file.
    ///
    /// # Errors
    /// Those of mmap(2) and fstat(2).
    pub(crate) fn with_mapping<T>(
        &self,
        end: u64,
        look: impl FnOnce(&Mapping) -> T,
    ) -> io::Result<Option<T>> {
        let held = self.mapping.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(mapping) = held.as_ref()
            && (mapping.len() as u64 >= end || mapping.len() as u64 >= self.len_now()?)
        {
            return Ok(Some(look(mapping)));
        }
        drop(held);
        let len = usize::try_from(self.len_now()?).map_err(|_| io::ErrorKind::FileTooLarge)?;
        if len == 0 {
            return Ok(None);
        }
        let mut held = self.mapping.write().unwrap_or_else(PoisonError::into_inner);
        let mapping = Mapping::new(self, len)?;
        if self.random.load(Ordering::Relaxed) {
            mapping.expect_random()?;
        }
        *held = Some(mapping);
        // `look` may wait for the disk, and must not keep others waiting.
        let held = RwLockWriteGuard::downgrade(held);
        Ok(held.as_ref().map(look))
    }
}

impl AsFd for DiskFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptors[0].as_fd()
    }
}

/// A share in an open file, and which of its descriptors to use. Engines choose the descriptor.
#[derive(Clone, Debug)]
pub struct FileRef {
    file: Arc<DiskFile>,
    descriptor: u32,
}

impl FileRef {
    /// The file.
    pub fn file(&self) -> &Arc<DiskFile> {
        &self.file
    }

    /// Uses the descriptor for slot `n`; slots beyond the number of descriptors share them.
    pub(crate) fn use_descriptor(&mut self, n: usize) {
        self.descriptor = (n % self.file.descriptors.len()) as u32;
    }
}

impl From<Arc<DiskFile>> for FileRef {
    fn from(file: Arc<DiskFile>) -> FileRef {
        FileRef { file, descriptor: 0 }
    }
}

impl AsFd for FileRef {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.descriptors[self.descriptor as usize].as_fd()
    }
}
