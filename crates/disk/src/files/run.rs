//! The run itself: all phases of all sizes.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use pitot_meter::Nanos;

use super::plan::{FilesError, FilesPlan, Phase, SizeReport, failed};
use super::scratch::{Scratch, path};
use super::times::Times;
use crate::cache::{self, Residency};
use crate::{DiskFile, FileOptions, content};

/// Runs all phases and leaves nothing behind, whatever happens. `progress` is called after each size, with the time that
/// it took without the removal.
///
/// # Errors
/// [`FilesError`].
pub fn run(
    plan: &FilesPlan,
    stop: &AtomicBool,
    mut progress: impl FnMut(u64, Nanos),
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
        progress(size, times.elapsed(plan));
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

/// Calls `work` for every file; the threads take files in turn.
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
        all.add(&times?);
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
            // A file that is too long is as wrong as one that is too short.
            Ok((count, file.read(&mut [0])?))
        })
        .map_err(failed(path))?;
    if count == bytes.len() && more == 0 && content::is_right(work.key, 0, work.bytes) {
        return Ok(());
    }
    Err(FilesError::Content(work.path.clone()))
}

/// Drops all files from the page cache and verifies it.
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
            let mut sizes = 0;
            let plan = FilesPlan { threads, sync: true, stat: true, delete: true, ..plan(dir.clone()) };
            let reports = run(&plan, &AtomicBool::new(false), |_, _| sizes += 1).unwrap();
            assert_eq!(sizes, 2);
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
        // Another process removes a file during the run.
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
