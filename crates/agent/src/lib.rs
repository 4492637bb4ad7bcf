//! The protocol between the lab and its agents on other hosts.
//!
//! An agent runs on the host of a server or a load: it starts programs, returns their output, samples the machine and stops them. The
//! lab decides what happens and when. They communicate over the agent's stdin and stdout, so that any way to start a program on
//! another host works.
//!
//! Every message is a line of JSON ([`frame`]) of at most [`frame::MESSAGE_BYTES_MAX`]. The lab sends requests ([`Request`]), and the
//! agent sends one reply to each, in order ([`Reply`]); only [`Request::Ping`] has no reply. The first request is
//! [`Request::Hello`], whose version can be read whatever the rest is: an agent of another [`VERSION`] replies with an error that has
//! its own version, and exits. At the end of the stream, or after [`IDLE`] without a message, an agent ends its programs and exits.
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

/// The version of the protocol. Both sides must have the same.
pub const VERSION: u32 = 3;

/// An agent without messages for so long exits, since its lab must have ended.
pub const IDLE: Duration = Duration::from_secs(60);
/// Interval of the lab's pings.
pub const PING_INTERVAL: Duration = Duration::from_secs(10);
/// Maximum time that a request blocks an agent.
pub const WAIT_MAX: Duration = Duration::from_secs(1);
/// Maximum number of concurrent repetitions on an agent.
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
