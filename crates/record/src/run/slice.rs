//! A recorded slice.

/// A slice: a short load on one server, drained at its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slice {
    /// Its round within the generation, from 0. Every cell has the same number of slices in a round.
    pub round: u32,
    /// Its position in the order of the round, from 0.
    pub position: u32,
    /// The row of the cell whose slice came before it in this generation; none for the first.
    pub predecessor: Option<i64>,
    /// When its first request was sent, nanoseconds since 1970.
    pub began_unix_ns: u64,
    /// From the command to the first request.
    pub late_ns: u64,
    /// From the first request until no new one was begun.
    pub duration_ns: u64,
    /// From then until the last request in flight was answered.
    pub drain_ns: u64,
    /// Right replies.
    pub requests: u64,
    /// Errors of all phases.
    pub errors: u64,
    /// Arrivals of an open loop for which no connection was free.
    pub missed: u64,
    /// Bytes of the application from the server.
    pub received_bytes: u64,
    /// Bytes of the application to the server.
    pub sent_bytes: u64,
    /// CPU time of the server with all its processes; none if it could not be read exactly.
    pub server_cpu_ns: Option<u64>,
    /// CPU time of the load generator.
    pub client_cpu_ns: u64,
    /// Steal time on all CPUs of both sides, in steps of a clock tick.
    pub steal_ns: u64,
    /// CPU time of a fixed piece of work on the server's CPUs, on average; none if it was not measured.
    pub pace_ns: Option<u64>,
    /// Percentiles of the response time.
    pub p50_ns: u64,
    /// The 90th.
    pub p90_ns: u64,
    /// The 99th.
    pub p99_ns: u64,
    /// The longest response time.
    pub max_ns: u64,
}

impl Slice {
    /// The time of its replies, seconds, including the drain.
    pub fn elapsed_s(&self) -> f64 {
        (self.duration_ns + self.drain_ns) as f64 / 1e9
    }

    /// Right replies per second.
    pub fn throughput_rps(&self) -> Option<f64> {
        (self.requests > 0).then(|| self.requests as f64 / self.elapsed_s())
    }

    /// A sum over its requests.
    pub fn per_request(&self, sum: u64) -> Option<f64> {
        (self.requests > 0).then(|| sum as f64 / self.requests as f64)
    }
}
