//! Experiment E3: many small files in one directory, created, written and read back (Lyris Technologies, 2001).
//!
//! For each size one pass creates and writes all files and a second one reads them back; by option they are synced
//! and closed in the first, and asked for their metadata and deleted in passes of their own. Only the system calls are
//! timed, each phase apart; making the contents and checking them happens between. With several threads the files
//! are dealt out in turn, and the time of a phase is the mean over the threads.
//!
//! One size must not pay for another. So each has its directory, and nothing is removed before all sizes are done:
//! ext4 looks at the time of death of every inode that was deleted in the last minutes before it takes a new one, which
//! made creation tenfold slower from the third size on. For the same reason the directories are placed apart from
//! those of earlier runs, where the file system lets itself be asked (the attribute `T` of chattr(1)). What is not
//! avoided is that the kernel begins to write the files of one size while those of another are measured.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use pitot_meter::{Histogram, Nanos, now};
use rustix::fs::{IFlags, ioctl_getflags, ioctl_setflags};

use crate::cache::{self, Residency};
use crate::{DiskFile, FileOptions, content};

/// The sizes of the published experiment: 4 KiB rising to 128 KiB.
pub const SIZES: &[u64] = &[4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10, 128 << 10];
/// Files per size in the published experiment.
pub const COUNT: u32 = 10_000;

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilesPlan {
    /// A directory that is missing or empty.
    pub dir: PathBuf,
    /// Files of each size.
    pub count: u32,
    /// Their sizes in bytes, one after another.
    pub sizes: Vec<u64>,
    /// Threads that share the files of a size.
    pub threads: u32,
    /// Sync each file before it is closed, and time that.
    pub sync: bool,
    /// Drop the files from the page cache before they are read back.
    pub cold: bool,
    /// Time stat(2) of each file.
    pub stat: bool,
    /// Time the removal, which happens in any case.
    pub delete: bool,
    /// Of the contents.
    pub seed: u64,
}

/// A part of the work on each file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// open(2) of a file that is not there.
    Create,
    /// write(2) of its contents, and close(2) unless that follows a sync.
    Write,
    /// fsync(2) and close(2).
    Sync,
    /// open(2), read(2) to the end, and close(2).
    Read,
    /// stat(2).
    Stat,
    /// unlink(2).
    Delete,
}

impl Phase {
    /// All of them in the order of the work.
    pub const ALL: &'static [Phase] =
        &[Phase::Create, Phase::Write, Phase::Sync, Phase::Read, Phase::Stat, Phase::Delete];

    /// The word in tables and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Create => "create",
            Phase::Write => "write",
            Phase::Sync => "sync",
            Phase::Read => "read",
            Phase::Stat => "stat",
            Phase::Delete => "delete",
        }
    }

    /// True if it is part of the time that the published experiment took: files created, written and read back.
    pub fn is_published(self) -> bool {
        !matches!(self, Phase::Stat | Phase::Delete)
    }
}

/// The measurement of one phase at one size.
#[derive(Clone, Debug)]
pub struct PhaseReport {
    /// Which.
    pub phase: Phase,
    /// Time spent in it, the mean over the threads.
    pub elapsed: Nanos,
    /// Per file.
    pub latency: Histogram,
}

/// The measurement at one size.
#[derive(Clone, Debug)]
pub struct SizeReport {
    /// Bytes per file.
    pub size: u64,
    /// Phases that were asked for, in order.
    pub phases: Vec<PhaseReport>,
    /// The page cache before the files were read back, if they were to be cold.
    pub cold: Option<Residency>,
}

impl SizeReport {
    /// The time of the phases of the published experiment: create, write and read, and sync if it was asked for.
    pub fn elapsed(&self) -> Nanos {
        self.phases.iter().filter(|p| p.phase.is_published()).fold(Nanos::ZERO, |sum, p| sum + p.elapsed)
    }
}

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    /// The plan asks for nothing.
    #[error(
        "there must be at least one file, one size of at least one byte, and one thread for at most each file"
    )]
    Plan,
    /// The directory is in use.
    #[error("{0} is not empty")]
    NotEmpty(PathBuf),
    /// A system call failed.
    #[error("{path}: {error}")]
    Io {
        /// On what.
        path: PathBuf,
        /// How.
        error: io::Error,
    },
    /// A file came back with other bytes than were written.
    #[error("{0} came back with other contents than were written")]
    Content(PathBuf),
    /// The files stayed in memory.
    #[error("the files could not be dropped from memory: {0:.1}% of their pages stayed")]
    StayedHot(f64),
    /// The stop flag was raised.
    #[error("interrupted; the files are removed")]
    Interrupted,
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> FilesError + '_ {
    move |error| FilesError::Io { path: path.to_owned(), error }
}

/// Does it all and leaves nothing behind, whatever happens. `told` hears of each size, and how long it took without the
/// removal, when it is done.
///
/// # Errors
/// [`FilesError`].
pub fn run(
    plan: &FilesPlan,
    stop: &AtomicBool,
    mut told: impl FnMut(u64, Nanos),
) -> Result<Vec<SizeReport>, FilesError> {
    let sizes_fit = !plan.sizes.is_empty() && plan.sizes.iter().all(|&s| s > 0 && usize::try_from(s).is_ok());
    if plan.count == 0 || !sizes_fit || !(1..=plan.count).contains(&plan.threads) {
        return Err(FilesError::Plan);
    }
    let mut scratch = Scratch::new(plan)?;
    let mut all = Vec::with_capacity(plan.sizes.len());
    for &size in &plan.sizes {
        let dir = scratch.add(size)?;
        let mut times = Times::new();
        let cold = create_and_use(plan, size, &dir, stop, &mut times)?;
        told(size, times.elapsed(plan));
        all.push((dir, times, cold));
    }
    let mut reports = Vec::with_capacity(plan.sizes.len());
    for (&size, (dir, mut times, cold)) in plan.sizes.iter().zip(all) {
        pass(plan, size, &dir, stop, &mut times, |work, times| {
            times.time(Phase::Delete, || fs::remove_file(&work.path)).map_err(failed(&work.path))
        })?;
        reports.push(SizeReport { size, phases: times.report(plan), cold });
    }
    Ok(reports)
}

/// The directories that were made, to be removed with what is in them.
struct Scratch<'a> {
    plan: &'a FilesPlan,
    dirs: Vec<PathBuf>,
    made_dir: bool,
}

impl Scratch<'_> {
    fn new(plan: &FilesPlan) -> Result<Scratch<'_>, FilesError> {
        let made_dir = match fs::create_dir(&plan.dir) {
            Ok(()) => true,
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => false,
            Err(e) => return Err(failed(&plan.dir)(e)),
        };
        let scratch = Scratch { plan, dirs: Vec::new(), made_dir };
        if fs::read_dir(&plan.dir).map_err(failed(&plan.dir))?.next().is_some() {
            return Err(FilesError::NotEmpty(plan.dir.clone()));
        }
        // A hint that not all file systems know, and that changes nothing but the place.
        if made_dir && let Ok(dir) = File::open(&plan.dir) {
            let flags = ioctl_getflags(&dir).unwrap_or(IFlags::empty());
            let _ = ioctl_setflags(&dir, flags | IFlags::TOPDIR);
        }
        Ok(scratch)
    }

    /// Makes the directory for a size. Its place follows from its name, so the name is a new one each time.
    fn add(&mut self, size: u64) -> Result<PathBuf, FilesError> {
        let dir = self.plan.dir.join(format!("{}-{size}-{:x}", self.dirs.len(), now().0));
        fs::create_dir(&dir).map_err(failed(&dir))?;
        self.dirs.push(dir.clone());
        Ok(dir)
    }
}

impl Drop for Scratch<'_> {
    fn drop(&mut self) {
        for dir in &self.dirs {
            let _ = fs::remove_dir_all(dir);
        }
        if self.made_dir {
            let _ = fs::remove_dir(&self.plan.dir);
        }
    }
}

fn path(dir: &Path, index: u32) -> PathBuf {
    dir.join(format!("pitot-{index:06}"))
}

/// The latencies of one thread, by phase.
struct Times([Histogram; Phase::ALL.len()], [Nanos; Phase::ALL.len()]);

impl Times {
    fn new() -> Times {
        Times(std::array::from_fn(|_| Histogram::new()), [Nanos::ZERO; Phase::ALL.len()])
    }

    /// Times a part of the work on one file.
    fn time<T>(&mut self, phase: Phase, work: impl FnOnce() -> T) -> T {
        let start = now();
        let value = work();
        let span = now() - start;
        self.0[phase as usize].record(span);
        self.1[phase as usize] += span;
        value
    }

    /// The phases that the plan asks for.
    fn report(self, plan: &FilesPlan) -> Vec<PhaseReport> {
        let Times(latencies, spent) = self;
        let phases = Phase::ALL.iter().zip(latencies).zip(spent);
        let wanted = phases.filter(|((phase, _), _)| match phase {
            Phase::Create | Phase::Write | Phase::Read => true,
            Phase::Sync => plan.sync,
            Phase::Stat => plan.stat,
            Phase::Delete => plan.delete,
        });
        let report = |((&phase, latency), spent): ((&Phase, Histogram), Nanos)| PhaseReport {
            phase,
            elapsed: Nanos(spent.0 / u64::from(plan.threads)),
            latency,
        };
        wanted.map(report).collect()
    }

    /// As [`SizeReport::elapsed`], before there is one.
    fn elapsed(&self, plan: &FilesPlan) -> Nanos {
        let counted = Phase::ALL.iter().zip(self.1).filter(|(phase, _)| phase.is_published());
        Nanos(counted.map(|(_, spent)| spent.0).sum::<u64>() / u64::from(plan.threads))
    }
}

/// Everything but the removal.
fn create_and_use(
    plan: &FilesPlan,
    size: u64,
    dir: &Path,
    stop: &AtomicBool,
    times: &mut Times,
) -> Result<Option<Residency>, FilesError> {
    pass(plan, size, dir, stop, times, create_and_write)?;
    let cold = plan.cold.then(|| make_cold(plan, dir)).transpose()?;
    pass(plan, size, dir, stop, times, read_back)?;
    if plan.stat {
        pass(plan, size, dir, stop, times, |work, times| {
            let metadata =
                times.time(Phase::Stat, || fs::metadata(&work.path)).map_err(failed(&work.path))?;
            if metadata.len() == work.size { Ok(()) } else { Err(FilesError::Content(work.path.clone())) }
        })?;
    }
    Ok(cold)
}

/// One file and what a thread needs for it.
struct Work<'a> {
    plan: &'a FilesPlan,
    path: PathBuf,
    key: u64,
    size: u64,
    /// As long as the file.
    bytes: &'a mut Vec<u8>,
}

/// Has all files worked on by the threads, each its share in turn.
fn pass(
    plan: &FilesPlan,
    size: u64,
    dir: &Path,
    stop: &AtomicBool,
    all: &mut Times,
    work: impl Fn(&mut Work<'_>, &mut Times) -> Result<(), FilesError> + Sync,
) -> Result<(), FilesError> {
    let share = |first: u32| {
        let mut times = Times::new();
        let mut bytes = vec![0; size as usize];
        for index in (first..plan.count).step_by(plan.threads as usize) {
            if stop.load(Ordering::Relaxed) {
                return Err(FilesError::Interrupted);
            }
            let key = content::key(plan.seed, u64::from(index));
            work(&mut Work { plan, path: path(dir, index), key, size, bytes: &mut bytes }, &mut times)?;
        }
        Ok(times)
    };
    let shares: Vec<Result<Times, FilesError>> = if plan.threads == 1 {
        vec![share(0)]
    } else {
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..plan.threads).map(|first| scope.spawn(move || share(first))).collect();
            threads.into_iter().map(|t| t.join().unwrap_or_else(|p| std::panic::resume_unwind(p))).collect()
        })
    };
    for times in shares {
        let Times(latencies, spent) = times?;
        for (sum, latency) in all.0.iter_mut().zip(&latencies) {
            sum.merge(latency);
        }
        for (sum, spent) in all.1.iter_mut().zip(spent) {
            *sum += spent;
        }
    }
    Ok(())
}

fn create_and_write(work: &mut Work<'_>, times: &mut Times) -> Result<(), FilesError> {
    content::fill(work.key, 0, work.bytes);
    let path = &work.path;
    let mut file = times.time(Phase::Create, || File::create_new(path)).map_err(failed(path))?;
    if work.plan.sync {
        times.time(Phase::Write, || file.write_all(work.bytes)).map_err(failed(path))?;
        times.time(Phase::Sync, || file.sync_all().map(|()| drop(file))).map_err(failed(path))
    } else {
        let write = || file.write_all(work.bytes).map(|()| drop(file));
        times.time(Phase::Write, write).map_err(failed(path))
    }
}

fn read_back(work: &mut Work<'_>, times: &mut Times) -> Result<(), FilesError> {
    let Work { path, bytes, .. } = work;
    bytes.fill(0);
    let (count, more) = times
        .time(Phase::Read, || {
            let mut file = File::open(&*path)?;
            let mut count = 0;
            while count < bytes.len() {
                match file.read(&mut bytes[count..])? {
                    0 => break,
                    n => count += n,
                }
            }
            // A file that is longer than what was written is as wrong as a shorter one.
            Ok((count, file.read(&mut [0])?))
        })
        .map_err(failed(path))?;
    if count == bytes.len() && more == 0 && content::is_right(work.key, 0, work.bytes) {
        return Ok(());
    }
    Err(FilesError::Content(work.path.clone()))
}

/// Drops all files from the page cache and proves it.
fn make_cold(plan: &FilesPlan, dir: &Path) -> Result<Residency, FilesError> {
    let mut found: Option<Residency> = None;
    for index in 0..plan.count {
        let path = path(dir, index);
        let drop_one = || {
            let file = DiskFile::open(&path, &FileOptions::default())?;
            cache::make_cold(&file)?;
            cache::residency([&file])
        };
        let one = drop_one().map_err(failed(&path))?;
        let sum = found.get_or_insert(Residency { resident: 0, total: 0, ..one });
        sum.resident += one.resident;
        sum.total += one.total;
    }
    match found {
        Some(found) if found.share() <= cache::COLD_SHARE_MAX => Ok(found),
        found => Err(FilesError::StayedHot(found.map_or(0.0, |f| f.share() * 100.0))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(dir: PathBuf) -> FilesPlan {
        FilesPlan {
            dir,
            count: 20,
            sizes: vec![1, 5000],
            threads: 1,
            sync: false,
            cold: false,
            stat: false,
            delete: false,
            seed: 3,
        }
    }

    #[test]
    fn every_phase_that_was_asked_for_is_timed_for_every_file() {
        let tmp = tempfile::tempdir().unwrap();
        let dir = tmp.path().join("new");
        for threads in [1, 3] {
            let mut told = 0;
            let plan = FilesPlan { threads, sync: true, stat: true, delete: true, ..plan(dir.clone()) };
            let reports = run(&plan, &AtomicBool::new(false), |_, _| told += 1).unwrap();
            assert_eq!(told, 2);
            for (report, size) in reports.iter().zip([1, 5000]) {
                assert_eq!(report.size, size);
                let phases: Vec<Phase> = report.phases.iter().map(|p| p.phase).collect();
                assert_eq!(phases, Phase::ALL);
                assert!(report.phases.iter().all(|p| p.latency.count() == 20 && p.elapsed > Nanos::ZERO));
            }
            assert!(!dir.exists(), "a directory that was made is removed");
        }
        let reports = run(&plan(dir), &AtomicBool::new(false), |_, _| ()).unwrap();
        assert_eq!(reports[0].phases.len(), 3);
    }

    #[test]
    fn a_directory_in_use_is_refused_and_left_alone() {
        let tmp = tempfile::tempdir().unwrap();
        fs::write(tmp.path().join("pitot-000000"), "mine").unwrap();
        let refused = run(&plan(tmp.path().to_owned()), &AtomicBool::new(false), |_, _| ());
        assert!(matches!(refused, Err(FilesError::NotEmpty(_))));
        assert_eq!(fs::read(tmp.path().join("pitot-000000")).unwrap(), b"mine");
    }

    #[test]
    fn an_interruption_or_a_failure_leaves_nothing_behind() {
        let tmp = tempfile::tempdir().unwrap();
        let entries = || fs::read_dir(tmp.path()).unwrap().count();
        let stop = AtomicBool::new(false);
        let plan = plan(tmp.path().to_owned());
        // Interrupted after the first size.
        let ended = run(&plan, &stop, |_, _| stop.store(true, Ordering::Relaxed));
        assert!(matches!(ended, Err(FilesError::Interrupted)));
        assert_eq!(entries(), 0);
        // Somebody else removes a file while we run.
        let spoil = |_, _| {
            let dir = fs::read_dir(tmp.path()).unwrap().next().unwrap().unwrap().path();
            let _ = fs::remove_file(path(&dir, 7));
        };
        let ended = run(&plan, &AtomicBool::new(false), spoil);
        assert!(matches!(ended, Err(FilesError::Io { .. })), "{ended:?}");
        assert_eq!(entries(), 0);
    }

    #[test]
    fn a_plan_that_asks_for_nothing_is_refused() {
        let tmp = tempfile::tempdir().unwrap();
        let good = plan(tmp.path().to_owned());
        for bad in [
            FilesPlan { count: 0, ..good.clone() },
            FilesPlan { sizes: vec![], ..good.clone() },
            FilesPlan { sizes: vec![0], ..good.clone() },
            FilesPlan { threads: 21, ..good.clone() },
            FilesPlan { threads: 0, ..good },
        ] {
            assert!(matches!(run(&bad, &AtomicBool::new(false), |_, _| ()), Err(FilesError::Plan)));
        }
    }
}
