//! Clients read slowly, as over a bad line, or as an attack does.

use crate::clients::{Habit, begin};
use crate::entry::{Aim, Fault, Means};

pub(super) static FAULT: Fault = Fault {
    name: "slow-readers",
    summary: "Let clients beside the load ask for much and read little.",
    doc: "They keep requests under way on every connection and read 640 bytes a second of the replies, from a receive buffer of 4 KiB. A \
          server that writes without waiting is full of them; one that waits in write(2) for each has a worker less.",
    aim: Aim::Address,
    takes: &["clients", "path"],
    lasts_s: 1.0,
    is_moment: false,
    may_end_server: false,
    can_silence: true,
    speaks_http: true,
    probe: || Ok(()),
    means: Means::Program {
        begin: |options, _| {
            begin(options, Habit::SlowReader { path: options.path.clone() }, "read 640 bytes a second")
        },
        undo: |_| Ok(false),
    },
};
