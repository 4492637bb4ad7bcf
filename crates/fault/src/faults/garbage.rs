//! Clients speak no protocol at all.

use crate::clients::{Habit, begin};
use crate::entry::{Aim, Fault, Means};

pub(super) static FAULT: Fault = Fault {
    name: "garbage",
    summary: "Let clients beside the load send random bytes, and come again.",
    doc: "1 KiB on every connection, which is closed after a tenth of a second and opened anew; the bytes follow from `seed`.",
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
