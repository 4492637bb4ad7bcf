//! Storing into a Maildir: a message is stored completely or not at all, and survives a power failure once it is acknowledged.
//!
//! A message is written to a file in `tmp/` as it arrives. At its end the file is synchronised and renamed into `new/`, and that
//! directory is synchronised; then the message is acknowledged. On any earlier failure the file is removed. Where messages are
//! acknowledged in the page cache, nothing is synchronised.
//!
//! Each step may block on the disk, and each message needs two synchronisations: [`threads`](super::threads) decides which
//! thread executes them.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::SystemTime;

use pitot_proto::{StoreError, StoreStep, Upload};
use pitot_sys::process;
use rustix::fs::{self, AtFlags, Mode, OFlags};
use rustix::io::Errno;

use super::pending_file::{Acknowledged, PendingFile};

/// A Maildir.
#[derive(Clone, Debug)]
pub struct Maildir {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    tmp: Arc<OwnedFd>,
    new: OwnedFd,
    /// Messages begun by this process.
    begun: AtomicU64,
    host: String,
    acknowledged: Acknowledged,
}

impl Maildir {
    /// Opens a Maildir, and creates its missing directories. Their names are on the disk when this returns.
    ///
    /// # Errors
    /// EACCES, ENOTDIR, ENOSPC, or ENOENT for a missing parent directory.
    pub fn open(path: &Path, acknowledged: Acknowledged) -> io::Result<Maildir> {
        let create = |directory: &Path| match std::fs::create_dir(directory) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            created => created.map(|()| true),
        };
        let is_new = create(path)?;
        for name in ["tmp", "new", "cur"] {
            create(&path.join(name))?;
        }
        // Even if nothing is missing: its creator may have failed before this.
        let synchronise = |directory: &Path| std::fs::File::open(directory)?.sync_all();
        synchronise(path)?;
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        match synchronise(parent.unwrap_or(Path::new("."))) {
            // Another user created it, who may read it.
            Err(e) if e.kind() == io::ErrorKind::PermissionDenied && !is_new => {}
            synchronised => synchronised?,
        }
        let open = |name| {
            fs::open(path.join(name), OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
        };
        // `/` and `:` have special meanings in the name of a message's file.
        let host = rustix::system::uname().nodename().to_string_lossy().replace(['/', ':'], "_");
        let (tmp, new, begun) = (Arc::new(open("tmp")?), open("new")?, AtomicU64::new(0));
        let shared = Shared { tmp, new, begun, host, acknowledged };
        Ok(Maildir { shared: Arc::new(shared) })
    }

    /// The directories in which messages are made and moved.
    pub fn directories(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        [self.shared.tmp.as_fd(), self.shared.new.as_fd()].into_iter()
    }

    /// Carries out one step.
    ///
    /// # Errors
    /// Why the step failed; the message is removed.
    pub fn store(&self, step: &mut StoreStep) -> Result<Option<Upload>, StoreError> {
        let result = self.step(step);
        step.bytes.clear();
        result.map_err(|e| match e {
            Errno::NOSPC | Errno::DQUOT => StoreError::NoSpace,
            _ => StoreError::Failed,
        })
    }

    fn step(&self, step: &mut StoreStep) -> Result<Option<Upload>, Errno> {
        let upload = step.upload.take().map(|upload| upload.0.downcast::<PendingFile>());
        let mut file = match upload {
            Some(Ok(file)) => file,
            Some(Err(_)) => return Err(Errno::INVAL),
            None => Box::new(self.begin()?),
        };
        file.write(&step.bytes)?;
        if step.is_last {
            self.finish(&mut file)?;
            return Ok(None);
        }
        Ok(Some(Upload(file)))
    }

    fn begin(&self) -> Result<PendingFile, Errno> {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        // The process ID is queried each time, as workers are forked after the Maildir was opened.
        let name = || {
            format!(
                "{}.M{}P{}Q{}.{}",
                now.as_secs(),
                now.subsec_micros(),
                process::id(),
                self.shared.begun.fetch_add(1, Relaxed),
                self.shared.host
            )
        };
        PendingFile::begin(Arc::clone(&self.shared.tmp), name, Mode::RUSR | Mode::WUSR)
    }

    fn finish(&self, file: &mut PendingFile) -> Result<(), Errno> {
        let new = &self.shared.new;
        let name = file.name().to_owned();
        file.finish(new, name.as_bytes(), self.shared.acknowledged).inspect_err(|_| {
            if file.is_renamed() {
                // The client will send the message again, so it must not be here twice.
                let _ = fs::unlinkat(new, file.name(), AtFlags::empty());
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deliver(maildir: &Maildir, upload: Option<Upload>, bytes: &[u8], is_last: bool) -> Option<Upload> {
        let mut step = StoreStep { upload, bytes: bytes.to_vec(), is_last };
        let answer = maildir.store(&mut step).expect("a disk with room");
        assert!(step.bytes.is_empty() && step.upload.is_none());
        answer
    }

    fn contents(path: &Path) -> Vec<Vec<u8>> {
        let files = std::fs::read_dir(path).expect("a directory");
        files.map(|file| std::fs::read(file.expect("an entry").path()).expect("a file")).collect()
    }

    #[test]
    fn a_message_is_in_new_when_it_is_whole_and_not_before() {
        for acknowledged in [Acknowledged::OnDisk, Acknowledged::InCache] {
            let dir = tempfile::tempdir().unwrap();
            let maildir = Maildir::open(&dir.path().join("mail"), acknowledged).unwrap();
            let at = |name: &str| contents(&dir.path().join("mail").join(name));
            let upload = deliver(&maildir, None, b"one ", false);
            assert_eq!((at("tmp"), at("new")), (vec![b"one ".to_vec()], vec![]));
            assert!(deliver(&maildir, upload, b"two", true).is_none());
            assert_eq!((at("tmp"), at("new")), (vec![], vec![b"one two".to_vec()]));
            assert!(deliver(&maildir, None, b"three", true).is_none());
            assert_eq!((at("new").len(), at("cur").len()), (2, 0));
        }
    }

    #[test]
    fn a_message_that_is_given_up_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let maildir = Maildir::open(dir.path(), Acknowledged::OnDisk).unwrap();
        drop(deliver(&maildir, None, b"half", false));
        assert!(contents(&dir.path().join("tmp")).is_empty());
        // A message that cannot be renamed is a failure, and is removed too.
        let upload = deliver(&maildir, None, b"half", false);
        std::fs::remove_dir(dir.path().join("new")).unwrap();
        let mut step = StoreStep { upload, bytes: b" more".to_vec(), is_last: true };
        assert_eq!(maildir.store(&mut step).unwrap_err(), StoreError::Failed);
        assert!(contents(&dir.path().join("tmp")).is_empty());
    }

    #[test]
    fn a_path_below_a_file_is_no_maildir() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("file"), b"").unwrap();
        assert!(Maildir::open(&dir.path().join("file"), Acknowledged::OnDisk).is_err());
        assert!(Maildir::open(&dir.path().join("none/mail"), Acknowledged::OnDisk).is_err());
    }
}
