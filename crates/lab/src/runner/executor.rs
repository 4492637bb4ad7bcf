//! What a repetition needs of the machine it runs on, as one small interface.
//!
//! The stages of a repetition decide what happens and when; an executor does it: it starts programs, hands back what
//! they print, samples the machine and stops them. Everything that crosses the interface is plain data, so that an
//! executor may be this machine ([`super::local`]), a script for tests ([`super::fake`]), or another machine.

use std::fmt;
use std::time::Duration;

use pitot_host::setting::Change;
use pitot_meter::Nanos;
use pitot_sys::spawn::Stop;

use crate::monitor::OtherProcessUse;
use crate::plan::PlanFile;
use crate::record::{Lifetime, Sample};

/// Where repetitions are carried out: each that is under way at the same time has an executor of its own.
pub(super) trait Machine {
    /// An executor. What it starts ends with it.
    fn executor(&self) -> Box<dyn Executor + '_>;

    /// Changes these settings of the host and no others; what was changed before is set back. The error is a sentence. What
    /// is still changed when the machine is dropped, or the lab ends in any way, is set back then.
    fn set_host(&self, changes: &[Change]) -> Result<(), String>;
}

/// Carries out one repetition at a time.
pub(super) trait Executor {
    /// `CLOCK_MONOTONIC` of the machine where the programs run. All waiting is measured with it.
    fn now(&mut self) -> Nanos;

    /// Begins a repetition: an empty private directory, and an address for a server that cannot choose one itself.
    /// `number` is unique within the run.
    fn begin(&mut self, number: usize, address: AddressChoice) -> Result<Place, String>;

    /// Writes files below the private directory.
    fn write_files(&mut self, files: &[PlanFile]) -> Result<(), String>;

    /// Starts a program. The error is a sentence.
    fn start(&mut self, command: &Command) -> Result<(), String>;

    /// Writes a line to the standard input of a program that was started with one. The error is a sentence.
    fn write_line(&mut self, role: Role, line: &str) -> Result<(), String>;

    /// CPU time that a program has used since it was started, with all its descendants, those that have ended included.
    /// It is exact when none of them is running. `None` if this cannot be said.
    fn cpu_time(&mut self, role: Role) -> Option<Nanos>;

    /// Steal time of all CPUs of both sides since the machine was started.
    fn steal(&mut self) -> Nanos;

    /// Waits until a program prints a line or closes a stream, for at most `timeout`. `None` for anything but a line.
    fn wait(&mut self, timeout: Duration) -> Option<Line>;

    /// How a program ended; `None` while it runs, or if it was not started.
    fn ending(&mut self, role: Role) -> Option<Ending>;

    /// Whether a signal such as SIGSTOP has suspended a program.
    fn is_suspended(&mut self, role: Role) -> bool;

    /// Whether a connection to `address` can be opened at once.
    fn accepts(&mut self, address: &str) -> bool;

    /// Whether a new connection to `address` that sends `send` receives something that contains `expect`.
    fn answers(&mut self, address: &str, send: &str, expect: &str) -> bool;

    /// Takes a sample of the machine and of the programs.
    fn sample(&mut self, extent: Extent);

    /// Sends a signal to a program. One that has ended is left alone.
    fn stop(&mut self, role: Role, signal: Stop);

    /// The end of what a program has printed so far.
    fn output(&mut self, role: Role) -> Output;

    /// The content of a file that a program wrote.
    fn read_file(&mut self, path: &str) -> Option<String>;

    /// Ends the repetition: kills what still runs, removes the private directory, and reports what was observed.
    fn finish(&mut self) -> Observed;
}

/// Which program of a repetition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// The server.
    Server,
    /// The load generator, or what runs in its place.
    Load,
    /// The load generator that warms the server until its rate has settled.
    WarmUp,
    /// The helper with this index in the cell's list.
    Helper(usize),
    /// The command that stops the server.
    Stop,
}

/// Whose figures a program's resources belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Account {
    /// The server's: what is measured.
    Server,
    /// The load generator's.
    Load,
    /// Neither's: a helper.
    None,
}

/// A program to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Command {
    pub(super) role: Role,
    /// The program and its arguments.
    pub(super) argv: Vec<String>,
    /// The folder in which it is started; the private directory if none.
    pub(super) cwd: Option<String>,
    /// Variables of its environment, besides those of the lab.
    pub(super) env: Vec<(String, String)>,
    /// The CPUs that it may use.
    pub(super) cpus: Vec<usize>,
    pub(super) account: Account,
    /// Lines will be written to its standard input, and every line that it prints is an answer to be read.
    pub(super) converses: bool,
    /// Its CPU time will be asked for.
    pub(super) cpu_is_counted: bool,
}

/// Who chooses the server's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AddressChoice {
    /// The server: it listens on port 0 and prints the port.
    Server,
    /// The executor: it finds a port that is free now.
    Executor,
}

/// Where a repetition takes place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The private directory, absolute.
    pub(super) dir: String,
    /// `HOST:PORT`; port 0 if the server chooses.
    pub(super) address: String,
}

/// A line that a program printed, without its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) role: Role,
    pub(super) text: String,
    pub(super) on_stdout: bool,
}

/// How a program ended. Its `Display` continues a sentence: "the server ended ...".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// It exited with this code.
    Code(i32),
    /// A signal of this number killed it.
    Signal(i32),
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ending::Code(code) => write!(f, "with exit code {code}"),
            Ending::Signal(number) => match SIGNALS.iter().find(|(n, _)| n == number) {
                Some((_, name)) => write!(f, "by signal {name}"),
                None => write!(f, "by signal {number}"),
            },
        }
    }
}

/// Signals that end programs, by number (signal(7)).
const SIGNALS: [(i32, &str); 12] = [
    (1, "SIGHUP"),
    (2, "SIGINT"),
    (3, "SIGQUIT"),
    (4, "SIGILL"),
    (6, "SIGABRT"),
    (7, "SIGBUS"),
    (8, "SIGFPE"),
    (9, "SIGKILL"),
    (11, "SIGSEGV"),
    (13, "SIGPIPE"),
    (14, "SIGALRM"),
    (15, "SIGTERM"),
];

/// How much a sample reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// What is due: costly figures are read less often.
    Due,
    /// Everything, as before the load and after it.
    Whole,
}

/// The end of what a program printed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Output {
    pub(super) stdout: String,
    pub(super) stderr: String,
    /// The program has closed its stdout, and all of it was read.
    pub(super) stdout_closed: bool,
}

/// What was observed during a repetition.
#[derive(Clone, Debug, Default)]
pub(super) struct Observed {
    /// Oldest first.
    pub(super) samples: Vec<Sample>,
    pub(super) other_processes: Vec<OtherProcessUse>,
    /// What the program that counts as the server used in its whole life. None if it was not seen to end.
    pub(super) lifetime: Option<Lifetime>,
    /// How often the CPUs were throttled, for heat or by a control group's quota.
    pub(super) throttled: u64,
    /// Processes that outlived a server and a load generator that had both ended by themselves.
    pub(super) left_behind: Vec<LeftBehind>,
}

/// A process that should have ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LeftBehind {
    pub(super) pid: u32,
    pub(super) name: String,
}
