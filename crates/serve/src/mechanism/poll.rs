use pitot_sys::readiness::Poll;

use super::contract::{Kind, Mechanism};

pub(super) static POLL: Mechanism = Mechanism {
    name: "poll",
    summary: "poll(2): an array of descriptors, copied and scanned in every wait",
    doc: "The cost grows with the number of connections, idle or not: every wait copies the whole array into the kernel, \
          and both sides scan it.",
    kind: Kind::readiness::<Poll>(),
    watches_eventfd: true,
    signals_one_owner: false,
    is_of_runtime: false,
    default_rank: 0,
    probe: Mechanism::always,
};
