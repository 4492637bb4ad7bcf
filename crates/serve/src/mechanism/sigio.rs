use pitot_sys::readiness::SigIo;

use super::contract::{Kind, Mechanism};

pub(super) static SIGIO: Mechanism = Mechanism {
    name: "sigio",
    summary: "realtime signals (F_SETSIG): the kernel queues a signal for each event",
    doc: "Before epoll, the mechanism whose cost did not grow with idle connections. Each event costs a sigtimedwait(2), \
          and when the signal queue overflows, every connection is checked once with poll(2).",
    kind: Kind::readiness::<SigIo>(),
    watches_eventfd: false,
    signals_one_owner: true,
    is_of_runtime: false,
    default_rank: 0,
    probe: Mechanism::always,
};
