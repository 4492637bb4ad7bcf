//! Files that clients put below the root: each is there whole or not at all.
//!
//! The content goes to a file with a hidden name in the directory of the target, where a rename is sure to work. At its end the file is synchronised, renamed to its name, and the directory is synchronised; only
//! then does the client hear of it. Whatever goes wrong before, the file is removed again.
//!
//! The price is that of mail: the worker that receives the content waits for the disk. A loop holds up all of its
//! connections for two synchronisations per file; `thread`, `fork`, `pool` and `hybrid` hold up nobody else.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use pitot_proto::{DeliverError, Outbox, Parcel};
use pitot_sys::process;
use rustix::fs::{self, AtFlags, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

/// Uploads begun by this process.
static BEGUN: AtomicU64 = AtomicU64::new(0);

/// The directory below which files may be put.
#[derive(Clone, Debug)]
pub struct Uploads {
    root: Arc<OwnedFd>,
}

/// A file on its way in, which is removed unless it is finished.
#[derive(Debug)]
struct Draft {
    directory: OwnedFd,
    file: OwnedFd,
    hidden_name: String,
    path: Box<[u8]>,
    finished: bool,
}

/// What a step came to.
#[derive(Debug)]
pub enum Stored {
    /// More is to come.
    Going(Parcel),
    /// The file at this path is the new one.
    Done(Box<[u8]>),
}

impl Uploads {
    /// Uploads below the directory that is served.
    pub fn below(root: Arc<OwnedFd>) -> Uploads {
        Uploads { root }
    }

    /// Does the step of an upload that the outbox asks for: it begins at the wanted file.
    ///
    /// # Errors
    /// Why not; nothing is left of the file then.
    pub fn store(&self, out: &mut Outbox) -> Result<Stored, DeliverError> {
        let parcel = out.delivery().parcel.take();
        let result = match parcel.map(|parcel| parcel.0.downcast::<Draft>()) {
            Some(Ok(draft)) => Ok(draft),
            Some(Err(_)) => Err(Errno::INVAL),
            None => self.begin(out.wanted_file()).map(Box::new),
        };
        let delivery = out.delivery();
        let stored = result.and_then(|mut draft| {
            draft.write(&delivery.bytes)?;
            if delivery.is_last {
                draft.finish()?;
                return Ok(Stored::Done(std::mem::take(&mut draft.path)));
            }
            Ok(Stored::Going(Parcel(draft)))
        });
        delivery.bytes.clear();
        stored.map_err(|e| match e {
            Errno::NOSPC | Errno::DQUOT | Errno::FBIG => DeliverError::NoRoom,
            Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV => DeliverError::NoPlace,
            Errno::ACCESS | Errno::PERM | Errno::ROFS => DeliverError::Forbidden,
            _ => DeliverError::Failed,
        })
    }

    fn begin(&self, path: &[u8]) -> Result<Draft, Errno> {
        let directory = match path.iter().rposition(|&b| b == b'/') {
            Some(slash) => &path[..slash],
            None => b".",
        };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        let directory = fs::openat2(&*self.root, directory, flags, Mode::empty(), resolve)?;
        // Names that start with a dot are never served.
        let hidden_name = format!(".upload-{}-{}", process::id(), BEGUN.fetch_add(1, Relaxed));
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR | Mode::RGRP | Mode::ROTH;
        let file = fs::openat(&directory, &hidden_name, flags, mode)?;
        Ok(Draft { directory, file, hidden_name, path: path.into(), finished: false })
    }
}

impl Draft {
    fn write(&self, mut bytes: &[u8]) -> Result<(), Errno> {
        while !bytes.is_empty() {
            match rustix::io::write(self.file.as_fd(), bytes) {
                Ok(n) => bytes = &bytes[n..],
                Err(Errno::INTR) => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Errno> {
        let name = self.path.rsplit(|&b| b == b'/').next().unwrap_or_default();
        fs::fsync(&self.file)?;
        fs::renameat(&self.directory, &self.hidden_name, &self.directory, name)?;
        self.finished = true;
        fs::fsync(&self.directory)
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if !self.finished {
            let _ = fs::unlinkat(&self.directory, &self.hidden_name, AtFlags::empty());
        }
    }
}
