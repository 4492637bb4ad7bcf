//! Clients that begin a request and never end it.

use crate::clients::{Habit, begin};
use crate::entry::{Aim, Fault, Means};

pub(super) static FAULT: Fault = Fault {
    name: "half-open",
    summary: "Let additional clients begin a request and never end it.",
    doc: "They keep their connections open, and open another one when the server closes one. With a process or thread for each \
          connection, each of them blocks one.",
    aim: Aim::Address,
    takes: &["clients"],
    lasts_s: 1.0,
    is_moment: false,
    may_end_server: false,
    can_silence: true,
    speaks_http: true,
    probe: || Ok(()),
    means: Means::Program {
        begin: |options, _| begin(options, Habit::HalfOpen, "have sent half a request"),
        undo: |_| Ok(false),
    },
};
