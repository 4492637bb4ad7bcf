//! Servers of every architecture: a concurrency model times an event mechanism, over one pump.
//!
//! A **model** ([`MODELS`]) says who owns a connection and starts workers; a **mechanism** ([`MECHANISMS`]) says how
//! one worker waits. Three worker loops (blocking calls, readiness, completion) feed the same session, which feeds a
//! protocol core that knows no socket. [`run`] puts a checked [`ServePlan`] to work.
#![forbid(unsafe_code)]

mod clock;
mod conn;
mod counters;
mod depot;
mod disk;
mod draft;
mod failure;
mod files;
mod maildir;
mod mechanism;
mod model;
mod pairs;
mod plan;
mod relay;
mod server;
mod session;
mod slots;
mod storing;
mod supervise;
mod uploads;
mod worker;

pub use counters::{Count, Counters};
pub use disk::{DiskPlan, Route};
pub use mechanism::{Kind, MECHANISMS, Mechanism, find as find_mechanism};
pub use model::{Listens, MODELS, Model, find as find_model, serve_standard_input};
pub use pairs::{Pair, default_mechanism, pairs};
pub use plan::ServePlan;
pub use server::{Limits, Server};
pub use supervise::{Summary, run};
