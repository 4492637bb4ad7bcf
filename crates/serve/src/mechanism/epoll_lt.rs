use pitot_sys::readiness::EpollLevel;

use super::contract::{Kind, Mechanism};

pub(super) static EPOLL_LT: Mechanism = Mechanism {
    name: "epoll-lt",
    summary: "epoll(7), level triggered: the kernel keeps the set and returns what is ready",
    doc: "The cost of a wait grows only with the ready connections. Every wait reports a connection as long as it is \
          ready, so interest in writing must be switched on and off with epoll_ctl(2) when a client reads slowly.",
    kind: Kind::readiness::<EpollLevel>(),
    watches_eventfd: true,
    signals_one_owner: false,
    is_of_runtime: false,
    default_rank: 0,
    probe: Mechanism::always,
};
