use pitot_sys::readiness::EpollLevel;

use super::contract::{Kind, Mechanism};

pub(super) static EPOLL_LT: Mechanism = Mechanism {
    name: "epoll-lt",
    summary: "epoll(7), level triggered: the kernel keeps the set and returns what is ready",
    doc: "The cost of a wait is that of the ready connections alone. A connection is told of in every wait for as long as it is ready, so that interest in writing is switched on and off by epoll_ctl(2) when a reader is slow.",
    kind: Kind::readiness::<EpollLevel>(),
    watches_eventfd: true,
    is_of_runtime: false,
    default_rank: 0,
    probe: Mechanism::always,
};
