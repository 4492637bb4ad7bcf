//! Jobs and results over a message bus: NATS with JetStream (<https://docs.nats.io/nats-concepts/jetstream>).
//!
//! A coordinator hands out jobs, agents carry them out. What a job says and what a result is are the caller's: here they are
//! bytes. Nothing of a queue is written by hand: jobs are messages of a work queue, agents and the state of jobs are entries
//! of key-value buckets, large results are objects.
//!
//! The one invariant that this crate adds is the *fence*: a job has a single entry, which is changed only by whoever knows
//! its last revision. An agent claims a job there, with the number of the delivery; a later delivery claims it anew, and what the
//! former holder sends after that is refused by the server. An acknowledgement says nothing by itself, since JetStream takes
//! that of a former holder as well; it is sent only by who has put the result into the entry.
//!
//! Beside jobs, an agent can be one host of a plan: a stream of bytes over plain subjects joins the lab to a program that the
//! agent starts ([`reach`]).
//!
//! The client needs an async runtime. It is one of one thread, lives in [`Connection`] and is seen nowhere else.
#![forbid(unsafe_code)]

mod address;
mod agent;
mod claim;
mod connection;
mod coordinator;
mod credentials;
mod entry;
mod hosted;
mod job;
mod keys;
mod lease;
mod places;
mod reach;
mod serving;
mod session;

pub use address::Address;
pub use agent::{Agent, Running, Trouble, Work};
pub use connection::{Connection, VERSION_MIN};
pub use coordinator::{Coordinator, Event, Present};
pub use credentials::Credentials;
pub use keys::{SigningKey, TrustedKey, is_name};
pub use reach::reach;
