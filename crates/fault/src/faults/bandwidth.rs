//! Limits the bandwidth between load and server.

use crate::entry::{Aim, Fault, Means};
use crate::proxy::condition::Condition;

pub(super) static FAULT: Fault = Fault {
    name: "bandwidth",
    summary: "Limit the bandwidth in each direction, for all connections together.",
    doc: "Made by a proxy between load and server, with a token bucket of 10 ms for each direction.",
    aim: Aim::Path,
    takes: &["rate"],
    lasts_s: 1.0,
    is_moment: false,
    may_end_server: false,
    can_silence: true,
    speaks_http: false,
    probe: || Ok(()),
    means: Means::Path(|options| {
        let condition = Condition { bytes_per_s: Some(options.bytes_per_s), ..Condition::default() };
        (condition, format!("{:.0} bytes per second in each direction", options.bytes_per_s))
    }),
};
