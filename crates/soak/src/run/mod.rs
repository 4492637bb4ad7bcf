//! Runs a soak: servers and loads run, and counts and events are written interval by interval.
//!
//! | module | what |
//! |---|---|
//! | `on_event` | the command of `--on-event` |
//! | `order` | what is run |
//! | `profiles` | what servers do, second by second |
//! | `reaction` | what to do when a server dies or hangs |
//! | `subject` | a running server with its loads |
//! | `back_off` | delays between restarts |
//! | `counts` | intervals and counts from the lines of a load |
//! | `told` | sentences for events |

mod back_off;
mod counts;
mod on_event;
mod order;
mod profiles;
mod reaction;
mod subject;
mod told;

use std::path::Path;
use std::time::{Duration, Instant};

use pitot_lab::{Event as Told, LoadStatus, LocalHost, Outcome, ServerStatus, SoakStatus};
use pitot_meter::now;
use pitot_plan::Profiled;
use pitot_results::Failure;
use pitot_sys::processes::ProcessTable;

use crate::clock::Clock;
use crate::events::EventGate;
use crate::fault::Origin;
use crate::figure::{self, MachineTime};
use crate::kernel_log::KernelLog;
use crate::neighbours::Neighbours;
use crate::throttle::ThrottleWatch;
use counts::LoadCounts;
use on_event::OnEvent;
pub use order::{Faulted, LoadOrder, Server, SubjectOrder, Watch, Watched};
use pitot_record::file::{Moment, RecordError, SoakWriter};
use pitot_record::soak::{Endings, Event, Fault, Load, Loss, Reading, State, Subject, SubjectProfile};
use profiles::Profiles;
pub use reaction::{OnDeath, OnHang};
pub use subject::never_answered;
use subject::{RunningLoad, RunningSubject};
use told::{told, told_of_fault};

/// Interval of the main loop.
const TICK: Duration = Duration::from_millis(50);
/// The same while a server is recorded: the kernel's rings are soon full.
const RECORDING_TICK: Duration = Duration::from_millis(10);

/// Interval of durability checks, seconds.
const KEPT_INTERVAL_S: f64 = 1.0;

/// Interval of status updates, seconds.
const SHOW_INTERVAL_S: f64 = 1.0;

/// Settings of a soak.
pub struct Settings<'a> {
    /// Remaining time under load, seconds.
    pub left_s: f64,
    /// Time under load so far, seconds.
    pub done_s: f64,
    /// The current time on its axis, seconds: 0, or where it is resumed.
    pub offset_s: f64,
    /// Length of recorded intervals, seconds.
    pub interval_s: f64,
    /// What to do when a server dies.
    pub on_death: OnDeath,
    /// What to do when a server hangs.
    pub on_hang: OnHang,
    /// The command for each event, run by sh(1).
    pub on_event: Option<&'a str>,
    /// The path of the file, for that command's environment.
    pub path: &'a Path,
    /// The directory of the file, whose disk space is sampled.
    pub directory: &'a str,
    /// The CPUs of servers and loads, for throttling and profiles.
    pub cpus: Vec<usize>,
    /// What is recorded of the servers again and again.
    pub profile: Vec<Profiled>,
}

/// A running soak.
struct Run<'g> {
    local_host: &'g LocalHost<'g>,
    settings: Settings<'g>,
    file: SoakWriter,
    watch: &'g mut dyn FnMut(&Told<'_>),
    subjects: Vec<RunningSubject<'g>>,
    begun: Instant,
    events: Vec<Event>,
    gate: EventGate,
    on_event: Option<OnEvent>,
    faults: Vec<Fault>,
    losses: Vec<Loss>,
    profiles: Profiles,
    /// Profiles that are not written yet.
    recorded: Vec<SubjectProfile>,
    /// Time of the next durability check.
    kept_at_s: f64,
    /// The end of the last recorded interval.
    written_s: f64,
    machine_time: MachineTime,
    clock: Clock,
    kernel_log: KernelLog,
    neighbours: Neighbours,
    throttle: ThrottleWatch,
}

/// Runs a soak, or the rest of one, into its file.
///
/// # Errors
/// If the file cannot be written, or a load or server cannot be started at first.
pub fn run<'g>(
    local_host: &'g LocalHost<'g>,
    file: SoakWriter,
    orders: Vec<SubjectOrder<'g>>,
    settings: Settings<'g>,
    watch: &'g mut dyn FnMut(&Told<'_>),
) -> Result<Outcome, Failure> {
    let mut run = Run {
        local_host,
        file,
        watch,
        subjects: Vec::new(),
        begun: Instant::now(),
        events: Vec::new(),
        gate: EventGate::default(),
        on_event: settings.on_event.map(|command| OnEvent::new(command, settings.path)),
        faults: Vec::new(),
        losses: Vec::new(),
        profiles: Profiles::new(
            &settings.profile,
            &settings.cpus,
            settings.done_s + settings.left_s,
            settings.offset_s,
        ),
        recorded: Vec::new(),
        kept_at_s: 0.0,
        written_s: settings.offset_s,
        machine_time: MachineTime::read(),
        clock: Clock::read(),
        kernel_log: KernelLog::open(),
        neighbours: Neighbours::default(),
        throttle: ThrottleWatch::default(),
        settings,
    };
    run.prepare(orders)?;
    let ended = run.carry_on();
    let over = run.measured_s() >= run.settings.left_s;
    let state = if over { State::Complete } else { State::Stopped };
    // In any case, loads and servers are ended, and remaining data is written.
    let written = run.end();
    let finished = run.file.finish(state).map_err(|e| unwritten(&e));
    let outcome = Outcome { path: run.settings.path.to_owned(), state: state.into(), failed: 0 };
    if finished.is_ok() {
        (run.watch)(&Told::Finished(&outcome));
    }
    match ended? {
        Some(failure) => Err(failure),
        None => written.and(finished).map(|()| outcome),
    }
}

fn unwritten(e: &RecordError) -> Failure {
    Failure::run(
        format!("the file of the soak cannot be written: {e}"),
        "free disk space and make sure that nothing else writes the file, then continue with --resume",
    )
}

impl<'g> Run<'g> {
    fn measured_s(&self) -> f64 {
        self.begun.elapsed().as_secs_f64()
    }

    fn now_s(&self) -> f64 {
        self.settings.offset_s + self.measured_s()
    }

    /// Records servers and loads, and starts the servers.
    fn prepare(&mut self, orders: Vec<SubjectOrder<'g>>) -> Result<(), Failure> {
        let (mut subjects, mut loads, mut schedules) = (Vec::new(), Vec::new(), Vec::new());
        for (id, order) in (1..).zip(orders) {
            let mut subject = RunningSubject::new(id, order.name, order.server);
            match &mut subject.server {
                Server::LongRunning(server) => server
                    .start()
                    .map_err(|reason| not_started(&subject.name, &reason, &server.output_tail()))?,
                Server::Running { faulted: Some(faulted), .. } => faulted.begin().map_err(|reason| {
                    let what = format!("faults of {} cannot be made: {reason}", subject.name);
                    Failure::run(what, "check the limits on processes and descriptors")
                })?,
                Server::Running { faulted: None, .. } => {}
            }
            if let Some(dir) = subject.server.kept_dir() {
                std::fs::read_dir(&dir).map_err(|e| not_kept(&subject.name, &dir, &e))?;
            }
            let (name, command) = (subject.name.clone(), subject.server.command());
            let row = Subject { id, name, command, endings: Endings::default() };
            subject.endings = self.file.put_subject(&row).map_err(|e| unwritten(&e))?;
            subjects.push(Subject { endings: subject.endings, ..row });
            for (name, order) in order.loads {
                let load_id = loads.len() as i64 + 1;
                let command = subject.server.load_argv(&order).join(" ");
                let row = Load { id: load_id, subject: id, name: name.clone(), command, ..Load::default() };
                let totals = self.file.put_load(&row).map_err(|e| unwritten(&e))?;
                loads.push(Load { totals: totals.clone(), ..row });
                subject.loads.push(RunningLoad::new(name, order, LoadCounts::new(load_id, totals)));
            }
            self.subjects.push(subject);
            schedules.push(order.faults);
        }
        if let Some((control, of_control)) = self.control() {
            subjects.retain(|subject: &Subject| subject.id != control);
            loads.retain(|load: &Load| load.id != of_control);
        }
        let run = self.file.id().map_err(|e| unwritten(&e))?;
        (self.watch)(&Told::SoakBegun {
            file: self.settings.path,
            run: &run,
            subjects: &subjects,
            loads: &loads,
        });
        let processes = ProcessTable::read();
        let own = self.own_processes();
        self.neighbours.look(&processes, &own, (0.0, 0.0));
        // Their earlier CPU time does not count.
        for subject in &mut self.subjects {
            subject.values(&processes);
        }
        self.events.extend(self.kernel_log.unreadable(self.settings.offset_s));
        self.begun = Instant::now();
        let origin = Origin { ns: now().0, at_s: self.settings.offset_s };
        for (subject, faults) in self.subjects.iter_mut().zip(schedules) {
            subject.faults.set_origin(origin);
            if let Some(server) = subject.server.faulted() {
                server.begin_faults(faults, self.settings.done_s);
            }
        }
        Ok(())
    }

    /// The control and its load, if there is one. Events and statuses leave them out.
    fn control(&self) -> Option<(i64, i64)> {
        let control = self.subjects.iter().find(|subject| subject.is_control())?;
        Some((control.id, control.loads.first()?.id))
    }

    /// Runs until the time is over, the user stops it, or a server dies that is not restarted, which is returned.
    fn carry_on(&mut self) -> Result<Option<Failure>, Failure> {
        let mut interval_end_s = self.next_interval_s();
        let mut show_at_s = 0.0;
        while self.measured_s() < self.settings.left_s && !self.local_host.is_stopped() {
            let now_s = self.now_s();
            for subject in &mut self.subjects {
                let events = &mut self.events;
                // Whatever happens to the control, the soak goes on.
                let is_control = subject.is_control();
                let on_death = if is_control { OnDeath::Restart } else { self.settings.on_death };
                self.faults.extend(subject.look_at_faults(now_s, events));
                let mut failure = subject.look_at_server(now_s, on_death, events);
                if failure.is_none() {
                    subject.look_at_loads(self.local_host, now_s, events)?;
                    if is_control {
                        continue;
                    }
                    failure = subject.never_answered();
                }
                if failure.is_none() {
                    failure = subject.look_for_hang(now_s, self.settings.on_hang, events);
                }
                if failure.is_some() {
                    return Ok(failure);
                }
            }
            if now_s >= self.kept_at_s {
                for subject in &mut self.subjects {
                    self.losses.extend(subject.look_for_kept(now_s, false, &mut self.events));
                }
                self.kept_at_s = now_s + KEPT_INTERVAL_S;
            }
            let recorded = self.profiles.turn(now_s, &mut self.subjects);
            self.recorded.extend(recorded.map_err(|what| Failure::run(what, "omit --profile"))?);
            self.events.extend(self.clock.step(now_s));
            self.events.extend(self.kernel_log.event(now_s));
            let mut told = Vec::new();
            if !self.events.is_empty() || !self.faults.is_empty() {
                told = self.tell(now_s)?;
            }
            if now_s >= interval_end_s {
                let readings = self.sample(interval_end_s);
                told.extend(self.end_interval(interval_end_s, readings)?);
                interval_end_s = self.next_interval_s();
            }
            told.extend(self.on_event.as_mut().and_then(OnEvent::turn));
            if !told.is_empty() || now_s >= show_at_s {
                let status = self.status(now_s, told);
                (self.watch)(&Told::Status(&status));
                show_at_s = now_s + SHOW_INTERVAL_S;
            }
            std::thread::sleep(if self.profiles.are_running() { RECORDING_TICK } else { TICK });
        }
        Ok(None)
    }

    /// Intervals end at multiples of their length, so that those before and after a gap are on one grid.
    fn next_interval_s(&self) -> f64 {
        let length_s = self.settings.interval_s;
        ((self.now_s() / length_s).floor() + 1.0) * length_s
    }

    /// Samples of servers and machine at the end of an interval.
    fn sample(&mut self, end_s: f64) -> Vec<Reading> {
        let length_s = self.settings.interval_s;
        let processes = ProcessTable::read();
        let mut readings = Vec::new();
        for subject in &mut self.subjects {
            let values = subject.values(&processes).into_iter();
            readings.extend(values.map(|(name, value)| reading(subject.id, name, end_s, length_s, value)));
        }
        let machine_time = MachineTime::read();
        let own = self.own_processes();
        let stretch = (end_s - length_s, end_s);
        let (neighbours, event) = self.neighbours.look(&processes, &own, stretch);
        self.events.extend(event);
        self.events.extend(self.throttle.look(pitot_host::throttle_count(&self.settings.cpus), end_s));
        let machine = figure::machine(self.settings.directory).into_iter();
        let machine = machine.chain(machine_time.since(&self.machine_time, neighbours));
        let machine = machine.chain(self.own_memory(&processes));
        readings.extend(machine.map(|(name, value)| reading(0, name, end_s, length_s, value)));
        self.machine_time = machine_time;
        readings
    }

    /// Memory of the lab and its loads, which must not grow either.
    fn own_memory(&mut self, processes: &ProcessTable) -> [(&'static str, f64); 2] {
        let own = std::process::id();
        let lab: Vec<_> = processes.of(own).into_iter().filter(|process| process.pid == own).collect();
        let loads = self.subjects.iter_mut().flat_map(|subject| &mut subject.loads);
        let pids: Vec<u32> = loads.filter_map(RunningLoad::pid).collect();
        let loads: Vec<_> = pids.iter().flat_map(|pid| processes.of(*pid)).collect();
        [("memory-lab", figure::resident(&lab)), ("memory-loads", figure::resident(&loads))]
    }

    /// The first processes of the soak: this one, with the loads as descendants, and the servers.
    fn own_processes(&mut self) -> Vec<u32> {
        let servers = self.subjects.iter_mut().flat_map(|subject| subject.server.pids());
        servers.chain([std::process::id()]).collect()
    }

    /// Writes events at once, so that a hang is known before the end of the interval.
    fn tell(&mut self, now_s: f64) -> Result<Vec<String>, Failure> {
        let events = self.gate.admit(std::mem::take(&mut self.events), now_s);
        let faults = std::mem::take(&mut self.faults);
        let losses = std::mem::take(&mut self.losses);
        let moment = Moment { now_s, events, faults, losses, endings: self.endings(), ..Moment::default() };
        self.write(&moment)
    }

    fn endings(&self) -> Vec<(i64, Endings)> {
        self.subjects.iter().map(|subject| (subject.id, subject.endings)).collect()
    }

    /// Writes a complete interval, and returns its events, in a sentence each.
    fn end_interval(&mut self, end_s: f64, readings: Vec<Reading>) -> Result<Vec<String>, Failure> {
        let mut moment = Moment {
            now_s: end_s,
            readings,
            events: self.gate.admit(std::mem::take(&mut self.events), end_s),
            endings: self.endings(),
            faults: std::mem::take(&mut self.faults),
            losses: std::mem::take(&mut self.losses),
            profiles: std::mem::take(&mut self.recorded),
            ..Moment::default()
        };
        for load in self.subjects.iter_mut().flat_map(|subject| &mut subject.loads) {
            moment.intervals.extend(load.counts.end_interval(self.written_s, end_s));
            moment.totals.push((load.id, load.counts.totals().clone()));
        }
        let told = self.write(&moment)?;
        self.written_s = end_s;
        Ok(told)
    }

    /// The current status.
    fn status(&self, now_s: f64, events: Vec<String>) -> SoakStatus {
        let load = |load: &RunningLoad<'_>| {
            let (totals, last) = (load.counts.totals(), load.counts.last_second());
            LoadStatus {
                name: load.name.clone(),
                rate: last.replies,
                p50_ns: last.p50_ns,
                p99_ns: last.p99_ns,
                completed: totals.completed,
                missed: totals.missed,
                errors: totals.errors,
                kinds: totals.kinds.clone(),
                lost: totals.lost,
                by_status: totals.by_status,
                received: totals.received,
                sent: totals.sent,
                open: last.open,
                response: *load.counts.buckets(),
            }
        };
        let servers = self.subjects.iter().filter(|subject| !subject.is_control());
        let servers = servers.map(|subject| ServerStatus {
            name: subject.name.clone(),
            is_up: subject.is_up,
            endings: subject.endings,
            loads: subject.loads.iter().map(load).collect(),
        });
        let left_s = (self.settings.left_s - self.measured_s()).max(0.0);
        SoakStatus { now_s, left_s, servers: servers.collect(), events }
    }

    /// Writes events, reports them, and starts the command of `--on-event` for each. Returns them, in a sentence each.
    fn write(&mut self, moment: &Moment) -> Result<Vec<String>, Failure> {
        self.file.write(moment).map_err(|e| unwritten(&e))?;
        let moment = match self.control() {
            Some((subject, load)) => &moment.without(subject, load),
            None => moment,
        };
        (self.watch)(&Told::Recorded(moment));
        let name = |id: i64| self.subjects.iter().find(|s| s.id == id).map_or("", |s| s.name.as_str());
        let faults = moment.faults.iter().map(|fault| told_of_fault(fault, name(fault.subject)));
        let sentences = moment.events.iter().map(told).chain(faults).collect();
        if let Some(on_event) = &mut self.on_event {
            let named = |event: &Event| (event.subject.map_or("", name).to_owned(), event.clone());
            on_event.put(moment.events.iter().map(named));
        }
        Ok(sentences)
    }

    /// Ends loads and servers, and writes the last reports of loads.
    fn end(&mut self) -> Result<(), Failure> {
        let over_s = self.now_s();
        // Only while they run; a shorter interval would count as much as a whole one.
        let is_whole = over_s - self.written_s > 0.9 * self.settings.interval_s;
        let readings = if is_whole { self.sample(over_s) } else { Vec::new() };
        for subject in &mut self.subjects {
            self.faults.extend(subject.end_faults(over_s, &mut self.events));
        }
        // Loads have continued while the server of a fault was waited for.
        let end_s = self.now_s();
        for subject in &mut self.subjects {
            self.faults.extend(subject.stop_loads(end_s));
            self.events.extend(subject.hangs.interrupt(end_s));
        }
        self.events.extend(self.neighbours.end());
        let written = self.end_interval(end_s, readings);
        let (mut events, mut losses) = (Vec::new(), Vec::new());
        for subject in &mut self.subjects {
            losses.extend(subject.stop_server(end_s, &mut events));
        }
        let loads = self.subjects.iter().flat_map(|subject| &subject.loads);
        let totals = loads.map(|load| (load.id, load.counts.totals().clone())).collect();
        let events = self.gate.admit(events, end_s);
        let last =
            Moment { now_s: end_s, events, losses, totals, endings: self.endings(), ..Moment::default() };
        let written = written.and(self.write(&last));
        // Whoever looks sees the counts that the file has.
        let status = self.status(end_s, Vec::new());
        (self.watch)(&Told::Status(&status));
        self.on_event.iter_mut().for_each(OnEvent::finish);
        written.map(drop)
    }
}

fn not_started(name: &str, reason: &str, tail: &str) -> Failure {
    let fix = match tail.trim_end() {
        "" => "run its command by hand".to_owned(),
        printed => format!("it printed:\n{printed}"),
    };
    Failure::run(format!("{name} cannot be started: {reason}"), fix)
}

fn not_kept(name: &str, dir: &Path, e: &std::io::Error) -> Failure {
    Failure::run(
        format!("the data of {name} in {} cannot be read: {e}", dir.display()),
        "set `keeps` to the directory where it stores uploads or mail, and create it before (docs/faults.md)",
    )
}

fn reading(subject: i64, name: &str, end_s: f64, length_s: f64, value: f64) -> Reading {
    Reading {
        subject,
        metric: name.to_owned(),
        start_s: (end_s - length_s).max(0.0),
        length_s,
        mean: value,
        min: value,
        max: value,
    }
}
