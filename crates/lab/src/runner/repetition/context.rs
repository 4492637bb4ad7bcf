//! The state that the stages of a repetition share, and why one ends early.

use std::time::Duration;

use pitot_meter::Nanos;

use pitot_host::CpuSplit;
use pitot_plan::{Cell, CellServer, Placement, Plan};
use pitot_record::Resources;

use crate::runner::executor::{Account, Command, Executor, Role};

/// State that all repetitions of a run share.
#[derive(Clone, Copy)]
pub(in crate::runner) struct Shared<'a> {
    pub(in crate::runner) plan: &'a Plan,
    /// The path of `pitot`.
    pub(in crate::runner) pitot: &'a str,
    pub(in crate::runner) cpus: &'a CpuSplit,
    /// True once the user stops the run.
    pub(in crate::runner) stop: &'a dyn Fn() -> bool,
    /// Physical memory of the machine.
    pub(in crate::runner) memory_total_bytes: u64,
    /// The block of the repetition; random times of faults are the same for all its cells.
    pub(in crate::runner) block: u32,
}

impl Shared<'_> {
    /// Adds the machine's capacity to the resources used.
    pub(in crate::runner) fn on_machine(&self, used: Resources) -> Resources {
        let on_other_hosts = self.plan.cpus_of_load().iter().skip(1).map(Vec::len).sum::<usize>();
        Resources {
            server_cpus: self.cpus.server.len() as u32,
            load_cpus: (self.cpus.load.len() + on_other_hosts) as u32,
            memory_total_bytes: self.memory_total_bytes,
            ..used
        }
    }
}

/// Why a repetition ended early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::runner) enum Abort {
    /// The user stopped it.
    Interrupted,
    /// It failed: a sentence.
    Failed(String),
    /// A program could not be started, so other repetitions of the cell would fail too.
    NotStarted(String),
}

impl From<String> for Abort {
    fn from(reason: String) -> Abort {
        Abort::Failed(reason)
    }
}

/// The first process of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::runner) enum FirstProcess {
    /// The lab started it.
    OfLab,
    /// Another program started it.
    OfOthers(u32),
    /// Another program started it, and it has ended: its process id may have been reused.
    Gone,
}

/// A running repetition.
pub(in crate::runner) struct Context<'a> {
    pub(in crate::runner) shared: Shared<'a>,
    pub(in crate::runner) cell: &'a Cell,
    pub(in crate::runner) executor: &'a mut dyn Executor,
    pub(in crate::runner) at: Placement,
    /// The address for the load, if not the server's.
    pub(in crate::runner) proxy: Option<String>,
    /// Whether the server's CPU time will be read.
    pub(in crate::runner) counts_cpu: bool,
    /// The target of faults of processes.
    pub(in crate::runner) first: FirstProcess,
    /// Number of helpers that were started, in the cell's order.
    pub(in crate::runner) helpers_started: usize,
    /// A note on its result; empty if there is none.
    pub(in crate::runner) note: String,
}

impl<'a> Context<'a> {
    /// A repetition of which nothing is started.
    pub(in crate::runner) fn new(
        shared: Shared<'a>,
        cell: &'a Cell,
        executor: &'a mut dyn Executor,
    ) -> Context<'a> {
        let at = Placement {
            pitot: shared.pitot.to_owned(),
            address: String::new(),
            dir: String::new(),
            server_cpus: shared.cpus.server_list(),
            load_cpus: shared.cpus.load_list(),
            helpers: Vec::new(),
        };
        Context {
            shared,
            cell,
            executor,
            at,
            proxy: None,
            counts_cpu: false,
            first: FirstProcess::OfLab,
            helpers_started: 0,
            note: String::new(),
        }
    }
}

impl Context<'_> {
    /// The timeout until a program is ready.
    pub(in crate::runner) fn ready_timeout_s(&self, role: Role) -> f64 {
        let own = match (&self.cell.server, role) {
            (CellServer::External(program), Role::Server) => program.ready_timeout_s,
            _ => None,
        };
        own.unwrap_or(self.shared.plan.ready_timeout_s)
    }

    /// The timeout until a program has stopped.
    pub(in crate::runner) fn stop_timeout_s(&self, role: Role) -> f64 {
        let own = match (&self.cell.server, role) {
            (CellServer::External(program), Role::Server) => program.stop_timeout_s,
            _ => None,
        };
        self.shared.plan.stop_timeout_s.max(own.unwrap_or(0.0))
    }

    /// The placeholders' values for the load's command.
    pub(in crate::runner) fn at_of_load(&self) -> Placement {
        let address = self.proxy.clone().unwrap_or_else(|| self.at.address.clone());
        Placement { address, ..self.at.clone() }
    }

    pub(in crate::runner) fn start(&mut self, role: Role, argv: Vec<String>) -> Result<(), Abort> {
        let command = self.command(role, argv);
        self.start_command(&command)
    }

    /// Starts a program with a stdin.
    pub(in crate::runner) fn start_conversing(&mut self, role: Role, argv: Vec<String>) -> Result<(), Abort> {
        let command = Command { converses: true, ..self.command(role, argv) };
        self.start_command(&command)
    }

    fn start_command(&mut self, command: &Command) -> Result<(), Abort> {
        self.executor.start(command).map_err(|reason| match self.executor.lost() {
            // The host may be reachable again for the next repetition.
            Some(lost) => Abort::Failed(lost),
            None => Abort::NotStarted(reason),
        })
    }

    fn command(&self, role: Role, argv: Vec<String>) -> Command {
        // A program without a server is what is measured: it runs on the server's CPUs and counts as one.
        let account = match role {
            Role::Server => Account::Server,
            Role::Load if self.cell.server == CellServer::None => Account::Server,
            Role::Load => Account::Load,
            Role::WarmUp | Role::Helper(_) | Role::Stop | Role::Fault(_) | Role::Proxy | Role::Resolver => {
                Account::None
            }
        };
        let cpus = match account {
            Account::Server => &self.shared.cpus.server,
            Account::Load | Account::None => &self.shared.cpus.load,
        };
        let (cwd, env) = match role {
            Role::Server | Role::Stop => (self.cell.server_cwd(&self.at), self.cell.server_env(&self.at)),
            Role::Load | Role::WarmUp | Role::Helper(_) | Role::Fault(_) | Role::Proxy | Role::Resolver => {
                (None, Vec::new())
            }
        };
        Command {
            role,
            argv,
            cwd,
            env,
            cpus: cpus.clone(),
            account,
            converses: false,
            cpu_is_counted: account == Account::Server && self.counts_cpu,
        }
    }

    pub(in crate::runner) fn deadline(&mut self, timeout_s: f64) -> Nanos {
        self.executor.now() + nanos(timeout_s)
    }

    /// An error once the user stops the run.
    pub(in crate::runner) fn check_user(&self) -> Result<(), Abort> {
        if (self.shared.stop)() { Err(Abort::Interrupted) } else { Ok(()) }
    }

    /// An error once a host of the repetition is lost.
    pub(in crate::runner) fn check_hosts(&mut self) -> Result<(), Abort> {
        self.executor.lost().map_or(Ok(()), |lost| Err(Abort::Failed(lost)))
    }

    /// An error once the server has ended, or a host is lost. `when` ends the sentence.
    pub(in crate::runner) fn check_server(&mut self, when: &str) -> Result<(), Abort> {
        self.check_hosts()?;
        match self.executor.ending(Role::Server) {
            Some(ending) => Err(Abort::Failed(format!("the server ended {ending} {when}"))),
            None => Ok(()),
        }
    }

    /// An error once a helper has ended.
    pub(in crate::runner) fn check_helpers(&mut self) -> Result<(), Abort> {
        for index in 0..self.helpers_started {
            if let Some(ending) = self.executor.ending(Role::Helper(index)) {
                return Err(Abort::Failed(format!("{} ended {ending}", self.name(Role::Helper(index)))));
            }
        }
        Ok(())
    }

    /// The name of a program in messages.
    pub(in crate::runner) fn name(&self, role: Role) -> String {
        match role {
            Role::Server => "the server".to_owned(),
            Role::Load => "the load generator".to_owned(),
            Role::WarmUp => "the load generator of the warm-up".to_owned(),
            Role::Stop => "the command that stops the server".to_owned(),
            Role::Helper(index) => format!("the helper `{}`", self.cell.helpers[index].name),
            Role::Proxy => "the fault proxy".to_owned(),
            Role::Resolver => "the DNS resolver".to_owned(),
            Role::Fault(number) => {
                format!("the program of the fault `{}`", self.shared.plan.faults[number].kind)
            }
        }
    }
}

pub(in crate::runner) fn nanos(seconds: f64) -> Nanos {
    Nanos(Duration::from_secs_f64(seconds).as_nanos() as u64)
}
