use pitot_sys::readiness::Select;

use super::contract::{Kind, Mechanism};

pub(super) static SELECT: Mechanism = Mechanism {
    name: "select",
    summary: "select(2): bit sets of descriptors, copied and scanned in every wait",
    doc: "The oldest of them. Its cost grows with the highest descriptor, idle or not, as the whole sets pass into the kernel and back in every wait. The limit of 1024 descriptors is one of the C library's header and does not hold here.",
    kind: Kind::readiness::<Select>(),
    watches_eventfd: true,
    is_of_runtime: false,
    default_rank: 0,
    probe: Mechanism::always,
};
