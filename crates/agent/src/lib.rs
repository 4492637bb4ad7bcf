//! What the lab and its agents on other hosts say to each other.
//!
//! An agent is the small part of the lab that runs where a server or a load runs: it starts programs, hands back what
//! they print, samples the machine and stops them. The lab decides what happens and when. Both speak over a byte stream,
//! the agent's standard input and output, so that any way to start a program elsewhere is a way to reach an agent.
//!
//! Every message is a line of JSON ([`frame`]) of at most [`frame::MESSAGE_BYTES_MAX`]. The lab asks ([`Request`]), the
//! agent answers each question once and in order ([`Reply`]) and never speaks unasked; a [`Request::Ping`] alone has no
//! answer. The first question is [`Request::Hello`], whose version is read whatever form the rest has: an agent of another
//! [`VERSION`] answers it with an error that names its own, and ends. At the end of the stream, or after [`IDLE`] without a
//! message, an agent ends and takes everything with it that it has started.
#![forbid(unsafe_code)]

pub mod frame;
mod message;
mod program;

use std::time::Duration;

pub use message::{Ask, Greeting, Hello, Reply, Request};
pub use program::{
    Account, AddressChoice, Command, Count, Ending, Extent, LeftBehind, Line, Output, Place, Question, Role,
    Signal,
};

/// The version of the protocol. Both sides must have the same: a lab and its agents are the same program, and a
/// measurement of two programs that only nearly agree is none.
pub const VERSION: u32 = 3;

/// An agent that hears nothing for so long ends: its lab is gone, and the stream does not say so.
pub const IDLE: Duration = Duration::from_secs(60);
/// The lab sends something at least so often.
pub const PING_INTERVAL: Duration = Duration::from_secs(10);
/// An agent answers a question that waits for something after this time at the latest.
pub const WAIT_MAX: Duration = Duration::from_secs(1);
/// At most so many repetitions are under way on an agent at the same time.
pub const EXECUTORS_MAX: usize = 4096;

#[cfg(test)]
mod tests {
    #[test]
    fn the_documentation_names_the_version() {
        let page = include_str!("../../../docs/agent.md");
        assert!(page.contains(&format!("\nVersion {}. ", super::VERSION)));
        assert!(page.contains(&format!("{{\"hello\":{{\"version\":{},", super::VERSION)));
    }
}
