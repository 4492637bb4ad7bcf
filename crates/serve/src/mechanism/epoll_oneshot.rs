use pitot_sys::readiness::EpollOneShot;

use super::contract::{Kind, Mechanism};

pub(super) static EPOLL_ONESHOT: Mechanism = Mechanism {
    name: "epoll-oneshot",
    summary: "epoll(7), level triggered, EPOLLONESHOT: a connection is disarmed by each report",
    doc: "Like epoll-lt, but each report disarms the connection until epoll_ctl(2) arms it again, so that only one of \
          several threads waiting on an epoll instance gets it. Here a single loop waits and pays the same price: one \
          more system call per report.",
    kind: Kind::readiness::<EpollOneShot>(),
    watches_eventfd: true,
    signals_one_owner: false,
    is_of_runtime: false,
    default_rank: 0,
    probe: Mechanism::always,
};
