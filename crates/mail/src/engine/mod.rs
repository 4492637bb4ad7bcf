//! The engine: one loop that reads the list, queries the DNS, talks to hosts, and writes the journal.
//!
//! One thread suffices: a recipient takes it about a microsecond, a hundredth of the hosts' time, and the disk, which could block
//! it, has its own thread. `run` calls `sessions`, which opens and ends connections; that calls `conversation`, which moves bytes
//! and follows the protocol; both call `schedule`, which decides when to send to whom. All of them work on `state`.

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
