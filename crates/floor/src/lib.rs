//! The cost of the machine: primitives that every server uses, in nanoseconds per operation, and the floor of a request as their sum.
//!
//! A primitive is an entry in a table of its topic ([`TOPICS`]): a name, its operation, and a function that prepares the work.
//! [`measure`] prepares each in every round again, in random order, and times it in short pieces; [`request`] lists those that
//! every server needs.
#![forbid(unsafe_code)]

mod contract;
mod measure;
mod primitives;
pub mod request;
mod stopwatch;
mod threads;

pub use contract::{Operation, Place, Primitive, Topic, Work};
pub use measure::{Figure, Measurement, Round, measure};
pub use primitives::{TOPICS, find, primitives};
pub use stopwatch::Stopwatch;
pub use threads::{Crowd, PUBLISHED_CROWD, crowd};
