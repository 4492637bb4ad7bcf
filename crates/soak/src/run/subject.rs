//! A running server of a soak with its loads.

use std::time::Instant;

use pitot_durability::{DurabilityWatch, Lost};
use pitot_lab::{FaultNews, LocalHost, LongRunningLoad, LongRunningServer};
use pitot_meter::{Nanos, now};
use pitot_results::Failure;
use pitot_sys::processes::ProcessTable;

use super::back_off::BackOff;
use super::counts::{LoadCounts, Told};
use super::order::{LoadOrder, Server, Watch};
use super::reaction::{OnDeath, OnHang};
use crate::fault::FaultWatch;
use crate::figure::{self, Values};
use crate::hang::{HangWatch, Suspect};
use pitot_record::soak::{CONTROL, Endings, Event, EventKind, Fault, Loss, SECOND_S, Totals};

/// Loads report each second after it is over.
const TOLD_AFTER_S: f64 = 1.0;
/// Delay before a load is restarted, or a server that failed to start; doubled each time.
const RETRY_S: f64 = 1.0;
/// Time after a restart of a server in which loads still report the time before it, or wait to reconnect.
const GRACE_S: f64 = 3.0;

pub(super) struct RunningLoad<'g> {
    pub(super) id: i64,
    pub(super) name: String,
    order: LoadOrder,
    pub(super) counts: LoadCounts,
    process: Option<LongRunningLoad<'g>>,
    /// Whether it was ever started.
    was_started: bool,
    /// When to start it, if it is not running.
    start_at_s: f64,
    back_off: BackOff,
}

pub(super) struct RunningSubject<'g> {
    pub(super) id: i64,
    pub(super) name: String,
    pub(super) server: Server<'g>,
    pub(super) loads: Vec<RunningLoad<'g>>,
    /// Whether it is running; a server that the soak did not start counts as running.
    pub(super) is_up: bool,
    /// The time of its last restart.
    started_again_s: Option<f64>,
    start_at_s: f64,
    back_off: BackOff,
    pub(super) endings: Endings,
    /// It ended in a fault, so neither its end nor its restart counts.
    is_gone_of_fault: bool,
    /// Its first process and CPU time at the end of the last interval, nanoseconds.
    cpu_ns: Option<(u32, u64, Instant)>,
    /// Replies since then.
    replies: u64,
    pub(super) hangs: HangWatch,
    pub(super) faults: FaultWatch,
    pub(super) kept: DurabilityWatch,
    /// Whether the last durability check failed.
    is_unreadable: bool,
}

impl<'g> RunningLoad<'g> {
    /// A load that was not started yet.
    pub(super) fn new(name: String, order: LoadOrder, counts: LoadCounts) -> RunningLoad<'g> {
        let (id, back_off) = (counts.load(), BackOff::default());
        RunningLoad { id, name, order, counts, process: None, was_started: false, start_at_s: 0.0, back_off }
    }

    /// Its process, if it is running.
    pub(super) fn pid(&mut self) -> Option<u32> {
        self.process.as_mut()?.pid()
    }
}

impl<'g> RunningSubject<'g> {
    /// A server that is up, without loads.
    pub(super) fn new(id: i64, name: String, server: Server<'g>) -> RunningSubject<'g> {
        RunningSubject {
            id,
            name,
            server,
            loads: Vec::new(),
            is_up: true,
            started_again_s: None,
            start_at_s: 0.0,
            back_off: BackOff::default(),
            endings: Endings::default(),
            is_gone_of_fault: false,
            cpu_ns: None,
            replies: 0,
            hangs: HangWatch::default(),
            faults: FaultWatch::new(id),
            kept: DurabilityWatch::default(),
            is_unreadable: false,
        }
    }

    /// Whether it is the control of the others.
    pub(super) fn is_control(&self) -> bool {
        self.name == CONTROL
    }

    /// Makes faults that are due, ends those that are over, and judges those whose effect is known.
    pub(super) fn look_at_faults(&mut self, now_s: f64, events: &mut Vec<Event>) -> Vec<Fault> {
        self.turn_faults(now_s, events, LongRunningServer::turn_faults)
    }

    /// Ends all active faults.
    pub(super) fn end_faults(&mut self, now_s: f64, events: &mut Vec<Event>) -> Vec<Fault> {
        self.turn_faults(now_s, events, LongRunningServer::end_faults)
    }

    fn turn_faults(
        &mut self,
        now_s: f64,
        events: &mut Vec<Event>,
        turn: fn(&mut LongRunningServer<'g>, &mut Vec<FaultNews>) -> Result<(), String>,
    ) -> Vec<Fault> {
        let Some(server) = self.server.faulted() else { return Vec::new() };
        let mut news = Vec::new();
        if let Err(reason) = turn(server, &mut news) {
            let sentence = format!("a fault of {}: {reason}", self.name);
            events.push(self.event(now_s, EventKind::FaultFailed, sentence, String::new()));
        }
        let mut faults: Vec<Fault> = news.into_iter().map(|news| self.faults.take(news)).collect();
        faults.extend(self.faults.judged(now().0, false));
        faults
    }

    /// Checks whether the server has ended, and plans its restart. Returns why the soak ends, if it does.
    pub(super) fn look_at_server(
        &mut self,
        now_s: f64,
        on_death: OnDeath,
        events: &mut Vec<Event>,
    ) -> Option<Failure> {
        events.extend(self.return_of_watched(now_s));
        if self.is_up
            && let Some((sentence, tail)) = self.death()
        {
            self.cpu_ns = None;
            self.endings.deaths += u64::from(!self.is_gone_of_fault);
            // The load on a server that the soak did not start continues: it may come back, or have another process.
            if matches!(self.server, Server::LongRunning(_)) {
                self.is_up = false;
                self.start_at_s = self.back_off.ended(now_s, 0.0);
            }
            events.extend(self.hangs.interrupt(now_s));
            events.push(self.event(now_s, EventKind::ServerEnded, sentence.clone(), tail.clone()));
            if on_death == OnDeath::End && matches!(self.server, Server::LongRunning(_)) {
                return Some(ended_with_its_server(&sentence, &tail));
            }
        }
        if !self.is_up {
            events.extend(self.start_again(now_s));
        }
        None
    }

    /// The sentence on a server that has ended, and its output tail.
    fn death(&mut self) -> Option<(String, String)> {
        match &mut self.server {
            Server::LongRunning(server) => {
                let ending = server.ended()?;
                Some((format!("{} ended {ending}", self.name), server.output_tail()))
            }
            Server::Running { watch, .. } => {
                let gone = watch.as_mut()?.take_gone()?;
                if matches!(watch, Some(Watch::Process(_))) {
                    *watch = None;
                }
                let fault = self.faults.reason_of_death(now().0);
                self.is_gone_of_fault = fault.is_some();
                let why = fault.map(|kind| format!(" in the fault {kind}")).unwrap_or_default();
                let sentence = format!("process {gone} of {} has ended{why}; the load continues", self.name);
                Some((sentence, String::new()))
            }
        }
    }

    /// Checks whether a watched server was restarted by another program.
    fn return_of_watched(&mut self, now_s: f64) -> Option<Event> {
        let Server::Running { watch: Some(watch), .. } = &mut self.server else { return None };
        let first = watch.take_back()?;
        self.started_again_s = Some(now_s);
        self.endings.restarts += u64::from(!std::mem::take(&mut self.is_gone_of_fault));
        let sentence = format!("{} was restarted, as process {first}", self.name);
        Some(self.event(now_s, EventKind::ServerRestarted, sentence, String::new()))
    }

    /// Restarts a server when it is due, without blocking others. If it fails, another attempt follows.
    fn start_again(&mut self, now_s: f64) -> Option<Event> {
        let Server::LongRunning(server) = &mut self.server else { return None };
        if !server.is_starting() && now_s < self.start_at_s {
            return None;
        }
        match server.start_again() {
            Ok(false) => None,
            Ok(true) => {
                (self.is_up, self.started_again_s) = (true, Some(now_s));
                self.back_off.started(now_s);
                self.endings.restarts += 1;
                let sentence = format!("{} was restarted", self.name);
                Some(self.event(now_s, EventKind::ServerRestarted, sentence, String::new()))
            }
            Err(reason) => {
                // It was never ready.
                self.back_off.started(now_s);
                self.start_at_s = self.back_off.ended(now_s, RETRY_S);
                let sentence = format!("{} could not be restarted: {reason}", self.name);
                let tail = server.output_tail();
                Some(self.event(now_s, EventKind::RestartFailed, sentence, tail))
            }
        }
    }

    /// Handles reports of the loads, and starts those that are not running.
    pub(super) fn look_at_loads(
        &mut self,
        local_host: &'g LocalHost<'g>,
        now_s: f64,
        events: &mut Vec<Event>,
    ) -> Result<(), Failure> {
        let mut seconds = Vec::new();
        for load in &mut self.loads {
            if let Some(process) = &mut load.process {
                while let Some(line) = process.line() {
                    if let Some(told) = load.counts.line(&line) {
                        self.hangs.second(now_s, load.id, told.replies, told.asked);
                        seconds.push((load.id, process.measured_from(), told));
                    }
                }
                if let Some((ending, evidence)) = process.ended() {
                    load.process = None;
                    load.counts.end_process();
                    load.start_at_s = load.back_off.ended(now_s, RETRY_S);
                    events.extend(self.hangs.interrupt(now_s));
                    let sentence = format!("the load `{}` ended early, {ending}", load.name);
                    let kind = EventKind::LoadEnded;
                    let subject = Some(self.id);
                    events.push(Event { at_s: now_s, until_s: None, subject, kind, sentence, evidence });
                }
            } else if self.is_up && now_s >= load.start_at_s {
                load.back_off.started(now_s);
                match local_host.load(self.server.load_argv(&load.order)) {
                    Ok(process) => {
                        load.counts.begin_process(now_s);
                        (load.process, load.was_started) = (Some(process), true);
                    }
                    Err(reason) if !load.was_started => {
                        return Err(Failure::run(
                            format!("the load `{}` cannot be started: {reason}", load.name),
                            "check the limits on processes and descriptors",
                        ));
                    }
                    // Later that may be a temporary shortage.
                    Err(reason) => {
                        load.start_at_s = load.back_off.ended(now_s, RETRY_S);
                        let sentence = format!("the load `{}` could not be restarted: {reason}", load.name);
                        let (kind, subject) = (EventKind::LoadEnded, Some(self.id));
                        let evidence = String::new();
                        events.push(Event { at_s: now_s, until_s: None, subject, kind, sentence, evidence });
                    }
                }
            }
        }
        self.take(now_s, seconds);
        if let Server::LongRunning(server) = &mut self.server
            && let Some(reason) = server.helper_ended()
        {
            let sentence = format!("{reason}, which the loads of {} need", self.name);
            events.push(self.event(now_s, EventKind::HelperEnded, sentence, String::new()));
        }
        Ok(())
    }

    /// Why the soak ends, if it never got a reply and its requests have failed.
    pub(super) fn never_answered(&self) -> Option<Failure> {
        let totals = || self.loads.iter().map(|load| load.counts.totals());
        let is_fault = self.faults.explains_silence(now().0);
        if !self.is_up || is_fault || totals().all(|t| t.errors == 0) || totals().any(Totals::was_answered) {
            return None;
        }
        let met: Vec<String> = totals().map(Totals::errors_by_kind).filter(|met| !met.is_empty()).collect();
        Some(never_answered(&self.name, &met.join(", ")))
    }

    /// Handles reports of seconds, each with its load and the begin of the load's measured part if known.
    fn take(&mut self, now_s: f64, seconds: Vec<(i64, Option<Nanos>, Told)>) {
        for (load, measured_from, told) in seconds {
            self.replies += told.replies;
            let begins = measured_from.map(|from| from + Nanos::from_secs(told.t_s));
            if let Some((steps, begins)) = told.steps.zip(begins) {
                self.faults.steps(begins.0, &steps);
            }
            // No durability check of a server that the soak did not start.
            if let Some(durability) = told.durability.filter(|_| self.server.kept_dir().is_some()) {
                let at_s = begins.map_or(now_s - TOLD_AFTER_S, |begins| self.faults.axis_s(begins.0));
                self.kept.take(load, at_s, durability);
            }
        }
    }

    /// Runs the durability check. Losses are counted, and returned with their event.
    pub(super) fn look_for_kept(&mut self, now_s: f64, is_end: bool, events: &mut Vec<Event>) -> Vec<Loss> {
        let Some(dir) = self.server.kept_dir() else { return Vec::new() };
        let unwatched = self.kept.unwatched();
        if unwatched > 0 {
            let sentence = format!(
                "{} stores data so late that {unwatched} acknowledged requests are not checked",
                self.name
            );
            events.push(self.event(now_s, EventKind::KeptUnreadable, sentence, String::new()));
        }
        let looked = match self.kept.look(&dir, now_s, is_end) {
            Ok(looked) => looked,
            Err(e) => {
                if !std::mem::replace(&mut self.is_unreadable, true) {
                    let sentence =
                        format!("the data of {} in {} cannot be read: {e}", self.name, dir.display());
                    events.push(self.event(now_s, EventKind::KeptUnreadable, sentence, String::new()));
                }
                return Vec::new();
            }
        };
        self.is_unreadable = false;
        for load in &mut self.loads {
            let own = || looked.losses.iter().filter(|loss| loss.load == load.id);
            let (lost, torn) = (own().map(|loss| loss.lost).sum(), own().map(|loss| loss.torn).sum());
            load.counts.add_losses(lost, torn, looked.doubled.get(&load.id).copied().unwrap_or(0));
        }
        if let Some(first) = looked.losses.first() {
            let (lost, torn): (u64, u64) =
                looked.losses.iter().fold((0, 0), |(lost, torn), loss| (lost + loss.lost, torn + loss.torn));
            let parts = if torn > 0 { format!(", {torn} of them in part") } else { String::new() };
            let sentence = format!("{} has lost {lost} acknowledged requests{parts}", self.name);
            events.push(self.event(first.at_s, EventKind::Lost, sentence, looked.names.join("\n")));
        }
        let loss = |Lost { load, at_s, lost, torn }| Loss { load, at_s, length_s: SECOND_S, lost, torn };
        looked.losses.into_iter().map(loss).collect()
    }

    /// Checks whether the server hangs or replies again. Returns why the soak ends, if it does.
    pub(super) fn look_for_hang(
        &mut self,
        now_s: f64,
        on_hang: OnHang,
        events: &mut Vec<Event>,
    ) -> Option<Failure> {
        if !self.is_up {
            return None;
        }
        let is_new = self.started_again_s.is_some_and(|at_s| now_s < at_s + GRACE_S);
        if is_new || self.faults.explains_silence(now().0) {
            events.extend(self.hangs.interrupt(now_s));
            return None;
        }
        let change = self.hangs.change(now_s);
        let of_loads = self.hangs.load_changes(now_s);
        if change.is_none() && of_loads.is_empty() {
            return None;
        }
        let table = ProcessTable::read();
        let pids: Vec<u32> = table.of_all(&self.server.pids()).iter().map(|process| process.pid).collect();
        let suspect =
            Suspect { subject: self.id, name: &self.name, pids: &pids, address: self.server.address() };
        let event = change.and_then(|change| self.hangs.event(change, now_s, &suspect));
        for change in of_loads {
            let name =
                self.loads.iter().find(|load| load.id == change.0).map_or("", |load| load.name.as_str());
            events.extend(self.hangs.load_event(change, now_s, &suspect, name));
        }
        let event = event?;
        let ends = event.until_s.is_none() && on_hang == OnHang::End;
        let failure = ends.then(|| {
            Failure::run(
                format!("{}, and the soak ends with it", event.sentence),
                format!("evidence:\n{}", event.evidence.trim_end()),
            )
        });
        events.push(event);
        failure
    }

    /// Ends the loads, handles their last reports, and judges the remaining faults.
    pub(super) fn stop_loads(&mut self, now_s: f64) -> Vec<Fault> {
        let mut seconds = Vec::new();
        for load in &mut self.loads {
            let Some(mut process) = load.process.take() else { continue };
            let lines = process.stop();
            let told = lines.iter().filter_map(|line| load.counts.line(line));
            seconds.extend(told.map(|told| (load.id, process.measured_from(), told)));
        }
        self.take(now_s, seconds);
        self.faults.judged(now().0, true)
    }

    /// Ends a server that the soak started, or what makes faults of another, and runs the last durability check. Returns
    /// losses, and adds an event if it did not end properly.
    pub(super) fn stop_server(&mut self, now_s: f64, events: &mut Vec<Event>) -> Vec<Loss> {
        if let Server::LongRunning(server) = &mut self.server
            && let Some(reason) = server.stop().err().filter(|_| self.is_up)
        {
            events.push(self.event(now_s, EventKind::ServerEnded, reason, String::new()));
        }
        let losses = self.look_for_kept(now_s, true, events);
        if let Some(server) = self.server.faulted() {
            server.clear();
        }
        losses
    }

    /// Its samples since the last interval.
    pub(super) fn values(&mut self, processes: &ProcessTable) -> Values {
        let replies = std::mem::take(&mut self.replies);
        let pids = if self.is_up { self.server.pids() } else { Vec::new() };
        let own = processes.of_all(&pids);
        let Some(pid) = own.first().map(|first| first.pid) else { return Values::new() };
        let mut values = figure::held(&own);
        let cpu_ns = self.server.cpu_ns().unwrap_or_else(|| own.iter().map(|process| process.cpu_ns()).sum());
        let now = Instant::now();
        if let Some((of, before, then)) = self.cpu_ns.replace((pid, cpu_ns, now))
            && of == pid
        {
            let used_ns = cpu_ns.saturating_sub(before) as f64;
            let length_ns = now.duration_since(then).as_nanos().max(1) as f64;
            values.insert("server-cpu", 100.0 * used_ns / length_ns);
            if replies > 0 {
                values.insert("cpu-per-request", used_ns / replies as f64);
            }
        }
        values.extend(
            self.server.address().and_then(|address| figure::sockets(pid, address)).into_iter().flatten(),
        );
        values
    }

    fn event(&self, at_s: f64, kind: EventKind, sentence: String, evidence: String) -> Event {
        Event { at_s, until_s: None, subject: Some(self.id), kind, sentence, evidence }
    }
}

/// The failure of a soak whose server never replied; `met` has the errors of its requests.
pub fn never_answered(name: &str, met: &str) -> Failure {
    let met = if met.is_empty() { String::new() } else { format!(": {met}") };
    Failure::run(
        format!("{name} has not replied to any request{met}"),
        "check that it is running and that the URL is right: pitot load URL -n 1",
    )
}

fn ended_with_its_server(sentence: &str, tail: &str) -> Failure {
    Failure::run(
        format!("{sentence}, and the soak with it"),
        format!("its last output was:\n{}\nadd --restart to restart it automatically", tail.trim_end()),
    )
}
