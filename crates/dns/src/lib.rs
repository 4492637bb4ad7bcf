//! A small DNS responder for tests and experiments with mail, and the [resolver] for DNS faults.
//!
//! The responder answers for generated domains, whose mail goes to hosts of the user's choice, and for a few that misbehave in
//! ways that a mail engine must survive; no other name exists. It is not a server for real zones: it delegates nothing,
//! signs nothing and has one zone by construction. The format of messages is hickory-proto's.
//!
//! | name | records |
//! |---|---|
//! | `d0.test` ... (the pattern) | an MX of preference 10; the last ones, if requested, only an address |
//! | the mail hosts | their addresses |
//! | `a-only.test` | no MX, but the first mail host's addresses |
//! | `null-mx.test` | a null MX: the domain accepts no mail (RFC 7505) |
//! | `no-mail.test` | neither MX nor address |
//! | `dangling-mx.test` | an MX whose host does not exist |
//! | `refusing-mx.test` | an MX at 127.255.255.254, where nothing should listen |
//! | `backup-mx.test` | the same with preference 10, and the first mail host with preference 20 |
//! | `many-mx.test` | 60 of them, too many for a datagram |
//! | `servfail.test` | a server failure |
//! | `silent.test` | no answer at all |
#![forbid(unsafe_code)]

pub mod resolver;
mod responder;
mod server;
mod zone;

pub use responder::{Responder, Transport};
pub use server::Sockets;
pub use zone::{MailHost, ZoneOptions};
