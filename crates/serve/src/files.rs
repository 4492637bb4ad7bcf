//! The open-file cache of a worker.
//!
//! Paths are resolved by the kernel below the root's descriptor (openat2(2) with RESOLVE_BENEATH), so neither `..`
//! nor a symbolic link leads out of it, even if the tree changes meanwhile. An entry older than a second is
//! revalidated. Small files are cached with their content, and then need no descriptor.

use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use pitot_disk::{DiskFile, FileOptions};
use pitot_proto::{Derived, FileHandle, FileMeta, OpenError, Opened, Tick};
use rustix::fs::{self, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use crate::relay::frame::Stat;
use crate::relay::remote::RemoteFile;

/// Limit on cached entries.
const ENTRIES_MAX: usize = 1024;
/// Limit on the cached content of one worker, in bytes.
const CONTENT_BUDGET: u64 = 64 << 20;
/// How long an entry is valid without a check.
const VALID: Duration = Duration::from_secs(1);

/// The directory that is served.
#[derive(Clone, Debug)]
pub struct Root {
    directory: Arc<OwnedFd>,
    content_max: u64,
}

impl Root {
    /// Opens the directory. The content of files up to `content_max` bytes is cached.
    ///
    /// # Errors
    /// ENOENT, ENOTDIR, EACCES.
    pub fn open(path: &Path, content_max: u64) -> io::Result<Root> {
        let directory = fs::open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        Ok(Root { directory: Arc::new(directory), content_max })
    }

    /// The directory.
    pub fn directory(&self) -> Arc<OwnedFd> {
        Arc::clone(&self.directory)
    }
}

/// One worker's open files.
#[derive(Debug)]
pub struct Files {
    root: Option<Root>,
    /// True if another process has the files, which answers questions about them.
    remote: bool,
    /// How the engine that reads files, if there is one, needs them opened.
    engine: Option<FileOptions>,
    entries: HashMap<Box<[u8]>, Entry>,
    content_bytes: u64,
}

#[derive(Debug)]
struct Entry {
    opened: Opened,
    valid_until: Tick,
}

impl Files {
    /// An empty cache of the files below `root`; without a root there are no files.
    pub fn new(root: Option<Root>, engine: Option<FileOptions>) -> Files {
        Files { root, remote: false, engine, entries: HashMap::new(), content_bytes: 0 }
    }

    /// An empty cache of the files of another process.
    pub fn remote() -> Files {
        Files { remote: true, ..Files::new(None, None) }
    }

    /// Caches the other process's answer about a file.
    pub fn learn(&mut self, path: &[u8], stat: Stat, now: Tick) {
        let Stat { size, modified_s, modified_ns, inode } = stat;
        let meta = FileMeta { size, modified_s, modified_ns, inode, content: None };
        let valid_until = now.after(VALID);
        match self.entries.get_mut(path) {
            Some(entry) if same_file(&meta, &entry.opened.meta) => entry.valid_until = valid_until,
            _ => {
                self.make_room();
                let handle = FileHandle(Arc::new(RemoteFile { path: path.into(), stat }));
                let opened = Opened { handle, meta, derived: Derived::default() };
                self.entries.insert(path.into(), Entry { opened, valid_until });
            }
        }
    }

    /// The file at a path below the root, or why it cannot be opened. `None` if another process has to be asked first,
    /// whose answer is passed to [`Files::learn`].
    pub fn open(&mut self, path: &[u8], now: Tick) -> Option<Result<&Opened, OpenError>> {
        if self.remote {
            let known = self.entries.get(path).filter(|entry| entry.valid_until > now);
            return known.map(|entry| Ok(&entry.opened));
        }
        Some(self.open_own(path, now))
    }

    fn open_own(&mut self, path: &[u8], now: Tick) -> Result<&Opened, OpenError> {
        let is_known = |entry: &&Entry| entry.valid_until > now;
        // (Returning the entry from this first look-up is refused by the borrow checker, hence the others.)
        if self.entries.get(path).filter(is_known).is_none() {
            let looked = self.look(path);
            let known = self.entries.get(path);
            let same = match (&looked, known) {
                (Ok((_, meta)), Some(entry)) => same_file(meta, &entry.opened.meta),
                _ => false,
            };
            if !same {
                self.forget(path);
                let (file, meta) = looked?;
                self.remember(path, file, meta)?;
            }
            if let Some(entry) = self.entries.get_mut(path) {
                entry.valid_until = now.after(VALID);
            }
        }
        self.entries.get(path).map(|entry| &entry.opened).ok_or(OpenError::Failed)
    }

    /// Drops the entry of a file, which has changed.
    pub fn forget(&mut self, path: &[u8]) {
        if let Some(entry) = self.entries.remove(path) {
            self.content_bytes -= entry.opened.meta.content.map_or(0, |content| content.len() as u64);
        }
    }

    /// Looks at a file. Where no descriptor is left for it another file gives up its own.
    fn look(&mut self, path: &[u8]) -> Result<(OwnedFd, FileMeta), OpenError> {
        let root = self.root.clone().ok_or(OpenError::NotFound)?;
        match look(&root, path) {
            Err(OpenError::Unavailable) if self.forget_an_open_one() => look(&root, path),
            looked => looked,
        }
    }

    /// Forgets a file that has a descriptor, unless none has.
    fn forget_an_open_one(&mut self) -> bool {
        let is_open = |entry: &Entry| entry.opened.meta.content.is_none();
        let any = self.entries.iter().find(|(_, entry)| is_open(entry)).map(|(path, _)| path.clone());
        any.inspect(|path| self.forget(path)).is_some()
    }

    fn make_room(&mut self) {
        while self.entries.len() >= ENTRIES_MAX {
            // Which entry is evicted matters little; the iteration order of the map is as good as random.
            let Some(any) = self.entries.keys().next().cloned() else { break };
            self.forget(&any);
        }
    }

    fn remember(&mut self, path: &[u8], file: OwnedFd, mut meta: FileMeta) -> Result<(), OpenError> {
        self.make_room();
        // Content that an engine reads is not cached, not even that it is empty.
        let small =
            self.engine.is_none() && self.root.as_ref().is_some_and(|root| meta.size <= root.content_max);
        let mut handle = FileHandle(Arc::new(()));
        if small && self.content_bytes + meta.size <= CONTENT_BUDGET {
            let content = read_all(&file, meta.size).map_err(explain)?;
            self.content_bytes += meta.size;
            meta.content = Some(content);
        } else {
            handle = FileHandle(match &self.engine {
                Some(options) => Arc::new(DiskFile::from_fd(file, options).map_err(|e| explain_io(&e))?),
                None => Arc::new(file),
            });
        }
        let opened = Opened { handle, meta, derived: Derived::default() };
        self.entries.insert(path.into(), Entry { opened, valid_until: Tick::NEVER });
        Ok(())
    }
}

fn look(root: &Root, path: &[u8]) -> Result<(OwnedFd, FileMeta), OpenError> {
    // NONBLOCK: opening a fifo must not block the worker; it is refused below.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    let path = if path.is_empty() { b"." } else { path };
    let file = fs::openat2(&*root.directory, path, flags, Mode::empty(), resolve).map_err(explain)?;
    let stat = fs::fstat(&file).map_err(explain)?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => {}
        FileType::Directory => return Err(OpenError::IsDirectory),
        _ => return Err(OpenError::NotRegular),
    }
    let meta = FileMeta {
        size: stat.st_size as u64,
        modified_s: stat.st_mtime.max(0) as u64,
        modified_ns: stat.st_mtime_nsec as u32,
        inode: stat.st_ino,
        content: None,
    };
    Ok((file, meta))
}

fn same_file(a: &FileMeta, b: &FileMeta) -> bool {
    (a.inode, a.size, a.modified_s, a.modified_ns) == (b.inode, b.size, b.modified_s, b.modified_ns)
}

/// Reads the content, which must have the length that fstat(2) returned.
fn read_all(file: &OwnedFd, size: u64) -> Result<Arc<[u8]>, Errno> {
    let mut content = vec![0; size as usize];
    let mut read = 0;
    while read < content.len() {
        match rustix::io::pread(file, &mut content[read..], read as u64)? {
            0 => return Err(Errno::IO),
            n => read += n,
        }
    }
    Ok(content.into())
}

fn explain_io(e: &io::Error) -> OpenError {
    Errno::from_io_error(e).map_or(OpenError::Failed, explain)
}

fn explain(e: Errno) -> OpenError {
    match e {
        // XDEV: a link that leaves the root.
        Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV => OpenError::NotFound,
        Errno::ACCESS | Errno::PERM => OpenError::Forbidden,
        Errno::NAMETOOLONG => OpenError::NameTooLong,
        Errno::NXIO | Errno::NODEV => OpenError::NotRegular,
        Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::AGAIN => OpenError::Unavailable,
        _ => OpenError::Failed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn site() -> (tempfile::TempDir, Files) {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("small"), "abc").unwrap();
        std::fs::write(directory.path().join("large"), vec![1; 100]).unwrap();
        std::fs::create_dir(directory.path().join("sub")).unwrap();
        symlink("../small", directory.path().join("sub/inside")).unwrap();
        symlink("/etc/passwd", directory.path().join("outside")).unwrap();
        symlink("../../../../../../etc/passwd", directory.path().join("sub/outside")).unwrap();
        let files = Files::new(Some(Root::open(directory.path(), 10).unwrap()), None);
        (directory, files)
    }

    #[test]
    fn small_files_are_kept_in_memory_and_large_ones_open() {
        let (_site, mut files) = site();
        let now = Tick::START;
        let small = files.open_own(b"small", now).unwrap();
        assert_eq!(small.meta.content.as_deref(), Some(&b"abc"[..]));
        let large = files.open_own(b"large", now).unwrap();
        assert_eq!((large.meta.size, &large.meta.content), (100, &None));
        assert!(large.handle.0.is::<OwnedFd>());
    }

    #[test]
    fn links_lead_anywhere_but_out_of_the_root() {
        let (_site, mut files) = site();
        let now = Tick::START;
        assert!(files.open_own(b"sub/inside", now).is_ok());
        for path in [&b"outside"[..], b"sub/outside", b"../etc/passwd", b"sub/../../x", b"/etc/passwd"] {
            assert_eq!(files.open_own(path, now).err(), Some(OpenError::NotFound), "{path:?}");
        }
        assert_eq!(files.open_own(b"sub", now).err(), Some(OpenError::IsDirectory));
        assert_eq!(files.open_own(b"", now).err(), Some(OpenError::IsDirectory));
    }

    #[test]
    fn a_file_that_is_replaced_is_noticed_once_the_look_is_old() {
        let (site, mut files) = site();
        let now = Tick::START;
        assert!(files.open_own(b"small", now).is_ok());
        std::fs::write(site.path().join("new"), "defg").unwrap();
        std::fs::rename(site.path().join("new"), site.path().join("small")).unwrap();
        // Another path has not been looked at; this one is remembered for a second.
        assert_eq!(files.open_own(b"small", now).unwrap().meta.size, 3);
        files.entries.get_mut(&b"small"[..]).unwrap().valid_until = now;
        assert_eq!(files.open_own(b"small", now).unwrap().meta.content.as_deref(), Some(&b"defg"[..]));
        assert_eq!(files.content_bytes, 4);
        std::fs::remove_file(site.path().join("small")).unwrap();
        files.entries.get_mut(&b"small"[..]).unwrap().valid_until = now;
        assert_eq!(files.open_own(b"small", now).err(), Some(OpenError::NotFound));
        assert_eq!(files.content_bytes, 0);
    }
}
