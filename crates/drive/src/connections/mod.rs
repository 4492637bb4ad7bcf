//! The connections of one thread, and what they do when.
//!
//! This is the whole logic of the load generator: it decides which connection sends a request when, judges replies,
//! keeps timeouts, reopens what was lost and records. It makes no system call. The engine reports what has happened
//! (`connected`, `received`, `ended`, `broke`) with the time, and carries out what is wanted through [`Wire`].
//!
//! Which request, at which pace, on connections of which life, until when: these are four values of the plan, and
//! every combination goes through the same few functions.

mod browse;
mod expiry;
mod held;
mod idle_log;
mod lifecycle;
mod play;
mod replies;
mod requests;
mod sessions;
mod slices;
mod slot;
mod state;
#[cfg(test)]
mod tests;
mod tick;
mod timers;
mod users;
mod wire;

pub use held::SliceTimes;
pub use sessions::SessionPlan;
pub use state::{Connections, ThreadPace, ThreadPlan};
pub use tick::Next;
pub use wire::Wire;
