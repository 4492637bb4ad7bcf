//! Makes a repetition of the slices of a generation.

use std::collections::BTreeMap;

use pitot_meter::{Histogram, Nanos};
use pitot_results::Latency;
use pitot_results::hold::Slice as Answer;
use pitot_results::load::{ErrorRow, Executions, LoadResult};

use pitot_record::{Lifetime, Profile, Resources, Sample, Slice, TreeSample};

/// The sums of the slices of one cell.
#[derive(Debug, Default)]
pub(super) struct Sum {
    pub(super) slices: Vec<Slice>,
    pub(super) profiles: Vec<Profile>,
    response: Histogram,
    /// Times of full and resumed TLS handshakes.
    handshake: Histogram,
    resumption: Histogram,
    /// Replies of warm-ups and of slices that do not count.
    uncounted: u64,
    /// CPU time of all processes on the CPUs of both sides, by slice.
    busy: Vec<Option<Nanos>>,
    /// Bytes of the content of right replies, by slice.
    content: Vec<Option<u64>>,
    errors: BTreeMap<String, u64>,
    /// What executions used; none of a load.
    executions: Option<Executions>,
}

fn decoded(histogram: &str) -> Result<Histogram, String> {
    match histogram {
        "" => Ok(Histogram::new()),
        text => Histogram::decode(text).map_err(|e| format!("the histogram of a slice is damaged: {e}")),
    }
}

impl Sum {
    /// Adds a slice. `place` has what the load generator does not know.
    pub(super) fn add(&mut self, answer: &Answer, place: Slice) -> Result<(), String> {
        let response = decoded(&answer.histogram)?;
        self.response.merge(&response);
        for (name, sum) in [("handshake", &mut self.handshake), ("resumption", &mut self.resumption)] {
            if let Some(text) = answer.handshakes.get(name) {
                sum.merge(&decoded(text)?);
            }
        }
        for (kind, count) in &answer.errors {
            *self.errors.entry(kind.clone()).or_default() += count;
        }
        self.content.push(answer.bytes_content);
        if let Some(used) = &answer.executions {
            self.executions.get_or_insert_default().add(used);
        }
        let ns = |us: f64| (us * 1e3).round() as u64;
        self.slices.push(Slice {
            began_unix_ns: answer.began_unix_ns,
            late_ns: ns(answer.late_us),
            duration_ns: ns(answer.duration_us),
            drain_ns: ns(answer.drain_us),
            requests: answer.requests,
            errors: answer.errors.values().sum(),
            missed: answer.missed,
            received_bytes: answer.bytes_received,
            sent_bytes: answer.bytes_sent,
            client_cpu_ns: ns(answer.client_cpu_us()),
            p50_ns: response.at(0.5).0,
            p90_ns: response.at(0.9).0,
            p99_ns: response.at(0.99).0,
            max_ns: response.max().0,
            ..place
        });
        Ok(())
    }

    /// Adds the CPU time of all processes in the last slice.
    pub(super) fn add_busy(&mut self, busy: Option<Nanos>) {
        self.busy.push(busy);
    }

    /// CPU time of other processes in the slices, and the length of the slices, seconds. None if unknown.
    pub(super) fn unaccounted(&self) -> Option<(f64, f64)> {
        let all: u64 = self.busy.iter().map(|busy| busy.map(|busy| busy.0)).sum::<Option<u64>>()?;
        let servers: u64 = self.slices.iter().map(|slice| slice.server_cpu_ns).sum::<Option<u64>>()?;
        let own = servers + self.total(|slice| slice.client_cpu_ns);
        Some((all.saturating_sub(own) as f64 / 1e9, self.elapsed_s()))
    }

    /// Adds replies outside of the slices that count.
    pub(super) fn add_uncounted(&mut self, replies: u64) {
        self.uncounted += replies;
    }

    /// The errors of all slices, the most frequent first.
    pub(super) fn errors(&self) -> Vec<ErrorRow> {
        let row = |(kind, &count): (&String, &u64)| {
            let (phase, kind) = kind.split_once(' ').unwrap_or(("receive", kind));
            ErrorRow { phase: phase.to_owned(), kind: kind.to_owned(), count, first_at_s: 0.0 }
        };
        let mut rows: Vec<ErrorRow> = self.errors.iter().map(row).collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.count));
        rows
    }

    fn total(&self, of: impl Fn(&Slice) -> u64) -> u64 {
        self.slices.iter().map(of).sum()
    }

    fn elapsed_s(&self) -> f64 {
        self.slices.iter().map(Slice::elapsed_s).sum()
    }

    /// The result of all slices, in the form of a load generator's.
    pub(super) fn load_result(&self, target: &str, connections: u64) -> LoadResult {
        let (ok, errors) = (self.total(|s| s.requests), self.total(|s| s.errors));
        let elapsed_s = self.elapsed_s();
        let client_cpu_s = self.total(|s| s.client_cpu_ns) as f64 / 1e9;
        let mut result = LoadResult {
            schema: pitot_results::load::SCHEMA.to_owned(),
            target: target.to_owned(),
            duration_s: elapsed_s,
            throughput_rps: if elapsed_s > 0.0 { ok as f64 / elapsed_s } else { 0.0 },
            ..LoadResult::default()
        };
        result.requests.attempted = ok + errors;
        result.requests.completed = ok;
        result.requests.ok = ok;
        result.requests.failed = errors;
        result.requests.missed = self.total(|s| s.missed);
        result.bytes.received = self.total(|s| s.received_bytes);
        result.bytes.sent = self.total(|s| s.sent_bytes);
        result.bytes.content = self.content.iter().copied().sum();
        result.latency_ns.response = Latency::of(&self.response);
        result.latency_ns.handshake = Latency::of(&self.handshake);
        result.latency_ns.resumption = Latency::of(&self.resumption);
        result.connections.requested = connections;
        result.connections.peak_open = connections;
        result.client.cpu_system_s = client_cpu_s;
        result.client.cpu_utilisation = if elapsed_s > 0.0 { client_cpu_s / elapsed_s } else { 0.0 };
        result.errors = self.errors();
        result.executions.clone_from(&self.executions);
        result.histograms =
            [("response", &self.response), ("handshake", &self.handshake), ("resumption", &self.resumption)]
                .into_iter()
                .filter(|(name, times)| *name == "response" || times.count() > 0)
                .map(|(name, times)| (name.to_owned(), times.encode()))
                .collect();
        result.raw = serde_json::to_value(&result).unwrap_or_default();
        result
    }

    /// The resources of all slices. Memory and context switches are from two samples: before the connections were opened,
    /// and after the last slice.
    pub(super) fn resources(&self, samples: &[Sample], lifetime: Option<Lifetime>) -> Resources {
        let trees = || samples.iter().filter_map(|s| s.server);
        let most = |of: fn(TreeSample) -> u64| trees().map(of).max().unwrap_or(0);
        let idle = trees().next();
        let rss: Vec<u64> = trees().map(|t| t.rss_bytes).collect();
        let server_cpu_s = self.total(|s| s.server_cpu_ns.unwrap_or(0)) as f64 / 1e9;
        let (user, system) = match (trees().next(), trees().next_back()) {
            (Some(first), Some(last)) => {
                (last.user_ns.saturating_sub(first.user_ns), last.system_ns.saturating_sub(first.system_ns))
            }
            _ => (0, 0),
        };
        let user_share = match &self.executions {
            Some(used) => used.user_s / (used.user_s + used.system_s).max(f64::MIN_POSITIVE),
            None => user as f64 / (user + system).max(1) as f64,
        };
        // Switches include the warm-up, so they are scaled by the slices' share of replies.
        let counted = self.total(|s| s.requests) as f64;
        let share = counted / (counted + self.uncounted as f64).max(1.0);
        let switches = |of: fn(&TreeSample) -> Option<u64>| {
            let mut seen = trees().filter_map(|t| of(&t));
            let first = seen.next().unwrap_or(0);
            (seen.next_back().unwrap_or(first).saturating_sub(first) as f64 * share).round() as u64
        };
        let (voluntary, involuntary) =
            (switches(|t| t.switches_voluntary), switches(|t| t.switches_involuntary));
        Resources {
            window_s: self.elapsed_s(),
            samples: samples.len() as u32,
            server_cpu_s,
            server_user_s: server_cpu_s * user_share,
            server_system_s: server_cpu_s * (1.0 - user_share),
            server_processes_max: most(|t| t.processes),
            server_threads_max: most(|t| t.threads),
            server_descriptors_max: most(|t| t.descriptors.unwrap_or(0)),
            server_rss_bytes_max: most(|t| t.rss_bytes),
            server_pss_bytes_max: most(|t| t.pss_bytes.unwrap_or(0)),
            server_idle_bytes: idle.map_or(0, |t| t.pss_bytes.unwrap_or(t.rss_bytes)),
            server_private_bytes_max: most(|t| t.private_bytes.unwrap_or(0)),
            server_private_bytes_idle: idle.and_then(|t| t.private_bytes).unwrap_or(0),
            server_rss_bytes_mean: rss.iter().sum::<u64>() as f64 / rss.len().max(1) as f64,
            server_switches: voluntary + involuntary,
            server_switches_involuntary: involuntary,
            server_lifetime: lifetime,
            load_cpu_s: self.total(|s| s.client_cpu_ns) as f64 / 1e9,
            steal_s: self.total(|s| s.steal_ns) as f64 / 1e9,
            ..Resources::default()
        }
    }
}
