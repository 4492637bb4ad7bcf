use pitot_sys::readiness::Select;

use super::{Kind, Mechanism, always};

pub(super) static SELECT: Mechanism = Mechanism {
    name: "select",
    summary: "select(2): bit sets of descriptors, copied and scanned in every wait",
    doc: "The oldest of them. Its cost grows with the highest descriptor, idle or not, as the whole sets pass into the kernel and back in every wait. The limit of 1024 descriptors is one of the C library's header and does not hold here.",
    kind: Kind::Readiness {
        run_loop: crate::worker::readiness::run::<Select>,
        run_data: crate::relay::run_data::<Select>,
    },
    probe: always,
};
