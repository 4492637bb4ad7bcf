//! What programs other than `pitot load` print, brought into the form of its result.
//!
//! A cell may run `pitot disk files`, `pitot disk read` or `pitot mail` in the place of the load generator. Each prints
//! an object of its own; the figures that they have in common with a load are found here, the rest stays in
//! [`LoadResult::raw`](crate::LoadResult::raw) for metrics of its own.

use serde_json::{Value, json};

/// The object of `pitot-load/1` that says the same as this one, or `None` if it is of no known program.
pub(crate) fn translated(raw: &Value) -> Option<Value> {
    match (raw["schema"].as_str()?, raw["command"].as_str()) {
        ("pitot-disk/1", Some("files")) => Some(files(raw)),
        ("pitot-disk/1", Some("read")) => Some(read(raw)),
        ("pitot-mail/1", _) => Some(mail(raw)),
        _ => None,
    }
}

/// Files of one size; of several sizes, all together.
fn files(raw: &Value) -> Value {
    let sizes = raw["sizes"].as_array().map_or(&[][..], Vec::as_slice);
    let elapsed_s: f64 = sizes.iter().filter_map(|size| size["elapsed_s"].as_f64()).sum();
    let count = raw["options"]["count"].as_u64().unwrap_or(0) * sizes.len() as u64;
    json!({
        "schema": "pitot-load/1",
        "version": raw["version"].as_str().unwrap_or_default(),
        "duration_s": elapsed_s,
        "throughput_rps": if elapsed_s > 0.0 { count as f64 / elapsed_s } else { 0.0 },
        "requests": {"attempted": count, "completed": count, "ok": count, "missed": 0},
    })
}

/// Reads by one engine.
fn read(raw: &Value) -> Value {
    let run = &raw["runs"][0];
    let operations = run["operations"].as_u64().unwrap_or(0);
    let errors: Vec<Value> = run["errors"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|e| json!({"phase": "read", "kind": e["what"], "count": e["count"]}))
        .collect();
    let mut result = json!({
        "schema": "pitot-load/1",
        "version": raw["version"].as_str().unwrap_or_default(),
        "duration_s": run["elapsed_s"].as_f64().unwrap_or(0.0),
        "throughput_rps": run["iops"].as_f64().unwrap_or(0.0),
        "requests": {"attempted": operations, "completed": operations, "ok": operations, "missed": 0},
        "bytes": {"received": run["bytes"].as_u64().unwrap_or(0), "sent": 0},
        "errors": errors,
    });
    if run["latency_ns"].is_object() {
        result["latency_ns"] = json!({"response": run["latency_ns"], "service": run["latency_ns"]});
    }
    if run["histogram"].is_string() {
        result["histograms"] = json!({"response": run["histogram"]});
    }
    // The program also makes its files and removes them, which is no part of a read.
    result["own_cpu_s"] = json!({
        "user": run["cpu"]["user_s"].as_f64().unwrap_or(0.0),
        "system": run["cpu"]["system_s"].as_f64().unwrap_or(0.0),
    });
    result
}

/// Recipients of a mailing.
fn mail(raw: &Value) -> Value {
    let recipients = &raw["recipients"];
    let of = |name: &str| recipients[name].as_u64().unwrap_or(0);
    let ok = of("sent") + of("accepted");
    let failed = of("refused") + of("gave_up");
    let errors: Vec<Value> = [("refused", of("refused")), ("gave-up", of("gave_up"))]
        .into_iter()
        .filter(|(_, count)| *count > 0)
        .map(|(kind, count)| json!({"phase": "mail", "kind": kind, "count": count}))
        .collect();
    let connections = &raw["connections"];
    json!({
        "schema": "pitot-load/1",
        "version": raw["version"].as_str().unwrap_or_default(),
        "duration_s": raw["duration_s"].as_f64().unwrap_or(0.0),
        "throughput_rps": raw["recipients_per_s"].as_f64().unwrap_or(0.0),
        "requests": {"attempted": of("read"), "completed": ok + failed, "ok": ok, "missed": of("unsettled")},
        "connections": {
            "opened": connections["opened"].as_u64().unwrap_or(0),
            "peak_open": connections["peak"].as_u64().unwrap_or(0),
        },
        "bytes": {
            "received": raw["bytes"]["received"].as_u64().unwrap_or(0),
            "sent": raw["bytes"]["sent"].as_u64().unwrap_or(0),
        },
        "errors": errors,
        "client": {
            "cpu_user_s": raw["engine"]["cpu_user_s"].as_f64().unwrap_or(0.0),
            "cpu_system_s": raw["engine"]["cpu_system_s"].as_f64().unwrap_or(0.0),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LoadResult;

    fn parse(raw: &Value) -> LoadResult {
        LoadResult::parse(&raw.to_string()).unwrap()
    }

    #[test]
    fn files_a_second_are_its_throughput_and_its_phases_stay_readable() {
        let raw = json!({"schema": "pitot-disk/1", "command": "files", "options": {"count": 500},
            "sizes": [{"elapsed_s": 2.0, "phases": [{"phase": "write", "elapsed_s": 0.5}]}]});
        let result = parse(&raw);
        assert_eq!((result.throughput_rps, result.duration_s, result.requests.ok), (250.0, 2.0, 500));
        assert_eq!(result.raw, raw);
    }

    #[test]
    fn reads_bring_their_latency_and_their_own_cpu_time() {
        let raw = json!({"schema": "pitot-disk/1", "command": "read", "runs": [{"operations": 1000, "bytes": 4096000,
            "iops": 500.0, "elapsed_s": 2.0, "latency_ns": {"count": 1000, "p50": 7, "p99": 9},
            "histogram": "x", "cpu": {"user_s": 0.5, "system_s": 1.5}, "errors": [{"what": "EIO", "count": 2}]}]});
        let result = parse(&raw);
        assert_eq!((result.throughput_rps, result.latency_ns.response.p99), (500.0, 9.0));
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
