//! A step of the wall clock.

use pitot_sys::Unavailable;

use crate::entry::{Aim, Fault, Means};

pub(super) static FAULT: Fault = Fault {
    name: "clock-step",
    summary: "The wall clock jumps. It is reported when it happens, and never made.",
    doc: "The clock belongs to the whole machine, and its effects on other programs could not be undone. `pitot soak` reports steps \
          that happen.",
    aim: Aim::Nothing,
    takes: &[],
    lasts_s: 0.0,
    is_moment: true,
    may_end_server: false,
    can_silence: false,
    speaks_http: false,
    probe: || {
        Err(Unavailable {
            what: "a step of the clock".into(),
            cause: "the clock belongs to the whole machine".into(),
            fix: "set it by hand on a machine that nobody else uses".into(),
        })
    },
    means: Means::Told,
};
