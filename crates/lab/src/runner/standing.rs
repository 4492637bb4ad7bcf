//! Servers and loads that stand for as long as their owner wants, outside of repetitions: those of a run of days.
//!
//! A server may also be one that somebody else has started: then nothing is done to it but faults.
//!
//! They are started as repetitions start theirs, by the same commands and with the same signs of readiness, and end with
//! the lab, whatever ends it (the guardian).

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use pitot_host::CpuSplit;
use pitot_host::setting::Change;
use pitot_meter::Nanos;
use pitot_sys::spawn::Stop;

use pitot_fault::Schedule;

use pitot_plan::{Cell, Placement, Plan};

use super::executor::{Account, AddressChoice, Command, Executor, Machine, Role};
use super::local::{Guardian, ThisMachine};
use super::repetition::{
    Abort, Context, FaultNews, Faults, FirstProcess, MEASURED_FROM, Readiness, Shared, lead_through_proxy,
    quit_between, start, stop,
};

/// Between two looks whether a program has ended.
const INTERVAL: Duration = Duration::from_millis(5);
/// How long a load may take to end when it is asked to.
const LOAD_STOP_TIMEOUT: Duration = Duration::from_secs(10);

/// This machine, and what stands on it.
pub struct Ground<'a> {
    machine: ThisMachine<'a>,
    cpus: &'a CpuSplit,
    pitot: &'a str,
    /// True once the user wants everything to end.
    stop: &'a dyn Fn() -> bool,
    begun: std::cell::Cell<usize>,
}

impl<'a> Ground<'a> {
    /// Nothing stands yet. `pitot` is the path of the program.
    pub(super) fn new(
        guardian: Guardian,
        cpus: &'a CpuSplit,
        pitot: &'a str,
        stop: &'a dyn Fn() -> bool,
    ) -> Ground<'a> {
        let machine = ThisMachine::new(guardian, cpus);
        Ground { machine, cpus, pitot, stop, begun: std::cell::Cell::new(0) }
    }

    /// How `pitot` is started: a path.
    pub fn pitot(&self) -> &str {
        self.pitot
    }

    /// Whether the user wants everything to end.
    pub fn is_stopped(&self) -> bool {
        (self.stop)()
    }

    /// Makes these changes of the host for as long as this stands. The error is a sentence.
    pub(super) fn set_host(&self, changes: &[Change]) -> Result<(), String> {
        self.machine.set_host(changes)
    }

    /// The server of a cell, which is not started yet.
    pub fn server<'g>(&'g self, plan: &'g Plan, cell: &'g Cell) -> StandingServer<'g> {
        let executor = self.machine.executor();
        StandingServer {
            ground: self,
            plan,
            cell,
            executor,
            at: None,
            proxy: None,
            faults: None,
            helpers_started: 0,
            helper_has_ended: false,
            is_up: false,
            is_away: false,
            starting: None,
            first: FirstProcess::OfLab,
        }
    }

    /// Starts a load by its command line, on the CPUs of loads. The error is a sentence.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn load(&self, argv: Vec<String>) -> Result<StandingLoad<'_>, String> {
        let mut executor = self.machine.executor();
        executor.begin(self.number(), AddressChoice::Server)?;
        executor.start(&Command {
            role: Role::Load,
            argv,
            cwd: None,
            env: Vec::new(),
            cpus: self.cpus.load.clone(),
            account: Account::Load,
            converses: true,
            cpu_is_counted: false,
        })?;
        Ok(StandingLoad { executor, measured_from: None })
    }

    fn number(&self) -> usize {
        self.begun.set(self.begun.get() + 1);
        self.begun.get()
    }
}

/// A server of a cell.
pub struct StandingServer<'g> {
    ground: &'g Ground<'g>,
    plan: &'g Plan,
    cell: &'g Cell,
    executor: Box<dyn Executor + 'g>,
    /// Where it stands, once it was started.
    at: Option<Placement>,
    /// Where loads go, if faults are made on the way.
    proxy: Option<String>,
    /// Those of the plan, once they have begun.
    faults: Option<Faults>,
    helpers_started: usize,
    helper_has_ended: bool,
    /// It was started, and is not cleared away.
    is_up: bool,
    /// It has ended by itself, and is not ready again.
    is_away: bool,
    /// How far it is when it is started again.
    starting: Option<Readiness>,
    /// Its first process.
    first: FirstProcess,
}

impl StandingServer<'_> {
    /// Starts it and the helpers of its loads, and waits until they are ready. The error is a sentence.
    ///
    /// # Errors
    /// If it cannot be started or is not ready in time.
    pub fn start(&mut self) -> Result<(), String> {
        let number = self.ground.number();
        self.with(|context| {
            start::prepare(context, number)?;
            start::start_server(context)?;
            start::start_helpers(context)?;
            lead_through_proxy(context)
        })?;
        self.is_up = true;
        Ok(())
    }

    /// Takes one that somebody else has started and that listens at `address`: nothing is done to it but faults, and it is not to be
    /// stopped. The error is a sentence.
    ///
    /// # Errors
    /// If what makes faults on the way cannot be started.
    pub fn take_running(&mut self, address: SocketAddr) -> Result<(), String> {
        let number = self.ground.number();
        self.with(|context| {
            context.at.dir = context.executor.begin(number, AddressChoice::Server)?.dir;
            context.at.address = address.to_string();
            lead_through_proxy(context)
        })?;
        self.is_up = true;
        Ok(())
    }

    /// Says which is the first process now of one that somebody else has started. While it has none and another one `will_follow`, what
    /// is due waits; else what is aimed at it is not made.
    pub fn aim(&mut self, pid: Option<u32>, will_follow: bool) {
        self.is_away = pid.is_none() && will_follow;
        let first = pid.map_or(FirstProcess::Gone, FirstProcess::OfOthers);
        let is_new = std::mem::replace(&mut self.first, first) != first;
        if let Some((at, pid)) = self.at.as_mut().zip(pid.filter(|_| is_new)) {
            at.server_cpus = cpus_of(pid).unwrap_or_default();
        }
    }

    /// Starts one again that has ended, at the same address and in the same directory, beside the same helpers; or looks how far it
    /// is. True once it is ready: it waits for nothing, and is to be called until then. The error is a sentence.
    ///
    /// # Errors
    /// If it cannot be started or is not ready in time. The next call starts it anew.
    pub fn start_again(&mut self) -> Result<bool, String> {
        let starting = self.starting.take();
        let mut left = None;
        self.with(|context| {
            let mut readiness = match starting {
                Some(readiness) => readiness,
                None => {
                    // What the last one has printed is no sign of this one.
                    while context.executor.wait(Duration::ZERO).is_some() {}
                    start::begin_server(context)?
                }
            };
            match readiness.look(context, Duration::ZERO)? {
                Some(address) => context.at.address = address,
                None => left = Some(readiness),
            }
            Ok(())
        })?;
        (self.is_away, self.starting) = (left.is_some(), left);
        Ok(!self.is_away)
    }

    /// Whether it is being started again.
    pub fn is_starting(&self) -> bool {
        self.starting.is_some()
    }

    /// From now on the faults of the plan are made that are `due`, where times count `at_s` now, seconds.
    pub fn begin_faults(&mut self, due: Schedule, at_s: f64) {
        self.faults = Some(Faults::from_now(due, self.executor.now(), at_s));
    }

    /// Begins faults that are due and ends those that are over. What has come about is added to `news`. It does not wait for a server that
    /// a fault starts again, and while one that has ended is not ready again nothing is done to it. The error is a sentence.
    ///
    /// # Errors
    /// If a fault could not be made or taken back, or the server not be started again.
    pub fn turn_faults(&mut self, news: &mut Vec<FaultNews>) -> Result<(), String> {
        self.with_faults(news, Faults::turn)
    }

    /// Takes back the faults that are under way, and makes no more. As [`turn_faults`](Self::turn_faults).
    ///
    /// # Errors
    /// If one could not be taken back.
    pub fn end_faults(&mut self, news: &mut Vec<FaultNews>) -> Result<(), String> {
        self.with_faults(news, |faults, context| {
            faults.forget_due();
            faults.take_all_back(context)
        })
    }

    fn with_faults(
        &mut self,
        news: &mut Vec<FaultNews>,
        turn: impl FnOnce(&mut Faults, &mut Context<'_>) -> Result<(), Abort>,
    ) -> Result<(), String> {
        let Some(mut faults) = self.faults.take() else { return Ok(()) };
        faults.server_is_away(self.is_away);
        let done = self.with(|context| turn(&mut faults, context));
        // What programs print is in their output; as events nobody waits for it, and it would pile up. But a server may say so that
        // it is ready.
        if !self.is_starting() && !faults.are_starting_server() {
            while self.executor.wait(Duration::ZERO).is_some() {}
        }
        news.extend(faults.news());
        self.faults = Some(faults);
        done
    }

    /// Where it listens; empty before it was started.
    pub fn address(&self) -> &str {
        self.at.as_ref().map_or("", |at| &at.address)
    }

    /// Where loads go: to it, or to the proxy before it if faults are made on the way.
    pub fn load_address(&self) -> &str {
        self.proxy.as_deref().unwrap_or_else(|| self.address())
    }

    /// The command line of the load of its cell, without warm-up.
    pub fn load_argv(&self) -> Vec<String> {
        let Some(at) = &self.at else { return Vec::new() };
        let at = Placement { address: self.load_address().to_owned(), ..at.clone() };
        self.cell.load_argv(self.plan, 0.0, &at)
    }

    /// A word of the command of another load, in which what stands in braces is filled in as in that of its cell.
    pub fn fill_load(&self, word: &str) -> String {
        let Some(at) = &self.at else { return word.to_owned() };
        Placement { address: self.load_address().to_owned(), ..at.clone() }.fill(word)
    }

    /// The sentence about a helper that has ended, once.
    pub fn helper_ended(&mut self) -> Option<String> {
        if self.helper_has_ended || self.helpers_started == 0 {
            return None;
        }
        let reason = self.with(|context| context.check_helpers()).err()?;
        self.helper_has_ended = true;
        Some(reason)
    }

    /// Options that a load with this command line gets besides, so that faults can be judged by it.
    pub fn load_options_for_faults(&self, argv: &[String]) -> Vec<String> {
        let says_it = |word: &String| word.split('=').next() == Some("--back-off");
        self.plan.load_options_for_faults(argv.iter().any(says_it))
    }

    /// Where it keeps what it acknowledges, if the plan says that.
    pub fn kept_dir(&self) -> Option<PathBuf> {
        Some(PathBuf::from(self.at.as_ref()?.fill(self.plan.keeps.as_ref()?)))
    }

    /// The command line by which it was started.
    pub fn argv(&self) -> Vec<String> {
        self.at.as_ref().map(|at| self.cell.server_argv(at)).unwrap_or_default()
    }

    /// Its first process, which leads a session.
    pub fn pid(&mut self) -> Option<u32> {
        self.executor.pid(Role::Server)
    }

    /// CPU time since it was started, of all its processes.
    pub fn cpu_time(&mut self) -> Option<Nanos> {
        self.executor.cpu_time(Role::Server)
    }

    /// How it ended, if it did: `with code 1`, `by signal 9`. One that has died of a fault has not ended: it is started again
    /// when the fault is over.
    pub fn ended(&mut self) -> Option<String> {
        let ending = self.ending()?;
        self.is_away = true;
        Some(ending)
    }

    fn ending(&mut self) -> Option<String> {
        let ending = self.executor.ending(Role::Server)?.to_string();
        let Some(mut faults) = self.faults.take() else { return Some(ending) };
        let mut is_of_fault = false;
        let looked = self.with(|context| {
            is_of_fault = faults.account_for_server(context)?;
            Ok(())
        });
        self.faults = Some(faults);
        match looked {
            Ok(()) => (!is_of_fault).then_some(ending),
            Err(reason) => Some(format!("{ending} in a fault, and could not be started again: {reason}")),
        }
    }

    /// The end of what it printed.
    pub fn output_tail(&mut self) -> String {
        let output = self.executor.output(Role::Server);
        format!("{}{}", output.stdout, output.stderr)
    }

    /// Stops it as its target or plan says, or kills it if it does not end. What it keeps is still there, until it is
    /// [cleared](Self::clear). The error is a sentence.
    ///
    /// # Errors
    /// If it had ended before, or did not end in time.
    pub fn stop(&mut self) -> Result<(), String> {
        if !self.is_up {
            return Ok(());
        }
        self.with(|context| stop::stop(context).map(drop))
    }

    /// Takes away what is left of it: processes and its directory.
    pub fn clear(&mut self) {
        if std::mem::take(&mut self.is_up) {
            // One that does not end is killed with the rest.
            let _ = self.with(quit_between);
            self.executor.finish();
            (self.at, self.helpers_started) = (None, 0);
        }
    }

    /// Carries out a stage of a repetition.
    fn with(&mut self, stage: impl FnOnce(&mut Context<'_>) -> Result<(), Abort>) -> Result<(), String> {
        let shared = Shared {
            plan: self.plan,
            pitot: self.ground.pitot,
            cpus: self.ground.cpus,
            stop: self.ground.stop,
            memory_total_bytes: 0,
            block: 0,
        };
        let context = Context::new(shared, self.cell, &mut *self.executor);
        let mut context = Context {
            counts_cpu: true,
            first: self.first,
            proxy: self.proxy.take(),
            helpers_started: self.helpers_started,
            ..context
        };
        if let Some(at) = &self.at {
            context.at = at.clone();
        }
        let done = stage(&mut context);
        (self.at, self.proxy, self.helpers_started) =
            (Some(context.at), context.proxy, context.helpers_started);
        done.map_err(|abort| match abort {
            Abort::Failed(reason) | Abort::NotStarted(reason) => reason,
            Abort::Interrupted => "it was interrupted".into(),
        })
    }
}

/// The CPUs on which a process may run (proc_pid_status(5)).
fn cpus_of(pid: u32) -> Option<String> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    Some(list.trim().to_owned())
}

/// A load under way.
pub struct StandingLoad<'g> {
    executor: Box<dyn Executor + 'g>,
    measured_from: Option<Nanos>,
}

impl StandingLoad<'_> {
    /// A line that it has printed to its standard output and that was not taken yet.
    pub fn line(&mut self) -> Option<String> {
        while let Some(line) = self.executor.wait(Duration::ZERO) {
            if line.on_stdout {
                return Some(line.text);
            }
            if let Some(at) = line.text.strip_prefix(MEASURED_FROM) {
                self.measured_from = at.trim().parse().ok().map(Nanos);
            }
        }
        None
    }

    /// When its measured part began (`CLOCK_MONOTONIC`), once it has said so; it does where it counts in steps.
    pub fn measured_from(&self) -> Option<Nanos> {
        self.measured_from
    }

    /// Its process.
    pub fn pid(&mut self) -> Option<u32> {
        self.executor.pid(Role::Load)
    }

    /// How it ended, if it did, and the end of what it said to people.
    pub fn ended(&mut self) -> Option<(String, String)> {
        let ending = self.executor.ending(Role::Load)?;
        Some((ending.to_string(), self.executor.output(Role::Load).stderr))
    }

    /// Asks it to end and waits until it has; kills it if it does not. Returns what it printed last.
    pub fn stop(&mut self) -> Vec<String> {
        self.executor.stop(Role::Load, Stop::Interrupt);
        let deadline = self.executor.now() + Nanos(LOAD_STOP_TIMEOUT.as_nanos() as u64);
        let mut lines = Vec::new();
        while !self.executor.output(Role::Load).stdout_closed && self.executor.now() < deadline {
            if let Some(line) = self.executor.wait(INTERVAL).filter(|line| line.on_stdout) {
                lines.push(line.text);
            }
        }
        lines.extend(std::iter::from_fn(|| self.line()));
        self.executor.finish();
        lines
    }
}
