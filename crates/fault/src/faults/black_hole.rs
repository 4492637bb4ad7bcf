//! Drops everything between load and server silently.

use crate::entry::{Aim, Fault, Means};
use crate::proxy::condition::Condition;

pub(super) static FAULT: Fault = Fault {
    name: "black-hole",
    summary: "Block all traffic between load and server without an error.",
    doc: "Made by a proxy between load and server, which stops receiving, sending and accepting. Bytes of clients wait in the \
          kernel's buffers and are forwarded afterwards; the kernel still establishes new connections.",
    aim: Aim::Path,
    takes: &[],
    lasts_s: 1.0,
    is_moment: false,
    may_end_server: false,
    can_silence: true,
    speaks_http: false,
    probe: || Ok(()),
    means: Means::Path(|_| {
        (Condition { black_hole: true, ..Condition::default() }, "all traffic is blocked".to_owned())
    }),
};
