use std::fmt::Write as _;

use pitot_meter::Nanos;
use pitot_meter::units::{bytes, counted, grouped};
use pitot_results::load::LoadResult;
use pitot_results::{Latency, PERCENTILES};
use serde_json::Value;

use super::sessions::sessions;
use super::{chart, http2, pages, tls};
use crate::report::Report;

/// What a summary shows in addition to what it always does.
#[derive(Clone, Copy, Debug, Default)]
pub struct Detail {
    /// The number of samples behind each percentile, the distribution of response times, and connection counts.
    pub samples: bool,
    /// The run second by second.
    pub timeline: bool,
    /// Columns of the terminal that shows it, if one does.
    pub width: Option<usize>,
}

/// Percentiles that a terminal shows which is too narrow for all of them, and one that is too narrow for those.
const NARROW: [&[&str]; 2] = [&["p50", "p90", "p99", "p99.9"], &["p50", "p99"]];

/// Columns of a table of so many percentiles.
const fn table_width(percentiles: usize) -> usize {
    15 + 9 * (percentiles + 3)
}

/// The percentiles for which there is room.
fn percentiles_for(width: Option<usize>) -> Vec<&'static str> {
    let all: Vec<&str> = PERCENTILES.iter().map(|(name, _)| *name).collect();
    let mut sets = std::iter::once(all).chain(NARROW.map(<[_]>::to_vec));
    let fits = |set: &Vec<&str>| width.is_none_or(|width| table_width(set.len()) <= width);
    sets.find(fits).unwrap_or_else(|| NARROW[1].to_vec())
}

/// The result as text, in a form like that of wrk.
pub fn summary(report: &Report, detail: Detail) -> String {
    let (mut text, result) = (String::new(), &report.result);
    head(&mut text, result);
    latencies(&mut text, result, detail.width);
    totals(&mut text, result);
    if detail.samples {
        samples_behind(&mut text, report);
        connections(&mut text, result);
    }
    if detail.timeline {
        text.push_str(&super::timeline::timeline(&result.series));
    }
    errors(&mut text, result);
    search(&mut text, result);
    gates(&mut text, result);
    if let Some(verdict) = result.client.verdict {
        let _ = writeln!(text, "\nVerdict: {}: {}.", verdict.name(), result.client.reason);
    }
    match detail.width {
        Some(width) => text.lines().map(|line| fitted(line, width)).collect(),
        None => text,
    }
}

/// A line, and its end, in several lines if it is longer than that; none is broken within a word.
fn fitted(line: &str, width: usize) -> String {
    const INDENT: &str = "    ";
    let (mut out, mut rest) = (String::new(), line.to_owned());
    while rest.chars().count() > width {
        let end = rest.char_indices().nth(width + 1).map_or(rest.len(), |(at, _)| at);
        let begin = rest.len() - rest.trim_start().len();
        // A word that is longer than a line stays whole.
        let space = rest[..end].rfind(' ').filter(|at| *at > begin);
        let Some(at) = space.or_else(|| rest[begin..].find(' ').map(|at| begin + at)) else { break };
        out += rest[..at].trim_end();
        out.push('\n');
        rest = format!("{INDENT}{}", rest[at..].trim_start());
    }
    out + &rest + "\n"
}

fn head(text: &mut String, result: &LoadResult) {
    let options = &result.options;
    let word = |name: &str| options[name].as_str().unwrap_or_default().to_owned();
    let number = |name: &str| options[name].as_u64().unwrap_or_default();
    let _ = writeln!(text, "{:.2} s of {}", result.duration_s, result.target);
    let idle = match number("idle") {
        0 => String::new(),
        idle => format!(" ({} of them idle)", grouped(idle)),
    };
    let users = match number("users") {
        0 => String::new(),
        users => format!("{} with at most ", counted(users, "user", "users")),
    };
    let processes = match number("processes") {
        0 | 1 => String::new(),
        n => format!("{n} processes, "),
    };
    let _ = writeln!(
        text,
        "  {processes}{}, {users}{}{idle}, pace {}, engine {}",
        counted(number("threads"), "thread", "threads"),
        counted(number("connections"), "connection", "connections"),
        word("pace"),
        word("engine")
    );
    requests_from(text, &options["requests_from"]);
    tls::trouble(text, result);
    silence(text, result);
    redirects(text, result);
    if let Some(why) = &result.ended_early {
        let _ = writeln!(text, "  ended early: {why}");
    }
}

/// Since when a server that is dead has answered nothing.
fn silence(text: &mut String, result: &LoadResult) {
    let Some(since) = result.unanswered_since_s else { return };
    let _ = match result.requests.completed {
        0 => writeln!(text, "  nothing was answered from the start on"),
        _ => writeln!(
            text,
            "  nothing was answered from {since:.2} s on, for the last {:.2} s of the run",
            result.duration_s - since
        ),
    };
}

/// Where to look if the server sends most requests elsewhere.
fn redirects(text: &mut String, result: &LoadResult) {
    let Some(location) = &result.redirects_to else { return };
    let is_redirect = |status: &u16| (301..=308).contains(status) && *status != 304;
    let redirects: u64 =
        result.statuses.iter().filter(|(status, _)| is_redirect(status)).map(|(_, count)| count).sum();
    let all: u64 = result.statuses.values().sum();
    if redirects * 2 <= all {
        return;
    }
    let most = if redirects == all {
        "all replies are redirects to"
    } else {
        "most replies are redirects, the first to"
    };
    let or = if location.starts_with('/') { ", or follow it with --follow 1" } else { "" };
    let _ = writeln!(text, "  {most} {location}: load that{or}");
}

/// The file that the requests come from, if they do, and what was left out of it.
fn requests_from(text: &mut String, from: &Value) {
    let Some(file) = from["file"].as_str() else { return };
    let number = |name: &str| from[name].as_u64().unwrap_or_default();
    let of_sessions = number("sessions") > 0;
    let (count, one, several) = match of_sessions {
        true => (number("sessions"), "session", "sessions"),
        false => (number("requests"), "request", "requests"),
    };
    let different = match number("different") {
        n if n == number("requests") || of_sessions => String::new(),
        n => format!(", {} of them different", grouped(n)),
    };
    let _ = writeln!(
        text,
        "  {}{different} from {file} ({})",
        counted(count, one, several),
        from["format"].as_str().unwrap_or_default()
    );
    for note in from["notes"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        let _ = writeln!(text, "  {note}");
    }
}

fn latencies(text: &mut String, result: &LoadResult, width: Option<usize>) {
    let mut rows: Vec<(&str, &Latency)> = Vec::new();
    let mut same: Vec<(&str, &str)> = Vec::new();
    for (name, latency) in pages::rows(result).chain(result.latency_ns.named()) {
        let shown = rows.iter().find(|(_, shown)| *shown == latency);
        match shown {
            Some((other, _)) => same.push((name, other)),
            // In a closed loop nothing is ever late.
            None if latency.count == 0 || name == "schedule_lag" && latency.max == 0 => {}
            None => rows.push((name, latency)),
        }
    }
    if rows.is_empty() {
        return;
    }
    let _ = write!(text, "\n  {:<13}", "Latency");
    let names = percentiles_for(width);
    let is_shown = |name: &str| names.contains(&name);
    let percentiles = || PERCENTILES.map(|(name, _)| name).into_iter();
    for name in ["min"].into_iter().chain(percentiles().filter(|name| is_shown(name))).chain(["max", "mean"])
    {
        let _ = write!(text, "{name:>9}");
    }
    text.push('\n');
    for (name, latency) in rows {
        let _ = write!(text, "  {:<13}", name.replace('_', " "));
        let ends = [latency.max, latency.mean];
        let shown = percentiles().zip(latency.percentiles()).filter(|(name, _)| is_shown(name));
        for value in [latency.min].into_iter().chain(shown.map(|(_, value)| value)).chain(ends) {
            let _ = write!(text, "{:>9}", Nanos(value).to_string());
        }
        text.push('\n');
    }
    for (name, other) in same {
        let _ = writeln!(text, "  {:<13}  as {}", name.replace('_', " "), other.replace('_', " "));
    }
}

fn totals(text: &mut String, result: &LoadResult) {
    let requests = &result.requests;
    text.push('\n');
    if let Some(storm) = result.storm {
        let _ = writeln!(
            text,
            "  {} of {} established in {:.3} s",
            grouped(storm.established),
            counted(storm.requested, "connection", "connections"),
            storm.established_s
        );
        return;
    }
    if let Some(of_pages) = &result.pages {
        pages::totals(text, of_pages);
    }
    if requests.attempted > 0 {
        let _ = writeln!(
            text,
            "  {}: {} right, {} failed, {} wrong or late",
            counted(requests.attempted, "request", "requests"),
            grouped(requests.ok),
            grouped(requests.failed),
            grouped(requests.completed - requests.ok)
        );
        if !result.statuses.is_empty() {
            let counts: Vec<String> = result
                .statuses
                .iter()
                .map(|(status, &count)| format!("{status}: {}", grouped(count)))
                .collect();
            let _ = writeln!(text, "  replies by status: {}", counts.join(", "));
        }
        if requests.cut > 0 {
            let oldest = Nanos(requests.cut_oldest_ns);
            let _ = writeln!(
                text,
                "  {} under way when the run ended, the oldest for {oldest}",
                grouped(requests.cut)
            );
        }
        if requests.missed > 0 && result.pages.is_none() {
            let missed = counted(requests.missed, "request was", "requests were");
            let _ = writeln!(text, "  {missed} due and could not be sent");
        }
        let asked = result.asked_rps.map(|rate| format!(" of {rate:.1} asked for"));
        let _ =
            writeln!(text, "  {:.1} replies a second{}", result.throughput_rps, asked.unwrap_or_default());
        let _ = writeln!(
            text,
            "  {} received ({}/s), {} sent",
            bytes(result.bytes.received),
            bytes((result.bytes.received as f64 / result.duration_s.max(1e-9)) as u64),
            bytes(result.bytes.sent)
        );
    }
    if let Some(of_sessions) = &result.sessions {
        sessions(text, of_sessions);
    }
    if let Some(smoothness) = &result.smoothness {
        let gap = &smoothness.gap_ns;
        let _ = writeln!(
            text,
            "  gaps within replies: p50 {}, p99 {}, max {}; {:.2}% of their time in gaps over {}",
            Nanos(gap.p50),
            Nanos(gap.p99),
            Nanos(gap.max),
            smoothness.stalled_share * 100.0,
            Nanos(smoothness.stall_ns_min)
        );
    }
    http2::limits(text, result);
    if !result.protocol.is_empty() {
        let counts: Vec<String> =
            result.protocol.iter().map(|(name, &count)| format!("{} {name}", grouped(count))).collect();
        let _ = writeln!(text, "  {} (counted by the protocol, including the warm-up)", counts.join(", "));
    }
    tls::handshakes(text, result);
    let c = &result.connections;
    let _ = writeln!(
        text,
        "  {} open at the peak, {:.1} on average",
        counted(c.peak_open, "connection", "connections"),
        c.mean_open
    );
    closing(text, result);
    if c.unanswered > 0 {
        let _ = writeln!(
            text,
            "  {} of {} never got a reply: the latencies above exclude them",
            grouped(c.unanswered),
            counted(c.asked, "connection", "connections")
        );
    }
    if let Some(idle) = &result.idle {
        let _ = writeln!(
            text,
            "  {} on idle connections, {} or more on each; none was without one for longer than {:.1} s",
            counted(idle.replies, "reply", "replies"),
            grouped(idle.replies_min),
            idle.gap_max_s
        );
    }
}

/// Replies by which a server ends most of its connections, on average.
const CLOSING_REPLIES_MAX: f64 = 2.0;
/// Fewer replies say nothing about a habit.
const CLOSING_REPLIES_MIN: u64 = 10;

/// That a server keeps no connection, where that was not asked for: its rate is then one of connects too.
fn closing(text: &mut String, result: &LoadResult) {
    let (replies, closed) = (result.requests.completed, result.connections.closed_by_peer);
    let each = replies as f64 / closed.max(1) as f64;
    if closed > 0
        && replies >= CLOSING_REPLIES_MIN
        && each <= CLOSING_REPLIES_MAX
        && result.options["requests_per_connection"].is_null()
    {
        let _ = writeln!(
            text,
            "  the server closes its connections, after {each:.1} replies each: they are opened again for the next request, and the \
             rate is one of connects too"
        );
    }
}

fn samples_behind(text: &mut String, report: &Report) {
    let response = &report.recorded.response;
    if response.count() == 0 {
        return;
    }
    let _ = writeln!(text, "\n  Response time  at least   samples");
    for (name, quantile) in PERCENTILES {
        let value = response.at(quantile);
        let _ = writeln!(
            text,
            "  {name:<13}{:>10}{:>10}",
            value.to_string(),
            grouped(response.count_from(value))
        );
    }
    let _ = write!(text, "\n{}", chart::distribution(response));
}

fn connections(text: &mut String, result: &LoadResult) {
    let c = &result.connections;
    let _ = writeln!(
        text,
        "\n  Connections: {} opened, {} of them reopened, {} closed by the server, {} failed, {} retransmitted",
        grouped(c.opened),
        grouped(c.reopened),
        grouped(c.closed_by_peer),
        counted(c.connect_failures, "connect", "connects"),
        counted(c.retransmits, "segment", "segments")
    );
    if c.opening_s > 0.0 {
        let _ = writeln!(text, "  The connections were opened in {:.2} s", c.opening_s);
    }
    if c.trickled > 0 {
        let trickled = counted(c.trickled, "request", "requests");
        let _ = writeln!(text, "  {trickled} kept idle connections alive");
    }
    if result.warmup.requests > 0 {
        let _ = writeln!(
            text,
            "  Warm-up: {}, {}",
            counted(result.warmup.requests, "request", "requests"),
            counted(result.warmup.errors, "error", "errors")
        );
    }
}

fn errors(text: &mut String, result: &LoadResult) {
    if result.errors.is_empty() {
        return;
    }
    let width = result.errors.iter().map(|e| e.kind.len()).max().unwrap_or(0).max(16);
    let _ = writeln!(text, "\n  {:<10} {:<width$}{:>8}  first at", "Errors", "kind", "count");
    for e in &result.errors {
        let _ = writeln!(
            text,
            "  {:<10} {:<width$}{:>8}{:>8.2} s",
            e.phase,
            e.kind,
            grouped(e.count),
            e.first_at_s
        );
    }
    if let Some(said) = &result.server_said {
        let _ = writeln!(text, "  the server said: {said}");
    }
    let requests = &result.requests;
    let of_requests = requests.failed + (requests.completed - requests.ok);
    let others = result.error_count().saturating_sub(of_requests);
    if others > 0 && requests.attempted > 0 {
        let _ = writeln!(
            text,
            "  {} met a connection that had no request, and {} are the requests that failed or were wrong or late",
            grouped(others),
            grouped(of_requests)
        );
    }
}

fn search(text: &mut String, result: &LoadResult) {
    let Some(search) = &result.search else { return };
    if search.steps.is_empty() {
        let _ = writeln!(text, "\n  no run of the search was completed");
        return;
    }
    let _ = writeln!(text, "\n  99th percentile of response time against rate (x: not met):");
    text.push_str(&chart::curve(&search.steps));
    let _ = match search.found_rps {
        Some(rate) => writeln!(
            text,
            "  {} rps is the highest rate found that meets {}; the figures above are those of that run",
            grouped(rate.round() as u64),
            search.conditions
        ),
        None => writeln!(text, "  no rate that was tried meets {}", search.conditions),
    };
}

fn gates(text: &mut String, result: &LoadResult) {
    if !result.gates.is_empty() {
        text.push('\n');
    }
    for gate in &result.gates {
        let word = if gate.failed { "FAILED" } else { "passed" };
        let _ = writeln!(text, "  {word}: fails if {}, and {}", gate.fail_if, gate.figure);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_broken_between_words_and_keeps_its_columns() {
        assert_eq!(fitted("  a b", 80), "  a b\n");
        assert_eq!(fitted("  one two three four", 12), "  one two\n    three\n    four\n");
        assert_eq!(fitted("  of http://127.0.0.1:8080/ok", 10), "  of\n    http://127.0.0.1:8080/ok\n");
        assert_eq!(fitted("x    y", 6), "x    y\n");
    }

    #[test]
    fn a_narrow_terminal_shows_fewer_percentiles() {
        let mut result = LoadResult::default();
        result.latency_ns.response.count = 1;
        for (width, least, most) in
            [(None, 105, 105), (Some(105), 105, 105), (Some(80), 70, 80), (Some(60), 50, 60)]
        {
            let mut text = String::new();
            latencies(&mut text, &result, width);
            let widest = text.lines().map(str::len).max().unwrap();
            assert!((least..=most).contains(&widest), "{width:?}: {text}");
            assert_eq!(text.contains("p75"), width != Some(80) && width != Some(60), "{text}");
        }
    }
}
