use pitot_sys::readiness::SigIo;

use super::{Kind, Mechanism, always};

pub(super) static SIGIO: Mechanism = Mechanism {
    name: "sigio",
    summary: "realtime signals (F_SETSIG): the kernel queues a signal for each event",
    doc: "Before epoll this was the mechanism whose cost did not grow with idle connections. Each event costs a sigtimedwait(2) of its own, and when the queue of signals overflows every connection is asked once by poll(2).",
    kind: Kind::Readiness {
        run_loop: crate::worker::readiness::run::<SigIo>,
        run_data: crate::relay::run_data::<SigIo>,
    },
    probe: always,
};
