//! `pitot floor`.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::SystemTime;

use clap::Args;
use pitot_floor::request::REQUESTS;
use pitot_floor::{
    Crowd, Figure, Measurement, PUBLISHED_CROWD, Place, Primitive, crowd, measure, primitives,
};
use pitot_host::Fingerprint;
use pitot_meter::{Nanos, units};
use pitot_results::floor::{
    FloorFigure, FloorMissing, FloorOptions, FloorPrimitive, FloorRequest, FloorResult, FloorThreads, SCHEMA,
};
use pitot_results::{Drawn, Failure, Rows, rfc3339, stderr};
use pitot_sys::{affinity, limits};
pub(crate) use request::{floor_of_run, requests};

use crate::failure::hint;
use crate::formats::TextOrJson;
use crate::output::Sink;
use crate::screen::Color;
use crate::value::{self, Cpus};

mod beside;
mod request;
mod table;

/// Measure the cost of system calls, context switches, sockets, waits, memory and files, and the floor of a request.
///
/// Each round measures every primitive on one CPU, in random order. The figure is the median over rounds with its 95% interval. CPU
/// time includes all threads and children. The floor of a request is the sum of the primitives that no server can avoid.
#[derive(Debug, Args)]
pub(crate) struct Floor {
    /// Measure only these primitives (`pitot list primitives`).
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    primitive: Vec<String>,
    /// Rounds; at least six for an interval.
    #[arg(long, default_value_t = 11, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    rounds: u32,
    /// Time of a primitive in a round, without its preparation.
    #[arg(long, default_value = "20ms", value_parser = units::duration)]
    slice: Nanos,
    /// Also create and end N threads, with at most 50 alive; 100k is the published test.
    #[arg(long, value_parser = units::count, value_name = "N")]
    threads: Option<u64>,
    /// CPU of the measuring thread. [default: the first allowed one]
    #[arg(long, value_parser = value::cpus, value_name = "LIST")]
    cpus: Option<Cpus>,
    /// Directory of the small files.
    #[arg(long, default_value = ".")]
    dir: PathBuf,
    /// The seed of the orders of rounds.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Compare the servers of this run file, from this machine and kernel, with the floor of their requests.
    #[arg(long, value_name = "RUN.pitot")]
    beside: Option<PathBuf>,
    /// The kind of request of those servers.
    #[arg(long, default_value = "keep-alive", requires = "beside", value_parser = requests())]
    request: &'static str,
    /// The output format.
    #[arg(long, value_enum, default_value = "text")]
    format: TextOrJson,
    /// Write the results as JSON to this file; - is standard output, without the table.
    #[arg(long, value_name = "PATH")]
    json: Option<PathBuf>,
}

/// How many of the threads are alive in the published test.
const ALIVE: u32 = PUBLISHED_CROWD.alive;

impl Floor {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let host = request::host_of(&Fingerprint::collect());
        let beside = self.beside.as_deref().map(|path| beside::Cells::read(path, &host)).transpose()?;
        let plan = self.plan()?;
        let sink = Sink::create(self.json.as_deref())?;
        let started_at = rfc3339(SystemTime::now());
        let quiet = self.format == TextOrJson::Json || sink.quiet;
        let show = !quiet && pitot_sys::terminal::size(io::stderr()).is_some();
        let mut rows = Rows::default();
        let figures = measure(&plan, |round| {
            if show {
                stderr::draw(&rows.draw("", &format!("round {} of {}", round + 1, plan.rounds)));
            }
            true
        });
        stderr::draw(&rows.clear());
        let threads = self.threads.map(threads).transpose()?;
        let mut result = result(&plan, &figures, threads, started_at);
        result.host = host;
        result.beside = beside.map(|cells| cells.beside(&result, self.request));
        let text = match self.format {
            TextOrJson::Json => Drawn::default().text(format_args!("{:#}\n", serde_json::json!(result))),
            TextOrJson::Text => table::page(&result).draw(Color::AUTO.screen()),
        };
        sink.write(&text, &result)?;
        Ok(if result.primitives.is_empty() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }

    fn plan(&self) -> Result<Measurement, Failure> {
        let allowed = affinity::allowed().unwrap_or_default();
        let wanted = self.cpus.as_ref().map_or(&allowed[..], |cpus| &cpus.0[..]);
        let Some(&cpu) = wanted.first() else {
            return Err(Failure::misuse("no CPU is named", "name one: --cpus 0"));
        };
        affinity::pin(&[cpu]).map_err(|e| {
            Failure::misuse(format!("CPU {cpu} cannot be used: {e}"), "name CPUs of `nproc --all`: --cpus 0")
        })?;
        if !self.dir.is_dir() {
            let what = format!("{} is not a directory", self.dir.display());
            return Err(Failure::misuse(what, "name a writable directory: --dir /tmp"));
        }
        let _ = limits::raise_descriptors();
        let others = wanted.iter().chain(&allowed);
        let place =
            Place { cpu, other_cpu: others.copied().find(|other| *other != cpu), dir: self.dir.clone() };
        Ok(Measurement {
            primitives: self.primitives()?,
            place,
            rounds: self.rounds,
            slice: self.slice,
            seed: self.seed,
        })
    }

    fn primitives(&self) -> Result<Vec<&'static Primitive>, Failure> {
        if self.primitive.is_empty() {
            return Ok(primitives().collect());
        }
        let find = |name: &String| {
            pitot_floor::find(name).ok_or_else(|| {
                let near = hint(name, primitives().map(|primitive| primitive.name));
                let what = format!("no primitive is called `{name}`{near}");
                Failure::misuse(what, "see `pitot list primitives`")
            })
        };
        self.primitive.iter().map(find).collect()
    }
}

fn threads(count: u64) -> Result<Crowd, Failure> {
    let count = u32::try_from(count).map_err(|_| {
        Failure::misuse(
            format!("{count} threads are too many"),
            "use at most 100k, as the published test does",
        )
    })?;
    crowd(count, ALIVE).map_err(|e| {
        Failure::run(format!("a thread could not be created: {e}"), "raise the limit on threads: ulimit -u")
    })
}

fn result(plan: &Measurement, figures: &[Figure], threads: Option<Crowd>, started_at: String) -> FloorResult {
    let mut result = FloorResult {
        schema: SCHEMA.into(),
        version: env!("CARGO_PKG_VERSION").into(),
        started_at,
        options: FloorOptions {
            rounds: plan.rounds.into(),
            slice_ns: plan.slice.0,
            seed: plan.seed,
            cpu: plan.place.cpu as u64,
            other_cpu: plan.place.other_cpu.map(|cpu| cpu as u64),
        },
        ..FloorResult::default()
    };
    for Figure { primitive, rounds } in figures {
        match rounds {
            Ok(rounds) => result.primitives.push(FloorPrimitive {
                name: primitive.name.into(),
                operation: primitive.operation.name().into(),
                operations: rounds.iter().map(|round| round.operations).sum(),
                wall_ns: figure(&rounds.iter().map(|round| round.wall).collect::<Vec<_>>()),
                cpu_ns: figure(&rounds.iter().map(|round| round.cpu).collect::<Vec<_>>()),
            }),
            Err(missing) => result.missing.push(FloorMissing {
                name: primitive.name.into(),
                reason: missing.to_string(),
                fix: missing.fix.clone(),
            }),
        }
    }
    for request in REQUESTS {
        let of_round = |round: usize| {
            request.floor(|name| {
                let figure = figures.iter().find(|figure| figure.primitive.name == name)?;
                figure.rounds.as_ref().ok()?.get(round).map(|round| round.cpu)
            })
        };
        let floors: Vec<f64> = (0..plan.rounds as usize).filter_map(of_round).collect();
        if !floors.is_empty() {
            result.requests.push(FloorRequest { name: request.name.into(), cpu_ns: figure(&floors) });
        }
    }
    result.threads = threads.map(|crowd| {
        let same = (crowd.threads, crowd.alive) == (PUBLISHED_CROWD.threads, PUBLISHED_CROWD.alive);
        FloorThreads {
            threads: crowd.threads.into(),
            alive: crowd.alive.into(),
            took_s: crowd.took.as_secs_f64(),
            published_s: same.then(|| PUBLISHED_CROWD.took.as_secs_f64()),
        }
    });
    result
}

/// The median over rounds and its exact interval by order statistics.
fn figure(rounds: &[f64]) -> FloorFigure {
    let interval = pitot_stats::order_statistic_interval(rounds, 0.95);
    FloorFigure {
        median: pitot_stats::median(rounds).unwrap_or_default(),
        low: interval.map(|interval| interval.low),
        high: interval.map(|interval| interval.high),
    }
}
