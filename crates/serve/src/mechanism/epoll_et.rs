use pitot_sys::readiness::EpollEdge;

use super::contract::{Kind, Mechanism};

pub(super) static EPOLL_ET: Mechanism = Mechanism {
    name: "epoll-et",
    summary: "epoll(7), edge triggered: a connection is reported once when it becomes ready",
    doc: "Like epoll-lt, but a connection is reported only when it becomes ready, so one epoll_ctl(2) suffices for \
          its whole life. The loop must remember the connections that it has not served to the end.",
    kind: Kind::readiness::<EpollEdge>(),
    watches_eventfd: true,
    signals_one_owner: false,
    is_of_runtime: true,
    default_rank: 2,
    probe: Mechanism::always,
};
