//! Clients speak no protocol at all.

use crate::clients::{Clients, Habit};
use crate::entry::{Aim, Begun, Fault, Means};

pub(super) static FAULT: Fault = Fault {
    name: "garbage",
    summary: "Let clients beside the load send random bytes, and come again.",
    doc: "1 KiB on every connection, which is closed after a tenth of a second and opened anew; the bytes follow from `seed`.",
    aim: Aim::Address,
    takes: &["clients", "seed"],
    lasts_s: 1.0,
    is_moment: false,
    may_end_server: false,
    probe: || Ok(()),
    means: Means::Program {
        begin: |options, _| {
            let to = options.to.ok_or("the server's address is not known")?;
            let clients = Clients::start(to, options.clients, Habit::Garbage { seed: options.seed });
            let what = format!("{} clients send random bytes", options.clients);
            Ok(Begun { what, held: Some(Box::new(clients)) })
        },
        undo: |_| (),
    },
};
