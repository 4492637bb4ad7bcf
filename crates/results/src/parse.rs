//! Reads what a program printed in the place of a load generator.
//!
//! A cell of a plan may run `pitot disk files`, `pitot disk read`, `pitot floor` or `pitot mail` instead of `pitot load`. Each prints
//! an object of its own. The figures that it has in common with a load are brought into a [`LoadResult`]; the object
//! itself stays in [`LoadResult::printed`] for figures of its own.

use serde::Deserialize;
use serde_json::{Number, Value};

use crate::disk::{self, DiskFiles, DiskRead};
use crate::floor::{self, FloorResult};
use crate::latency::Latencies;
use crate::load::{self, Bytes, Client, ConnectionCounts, ErrorRow, LoadResult, OwnCpu, RequestCounts};
use crate::mail::{self, MailResult};
use crate::printed::Printed;

/// Why an object cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ParseError {
    /// It is not JSON, or a field has a value of another type.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// A number is greater than any that is counted or timed.
    #[error("`{0}` is {1}, which is out of range")]
    Number(String, Number),
    /// No program that is known here prints it.
    #[error("the field `schema` has an unknown value")]
    Schema,
}

impl LoadResult {
    /// Reads what `pitot load`, `pitot disk files`, `pitot disk read`, `pitot floor` or `pitot mail` printed, or another program that
    /// prints the same object.
    ///
    /// # Errors
    /// If it is not JSON, or the object of no program that is known here.
    pub fn parse(text: &str) -> Result<LoadResult, ParseError> {
        let raw: Value = serde_json::from_str(text)?;
        check_numbers(&raw)?;
        let schema = raw.get("schema").and_then(Value::as_str).unwrap_or_default();
        let command = raw.get("command").and_then(Value::as_str).unwrap_or_default();
        let mut result = match (schema, command) {
            (disk::SCHEMA, disk::FILES) => of_files(DiskFiles::deserialize(&raw)?),
            (disk::SCHEMA, disk::READ) => of_reads(DiskRead::deserialize(&raw)?),
            (floor::SCHEMA, _) => of_floor(FloorResult::deserialize(&raw)?),
            (mail::SCHEMA, _) => of_mail(MailResult::deserialize(&raw)?),
            _ if schema.starts_with("pitot-load/") => LoadResult::deserialize(&raw)?,
            _ => return Err(ParseError::Schema),
        };
        result.raw = raw;
        Ok(result)
    }
}

/// So much was never counted or timed: 2.3 years in nanoseconds, 72 PB. Sums of some of these have room in 64 bits.
pub const COUNT_MAX: u64 = 1 << 56;

/// What no figure is drawn from, and moments of a clock.
const UNCOUNTED: [&str; 2] = ["options", "clock_ns"];

/// Checks the numbers of an object from which figures are drawn.
///
/// # Errors
/// The first number that is greater than [`COUNT_MAX`].
pub fn check_numbers(object: &Value) -> Result<(), ParseError> {
    check_named("", object)
}

fn check_named(name: &str, value: &Value) -> Result<(), ParseError> {
    match value {
        Value::Number(number) if !number.as_f64().is_some_and(|n| n.abs() <= COUNT_MAX as f64) => {
            Err(ParseError::Number(name.to_owned(), number.clone()))
        }
        Value::Array(values) => values.iter().try_for_each(|value| check_named(name, value)),
        Value::Object(fields) => fields
            .iter()
            .filter(|(name, _)| !UNCOUNTED.contains(&name.as_str()))
            .try_for_each(|(name, value)| check_named(name, value)),
        _ => Ok(()),
    }
}

/// The files of all sizes together.
fn of_files(files: DiskFiles) -> LoadResult {
    let elapsed_s: f64 = files.sizes.iter().map(|size| size.elapsed_s).sum();
    let count = files.options.count.saturating_mul(files.sizes.len() as u64);
    LoadResult {
        schema: load::SCHEMA.into(),
        version: files.version.clone(),
        started_at: files.started_at.clone(),
        duration_s: elapsed_s,
        throughput_rps: if elapsed_s > 0.0 { count as f64 / elapsed_s } else { 0.0 },
        requests: RequestCounts { attempted: count, completed: count, ok: count, ..RequestCounts::default() },
        printed: Printed::DiskFiles(Box::new(files)),
        ..LoadResult::default()
    }
}

/// The reads of the first engine: a cell runs one.
fn of_reads(read: DiskRead) -> LoadResult {
    let mut result = LoadResult {
        schema: load::SCHEMA.into(),
        version: read.version.clone(),
        started_at: read.started_at.clone(),
        own_cpu_s: Some(OwnCpu::default()),
        ..LoadResult::default()
    };
    if let Some(run) = read.runs.first() {
        let errors = run.errors.iter().map(|e| ErrorRow {
            phase: "read".into(),
            kind: e.what.clone(),
            count: e.count,
            ..ErrorRow::default()
        });
        result.duration_s = run.elapsed_s;
        result.throughput_rps = run.iops;
        result.requests = RequestCounts {
            attempted: run.operations,
            completed: run.operations,
            ok: run.operations,
            ..RequestCounts::default()
        };
        result.bytes = Bytes { received: run.bytes, sent: 0, content: None };
        result.errors = errors.collect();
        result.latency_ns =
            Latencies { response: run.latency_ns, service: run.latency_ns, ..Latencies::default() };
        if !run.histogram.is_empty() {
            result.histograms.insert("response".into(), run.histogram.clone());
        }
        // The program also makes its files and removes them, which is no part of a read.
        result.own_cpu_s = Some(OwnCpu { user: run.cpu.user_s, system: run.cpu.system_s });
    }
    result.printed = Printed::DiskRead(Box::new(read));
    result
}

/// The first primitive: a cell measures one.
fn of_floor(floor: FloorResult) -> LoadResult {
    let mut result = LoadResult {
        schema: load::SCHEMA.into(),
        version: floor.version.clone(),
        started_at: floor.started_at.clone(),
        ..LoadResult::default()
    };
    if let Some(primitive) = floor.primitives.first() {
        let count = primitive.operations;
        result.duration_s = primitive.wall_ns.median * count as f64 / 1e9;
        if primitive.wall_ns.median > 0.0 {
            result.throughput_rps = 1e9 / primitive.wall_ns.median;
        }
        result.requests =
            RequestCounts { attempted: count, completed: count, ok: count, ..RequestCounts::default() };
    }
    result.printed = Printed::Floor(Box::new(floor));
    result
}

/// The recipients of a mailing.
fn of_mail(mail: MailResult) -> LoadResult {
    let recipients = &mail.recipients;
    let ok = recipients.sent + recipients.accepted;
    let failed = recipients.refused + recipients.gave_up;
    let errors = [("refused", recipients.refused), ("gave-up", recipients.gave_up)]
        .into_iter()
        .filter(|(_, count)| *count > 0)
        .map(|(kind, count)| ErrorRow {
            phase: "mail".into(),
            kind: kind.into(),
            count,
            ..ErrorRow::default()
        });
    LoadResult {
        schema: load::SCHEMA.into(),
        version: mail.version.clone(),
        duration_s: mail.duration_s,
        throughput_rps: mail.recipients_per_s,
        requests: RequestCounts {
            attempted: recipients.read,
            completed: ok + failed,
            ok,
            missed: recipients.unsettled,
            ..RequestCounts::default()
        },
        connections: ConnectionCounts {
            opened: mail.connections.opened,
            peak_open: mail.connections.peak,
            ..ConnectionCounts::default()
        },
        bytes: Bytes { received: mail.bytes.received, sent: mail.bytes.sent, content: None },
        errors: errors.collect(),
        client: Client {
            cpu_user_s: mail.engine.cpu_user_s,
            cpu_system_s: mail.engine.cpu_system_s,
            ..Client::default()
        },
        printed: Printed::Mail(Box::new(mail)),
        ..LoadResult::default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse(raw: &Value) -> LoadResult {
        LoadResult::parse(&raw.to_string()).unwrap()
    }

    #[test]
    fn unknown_fields_are_kept_and_missing_ones_are_zero() {
        let text = r#"{"schema": "pitot-load/1", "throughput_rps": 12.5, "requests": {"completed": 25},
            "latency_ns": {"response": {"count": 25, "p99": 1500}}, "novel": {"a": 1},
            "client": {"verdict": "enchanted"},
            "errors": [{"phase": "connect", "kind": "ECONNREFUSED", "count": 2}, {"count": 3}]}"#;
        let result = LoadResult::parse(text).unwrap();
        assert_eq!(result.throughput_rps, 12.5);
        assert_eq!(result.latency_ns.response.p99, 1500);
        assert_eq!(result.latency_ns.connect.count, 0);
        assert_eq!(result.error_count(), 5);
        assert_eq!(result.client.verdict, None, "a word of a newer program");
        assert_eq!(result.raw["novel"]["a"], 1);
    }

    #[test]
    fn another_object_is_refused() {
        assert!(LoadResult::parse(r#"{"schema": "wrk/1"}"#).is_err());
        assert!(LoadResult::parse("[]").is_err());
        assert!(LoadResult::parse("{").is_err());
    }

    #[test]
    fn a_number_that_nothing_can_be_is_refused_and_not_added_up() {
        let parse = |field: &str| LoadResult::parse(&format!(r#"{{"schema": "pitot-load/1", {field}}}"#));
        for wrong in [
            r#""errors": [{"count": 18446744073709551615}, {"count": 1}]"#,
            r#""requests": {"attempted": 72057594037927937000}"#,
            r#""throughput_rps": -1e300"#,
            r#""requests": {"completed": -1}"#,
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
        let told = parse(r#""series": [{"t_s": 1e18}]"#).unwrap_err().to_string();
        assert!(told.starts_with("`t_s` is 1e+18, which"), "{told}");
        // A seed may be any number, and so may a clock.
        parse(r#""options": {"seed": 18446744073709551615}, "clock_ns": {"start": 9223372036854775807}"#)
            .unwrap();
    }

    #[test]
    fn files_a_second_are_its_throughput_and_its_phases_stay_readable() {
        let raw = json!({"schema": "pitot-disk/1", "command": "files", "options": {"count": 500},
            "sizes": [{"elapsed_s": 2.0, "phases": [{"phase": "write", "elapsed_s": 0.5}]}]});
        let result = parse(&raw);
        assert_eq!((result.throughput_rps, result.duration_s, result.requests.ok), (250.0, 2.0, 500));
        let Printed::DiskFiles(files) = &result.printed else { panic!("{:?}", result.printed) };
        assert_eq!(files.sizes[0].phases[0].elapsed_s, 0.5);
        assert_eq!(result.raw, raw);
    }

    #[test]
    fn reads_bring_their_latency_and_their_own_cpu_time() {
        let raw = json!({"schema": "pitot-disk/1", "command": "read", "runs": [{"operations": 1000, "bytes": 4096000,
            "iops": 500.0, "elapsed_s": 2.0, "latency_ns": {"count": 1000, "p50": 7, "p99": 9},
            "histogram": "x", "cpu": {"user_s": 0.5, "system_s": 1.5}, "errors": [{"what": "EIO", "count": 2}]}]});
        let result = parse(&raw);
        assert_eq!((result.throughput_rps, result.latency_ns.response.p99), (500.0, 9));
        assert_eq!((result.bytes.received, result.error_count()), (4_096_000, 2));
        assert_eq!(result.own_cpu_s.map(|cpu| (cpu.user, cpu.system)), Some((0.5, 1.5)));
        assert_eq!(result.histograms["response"], "x");
    }

    #[test]
    fn recipients_are_the_requests_of_a_mailing() {
        let raw = json!({"schema": "pitot-mail/1", "recipients_per_s": 100.0, "duration_s": 3.0,
            "recipients": {"read": 302, "accepted": 300, "refused": 1, "unsettled": 1},
            "connections": {"opened": 30, "peak": 7}, "bytes": {"sent": 5, "received": 6},
            "engine": {"cpu_user_s": 1.0}});
        let result = parse(&raw);
        assert_eq!((result.throughput_rps, result.requests.ok, result.requests.missed), (100.0, 300, 1));
        assert_eq!((result.connections.peak_open, result.error_count()), (7, 1));
        assert_eq!(result.client.cpu_user_s, 1.0);
    }

    #[test]
    fn an_object_without_its_parts_is_read_as_nothing_done() {
        for command in ["files", "read"] {
            let result = parse(&json!({"schema": "pitot-disk/1", "command": command}));
            assert_eq!((result.requests.ok, result.throughput_rps), (0, 0.0));
        }
    }
}
