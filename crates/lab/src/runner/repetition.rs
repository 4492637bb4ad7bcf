//! One repetition: a fresh server, a warm-up, a measurement, and nothing left behind.

use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use pitot_meter::now;
use pitot_sys::spawn::{self, Stop};

use super::guardian::{COOKIE_NAME, Guardian, sweep};
use super::process::{Event, Launch, Process, Who, describe};
use super::verdict::{Evidence, judge};
use crate::host::{CpuSplit, throttle_count};
use crate::monitor::{Monitor, interval, resources};
use crate::plan::{Part, line_template};
use crate::record::{Repetition, Verdict, VerdictKind};
use crate::{Cell, CellServer, FileContent, LoadResult, Placement, Plan, Ready, Window};

/// How long a load generator may take beyond warm-up and duration, to connect, to drain and to write its result.
const LOAD_GRACE_S: f64 = 30.0;
/// How long a load may take that has no duration but a number of requests or connections.
const UNTIMED_S: f64 = 300.0;
/// How long processes may take to be gone once their parent is.
const ORPHANS: Duration = Duration::from_secs(2);
/// Time between attempts to connect to a server that is to open its port.
const KNOCK: Duration = Duration::from_millis(5);
/// How long such an attempt may take.
const KNOCK_PATIENCE: Duration = Duration::from_millis(80);
/// Lines of last words of the server, and half as many of the load generator.
const LAST_LINES: usize = 20;

/// What all repetitions of a run share.
pub(super) struct Bench<'a> {
    pub(super) plan: &'a Plan,
    pub(super) pitot: &'a str,
    pub(super) cpus: &'a CpuSplit,
    pub(super) guardian: &'a mut Guardian,
    /// True once the user wants the run to end.
    pub(super) stop: &'a dyn Fn() -> bool,
    pub(super) memory_total_bytes: u64,
}

/// Why a repetition ended early.
enum Early {
    /// The user wanted it.
    Stopped,
    /// It failed, and this is the sentence.
    Failed(String),
}

impl From<String> for Early {
    fn from(reason: String) -> Early {
        Early::Failed(reason)
    }
}

/// Runs a repetition. The `block`, `position` and `started_at` of the result are the caller's to fill in. `None` if
/// the user stopped it.
pub(super) fn run(bench: &mut Bench<'_>, cell: &Cell, number: usize) -> Option<Repetition> {
    let begin = Instant::now();
    let dir = bench.guardian.dir().join(number.to_string());
    let (events, receiver) = channel();
    let mut attempt = Attempt {
        cell,
        dir,
        address: String::new(),
        ready_s: 0.0,
        server: None,
        helpers: Vec::new(),
        load: None,
        monitor: None,
        window: Window::default(),
        events,
        receiver,
        result: None,
        server_stats: None,
        bench,
    };
    let throttled_before = attempt.throttled();
    let outcome = attempt.measure();
    let throttled = attempt.throttled().saturating_sub(throttled_before);
    let left_behind = attempt.clean_up();
    let outcome = match (outcome, left_behind) {
        (Ok(()), Some(reason)) => Err(Early::Failed(reason)),
        (outcome, _) => outcome,
    };
    let failure = match outcome {
        Err(Early::Stopped) => return None,
        Err(Early::Failed(reason)) => Some(reason),
        Ok(()) => None,
    };
    Some(attempt.into_repetition(failure, throttled, begin.elapsed()))
}

struct Attempt<'a, 'b> {
    bench: &'a mut Bench<'b>,
    cell: &'a Cell,
    dir: PathBuf,
    address: String,
    ready_s: f64,
    server: Option<Process>,
    helpers: Vec<Process>,
    load: Option<Process>,
    monitor: Option<Monitor>,
    /// The measured part.
    window: Window,
    events: Sender<Event>,
    receiver: Receiver<Event>,
    result: Option<LoadResult>,
    server_stats: Option<serde_json::Value>,
}

impl Attempt<'_, '_> {
    fn measure(&mut self) -> Result<(), Early> {
        let mut at = Placement {
            pitot: self.bench.pitot.to_owned(),
            address: self.choose_address()?,
            dir: self.dir.to_string_lossy().into_owned(),
            server_cpus: self.bench.cpus.server_list(),
            load_cpus: self.bench.cpus.load_list(),
            helpers: Vec::new(),
        };
        write_files(self.cell, &self.dir, &at)?;
        if self.cell.server == CellServer::None {
            return self.measure_program(&at);
        }
        let begin = Instant::now();
        let server = self.start(Who::Server, &self.cell.server_argv(&at))?;
        let session = server.id();
        self.server = Some(server);
        self.monitor = Some(Monitor::new(session, &self.bench.cpus.server, &self.bench.cpus.load));
        let said = !matches!(self.cell.server, CellServer::External(_));
        at.address = self.wait_until_ready(&at.address, said)?;
        self.address.clone_from(&at.address);
        self.ready_s = begin.elapsed().as_secs_f64();
        self.start_helpers(&mut at)?;
        self.sample(true);

        let json = self.dir.join("result.json");
        let mut argv = self.cell.load_argv(self.bench.plan, &at);
        argv.extend(["--json".to_owned(), json.to_string_lossy().into_owned()]);
        let load = self.start(Who::Load, &argv)?;
        if let Some(monitor) = &mut self.monitor {
            monitor.watch_load(load.id());
        }
        self.load = Some(load);
        self.wait_for_load()?;
        self.sample(true);
        self.result = Some(self.read_result(&json)?);
        self.stop_server()
    }

    /// A program that needs no server is itself what is measured: it runs where servers do, and is watched as one.
    fn measure_program(&mut self, at: &Placement) -> Result<(), Early> {
        let json = self.dir.join("result.json");
        let mut argv = self.cell.load_argv(self.bench.plan, at);
        argv.extend(["--json".to_owned(), json.to_string_lossy().into_owned()]);
        let program = self.start(Who::Program, &argv)?;
        self.monitor = Some(Monitor::new(program.id(), &self.bench.cpus.server, &self.bench.cpus.load));
        self.load = Some(program);
        self.sample(true);
        self.wait_for_load()?;
        self.sample(true);
        self.result = Some(self.read_result(&json)?);
        Ok(())
    }

    /// Starts the helpers of the load, one after the other, and notes where they listen.
    fn start_helpers(&mut self, at: &mut Placement) -> Result<(), Early> {
        for helper in &self.cell.helpers {
            let argv = self.cell.helper_argv(helper, "127.0.0.1:0", at);
            let process = self.start(Who::Helper, &argv)?;
            if let Some(monitor) = &mut self.monitor {
                monitor.ignore(process.id());
            }
            self.helpers.push(process);
            let address = self.wait_until_ready("", true)?;
            at.helpers.push((helper.name.clone(), address));
        }
        Ok(())
    }

    fn throttled(&self) -> u64 {
        throttle_count(&self.bench.cpus.server) + throttle_count(&self.bench.cpus.load)
    }

    /// A server of Pitot takes a port that is free and tells it; for others one is found.
    fn choose_address(&self) -> Result<String, String> {
        match self.cell.server {
            CellServer::Pitot { .. } | CellServer::None => Ok("127.0.0.1:0".to_owned()),
            CellServer::External(_) => TcpListener::bind("127.0.0.1:0")
                .and_then(|listener| listener.local_addr())
                .map(|address| address.to_string())
                .map_err(|e| format!("no free port was found: {e}")),
        }
    }

    fn start(&mut self, who: Who, argv: &[String]) -> Result<Process, String> {
        let cpus = match who {
            Who::Server | Who::Program => &self.bench.cpus.server,
            Who::Load | Who::Helper => &self.bench.cpus.load,
        };
        let cookie = self.bench.guardian.cookie().to_owned();
        let launch = Launch { who, argv, cpus, dir: &self.dir, cookie: (COOKIE_NAME, &cookie) };
        let process = Process::start(&launch, &self.events)?;
        self.bench.guardian.started(process.id());
        Ok(process)
    }

    fn sample(&mut self, whole: bool) {
        if let Some(monitor) = &mut self.monitor {
            monitor.sample(whole);
        }
    }

    fn check_user(&self) -> Result<(), Early> {
        if (self.bench.stop)() { Err(Early::Stopped) } else { Ok(()) }
    }

    /// An error once the server has ended.
    fn check_server(&mut self, when: &str) -> Result<(), Early> {
        match self.server.as_mut().and_then(Process::ended) {
            Some(status) => Err(Early::Failed(format!("the server ended {} {when}", describe(status)))),
            None => Ok(()),
        }
    }

    /// An error once a helper has ended.
    fn check_helpers(&mut self) -> Result<(), Early> {
        for (process, helper) in self.helpers.iter_mut().zip(&self.cell.helpers) {
            if let Some(status) = process.ended() {
                return Err(Early::Failed(format!(
                    "`{}` beside the load ended {}",
                    helper.name,
                    describe(status)
                )));
            }
        }
        Ok(())
    }

    /// Waits until the server or the helper that was started last says or shows that it is ready, and returns its
    /// address. `said`: it says so in the manner of `pitot serve`.
    fn wait_until_ready(&mut self, address: &str, said: bool) -> Result<String, Early> {
        let patience = self.bench.plan.ready_timeout_s;
        let deadline = Instant::now() + Duration::from_secs_f64(patience);
        let ready = match &self.cell.server {
            CellServer::External(program) if !said => Some(program.ready.clone()),
            _ => None,
        };
        let who = if self.helpers.is_empty() { Who::Server } else { Who::Helper };
        loop {
            self.check_user()?;
            match self.receiver.recv_timeout(KNOCK) {
                Ok(Event::Line { who: speaker, text, on_stdout }) if speaker == who => match &ready {
                    None if on_stdout => {
                        if let Some(address) = text.strip_prefix("ready ") {
                            return Ok(address.trim().to_owned());
                        }
                    }
                    Some(Ready::Line(wanted)) if text.contains(wanted) => return Ok(address.to_owned()),
                    _ => {}
                },
                Ok(_) | Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
            self.check_server("before it was ready")?;
            self.check_helpers()?;
            if ready == Some(Ready::Port)
                && address.parse().is_ok_and(|a| TcpStream::connect_timeout(&a, KNOCK_PATIENCE).is_ok())
            {
                return Ok(address.to_owned());
            }
            if Instant::now() > deadline {
                let what = match self.cell.helpers.get(self.helpers.len().wrapping_sub(1)) {
                    Some(helper) => format!("`{}` beside the load", helper.name),
                    None => "the server".to_owned(),
                };
                return Err(Early::Failed(format!("{what} was not ready within {patience} s")));
            }
        }
    }

    /// Samples until the load generator ends. What it did lies between its start and its end, unless it tells better.
    fn wait_for_load(&mut self) -> Result<(), Early> {
        self.window.start = now().0;
        let outcome = self.watch_load();
        self.window.end = now().0;
        outcome
    }

    fn watch_load(&mut self) -> Result<(), Early> {
        let plan = self.bench.plan;
        let limit_s =
            if self.cell.is_timed() { plan.warmup_s + plan.duration_s + LOAD_GRACE_S } else { UNTIMED_S };
        let interval = interval(plan.duration_s);
        let begin = Instant::now();
        let mut next = begin + interval;
        loop {
            let wait = next.saturating_duration_since(Instant::now());
            if wait.is_zero() {
                self.sample(false);
                next += interval;
                // After a long stop of this process it does not catch up with what it has missed.
                next = next.max(Instant::now());
            } else {
                let _ = self.receiver.recv_timeout(wait);
            }
            self.check_user()?;
            let running_s = begin.elapsed().as_secs_f64();
            self.check_server(&format!("{running_s:.1} s into the load"))?;
            self.check_helpers()?;
            if self.load.as_mut().is_none_or(|load| load.ended().is_some()) {
                return Ok(());
            }
            if running_s > limit_s {
                return Err(Early::Failed(format!("the load generator did not end within {limit_s:.0} s")));
            }
        }
    }

    fn read_result(&mut self, json: &Path) -> Result<LoadResult, String> {
        let how = self.load.as_mut().and_then(Process::ended).map(describe).unwrap_or_default();
        let text = std::fs::read_to_string(json)
            .map_err(|_| format!("the load generator ended {how} and wrote no result"))?;
        let result = LoadResult::parse(&text)
            .map_err(|e| format!("the load generator's result is not readable: {e}"))?;
        let failure = match result.storm {
            Some(storm) if storm.established < storm.requested => Some(format!(
                "only {} of {} connections were established{}",
                storm.established,
                storm.requested,
                worst_error(&result)
            )),
            // Where a reply takes longer than the measured part, those that came were asked for before it.
            None if result.requests.ok == 0
                && (result.requests.completed > 0 || result.throughput_rps == 0.0) =>
            {
                Some(format!("not one right reply{}", worst_error(&result)))
            }
            _ => None,
        };
        match failure {
            None => Ok(result),
            Some(reason) => {
                self.result = Some(result);
                Err(reason)
            }
        }
    }

    /// Asks the server to stop, waits for its end and reads its counters.
    fn stop_server(&mut self) -> Result<(), Early> {
        let patience = self.bench.plan.stop_timeout_s;
        let deadline = Instant::now() + Duration::from_secs_f64(patience);
        self.check_server("at the end of the load")?;
        for helper in &mut self.helpers {
            stop_helper(helper, deadline)?;
        }
        let Some(server) = &mut self.server else { return Ok(()) };
        let (signal, is_pitot) = match &self.cell.server {
            CellServer::Pitot { .. } | CellServer::None => (Stop::Terminate, true),
            CellServer::External(program) => (stop_signal(&program.stop), false),
        };
        spawn::stop(server.id(), signal);
        let status = loop {
            if let Some(status) = server.ended() {
                break status;
            }
            if Instant::now() > deadline {
                return Err(Early::Failed(format!(
                    "the server did not stop within {patience} s of being asked to"
                )));
            }
            let _ = self.receiver.recv_timeout(KNOCK);
        };
        if is_pitot {
            if !status.success() {
                return Err(Early::Failed(format!(
                    "the server ended {} when it was asked to stop",
                    describe(status)
                )));
            }
            // The reader of its output may be a moment behind its end.
            while !self.server.as_ref().is_none_or(Process::has_closed_stdout) && Instant::now() < deadline {
                let _ = self.receiver.recv_timeout(KNOCK);
            }
            self.server_stats = self.server.as_ref().and_then(|server| last_object(&server.stdout()));
        }
        Ok(())
    }

    /// Ends what still runs. What the server has left behind after its own end is a reason to fail it.
    fn clean_up(&mut self) -> Option<String> {
        let mut orderly = true;
        let mut sessions = Vec::new();
        for process in [&mut self.load, &mut self.server].into_iter().flatten().chain(&mut self.helpers) {
            orderly &= process.ended().is_some();
            sessions.push(process.id());
        }
        let cookie = self.bench.guardian.cookie_line();
        let mut left = Vec::new();
        if orderly {
            // Children that are about to end of themselves may do so.
            let deadline = Instant::now() + ORPHANS;
            loop {
                left = crate::procfs::find(&sessions, &cookie);
                if left.is_empty() || Instant::now() > deadline {
                    break;
                }
                std::thread::sleep(KNOCK);
            }
        }
        sweep(&sessions, &cookie, ORPHANS);
        for process in [&mut self.load, &mut self.server].into_iter().flatten().chain(&mut self.helpers) {
            // Killed or ended: either way it is waited for, so that no zombie stays.
            let deadline = Instant::now() + ORPHANS;
            while process.ended().is_none() && Instant::now() < deadline {
                std::thread::sleep(KNOCK);
            }
        }
        for session in sessions {
            self.bench.guardian.ended(session);
        }
        let _ = std::fs::remove_dir_all(&self.dir);
        let first = left.first()?;
        Some(format!(
            "{} processes were left behind, such as `{}` (process {})",
            left.len(),
            first.1,
            first.0
        ))
    }

    fn into_repetition(self, failure: Option<String>, throttled: u64, elapsed: Duration) -> Repetition {
        let told = self.result.as_ref().map_or_else(Window::default, |r| r.clock_ns);
        let window = if told.end > told.start { told } else { self.window };
        let (samples, other_processes) = self.monitor.map(Monitor::finish).unwrap_or_default();
        let used = resources(&samples, window).map(|mut used| {
            used.server_cpus = self.bench.cpus.server.len() as u32;
            used.load_cpus = self.bench.cpus.load.len() as u32;
            used.memory_total_bytes = self.bench.memory_total_bytes;
            used
        });
        let verdict = match (failure, &self.result, &used) {
            (Some(reason), _, _) => Verdict { kind: VerdictKind::Failed, reason, figures: Vec::new() },
            (None, Some(load), Some(used)) => judge(&Evidence {
                load,
                used,
                other_processes: &other_processes,
                window,
                throttled,
                cpus: self.bench.cpus,
            }),
            (None, _, _) => Verdict {
                kind: VerdictKind::Failed,
                reason: "the measured part was too short to be watched".into(),
                figures: Vec::new(),
            },
        };
        let mut output_tail = String::new();
        if verdict.kind == VerdictKind::Failed {
            let helpers = self.cell.helpers.iter().zip(&self.helpers);
            let spoke =
                [("server", &self.server, LAST_LINES), ("load generator", &self.load, LAST_LINES / 2)]
                    .into_iter()
                    .filter_map(|(name, process, lines)| Some((name, process.as_ref()?, lines)))
                    .chain(helpers.map(|(helper, process)| (helper.name.as_str(), process, LAST_LINES / 2)));
            for (name, process, lines) in spoke {
                let words = process.output_tail(lines);
                if !words.is_empty() {
                    output_tail.push_str(&format!("{name}:\n{words}\n"));
                }
            }
        }
        Repetition {
            id: 0,
            block: 0,
            position: 0,
            started_at: String::new(),
            elapsed_s: elapsed.as_secs_f64(),
            address: self.address,
            ready_s: self.ready_s,
            verdict,
            load: self.result,
            server_stats: self.server_stats,
            resources: used,
            output_tail,
            samples,
        }
    }
}

/// Makes the server's private directory with its files.
fn write_files(cell: &Cell, dir: &Path, at: &Placement) -> Result<(), String> {
    let failed = |e: std::io::Error| format!("the server's private directory could not be written: {e}");
    std::fs::create_dir_all(dir).map_err(failed)?;
    for file in &cell.files {
        let path = dir.join(&file.path);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        let written = match &file.content {
            FileContent::Text(text) => std::fs::write(&path, at.fill(text)),
            // The size of the load is put in when a plan is expanded.
            FileContent::SizeOfLoad => Ok(()),
            FileContent::Lines { count, line } => write_lines(&path, *count, line),
            FileContent::Size(bytes) => std::fs::File::create(&path)
                .and_then(|mut f| {
                    std::io::copy(&mut std::io::Read::take(std::io::repeat(b'x'), *bytes), &mut f)
                })
                .map(|_| ()),
        };
        written.map_err(failed)?;
    }
    Ok(())
}

/// Writes a line so many times, with its numbers.
fn write_lines(path: &Path, count: u64, line: &str) -> std::io::Result<()> {
    use std::io::Write;
    let parts = line_template(line);
    let mut file = std::io::BufWriter::new(std::fs::File::create(path)?);
    for i in 0..count {
        for part in &parts {
            match part {
                Part::Text(text) => file.write_all(text.as_bytes())?,
                Part::Number(None) => write!(file, "{i}")?,
                Part::Number(Some(n)) => write!(file, "{}", i % n)?,
            }
        }
        file.write_all(b"\n")?;
    }
    file.flush()
}

/// Asks a helper to stop and waits for its end.
fn stop_helper(helper: &mut Process, deadline: Instant) -> Result<(), String> {
    if helper.ended().is_none() {
        spawn::stop(helper.id(), Stop::Terminate);
    }
    while helper.ended().is_none() {
        if Instant::now() > deadline {
            return Err("a helper of the load did not stop when it was asked to".into());
        }
        std::thread::sleep(KNOCK);
    }
    Ok(())
}

fn stop_signal(name: &str) -> Stop {
    match name {
        "INT" => Stop::Interrupt,
        "QUIT" => Stop::Quit,
        _ => Stop::Terminate,
    }
}

/// ", but N errors, most of them ...", if there were any.
fn worst_error(result: &LoadResult) -> String {
    let worst = result.errors.iter().max_by_key(|e| e.count);
    worst.map_or_else(String::new, |e| {
        format!(", but {} errors, most of them {} {}", result.error_count(), e.phase, e.kind)
    })
}

/// The last JSON object in a program's output: in one line, or over all lines from the last that opens one.
fn last_object(text: &str) -> Option<serde_json::Value> {
    let object = |text: &str| {
        serde_json::from_str::<serde_json::Value>(text).ok().filter(serde_json::Value::is_object)
    };
    if let Some(line) = text.lines().rev().find(|l| !l.trim().is_empty())
        && let Some(found) = object(line)
    {
        return Some(found);
    }
    let start = text.rfind("\n{")?;
    object(&text[start..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_found_at_the_end_of_what_a_server_printed() {
        let of = |text: &str| last_object(text).map(|v| v["accepted"].as_i64().unwrap_or(-1));
        assert_eq!(of("ready 127.0.0.1:1\n{\"accepted\": 5}\n"), Some(5));
        assert_eq!(of("ready 127.0.0.1:1\n{\n  \"accepted\": 6\n}\n\n"), Some(6));
        assert_eq!(of("ready 127.0.0.1:1\n"), None);
        assert_eq!(of("[1]\n"), None);
    }
}
