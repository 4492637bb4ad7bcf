use super::entry::{Role, WorkloadEntry};
use super::lifecycle::{ConnectAt, Group, Lifecycle, Usage};

pub(super) const ENTRY: WorkloadEntry = WorkloadEntry {
    name: "churn",
    summary: "persistent connections, some of which are closed and reopened (--churn RATE)",
    doc: "Clients come and go while others keep working: RATE times a second, over all connections, the next \
          connection in turn is closed and opened again, once the request that it is busy with is answered.",
    role: Role::Active,
    requested: |options| options.churn.is_some(),
    group: |options| match options.churn {
        Some(churn_rate) if churn_rate > 0.0 => Ok(Group {
            connections: options.connections,
            unit: 1,
            lifecycle: Lifecycle {
                connect_at: ConnectAt::BeforeStart,
                requests_max: options.requests_per_connection.unwrap_or(u64::MAX).max(1),
                churn_rate,
                usage: Usage::Requests,
            },
        }),
        _ => Err("--churn must be above 0".into()),
    },
};
