//! Clients that send random bytes.

use crate::clients::{Habit, begin};
use crate::entry::{Aim, Fault, Means};

pub(super) static FAULT: Fault = Fault {
    name: "garbage",
    summary: "Let additional clients send random bytes and reconnect.",
    doc: "Each connection sends 1 KiB, and is closed and reopened after 100 ms. The bytes are generated from `seed`.",
    aim: Aim::Address,
    takes: &["clients", "seed"],
    lasts_s: 1.0,
    is_moment: false,
    may_end_server: false,
    can_silence: false,
    speaks_http: false,
    probe: || Ok(()),
    means: Means::Program {
        begin: |options, _| begin(options, Habit::Garbage { seed: options.seed }, "send random bytes"),
        undo: |_| Ok(false),
    },
};
