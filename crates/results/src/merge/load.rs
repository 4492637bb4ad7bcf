//! Results of `pitot load --json`.

use std::collections::BTreeMap;

use pitot_meter::Histogram;
use serde_json::Value;

use super::decoded::decoded;
use crate::latency::{Latencies, Latency};
use crate::load::{
    Client, ConnectionCounts, ErrorRow, IdleCounts, LoadResult, Part, RequestCounts, Second, StepErrors,
    Steps, Storm, Tls, WarmupCounts, Window,
};
use crate::under_way::UnderWay;
use crate::verdict::VerdictKind;
use pitot_durability::Acknowledged;

/// Merges the results of the parts of one load, each with the name of its host. Their `clock_ns` are to be of one clock.
///
/// By the second, percentiles are those of the part where they were the highest: a second has no histogram. How evenly
/// replies flowed (`smoothness`) is left out, as are gates.
///
/// # Errors
/// A sentence: there is no result, one holds figures that cannot be put together (pages, sessions, a search), or a damaged
/// histogram.
pub fn loads(results: Vec<(String, LoadResult)>) -> Result<LoadResult, String> {
    let Some((_, first)) = results.first() else { return Err("there is no result to merge".into()) };
    let window = results.iter().map(|(_, result)| result.clock_ns).reduce(union).unwrap_or_default();
    let mut all = LoadResult {
        schema: first.schema.clone(),
        version: first.version.clone(),
        target: first.target.clone(),
        options: first.options.clone(),
        started_at: first.started_at.clone(),
        clock_ns: window,
        ..LoadResult::default()
    };
    let mut histograms = BTreeMap::new();
    for (host, part) in &results {
        let kept_apart = [
            ("pages", part.pages.is_some()),
            ("sessions", part.sessions.is_some()),
            ("searches", part.search.is_some()),
        ];
        if let Some((what, _)) = kept_apart.iter().find(|(_, is_there)| *is_there) {
            return Err(format!("figures of {what} cannot be merged from several hosts"));
        }
        for (name, text) in &part.histograms {
            let histogram = decoded(text).map_err(|e| format!("`{name}` of the host `{host}` is {e}"))?;
            histograms.entry(name.clone()).or_insert_with(Histogram::new).merge(&histogram);
        }
        add(&mut all, host, part);
    }
    all.bytes.content = results.iter().map(|(_, result)| result.bytes.content).sum();
    all.duration_s = match window.end.saturating_sub(window.start) {
        0 => results.iter().map(|(_, result)| result.duration_s).fold(0.0, f64::max),
        ns => ns as f64 / 1e9,
    };
    let replies: f64 = results.iter().map(|(_, result)| result.throughput_rps * result.duration_s).sum();
    all.throughput_rps = if all.duration_s > 0.0 { replies / all.duration_s } else { 0.0 };
    all.latency_ns = figures(&histograms);
    all.histograms = histograms.into_iter().map(|(name, histogram)| (name, histogram.encode())).collect();
    all.errors.sort_by_key(|row| std::cmp::Reverse(row.count));
    // A server that still answered one of them has answered.
    let silent = results.iter().map(|(_, result)| result.unanswered_since_s).collect::<Option<Vec<f64>>>();
    all.unanswered_since_s = silent.and_then(|since| since.into_iter().reduce(f64::max));
    all.ended_early = results
        .iter()
        .find_map(|(host, result)| Some(format!("{} (on the host `{host}`)", result.ended_early.as_ref()?)));
    all.client = client(&results);
    all.raw = serde_json::to_value(&all).unwrap_or(Value::Null);
    Ok(all)
}

/// Adds what can be added.
fn add(all: &mut LoadResult, host: &str, part: &LoadResult) {
    requests(&mut all.requests, &part.requests);
    all.warmup = WarmupCounts {
        requests: all.warmup.requests + part.warmup.requests,
        errors: all.warmup.errors + part.warmup.errors,
    };
    all.asked_rps = sum(all.asked_rps, part.asked_rps);
    connections(&mut all.connections, &part.connections);
    all.under_way = merged(all.under_way, part.under_way, |a, b| UnderWay {
        looked_at: a.looked_at + b.looked_at,
        sending: a.sending + b.sending,
    });
    all.tls = merged(all.tls.take(), part.tls.clone(), tls);
    all.idle = merged(all.idle, part.idle, |a, b| IdleCounts {
        connections: a.connections + b.connections,
        replies: a.replies + b.replies,
        replies_min: a.replies_min.min(b.replies_min),
        gap_max_s: a.gap_max_s.max(b.gap_max_s),
    });
    part.errors.iter().for_each(|row| error(&mut all.errors, row));
    for (status, count) in &part.statuses {
        *all.statuses.entry(*status).or_default() += count;
    }
    all.bytes.received += part.bytes.received;
    all.bytes.sent += part.bytes.sent;
    for (name, count) in &part.protocol {
        *all.protocol.entry(name.clone()).or_default() += count;
    }
    all.server_said = all.server_said.take().or_else(|| part.server_said.clone());
    all.redirects_to = all.redirects_to.take().or_else(|| part.redirects_to.clone());
    all.durability = merged(all.durability.take(), part.durability.clone(), |a, b| Acknowledged {
        connections: [a.connections, b.connections].concat(),
        ..a
    });
    part.series.iter().for_each(|row| second(&mut all.series, row));
    all.steps = merged(all.steps.take(), part.steps.clone(), steps);
    all.storm = merged(all.storm, part.storm, |a, b| Storm {
        requested: a.requested + b.requested,
        established: a.established + b.established,
        established_s: a.established_s.max(b.established_s),
    });
    all.parts.push(Part {
        host: host.to_owned(),
        clock_ns: part.clock_ns,
        throughput_rps: part.throughput_rps,
        requests_ok: part.requests.ok,
        errors: part.error_count(),
        missed: part.requests.missed,
        p50_ns: part.latency_ns.response.p50,
        p99_ns: part.latency_ns.response.p99,
        cpu_utilisation: part.client.cpu_utilisation,
        verdict: part.client.verdict,
        reason: part.client.reason.clone(),
    });
}

fn union(a: Window, b: Window) -> Window {
    // Of a part that does not know its window nothing is known.
    match (a.end, b.end) {
        (0, _) => b,
        (_, 0) => a,
        _ => Window { start: a.start.min(b.start), end: a.end.max(b.end) },
    }
}

fn merged<T>(a: Option<T>, b: Option<T>, merge: impl FnOnce(T, T) -> T) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(merge(a, b)),
        (a, b) => a.or(b),
    }
}

fn sum(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    merged(a, b, |a, b| a + b)
}

fn requests(all: &mut RequestCounts, part: &RequestCounts) {
    // All fields, so that a new one cannot be forgotten here.
    let RequestCounts { attempted, completed, ok, failed, cut, cut_oldest_ns, missed, started_late } = *part;
    *all = RequestCounts {
        attempted: all.attempted + attempted,
        completed: all.completed + completed,
        ok: all.ok + ok,
        failed: all.failed + failed,
        cut: all.cut + cut,
        cut_oldest_ns: all.cut_oldest_ns.max(cut_oldest_ns),
        missed: all.missed + missed,
        started_late: all.started_late + started_late,
    };
}

fn connections(all: &mut ConnectionCounts, part: &ConnectionCounts) {
    let ConnectionCounts {
        requested,
        opened,
        peak_open,
        mean_open,
        reopened,
        closed_by_peer,
        connect_failures,
        trickled,
        retransmits,
        asked,
        unanswered,
        opening_s,
    } = *part;
    *all = ConnectionCounts {
        requested: all.requested + requested,
        opened: all.opened + opened,
        peak_open: all.peak_open + peak_open,
        mean_open: all.mean_open + mean_open,
        reopened: all.reopened + reopened,
        closed_by_peer: all.closed_by_peer + closed_by_peer,
        connect_failures: all.connect_failures + connect_failures,
        trickled: all.trickled + trickled,
        retransmits: all.retransmits + retransmits,
        asked: all.asked + asked,
        unanswered: all.unanswered + unanswered,
        opening_s: all.opening_s.max(opening_s),
    };
}

fn tls(mut all: Tls, part: Tls) -> Tls {
    all.handshakes.full += part.handshakes.full;
    all.handshakes.resumed += part.handshakes.resumed;
    all.handshakes.failed += part.handshakes.failed;
    for session in part.sessions {
        let same = all
            .sessions
            .iter_mut()
            .find(|s| (&s.version, &s.cipher, &s.alpn) == (&session.version, &session.cipher, &session.alpn));
        match same {
            Some(known) => known.count += session.count,
            None => all.sessions.push(session),
        }
    }
    all.sessions.sort_by_key(|session| std::cmp::Reverse(session.count));
    all
}

fn error(all: &mut Vec<ErrorRow>, row: &ErrorRow) {
    match all.iter_mut().find(|known| known.phase == row.phase && known.kind == row.kind) {
        Some(known) => {
            known.count += row.count;
            known.first_at_s = known.first_at_s.min(row.first_at_s);
        }
        None => all.push(row.clone()),
    }
}

fn second(all: &mut Vec<Second>, row: &Second) {
    let at = all.partition_point(|known| known.t_s < row.t_s);
    match all.get_mut(at).filter(|known| known.t_s == row.t_s) {
        Some(known) => {
            let Second {
                t_s: _,
                completed,
                status_2xx,
                status_3xx,
                status_4xx,
                status_5xx,
                errors,
                missed,
                received,
                sent,
                open,
                p50_ns,
                p95_ns,
                p99_ns,
                max_ns,
            } = known;
            *completed += row.completed;
            *status_2xx += row.status_2xx;
            *status_3xx += row.status_3xx;
            *status_4xx += row.status_4xx;
            *status_5xx += row.status_5xx;
            *errors += row.errors;
            *missed += row.missed;
            *received += row.received;
            *sent += row.sent;
            *open += row.open;
            *p50_ns = row.p50_ns.max(*p50_ns);
            *p95_ns = row.p95_ns.max(*p95_ns);
            *p99_ns = row.p99_ns.max(*p99_ns);
            *max_ns = row.max_ns.max(*max_ns);
        }
        None => all.insert(at, row.clone()),
    }
}

fn steps(mut all: Steps, part: Steps) -> Steps {
    let length = all.right.len().max(part.right.len());
    all.right.resize(length, 0);
    for (sum, count) in all.right.iter_mut().zip(&part.right) {
        *sum += count;
    }
    for errors in part.errors {
        match all.errors.iter_mut().find(|e| e.phase == errors.phase && e.kind == errors.kind) {
            Some(known) => known.at = by_step(known, &errors),
            None => all.errors.push(errors),
        }
    }
    all
}

fn by_step(a: &StepErrors, b: &StepErrors) -> Vec<(u64, u64)> {
    let mut sums = BTreeMap::new();
    for (step, count) in a.at.iter().chain(&b.at) {
        *sums.entry(*step).or_insert(0) += count;
    }
    sums.into_iter().collect()
}

/// The generators as one: what the busiest did, and the worst verdict with its host.
fn client(results: &[(String, LoadResult)]) -> Client {
    let clients = || results.iter().map(|(_, result)| &result.client);
    let rank = |client: &Client| VerdictKind::ALL.iter().position(|kind| Some(*kind) == client.verdict);
    let worst = results.iter().max_by_key(|(_, result)| rank(&result.client));
    Client {
        cpu_user_s: clients().map(|client| client.cpu_user_s).sum(),
        cpu_system_s: clients().map(|client| client.cpu_system_s).sum(),
        cpu_utilisation: clients().map(|client| client.cpu_utilisation).fold(0.0, f64::max),
        run_queue_s: clients().filter_map(|client| client.run_queue_s).reduce(f64::max),
        threads: clients().flat_map(|client| client.threads.iter().copied()).collect(),
        verdict: worst.and_then(|(_, result)| result.client.verdict),
        reason: worst
            .map(|(host, result)| format!("on the host `{host}` {}", result.client.reason))
            .unwrap_or_default(),
    }
}

fn figures(histograms: &BTreeMap<String, Histogram>) -> Latencies<Latency> {
    let of = |name: &str| histograms.get(name).map(Latency::of).unwrap_or_default();
    Latencies {
        response: of("response"),
        service: of("service"),
        schedule_lag: of("schedule_lag"),
        connect: of("connect"),
        handshake: of("handshake"),
        resumption: of("resumption"),
        first_byte: of("first_byte"),
    }
}

#[cfg(test)]
mod tests {
    use pitot_meter::Nanos;

    use super::*;

    fn part(us: impl Iterator<Item = u64>, start: u64) -> LoadResult {
        let mut histogram = Histogram::new();
        us.for_each(|us| histogram.record(Nanos::from_micros(us)));
        let count = histogram.count();
        LoadResult {
            schema: crate::load::SCHEMA.into(),
            duration_s: 1.0,
            clock_ns: Window { start, end: start + 1_000_000_000 },
            throughput_rps: count as f64,
            asked_rps: Some(50.0),
            requests: RequestCounts {
                attempted: count,
                completed: count,
                ok: count,
                ..RequestCounts::default()
            },
            errors: vec![ErrorRow {
                phase: "timeout".into(),
                kind: "reply".into(),
                count: 2,
                first_at_s: start as f64,
            }],
            histograms: [("response".to_owned(), histogram.encode())].into(),
            series: vec![Second { t_s: 0, completed: count, p99_ns: start, ..Second::default() }],
            client: Client {
                verdict: Some(VerdictKind::Valid),
                reason: "was busy".into(),
                ..Client::default()
            },
            ..LoadResult::default()
        }
    }

    #[test]
    fn the_parts_are_the_whole() {
        // Every other duration each: as if one had recorded them all.
        let odd = part((1..=1000).filter(|us| us % 2 == 1), 5);
        let mut even = part((1..=1000).filter(|us| us % 2 == 0), 7);
        even.client.verdict = Some(VerdictKind::ClientBound);
        let whole = loads(vec![("b".into(), odd), ("c".into(), even)]).unwrap();
        let one = part(1..=1000, 5);
        assert_eq!(whole.histograms["response"], one.histograms["response"]);
        assert_eq!(whole.latency_ns.response.count, 1000);
        assert_eq!((whole.requests.ok, whole.asked_rps), (1000, Some(100.0)));
        assert_eq!(whole.clock_ns, Window { start: 5, end: 1_000_000_007 });
        assert!((whole.throughput_rps - 1000.0).abs() < 0.01, "{}", whole.throughput_rps);
        assert_eq!((whole.errors.len(), whole.errors[0].count, whole.errors[0].first_at_s), (1, 4, 5.0));
        assert_eq!((whole.series.len(), whole.series[0].completed, whole.series[0].p99_ns), (1, 1000, 7));
        assert_eq!(whole.client.verdict, Some(VerdictKind::ClientBound));
        assert_eq!(whole.client.reason, "on the host `c` was busy");
        let hosts: Vec<&str> = whole.parts.iter().map(|part| part.host.as_str()).collect();
        assert_eq!(hosts, ["b", "c"]);
        let read = LoadResult::parse(&serde_json::to_string(&whole).unwrap()).unwrap();
        assert_eq!(LoadResult { raw: Value::Null, ..read }, LoadResult { raw: Value::Null, ..whole });
    }

    #[test]
    fn steps_and_seconds_are_added_where_they_belong() {
        let row = |at: &[(u64, u64)]| StepErrors {
            phase: "receive".into(),
            kind: "ECONNRESET".into(),
            at: at.into(),
        };
        let one = Steps { length_ns: 10, right: vec![1, 2], errors: vec![row(&[(0, 1), (3, 1)])] };
        let other = Steps { length_ns: 10, right: vec![1, 1, 4], errors: vec![row(&[(3, 2)])] };
        let all = steps(one, other);
        assert_eq!((all.right, &all.errors[0].at), (vec![2, 3, 4], &vec![(0, 1), (3, 3)]));
        let mut series = Vec::new();
        for t_s in [1, 0, 1] {
            second(&mut series, &Second { t_s, completed: 3, ..Second::default() });
        }
        assert_eq!(series.iter().map(|s| (s.t_s, s.completed)).collect::<Vec<_>>(), [(0, 3), (1, 6)]);
    }

    #[test]
    fn what_cannot_be_put_together_is_refused() {
        let sessions = LoadResult { sessions: Some(Default::default()), ..part(1..=3, 1) };
        let refused = loads(vec![("b".into(), part(1..=3, 1)), ("c".into(), sessions)]).unwrap_err();
        assert!(refused.contains("sessions"), "{refused}");
        let mut damaged = part(1..=3, 1);
        damaged.histograms.insert("service".into(), "?".into());
        assert!(loads(vec![("c".into(), damaged)]).unwrap_err().contains("`c`"));
        assert!(loads(Vec::new()).is_err());
    }
}
