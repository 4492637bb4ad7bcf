//! Delays replies.

use pitot_meter::Nanos;

use crate::entry::{Aim, Fault, Means};
use crate::proxy::condition::Condition;

pub(super) static FAULT: Fault = Fault {
    name: "latency",
    summary: "Delay the server's replies, optionally with jitter.",
    doc: "Made by a proxy between load and server, which delays every reply. Connecting is not delayed. Bytes keep their order, in \
          a buffer of up to 256 KiB for each connection.",
    aim: Aim::Path,
    takes: &["delay", "jitter"],
    lasts_s: 1.0,
    is_moment: false,
    may_end_server: false,
    can_silence: true,
    speaks_http: false,
    probe: || Ok(()),
    means: Means::Path(|options| {
        let nanos = |seconds: f64| Nanos((seconds * 1e9) as u64);
        let condition = Condition {
            delay: nanos(options.delay_s),
            jitter: nanos(options.jitter_s),
            ..Condition::default()
        };
        let more = match condition.jitter {
            Nanos(0) => String::new(),
            jitter => format!(" and up to {jitter} more"),
        };
        let what = format!("replies are delayed by {}{more}", condition.delay);
        (condition, what)
    }),
};
