//! The engine: one loop that reads the list, queries the DNS, talks to hosts, and appends to the journal.
//!
//! One thread is enough: a recipient costs it about a microsecond, a hundredth of what the hosts spend on it, and what
//! could block it, the disk, has a thread of its own. Arrows point from `run` to `sessions`, which open and end
//! connections; from there to `conversation`, which moves bytes and follows the protocol; and from both to `schedule`,
//! which decides who is written to when. All of them work on `state`.

mod conversation;
mod error;
mod failures;
mod observer;
mod run;
mod schedule;
mod sessions;
mod state;
mod timers;

pub use error::RunError;
pub use observer::{Observer, Progress};
pub use run::{Finished, run};
