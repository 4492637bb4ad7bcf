//! Long-running servers and loads, for soaks.
//!
//! They are started with the same commands and readiness checks as in repetitions, and end with the lab (guardian). A server may also
//! be one that another program started: then the lab only makes faults.

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

/// Interval of checks whether a program has ended.
const INTERVAL: Duration = Duration::from_millis(5);
/// Timeout of a load that is asked to end.
const LOAD_STOP_TIMEOUT: Duration = Duration::from_secs(10);

/// This machine with its long-running programs.
pub struct LocalHost<'a> {
    machine: ThisMachine<'a>,
    cpus: &'a CpuSplit,
    pitot: &'a str,
    /// True once the user stops it.
    stop: &'a dyn Fn() -> bool,
    begun: std::cell::Cell<usize>,
}

impl<'a> LocalHost<'a> {
    /// A machine without programs. `pitot` is the path of this program.
    pub(super) fn new(
        guardian: Guardian,
        cpus: &'a CpuSplit,
        pitot: &'a str,
        stop: &'a dyn Fn() -> bool,
    ) -> LocalHost<'a> {
        let machine = ThisMachine::new(guardian, cpus);
        LocalHost { machine, cpus, pitot, stop, begun: std::cell::Cell::new(0) }
    }

    /// The path of `pitot`.
    pub fn pitot(&self) -> &str {
        self.pitot
    }

    /// Whether the user has stopped it.
    pub fn is_stopped(&self) -> bool {
        (self.stop)()
    }

    /// Applies these host settings until this is dropped. The error is a sentence.
    pub(super) fn set_host(&self, changes: &[Change]) -> Result<(), String> {
        self.machine.set_host(changes)
    }

    /// The server of a cell, not started yet.
    pub fn server<'g>(&'g self, plan: &'g Plan, cell: &'g Cell) -> LongRunningServer<'g> {
        let executor = self.machine.executor();
        LongRunningServer {
            local_host: self,
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

    /// Starts a load with a command line, on the load's CPUs. The error is a sentence.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn load(&self, argv: Vec<String>) -> Result<LongRunningLoad<'_>, String> {
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
        Ok(LongRunningLoad { executor, measured_from: None })
    }

    fn number(&self) -> usize {
        self.begun.set(self.begun.get() + 1);
        self.begun.get()
    }
}

/// A server of a cell.
pub struct LongRunningServer<'g> {
    local_host: &'g LocalHost<'g>,
    plan: &'g Plan,
    cell: &'g Cell,
    executor: Box<dyn Executor + 'g>,
    /// Its address, once it was started.
    at: Option<Placement>,
    /// The proxy's address, if there is a fault proxy.
    proxy: Option<String>,
    /// The faults of the plan, once they have begun.
    faults: Option<Faults>,
    helpers_started: usize,
    helper_has_ended: bool,
    /// It was started and not cleared.
    is_up: bool,
    /// It has exited and is not ready again.
    is_away: bool,
    /// The state of its restart.
    starting: Option<Readiness>,
    /// Its first process.
    first: FirstProcess,
}

impl LongRunningServer<'_> {
    /// Starts it and the helpers of its loads, and waits until they are ready. The error is a sentence.
    ///
    /// # Errors
    /// If it cannot be started or is not ready in time.
    pub fn start(&mut self) -> Result<(), String> {
        let number = self.local_host.number();
        self.with(|context| {
            start::prepare(context, number)?;
            start::start_server(context)?;
            start::start_helpers(context)?;
            lead_through_proxy(context)
        })?;
        self.is_up = true;
        Ok(())
    }

    /// Adopts a server that another program started at `address`: the lab makes faults, but does not stop it. The error is
    /// a sentence.
    ///
    /// # Errors
    /// If the fault proxy or the resolver cannot be started.
    pub fn take_running(&mut self, address: SocketAddr) -> Result<(), String> {
        let number = self.local_host.number();
        self.with(|context| {
            context.at.dir = context.executor.begin(number, AddressChoice::Server)?.dir;
            context.at.address = address.to_string();
            lead_through_proxy(context)
        })?;
        self.is_up = true;
        Ok(())
    }

    /// Sets the first process of an adopted server. Without one, faults of processes wait if another one `will_follow`,
    /// else they are not made.
    pub fn aim(&mut self, pid: Option<u32>, will_follow: bool) {
        self.is_away = pid.is_none() && will_follow;
        let first = pid.map_or(FirstProcess::Gone, FirstProcess::OfOthers);
        let is_new = std::mem::replace(&mut self.first, first) != first;
        if let Some((at, pid)) = self.at.as_mut().zip(pid.filter(|_| is_new)) {
            at.server_cpus = cpus_of(pid).unwrap_or_default();
        }
    }

    /// Restarts an ended server with the same address, directory and helpers. Does not block: call it until it returns
    /// true, when the server is ready. The error is a sentence.
    ///
    /// # Errors
    /// If it cannot be started or is not ready in time. The next call starts it again.
    pub fn start_again(&mut self) -> Result<bool, String> {
        let starting = self.starting.take();
        let mut left = None;
        self.with(|context| {
            let mut readiness = match starting {
                Some(readiness) => readiness,
                None => {
                    // Output of the last instance does not count.
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

    /// Whether it is being restarted.
    pub fn is_starting(&self) -> bool {
        self.starting.is_some()
    }

    /// Sets the faults of the plan that are `due`; `at_s` is the current time of faults, seconds.
    pub fn begin_faults(&mut self, due: Schedule, at_s: f64) {
        self.faults = Some(Faults::from_now(due, self.executor.now(), at_s));
    }

    /// Begins faults that are due, ends those that are over, and adds to `news`. Does not block while a fault restarts the
    /// server. No fault is made while an ended server is not ready again. The error is a sentence.
    ///
    /// # Errors
    /// If a fault could not be made or undone, or the server not be restarted.
    pub fn turn_faults(&mut self, news: &mut Vec<FaultNews>) -> Result<(), String> {
        self.with_faults(news, Faults::turn)
    }

    /// Ends the active faults and makes no more. As [`turn_faults`](Self::turn_faults).
    ///
    /// # Errors
    /// If one could not be undone.
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
        // Discard lines of programs, which would pile up; they are in the output tail. But a server may print that it is
        // ready.
        if !self.is_starting() && !faults.are_starting_server() {
            while self.executor.wait(Duration::ZERO).is_some() {}
        }
        news.extend(faults.news());
        self.faults = Some(faults);
        done
    }

    /// Its address; empty before it was started.
    pub fn address(&self) -> &str {
        self.at.as_ref().map_or("", |at| &at.address)
    }

    /// The address for loads: its own, or the fault proxy's.
    pub fn load_address(&self) -> &str {
        self.proxy.as_deref().unwrap_or_else(|| self.address())
    }

    /// The command line of the load of its cell, without warm-up.
    pub fn load_argv(&self) -> Vec<String> {
        let Some(at) = &self.at else { return Vec::new() };
        let at = Placement { address: self.load_address().to_owned(), ..at.clone() };
        self.cell.load_argv(self.plan, 0.0, &at)
    }

    /// Fills the placeholders in a word of another load's command.
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

    /// Additional options of a load with this command line, which faults need.
    pub fn load_options_for_faults(&self, argv: &[String]) -> Vec<String> {
        let says_it = |word: &String| word.split('=').next() == Some("--back-off");
        self.plan.load_options_for_faults(argv.iter().any(says_it))
    }

    /// The directory for the durability check, if the plan has one.
    pub fn kept_dir(&self) -> Option<PathBuf> {
        Some(PathBuf::from(self.at.as_ref()?.fill(self.plan.durability.as_ref()?)))
    }

    /// Its command line.
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

    /// How it ended, if it did: `with code 1`, `by signal 9`. A server that died in a fault counts as running, since it is
    /// restarted after the fault.
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
            Err(reason) => Some(format!("{ending} in a fault, and could not be restarted: {reason}")),
        }
    }

    /// Its output tail.
    pub fn output_tail(&mut self) -> String {
        let output = self.executor.output(Role::Server);
        format!("{}{}", output.stdout, output.stderr)
    }

    /// Stops it as its target or plan says, or kills it if it does not end. Its directory stays until it is
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

    /// Removes its remaining processes and its directory.
    pub fn clear(&mut self) {
        if std::mem::take(&mut self.is_up) {
            // A program that does not end is killed with the rest.
            let _ = self.with(quit_between);
            self.executor.finish();
            (self.at, self.helpers_started) = (None, 0);
        }
    }

    /// Runs a stage of a repetition.
    fn with(&mut self, stage: impl FnOnce(&mut Context<'_>) -> Result<(), Abort>) -> Result<(), String> {
        let shared = Shared {
            plan: self.plan,
            pitot: self.local_host.pitot,
            cpus: self.local_host.cpus,
            stop: self.local_host.stop,
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
pub struct LongRunningLoad<'g> {
    executor: Box<dyn Executor + 'g>,
    measured_from: Option<Nanos>,
}

impl LongRunningLoad<'_> {
    /// The next line of its stdout.
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

    /// When its measured part began (`CLOCK_MONOTONIC`), once it has reported that; it does if it has steps.
    pub fn measured_from(&self) -> Option<Nanos> {
        self.measured_from
    }

    /// Its process.
    pub fn pid(&mut self) -> Option<u32> {
        self.executor.pid(Role::Load)
    }

    /// How it ended, if it did, and the tail of its stderr.
    pub fn ended(&mut self) -> Option<(String, String)> {
        let ending = self.executor.ending(Role::Load)?;
        Some((ending.to_string(), self.executor.output(Role::Load).stderr))
    }

    /// Asks it to end and waits, or kills it after a timeout. Returns its last output.
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
