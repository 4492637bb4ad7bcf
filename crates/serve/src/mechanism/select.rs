use pitot_sys::readiness::Select;

use super::contract::{Kind, Mechanism};

pub(super) static SELECT: Mechanism = Mechanism {
    name: "select",
    summary: "select(2): bit sets of descriptors, copied and scanned in every wait",
    doc: "The oldest mechanism. The cost grows with the highest descriptor, idle or not: every wait copies the whole \
          sets into the kernel and back. The limit of 1024 descriptors comes from the C library's headers and does not \
          apply here.",
    kind: Kind::readiness::<Select>(),
    watches_eventfd: true,
    signals_one_owner: false,
    is_of_runtime: false,
    default_rank: 0,
    probe: Mechanism::always,
};
