//! Clients read slowly, as over a bad line, or as an attack does.

use crate::clients::{Clients, Habit};
use crate::entry::{Aim, Begun, Fault, Means};

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
    probe: || Ok(()),
    means: Means::Program {
        begin: |options, _| {
            let to = options.to.ok_or("the server's address is not known")?;
            let clients =
                Clients::start(to, options.clients, Habit::SlowReader { path: options.path.clone() });
            let what = format!("{} clients read 640 bytes a second", options.clients);
            Ok(Begun { what, held: Some(Box::new(clients)) })
        },
        undo: |_| (),
    },
};
