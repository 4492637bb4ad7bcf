use super::{Group, Lifecycle, Opening, Usage, WorkloadEntry};

pub(super) const ENTRY: WorkloadEntry = WorkloadEntry {
    name: "churn",
    flag: "--churn RATE",
    summary: "persistent connections of which RATE a second are replaced",
    doc: "Visitors come and go while others work: one connection after the other is closed, after the request that it \
          may be busy with, and opened again, so many a second in all.",
    asked: |options| options.churn.is_some(),
    group: |options| match options.churn {
        Some(churn_rate) if churn_rate > 0.0 => Ok(Group {
            connections: options.connections,
            lifecycle: Lifecycle {
                opening: Opening::BeforeStart,
                requests_max: options.requests_per_connection.unwrap_or(u64::MAX).max(1),
                churn_rate,
                usage: Usage::Requests,
            },
        }),
        _ => Err("--churn must be above 0".into()),
    },
};
