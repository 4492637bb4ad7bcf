use super::{Group, Lifecycle, Opening, Usage, WorkloadEntry};

pub(super) const ENTRY: WorkloadEntry = WorkloadEntry {
    name: "storm",
    flag: "--storm",
    summary: "all connections are opened at once, and the time until the last is there is measured",
    doc: "The accept storm of the 2006 comparison of select and epoll. No request is sent; what counts is when the \
          client's kernel has every connection. A refused connect is tried again. The run ends when all are there, \
          at the latest after -d.",
    asked: |options| options.storm,
    group: |options| {
        Ok(Group {
            connections: options.connections,
            lifecycle: Lifecycle {
                opening: Opening::AtOnce,
                requests_max: u64::MAX,
                churn_rate: 0.0,
                usage: Usage::Silence { trickle: None },
            },
        })
    },
};
