//! `pitot load`.

mod asked;
mod content;
mod from;
mod hold;
mod options;
mod proxy;
mod reach;
mod repeats;
mod screen;
mod share;
mod tls;
mod visit;

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal as _, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use pitot_load::{LoadPlan, Preparing, Progress, Report, Respawn, Watch, output};
use pitot_meter::Nanos;
use pitot_meter::hlog::LogWriter;
use pitot_results::load::{ErrorRow, Step};
use pitot_results::secrets::mask;
use pitot_results::{Failure, stderr};
use pitot_sys::signal::{Signal, SignalFd};

use crate::load_failure;
use crate::metrics::{self, LoadMetrics};
use crate::output::{create, each, not_written, print, print_line, unwritable, write_json};
pub(crate) use options::Load;

/// How often a line about the run is printed where there is no terminal, seconds.
const PROGRESS_S: u64 = 10;

impl Load {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        if self.confine && self.processes.0.is_some_and(|processes| processes > 1) {
            return Err(Failure::misuse(
                "--confine forbids executing programs, which --processes needs",
                "omit --processes, and use --threads",
            ));
        }
        if self.hold {
            return hold::run(&self);
        }
        if let Some(file) = &self.from {
            return from::load(file, &own_words())?.run();
        }
        if self.dry_run {
            self.check()?;
            pitot_load::check_cpus(&self.cpus.clone().unwrap_or_default().0)?;
            Files::check(&self)?;
            print("the options are valid; nothing was sent\n")?;
            return Ok(ExitCode::SUCCESS);
        }
        let run = LoadPlan::new(&self.options())?.prepare()?;
        if let Some(spec) = &self.worker {
            return match pitot_load::work(&run, spec) {
                Ok(()) => Ok(ExitCode::SUCCESS),
                Err(why) => Err(Failure::run(why, "see the output of the first process")),
            };
        }
        // Before any thread is started, so that all of them leave the signals to this descriptor.
        let signals = SignalFd::new(&[Signal::Interrupt, Signal::Terminate]).map_err(|e| {
            Failure::run(
                format!("the signals cannot be blocked: {e}"),
                "raise the limit on descriptors with ulimit -n",
            )
        })?;
        if !run.is_local()
            && let Some(notice) = proxy::notice(run.target(), |name| std::env::var(name).ok())
        {
            stderr::line(notice);
        }
        if let Some(notice) = self
            .repeats
            .as_ref()
            .and_then(|repeats| repeats.notice(&run.asked()["body"], run.requests_from()))
        {
            stderr::line(notice);
        }
        if let Some(notice) = run.search_notice() {
            stderr::line(notice);
        }
        // Opened before the run, so that a file that cannot be written is reported before it.
        let mut files = Files::create(&self)?;
        let publisher = metrics::listen(self.metrics)?;
        let mut watch = Observer {
            signals,
            live: screen::live(),
            lines: self.progress_lines(),
            steps: !self.data_on_stdout(),
            intervals: self.intervals.map(output::Intervals::new),
            tells_start: self.steps.is_some(),
            is_part: self.share.is_some(),
            metrics: publisher.map(|publisher| LoadMetrics::new(publisher, &mask(run.target()))),
            log: files
                .hlog
                .take()
                .map(|file| HistogramLog::Waiting(file, format!("pitot load {}", run.target()))),
        };
        let respawn = self.respawn()?;
        if self.confine {
            crate::confine::load()?;
        }
        let result = pitot_load::run(&run, respawn.as_ref(), &mut watch);
        watch.clear();
        let mut report = result?;
        watch.end_intervals(&report.result.errors);
        let words = self.words().recorded(self.keep_secrets);
        let asked = &mut report.result.options["asked"];
        (asked["url"], asked["arguments"]) = words.to_json();
        let detail = output::Detail {
            samples: self.latency,
            timeline: self.timeline,
            width: crate::screen::known_width(),
        };
        each([
            if self.data_on_stdout() { Ok(()) } else { print(&output::summary(&report, detail)) },
            files.write_json(&report),
            files.write_csv(&report),
            watch
                .log
                .take()
                .map_or(Ok(()), |log| log.finish(&report).map_err(|e| not_written("the histogram log", &e))),
            load_failure::of(&report).map_or(Ok(()), Err),
        ])?;
        Ok(ExitCode::SUCCESS)
    }

    /// Checks the options as far as that is possible without running them.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        LoadPlan::new(&self.options()).map(drop)
    }

    /// The lines about the run for standard error, where they are wanted. A program that reads the result from standard
    /// output, as the lab does, has no use for them.
    fn progress_lines(&self) -> Option<output::Lines> {
        let reads_program = self.data_on_stdout() || self.share.is_some();
        let every_s = self.progress.unwrap_or(if reads_program { 0 } else { PROGRESS_S });
        (every_s > 0 && !io::stderr().is_terminal()).then(|| output::Lines::new(every_s))
    }

    /// Standard output is for a program to read, and holds no text for people.
    fn data_on_stdout(&self) -> bool {
        is_stdout(self.json.as_ref()) || is_stdout(self.csv.as_ref()) || self.intervals.is_some()
    }

    /// The command line that this run stands for.
    fn words(&self) -> asked::Words {
        self.repeats.as_ref().map_or_else(|| from::words(&own_words()), |repeats| from::words(&repeats.words))
    }

    /// The command line of this run, for worker processes.
    fn respawn(&self) -> Result<Option<Respawn>, Failure> {
        let program = std::env::current_exe().map_err(|e| {
            Failure::run(format!("the program's own file cannot be found: {e}"), "is /proc mounted?")
        })?;
        let arguments = match &self.repeats {
            Some(repeats) => {
                let words = repeats.words.iter().map(OsString::from);
                std::iter::once(OsString::from("load")).chain(words).collect()
            }
            None => std::env::args_os().skip(1).collect(),
        };
        Ok(Some(Respawn { program, arguments }))
    }
}

/// The words of this process's command line after `load`.
fn own_words() -> Vec<String> {
    std::env::args_os().skip(2).map(|word| word.to_string_lossy().into_owned()).collect()
}

/// Where the result is written.
struct Files {
    json: Option<Box<dyn Write>>,
    csv: Option<BufWriter<Box<dyn Write>>>,
    hlog: Option<BufWriter<File>>,
}

impl Files {
    /// Checks where the result is to be written, and creates nothing.
    fn check(load: &Load) -> Result<(), Failure> {
        Files::check_apart(load)?;
        let files = [&load.json, &load.csv, &load.hlog].into_iter().flatten();
        files
            .filter(|path| !is_stdout(Some(*path)))
            .try_for_each(|path| pitot_sys::access::can_be_written(path).map_err(|e| unwritable(path, &e)))
    }

    /// Standard output takes one kind of data, and so does a file.
    fn check_apart(load: &Load) -> Result<(), Failure> {
        let (json, csv) = (is_stdout(load.json.as_ref()), is_stdout(load.csv.as_ref()));
        let both = match (json, csv) {
            (true, true) => Some("--json - and --csv -"),
            (true, false) if load.intervals.is_some() => Some("--json - and --intervals"),
            _ => None,
        };
        if let Some(both) = both {
            return Err(Failure::misuse(
                format!("{both} would both write to standard output"),
                if csv {
                    "write one of them to a file"
                } else {
                    "write the result to a file: --json result.json"
                },
            ));
        }
        if load.hlog.as_deref() == Some(Path::new("-")) {
            return Err(Failure::misuse(
                "--hlog - is not supported: a histogram log is written to a file",
                "name a file, such as --hlog run.hlog (or ./- for one of that name)",
            ));
        }
        let outputs = [("--json", &load.json), ("--csv", &load.csv), ("--hlog", &load.hlog)];
        let named: Vec<(&str, &PathBuf)> =
            outputs.into_iter().filter_map(|(option, path)| Some((option, path.as_ref()?))).collect();
        for (n, (option, path)) in named.iter().enumerate() {
            let other = named[..n].iter().find(|(_, other)| other == path);
            // A device, such as /dev/null, takes all of them.
            if let Some((other, _)) = other.filter(|_| path.is_file() || !path.exists()) {
                return Err(Failure::misuse(
                    format!("{other} and {option} would both write to {}", path.display()),
                    "give each a file of its own",
                ));
            }
        }
        Ok(())
    }

    fn create(load: &Load) -> Result<Files, Failure> {
        Files::check_apart(load)?;
        let data = |path: &Option<PathBuf>| path.as_deref().map(create).transpose();
        let log = |path: &PathBuf| File::create(path).map_err(|e| unwritable(path, &e));
        Ok(Files {
            json: data(&load.json)?,
            csv: data(&load.csv)?.map(BufWriter::new),
            hlog: load.hlog.as_ref().map(log).transpose()?.map(BufWriter::new),
        })
    }

    fn write_json(&mut self, report: &Report) -> Result<(), Failure> {
        let Some(out) = &mut self.json else { return Ok(()) };
        write_json(out, serde_json::to_string(&report.result))
    }

    fn write_csv(&mut self, report: &Report) -> Result<(), Failure> {
        let Some(out) = &mut self.csv else { return Ok(()) };
        output::write_csv(out, &report.result.series)
            .and_then(|()| out.flush())
            .map_err(|e| not_written("the table", &e))
    }
}

/// Whether an option's file is standard output.
fn is_stdout(path: Option<&PathBuf>) -> bool {
    path.is_some_and(|path| crate::output::is_stdout(path))
}

/// Shows progress, writes the histogram log, and takes Ctrl-C.
struct Observer {
    signals: SignalFd,
    /// The view, if standard error is a terminal.
    live: Option<output::Live>,
    /// Lines on standard error, if it is none.
    lines: Option<output::Lines>,
    /// Standard output may hold lines for people.
    steps: bool,
    intervals: Option<output::Intervals>,
    /// The start of the measured part is said on standard error.
    tells_start: bool,
    /// The start is agreed on with other parts of the load.
    is_part: bool,
    metrics: Option<LoadMetrics>,
    log: Option<HistogramLog>,
}

/// A histogram log. Its header holds the start of the measured part, which is known once the first second is over.
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
        let length = Nanos((report.result.duration_s * 1e9) as u64);
        for (name, histogram) in report.recorded.named() {
            if name != "response" {
                log.write(name, Nanos::ZERO, length, histogram)?;
            }
        }
        log.finish().map(drop)
    }
}

impl Watch for Observer {
    fn preparing(&mut self, stage: Preparing) {
        if let Some(line) = self.lines.as_mut().and_then(|lines| lines.preparing(stage, pitot_meter::now())) {
            stderr::line(line);
        }
        if let Some(live) = &mut self.live {
            stderr::draw(&live.preparing(stage));
        }
    }

    fn start(&mut self, earliest: Nanos) -> Option<Nanos> {
        if self.is_part { share::agreed_start(earliest) } else { Some(earliest) }
    }

    fn measured_from(&mut self, at: Nanos) {
        self.metrics.iter_mut().for_each(LoadMetrics::measured_from);
        if self.tells_start {
            stderr::line(format_args!("measured from {}", at.0));
        }
    }

    fn second(&mut self, progress: &Progress<'_>) {
        self.log = self.log.take().map(|log| log.second(progress));
        self.metrics.iter_mut().for_each(|metrics| metrics.second(progress));
        if let Some(line) = self.intervals.as_mut().and_then(|intervals| intervals.second(progress)) {
            print_line(line);
        }
        if let Some(line) = self.lines.as_mut().and_then(|lines| lines.second(progress)) {
            stderr::line(line);
        }
        if let Some(live) = &mut self.live {
            stderr::draw(&live.second(progress));
        }
    }

    fn keeps_seconds(&self) -> bool {
        self.intervals.is_none()
    }

    fn step(&mut self, step: &Step) {
        self.clear();
        if self.steps {
            // If this fails, the summary fails, too, and is reported.
            let _ = print(&format!("{}\n", output::step_line(step)));
        }
    }

    fn interrupted(&mut self) -> bool {
        self.signals.next().is_some()
    }
}

impl Observer {
    /// Prints the interval that was under way when the run ended.
    fn end_intervals(&mut self, kinds: &[ErrorRow]) {
        if let Some(line) = self.intervals.as_mut().and_then(|intervals| intervals.end(kinds)) {
            print_line(line);
        }
    }

    /// Erases the view.
    fn clear(&mut self) {
        if let Some(live) = &mut self.live {
            stderr::draw(&live.clear());
        }
    }
}
