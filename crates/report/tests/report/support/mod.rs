//! A run file with made-up but plausible figures, written through the lab's own writer.

use std::path::Path;

use pitot_host::{Fact, Fingerprint};
use pitot_meter::{Histogram, Nanos};
use pitot_plan::{Factor, FactorLevel, Levels, Measure, Plan, Published, PublishedValue, SkipRecord, Value};
use pitot_record::file::{NewCell, NewRun};
use pitot_record::{CpuSample, Repetition, Resources, Run, RunState, RunWriter, Sample, TreeSample, Verdict};
use pitot_results::VerdictKind;
use pitot_results::load::LoadResult;
use pitot_stats::Random;
use serde_json::json;

/// The run of a fixture, by way of a file.
pub fn written(fixture: &Fixture) -> Run {
    let directory = tempfile::tempdir().unwrap();
    fixture.run(&directory.path().join("run.pitot"))
}

/// What the made-up machine is to do.
pub struct Fixture {
    /// The servers, by the names of [`Server::of`].
    pub servers: &'static [&'static str],
    /// The connections.
    pub levels: &'static [u32],
    /// Blocks.
    pub repetitions: u32,
    /// Everything gets slower by this factor.
    pub slowdown: f64,
    /// Where chance starts.
    pub seed: u64,
}

/// The small run that the snapshots show.
pub const SMALL: Fixture = Fixture {
    servers: &["fork+blocking", "thread+blocking", "loop+epoll-et"],
    levels: &[10, 1000],
    repetitions: 6,
    slowdown: 1.0,
    seed: 7,
};

/// How a server behaves.
struct Server {
    cpu_ns: f64,
    user_share: f64,
    peak_rps: f64,
    droop: f64,
    tail: f64,
    memory: f64,
}

impl Server {
    fn of(name: &str) -> Server {
        let (cpu_ns, user_share, peak_rps, droop, tail, memory) = match name {
            "fork+blocking" => (92_000.0, 0.06, 9_400.0, 0.22, 9.0, 210_000.0),
            "prefork+blocking" => (13_500.0, 0.08, 61_000.0, 0.09, 5.0, 118_000.0),
            "thread+blocking" => (10_400.0, 0.07, 79_000.0, 0.13, 4.0, 13_300.0),
            "pool+blocking" => (9_900.0, 0.09, 84_000.0, 0.05, 3.0, 2_100.0),
            "loop+poll" => (6_900.0, 0.11, 118_000.0, 0.16, 2.2, 420.0),
            "loop+epoll-lt" => (5_600.0, 0.07, 139_000.0, 0.015, 1.6, 410.0),
            "loop+epoll-et" => (5_450.0, 0.07, 141_000.0, 0.012, 1.5, 415.0),
            _ => (5_050.0, 0.03, 150_000.0, 0.02, 1.4, 640.0),
        };
        Server { cpu_ns, user_share, peak_rps, droop, tail, memory }
    }
}

fn factors(server: &str, connections: u32) -> Vec<FactorLevel> {
    vec![FactorLevel::new("server", server), FactorLevel::new("load.connections", &connections.to_string())]
}

fn host(governor: &str) -> Fingerprint {
    let fact = |group: &str, name: &str, value: &str| Fact {
        group: group.into(),
        name: name.into(),
        value: value.into(),
    };
    Fingerprint {
        facts: vec![
            fact("cpu", "model name", "Example 9000 <8 cores>"),
            fact("cpu", "governor", governor),
            fact("memory", "total", "16 GiB"),
            fact("system", "kernel", "6.12.5"),
            fact("sysctl", "net.core.somaxconn", "4096"),
            fact("system", "host name", "alice-laptop"),
            fact("system", "kernel command line", "root=UUID=1234 secret=hunter2"),
        ],
    }
}

impl Fixture {
    fn plan(&self) -> Plan {
        let text = |s: &&str| Value::Text((*s).to_owned());
        let level = |name: &str, level: &str| Levels(vec![(name.to_owned(), vec![level.to_owned()])]);
        let value = |server: &str, connections: &str, value: f64| {
            let mut levels = level("server", server);
            if !connections.is_empty() {
                levels.0.push(("load.connections".into(), vec![connections.into()]));
            }
            PublishedValue { levels, value }
        };
        Plan {
            name: "architectures".into(),
            title: "Which architecture serves small requests best?".into(),
            question: "A process, a thread or an event loop for each connection: how many requests a second, at what cost, \
                       and what happens when the connections rise?"
                .into(),
            notes: vec!["The original used four operating systems; this is one.".into()],
            repetitions: self.repetitions,
            warmup_s: 0.25,
            duration_s: 1.0,
            seed: Some(self.seed),
            baseline: Some(level("server", self.servers[0])),
            factors: vec![
                Factor { name: "server".into(), levels: self.servers.iter().map(text).collect() },
                Factor {
                    name: "load.connections".into(),
                    levels: self.levels.iter().map(|n| Value::Integer(i64::from(*n))).collect(),
                },
            ],
            published: vec![Published {
                source: "Lyris Technologies".into(),
                year: 2001,
                title: "connections a second of a busy service, 550 MHz Pentium III, mean of four operating systems".into(),
                metric: "throughput".into(),
                ratio_to: Some(level("server", self.servers[0])),
                values: vec![value("loop+epoll-et", "", 12.0), value("loop+epoll-et", "1000", 20.0)],
            }],
            ..Plan::default()
        }
    }

    /// Writes the run and reads it again.
    pub fn run(&self, path: &Path) -> Run {
        let plan = self.plan();
        let cells: Vec<NewCell> = self
            .servers
            .iter()
            .flat_map(|server| self.levels.iter().map(move |n| (*server, *n)))
            .map(|(server, n)| {
                let (model, mechanism) = server.split_once('+').unwrap();
                NewCell {
                    factors: factors(server, n),
                    server_command: format!(
                        "pitot serve http --listen 127.0.0.1:8080 --model {model} --mechanism {mechanism} --cpus 0"
                    ),
                    load_command: format!("pitot load http://127.0.0.1:8080/1k -c {n} -d 1s --warmup 250ms --cpus 1"),
                    measure: Measure::Fresh,
                    fresh_reason: String::new(),
                    control_of: None,
                }
            })
            .collect();
        let skips = [SkipRecord {
            factors: factors("loop+uring", 10),
            reason: "io_uring is switched off here; `sysctl kernel.io_uring_disabled=0` allows it".into(),
            kind: pitot_plan::SkipKind::Other,
        }];
        let mut writer = RunWriter::create(
            path,
            &NewRun {
                command_line: "pitot run architectures -o architectures.pitot",
                version: "0.1.0",
                seed: self.seed,
                started_at: "2026-01-02T03:04:05Z",
                server_cpus: "0",
                load_cpus: "1",
                warnings: &[],
                server_versions: &[("pitot".into(), "0.1.0".into())],
                plan_source: "repetitions = 6\n",
                plan: &plan,
                host: &host("performance"),
                skips: &skips,
                cells: &cells,
            },
        )
        .unwrap();
        let mut random = Random::new(self.seed);
        let mut position = 0;
        for block in 0..self.repetitions {
            let drift = 1.0 + 0.03 * random.normal();
            for (cell, new) in cells.iter().enumerate() {
                let repetition = self.repetition(&mut random, drift, block, position, &new.factors);
                writer.record(cell, &repetition).unwrap();
                position += 1;
            }
        }
        writer.finish(RunState::Complete, "2026-01-02T03:06:05Z", &host("performance")).unwrap();
        let mut run = Run::open(path).unwrap();
        // What differs from run to run has no place in a snapshot.
        run.info.id = format!("{:016x}", self.seed);
        run.path = "architectures.pitot".into();
        run
    }

    fn repetition(
        &self,
        random: &mut Random,
        drift: f64,
        block: u32,
        position: u32,
        factors: &[FactorLevel],
    ) -> Repetition {
        let server = Server::of(&factors[0].level);
        let connections = factors[1].number.unwrap();
        let noise = drift * (1.0 + 0.015 * random.normal());
        let crowd = connections.log10();
        let busy =
            (1.0 - (-connections / 12.0).exp()) * (1.0 - server.droop * (crowd - 1.0).max(0.0).powi(2) / 2.6);
        let throughput = server.peak_rps * busy.max(0.05) * noise / self.slowdown;
        let cpu_ns = server.cpu_ns * (1.0 + server.droop * crowd) * self.slowdown / noise;
        let failed = factors[0].level == "fork+blocking" && connections >= 5000.0;
        let bound = factors[0].level.starts_with("loop+epoll") && (100.0..1000.0).contains(&connections);
        let verdict = Verdict {
            kind: match (failed, bound) {
                (true, _) => VerdictKind::Failed,
                (_, true) => VerdictKind::ClientBound,
                _ => VerdictKind::Valid,
            },
            reason: match (failed, bound) {
                (true, _) => "the server ended before the measurement did: exit status 1".into(),
                (_, true) => "the load generator's CPU was 99% busy, the server's 71%".into(),
                _ => String::new(),
            },
            figures: vec![("client CPU use, %".into(), 71.0)],
        };
        let window_s = 1.0;
        let requests = throughput * window_s;
        let cpu_s = requests * cpu_ns / 1e9;
        Repetition {
            host: String::new(),
            id: 0,
            block,
            position,
            started_at: "2026-01-02T03:04:06Z".into(),
            elapsed_s: 1.5,
            address: "127.0.0.1:40001".into(),
            ready_s: 0.012,
            warmup_s: None,
            faults: Vec::new(),
            profiles: Vec::new(),
            verdict,
            load: (!failed).then(|| self.load(random, &server, connections, throughput)),
            server_stats: None,
            resources: (!failed).then(|| Resources {
                window_s,
                samples: 10,
                server_cpu_s: cpu_s,
                server_user_s: cpu_s * server.user_share,
                server_system_s: cpu_s * (1.0 - server.user_share),
                server_rss_bytes_max: 3_000_000 + (server.memory * connections) as u64,
                server_pss_bytes_max: 2_400_000 + (server.memory * connections * noise) as u64,
                server_idle_bytes: 2_400_000,
                server_private_bytes_max: 1_300_000 + (server.memory * connections * noise) as u64,
                server_private_bytes_idle: 1_300_000,
                server_rss_bytes_mean: 3_000_000.0,
                server_switches: (requests * 0.4) as u64,
                load_cpu_s: requests * 5_000.0 / 1e9,
                server_cpus: 1,
                load_cpus: 1,
                memory_total_bytes: 16 << 30,
                ..Resources::default()
            }),
            output_tail: if failed {
                "pitot: fork: Resource temporarily unavailable (EAGAIN)".into()
            } else {
                String::new()
            },
            samples: samples(random, cpu_s, server.memory * connections),
            slices: Vec::new(),
        }
    }

    /// The object of `pitot load`, read as the lab reads it.
    fn load(&self, random: &mut Random, server: &Server, connections: f64, throughput: f64) -> LoadResult {
        let mut histogram = Histogram::new();
        let middle = connections / throughput * 1e9;
        for _ in 0..4_000 {
            let tail = if random.unit() < 0.02 {
                1.0 + server.tail * random.unit() * (1.0 / (random.unit() + 0.02)).sqrt()
            } else {
                1.0
            };
            histogram.record(Nanos((middle * tail * (0.18 * random.normal()).exp()) as u64));
        }
        let at = |q: f64| histogram.at(q).0;
        let object = json!({
            "schema": "pitot-load/1",
            "version": "0.1.0",
            "target": "http://127.0.0.1:8080/1k",
            "duration_s": 1.0,
            "clock_ns": {"start": 1_000_000_000u64, "end": 2_000_000_000u64},
            "requests": {"attempted": throughput as u64, "completed": throughput as u64, "ok": throughput as u64},
            "throughput_rps": throughput,
            "latency_ns": {"response": {"count": histogram.count(), "min": histogram.min().0, "p50": at(0.5), "p90": at(0.9),
                "p99": at(0.99), "p99_9": at(0.999), "max": histogram.max().0}},
            "connections": {"requested": connections as u64, "opened": connections as u64, "peak_open": connections as u64},
            "histograms": {"response": histogram.encode()},
        });
        LoadResult::parse(&object.to_string()).unwrap()
    }
}

/// Ten samples a second from before the warm-up until after the measurement.
fn samples(random: &mut Random, cpu_s: f64, memory: f64) -> Vec<Sample> {
    let mut server_ns = 0;
    let mut load_ns = 0;
    (0..16u64)
        .map(|i| {
            let loaded = (3..14).contains(&i);
            if loaded {
                server_ns += (cpu_s.min(1.0) * 1e8 * (1.0 + 0.02 * random.normal())) as u64;
                load_ns += (0.7e8 * (1.0 + 0.03 * random.normal())) as u64;
            }
            let tree = |cpu_ns: u64| TreeSample {
                processes: 1,
                threads: 1,
                cpu_ns,
                user_ns: cpu_ns / 12,
                system_ns: cpu_ns - cpu_ns / 12,
                rss_bytes: 2_400_000 + if loaded { memory as u64 } else { 0 },
                ..TreeSample::default()
            };
            Sample {
                at_ns: 650_000_000 + i * 100_000_000,
                server: Some(tree(server_ns)),
                load: loaded.then(|| tree(load_ns)),
                server_cpus: CpuSample::default(),
                ..Sample::default()
            }
        })
        .collect()
}
