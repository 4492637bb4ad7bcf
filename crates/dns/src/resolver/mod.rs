//! A DNS resolver between clients and the answers, which can be made to fail or to lie for a time.
//!
//! It answers for the names below `test` (RFC 6761), which all have the address 127.0.0.1, and refuses all others; or it forwards
//! every question to another resolver. Both are on loopback: no question leaves the machine. It is one loop on epoll over UDP and
//! needs no privileges. Answers have no lifetime (TTL 0), forwarded ones included, so that none is cached beyond the start or the
//! end of a fault. Commands and replies on standard input and output are those of the [proxy](pitot_fault::proxy), and `to ADDRESS`,
//! after which questions are forwarded.

mod message;
mod run;

pub use run::serve;
