//! The faults of a repetition: begins, ends and records each on time.
//!
//! Most are programs (`pitot fault`), which undo their changes. Only restarting the server is done by the lab.

use std::collections::VecDeque;
use std::time::Duration;

use pitot_fault::{
    Aim, BEGAN, ENDED, FaultPlan, FaultRecord, Means, Moment, Options, Schedule, find, schedule,
};
use pitot_meter::Nanos;
use pitot_sys::spawn::Stop;

use super::between::{Told, quit_between};
use super::context::{Abort, Context, FirstProcess, nanos};
use super::fault_command::{Aims, argv};
use super::readiness::{READY_INTERVAL, Readiness};
use super::start::begin_server;
use super::stop::{ask_server, look_for_end, stop_deadline, wait_for_end_by, whole_output};
use crate::runner::executor::{Ending, Line, Role};

/// The load generator prints this on stderr when its measured part begins.
pub(in crate::runner) const MEASURED_FROM: &str = "measured from ";
/// For how long after its end a fault may be the reason that a server dies.
const AFTERMATH: Nanos = Nanos::from_secs(1);
/// Interval of checks whether the proxy or the resolver has ended a fault.
const TOLD_INTERVAL: Duration = Duration::from_millis(5);

/// News of a fault.
#[derive(Clone, Debug, PartialEq)]
pub enum FaultNews {
    /// It has begun, at the time of the request.
    Began(FaultRecord),
    /// It has ended, or was not made.
    Ended(FaultRecord),
}

/// The faults of one repetition, or of a long-running server.
pub(in crate::runner) struct Faults {
    due: VecDeque<Moment>,
    under_way: Vec<UnderWay>,
    /// The server has died in this fault.
    server_died: bool,
    /// The server is being restarted for this fault.
    again: Option<Again>,
    /// Whether to block, as a repetition does; a soak has other servers to serve.
    waits: bool,
    /// The server has exited and is not ready again.
    is_away: bool,
    /// A fault that is over, and until when it may still be the reason that the server dies: a killed process ends later
    /// on a busy CPU.
    aftermath: Option<(FaultRecord, Nanos)>,
    news: Vec<FaultNews>,
    /// The start of the measured part, once the load generator has reported it.
    measured_from: Option<Nanos>,
    /// The times of faults at that start, seconds.
    measured_from_s: f64,
}

/// A server that is being restarted.
struct Again {
    /// The fault that restarts it.
    record: FaultRecord,
    step: Step,
}

enum Step {
    /// It was asked to end by this deadline.
    Ending { deadline: Nanos },
    /// It was started.
    Starting(Readiness),
}

/// An active fault.
struct UnderWay {
    /// Its position in the plan.
    number: usize,
    /// When it ends.
    ends: Nanos,
    /// For faults of the proxy or the resolver; others have their own program.
    told: Option<Told>,
    record: FaultRecord,
}

impl Faults {
    /// The faults of a repetition.
    pub(super) fn of(context: &Context<'_>) -> Faults {
        let plan = context.shared.plan;
        let seed = plan.seed.unwrap_or_default();
        Faults::new(schedule(&plan.faults, seed, context.shared.block.into(), plan.duration_s))
    }

    /// The faults of a long-running server; `at_s` is the current time of faults.
    pub(in crate::runner) fn from_now(due: Schedule, now: Nanos, at_s: f64) -> Faults {
        Faults { measured_from: Some(now), measured_from_s: at_s, waits: false, ..Faults::new(due) }
    }

    fn new(due: Schedule) -> Faults {
        Faults {
            due: due.into(),
            under_way: Vec::new(),
            server_died: false,
            again: None,
            waits: true,
            is_away: false,
            aftermath: None,
            news: Vec::new(),
            measured_from: None,
            measured_from_s: 0.0,
        }
    }

    /// The faults that were made, in the order of their beginning.
    pub(super) fn records(self) -> Vec<FaultRecord> {
        let ended = self.news.into_iter().filter_map(|news| match news {
            FaultNews::Ended(record) => Some(record),
            FaultNews::Began(_) => None,
        });
        let mut records: Vec<FaultRecord> = ended.collect();
        records.sort_by(|a, b| a.due_s.total_cmp(&b.due_s));
        records
    }

    /// News since the last call.
    pub(in crate::runner) fn news(&mut self) -> Vec<FaultNews> {
        std::mem::take(&mut self.news)
    }

    /// Whether a fault is restarting the server.
    pub(in crate::runner) fn are_starting_server(&self) -> bool {
        self.again.is_some()
    }

    /// Sets whether the server has exited and is not ready again. Until it is, faults that are due wait.
    pub(in crate::runner) fn server_is_away(&mut self, is_away: bool) {
        self.is_away = is_away;
    }

    /// Makes no more faults.
    pub(in crate::runner) fn forget_due(&mut self) {
        self.due.clear();
    }

    /// Handles a line that a program has printed.
    pub(super) fn heard(&mut self, line: &Line) {
        if line.role == Role::Load
            && let Some(at) = line.text.strip_prefix(MEASURED_FROM)
        {
            self.measured_from = at.trim().parse().ok().map(Nanos);
        }
    }

    /// When [`turn`](Self::turn) has something to do.
    pub(super) fn next(&self) -> Option<Nanos> {
        let due = self.due.front().and_then(|moment| self.due_at(moment));
        self.under_way.iter().map(|fault| fault.ends).chain(due).min()
    }

    fn due_at(&self, moment: &Moment) -> Option<Nanos> {
        Some(self.measured_from? + nanos((moment.at_s - self.measured_from_s).max(0.0)))
    }

    /// Begins faults that are due, and ends those that are over.
    pub(in crate::runner) fn turn(&mut self, context: &mut Context<'_>) -> Result<(), Abort> {
        self.go_on(context, Duration::ZERO)?;
        let now = context.executor.now();
        while self.server_is_there()
            && let Some(moment) = self.due.front().copied()
            && self.due_at(&moment).is_some_and(|due| due <= now)
            && self.under_way.iter().all(|fault| fault.number != moment.number)
        {
            self.due.pop_front();
            self.begin(context, moment)?;
        }
        while let Some(position) =
            (0..self.under_way.len()).find(|index| self.can_be_ended(context, *index, now))
        {
            let fault = self.under_way.remove(position);
            self.end(context, fault)?;
        }
        if let Some((record, _)) = self.aftermath.take_if(|(_, until)| *until < now) {
            self.news.push(FaultNews::Ended(record));
        }
        Ok(())
    }

    /// Whether faults of the server can be made.
    fn server_is_there(&self) -> bool {
        self.again.is_none() && !self.is_away
    }

    /// Whether a fault is over and can be ended without blocking.
    fn can_be_ended(&mut self, context: &mut Context<'_>, index: usize, now: Nanos) -> bool {
        let fault = &mut self.under_way[index];
        if fault.ends > now {
            return false;
        }
        if let Some(told) = &mut fault.told {
            return self.waits || told.is_over(context, &mut fault.record);
        }
        let role = Role::Fault(fault.number);
        let is_late = now > last_end(context, role, fault.ends);
        self.server_is_there() && (self.waits || is_late || context.executor.ending(role).is_some())
    }

    /// An error once the server has ended, unless a fault is the reason.
    pub(super) fn check_server(&mut self, context: &mut Context<'_>, when: &str) -> Result<(), Abort> {
        context.check_hosts()?;
        if self.account_for_server(context)? { Ok(()) } else { context.check_server(when) }
    }

    /// Whether the server is up, or has died in a fault, after which it is restarted.
    pub(in crate::runner) fn account_for_server(&mut self, context: &mut Context<'_>) -> Result<bool, Abort> {
        if self.server_died || self.again.is_some() || context.executor.ending(Role::Server).is_none() {
            return Ok(true);
        }
        if self.under_way.iter().any(|fault| may_end_server(&fault.record)) {
            self.server_died = true;
            return Ok(true);
        }
        let now = context.executor.now();
        match self.aftermath.take() {
            Some((record, until)) if now <= until => self.revive(context, record).map(|()| true),
            Some((record, _)) => {
                self.news.push(FaultNews::Ended(record));
                Ok(false)
            }
            None => Ok(false),
        }
    }

    /// Ends all active faults, the proxy and the resolver, also after a failure.
    pub(super) fn finish(&mut self, context: &mut Context<'_>) -> Result<(), Abort> {
        let taken_back = self.take_all_back(context);
        taken_back.and(quit_between(context))
    }

    /// Ends all active faults. Proxy and resolver stay, since a load may be using them.
    pub(in crate::runner) fn take_all_back(&mut self, context: &mut Context<'_>) -> Result<(), Abort> {
        self.waits = true;
        let mut outcome = self.wait_for_server(context);
        for fault in std::mem::take(&mut self.under_way) {
            context.executor.stop(Role::Fault(fault.number), Stop::Terminate);
            outcome = outcome.and(self.end(context, fault));
        }
        let aftermath = self.aftermath.take().map(|(record, _)| record);
        let late =
            self.due.drain(..).map(|moment| record(context, moment, "the load had ended already".to_owned()));
        self.news.extend(aftermath.into_iter().chain(late).map(FaultNews::Ended));
        outcome
    }

    fn begin(&mut self, context: &mut Context<'_>, moment: Moment) -> Result<(), Abort> {
        let plan = &context.shared.plan.faults[moment.number];
        let number = moment.number;
        let mut record = record(context, moment, String::new());
        let began_ns = context.executor.now().0;
        self.news.push(FaultNews::Began(FaultRecord { began_ns, ..record.clone() }));
        if matches!(find(&plan.kind).map(|fault| fault.means), Some(Means::Starter)) {
            return self.restart(context, plan, record);
        }
        let is_of_process = find(&plan.kind).is_some_and(|fault| fault.aim == Aim::Process);
        if is_of_process && context.first == FirstProcess::Gone {
            record.what = "the server's process has ended".into();
            self.news.push(FaultNews::Ended(record));
            return Ok(());
        }
        let told = Told::begin(context, plan, number, &mut record);
        if told.is_none() {
            let aims = Aims::of(context);
            if let Err(abort) = context.start(Role::Fault(number), argv(context.shared.pitot, plan, &aims)) {
                record.what = "its program could not be started".into();
                self.news.push(FaultNews::Ended(record));
                return Err(abort);
            }
        }
        let ends = context.executor.now() + nanos(plan.length_s());
        self.under_way.push(UnderWay { number, ends, told, record });
        Ok(())
    }

    /// Waits for the end of a fault, reads its result, and restarts a server that has died.
    fn end(&mut self, context: &mut Context<'_>, mut fault: UnderWay) -> Result<(), Abort> {
        if let Some(mut told) = fault.told.take() {
            while !told.is_over(context, &mut fault.record) {
                // A starting server may print that it is ready.
                context.executor.pause(TOLD_INTERVAL);
            }
            self.news.push(FaultNews::Ended(fault.record));
            return Ok(());
        }
        let UnderWay { number, ends, mut record, .. } = fault;
        let role = Role::Fault(number);
        let deadline = if self.waits { stop_deadline(context, role) } else { last_end(context, role, ends) };
        let ending = match wait_for_end_by(context, role, deadline) {
            Ok(ending) => ending,
            Err(abort) => {
                self.news.push(FaultNews::Ended(record));
                return Err(abort);
            }
        };
        let output = whole_output(context, role);
        for line in output.stdout.lines() {
            if let Some((at, what)) = line.strip_prefix(BEGAN).and_then(|rest| rest.split_once(' ')) {
                (record.began_ns, record.what) = (at.parse().unwrap_or_default(), what.to_owned());
            } else if let Some(at) = line.strip_prefix(ENDED) {
                record.ended_ns = at.trim().parse().unwrap_or_default();
            }
        }
        if record.was_made() && find(&record.kind).is_some_and(|fault| fault.is_moment) {
            record.ended_ns = record.began_ns;
        }
        if ending != Ending::Code(0) && !record.was_made() {
            record.what = output.stderr.lines().next().unwrap_or("it was not made").to_owned();
        }
        if self.server_died || !self.is_away && context.executor.ending(Role::Server).is_some() {
            return self.revive(context, record);
        }
        if record.was_made() && may_end_server(&record) {
            let until = context.executor.now() + AFTERMATH;
            let earlier = self.aftermath.replace((record, until));
            self.news.extend(earlier.map(|(record, _)| FaultNews::Ended(record)));
        } else {
            self.news.push(FaultNews::Ended(record));
        }
        Ok(())
    }

    /// Asks the server to end, to restart it.
    fn restart(
        &mut self,
        context: &mut Context<'_>,
        plan: &FaultPlan,
        mut record: FaultRecord,
    ) -> Result<(), Abort> {
        if let Err(abort) = ask_to_end(context, plan, &mut record) {
            self.news.push(FaultNews::Ended(record));
            return Err(abort);
        }
        let deadline = stop_deadline(context, Role::Server);
        self.again = Some(Again { record, step: Step::Ending { deadline } });
        if self.waits { self.wait_for_server(context) } else { Ok(()) }
    }

    /// Restarts a server that a fault has ended.
    fn revive(&mut self, context: &mut Context<'_>, record: FaultRecord) -> Result<(), Abort> {
        self.server_died = false;
        let record = FaultRecord { server_died: true, ..record };
        match begin_server(context) {
            Ok(readiness) => self.again = Some(Again { record, step: Step::Starting(readiness) }),
            Err(abort) => {
                self.is_over(context, record);
                return Err(abort);
            }
        }
        if self.waits { self.wait_for_server(context) } else { Ok(()) }
    }

    /// Waits until a restarted server is ready.
    fn wait_for_server(&mut self, context: &mut Context<'_>) -> Result<(), Abort> {
        while let Some(again) = self.again.take() {
            if let Err(abort) = context.check_user() {
                self.is_over(context, again.record);
                return Err(abort);
            }
            self.again = Some(again);
            self.go_on(context, READY_INTERVAL)?;
        }
        Ok(())
    }

    /// Advances the restart of a server, blocking for at most `interval`.
    fn go_on(&mut self, context: &mut Context<'_>, interval: Duration) -> Result<(), Abort> {
        let Some(mut again) = self.again.take() else { return Ok(()) };
        match again.is_ready(context, interval) {
            Ok(false) => self.again = Some(again),
            Ok(true) => self.is_over(context, again.record),
            Err(abort) => {
                self.is_over(context, again.record);
                return Err(abort);
            }
        }
        Ok(())
    }

    /// Ends a fault when the server is ready again or has failed.
    fn is_over(&mut self, context: &mut Context<'_>, record: FaultRecord) {
        let ended_ns = context.executor.now().0;
        self.news.push(FaultNews::Ended(FaultRecord { ended_ns, ..record }));
    }
}

impl Again {
    /// Whether the server is ready. Starts it once it has ended.
    fn is_ready(&mut self, context: &mut Context<'_>, interval: Duration) -> Result<bool, Abort> {
        match &mut self.step {
            Step::Ending { deadline } => match look_for_end(context, Role::Server, *deadline)? {
                Some(ending) => {
                    self.record.what = format!("the server ended {ending} and was restarted");
                    self.step = Step::Starting(begin_server(context)?);
                }
                None => drop(context.executor.wait(interval)),
            },
            Step::Starting(readiness) => {
                if let Some(address) = readiness.look(context, interval)? {
                    context.at.address = address;
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }
}

/// The deadline for the program of a fault that ends at `ends`.
fn last_end(context: &Context<'_>, role: Role, ends: Nanos) -> Nanos {
    ends + nanos(context.stop_timeout_s(role))
}

fn may_end_server(record: &FaultRecord) -> bool {
    find(&record.kind).is_some_and(|fault| fault.may_end_server)
}

fn record(context: &Context<'_>, moment: Moment, what: String) -> FaultRecord {
    let fault = &context.shared.plan.faults[moment.number];
    let program = matches!(find(&fault.kind).map(|fault| fault.means), Some(Means::Program { .. }));
    FaultRecord {
        number: moment.number as u32,
        kind: fault.kind.clone(),
        due_s: moment.at_s,
        what,
        command: if program {
            argv("pitot", fault, &Aims::of_reader(context)).join(" ")
        } else {
            String::new()
        },
        ..FaultRecord::default()
    }
}

/// Asks the server to end, or kills it.
fn ask_to_end(context: &mut Context<'_>, fault: &FaultPlan, record: &mut FaultRecord) -> Result<(), Abort> {
    let given = fault.options.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let takes = find(&fault.kind).map_or(&[][..], |fault| fault.takes);
    let options = Options::read(takes, given).map_err(|(name, why)| format!("{name}: {why}"))?;
    record.began_ns = context.executor.now().0;
    if options.is_killed {
        context.executor.stop(Role::Server, Stop::Kill);
        Ok(())
    } else {
        ask_server(context)
    }
}
