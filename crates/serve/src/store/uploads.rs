//! Files that clients store below the root: each is stored completely or not at all.
//!
//! The content is written to a file with a hidden name in the directory of the target, on the same file system. The client gets
//! its reply once the file is on the disk under its name.
//!
//! Each step may block on the disk, and each file needs two synchronisations: [`threads`](super::threads) decides which thread
//! executes them.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use pitot_proto::{StoreError, StoreStep, Upload};
use pitot_sys::process;
use pitot_sys::safe_open::{Links, beneath};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::pending_file::{Acknowledged, PendingFile};
use super::stored::Stored;

/// Uploads begun by this process.
static BEGUN: AtomicU64 = AtomicU64::new(0);

/// The root, below which clients may store files.
#[derive(Clone, Debug)]
pub struct Uploads {
    root: Arc<OwnedFd>,
    acknowledged: Acknowledged,
}

/// An unfinished file and its target.
#[derive(Debug)]
struct PendingUpload {
    file: PendingFile,
    directory: Arc<OwnedFd>,
    path: Box<[u8]>,
}

impl Uploads {
    /// Uploads below the directory that is served.
    pub fn below(root: Arc<OwnedFd>, acknowledged: Acknowledged) -> Uploads {
        Uploads { root, acknowledged }
    }

    /// Carries out a step of an upload, the first of which begins the file of that path.
    ///
    /// # Errors
    /// Why the step failed; the file is removed.
    pub fn store(&self, path: &[u8], step: &mut StoreStep) -> Result<Stored, StoreError> {
        let upload = step.upload.take();
        let result = match upload.map(|upload| upload.0.downcast::<PendingUpload>()) {
            Some(Ok(upload)) => Ok(upload),
            Some(Err(_)) => Err(Errno::INVAL),
            None => self.begin(path).map(Box::new),
        };
        let stored = result.and_then(|upload| {
            upload.file.write(&step.bytes)?;
            if step.is_last {
                let PendingUpload { mut file, directory, path } = *upload;
                let name = path.rsplit(|&b| b == b'/').next().unwrap_or_default();
                file.finish(&directory, name, self.acknowledged)?;
                return Ok(Stored::Done(path));
            }
            Ok(Stored::Begun(Upload(upload)))
        });
        step.bytes.clear();
        stored.map_err(|e| match e {
            Errno::NOSPC | Errno::DQUOT | Errno::FBIG => StoreError::NoSpace,
            Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV => StoreError::NoDirectory,
            Errno::ACCESS | Errno::PERM | Errno::ROFS => StoreError::Forbidden,
            _ => StoreError::Failed,
        })
    }

    fn begin(&self, path: &[u8]) -> Result<PendingUpload, Errno> {
        let directory = match path.iter().rposition(|&b| b == b'/') {
            Some(slash) => &path[..slash],
            None => b".",
        };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = Arc::new(beneath(&*self.root, directory, flags, Links::Follow)?);
        // Names that start with a dot are never served.
        let hidden_name = || format!(".upload-{}-{}", process::id(), BEGUN.fetch_add(1, Relaxed));
        let mode = Mode::RUSR | Mode::WUSR | Mode::RGRP | Mode::ROTH;
        let file = PendingFile::begin(Arc::clone(&directory), hidden_name, mode)?;
        Ok(PendingUpload { file, directory, path: path.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_process_of_the_same_number_has_left_is_in_nobodys_way() {
        let dir = tempfile::tempdir().unwrap();
        let begun = BEGUN.load(Relaxed);
        for number in begun..begun + 100 {
            std::fs::write(dir.path().join(format!(".upload-{}-{number}", process::id())), "half").unwrap();
        }
        let uploads =
            Uploads::below(Arc::new(std::fs::File::open(dir.path()).unwrap().into()), Acknowledged::OnDisk);
        let mut step = StoreStep { bytes: b"whole".to_vec(), is_last: true, ..StoreStep::default() };
        assert!(matches!(uploads.store(b"file", &mut step), Ok(Stored::Done(_))));
        assert_eq!(std::fs::read(dir.path().join("file")).unwrap(), b"whole");
    }
}
