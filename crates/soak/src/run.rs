//! The run itself: servers stand, loads run, and what comes about is written interval by interval.

use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use pitot_lab::{Ground, StandingLoad, StandingServer};
use pitot_meter::Histogram;
use pitot_results::Failure;

use crate::figure::{self, MachineTime, Processes, Values};
use crate::file::{Moment, SoakError, SoakFile};
use crate::hang::{HangWatch, Suspect};
use crate::kernel_log::KernelLog;
use crate::load::LoadCounts;
use crate::record::{Event, EventKind, Load, Sample, State, Subject};

/// Between two looks at what goes on.
const TICK: Duration = Duration::from_millis(50);
/// Before a load that ended is started again, and a server that could not be.
const RETRY_S: f64 = 1.0;

/// What a soak does when a server dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnDeath {
    /// It ends.
    End,
    /// It starts the server again, and counts.
    Restart,
}

/// What a soak does when a server hangs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnHang {
    /// It goes on: the server may come back.
    Continue,
    /// It ends.
    End,
}

/// A server of a soak.
pub enum Server<'a> {
    /// One that the soak starts.
    Standing(Box<StandingServer<'a>>),
    /// One that is running already, with its first process if that is known, and its port.
    Running {
        /// The process.
        pid: Option<u32>,
        /// The port on which it listens.
        port: Option<u16>,
    },
}

/// How a load is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoadOrder {
    /// As the server's cell says.
    OfCell,
    /// By this command line, in which `{address}` is the server's.
    Command(Vec<String>),
}

/// A server with its loads.
pub struct SubjectOrder<'a> {
    /// What it is called.
    pub name: String,
    /// The server.
    pub server: Server<'a>,
    /// The loads, with their names.
    pub loads: Vec<(String, LoadOrder)>,
}

/// How a soak goes on.
pub struct Settings<'a> {
    /// Time under load that is left, seconds.
    pub left_s: f64,
    /// Where its axis begins now, seconds: 0, or where it is resumed.
    pub offset_s: f64,
    /// Length of the intervals that are written, seconds.
    pub interval_s: f64,
    /// What a server's death means.
    pub on_death: OnDeath,
    /// What a server that hangs means.
    pub on_hang: OnHang,
    /// The directory of the file, whose disk space is sampled.
    pub directory: &'a str,
    /// True once the user wants it to end.
    pub stop: &'a dyn Fn() -> bool,
}

/// What the user sees while it goes on.
#[derive(Clone, Debug, Default)]
pub struct Status {
    /// Seconds since the soak began.
    pub now_s: f64,
    /// Seconds of load that are left.
    pub left_s: f64,
    /// For each load its name, its rate in the last interval, p99 in it in nanoseconds, and errors since the soak began.
    pub loads: Vec<(String, f64, u64, u64)>,
    /// What happened in the last interval, in a sentence each.
    pub events: Vec<String>,
}

struct RunningLoad<'g> {
    id: i64,
    name: String,
    order: LoadOrder,
    counts: LoadCounts,
    process: Option<StandingLoad<'g>>,
    /// When it is started, if it is not running.
    start_at_s: f64,
}

struct RunningSubject<'g> {
    id: i64,
    name: String,
    server: Server<'g>,
    loads: Vec<RunningLoad<'g>>,
    is_up: bool,
    start_at_s: f64,
    /// CPU time at the end of the last interval, nanoseconds.
    cpu_ns: Option<u64>,
    /// Replies since then.
    replies: u64,
    hangs: HangWatch,
}

/// A soak under way.
struct Run<'g> {
    ground: &'g Ground<'g>,
    settings: Settings<'g>,
    file: SoakFile,
    subjects: Vec<RunningSubject<'g>>,
    begun: Instant,
    events: Vec<Event>,
    /// Everything up to then is in the file.
    written_s: f64,
    machine_time: MachineTime,
    clock: Clock,
    kernel_log: KernelLog,
    /// What was shown last.
    shown: Status,
}

/// Runs a soak, or what is left of one, into its file.
///
/// # Errors
/// If the file cannot be written, no load can be started, or a server cannot be started at first.
pub fn run<'g>(
    ground: &'g Ground<'g>,
    file: SoakFile,
    orders: Vec<SubjectOrder<'g>>,
    settings: Settings<'g>,
    show: &mut dyn FnMut(&Status),
) -> Result<State, Failure> {
    let mut run = Run {
        ground,
        file,
        subjects: Vec::new(),
        begun: Instant::now(),
        events: Vec::new(),
        written_s: settings.offset_s,
        machine_time: MachineTime::read(),
        clock: Clock::read(),
        kernel_log: KernelLog::open(),
        shown: Status { left_s: settings.left_s, ..Status::default() },
        settings,
    };
    run.prepare(orders)?;
    let ended = run.carry_on(show)?;
    run.end()?;
    let over = run.measured_s() >= run.settings.left_s;
    let state = if over { State::Complete } else { State::Stopped };
    run.file.finish(state).map_err(|e| written(&e))?;
    ended.map_or(Ok(state), Err)
}

fn written(e: &SoakError) -> Failure {
    Failure::run(
        format!("the file of the soak cannot be written: {e}"),
        "see to it that there is space and that nothing else writes it, and go on with --resume",
    )
}

impl<'g> Run<'g> {
    fn measured_s(&self) -> f64 {
        self.begun.elapsed().as_secs_f64()
    }

    fn now_s(&self) -> f64 {
        self.settings.offset_s + self.measured_s()
    }

    /// Notes servers and loads, and starts the servers.
    fn prepare(&mut self, orders: Vec<SubjectOrder<'g>>) -> Result<(), Failure> {
        let mut load_id = 0;
        for (id, order) in (1..).zip(orders) {
            let mut subject = RunningSubject {
                id,
                name: order.name,
                server: order.server,
                loads: Vec::new(),
                is_up: true,
                start_at_s: 0.0,
                cpu_ns: None,
                replies: 0,
                hangs: HangWatch::default(),
            };
            if let Server::Standing(server) = &mut subject.server {
                server
                    .start()
                    .map_err(|reason| not_started(&subject.name, &reason, &server.output_tail()))?;
            }
            let row = Subject { id, name: subject.name.clone(), command: subject.command() };
            self.file.put_subject(&row).map_err(|e| written(&e))?;
            for (name, order) in order.loads {
                load_id += 1;
                let command = subject.load_argv(&order).join(" ");
                let row = Load { id: load_id, subject: id, name: name.clone(), command, ..Load::default() };
                let totals = self.file.put_load(&row).map_err(|e| written(&e))?;
                let counts = LoadCounts::new(load_id, totals);
                subject.loads.push(RunningLoad {
                    id: load_id,
                    name,
                    order,
                    counts,
                    process: None,
                    start_at_s: 0.0,
                });
            }
            self.subjects.push(subject);
        }
        let processes = Processes::read();
        // What they used before does not count.
        for subject in &mut self.subjects {
            subject.values(&processes);
        }
        self.begun = Instant::now();
        Ok(())
    }

    /// Goes on until the time is over, the user ends it, or a server dies that is not to be started again, which is returned.
    fn carry_on(&mut self, show: &mut dyn FnMut(&Status)) -> Result<Option<Failure>, Failure> {
        let mut interval_end_s = self.next_interval_s();
        while self.measured_s() < self.settings.left_s && !(self.settings.stop)() {
            let now_s = self.now_s();
            for index in 0..self.subjects.len() {
                if let Some(failure) = self.look_at(index, now_s)? {
                    return Ok(Some(failure));
                }
            }
            self.events.extend(self.clock.step(now_s));
            self.events.extend(self.kernel_log.event(now_s));
            if !self.events.is_empty() {
                show(&self.tell(now_s)?);
            }
            if now_s >= interval_end_s {
                let mut moment = self.moment(interval_end_s);
                self.sample(&mut moment);
                let status = self.write(moment)?;
                show(&status);
                interval_end_s = self.next_interval_s();
            }
            std::thread::sleep(TICK);
        }
        Ok(None)
    }

    /// Intervals end at multiples of their length, so that those before and after a gap lie on one grid.
    fn next_interval_s(&self) -> f64 {
        let length_s = self.settings.interval_s;
        ((self.now_s() / length_s).floor() + 1.0) * length_s
    }

    /// Looks at a server and its loads. Returns why the soak ends, if it does.
    fn look_at(&mut self, index: usize, now_s: f64) -> Result<Option<Failure>, Failure> {
        let subject = &mut self.subjects[index];
        if let Server::Standing(server) = &mut subject.server {
            if subject.is_up
                && let Some(ending) = server.ended()
            {
                subject.is_up = false;
                subject.cpu_ns = None;
                subject.start_at_s = now_s;
                self.events.extend(subject.hangs.interrupt(now_s));
                let tail = server.output_tail();
                let sentence = format!("{} ended {ending}", subject.name);
                self.events.push(of_server(
                    subject.id,
                    now_s,
                    EventKind::ServerEnded,
                    sentence.clone(),
                    tail.clone(),
                ));
                if self.settings.on_death == OnDeath::End {
                    return Ok(Some(Failure::run(
                        format!("{sentence}, and the soak with it"),
                        format!(
                            "its last words were:\n{}\nwith --restart it would be started again",
                            tail.trim_end()
                        ),
                    )));
                }
            }
            if !subject.is_up && now_s >= subject.start_at_s {
                match server.start() {
                    Ok(()) => {
                        subject.is_up = true;
                        let sentence = format!("{} was started again", subject.name);
                        self.events.push(of_server(
                            subject.id,
                            now_s,
                            EventKind::ServerRestarted,
                            sentence,
                            String::new(),
                        ));
                    }
                    Err(_) => subject.start_at_s = now_s + RETRY_S,
                }
            }
        } else if let Server::Running { pid: Some(pid), .. } = subject.server
            && subject.is_up
            && !Path::new(&format!("/proc/{pid}")).exists()
        {
            subject.is_up = false;
            self.events.extend(subject.hangs.interrupt(now_s));
            let sentence = format!("process {pid} of {} is gone", subject.name);
            self.events.push(of_server(subject.id, now_s, EventKind::ServerEnded, sentence, String::new()));
        }
        self.look_at_loads(index, now_s)?;
        Ok(self.look_for_hang(index, now_s))
    }

    /// Whether a server that is up has ceased to answer, or answers again. Returns why the soak ends, if it does.
    fn look_for_hang(&mut self, index: usize, now_s: f64) -> Option<Failure> {
        let subject = &mut self.subjects[index];
        if !subject.is_up {
            return None;
        }
        let change = subject.hangs.change(now_s)?;
        let pids = subject.server.pid().map(|pid| Processes::read().of(pid)).unwrap_or_default();
        let port = subject.server.port();
        let suspect = Suspect { subject: subject.id, name: &subject.name, pids: &pids, port };
        let event = subject.hangs.event(change, now_s, &suspect)?;
        let ends = event.until_s.is_none() && self.settings.on_hang == OnHang::End;
        let failure = ends.then(|| {
            Failure::run(
                format!("{}, and the soak ends with it", event.sentence),
                format!("what was seen of it:\n{}", event.evidence.trim_end()),
            )
        });
        self.events.push(event);
        failure
    }

    fn look_at_loads(&mut self, index: usize, now_s: f64) -> Result<(), Failure> {
        let subject = &mut self.subjects[index];
        for n in 0..subject.loads.len() {
            let load = &mut subject.loads[n];
            if let Some(process) = &mut load.process {
                while let Some(line) = process.line() {
                    if let Some(told) = load.counts.line(&line) {
                        subject.replies += told.replies;
                        subject.hangs.second(now_s, load.id, told.replies, told.asked);
                    }
                }
                if let Some((ending, said)) = process.ended() {
                    load.process = None;
                    load.start_at_s = now_s + RETRY_S;
                    self.events.extend(subject.hangs.interrupt(now_s));
                    let sentence = format!("the load `{}` ended {ending} before its time", load.name);
                    self.events.push(of_server(subject.id, now_s, EventKind::LoadEnded, sentence, said));
                }
            } else if subject.is_up && now_s >= load.start_at_s {
                let argv = subject.server.load_argv(&load.order);
                let process = self.ground.load(argv).map_err(|reason| {
                    Failure::run(
                        format!("the load `{}` cannot be started: {reason}", load.name),
                        "check the limits on processes and descriptors",
                    )
                })?;
                load.counts.begin_process();
                load.process = Some(process);
            }
        }
        Ok(())
    }

    /// What the loads did in the interval that is over.
    fn moment(&mut self, end_s: f64) -> Moment {
        let mut moment =
            Moment { now_s: end_s, events: std::mem::take(&mut self.events), ..Moment::default() };
        let all = self.subjects.iter_mut().flat_map(|subject| &mut subject.loads);
        for load in all {
            moment.intervals.extend(load.counts.end_interval(self.written_s, end_s));
            moment.totals.push((load.id, load.counts.totals().clone()));
        }
        moment
    }

    /// What servers and machine used in it, and hold at its end.
    fn sample(&mut self, moment: &mut Moment) {
        let (end_s, length_s) = (moment.now_s, self.settings.interval_s);
        let processes = Processes::read();
        for subject in &mut self.subjects {
            for (name, value) in subject.values(&processes) {
                moment.samples.push(sample(subject.id, name, end_s, length_s, value));
            }
        }
        let machine_time = MachineTime::read();
        let machine = figure::machine(self.settings.directory).into_iter();
        for (name, value) in machine.chain(machine_time.since(&self.machine_time)) {
            moment.samples.push(sample(0, name, end_s, length_s, value));
        }
        self.machine_time = machine_time;
    }

    /// Writes what has happened at once: nobody is to wait for the end of an interval to learn of a hang.
    fn tell(&mut self, now_s: f64) -> Result<Status, Failure> {
        let moment = Moment { now_s, events: std::mem::take(&mut self.events), ..Moment::default() };
        self.file.write(&moment).map_err(|e| written(&e))?;
        Ok(Status { now_s, events: moment.events.iter().map(told).collect(), ..self.shown.clone() })
    }

    /// Writes it, and returns what the user sees of it.
    fn write(&mut self, moment: Moment) -> Result<Status, Failure> {
        self.file.write(&moment).map_err(|e| written(&e))?;
        self.written_s = moment.now_s;
        let name = |id: i64| {
            let mut loads = self.subjects.iter().flat_map(|subject| &subject.loads);
            loads.find(|load| load.id == id).map_or("", |load| load.name.as_str()).to_owned()
        };
        let loads = moment.totals.iter().map(|(id, totals)| {
            let interval = moment.intervals.iter().find(|interval| interval.load == *id);
            let rate = interval.map_or(0.0, |interval| interval.completed as f64 / interval.length_s);
            let p99_ns =
                interval.and_then(|i| Histogram::decode(&i.response).ok()).map_or(0, |h| h.at(0.99).0);
            (name(*id), rate, p99_ns, totals.errors)
        });
        self.shown = Status {
            now_s: moment.now_s,
            left_s: (self.settings.left_s - self.measured_s()).max(0.0),
            loads: loads.collect(),
            events: Vec::new(),
        };
        let events = moment.events.iter().map(told).collect();
        Ok(Status { events, ..self.shown.clone() })
    }

    /// Ends loads and servers, and writes what the loads say last.
    fn end(&mut self) -> Result<(), Failure> {
        // While they run; a shorter interval would weigh as much as a whole one.
        let mut last = Moment { now_s: self.now_s(), ..Moment::default() };
        if last.now_s - self.written_s > 0.9 * self.settings.interval_s {
            self.sample(&mut last);
        }
        for subject in &mut self.subjects {
            for load in &mut subject.loads {
                for line in load.process.take().map(|mut process| process.stop()).unwrap_or_default() {
                    subject.replies += load.counts.line(&line).map_or(0, |told| told.replies);
                }
            }
        }
        let end_s = last.now_s;
        for subject in &mut self.subjects {
            self.events.extend(subject.hangs.interrupt(end_s));
        }
        let moment = Moment { samples: last.samples, ..self.moment(end_s) };
        self.write(moment)?;
        for subject in &mut self.subjects {
            if let Server::Standing(server) = &mut subject.server
                && let Err(reason) = server.stop()
                && subject.is_up
            {
                let event = of_server(subject.id, end_s, EventKind::ServerEnded, reason, String::new());
                self.file
                    .write(&Moment { now_s: end_s, events: vec![event], ..Moment::default() })
                    .map_err(|e| written(&e))?;
            }
        }
        Ok(())
    }
}

/// An event as it is shown when it comes about. A hang is told when it begins and when it is over.
fn told(event: &Event) -> String {
    match event.until_s {
        Some(until_s) if event.kind.is_hang() => {
            format!("{}: over after {:.1} s", event.sentence, until_s - event.at_s)
        }
        _ => event.sentence.clone(),
    }
}

fn of_server(subject: i64, at_s: f64, kind: EventKind, sentence: String, evidence: String) -> Event {
    Event { at_s, until_s: None, subject: Some(subject), kind, sentence, evidence }
}

fn not_started(name: &str, reason: &str, tail: &str) -> Failure {
    let cure = match tail.trim_end() {
        "" => "try its command by hand".to_owned(),
        printed => format!("it printed:\n{printed}"),
    };
    Failure::run(format!("{name} cannot be started: {reason}"), cure)
}

fn sample(subject: i64, name: &str, end_s: f64, length_s: f64, value: f64) -> Sample {
    Sample {
        subject,
        figure: name.to_owned(),
        start_s: (end_s - length_s).max(0.0),
        length_s,
        mean: value,
        min: value,
        max: value,
    }
}

impl Server<'_> {
    fn load_argv(&self, order: &LoadOrder) -> Vec<String> {
        match (order, self) {
            (LoadOrder::OfCell, Server::Standing(server)) => {
                let mut argv = server.load_argv();
                argv.extend(["--intervals".to_owned(), "1s".to_owned()]);
                argv
            }
            (LoadOrder::OfCell, Server::Running { .. }) => Vec::new(),
            (LoadOrder::Command(words), server) => {
                let address = match server {
                    Server::Standing(server) => server.address(),
                    Server::Running { .. } => "",
                };
                words.iter().map(|word| word.replace("{address}", address)).collect()
            }
        }
    }

    fn pid(&mut self) -> Option<u32> {
        match self {
            Server::Standing(server) => server.pid(),
            Server::Running { pid, .. } => *pid,
        }
    }

    fn port(&self) -> Option<u16> {
        match self {
            Server::Standing(server) => server.address().rsplit_once(':')?.1.parse().ok(),
            Server::Running { port, .. } => *port,
        }
    }
}

impl RunningSubject<'_> {
    fn command(&self) -> String {
        match &self.server {
            Server::Standing(server) => server.argv().join(" "),
            Server::Running { .. } => String::new(),
        }
    }

    fn load_argv(&self, order: &LoadOrder) -> Vec<String> {
        self.server.load_argv(order)
    }

    /// What it has used since the last interval, and holds.
    fn values(&mut self, processes: &Processes) -> Values {
        let replies = std::mem::take(&mut self.replies);
        let Some(pid) = self.server.pid().filter(|_| self.is_up) else { return Values::new() };
        let pids = processes.of(pid);
        if pids.is_empty() {
            return Values::new();
        }
        let mut values = processes.values(&pids);
        let cpu_ns = match &mut self.server {
            Server::Standing(server) => server.cpu_time().map(|time| time.0),
            Server::Running { .. } => None,
        }
        .unwrap_or_else(|| processes.cpu_ns(&pids));
        if let Some(before) = self.cpu_ns.replace(cpu_ns)
            && replies > 0
        {
            values.insert("cpu-per-request", cpu_ns.saturating_sub(before) as f64 / replies as f64);
        }
        values.extend(self.server.port().and_then(|port| figure::sockets(pid, port)).into_iter().flatten());
        values
    }
}

/// Watches the wall clock for steps.
struct Clock {
    wall: SystemTime,
    steady: Instant,
}

/// A larger difference between the clocks is a step. Slewing is at most 500 ppm.
const STEP: Duration = Duration::from_millis(100);

impl Clock {
    fn read() -> Clock {
        Clock { wall: SystemTime::now(), steady: Instant::now() }
    }

    /// The event, if the wall clock was set since the last look.
    fn step(&mut self, now_s: f64) -> Option<Event> {
        let now = Clock::read();
        let steady_s = now.steady.duration_since(self.steady).as_secs_f64();
        let wall_s = match now.wall.duration_since(self.wall) {
            Ok(forward) => forward.as_secs_f64(),
            Err(back) => -back.duration().as_secs_f64(),
        };
        *self = now;
        let step_s = wall_s - steady_s;
        (step_s.abs() > STEP.as_secs_f64()).then(|| Event {
            at_s: now_s,
            until_s: None,
            subject: None,
            kind: EventKind::ClockStep,
            sentence: format!("the wall clock was set by {step_s:+.3} s"),
            evidence: String::new(),
        })
    }
}
