//! A resolver of names between those who ask and the answers, which can be made to fail or to lie for a time.
//!
//! It answers by itself for the names below `test` (RFC 6761), which all have the address 127.0.0.1, and refuses all others; or it
//! passes every question on to another resolver. Both are on loopback: no question leaves the machine. It is one loop on epoll over UDP,
//! and needs no privilege. Answers have no lifetime (TTL 0), those that are passed on included, so that nobody remembers them beyond
//! a fault, or beyond its end. Commands and answers on standard input and output are those of the [proxy](pitot_fault::proxy), and `to
//! ADDRESS`, from which on questions are passed on.

mod message;
mod run;

pub use run::serve;
