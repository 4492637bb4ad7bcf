//! Nothing passes between load and server, and nobody is told.

use crate::entry::{Aim, Fault, Means};
use crate::proxy::condition::Condition;

pub(super) static FAULT: Fault = Fault {
    name: "black-hole",
    summary: "Let nothing pass between load and server, and tell nobody.",
    doc: "On the way, in a proxy between load and server: it receives and sends nothing and accepts no connection. What clients \
          send waits in the kernel's buffers and passes afterwards; new connections are established by the kernel alone.",
    aim: Aim::Path,
    takes: &[],
    lasts_s: 1.0,
    is_moment: false,
    may_end_server: false,
    can_silence: true,
    speaks_http: false,
    probe: || Ok(()),
    means: Means::Path(|_| {
        (Condition { black_hole: true, ..Condition::default() }, "nothing passes".to_owned())
    }),
};
