use super::{Group, Lifecycle, Opening, Usage, WorkloadEntry};

pub(super) const ENTRY: WorkloadEntry = WorkloadEntry {
    name: "idle",
    flag: "--idle N",
    summary: "N silent connections beside the active ones",
    doc: "What a server pays for clients that are only there: the experiment in which select and poll lose to epoll. \
          With --idle-trickle D each sends a request every D, so that the server does not close it; these requests \
          are counted apart and are in no latency.",
    asked: |options| options.idle > 0,
    group: |options| {
        Ok(Group {
            connections: options.idle,
            lifecycle: Lifecycle {
                opening: Opening::BeforeStart,
                requests_max: u64::MAX,
                churn_rate: 0.0,
                usage: Usage::Silence { trickle: options.idle_trickle },
            },
        })
    },
};
