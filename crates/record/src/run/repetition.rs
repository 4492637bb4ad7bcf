//! A recorded repetition of a cell.

use pitot_fault::FaultRecord;
use pitot_results::load::LoadResult;
use pitot_results::serve::ServeResult;

use super::profile::Profile;
use super::resources::Resources;
use super::sample::Sample;
use super::slice::Slice;
use super::verdict::Verdict;

/// One repetition: a fresh server, a warm-up, a measurement. For a cell in slices it is a generation, with the figures of
/// all slices.
#[derive(Clone, Debug, Default)]
pub struct Repetition {
    /// Its row in the file.
    pub id: i64,
    /// Its block, or its generation, from 0. Comparisons between cells are paired by block.
    pub block: u32,
    /// Its position in the order of the whole run, from 0.
    pub position: u32,
    /// The host that ran it, in a run with jobs on several hosts; else empty.
    pub host: String,
    /// When it started, RFC 3339.
    pub started_at: String,
    /// Its total time, including start and stop.
    pub elapsed_s: f64,
    /// The address that the server listened on.
    pub address: String,
    /// Time from the server's start until it was ready.
    pub ready_s: f64,
    /// Seconds of a warm-up that lasted until the server's rate had settled; none if it had a fixed length.
    pub warmup_s: Option<f64>,
    /// Whether the measurement can be trusted.
    pub verdict: Verdict,
    /// The load generator's result. None if it could not be read.
    pub load: Option<LoadResult>,
    /// The counters that the server printed when it stopped (`--stats json`).
    pub server_stats: Option<serde_json::Value>,
    /// Resources over the measured part. None if there was no measured part.
    pub resources: Option<Resources>,
    /// After a failure: the last lines of server and load generator, and the first that looks like an error.
    pub output_tail: String,
    /// The monitor's samples, oldest first, from before the load until after it.
    pub samples: Vec<Sample>,
    /// The slices of a generation in the order of time; empty for a fresh run.
    pub slices: Vec<Slice>,
    /// The faults that were made, in the order of their beginning.
    pub faults: Vec<FaultRecord>,
    /// What the server did, by kind, if that was asked for.
    pub profiles: Vec<Profile>,
}

/// The figure of a verdict with the instructions in the measured part, of server, load and kernel without the lab.
const INSTRUCTIONS: &str = "instructions";
/// Instructions in a second of a clock that counts them.
const INSTRUCTIONS_PER_S: f64 = 1e9;
/// CPUs that were idle for less than this share of the measured part, or for a few clock ticks, count as busy all the
/// time.
const IDLE_SHARE: f64 = 0.02;
const IDLE_S: f64 = 0.015;

impl Repetition {
    /// Marks a repetition whose clock counted instructions, one for each nanosecond, so that it has no times.
    pub fn count_instructions(&mut self) {
        let mut instructions = 0.0;
        if let Some(used) = &self.resources {
            let unknown_s = IDLE_S.max(used.window_s * IDLE_SHARE);
            let busy_s = match used.server_cpus_busy_s {
                busy_s if busy_s > used.window_s - unknown_s => used.window_s,
                busy_s => busy_s,
            };
            // The monitor is on the same CPU, and knows its own time to the nanosecond.
            let watched_s = used.monitor_cpu_share * used.window_s;
            instructions = (busy_s - watched_s).max(0.0) * INSTRUCTIONS_PER_S;
        }
        // Also if there were none: the figure marks times as invalid.
        self.verdict.figures.push((INSTRUCTIONS.to_owned(), instructions));
        if let Some(load) = &mut self.load {
            load.latency_ns = Default::default();
            load.histograms.clear();
            for second in &mut load.series {
                (second.p50_ns, second.p95_ns, second.p99_ns, second.max_ns) = (0, 0, 0, 0);
            }
        }
    }

    /// Instructions in the measured part, of server, load and kernel, if the clock counted them.
    pub fn instructions(&self) -> Option<f64> {
        let figure = self.verdict.figures.iter().find(|(name, _)| name == INSTRUCTIONS);
        figure.map(|(_, instructions)| *instructions)
    }

    /// Whether it is of a command that was executed, and of no server.
    pub fn is_executed(&self) -> bool {
        self.load.as_ref().is_some_and(|load| load.executions.is_some())
    }

    /// Whether its clock counted instructions, so that it has no times.
    pub fn counts_instructions(&self) -> bool {
        self.instructions().is_some()
    }

    /// The ratio of the rate at the end of the measurement to that at its beginning: of the later half of slices to the
    /// earlier one, or of the last third of the seconds of a fresh run to the first. `None` if there are too few.
    pub fn rise(&self) -> Option<f64> {
        let rate = |part: &[(u64, f64)]| {
            let (replies, seconds) = part.iter().fold((0, 0.0), |sum, part| (sum.0 + part.0, sum.1 + part.1));
            (seconds > 0.0 && replies > 0).then(|| replies as f64 / seconds)
        };
        let (parts, share): (Vec<(u64, f64)>, usize) = if self.slices.is_empty() {
            let load = self.load.as_ref()?;
            let whole = load.series.iter().filter(|second| (second.t_s + 1) as f64 <= load.duration_s);
            (whole.map(|second| (second.completed, 1.0)).collect(), 3)
        } else {
            (self.slices.iter().map(|slice| (slice.requests, slice.elapsed_s())).collect(), 2)
        };
        let count = parts.len() / share;
        (count > 0).then(|| Some(rate(&parts[parts.len() - count..])? / rate(&parts[..count])?))?
    }

    /// The counters that a server of Pitot printed when it stopped; `None` of any other server.
    pub fn serve_result(&self) -> Option<ServeResult> {
        ServeResult::read(self.server_stats.as_ref()?)
    }

    /// The most useful line of the output: the first that looks like an error, else the last, which is often a stack trace
    /// or a hint at `--help`.
    pub fn telling_line(&self) -> Option<&str> {
        let error = self.output_tail.lines().find(|line| looks_like_error(line));
        error.or_else(|| self.output_tail.lines().last()).map(str::trim)
    }
}

/// Whether a line looks like an error.
pub fn looks_like_error(line: &str) -> bool {
    let line = line.to_lowercase();
    // A single word is a location, such as `node:internal/errors:541`.
    let is_sentence = line.trim().contains(' ');
    // The header of a load's table of errors is not an error.
    let is_head = line.trim_start().starts_with("errors  ");
    is_sentence
        && !is_head
        && [
            "error",
            "panic",
            "fatal",
            "cannot",
            "could not",
            "failed",
            "no such file",
            "in use",
            "[alert]",
            "[crit]",
            "[emerg]",
        ]
        .iter()
        .any(|word| line.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_instructions_are_counted_no_latency_is_left() {
        let mut load = LoadResult::default();
        load.latency_ns.response.count = 3;
        load.histograms.insert("response".into(), "x".into());
        let resources = Some(Resources { window_s: 0.5, server_cpus_busy_s: 0.5, ..Resources::default() });
        let mut r = Repetition { load: Some(load), resources, ..Repetition::default() };
        r.count_instructions();
        let load = r.load.as_ref().unwrap();
        assert!(load.histograms.is_empty() && load.latency_ns == Default::default());
        assert_eq!(r.instructions(), Some(0.5e9));
    }

    #[test]
    fn a_rate_that_rises_while_it_is_measured_is_seen() {
        let slice = |requests| crate::run::Slice { requests, duration_ns: 40_000_000, ..Default::default() };
        let of = |slices: &[u64]| {
            let slices = slices.iter().map(|requests| slice(*requests)).collect();
            Repetition { slices, ..Repetition::default() }.rise()
        };
        assert_eq!(of(&[100, 100, 150, 150]), Some(1.5));
        assert_eq!(of(&[100]), None);
        let second = |(t_s, completed)| pitot_results::load::Second { t_s, completed, ..Default::default() };
        // The last second is not whole.
        let series = [50, 100, 100, 10].into_iter().zip(0..).map(|(completed, t_s)| second((t_s, completed)));
        let load = LoadResult { duration_s: 3.2, series: series.collect(), ..LoadResult::default() };
        assert_eq!(Repetition { load: Some(load), ..Repetition::default() }.rise(), Some(2.0));
    }

    #[test]
    fn an_error_is_found_in_what_programs_print() {
        for (line, is_error) in [
            ("Error: Cannot find module '/srv/app.js'", true),
            ("error: unexpected argument '--prot' found", true),
            ("OSError: [Errno 98] Address already in use", true),
            ("thread 'main' panicked at src/main.rs:3:5:", true),
            ("RangeError [ERR_SOCKET_BAD_PORT]: options.port should be >= 0", true),
            ("node:internal/errors:541", false),
            ("[ALERT] (1) : config : parsing [a.cfg:2] : nbproc is not supported any more", true),
            ("[NOTICE] (1) : haproxy version is 2.6.12", false),
            ("nginx: [emerg] unknown directive \"spdy\" in /srv/nginx.conf:4", true),
            ("Node.js v20.11.1", false),
            ("For more information, try '--help'.", false),
            ("    at Module._load (node:internal/modules/cjs/loader:1023:12)", false),
            ("listening on 8080", false),
            ("Errors     kind               count  first at", false),
        ] {
            assert_eq!(looks_like_error(line), is_error, "{line}");
        }
    }
}
