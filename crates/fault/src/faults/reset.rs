//! Resets connections, like a firewall that lost its state, or a load balancer that stops.

use crate::entry::{Aim, Fault, Means};
use crate::proxy::condition::Condition;

pub(super) static FAULT: Fault = Fault {
    name: "reset",
    summary: "Reset all open and new connections.",
    doc: "Made by a proxy between load and server. Server and clients get a reset (RST) at the same time.",
    aim: Aim::Path,
    takes: &[],
    lasts_s: 0.2,
    is_moment: false,
    may_end_server: false,
    can_silence: true,
    speaks_http: false,
    probe: || Ok(()),
    means: Means::Path(|_| {
        (Condition { reset: true, ..Condition::default() }, "connections are reset".to_owned())
    }),
};
