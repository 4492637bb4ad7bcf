//! The server is stopped as a whole and started again, as in a deployment.

use crate::entry::{Aim, Fault, Means};

pub(super) static FAULT: Fault = Fault {
    name: "restart",
    summary: "Stop the server as a whole and start it again.",
    doc: "`signal` says how: with TERM, or with what the plan says that stops it, it may finish what it has begun; with KILL it \
          may not. The lab, which has started it, starts it again by the same command as soon as it has ended, at the same \
          address; the fault lasts until it is ready.",
    aim: Aim::Server,
    takes: &["signal"],
    lasts_s: 0.0,
    is_moment: false,
    may_end_server: true,
    can_silence: true,
    speaks_http: false,
    probe: || Ok(()),
    means: Means::Starter,
};
