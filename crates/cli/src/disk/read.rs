//! `pitot disk read`: reads of a file set by every engine.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::time::SystemTime;

use clap::Args;
use clap::builder::ValueParser;
use pitot_disk::bench::{self, BenchError, CacheState, Check, Pattern, ReadPlan, ReadReport, Until};
use pitot_disk::cache::Residency;
use pitot_disk::set::{FileSet, SetError, SetPlan};
use pitot_disk::{Destination, ENGINES, EngineEntry, EngineOptions, NotifyBy, file_system};
use pitot_meter::{Nanos, units};
use pitot_results::disk::{
    DiskRead, READ, ReadCache, ReadCpu, ReadErrors, ReadOptions, ReadRun, ReadSet, SCHEMA, SkippedEngine,
};
use pitot_results::{Drawn, Failure, Latency, rfc3339, stderr};

use super::output::{residency, size};
use super::signals::stop_on_signals;
use crate::choice::{one_of, word};
use crate::failure::hint;
use crate::output::{Sink, table};
use crate::renamed::refusal;
use crate::serve_disk::notifications;

/// Read a set of files by one engine or several: throughput, latency, CPU per read.
///
/// The files have known contents and every read is checked. The page cache is brought into the requested state, which cachestat(2) or
/// mincore(2) verifies. Several engines are measured one after another; an engine that does not support an option is skipped with the
/// reason.
#[derive(Debug, Args)]
pub(crate) struct Read {
    /// Engines, or `all`; `pitot list engines` describes each.
    #[arg(long, value_delimiter = ',', default_value = "pread", value_name = "NAMES")]
    engine: Vec<String>,
    /// The order of reads.
    #[arg(long, default_value = "random", value_parser = patterns())]
    pattern: Pattern,
    /// The state of the page cache; not with --direct, which bypasses it.
    #[arg(long, conflicts_with = "direct", value_parser = states())]
    state: Option<CacheState>,
    /// Bytes per read.
    #[arg(long, default_value = "4KiB", value_parser = units::size)]
    block: u64,
    /// Requests in flight.
    #[arg(long, default_value_t = 16)]
    depth: u32,
    /// Requests queued before they are committed. [default: the depth]
    #[arg(long)]
    batch: Option<u32>,
    /// Files in the set.
    #[arg(long, default_value_t = 1)]
    files: u32,
    /// Bytes in each file.
    #[arg(long, default_value = "256MiB", value_parser = units::size)]
    file_size: u64,
    /// The directory of the files: empty, new, or with the same set from an earlier --keep.
    /// [default: a new one in the current directory]
    #[arg(long)]
    dir: Option<PathBuf>,
    /// Do not remove the files.
    #[arg(long)]
    keep: bool,
    /// Measure for this long. [default: 5s]
    #[arg(short, long, value_parser = units::duration, conflicts_with = "requests")]
    duration: Option<Nanos>,
    /// Measure this many reads.
    #[arg(short = 'n', long, value_parser = units::count)]
    requests: Option<u64>,
    /// Read this long before anything is counted.
    #[arg(long, default_value = "0s", value_parser = units::duration)]
    warmup: Nanos,
    /// Where the bytes go. [default: the best of the engine]
    #[arg(long, value_parser = destinations())]
    target: Option<Destination>,
    /// How much of the data read into memory is checked.
    #[arg(long, default_value = "ends", value_parser = checks())]
    check: Check,
    /// Limit on helper threads.
    #[arg(long, default_value_t = 4)]
    threads: u32,
    /// How helper threads notify of completions.
    #[arg(long, default_value = "eventfd", value_parser = notifications())]
    notify: NotifyBy,
    #[arg(long = "told", hide = true, value_parser = refuse_told)]
    _told: Option<String>,
    /// Read around the page cache (O_DIRECT).
    #[arg(long)]
    direct: bool,
    /// Open each file once per slot of the queue.
    #[arg(long)]
    descriptor_per_slot: bool,
    /// Ask mincore(2) before a mapping is touched.
    #[arg(long)]
    mincore: bool,
    /// Register the buffers with the kernel.
    #[arg(long)]
    fixed_buffers: bool,
    /// Register the files with the kernel.
    #[arg(long)]
    fixed_files: bool,
    /// Notify of completions through a descriptor, as an event loop needs it, even if that costs extra.
    #[arg(long)]
    event_loop: bool,
    /// The seed of the contents and of the order.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Write the results as JSON to this file; - is standard output, without the table.
    #[arg(long, value_name = "PATH")]
    json: Option<PathBuf>,
}

fn patterns() -> ValueParser {
    one_of([
        (word(Pattern::Random.name(), "Each block once per pass, in a pseudo-random order"), Pattern::Random),
        (word(Pattern::Sequential.name(), "File after file from start to end"), Pattern::Sequential),
    ])
}

fn states() -> ValueParser {
    let limit = "The set is four times as large as the memory that this process may use";
    one_of([
        (word("as-is", "As found"), CacheState::AsIs),
        (word("hot", "All of it is read first"), CacheState::Hot),
        (word("cold", "Dropped (POSIX_FADV_DONTNEED) before each pass"), CacheState::ColdByDrop),
        (word("limit", limit), CacheState::ColdByLimit),
    ])
}

fn destinations() -> ValueParser {
    let socket = "To a TCP socket on loopback, emptied by a thread whose CPU time is not counted";
    one_of([
        (word(Destination::Buffer.name(), "Into memory"), Destination::Buffer),
        (word(Destination::Socket.name(), socket), Destination::Socket),
    ])
}

fn checks() -> ValueParser {
    one_of([
        (word("ends", "First and last word of each block"), Check::Ends),
        (word("all", "Every byte"), Check::All),
    ])
}

/// The value parser of `--told`.
fn refuse_told(_: &str) -> Result<String, String> {
    Err(refusal("told"))
}

enum Outcome {
    Measured(Box<(ReadPlan, ReadReport)>),
    Skipped(&'static EngineEntry, String),
}

impl Read {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let engines = self.engines()?;
        let plans: Vec<ReadPlan> = engines.iter().map(|engine| self.plan(engine)).collect();
        let set_bytes = self.file_size.saturating_mul(u64::from(self.files));
        if let [plan] = &plans[..] {
            plan.check(set_bytes).map_err(fail)?;
        }
        let sink = Sink::create(self.json.as_deref())?;
        let started_at = rfc3339(SystemTime::now());
        let stop = stop_on_signals()?;
        let own = || PathBuf::from(format!("pitot-read-{}", std::process::id()));
        let set = SetPlan {
            dir: self.dir.clone().unwrap_or_else(own),
            files: self.files,
            size: self.file_size,
            seed: self.seed,
            keep: self.keep,
        };
        let set = FileSet::prepare(set, &stop).map_err(|e| fail(e.into()))?;
        let file_system = file_system::name(set.dir()).unwrap_or_default();
        let outcomes = measure(&plans, &set, &stop, sink.quiet)?;
        let table = self.summary(&outcomes, &file_system);
        sink.write(&Drawn::default().text(table), &self.result(&outcomes, file_system, started_at))?;
        let failed = |outcome: &Outcome| matches!(outcome, Outcome::Measured(m) if !m.1.errors.is_empty());
        Ok(if outcomes.iter().any(failed) { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }

    fn engines(&self) -> Result<Vec<&'static EngineEntry>, Failure> {
        if self.engine == ["all"] {
            return Ok(ENGINES.iter().collect());
        }
        let find = |name: &String| {
            pitot_disk::find(name).ok_or_else(|| {
                let near = hint(name, ENGINES.iter().map(|e| e.name));
                Failure::misuse(
                    format!("unknown engine `{name}`{near}"),
                    "see `pitot list engines`, or use all: --engine all",
                )
            })
        };
        self.engine.iter().map(find).collect()
    }

    fn plan(&self, engine: &'static EngineEntry) -> ReadPlan {
        let options = EngineOptions {
            depth: self.depth,
            threads: self.threads,
            notify: self.notify,
            descriptor_per_slot: self.descriptor_per_slot,
            mincore: self.mincore,
            fixed_buffers: self.fixed_buffers,
            fixed_files: self.fixed_files,
            direct: self.direct,
            event_loop: self.event_loop,
        };
        ReadPlan {
            engine,
            options,
            target: self.target,
            pattern: self.pattern,
            state: match self.direct {
                true => CacheState::ColdByDirect,
                false => self.state.unwrap_or(CacheState::AsIs),
            },
            block: usize::try_from(self.block).unwrap_or(usize::MAX),
            batch: self.batch.unwrap_or(self.depth),
            warmup: self.warmup,
            until: match (self.requests, self.duration) {
                (Some(requests), _) => Until::Count(requests),
                (None, duration) => Until::Duration(duration.unwrap_or(Nanos::from_secs(5))),
            },
            check: self.check,
            seed: self.seed,
        }
    }

    fn summary(&self, outcomes: &[Outcome], file_system: &str) -> String {
        let mut rows = Vec::new();
        let mut notes = String::new();
        for outcome in outcomes {
            match outcome {
                Outcome::Measured(measured) => {
                    let (plan, report) = &**measured;
                    rows.push(row(plan, report));
                    for (what, count) in &report.errors {
                        notes.push_str(&format!("{}: {count} errors: {what}\n", plan.engine.name));
                    }
                    if report.misses > 0 {
                        let misses = report.misses;
                        notes.push_str(&format!("{}: {misses} went to helper threads\n", plan.engine.name));
                    }
                }
                Outcome::Skipped(engine, why) => {
                    notes.push_str(&format!("{}: skipped: {why}\n", engine.name));
                }
            }
        }
        let head = [
            "engine",
            "target",
            "reads/s",
            "MiB/s",
            "p50",
            "p99",
            "p99.9",
            "max",
            "CPU us/read",
            "in memory",
        ];
        format!(
            "{} file(s) of {} on {file_system}, {} reads of {}, depth {}, {}\n\n{}{}{notes}",
            self.files,
            size(self.file_size),
            self.plan(&ENGINES[0]).pattern.name(),
            size(self.block),
            self.depth,
            self.plan(&ENGINES[0]).state.name(),
            table(&head, &rows),
            if notes.is_empty() { "" } else { "\n" },
        )
    }

    fn result(&self, outcomes: &[Outcome], file_system: String, started_at: String) -> DiskRead {
        let (mut runs, mut skipped) = (Vec::new(), Vec::new());
        for outcome in outcomes {
            match outcome {
                Outcome::Measured(measured) => runs.push(run_result(&measured.0, &measured.1)),
                Outcome::Skipped(engine, why) => {
                    skipped.push(SkippedEngine { engine: engine.name.into(), why: why.clone() });
                }
            }
        }
        DiskRead {
            schema: SCHEMA.into(),
            command: READ.into(),
            version: env!("CARGO_PKG_VERSION").into(),
            started_at,
            file_system,
            set: ReadSet { files: self.files.into(), file_size_bytes: self.file_size, seed: self.seed },
            runs,
            skipped,
        }
    }
}

fn measure(
    plans: &[ReadPlan],
    set: &FileSet,
    stop: &AtomicBool,
    quiet: bool,
) -> Result<Vec<Outcome>, Failure> {
    let mut outcomes = Vec::new();
    for plan in plans {
        if !quiet && plans.len() > 1 {
            stderr::line(format_args!("{} ...", plan.engine.name));
        }
        outcomes.push(match bench::run(plan, set, stop) {
            Ok(report) => Outcome::Measured(Box::new((plan.clone(), report))),
            // Among several engines, one that cannot run is reported and skipped.
            Err(error @ (BenchError::Options(_) | BenchError::Plan(_) | BenchError::Unavailable(_)))
                if plans.len() > 1 =>
            {
                Outcome::Skipped(plan.engine, error.to_string())
            }
            Err(error) => return Err(fail(error)),
        });
    }
    Ok(outcomes)
}

fn fail(error: BenchError) -> Failure {
    let what = error.to_string();
    match error {
        BenchError::Options(_) | BenchError::Plan(_) => {
            Failure::misuse(what, "see `pitot disk read --help` and `pitot list engines`")
        }
        BenchError::Unavailable(unavailable) => Failure::run(what, unavailable.fix),
        BenchError::Set(SetError::Empty | SetError::Foreign { .. }) => Failure::misuse(
            what,
            "choose an empty or new directory, or the --files and --file-size of the set",
        ),
        BenchError::Set(SetError::Io { .. }) => Failure::run(what, "check permissions and free space: df"),
        BenchError::Set(SetError::Interrupted) | BenchError::Interrupted => {
            Failure::run(what, "run it again for a result")
        }
        BenchError::CacheState { .. } => Failure::run(
            what,
            "for hot, use a set that fits into memory; for cold, use a file system on a disk, with no other process mapping \
             the files",
        ),
        BenchError::Io { .. } => Failure::run(what, "check permissions, ulimit -n and ulimit -l"),
        BenchError::Errors { .. } => Failure::run(what, "check the kernel log: dmesg"),
    }
}

fn row(plan: &ReadPlan, report: &ReadReport) -> Vec<String> {
    let at = |quantile| report.latency.at(quantile).to_string();
    let percent = |residency: &Residency| format!("{:.0}%", residency.share() * 100.0);
    vec![
        plan.engine.name.to_owned(),
        report.target.name().to_owned(),
        format!("{:.0}", report.iops()),
        format!("{:.1}", report.throughput() / 1_048_576.0),
        at(0.5),
        at(0.99),
        at(0.999),
        report.latency.max().to_string(),
        format!("{:.2}", report.cpu_per_operation() * 1e6),
        format!("{} -> {}", percent(&report.before), percent(&report.after)),
    ]
}

fn run_result(plan: &ReadPlan, report: &ReadReport) -> ReadRun {
    let options = &plan.options;
    ReadRun {
        engine: plan.engine.name.into(),
        options: ReadOptions {
            target: report.target.name().into(),
            pattern: plan.pattern.name().into(),
            state: plan.state.name().into(),
            block_bytes: plan.block as u64,
            depth: options.depth.into(),
            batch: plan.batch.into(),
            threads: options.threads.into(),
            notify: options.notify.name().into(),
            descriptor_per_slot: options.descriptor_per_slot,
            mincore: options.mincore,
            fixed_buffers: options.fixed_buffers,
            fixed_files: options.fixed_files,
            direct: options.direct,
            event_loop: options.event_loop,
            blocks_on_cold: plan.engine.blocks_on_cold(options),
        },
        operations: report.operations,
        bytes: report.bytes,
        elapsed_s: report.elapsed.as_secs_f64(),
        iops: report.iops(),
        throughput_bytes_per_s: report.throughput(),
        latency_ns: Latency::of(&report.latency),
        histogram: report.latency.encode(),
        cpu: ReadCpu {
            user_s: report.cpu_user.as_secs_f64(),
            system_s: report.cpu_system.as_secs_f64(),
            per_operation_us: report.cpu_per_operation() * 1e6,
        },
        passes: report.passes,
        misses: report.misses,
        cache: ReadCache { before: residency(&report.before), after: residency(&report.after) },
        errors: report.errors.iter().map(|(what, &count)| ReadErrors { what: what.clone(), count }).collect(),
    }
}
