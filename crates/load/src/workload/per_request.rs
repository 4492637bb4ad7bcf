use super::{Group, Lifecycle, Opening, Usage, WorkloadEntry};

pub(super) const ENTRY: WorkloadEntry = WorkloadEntry {
    name: "per-request",
    flag: "--requests-per-connection 1",
    summary: "each request opens a connection of its own",
    doc: "Response time counts from before the connect, service time from the request, and the connect is shown apart. \
          -c is how many are under way at once. An HTTP server is told by `Connection: close`, so that it closes and \
          keeps the port in TIME_WAIT, not the client.",
    asked: |options| options.requests_per_connection == Some(1),
    group: |options| {
        Ok(Group {
            connections: options.connections,
            lifecycle: Lifecycle {
                opening: Opening::OnDemand,
                requests_max: 1,
                churn_rate: 0.0,
                usage: Usage::Requests,
            },
        })
    },
};
