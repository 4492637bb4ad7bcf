use super::entry::{Role, WorkloadEntry};
use super::lifecycle::{ConnectAt, Group, Lifecycle, Usage};

pub(super) const ENTRY: WorkloadEntry = WorkloadEntry {
    name: "persistent",
    summary: "connections are opened before the run and stay open (-c N)",
    doc: "A connection that the server closes is opened again. With --requests-per-connection N a connection is closed \
          after N requests, and the connect that follows is part of the response time of the request that needs it.",
    role: Role::Active,
    requested: |_| true,
    group: |options| match options.requests_per_connection {
        Some(0) => Err("a connection must carry at least one request".into()),
        limit => Ok(Group {
            connections: options.connections,
            unit: 1,
            lifecycle: Lifecycle {
                connect_at: ConnectAt::BeforeStart,
                requests_max: limit.unwrap_or(u64::MAX),
                churn_rate: 0.0,
                usage: Usage::Requests,
            },
        }),
    },
};
