use super::contract::{Kind, Mechanism};

pub(super) static BLOCKING: Mechanism = Mechanism {
    name: "blocking",
    summary: "blocking calls on one socket at a time",
    doc: "A worker serves one connection with blocking calls. The kernel's scheduler is the event mechanism, and each \
          connection costs a process or a thread.",
    kind: Kind::Blocking,
    watches_eventfd: true,
    signals_one_owner: false,
    is_of_runtime: false,
    default_rank: 1,
    probe: Mechanism::always,
};
