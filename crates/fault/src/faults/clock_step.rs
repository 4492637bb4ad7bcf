//! The clock is set.

use pitot_sys::Unavailable;

use crate::entry::{Aim, Fault, Means};

pub(super) static FAULT: Fault = Fault {
    name: "clock-step",
    summary: "The wall clock jumps. It is told where it happens, and never made.",
    doc: "The clock belongs to the whole machine, and what others do with it could not be taken back. Runs of days report the steps that \
          happen (`pitot soak`).",
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
            cure: "set it by hand on a machine of your own".into(),
        })
    },
    means: Means::Told,
};
