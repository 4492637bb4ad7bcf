use super::contract::{Kind, Mechanism};

pub(super) static BLOCKING: Mechanism = Mechanism {
    name: "blocking",
    summary: "plain calls that wait for one socket",
    doc: "A worker serves one connection and its calls wait. The scheduler is the event mechanism, and a connection \
          costs a process or a thread.",
    kind: Kind::Blocking,
    watches_eventfd: true,
    is_of_runtime: false,
    default_rank: 1,
    probe: Mechanism::always,
};
