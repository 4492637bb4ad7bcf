//! The requests of the lab and the replies of an agent.

use std::net::{IpAddr, Ipv4Addr};

use pitot_host::Fingerprint;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::program::{
    AddressChoice, Command, Count, Ending, Extent, LeftBehind, Line, Output, Place, Question, Role, Signal,
};

/// A request to an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Request {
    /// The first request.
    Hello(Hello),
    /// A keep-alive without a reply.
    Ping,
    /// Read `CLOCK_MONOTONIC`: [`Reply::Nanos`].
    Clock,
    /// The machine's fingerprint: [`Reply::Host`].
    Host,
    /// A request to an executor. The lab numbers executors, which are created by their first request.
    Call {
        /// Its number.
        executor: u32,
        /// The request.
        ask: Ask,
    },
    /// End an executor and its programs: [`Reply::Done`].
    Drop {
        /// Its number.
        executor: u32,
    },
}

/// The lab's greeting. That of another version can be read too, so that the error names both versions.
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
    /// The address on which servers listen.
    #[serde(default = "loopback")]
    pub address: IpAddr,
}

fn loopback() -> IpAddr {
    Ipv4Addr::LOCALHOST.into()
}

/// The agent's greeting.
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

/// A request to an executor.
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
        /// The timeout, limited to [`WAIT_MAX`](crate::WAIT_MAX).
        timeout_us: u64,
    },
    /// How a program ended: [`Reply::Ending`].
    Ending(Role),
    /// Whether a program is suspended: [`Reply::Flag`].
    IsSuspended(Role),
    /// Whether a server replies as expected: [`Reply::Flag`]. If false, the reply may be under way; repeat the request.
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
    /// The output tail of a program: [`Reply::Output`].
    Output(Role),
    /// The content of any file that this user may read: [`Reply::Text`].
    ReadFile(String),
    /// End the repetition: [`Reply::Observed`].
    Finish,
}

/// A reply of an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Reply {
    /// It is done.
    Done,
    /// An error: a sentence.
    Error(String),
    /// Who answers.
    Hello(Greeting),
    /// What the machine is and how it is set.
    Host(Fingerprint),
    /// Nanoseconds; none if unknown.
    Nanos(Option<u64>),
    /// A number; none if unknown.
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
