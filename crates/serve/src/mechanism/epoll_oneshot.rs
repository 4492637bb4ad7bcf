use pitot_sys::readiness::EpollOneShot;

use super::contract::{Kind, Mechanism};

pub(super) static EPOLL_ONESHOT: Mechanism = Mechanism {
    name: "epoll-oneshot",
    summary: "epoll(7), level triggered, EPOLLONESHOT: a connection is disarmed by each report",
    doc: "As epoll-lt, but each report disarms the connection until an epoll_ctl(2) arms it again, so that of several threads that wait on one epoll instance only one is given it. Here one loop waits, and pays for the contract: one more call for each report.",
    kind: Kind::readiness::<EpollOneShot>(),
    watches_eventfd: true,
    is_of_runtime: false,
    default_rank: 0,
    probe: Mechanism::always,
};
