use pitot_sys::readiness::SigIo;

use super::contract::{Kind, Mechanism};

pub(super) static SIGIO: Mechanism = Mechanism {
    name: "sigio",
    summary: "realtime signals (F_SETSIG): the kernel queues a signal for each event",
    doc: "Before epoll this was the mechanism whose cost did not grow with idle connections. Each event costs a sigtimedwait(2) of its own, and when the queue of signals overflows every connection is asked once by poll(2).",
    kind: Kind::readiness::<SigIo>(),
    watches_eventfd: false,
    is_of_runtime: false,
    default_rank: 0,
    probe: Mechanism::always,
};
