//! Connections are reset, as by a firewall that has forgotten them, or a load balancer that goes.

use crate::entry::{Aim, Fault, Means};
use crate::proxy::condition::Condition;

pub(super) static FAULT: Fault = Fault {
    name: "reset",
    summary: "Reset all connections, and those that are opened meanwhile.",
    doc: "On the way, in a proxy between load and server. The server and its clients get a reset (RST) in the same moment.",
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
