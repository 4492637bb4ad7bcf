//! The client's side of the protocols: what a load generator sends and how it judges what comes back.
//!
//! As on the server's side, a protocol turns bytes into bytes and knows no descriptor, clock or thread. A protocol is
//! one file here and one entry in [`CLIENTS`].
//!
//! Requests are built once, before the run, and live as long as the process ([`Outgoing::fixed`]), so that sending one
//! costs no copy and the kernel may read it at any time. Protocols whose requests differ each time write them into the
//! caller's scratch buffer instead ([`Outgoing::bytes`]).
//!
//! [`tls`] is a layer between a connection and its protocol. What both sides of a protocol share is in `pitot-proto`.
#![forbid(unsafe_code)]

mod blob;
mod busy;
mod cache;
mod choice;
mod durability;
mod echo;
mod entry;
mod exchange;
mod expected;
mod fields;
mod http;
mod http2;
mod http_entry;
mod judgement;
mod memcache;
mod option;
mod outgoing;
pub mod page;
mod postgres;
mod protocol;
mod redis;
mod registry;
mod request;
mod said;
mod session;
pub mod smtp;
mod stream;
pub mod tls;
mod trade;
mod url;
mod visit;

pub use durability::NamedRequests;
pub use entry::{ClientEntry, TlsScheme, UrlOption};
pub use exchange::{
    Alpn, Draw, Fault, Handshake, Opening, Progress, Received, Reply, StartTls, Tag, Verdict,
};
pub use outgoing::{Outgoing, Payload};
pub use pitot_durability::OfConnection;
pub use protocol::{ClientConn, ClientOptions, ClientProtocol, HttpVersion, Preload, SessionInfo};
pub use registry::{CLIENTS, find, find_tls};
pub use request::RequestSpec;
pub use session::{DrawSpec, SessionConn, SessionSpec, Source, StepSpec, TakeSpec, Turn};
pub use url::{Url, UrlError, ends_in_number};
pub use visit::VisitOptions;
