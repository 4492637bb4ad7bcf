use super::entry::{Role, WorkloadEntry};
use super::lifecycle::{ConnectAt, Group, Lifecycle, Usage};

pub(super) const ENTRY: WorkloadEntry = WorkloadEntry {
    name: "idle",
    summary: "idle connections in addition to the active ones (--idle N)",
    doc: "What connected but inactive clients cost a server: the experiment in which select and poll lose to epoll. \
          With --idle-trickle TIME each connection sends a request every TIME, so that the server does not close it; \
          these requests are counted separately and are part of no latency.",
    role: Role::Idle,
    requested: |options| options.idle > 0 || options.idle_trickle.is_some(),
    group: |options| {
        if options.idle == 0 {
            return Err("--idle-trickle needs --idle".into());
        }
        Ok(Group {
            connections: options.idle,
            unit: 1,
            lifecycle: Lifecycle {
                connect_at: ConnectAt::BeforeStart,
                requests_max: u64::MAX,
                churn_rate: 0.0,
                usage: Usage::Idle { trickle: options.idle_trickle },
            },
        })
    },
};
