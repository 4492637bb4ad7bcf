//! The questions of the lab and the answers of an agent.

use std::net::{IpAddr, Ipv4Addr};

use pitot_host::Fingerprint;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::program::{
    AddressChoice, Command, Count, Ending, Extent, LeftBehind, Line, Output, Place, Question, Role, Signal,
};

/// What the lab asks of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Request {
    /// The first question.
    Hello(Hello),
    /// The lab is still there. It has no answer.
    Ping,
    /// What `CLOCK_MONOTONIC` says: answered with [`Reply::Nanos`].
    Clock,
    /// What the machine is and how it is set: answered with [`Reply::Host`].
    Host,
    /// One of an executor's questions. Executors are numbered by the lab, and begin to exist when they are first asked.
    Call {
        /// Its number.
        executor: u32,
        /// What is asked of it.
        ask: Ask,
    },
    /// An executor is no longer needed: what it has started ends. Answered with [`Reply::Done`].
    Drop {
        /// Its number.
        executor: u32,
    },
}

/// Who asks. That of a lab of another version is read too, whatever else it says or leaves out, so that an agent can answer with
/// both versions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Hello {
    /// The version of the protocol.
    pub version: u32,
    /// The CPUs of the programs that are measured here.
    #[serde(default)]
    pub cpus: Vec<usize>,
    /// The CPUs of the agent itself and of a load generator beside a server; empty: all others.
    #[serde(default)]
    pub other_cpus: Vec<usize>,
    /// Where servers listen.
    #[serde(default = "loopback")]
    pub address: IpAddr,
}

fn loopback() -> IpAddr {
    Ipv4Addr::LOCALHOST.into()
}

/// Who answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Greeting {
    /// The version of the protocol.
    pub version: u32,
    /// The version of Pitot, which is the lab's too.
    pub pitot: String,
    /// Its process.
    pub pid: u32,
    /// Physical memory of its machine, bytes.
    pub memory_total_bytes: u64,
}

/// What is asked of one executor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Ask {
    /// Begin a repetition: [`Reply::Place`].
    Begin {
        /// Unique within the run.
        number: usize,
        /// Who chooses the server's port.
        address: AddressChoice,
    },
    /// Write files below the private directory, as plans describe them: [`Reply::Done`].
    WriteFiles {
        /// A list of plan files.
        files: Value,
    },
    /// Start a program: [`Reply::Done`].
    Start {
        /// The program.
        command: Command,
        /// Its first word stands for Pitot itself, which is the agent's own file.
        own: bool,
    },
    /// Write a line to a program's standard input: [`Reply::Done`].
    WriteLine {
        /// Which.
        role: Role,
        /// The line, without its end.
        line: String,
    },
    /// A count: [`Reply::Count`].
    Count(Count),
    /// Wait for a line of output: [`Reply::Line`].
    Wait {
        /// At most so long, and never longer than [`WAIT_MAX`](crate::WAIT_MAX).
        timeout_us: u64,
    },
    /// How a program ended: [`Reply::Ending`].
    Ending(Role),
    /// Whether a signal has suspended a program: [`Reply::Flag`].
    IsSuspended(Role),
    /// Whether a server answers as it should: [`Reply::Flag`]. What is false may be under way, and is asked again.
    Answers {
        /// Where.
        address: String,
        /// What it is asked.
        question: Question,
    },
    /// Take a sample: [`Reply::Done`].
    Sample(Extent),
    /// Send a signal to a program: [`Reply::Done`].
    Stop {
        /// Which.
        role: Role,
        /// The signal.
        signal: Signal,
    },
    /// The end of what a program printed: [`Reply::Output`].
    Output(Role),
    /// The content of a file, of whichever one this user may read: [`Reply::Text`].
    ReadFile(String),
    /// End the repetition: [`Reply::Observed`].
    Finish,
}

/// What an agent answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Reply {
    /// It is done.
    Done,
    /// It is not: why, in a sentence.
    Error(String),
    /// Who answers.
    Hello(Greeting),
    /// What the machine is and how it is set.
    Host(Fingerprint),
    /// Nanoseconds; none if they cannot be said.
    Nanos(Option<u64>),
    /// A number; none if it cannot be said.
    Count(Option<u64>),
    /// Where a repetition takes place.
    Place(Place),
    /// A line; none if nothing was printed in time.
    Line(Option<Line>),
    /// How a program ended; none while it runs.
    Ending(Option<Ending>),
    /// Yes or no.
    Flag(bool),
    /// What a program printed.
    Output(Output),
    /// What is in a file; none if it cannot be read.
    Text(Option<String>),
    /// What was observed during a repetition, in the form of the lab's records.
    Observed {
        /// Samples, oldest first.
        samples: Value,
        /// What other processes used.
        other_processes: Value,
        /// What the program that is measured used in its whole life.
        lifetime: Value,
        /// How often the CPUs were throttled.
        throttled: u64,
        /// Processes that outlived their program.
        left_behind: Vec<LeftBehind>,
    },
}
