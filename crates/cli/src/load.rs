//! `pitot load`.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use clap::Args;
use pitot_load::{
    Options, PaceOptions, Plan, Progress, Report, Respawn, Step, Verdict, Watch, WorkerSpec, WorkloadOptions,
    output,
};
use pitot_meter::hlog::LogWriter;
use pitot_meter::{Nanos, units};
use pitot_results::Failure;
use pitot_sys::signal::{Signal, SignalFd};

use crate::value::{self, Cpus};

/// Put load on a server and tell the truth about what came of it.
///
/// Connections, requests and rates are totals, whatever the number of threads and processes. Response time counts from
/// the moment at which a request should have started, service time from the moment at which it was sent; with a
/// pace that does not wait for the server (-R) the two differ, and both are shown.
#[derive(Debug, Args)]
pub(crate) struct Load {
    /// The target: http://host:port/path, http://host:port/files/{0..9999} (a set, see --choice), blob://host:port/bytes, busy://host:port ...
    url: String,

    /// Active connections in all; 0 for idle ones only.
    #[arg(short, long, value_name = "N", value_parser = units::count, default_value = "10", help_heading = "Load")]
    connections: u64,
    /// Length of the measured part. [default: 10s, or without end if -n is given]
    #[arg(short, long, value_name = "TIME", value_parser = units::duration, help_heading = "Load")]
    duration: Option<Nanos>,
    /// Requests in all, after which the run ends.
    #[arg(short = 'n', long, value_name = "N", value_parser = units::count, help_heading = "Load")]
    requests_total: Option<u64>,
    /// Requests per second in all; without a rate each connection waits for its reply.
    #[arg(short = 'R', long, value_name = "RATE", value_parser = units::rate, help_heading = "Load")]
    rate: Option<f64>,
    /// When requests start: closed, constant, poisson, stages, search. [default: what the other options say]
    #[arg(long, value_name = "PACE", help_heading = "Load")]
    pace: Option<String>,
    /// Time before the measured part, with the same load.
    #[arg(long, value_name = "TIME", value_parser = units::duration, default_value = "0s", help_heading = "Load")]
    warmup: Nanos,
    /// How long to wait for a connection and for a reply; and with a rate, for a free connection, before a request
    /// counts as missed.
    #[arg(long, value_name = "TIME", value_parser = units::duration, default_value = "5s", help_heading = "Load")]
    timeout: Nanos,
    /// The pause between a reply and the next request of its connection.
    #[arg(long, value_name = "TIME", value_parser = units::duration, help_heading = "Load")]
    think: Option<Nanos>,
    /// Rates that rise and fall: 0:1000rps:30s,1000:5000rps:1m
    #[arg(long, value_name = "FROM:TO:TIME,...", help_heading = "Load")]
    stages: Option<String>,
    /// Find the highest rate that meets conditions: 'p99 < 5ms, errors < 0.1%'
    #[arg(long, value_name = "CONDITIONS", help_heading = "Load")]
    search: Option<String>,
    /// What random choices depend on; the same seed makes the same arrivals.
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Load")]
    seed: u64,

    /// Requests under way at once on each connection.
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Connections")]
    pipeline: u16,
    /// Requests after which a connection is closed and another opened.
    #[arg(long, value_name = "N", value_parser = units::count, help_heading = "Connections")]
    requests_per_connection: Option<u64>,
    /// Connections per second, of all together, to close and open again.
    #[arg(long, value_name = "RATE", value_parser = units::rate, help_heading = "Connections")]
    churn: Option<f64>,
    /// Open all connections at once, and measure the time until they are established.
    #[arg(long, help_heading = "Connections")]
    storm: bool,
    /// Silent connections beside the active ones.
    #[arg(long, value_name = "N", value_parser = units::count, default_value = "0", help_heading = "Connections")]
    idle: u64,
    /// Let each silent connection send a request every TIME, which is counted apart.
    #[arg(long, value_name = "TIME", value_parser = units::duration, help_heading = "Connections")]
    idle_trickle: Option<Nanos>,
    /// Local addresses to connect from, in turn: 127.0.0.0/28
    #[arg(long, value_name = "CIDR", help_heading = "Connections")]
    source: Option<String>,

    /// Method of the requests.
    #[arg(long, value_name = "METHOD", default_value = "GET", help_heading = "Requests")]
    method: String,
    /// A header to add, as 'Name: value'; may be given several times.
    #[arg(short = 'H', long = "header", value_name = "HEADER", help_heading = "Requests")]
    headers: Vec<String>,
    /// Body of the requests, or @FILE.
    #[arg(long, value_name = "TEXT|@FILE", help_heading = "Requests")]
    body: Option<String>,
    /// A path, with a weight: /a=3; may be given several times, instead of the URL's path. A range stands for a set of
    /// paths, here as in the URL: /files/{0..9999}
    #[arg(long = "path", value_name = "PATH[=WEIGHT]", help_heading = "Requests")]
    paths: Vec<String>,
    /// A file of requests to be sent in turn; each line is METHOD PATH, and BODY or @FILE if it has one.
    #[arg(long, value_name = "FILE", help_heading = "Requests")]
    requests: Option<PathBuf>,
    /// How to choose from several requests: turn, uniform (by weight), zipf:0.99 (the nth of the set n^0.99 times less
    /// often than the first). [default: uniform; turn for a file of requests]
    #[arg(long, value_name = "CHOICE", help_heading = "Requests")]
    choice: Option<String>,
    /// Statuses that count as right: 200,204 or 2xx. [default: everything below 400]
    #[arg(long, value_name = "LIST", help_heading = "Requests")]
    expect_status: Option<String>,
    /// Content that every reply must have.
    #[arg(long, value_name = "FILE", help_heading = "Requests")]
    expect_body: Option<PathBuf>,
    /// Compare generated content with what it must be (blob, and /bytes/N of http).
    #[arg(long, help_heading = "Requests")]
    verify: bool,

    /// Threads, each with its own loop and connections.
    #[arg(short, long, value_name = "N", value_parser = units::count, help_heading = "Machine")]
    threads: Option<u64>,
    /// Processes, or auto: as many as the limit on descriptors makes necessary.
    #[arg(long, value_name = "N|auto", value_parser = processes, default_value = "auto", help_heading = "Machine")]
    processes: ProcessCount,
    /// CPUs to pin the threads to, in turn: 0,2-3
    #[arg(long, value_name = "LIST", value_parser = value::cpus, help_heading = "Machine")]
    cpus: Option<Cpus>,
    /// How the loop talks to the kernel: epoll or uring.
    #[arg(long, value_name = "ENGINE", default_value = "epoll", help_heading = "Machine")]
    engine: String,

    /// End the run as failed once a condition holds, looked at every second: 'errors > 1%'
    #[arg(long, value_name = "CONDITION", help_heading = "Result")]
    abort_on: Vec<String>,
    /// Exit with code 1 if a condition holds at the end: 'p99 > 5ms'
    #[arg(long, value_name = "CONDITION", help_heading = "Result")]
    fail_if: Vec<String>,
    /// Show the samples behind each percentile, the distribution, and what became of connections.
    #[arg(short = 'L', long, help_heading = "Result")]
    latency: bool,
    /// Write the result as one JSON object; - is standard output, which then holds nothing else.
    #[arg(long, value_name = "PATH|-", help_heading = "Result")]
    json: Option<PathBuf>,
    /// Write the run by the second.
    #[arg(long, value_name = "PATH", help_heading = "Result")]
    csv: Option<PathBuf>,
    /// Write response times by the second, and all other latencies, as an HdrHistogram log.
    #[arg(long, value_name = "PATH", help_heading = "Result")]
    hlog: Option<PathBuf>,

    /// The share of a worker process; for the program's own use.
    #[arg(long, hide = true, value_parser = WorkerSpec::parse)]
    worker: Option<WorkerSpec>,
}

/// How many processes; none for as many as needed.
#[derive(Clone, Copy, Debug)]
struct ProcessCount(Option<u64>);

fn processes(text: &str) -> Result<ProcessCount, String> {
    match text {
        "auto" => Ok(ProcessCount(None)),
        number => units::count(number).map(|n| ProcessCount(Some(n))).map_err(|e| e.to_string()),
    }
}

impl Load {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let run = Plan::new(&self.options())?.prepare()?;
        if let Some(spec) = &self.worker {
            return match pitot_load::work(&run, spec) {
                Ok(()) => Ok(ExitCode::SUCCESS),
                Err(why) => Err(Failure::run(why, "the first process tells more")),
            };
        }
        // Before any thread is there, so that all of them leave the signals to this descriptor.
        let signals = SignalFd::new(&[Signal::Interrupt, Signal::Terminate]).map_err(|e| {
            Failure::run(
                format!("signals cannot be taken: {e}"),
                "raise the limit on descriptors with ulimit -n",
            )
        })?;
        // Opened before the run: a name that cannot be written is told before, not after it.
        let mut files = Files::create(&self)?;
        let mut watch = Screen {
            signals,
            live: io::stderr().is_terminal(),
            steps: self.json.as_deref() != Some(Path::new("-")),
            log: files
                .hlog
                .take()
                .map(|file| HistogramLog::Waiting(file, format!("pitot load {}", self.url))),
            shown: false,
        };
        let result = pitot_load::run(&run, respawn()?.as_ref(), &mut watch);
        watch.clear();
        let report = result?;
        if let Some(log) = watch.log.take() {
            log.finish(&report).map_err(|e| not_written("the histogram log", &e))?;
        }
        files.write(&report)?;
        if self.json.as_deref() != Some(Path::new("-")) {
            print(&output::summary(&report, self.latency));
        }
        if report.client.verdict == Verdict::Failed {
            return Err(Failure::run(
                report.client.reason.clone(),
                format!("is the server running, and is {} its address?", self.url),
            ));
        }
        if let Some(why) = report.ended_early.as_ref().filter(|_| !report.is_success()) {
            return Err(Failure::run(
                format!("the run ended early: {why}"),
                "the figures are those up to its end",
            ));
        }
        Ok(if report.is_success() { ExitCode::SUCCESS } else { ExitCode::from(1) })
    }

    fn options(&self) -> Options {
        Options {
            url: self.url.clone(),
            workload: WorkloadOptions {
                connections: self.connections,
                requests_per_connection: self.requests_per_connection,
                churn: self.churn,
                storm: self.storm,
                idle: self.idle,
                idle_trickle: self.idle_trickle,
            },
            pace: self.pace.clone(),
            pacing: PaceOptions {
                rate: self.rate,
                think: self.think,
                stages: self.stages.clone(),
                search: self.search.clone(),
            },
            pipeline: self.pipeline,
            threads: self.threads,
            processes: self.processes.0,
            cpus: self.cpus.clone().unwrap_or_default().0,
            duration: self.duration,
            requests: self.requests_total,
            warmup: self.warmup,
            timeout: self.timeout,
            engine: Some(self.engine.clone()),
            source: self.source.clone(),
            method: self.method.clone(),
            headers: self.headers.clone(),
            body: self.body.clone(),
            paths: self.paths.clone(),
            requests_file: self.requests.clone(),
            choice: self.choice.clone(),
            expect_status: self.expect_status.clone(),
            expect_body: self.expect_body.clone(),
            verify: self.verify,
            seed: self.seed,
            abort_on: self.abort_on.clone(),
            fail_if: self.fail_if.clone(),
        }
    }
}

/// This very command line, for worker processes.
fn respawn() -> Result<Option<Respawn>, Failure> {
    let program = std::env::current_exe().map_err(|e| {
        Failure::run(format!("the program's own file cannot be found: {e}"), "is /proc mounted?")
    })?;
    Ok(Some(Respawn { program, arguments: std::env::args_os().skip(1).collect() }))
}

/// Where the result is written.
struct Files {
    json: Option<Box<dyn Write>>,
    csv: Option<BufWriter<File>>,
    hlog: Option<BufWriter<File>>,
}

impl Files {
    fn create(load: &Load) -> Result<Files, Failure> {
        let create = |path: &PathBuf| {
            File::create(path).map(BufWriter::new).map_err(|e| {
                Failure::misuse(
                    format!("{} cannot be written: {e}", path.display()),
                    "check the directory and its permissions",
                )
            })
        };
        let json: Option<Box<dyn Write>> = match &load.json {
            None => None,
            Some(path) if path == Path::new("-") => Some(Box::new(io::stdout())),
            Some(path) => Some(Box::new(create(path)?)),
        };
        Ok(Files {
            json,
            csv: load.csv.as_ref().map(create).transpose()?,
            hlog: load.hlog.as_ref().map(create).transpose()?,
        })
    }

    fn write(&mut self, report: &Report) -> Result<(), Failure> {
        if let Some(out) = &mut self.json {
            let written = serde_json::to_writer(&mut *out, report).map_err(io::Error::from);
            written
                .and_then(|()| writeln!(out))
                .and_then(|()| out.flush())
                .map_err(|e| not_written("the JSON result", &e))?;
        }
        if let Some(out) = &mut self.csv {
            output::write_csv(out, &report.series).map_err(|e| not_written("the table", &e))?;
        }
        Ok(())
    }
}

fn not_written(what: &str, e: &io::Error) -> Failure {
    Failure::run(format!("{what} could not be written: {e}"), "is the disk full?")
}

fn print(text: &str) {
    // A reader that has gone away, as `head` does, is no failure.
    let _ = io::stdout().write_all(text.as_bytes());
}

/// Shows progress where somebody looks, keeps the histogram log, and hears Ctrl-C.
struct Screen {
    signals: SignalFd,
    /// Standard error is a terminal.
    live: bool,
    /// Standard output may hold lines for people.
    steps: bool,
    log: Option<HistogramLog>,
    shown: bool,
}

/// A histogram log. It starts with the measured part, of which the first second tells.
enum HistogramLog {
    Waiting(BufWriter<File>, String),
    Open(LogWriter<BufWriter<File>>),
    Failed(io::Error),
}

impl HistogramLog {
    /// Adds the response times of the second that is just over.
    fn second(self, progress: &Progress<'_>) -> HistogramLog {
        let start = Nanos::from_secs(progress.second.t_s);
        let length = Nanos::from_secs(1);
        let log = match self {
            HistogramLog::Waiting(file, comment) => {
                let started = SystemTime::now() - Duration::from(start + length);
                LogWriter::new(file, started, &comment)
            }
            HistogramLog::Open(log) => Ok(log),
            HistogramLog::Failed(e) => Err(e),
        };
        let written = log.and_then(|mut log| {
            log.write("response", start, length, progress.response)?;
            Ok(log)
        });
        written.map_or_else(HistogramLog::Failed, HistogramLog::Open)
    }

    /// Adds what is known only at the end.
    fn finish(self, report: &Report) -> io::Result<()> {
        let mut log = match self {
            HistogramLog::Open(log) => log,
            HistogramLog::Waiting(file, comment) => LogWriter::new(file, SystemTime::now(), &comment)?,
            HistogramLog::Failed(e) => return Err(e),
        };
        let length = Nanos((report.duration_s * 1e9) as u64);
        for (name, histogram) in report.recorded.named() {
            if name != "response" {
                log.write(name, Nanos::ZERO, length, histogram)?;
            }
        }
        log.finish().map(drop)
    }
}

impl Watch for Screen {
    fn second(&mut self, progress: &Progress<'_>) {
        self.log = self.log.take().map(|log| log.second(progress));
        if self.live {
            self.shown = true;
            let _ = write!(io::stderr(), "\r\x1b[K{}", output::progress_line(progress));
        }
    }

    fn step(&mut self, step: &Step) {
        self.clear();
        if self.steps {
            print(&format!("{}\n", output::step_line(step)));
        }
    }

    fn interrupted(&mut self) -> bool {
        self.signals.next().is_some()
    }
}

impl Screen {
    /// Takes the progress line away.
    fn clear(&mut self) {
        if std::mem::take(&mut self.shown) {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}
