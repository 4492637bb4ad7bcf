use super::entry::{Role, WorkloadEntry};
use super::lifecycle::{ConnectAt, Group, Lifecycle, Usage};

pub(super) const ENTRY: WorkloadEntry = WorkloadEntry {
    name: "per-request",
    summary: "each request opens its own connection (--requests-per-connection 1)",
    doc: "Response time includes the connect, service time starts with the request, and the time to connect is also \
          reported separately. -c is the number of requests under way at once. HTTP requests carry \
          `Connection: close`, so that the server closes first and the port in TIME_WAIT is the server's, not the \
          client's.",
    role: Role::Active,
    requested: |options| options.requests_per_connection == Some(1),
    group: |options| {
        Ok(Group {
            connections: options.connections,
            unit: 1,
            lifecycle: Lifecycle {
                connect_at: ConnectAt::OnDemand,
                requests_max: 1,
                churn_rate: 0.0,
                usage: Usage::Requests,
            },
        })
    },
};
