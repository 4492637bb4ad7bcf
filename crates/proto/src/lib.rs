//! Network protocols as state machines over bytes.
//!
//! Nothing here uses a descriptor, a clock, a thread or a system call. Events and the time are arguments, and an [`Action`]
//! tells the caller what to do (send this, open that file, close). So the same code runs under every concurrency model and
//! event mechanism, and a comparison compares only architectures.
//!
//! A protocol is one file here and one entry in [`PROTOCOLS`]; everything that connections share is [`Connection`].
#![forbid(unsafe_code)]

pub mod blob;
pub mod busy;
mod connection;
pub mod echo;
mod entry;
mod exchange;
pub mod http;
mod layer;
mod log;
pub mod memcache;
mod outbox;
pub mod percent;
mod registry;
mod server;
pub mod smtp;
mod store_step;
mod worker;

pub use connection::{Action, Connection, FileFailure, Intake};
pub use entry::{ProtocolEntry, ProtocolOptions, TlsBegins};
pub use exchange::{Counts, Exchange};
pub use layer::{Handshake, KernelKeys, Layer, LayerFailure, Layers, Received, Scratch};
pub use log::{Log, LogSink, LoggedReply};
pub use outbox::{Block, FileHandle, Gathered, Outbox, PATTERN, Segment, pattern_at};
pub use registry::{PROTOCOLS, find};
pub use server::{
    Context, Derived, FileMeta, Next, OpenError, Opened, Protocol, ServerConn, Step, Violation, ViolationKind,
};
pub use store_step::{StoreError, StoreStep, Upload};
pub use worker::{ConnectionLimits, Phase, Tally, Tick, Worker};
