use pitot_sys::readiness::Poll;

use super::{Kind, Mechanism, always};

pub(super) static POLL: Mechanism = Mechanism {
    name: "poll",
    summary: "poll(2): an array of descriptors, copied and scanned in every wait",
    doc: "Its cost grows with the number of connections, idle or not, as the whole array passes into the kernel and is scanned by both sides in every wait.",
    kind: Kind::Readiness {
        run_loop: crate::worker::readiness::run::<Poll>,
        run_data: crate::relay::run_data::<Poll>,
    },
    probe: always,
};
