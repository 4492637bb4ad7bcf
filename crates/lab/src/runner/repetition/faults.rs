//! The faults of a repetition: each is begun in its time, ends in its time, and is recorded.
//!
//! Most are programs (`pitot fault`), which take back by themselves what they have done; what is left to the lab is the
//! server as a whole, which it has started and can start again.

use std::collections::VecDeque;

use pitot_fault::proxy::{PROXY_BEGAN, PROXY_ENDED, PROXY_REFUSED};
use pitot_fault::{Aim, BEGAN, ENDED, FaultPlan, FaultRecord, Means, Moment, Options, find, schedule};
use pitot_meter::Nanos;
use pitot_sys::spawn::Stop;

use super::context::{Abort, Context, nanos};
use super::readiness::{Sign, wait_until_ready};
use super::start::start_server;
use super::stop::{ask_server, wait_for_end, whole_output};
use crate::runner::executor::{Ending, Line, Role};

/// What the load generator says on its standard error when its measured part is about to begin.
const MEASURED_FROM: &str = "measured from ";
/// How long after its end a fault may be the reason of a death.
const AFTERMATH: Nanos = Nanos::from_secs(1);
/// Stands for the server's first process in commands.
pub(in crate::runner) const SERVER_PID: &str = "{server-pid}";

/// Starts the proxy between load and server, if a fault of the plan is made on the way.
pub(super) fn lead_through_proxy(context: &mut Context<'_>) -> Result<(), Abort> {
    if context.shared.plan.faults.iter().any(is_on_the_way) {
        let argv = [context.shared.pitot, "fault", "proxy", "--to", &context.at.address].map(str::to_owned);
        context.start_conversing(Role::Proxy, argv.to_vec())?;
        context.proxy = Some(wait_until_ready(context, Role::Proxy, &Sign::ReadyLine)?);
    }
    Ok(())
}

fn is_on_the_way(fault: &FaultPlan) -> bool {
    find(&fault.kind).is_some_and(|fault| fault.aim == Aim::Path)
}

/// The faults of one repetition.
pub(super) struct Faults {
    due: VecDeque<Moment>,
    /// Numbers of those whose program runs, and when it is to end.
    under_way: Vec<(usize, Nanos)>,
    /// The server has died in one of these.
    server_died: bool,
    /// One that is over, and until when a death of the server is still its work: a process that is killed ends a while later
    /// where the CPU is busy.
    aftermath: Option<(usize, Nanos)>,
    records: Vec<FaultRecord>,
    /// The start of the measured part, once the load generator has said it.
    measured_from: Option<Nanos>,
}

impl Faults {
    /// Those of a repetition.
    pub(super) fn of(context: &Context<'_>) -> Faults {
        let plan = context.shared.plan;
        let seed = plan.seed.unwrap_or_default();
        let due = schedule(&plan.faults, seed, context.shared.block.into(), plan.duration_s);
        Faults {
            due: due.into(),
            under_way: Vec::new(),
            server_died: false,
            records: Vec::new(),
            measured_from: None,
            aftermath: None,
        }
    }

    /// What was made, in the order of its beginning.
    pub(super) fn records(self) -> Vec<FaultRecord> {
        self.records
    }

    /// Takes a line that a program has printed.
    pub(super) fn heard(&mut self, line: &Line) {
        if line.role == Role::Load
            && let Some(at) = line.text.strip_prefix(MEASURED_FROM)
        {
            self.measured_from = at.trim().parse().ok().map(Nanos);
        }
    }

    /// When [`turn`](Self::turn) has something to do.
    pub(super) fn next(&self) -> Option<Nanos> {
        let due = self.due.front().zip(self.measured_from).map(|(moment, from)| from + nanos(moment.at_s));
        self.under_way.iter().map(|(_, ends)| *ends).chain(due).min()
    }

    /// Begins what is due, and ends what is over.
    pub(super) fn turn(&mut self, context: &mut Context<'_>) -> Result<(), Abort> {
        let now = context.executor.now();
        while let Some((moment, from)) = self.due.front().copied().zip(self.measured_from)
            && from + nanos(moment.at_s) <= now
        {
            self.due.pop_front();
            self.begin(context, moment)?;
        }
        let over = self.under_way.iter().filter(|(_, ends)| *ends <= now).map(|(number, _)| *number);
        for number in over.collect::<Vec<_>>() {
            self.end(context, number)?;
        }
        Ok(())
    }

    /// An error once the server has ended, unless a fault is the reason.
    pub(super) fn check_server(&mut self, context: &mut Context<'_>, when: &str) -> Result<(), Abort> {
        context.check_hosts()?;
        if self.server_died || context.executor.ending(Role::Server).is_none() {
            return Ok(());
        }
        let plan = context.shared.plan;
        let may_end_it =
            |number: usize| find(&plan.faults[number].kind).is_some_and(|fault| fault.may_end_server);
        if self.under_way.iter().any(|(number, _)| may_end_it(*number)) {
            self.server_died = true;
            return Ok(());
        }
        if let Some((number, _)) = self.aftermath.take_if(|(_, until)| context.executor.now() <= *until) {
            return self.revive(context, number);
        }
        context.check_server(when)
    }

    /// Ends all that are under way, also where the repetition has failed.
    pub(super) fn finish(&mut self, context: &mut Context<'_>) -> Result<(), Abort> {
        let mut outcome = Ok(());
        for (number, _) in self.under_way.clone() {
            context.executor.stop(Role::Fault(number), Stop::Terminate);
            outcome = outcome.and(self.end(context, number));
        }
        if context.proxy.take().is_some() {
            let _ = context.executor.write_line(Role::Proxy, "quit");
            outcome = outcome.and(self.read_proxy(context));
        }
        for moment in self.due.drain(..) {
            let record = record(context, moment, "the load had ended before".to_owned());
            self.records.push(record);
        }
        outcome
    }

    fn begin(&mut self, context: &mut Context<'_>, moment: Moment) -> Result<(), Abort> {
        let fault = &context.shared.plan.faults[moment.number];
        let mut record = record(context, moment, String::new());
        match find(&fault.kind).map(|fault| fault.means) {
            Some(Means::Starter) => restart(context, fault, &mut record)?,
            Some(Means::Path(_)) => {
                let command = format!("begin {} {}", moment.number, words(fault).join(" "));
                if let Err(why) = context.executor.write_line(Role::Proxy, &command) {
                    record.what = format!("the proxy is gone: {why}");
                }
                let ends = context.executor.now() + nanos(fault.length_s());
                self.under_way.push((moment.number, ends));
            }
            _ => {
                let role = Role::Fault(moment.number);
                let aims = Aims::of(context);
                context.start(role, argv(context.shared.pitot, fault, &aims))?;
                let ends = context.executor.now() + nanos(fault.length_s());
                self.under_way.push((moment.number, ends));
            }
        }
        self.records.push(record);
        Ok(())
    }

    /// Reads what the proxy has said of its faults, once it has ended.
    fn read_proxy(&mut self, context: &mut Context<'_>) -> Result<(), Abort> {
        wait_for_end(context, Role::Proxy)?;
        for line in whole_output(context, Role::Proxy).stdout.lines() {
            let Some((verb, rest)) = line.split_once(' ') else { continue };
            let (number, rest) = rest.split_once(' ').unwrap_or((rest, ""));
            let number = number.parse::<u32>().ok();
            let Some(record) = self.records.iter_mut().find(|record| Some(record.number) == number) else {
                continue;
            };
            match verb {
                _ if verb == PROXY_BEGAN.trim() => {
                    let (at, what) = rest.split_once(' ').unwrap_or((rest, ""));
                    (record.began_ns, record.what) = (at.parse().unwrap_or_default(), what.to_owned());
                }
                _ if verb == PROXY_ENDED.trim() => record.ended_ns = rest.parse().unwrap_or_default(),
                _ if verb == PROXY_REFUSED.trim() => record.what = rest.to_owned(),
                _ => {}
            }
        }
        Ok(())
    }

    /// Waits for the end of a fault's program, which ends by itself in its time, reads what it has said, and starts a server
    /// again that has died.
    fn end(&mut self, context: &mut Context<'_>, number: usize) -> Result<(), Abort> {
        let role = Role::Fault(number);
        self.under_way.retain(|(other, _)| *other != number);
        if is_on_the_way(&context.shared.plan.faults[number]) {
            // What it has said is read at the end; one that is gone has nothing left to take back.
            let _ = context.executor.write_line(Role::Proxy, &format!("end {number}"));
            return Ok(());
        }
        let ending = wait_for_end(context, role)?;
        let output = whole_output(context, role);
        let Some(record) = self.records.iter_mut().find(|record| record.number == number as u32) else {
            return Ok(());
        };
        for line in output.stdout.lines() {
            if let Some((at, what)) = line.strip_prefix(BEGAN).and_then(|rest| rest.split_once(' ')) {
                (record.began_ns, record.what) = (at.parse().unwrap_or_default(), what.to_owned());
            } else if let Some(at) = line.strip_prefix(ENDED) {
                record.ended_ns = at.trim().parse().unwrap_or_default();
            }
        }
        let fault = find(&record.kind);
        if record.was_made() && fault.is_some_and(|fault| fault.is_moment) {
            record.ended_ns = record.began_ns;
        }
        if ending != Ending::Code(0) && !record.was_made() {
            record.what = output.stderr.lines().next().unwrap_or("it was not made").to_owned();
        }
        let may_have_ended_it = record.was_made() && fault.is_some_and(|fault| fault.may_end_server);
        if self.server_died || context.executor.ending(Role::Server).is_some() {
            return self.revive(context, number);
        }
        self.aftermath = may_have_ended_it.then(|| (number, context.executor.now() + AFTERMATH));
        Ok(())
    }

    /// Starts a server again that a fault has ended.
    fn revive(&mut self, context: &mut Context<'_>, number: usize) -> Result<(), Abort> {
        self.server_died = false;
        start_server(context)?;
        if let Some(record) = self.records.iter_mut().find(|record| record.number == number as u32) {
            record.server_died = true;
            record.ended_ns = context.executor.now().0;
        }
        Ok(())
    }
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

/// What faults are aimed at, as words of a command.
struct Aims {
    pid: String,
    address: String,
    cpus: String,
    dir: String,
    /// What the load asks for.
    path: String,
}

impl Aims {
    /// The server of a repetition.
    fn of(context: &Context<'_>) -> Aims {
        let url = context.at.fill(&context.cell.url);
        let path = url.split_once("://").and_then(|(_, rest)| rest.find('/').map(|at| rest[at..].to_owned()));
        Aims {
            pid: SERVER_PID.to_owned(),
            address: context.at.address.clone(),
            cpus: context.at.server_cpus.clone(),
            dir: context.at.dir.clone(),
            path: path.unwrap_or_else(|| "/".to_owned()),
        }
    }

    /// Any server, for a reader who fills in their own.
    fn of_reader(context: &Context<'_>) -> Aims {
        let [pid, address, dir] = ["PID", "ADDRESS", "DIR"].map(str::to_owned);
        Aims { pid, address, dir, ..Aims::of(context) }
    }
}

/// The command that makes a fault.
fn argv(pitot: &str, fault: &FaultPlan, aims: &Aims) -> Vec<String> {
    let mut argv = vec![pitot.to_owned(), "fault".into()];
    argv.extend(words(fault));
    let entry = find(&fault.kind);
    let aim = match entry.map(|entry| entry.aim) {
        Some(Aim::Process) => Some(("--pid", &aims.pid)),
        Some(Aim::Address) => Some(("--to", &aims.address)),
        Some(Aim::Cpus) => Some(("--cpus", &aims.cpus)),
        Some(Aim::Directory) => Some(("--dir", &aims.dir)),
        Some(Aim::Server | Aim::Path | Aim::Nothing) | None => None,
    };
    argv.extend(aim.into_iter().flat_map(|(option, value)| [option.to_owned(), value.clone()]));
    if entry.is_some_and(|entry| entry.takes.contains(&"path"))
        && fault.options.iter().all(|(name, _)| name != "path")
    {
        argv.extend(["--path".into(), aims.path.clone()]);
    }
    argv.extend(["--for".into(), format!("{}ms", (fault.length_s() * 1e3).round())]);
    argv
}

/// Stops the server and starts it again.
fn restart(context: &mut Context<'_>, fault: &FaultPlan, record: &mut FaultRecord) -> Result<(), Abort> {
    let given = fault.options.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let takes = find(&fault.kind).map_or(&[][..], |fault| fault.takes);
    let options = Options::read(takes, given).map_err(|(name, why)| format!("{name}: {why}"))?;
    record.began_ns = context.executor.now().0;
    if options.is_killed {
        context.executor.stop(Role::Server, Stop::Kill);
    } else {
        ask_server(context)?;
    }
    let ending = wait_for_end(context, Role::Server)?;
    record.what = format!("the server ended {ending} and was started again");
    start_server(context)?;
    record.ended_ns = context.executor.now().0;
    Ok(())
}

/// A fault and its options, as on a command line.
fn words(fault: &FaultPlan) -> Vec<String> {
    let options = fault.options.iter().flat_map(|(name, value)| [format!("--{name}"), value.clone()]);
    std::iter::once(fault.kind.clone()).chain(options).collect()
}
