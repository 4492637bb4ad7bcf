//! What a program serialises is what the lab reads: every field of every schema, none of which may be lost or read as
//! its default.

use std::collections::BTreeMap;

use pitot_durability::{Acknowledged, OfConnection, Stored};
use pitot_results::disk::{self, *};
use pitot_results::load::{self, HandshakeCounts, Tls, TlsSession, *};
use pitot_results::mail::{self, *};
use pitot_results::serve::{self, *};
use pitot_results::under_way::UnderWay;
use pitot_results::{Latencies, Latency, Printed, VerdictKind};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Leaves that are null, zero or empty, by their JSON pointers.
fn default_leaves(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            fields.iter().for_each(|(name, field)| default_leaves(field, &format!("{at}/{name}"), found));
        }
        Value::Array(items) if !items.is_empty() => {
            items.iter().enumerate().for_each(|(i, item)| default_leaves(item, &format!("{at}/{i}"), found));
        }
        Value::Bool(true) => {}
        Value::Number(n) if n.as_f64() != Some(0.0) => {}
        Value::String(text) if !text.is_empty() => {}
        _ => found.push(at.to_owned()),
    }
}

fn comes_back<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(printed: &T) -> Value {
    let value = serde_json::to_value(printed).unwrap();
    let mut untested = Vec::new();
    default_leaves(&value, "", &mut untested);
    assert!(untested.is_empty(), "a default would come back even if the field were lost: {untested:?}");
    assert_eq!(&serde_json::from_value::<T>(value.clone()).unwrap(), printed);
    value
}

fn latency(p50: u64) -> Latency {
    Latency {
        count: 7,
        min: 1,
        mean: p50 + 1,
        stdev: 3,
        p50,
        p75: p50 + 2,
        p90: p50 + 3,
        p95: p50 + 8,
        p99: p50 + 4,
        p99_9: p50 + 5,
        p99_99: p50 + 6,
        max: p50 + 7,
    }
}

fn load_result() -> LoadResult {
    LoadResult {
        schema: load::SCHEMA.into(),
        version: "1".into(),
        target: "http://h/".into(),
        options: json!({"threads": 2}),
        started_at: "2026-01-02T03:04:05.678Z".into(),
        duration_s: 2.5,
        clock_ns: Window { start: 1, end: 2 },
        requests: RequestCounts {
            attempted: 1,
            completed: 2,
            ok: 3,
            failed: 4,
            cut: 5,
            cut_oldest_ns: 6,
            missed: 7,
            started_late: 8,
        },
        warmup: WarmupCounts { requests: 1, errors: 2 },
        throughput_rps: 12.5,
        asked_rps: Some(13.5),
        latency_ns: Latencies {
            response: latency(10),
            service: latency(20),
            schedule_lag: latency(30),
            connect: latency(40),
            handshake: latency(45),
            resumption: latency(46),
            first_byte: latency(50),
        },
        smoothness: Some(Smoothness { gap_ns: latency(60), stall_ns_min: 1, stalled_share: 0.5 }),
        own_cpu_s: Some(OwnCpu { user: 0.25, system: 0.5 }),
        executions: Some(load::Executions {
            user_s: 0.75,
            system_s: 0.125,
            memory_bytes: 11,
            faults_minor: 12,
            faults_major: 13,
            switches_voluntary: 14,
            switches_involuntary: 15,
            outcomes: [("printed 3 bytes".to_owned(), 16)].into(),
        }),
        connections: load::ConnectionCounts {
            requested: 1,
            opened: 2,
            peak_open: 3,
            mean_open: 3.5,
            reopened: 4,
            closed_by_peer: 5,
            connect_failures: 6,
            trickled: 7,
            retransmits: 8,
            asked: 5,
            unanswered: 2,
            opening_s: 48.76,
        },
        under_way: Some(UnderWay { looked_at: 100, sending: 93 }),
        tls: Some(Tls {
            handshakes: HandshakeCounts { full: 10, resumed: 5, failed: 1 },
            sessions: vec![TlsSession {
                version: "TLSv1_3".into(),
                cipher: "TLS_AES_256_GCM_SHA384".into(),
                alpn: Some("http/1.1".into()),
                count: 15,
            }],
        }),
        idle: Some(load::IdleCounts { connections: 5, replies: 60, replies_min: 10, gap_max_s: 56.6 }),
        errors: vec![ErrorRow { phase: "connect".into(), kind: "EPIPE".into(), count: 1, first_at_s: 0.5 }],
        statuses: BTreeMap::from([(200, 1)]),
        bytes: load::Bytes { received: 1, sent: 2, content: Some(3) },
        sessions: Some(SessionResult {
            begun: 1,
            completed: 2,
            failed: 3,
            cut: 4,
            asked_per_s: Some(1.5),
            completed_per_s: 2.5,
            time_ns: latency(100),
            steps: Vec::new(),
            failed_at: vec![FailedStep { step: "shop/login".into(), count: 5 }],
        }),
        protocol: BTreeMap::from([("hits".into(), 1)]),
        durability: Some(Acknowledged {
            of: Stored::Mail,
            bytes: 7,
            sha256: "ed".into(),
            connections: vec![OfConnection { connection: "request-1".into(), numbers: vec![(1, 2)] }],
        }),
        redirects_to: Some("/there".into()),
        server_said: Some("no such user".into()),
        unanswered_since_s: Some(2.5),
        pages: Some(Pages {
            begun: 1,
            completed: 2,
            ok: 3,
            failed: 4,
            cut: 5,
            missed: 6,
            per_s: 1.5,
            asked_per_s: Some(2.5),
            objects_per_page: 3.5,
            bytes_per_page: 4.5,
            elsewhere: 7,
            cached: 8,
            redirected: 9,
            time_ns: latency(70),
            document_ns: latency(80),
            embedded_ns: latency(90),
        }),
        series: vec![Second {
            t_s: 1,
            completed: 2,
            status_2xx: 11,
            status_3xx: 12,
            status_4xx: 13,
            status_5xx: 14,
            errors: 3,
            missed: 4,
            received: 5,
            sent: 6,
            open: 7,
            p50_ns: 8,
            p95_ns: 15,
            p99_ns: 9,
            max_ns: 10,
        }],
        steps: Some(Steps {
            length_ns: 10_000_000,
            right: vec![3, 2, 4],
            errors: vec![StepErrors { phase: "receive".into(), kind: "closed".into(), at: vec![(1, 2)] }],
        }),
        client: Client {
            cpu_user_s: 0.25,
            cpu_system_s: 0.5,
            cpu_utilisation: 0.75,
            run_queue_s: Some(0.125),
            threads: vec![ThreadUse {
                cpu_user_s: 0.25,
                cpu_system_s: 0.5,
                cpu_utilisation: 0.75,
                run_queue_s: Some(0.125),
                late_max_ns: 1,
            }],
            verdict: Some(VerdictKind::RateMissed),
            reason: "why".into(),
        },
        storm: Some(Storm { requested: 1, established: 2, established_s: 0.5 }),
        search: Some(SearchResult {
            conditions: "p99 < 1ms".into(),
            found_rps: Some(10.0),
            steps: vec![Step {
                rate_rps: 10.0,
                throughput_rps: 9.5,
                response_ns: latency(70),
                errors: 1,
                missed: 2,
                verdict: Some(VerdictKind::NetworkBound),
                passed: true,
            }],
        }),
        parts: vec![Part {
            host: "b".into(),
            clock_ns: Window { start: 1, end: 2 },
            throughput_rps: 0.5,
            requests_ok: 3,
            errors: 4,
            missed: 5,
            p50_ns: 6,
            p99_ns: 7,
            cpu_utilisation: 0.25,
            verdict: Some(VerdictKind::RateMissed),
            reason: "why".into(),
        }],
        gates: vec![Gate { fail_if: "p99 > 5ms".into(), failed: true, figure: "p99 is 6 ms".into() }],
        ended_early: Some("why".into()),
        histograms: BTreeMap::from([("response".into(), "x".into())]),
        printed: Printed::Load,
        raw: Value::Null,
    }
}

#[test]
fn a_load_result_comes_back_whole() {
    let result = load_result();
    let value = comes_back(&result);
    let read = LoadResult::parse(&value.to_string()).unwrap();
    assert_eq!(read, LoadResult { raw: value, ..result });
}

#[test]
fn reads_of_a_disk_come_back_whole() {
    let residency = || CacheResidency { resident_pages: 1, pages: 2, witness: "mincore".into() };
    let value = comes_back(&DiskRead {
        schema: disk::SCHEMA.into(),
        command: disk::READ.into(),
        version: "1".into(),
        started_at: "2026-01-02T03:04:05.678Z".into(),
        file_system: "ext4".into(),
        set: ReadSet { files: 1, file_size_bytes: 2, seed: 3 },
        runs: vec![ReadRun {
            engine: "pread".into(),
            options: ReadOptions {
                target: "buffer".into(),
                pattern: "random".into(),
                state: "hot".into(),
                block_bytes: 1,
                depth: 2,
                batch: 3,
                threads: 4,
                notify: "eventfd".into(),
                descriptor_per_slot: true,
                mincore: true,
                fixed_buffers: true,
                fixed_files: true,
                direct: true,
                event_loop: true,
                blocks_on_cold: true,
            },
            operations: 1,
            bytes: 2,
            elapsed_s: 0.5,
            iops: 2.5,
            throughput_bytes_per_s: 4.5,
            latency_ns: latency(10),
            histogram: "x".into(),
            cpu: ReadCpu { user_s: 0.5, system_s: 0.25, per_operation_us: 1.5 },
            passes: 1,
            misses: 2,
            cache: ReadCache { before: residency(), after: residency() },
            errors: vec![ReadErrors { what: "EIO".into(), count: 1 }],
        }],
        skipped: vec![SkippedEngine { engine: "uring".into(), why: "it is not available".into() }],
    });
    let read = LoadResult::parse(&value.to_string()).unwrap();
    assert_eq!((read.throughput_rps, read.latency_ns.response), (2.5, latency(10)));
    assert!(matches!(read.printed, Printed::DiskRead(_)));
}

#[test]
fn files_of_a_disk_come_back_whole() {
    let value = comes_back(&DiskFiles {
        schema: disk::SCHEMA.into(),
        command: disk::FILES.into(),
        version: "1".into(),
        started_at: "2026-01-02T03:04:05.678Z".into(),
        file_system: "ext4".into(),
        options: FilesOptions {
            dir: "/d".into(),
            count: 1,
            sizes: vec![2],
            parallel: 3,
            fsync: true,
            cold: true,
            stat: true,
            delete: true,
            seed: 4,
        },
        sizes: vec![FilesOfSize {
            size_bytes: 2,
            elapsed_s: 0.5,
            files_per_s: 2.0,
            phases: vec![FilesPhase {
                phase: "create".into(),
                elapsed_s: 0.25,
                files_per_s: 4.0,
                latency_ns: latency(10),
                histogram: "x".into(),
            }],
            cache_before_read: Some(CacheResidency {
                resident_pages: 1,
                pages: 2,
                witness: "mincore".into(),
            }),
        }],
    });
    let read = LoadResult::parse(&value.to_string()).unwrap();
    assert_eq!((read.throughput_rps, read.requests.ok), (2.0, 1));
    assert!(matches!(read.printed, Printed::DiskFiles(_)));
}

#[test]
fn a_mailing_comes_back_whole() {
    let reason = OutcomeRow {
        outcome: Some(Outcome::GaveUp),
        code: 450,
        enhanced: Some("4.2.0".into()),
        count: 1,
        example: "later".into(),
    };
    let value = comes_back(&MailResult {
        schema: mail::SCHEMA.into(),
        version: "1".into(),
        mode: "test".into(),
        duration_s: 0.5,
        recipients: RecipientCounts {
            read: 1,
            bad_lines: 2,
            duplicates: 3,
            settled_before: 4,
            failed_before: 12,
            sent: 5,
            accepted: 6,
            refused: 7,
            gave_up: 8,
            unsettled: 9,
            deferrals: 10,
            in_doubt: 11,
        },
        recipients_per_s: 2.5,
        transactions: 1,
        connections: mail::ConnectionCounts { opened: 1, failed: 2, lost: 3, tls: 4, peak: 5 },
        bytes: mail::Bytes { sent: 1, received: 2 },
        dns: DnsCounts { questions: 1, answered: 2, failed: 3, unanswered_attempts: 4, over_tcp: 5 },
        journal: Some(JournalCounts { settled_before: 1, damaged: 2, appended: 3, in_doubt_peak: 4 }),
        outcomes: vec![reason.clone()],
        domains: vec![DomainRow {
            domain: "x.test".into(),
            recipients: 1,
            taken: 2,
            refused: 3,
            gave_up: 4,
            reasons: vec![reason.clone()],
        }],
        hosts: vec![HostRow {
            host: "mx.test".into(),
            address: "127.0.0.1:25".into(),
            taken: 1,
            refused: 2,
            gave_up: 3,
            opened: 4,
            failed: 5,
            lost: 6,
            last_failure: Some("ECONNREFUSED".into()),
            reasons: vec![reason],
        }],
        engine: EngineUse { cpu_user_s: 0.5, cpu_system_s: 0.25, rss_peak_bytes: 1 },
        ended_early: Some("why".into()),
    });
    let read = LoadResult::parse(&value.to_string()).unwrap();
    assert_eq!((read.requests.ok, read.requests.missed, read.error_count()), (11, 9, 15));
    assert_eq!(read.connections.peak_open, 5);
}

#[test]
fn the_counters_of_a_server_come_back_whole() {
    comes_back(&ServeResult {
        schema: serve::SCHEMA.into(),
        version: "1".into(),
        protocol: "http".into(),
        model: "loop".into(),
        mechanism: "epoll-et".into(),
        disk: Some("uring".into()),
        workers: 1,
        duration_s: 0.5,
        connections: serve::ConnectionCounts { accepted: 1, closed: 2, open: 3, open_peak: 4 },
        requests: 5,
        bytes: serve::Bytes { received: 1, sent: 2 },
        mail: MailCounts { recipients_accepted: 1, messages: 2, recipients: 3 },
        tls: Some(TlsCounts { handshakes: 2, resumed: 1, in_kernel: 2 }),
        errors: BTreeMap::from([("reset".into(), 1)]),
        cpu_user_s: 0.5,
        cpu_system_s: 0.25,
        rss_peak_bytes: 1,
        worker_rss_peak_bytes: 2,
        forced: true,
    });
}
