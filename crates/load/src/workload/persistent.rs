use super::{Group, Lifecycle, Opening, Usage, WorkloadEntry};

pub(super) const ENTRY: WorkloadEntry = WorkloadEntry {
    name: "persistent",
    flag: "-c",
    summary: "connections are opened before the run and stay",
    doc: "A connection that the server closes is opened again. With --requests-per-connection N a connection is closed \
          after N requests and the next one is part of the response time of the request that needs it.",
    asked: |_| true,
    group: |options| match options.requests_per_connection {
        Some(0) => Err("a connection must carry at least one request".into()),
        limit => Ok(Group {
            connections: options.connections,
            lifecycle: Lifecycle {
                opening: Opening::BeforeStart,
                requests_max: limit.unwrap_or(u64::MAX),
                churn_rate: 0.0,
                usage: Usage::Requests,
            },
        }),
    },
};
