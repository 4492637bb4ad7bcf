//! Servers of every architecture: a concurrency model times an event mechanism, over one connection machine.
//!
//! A **model** ([`MODELS`]) decides which process or thread owns a connection, and starts the workers; a
//! **mechanism** ([`MECHANISMS`]) is how a worker waits for events. Three worker loops (blocking calls, readiness,
//! completion) and one model on an async runtime drive the same [`Connection`](pitot_proto::Connection), which performs
//! no I/O itself. [`run`] runs the server of a [`ServePlan`].
#![forbid(unsafe_code)]
// They panic when the stream is closed, which ends the server; `pitot_results::stderr` does not.
#![deny(clippy::print_stderr, clippy::print_stdout)]

mod access_log;
mod address;
mod admission;
mod check;
mod clock;
mod counters;
mod delays;
mod disk;
mod failure;
mod files;
mod kernel_tls;
mod launch;
mod limits;
mod listen;
mod listing;
mod mechanism;
mod model;
mod pairs;
mod plan;
mod relay;
mod rights;
mod ring_features;
mod send;
mod server;
mod slots;
mod socket;
mod standard_input;
mod steering;
/// Storing received data.
pub mod store;
mod supervise;
mod tls;
mod worker;

pub use access_log::LogTarget;
pub use address::Address;
pub use check::{check_options, has_kernel_tls};
pub use counters::{Count, Counters};
pub use disk::{DiskPlan, Route};
pub use files::FileCache;
pub use kernel_tls::probe as probe_kernel_tls;
pub use limits::Limits;
pub use mechanism::{Kind, MECHANISMS, Mechanism, find as find_mechanism};
pub use model::{Listens, MODELS, Model, find as find_model};
pub use pairs::{Pair, default_mechanism, pairs};
pub use plan::ServePlan;
pub use rights::{become_user, confine_to};
pub use ring_features::{RING_FEATURES, RingFeature, RingFeatures};
pub use server::Server;
pub use standard_input::serve_standard_input;
pub use steering::Steering;
pub use supervise::{Summary, run};
pub use tls::{InKernel, TlsPlan};
