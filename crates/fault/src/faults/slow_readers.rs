//! Clients that read slowly, like those with a bad connection, or an attack.

use crate::clients::{Habit, begin};
use crate::entry::{Aim, Fault, Means};

pub(super) static FAULT: Fault = Fault {
    name: "slow-readers",
    summary: "Let additional clients request a lot and read slowly.",
    doc: "They always have requests under way, and read 640 bytes of the replies per second, with a receive buffer of 4 KiB. A server \
          with non-blocking writes has to buffer replies; with blocking writes, each of them blocks a worker.",
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
