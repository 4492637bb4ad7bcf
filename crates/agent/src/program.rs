//! The programs of a repetition, as plain data.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Which program of a repetition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Role {
    /// The server.
    Server,
    /// The load generator, or the program that runs instead.
    Load,
    /// The load generator that warms the server until its rate has settled.
    WarmUp,
    /// The helper with this index in the cell's list.
    Helper(usize),
    /// The command that stops the server.
    Stop,
    /// The proxy between load and server.
    Proxy,
    /// The DNS resolver.
    Resolver,
    /// The program that makes the fault with this number in the plan.
    Fault(usize),
}

/// Whose figures a program's resources belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Account {
    /// The server's: what is measured.
    Server,
    /// The load generator's.
    Load,
    /// Neither's: a helper.
    None,
}

/// A program to start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Command {
    /// Which it is.
    pub role: Role,
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// The folder in which it is started; the private directory if none.
    pub cwd: Option<String>,
    /// Variables of its environment, besides those of the lab.
    pub env: Vec<(String, String)>,
    /// The CPUs that it may use.
    pub cpus: Vec<usize>,
    /// Whose figures its resources belong to.
    pub account: Account,
    /// Whether lines will be written to its stdin, and every line of its output is a reply.
    pub converses: bool,
    /// Its CPU time will be asked for.
    pub cpu_is_counted: bool,
}

/// Who chooses the server's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum AddressChoice {
    /// The server: it listens on port 0 and prints the port.
    Server,
    /// The executor, which finds a free port.
    Executor,
}

/// Where a repetition takes place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Place {
    /// The private directory, absolute.
    pub dir: String,
    /// `HOST:PORT`; port 0 if the server chooses.
    pub address: String,
}

/// A line that a program printed, without its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Line {
    /// Which program.
    pub role: Role,
    /// The line.
    pub text: String,
    /// It came on stdout, and not on stderr.
    pub on_stdout: bool,
}

/// How a program ended. Its `Display` continues a sentence: "the server ended ...".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Ending {
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Extent {
    /// What is due: costly figures are read less often.
    Due,
    /// Everything, as before the load and after it.
    Whole,
}

/// The output tail of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Output {
    /// Of stdout.
    pub stdout: String,
    /// Of stderr.
    pub stderr: String,
    /// The program has closed its stdout, and all of it was read.
    pub stdout_closed: bool,
}

/// A process that should have ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct LeftBehind {
    /// Its id.
    pub pid: u32,
    /// Its name.
    pub name: String,
}

/// A signal that a program is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Signal {
    /// SIGTERM.
    Terminate,
    /// SIGINT.
    Interrupt,
    /// SIGQUIT.
    Quit,
    /// SIGKILL.
    Kill,
}

/// What is counted where programs run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Count {
    /// CPU time that a program has used since it was started, with all its descendants, those that have ended included,
    /// nanoseconds. It is exact when none of them is running.
    CpuTime(Role),
    /// Steal time of all CPUs of the run since the machine was started, nanoseconds.
    Steal,
    /// CPU time that all processes used on these CPUs since then, seen or not, without interrupts, nanoseconds.
    Busy,
    /// Connections of the server at this port that have bytes under way which their other side has not acknowledged. It cannot be
    /// said where there are none at all.
    Sending(u16),
}

/// A readiness request over a new connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Question {
    /// Whether the connection can be opened.
    Connection,
    /// Whether its reply to `send` contains `expect`.
    Text {
        /// What is sent; empty for a server that speaks first.
        send: String,
        /// The expected text.
        expect: String,
    },
    /// Whether an HTTP request for this path gets status 200.
    Page(String),
}
