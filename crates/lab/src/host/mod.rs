//! What a machine is, and how much of it a run may use.

mod fingerprint;

pub use fingerprint::{Fact, Fingerprint, HostChange};
