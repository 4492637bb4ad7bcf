//! Restarts the server, as in a deployment.

use crate::entry::{Aim, Fault, Means};

pub(super) static FAULT: Fault = Fault {
    name: "restart",
    summary: "Stop and restart the server.",
    doc: "`signal` says how to stop it: with TERM, or the plan's signal or command, it can finish requests; with KILL it cannot. When \
          it has ended, the lab restarts it with the same command and address. The fault lasts until it is ready.",
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
