//! Network protocols as state machines over bytes.
//!
//! Nothing here knows a descriptor, a clock, a thread or a system call: bytes and the time of day come in as
//! arguments, bytes and wishes (send this, open that file, close) come out in an [`Outbox`]. So the same code serves
//! under every concurrency model and event mechanism, and a comparison compares architectures and nothing else.
//!
//! A protocol is one file here and one entry in [`PROTOCOLS`].
#![forbid(unsafe_code)]

pub mod blob;
pub mod busy;
pub mod client;
mod delivery;
pub mod harness;
pub mod http;
pub mod memcache;
mod outbox;
mod registry;
mod server;
pub mod smtp;

pub use delivery::{DeliverError, Delivery, Parcel};
pub use outbox::{Block, FileHandle, Gathered, MailCounts, Outbox, PATTERN, Segment, pattern_at};
pub use registry::{PROTOCOLS, ProtocolEntry, ProtocolOptions, find};
pub use server::{
    Context, Derived, FileMeta, Next, OpenError, Opened, Protocol, ServerConn, Step, Violation, ViolationKind,
};
