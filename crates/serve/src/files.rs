//! The open-file cache of a worker.
//!
//! Paths are resolved below the root's descriptor ([`beneath`]), so neither `..` nor a symbolic link leads out of it, even if the
//! tree changes. An entry is revalidated after a second (or `--file-cache-time`). Small files are cached with their content, and
//! then need no descriptor; larger ones are where that pays, once they are asked for again.
//!
//! The worker that needs a directory listing reads it at once, as it opens files: up to 10,000 names without metadata, some
//! milliseconds, and again when the entry is at least a second old.

use std::collections::HashMap;
use std::io::{self, IoSliceMut};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use foldhash::fast::RandomState;
use pitot_disk::{DiskFile, FileOptions};
use pitot_proto::{Derived, FileHandle, FileMeta, OpenError, Opened, Tick};
use pitot_sys::safe_open::{Links, beneath};
use rustix::fs::{self, FileType, Mode, OFlags};
use rustix::io::{Errno, ReadWriteFlags};

use crate::listing;
use crate::relay::frame::Stat;
use crate::relay::remote::RemoteFile;

/// Limit on cached entries.
const ENTRIES_MAX: usize = 1024;
/// Limit on the cached content of one worker, in bytes.
const CONTENT_BUDGET: u64 = 64 << 20;
/// How often content that nobody asks for is looked for at most, when there is no room for other content.
const ROOM_AFTER: Duration = Duration::from_secs(1);
/// Limit on cached directories of one worker.
const LISTINGS_MAX: usize = 4;

/// How the files of a root are kept.
#[derive(Clone, Copy, Debug)]
pub struct FileCache {
    /// The content of files up to this size is cached.
    pub content_bytes_max: u64,
    /// The content of files up to this size is cached when they are asked for again.
    pub again_bytes_max: u64,
    /// How long an entry is valid without a check.
    pub valid: Duration,
    /// True if directories can be opened, as lists of their entries.
    pub lists: bool,
    /// True if a file leaves the page cache before it is sent, unless its content is cached.
    pub cold: bool,
}

impl Default for FileCache {
    fn default() -> FileCache {
        FileCache {
            content_bytes_max: 16 << 10,
            again_bytes_max: 0,
            valid: Duration::from_secs(1),
            lists: false,
            cold: false,
        }
    }
}

/// The directory that is served.
#[derive(Clone, Debug)]
pub struct Root {
    directory: Arc<OwnedFd>,
    cache: FileCache,
}

impl Root {
    /// Opens the directory.
    ///
    /// # Errors
    /// ENOENT, ENOTDIR, EACCES.
    pub fn open(path: &Path, cache: FileCache) -> io::Result<Root> {
        let directory = fs::open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        Ok(Root { directory: Arc::new(directory), cache })
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
    /// How long an entry is valid without a check.
    valid: Duration,
    /// True if a file is dropped from the page cache at each request.
    cold: bool,
    /// How the engine that reads files, if there is one, needs them opened.
    engine: Option<FileOptions>,
    /// Only paths of files enter it, so that no client can choose keys that collide.
    entries: HashMap<Box<[u8]>, Entry, RandomState>,
    /// Directories, by path.
    listings: HashMap<Box<[u8]>, Entry>,
    content_bytes: u64,
    /// Before that, content that nobody asks for is not looked for again to make room.
    no_room_until: Tick,
}

#[derive(Debug)]
struct Entry {
    opened: Opened,
    valid_until: Tick,
}

impl Files {
    /// An empty cache of the files below `root`; without a root it has no files.
    pub fn new(root: Option<Root>, engine: Option<FileOptions>) -> Files {
        let cache = root.as_ref().map_or_else(FileCache::default, |root| root.cache);
        let (valid, cold) = (cache.valid, cache.cold);
        Files {
            root,
            remote: false,
            valid,
            cold,
            engine,
            entries: HashMap::default(),
            listings: HashMap::new(),
            content_bytes: 0,
            no_room_until: Tick::START,
        }
    }

    /// An empty cache of the same files, which another process has.
    pub fn in_other_process(&self) -> Files {
        Files { remote: true, valid: self.valid, ..Files::new(None, None) }
    }

    /// Caches the other process's answer about a file.
    pub fn learn(&mut self, path: &[u8], stat: Stat, now: Tick) {
        let Stat { size, modified_s, modified_ns, inode } = stat;
        let meta = FileMeta { size, modified_s, modified_ns, inode, content: None };
        // It is requested at once, so it must be valid for a moment.
        let valid_until = now.after(self.valid);
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

    /// The file at a path below the root, or why it cannot be opened. `None` if another process must be asked first, whose answer
    /// goes to [`Files::learn`].
    pub fn open(&mut self, path: &[u8], now: Tick) -> Option<Result<&Opened, OpenError>> {
        if self.remote {
            let known = self.entries.get(path).filter(|entry| entry.valid_until > now);
            return known.map(|entry| Ok(&entry.opened));
        }
        Some(self.open_own(path, now))
    }

    fn open_own(&mut self, path: &[u8], now: Tick) -> Result<&Opened, OpenError> {
        if matches!(path, [] | [.., b'/']) && self.root.as_ref().is_some_and(|root| root.cache.lists) {
            return self.open_directory(path, now);
        }
        let is_known = |entry: &&Entry| entry.valid_until > now;
        // (The borrow checker does not allow to return the entry from this first look-up, hence the others.)
        let known = self.entries.get(path).filter(is_known);
        if known.is_some_and(|entry| self.may_keep(&entry.opened)) {
            self.keep(path, now);
        } else if known.is_none() {
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
            let valid_until = self.valid_from(now);
            if let Some(entry) = self.entries.get_mut(path) {
                entry.valid_until = valid_until;
            }
        }
        let opened = self.entries.get(path).map(|entry| &entry.opened).ok_or(OpenError::Failed)?;
        if self.cold {
            leave_page_cache(opened);
        }
        Ok(opened)
    }

    /// Whether the content of a file that is open could be cached.
    fn may_keep(&self, opened: &Opened) -> bool {
        opened.meta.content.is_none()
            && self.engine.is_none()
            && self.root.as_ref().is_some_and(|root| opened.meta.size <= root.cache.again_bytes_max)
    }

    /// Caches the content of a file that is asked for again, if there is room and nothing has to be waited for.
    fn keep(&mut self, path: &[u8], now: Tick) {
        let Some(size) = self.entries.get(path).map(|entry| entry.opened.meta.size) else { return };
        if !self.has_room_for(size, now) {
            return;
        }
        let Some(Entry { opened, .. }) = self.entries.get_mut(path) else { return };
        let content = opened.handle.0.downcast_ref().and_then(|file| read_cached(file, size));
        if let Some(content) = content {
            opened.meta.content = Some(content);
            opened.handle = FileHandle(Arc::new(()));
            self.content_bytes += size;
        }
    }

    /// Whether content of this length may be cached; what nobody has asked for of late makes room for it.
    fn has_room_for(&mut self, bytes: u64, now: Tick) -> bool {
        if !self.is_within_budget(bytes) && self.no_room_until <= now {
            self.no_room_until = now.after(ROOM_AFTER);
            let is_old = |entry: &Entry| entry.opened.meta.content.is_some() && entry.valid_until <= now;
            let old = self.entries.iter().filter(|(_, entry)| is_old(entry));
            let old: Vec<Box<[u8]>> = old.map(|(path, _)| path.clone()).collect();
            old.iter().for_each(|path| self.forget(path));
        }
        self.is_within_budget(bytes)
    }

    /// Whether so much more content is within the limit.
    fn is_within_budget(&self, bytes: u64) -> bool {
        self.content_bytes + bytes <= CONTENT_BUDGET
    }

    /// When an entry that is read now must be revalidated.
    fn valid_from(&self, now: Tick) -> Tick {
        if self.valid.is_zero() { now } else { now.after(self.valid) }
    }

    /// The entries of a directory.
    fn open_directory(&mut self, path: &[u8], now: Tick) -> Result<&Opened, OpenError> {
        if self.listings.get(path).filter(|entry| entry.valid_until > now).is_none() {
            self.listings.remove(path);
            let root = self.root.clone().ok_or(OpenError::NotFound)?;
            let meta = match listing::read(&root.directory, path).map_err(explain) {
                Err(OpenError::Unavailable) if self.forget_an_open_one() => {
                    listing::read(&root.directory, path).map_err(explain)?
                }
                read => read?,
            };
            if self.listings.len() >= LISTINGS_MAX {
                self.listings.clear();
            }
            let opened = Opened { handle: FileHandle(Arc::new(())), meta, derived: Derived::default() };
            let entry = Entry { opened, valid_until: self.valid_from(now) };
            self.listings.insert(path.into(), entry);
        }
        self.listings.get(path).map(|entry| &entry.opened).ok_or(OpenError::Failed)
    }

    /// Drops the entry of a file, which has changed.
    pub fn forget(&mut self, path: &[u8]) {
        if let Some(entry) = self.entries.remove(path) {
            self.content_bytes -= entry.opened.meta.content.map_or(0, |content| content.len() as u64);
        }
    }

    /// Opens a file. If no descriptor is left, another file is closed.
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
        // Content read by an engine is not cached, not even empty content.
        let small = self.engine.is_none()
            && self.root.as_ref().is_some_and(|root| meta.size <= root.cache.content_bytes_max);
        let mut handle = FileHandle(Arc::new(()));
        if small && self.is_within_budget(meta.size) {
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

/// Drops the pages of a file that is open. Those that are being read or sent at the moment stay, and so do changed ones until
/// they are written, which this begins.
fn leave_page_cache(opened: &Opened) {
    let handle = &opened.handle.0;
    // The call is only advice: a file system may ignore it.
    let _ = match (handle.downcast_ref::<OwnedFd>(), handle.downcast_ref::<DiskFile>()) {
        (Some(file), _) => fs::fadvise(file, 0, None, fs::Advice::DontNeed),
        (_, Some(file)) => {
            file.unmap();
            fs::fadvise(file, 0, None, fs::Advice::DontNeed)
        }
        (None, None) => Ok(()),
    };
}

fn look(root: &Root, path: &[u8]) -> Result<(OwnedFd, FileMeta), OpenError> {
    // NONBLOCK: opening a fifo must not block the worker; it is refused below.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let path = if path.is_empty() { b"." } else { path };
    let file = beneath(&root.directory, path, flags, Links::Follow).map_err(explain)?;
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

/// Reads the content of a file that is in the page cache as a whole, or that may not be asked whether it is.
fn read_cached(file: &OwnedFd, size: u64) -> Option<Arc<[u8]>> {
    let mut content = vec![0; usize::try_from(size).ok()?];
    match rustix::io::preadv2(file, &mut [IoSliceMut::new(&mut content)], 0, ReadWriteFlags::NOWAIT) {
        Ok(n) => (n == content.len()).then(|| content.into()),
        Err(Errno::OPNOTSUPP) => read_all(file, size).ok(),
        Err(_) => None,
    }
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
        site_with(false)
    }

    fn site_with(lists: bool) -> (tempfile::TempDir, Files) {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("small"), "abc").unwrap();
        std::fs::write(directory.path().join("large"), vec![1; 100]).unwrap();
        std::fs::create_dir(directory.path().join("sub")).unwrap();
        symlink("../small", directory.path().join("sub/inside")).unwrap();
        symlink("/etc/passwd", directory.path().join("outside")).unwrap();
        symlink("../../../../../../etc/passwd", directory.path().join("sub/outside")).unwrap();
        let cache = FileCache { content_bytes_max: 10, lists, ..FileCache::default() };
        let files = Files::new(Some(Root::open(directory.path(), cache).unwrap()), None);
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
    fn a_larger_file_is_kept_when_it_is_asked_for_again_and_there_is_room() {
        let directory = tempfile::tempdir().unwrap();
        for name in ["a", "b", "c"] {
            std::fs::write(directory.path().join(name), vec![b'x'; (CONTENT_BUDGET / 2) as usize]).unwrap();
        }
        let cache = FileCache { again_bytes_max: CONTENT_BUDGET, ..FileCache::default() };
        let mut files = Files::new(Some(Root::open(directory.path(), cache).unwrap()), None);
        let mut is_kept = |path: &[u8], now| {
            let content = files.open_own(path, now).unwrap().meta.content.clone();
            content.inspect(|content| assert!(content.iter().all(|byte| *byte == b'x'))).is_some()
        };
        let now = Tick::START;
        for path in [b"a", b"b"] {
            assert!(!is_kept(path, now) && is_kept(path, now) && is_kept(path, now));
        }
        // Both are in use, so there is no room for a third until one of them is not.
        assert!(!is_kept(b"c", now) && !is_kept(b"c", now));
        let later = now.after(Duration::from_secs(2));
        assert!(is_kept(b"a", later) && !is_kept(b"c", later) && is_kept(b"c", later));
        assert!(is_kept(b"a", later) && !is_kept(b"b", later));
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
    fn directories_are_lists_of_their_entries_where_that_is_wanted() {
        let (site, mut files) = site_with(true);
        let now = Tick::START;
        let content = |files: &mut Files, path: &[u8], now| {
            files.open_own(path, now).map(|opened| opened.meta.content.clone().unwrap().to_vec())
        };
        let has = |content: &[u8], entry: &[u8]| content.split(|&b| b == 0).any(|e| e == entry);
        let root = content(&mut files, b"", now).unwrap();
        assert!(has(&root, b"/sub") && has(&root, b" small") && has(&root, b" outside"));
        assert!(has(&content(&mut files, b"sub/", now).unwrap(), b" inside"));
        for (path, error) in [
            (&b"sub"[..], OpenError::IsDirectory),
            (b"small/", OpenError::NotFound),
            (b"none/", OpenError::NotFound),
            (b"../", OpenError::NotFound),
        ] {
            assert_eq!(content(&mut files, path, now), Err(error), "{}", path.escape_ascii());
        }
        std::fs::write(site.path().join("new"), "").unwrap();
        assert_eq!(content(&mut files, b"", now).unwrap(), root);
        let later = now.after(Duration::from_secs(2));
        assert!(has(&content(&mut files, b"", later).unwrap(), b" new"));
        for name in ["a/", "b/", "c/", "d/", "e/"] {
            std::fs::create_dir(site.path().join(name)).unwrap();
            content(&mut files, name.as_bytes(), now).unwrap();
            assert!(files.listings.len() <= LISTINGS_MAX);
        }
    }

    #[test]
    fn without_a_time_every_request_looks() {
        let (site, mut files) = site();
        files.valid = Duration::ZERO;
        assert_eq!(files.open_own(b"small", Tick::START).unwrap().meta.size, 3);
        std::fs::write(site.path().join("small"), "defg").unwrap();
        assert_eq!(files.open_own(b"small", Tick::START).unwrap().meta.size, 4);
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
