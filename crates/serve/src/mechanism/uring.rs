use super::contract::{Kind, Mechanism};

pub(super) static URING: Mechanism = Mechanism {
    name: "uring",
    summary: "io_uring(7): one call submits all operations and returns all results",
    doc: "Operations are queued in shared memory and completions return the same way, so one call per wake-up \
          serves every connection: multishot accept and receive, provided buffers, direct descriptors, and task work \
          deferred to that call (SINGLE_ISSUER, DEFER_TASKRUN) where the kernel supports it. The loop never waits for \
          the disk, but files outside the server's cache are read and then sent: two copies, where sendfile(2) of \
          the other mechanisms makes none. Large hot files cost several times as much (bench/data_server.py).",
    kind: Kind::Completion { run_loop: crate::worker::ring::run },
    watches_eventfd: true,
    signals_one_owner: false,
    is_of_runtime: false,
    default_rank: 0,
    probe: || pitot_sys::ring::probe().map(|_| ()),
};
