use pitot_sys::readiness::EpollBusy;

use super::contract::{Kind, Mechanism};

pub(super) static EPOLL_BUSY: Mechanism = Mechanism {
    name: "epoll-busy",
    summary: "epoll(7), edge triggered, that looks again and again for 50 us before it sleeps",
    doc: "Like epoll-et, but a wait first spins: a request that comes meanwhile is served without a wake-up of the thread, and the \
          CPU is used whether there are requests or not. Where connections come from a network device, each look asks its queue for \
          packets (EPIOCSPARAMS, Linux 6.9), so that interrupts can be put off (napi_defer_hard_irqs, gro_flush_timeout and, from Linux \
          6.13, irq-suspend-timeout; Documentation/networking/napi.rst). The loopback has no queue: there it shows what spinning costs \
          and buys.",
    kind: Kind::readiness::<EpollBusy>(),
    watches_eventfd: true,
    signals_one_owner: false,
    is_of_runtime: false,
    default_rank: 0,
    probe: Mechanism::always,
};
