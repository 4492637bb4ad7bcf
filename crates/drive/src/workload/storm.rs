use super::entry::{Role, WorkloadEntry};
use super::lifecycle::{ConnectAt, Group, Lifecycle, Usage};

pub(super) const ENTRY: WorkloadEntry = WorkloadEntry {
    name: "storm",
    summary: "all connections are opened at once and the time until all are established is measured (--storm)",
    doc: "The accept storm of the 2006 comparison of select and epoll. No request is sent; what counts is when the \
          client's kernel has every connection established. A refused connect is retried. The run ends when all \
          connections are established, or after -d.",
    role: Role::Active,
    requested: |options| options.storm,
    group: |options| {
        if options.churn.is_some() || options.requests_per_connection.is_some_and(|n| n > 1) {
            return Err("--storm only opens connections: it cannot be combined with --churn or \
                        --requests-per-connection"
                .into());
        }
        Ok(Group {
            connections: options.connections,
            unit: 1,
            lifecycle: Lifecycle {
                connect_at: ConnectAt::Start,
                requests_max: u64::MAX,
                churn_rate: 0.0,
                usage: Usage::Idle { trickle: None },
            },
        })
    },
};
