//! The known files: what the list says of each, and the last few that were opened.
//!
//! A file is read by one thread at a time. Closing a descriptor of a file drops all locks of this process on it (fcntl(2)), and a reader
//! whose locks are gone may see a file that its writer is just putting in order. What the server takes from a machine that measures is
//! bounded: one thread reads for pages and one for the list, and a file that is being written is read again only after [`REST`] times the
//! time that it took.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::ffi::OsStr;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use pitot_history::{Digest, Index, RunFigures, Stamp, files};
use pitot_meter::units;
use pitot_record::file::{Kind, is_running, kind};
use pitot_record::{Metric, Run, Soak};
use pitot_report::document::Document;
use pitot_report::served::Progress;
use pitot_report::{Format, Reported};
use pitot_results::Failure;
use rustix::time::{ClockId, clock_gettime};

use crate::progress::Done;

/// How long the list of names is taken to be right.
const NAMES_AGE_MAX: Duration = Duration::from_secs(1);
/// A file that is being written is read at most once in this time ...
pub(crate) const AGE_MIN: Duration = Duration::from_secs(1);
/// ... and once in so many times the CPU time that reading and rendering it takes, which is 0.5% of a CPU.
const REST: u32 = 200;
/// However long that is.
const AGE_MAX: Duration = Duration::from_secs(300);
/// A larger file is not read: analysing it takes some twelve times its size in memory.
const FILE_BYTES_MAX: u64 = 64 << 20;
/// Opened files that are kept.
const OPENED_MAX: usize = 8;

/// A known file.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub(crate) path: Arc<Path>,
    pub(crate) stamp: Stamp,
    /// Whether it is being written. Then the list shows its progress in place of an answer.
    pub(crate) is_running: bool,
    /// What the list says of it, once it was read, or why it cannot be read.
    pub(crate) digest: Option<Result<Arc<Digest>, Arc<str>>>,
}

/// A file that was opened, as a page.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) document: Document,
    /// What changes in an open page, and its hash.
    pub(crate) content: String,
    pub(crate) hash: u64,
    /// The plan as it was written, or the command line of a soak.
    pub(crate) source: String,
    pub(crate) is_soak: bool,
    pub(crate) has_baseline: bool,
    done: Done,
    pub(crate) is_running: bool,
    stamp: Stamp,
    read_at: Instant,
    /// CPU time that it took.
    took: Duration,
}

impl Opened {
    /// How far it is now.
    pub(crate) fn progress(&self) -> Progress {
        self.done.after(self.stamp.idle_s())
    }

    /// How long it is good enough while the file is being written.
    fn good_for(&self) -> Duration {
        self.took.saturating_mul(REST).clamp(AGE_MIN, AGE_MAX)
    }
}

/// The end of something that was done with a file.
struct End<'s> {
    shelf: &'s Shelf,
    path: &'s Path,
}

impl Drop for End<'_> {
    fn drop(&mut self) {
        lock(&self.shelf.being_read).remove(self.path);
        self.shelf.was_read.notify_all();
    }
}

/// All known files.
#[derive(Debug)]
pub(crate) struct Shelf {
    named: Vec<PathBuf>,
    index: Index,
    /// Held while something is read for a page.
    for_page: Mutex<()>,
    /// The files that are being read.
    being_read: Mutex<HashSet<PathBuf>>,
    /// One less is.
    was_read: Condvar,
    items: Mutex<Items>,
    /// There is something to read for the list.
    unread: Condvar,
    opened: Mutex<VecDeque<(String, Arc<Opened>)>>,
}

#[derive(Debug, Default)]
struct Items {
    by_name: BTreeMap<String, Item>,
    named_at: Option<Instant>,
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shelf {
    pub(crate) fn new(named: Vec<PathBuf>, index: Index) -> Shelf {
        Shelf {
            named,
            index,
            for_page: Mutex::default(),
            being_read: Mutex::default(),
            was_read: Condvar::new(),
            items: Mutex::default(),
            unread: Condvar::new(),
            opened: Mutex::default(),
        }
    }

    /// What was named on the command line.
    pub(crate) fn named(&self) -> &[PathBuf] {
        &self.named
    }

    /// Reads what the list needs and the index does not know, one file after the other, as long as the process lives.
    pub(crate) fn keep_reading(&self) {
        self.refresh();
        loop {
            let unread = |items: &Items| {
                let next = items.by_name.iter().find(|(_, item)| item.digest.is_none() && !item.is_running);
                next.map(|(name, item)| (name.clone(), item.clone()))
            };
            let mut items = lock(&self.items);
            let (name, item) = loop {
                match unread(&items) {
                    Some(next) => break next,
                    None => items = self.unread.wait(items).unwrap_or_else(PoisonError::into_inner),
                }
            };
            drop(items);
            let read = || {
                check_size(&item.path, item.stamp)?;
                self.alone(&item.path, || self.index.digest(&item.path))
            };
            // A file may be anything: it is not to end the reading of all others.
            let digest = match std::panic::catch_unwind(std::panic::AssertUnwindSafe(read)) {
                Ok(Ok(digest)) => Ok(Arc::new(digest)),
                Ok(Err(failure)) => Err(Arc::from(failure.what)),
                Err(_) => Err(Arc::from(UNREADABLE)),
            };
            if let Some(known) = lock(&self.items).by_name.get_mut(&name)
                && known.stamp == item.stamp
            {
                known.digest = Some(digest);
            }
        }
    }

    /// Does something with a file that nothing else does anything with meanwhile.
    fn alone<T>(&self, path: &Path, read: impl FnOnce() -> T) -> T {
        let mut all = lock(&self.being_read);
        while !all.insert(path.to_owned()) {
            all = self.was_read.wait(all).unwrap_or_else(PoisonError::into_inner);
        }
        drop(all);
        // Also after a panic.
        let _end = End { shelf: self, path };
        read()
    }

    /// The known files by name, after a look at what is there.
    pub(crate) fn items(&self) -> Vec<(String, Item)> {
        self.refresh();
        lock(&self.items).by_name.iter().map(|(name, item)| (name.clone(), item.clone())).collect()
    }

    /// The path of a known file.
    pub(crate) fn path(&self, name: &str) -> Option<Arc<Path>> {
        let find = || lock(&self.items).by_name.get(name).map(|item| Arc::clone(&item.path));
        find().or_else(|| {
            self.refresh();
            find()
        })
    }

    fn refresh(&self) {
        let mut items = lock(&self.items);
        if items.named_at.is_some_and(|at| at.elapsed() < NAMES_AGE_MAX) {
            return;
        }
        // What was named may be gone meanwhile; then nothing of it is there.
        let there: Vec<PathBuf> = self.named.iter().filter(|path| path.exists()).cloned().collect();
        let mut before = std::mem::take(&mut items.by_name);
        for path in files(&there).unwrap_or_default() {
            let Some(stamp) = Stamp::of(&path) else { continue };
            let mut name = self.name(&path);
            if items.by_name.contains_key(&name) {
                name = path.to_string_lossy().into_owned();
            }
            // Only what has a log can be in progress.
            let is_running = stamp.has_log && self.alone(&path, || is_running(&path));
            let item = match before.remove(&name).filter(|item| *item.path == *path) {
                Some(item) if item.stamp == stamp => Item { is_running, ..item },
                _ => {
                    let known = if is_running { None } else { self.index.known(&path) };
                    let digest = known.map(|known| known.map(Arc::new).map_err(Arc::from));
                    Item { path: path.into(), stamp, is_running, digest }
                }
            };
            items.by_name.insert(name, item);
        }
        items.named_at = Some(Instant::now());
        self.unread.notify_all();
    }

    /// What a file is called: its path below what was named, and if several directories were named, with the directory's name.
    fn name(&self, path: &Path) -> String {
        let below = |named: &Path| {
            let rest = path.strip_prefix(named).ok()?;
            let own = named.file_name().unwrap_or(OsStr::new("."));
            Some(match (rest.as_os_str().is_empty(), self.named.len()) {
                (true, _) => PathBuf::from(own),
                (false, 1) => rest.to_owned(),
                (false, _) => Path::new(own).join(rest),
            })
        };
        let name = self.named.iter().find_map(|named| below(named)).unwrap_or_else(|| path.to_owned());
        name.to_string_lossy().into_owned()
    }

    /// A file as a page. While it is being written, it may be a little older than the file.
    pub(crate) fn open(&self, name: &str) -> Result<Arc<Opened>, Failure> {
        let Some(path) = self.path(name) else { return Err(not_known(name)) };
        let kept =
            lock(&self.opened).iter().find(|(known, _)| known == name).map(|(_, opened)| Arc::clone(opened));
        let is_running = self.alone(&path, || is_running(&path));
        let stamp = Stamp::of(&path).unwrap_or_default();
        if let Some(opened) = kept
            && opened.is_running == is_running
            && (opened.stamp == stamp || is_running && opened.read_at.elapsed() < opened.good_for())
        {
            return Ok(opened);
        }
        let page = lock(&self.for_page);
        let opened = Arc::new(self.alone(&path, || opened(&path, stamp, is_running))?);
        drop(page);
        let mut all = lock(&self.opened);
        all.retain(|(known, _)| known != name);
        all.push_front((name.to_owned(), Arc::clone(&opened)));
        all.truncate(OPENED_MAX);
        Ok(opened)
    }

    /// A run, without what reports withhold.
    pub(crate) fn run(&self, name: &str) -> Result<Run, Failure> {
        let Some(path) = self.path(name) else { return Err(not_known(name)) };
        check_size(&path, Stamp::of(&path).unwrap_or_default())?;
        let _page = lock(&self.for_page);
        self.alone(&path, || open_run(&path))
    }

    /// What a history needs of a run.
    pub(crate) fn figures(
        &self,
        path: &Path,
        metric: Option<&'static Metric>,
    ) -> Result<RunFigures, Failure> {
        let _page = lock(&self.for_page);
        self.alone(path, || self.index.figures(path, metric))
    }

    /// A run of a history.
    pub(crate) fn run_at(&self, path: &Path) -> Option<Run> {
        self.alone(path, || open_run(path).ok())
    }
}

/// What is said of a file whose report cannot be made, for a reason that nobody foresaw.
pub(crate) const UNREADABLE: &str = "its report cannot be made: this is an error of Pitot";

fn not_known(name: &str) -> Failure {
    Failure::misuse(
        format!("there is no file {name}"),
        "it may have been renamed or deleted: see the list of runs",
    )
}

/// CPU time of this thread.
fn cpu_time() -> Duration {
    clock_gettime(ClockId::ThreadCPUTime).try_into().unwrap_or_default()
}

fn check_size(path: &Path, stamp: Stamp) -> Result<(), Failure> {
    match stamp.bytes {
        bytes if bytes > FILE_BYTES_MAX => Err(Failure::misuse(
            format!("the file has {} and is not shown here", units::bytes(bytes)),
            format!("run `pitot report {}`", path.file_name().unwrap_or_default().display()),
        )),
        _ => Ok(()),
    }
}

fn open_run(path: &Path) -> Result<Run, Failure> {
    let mut run = Run::open(path)?;
    run.withhold_private_facts();
    Ok(run)
}

fn opened(path: &Path, stamp: Stamp, is_running: bool) -> Result<Opened, Failure> {
    check_size(path, stamp)?;
    let began = cpu_time();
    let (document, source, done, has_baseline, is_soak) = match kind(path)? {
        Kind::Run => {
            let run = open_run(path)?;
            let done = Done::of_run(&run, is_running);
            (run.page(Format::Html), run.info.plan_source.clone(), done, run.plan.baseline.is_some(), false)
        }
        Kind::Soak => {
            let mut soak = Soak::look(path)?;
            soak.info.machine.withhold_private_facts();
            let done = Done::of_soak(&soak, is_running);
            (soak.page(Format::Html), soak.info.command_line(), done, false, true)
        }
    };
    let content = document.content();
    let mut hasher = DefaultHasher::new();
    content.hash(&mut hasher);
    Ok(Opened {
        document,
        hash: hasher.finish(),
        content,
        source,
        is_soak,
        has_baseline,
        done,
        is_running,
        stamp,
        read_at: Instant::now(),
        took: cpu_time().saturating_sub(began),
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn shelf(named: &[&Path]) -> Shelf {
        Shelf::new(named.iter().map(|&path| path.to_owned()).collect(), Index::in_memory())
    }

    #[test]
    fn only_files_below_what_was_named_are_known_and_by_names_without_the_way_there() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        fs::create_dir_all(at("a/deep")).unwrap();
        fs::create_dir_all(at("b")).unwrap();
        for name in ["a/deep/x.pitot", "a/y.pitot", "b/y.pitot", "secret.txt", "out.pitot"] {
            fs::write(at(name), "no record").unwrap();
        }
        let names = |shelf: &Shelf| shelf.items().into_iter().map(|(name, _)| name).collect::<Vec<_>>();
        let one = shelf(&[&at("a")]);
        assert_eq!(names(&one), ["deep/x.pitot", "y.pitot"]);
        assert_eq!(
            names(&shelf(&[&at("a"), &at("b"), &at("out.pitot")])),
            ["a/deep/x.pitot", "a/y.pitot", "b/y.pitot", "out.pitot"]
        );
        for hostile in ["../out.pitot", "deep/../y.pitot", "/etc/passwd", "y.pitot\0", "", "../secret.txt"] {
            assert!(one.path(hostile).is_none(), "{hostile:?}");
            assert!(one.open(hostile).is_err() && one.run(hostile).is_err(), "{hostile:?}");
        }
    }

    #[test]
    fn a_file_that_is_no_record_is_known_with_its_reason_and_one_that_is_gone_is_forgotten() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("x.pitot");
        fs::write(&path, "no record").unwrap();
        let shelf = Arc::new(shelf(&[root.path()]));
        assert!(shelf.items()[0].1.digest.is_none());
        let reader = Arc::clone(&shelf);
        // It ends with the process.
        std::thread::spawn(move || reader.keep_reading());
        let reason = loop {
            match shelf.items().remove(0).1.digest {
                Some(read) => break read.unwrap_err(),
                None => std::thread::yield_now(),
            }
        };
        assert!(reason.contains("is not a run file"), "{reason}");
        fs::remove_file(&path).unwrap();
        lock(&shelf.items).named_at = None;
        assert!(shelf.items().is_empty());
        assert!(shelf.open("x.pitot").unwrap_err().what.contains("there is no file"));
    }
}
