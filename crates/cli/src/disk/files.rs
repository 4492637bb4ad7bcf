//! `pitot disk files`: experiment E3.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::time::SystemTime;

use clap::Args;
use pitot_disk::file_system;
use pitot_disk::files::{self, FilesError, FilesPlan, Phase, PhaseReport, SizeReport};
use pitot_meter::units;
use pitot_results::disk::{DiskFiles, FILES, FilesOfSize, FilesOptions, FilesPhase, SCHEMA};
use pitot_results::{Drawn, Failure, Latency, rfc3339, stderr};

use super::output::{residency, size};
use super::signals::stop_on_signals;
use crate::output::{Sink, table};

/// Create, write and read back many small files of each size in one directory.
///
/// The defaults repeat the 2001 comparison of file systems: 10,000 files, one at a time, from 4 KiB to 128 KiB. Each phase is timed
/// separately, the contents are checked, and all files are removed at the end.
#[derive(Debug, Args)]
pub(crate) struct Files {
    /// The directory of the files, which must be empty or not exist. [default: a new one in the current directory]
    #[arg(long)]
    dir: Option<PathBuf>,
    /// Files of each size.
    #[arg(long, default_value = "10k", value_parser = units::count)]
    count: u64,
    /// Sizes of the files.
    #[arg(long, value_delimiter = ',', default_value = "4KiB,8KiB,16KiB,32KiB,64KiB,128KiB", value_parser = units::size)]
    sizes: Vec<u64>,
    /// Threads that share the work.
    #[arg(long, default_value_t = 1)]
    parallel: u32,
    /// Sync each file before it is closed.
    #[arg(long)]
    fsync: bool,
    /// Drop the files from the page cache before they are read back.
    #[arg(long)]
    cold: bool,
    /// Also time stat(2) of each file.
    #[arg(long)]
    stat: bool,
    /// Also time the removal.
    #[arg(long)]
    delete: bool,
    /// The seed of the contents.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Write the results as JSON to this file; - is standard output, without the table.
    #[arg(long, value_name = "PATH")]
    json: Option<PathBuf>,
}

impl Files {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let own = || PathBuf::from(format!("pitot-files-{}", std::process::id()));
        let plan = FilesPlan {
            dir: self.dir.clone().unwrap_or_else(own),
            count: u32::try_from(self.count)
                .map_err(|_| Failure::misuse("too many files", "set --count below 4G"))?,
            sizes: self.sizes,
            threads: self.parallel,
            sync: self.fsync,
            cold: self.cold,
            stat: self.stat,
            delete: self.delete,
            seed: self.seed,
        };
        let sink = Sink::create(self.json.as_deref())?;
        let started_at = rfc3339(SystemTime::now());
        let stop = stop_on_signals()?;
        let reports = run(&plan, &stop, sink.quiet)?;
        // The directory may be removed by now, but its parent is still there.
        let dir = plan.dir.canonicalize().ok().or_else(|| plan.dir.parent().map(|p| p.join(".")));
        let file_system = dir.and_then(|dir| file_system::name(&dir).ok()).unwrap_or_default();
        let table = summary(&plan, &reports, &file_system);
        sink.write(&Drawn::default().text(table), &result(&plan, &reports, file_system, started_at))?;
        Ok(ExitCode::SUCCESS)
    }
}

fn run(plan: &FilesPlan, stop: &AtomicBool, quiet: bool) -> Result<Vec<SizeReport>, Failure> {
    let report = |bytes, elapsed| {
        if !quiet {
            stderr::line(format_args!("{}: {elapsed}", size(bytes)));
        }
    };
    files::run(plan, stop, report).map_err(|error| {
        let what = error.to_string();
        match error {
            FilesError::Plan => Failure::misuse(what, "set --count, --sizes and --parallel to at least 1"),
            FilesError::NotEmpty(_) => {
                Failure::misuse(what, "choose an empty directory, or one that does not exist")
            }
            FilesError::Io { .. } => Failure::run(what, "check permissions, free space and inodes: df -i"),
            FilesError::Content(_) => {
                Failure::run(what, "do not trust this disk; check the kernel log: dmesg")
            }
            FilesError::StayedHot(_) => {
                Failure::run(what, "use a file system on a disk (this one may be in memory), or omit --cold")
            }
            FilesError::Interrupted => Failure::run(what, "run it again for a result"),
        }
    })
}

/// The phases that this plan measured.
fn phases(reports: &[SizeReport]) -> Vec<Phase> {
    reports.first().map_or(Vec::new(), |first| first.phases.iter().map(|p| p.phase).collect())
}

fn summary(plan: &FilesPlan, reports: &[SizeReport], file_system: &str) -> String {
    let phases = phases(reports);
    let mut head = vec!["size".to_owned(), "total".to_owned(), "files/s".to_owned()];
    for phase in &phases {
        head.push(format!("{} us", phase.name()));
        head.push("p99 us".to_owned());
    }
    let rows = reports.iter().map(|report| {
        let total = report.elapsed();
        let rate = f64::from(plan.count) / total.as_secs_f64();
        let mut row = vec![size(report.size), total.to_string(), format!("{rate:.0}")];
        for phase in &report.phases {
            row.push(format!("{:.1}", phase.latency.mean().0 as f64 / 1e3));
            row.push(format!("{:.1}", phase.latency.at(0.99).0 as f64 / 1e3));
        }
        row
    });
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    let threads =
        if plan.threads == 1 { "one at a time".into() } else { format!("{} threads", plan.threads) };
    let cold = if plan.cold { ", read back cold" } else { "" };
    format!(
        "{} files of each size in one directory on {file_system}, {threads}{cold}\n\n{}\n{}\n\
         Published (Lyris Technologies, 2001): ext2 and NTFS alike, UFS of FreeBSD 6 times slower, UFS of Solaris \
         10 times slower.\n",
        plan.count,
        table(&head, &rows.collect::<Vec<_>>()),
        chart(reports),
    )
}

/// Columns of the longest bar.
const BAR: f64 = 60.0;

/// A bar per size, as long as its time, made of the first letters of its phases.
fn chart(reports: &[SizeReport]) -> String {
    let longest = reports.iter().map(|r| r.elapsed().as_secs_f64()).fold(f64::MIN_POSITIVE, f64::max);
    let mut text = String::new();
    for report in reports {
        text.push_str(&format!("{:>7} ", size(report.size)));
        let (mut at, mut drawn) = (0.0, 0);
        for phase in report.phases.iter().filter(|p| p.phase.is_published()) {
            at += phase.elapsed.as_secs_f64();
            let end = (at / longest * BAR).round() as usize;
            text.push_str(&phase.phase.name()[..1].repeat(end - drawn));
            drawn = end;
        }
        text.push_str(&format!(" {}\n", report.elapsed()));
    }
    let letters = phases(reports).into_iter().filter(|p| p.is_published());
    let letters: Vec<String> = letters.map(|p| format!("{} {}", &p.name()[..1], p.name())).collect();
    format!("{text}        {}\n", letters.join(", "))
}

fn result(plan: &FilesPlan, reports: &[SizeReport], file_system: String, started_at: String) -> DiskFiles {
    let files_per_s = |seconds: f64| if seconds > 0.0 { f64::from(plan.count) / seconds } else { 0.0 };
    let phase = |phase: &PhaseReport| {
        let elapsed_s = phase.elapsed.as_secs_f64();
        FilesPhase {
            phase: phase.phase.name().into(),
            elapsed_s,
            files_per_s: files_per_s(elapsed_s),
            latency_ns: Latency::of(&phase.latency),
            histogram: phase.latency.encode(),
        }
    };
    let size = |report: &SizeReport| {
        let elapsed_s = report.elapsed().as_secs_f64();
        FilesOfSize {
            size_bytes: report.size,
            elapsed_s,
            files_per_s: files_per_s(elapsed_s),
            phases: report.phases.iter().map(phase).collect(),
            cache_before_read: report.cold.as_ref().map(residency),
        }
    };
    DiskFiles {
        schema: SCHEMA.into(),
        command: FILES.into(),
        version: env!("CARGO_PKG_VERSION").into(),
        started_at,
        file_system,
        options: FilesOptions {
            dir: plan.dir.to_string_lossy().into_owned(),
            count: plan.count.into(),
            sizes: plan.sizes.clone(),
            parallel: plan.threads.into(),
            fsync: plan.sync,
            cold: plan.cold,
            stat: plan.stat,
            delete: plan.delete,
            seed: plan.seed,
        },
        sizes: reports.iter().map(size).collect(),
    }
}
