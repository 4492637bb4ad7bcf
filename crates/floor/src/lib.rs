//! What the machine itself costs: the primitives that every server is built of, each in nanoseconds an operation, and the
//! floor of a request that adds up from them.
//!
//! A primitive is an entry in a table of its topic ([`TOPICS`]): a name, what one operation is, and a function that makes
//! the work. [`measure`] makes each anew in every round, in an order drawn for the round, and times it in short
//! pieces; [`request`] knows which of them a server cannot do without.
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
