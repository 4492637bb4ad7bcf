//! Two results of `pitot load --json`, side by side.
//!
//! Nothing in two single loads shows how far apart equal servers are. So ratios are shown, and no interval and no difference is
//! reported.

use std::collections::BTreeSet;

use pitot_record::Unit;
use pitot_results::VerdictKind;
use pitot_results::load::LoadResult;
use serde_json::{Value, json};

use super::gate::Gate;
use super::page::{notes, sides, verdict};
use crate::document::{Block, Column, Document, Table};
use crate::findings::Answer;
use crate::number::figure;
use crate::outcome::GateOutcome;
use crate::text::sentence;

/// Samples that must lie beyond a percentile for it to be shown.
const BEYOND_MIN: f64 = 5.0;

/// A result and the file that it was read from.
#[derive(Clone, Copy, Debug)]
pub struct LoadSide<'r> {
    /// As it is shown.
    pub file: &'r str,
    /// What it holds.
    pub result: &'r LoadResult,
}

/// Two results, compared.
#[derive(Debug)]
pub struct LoadComparison<'r> {
    a: LoadSide<'r>,
    b: LoadSide<'r>,
    rows: Vec<Row>,
    /// Options and facts that differ: a name, and both values.
    differences: Vec<(String, String, String)>,
}

#[derive(Debug)]
struct Row {
    name: String,
    unit: Unit,
    a: Option<f64>,
    b: Option<f64>,
}

impl Row {
    fn ratio(&self) -> Option<f64> {
        let (a, b) = (self.a?, self.b?);
        (a > 0.0).then_some(b / a)
    }
}

impl<'r> LoadComparison<'r> {
    /// Compares `b` with `a`.
    pub fn of(a: LoadSide<'r>, b: LoadSide<'r>) -> LoadComparison<'r> {
        LoadComparison { a, b, rows: rows(a.result, b.result), differences: differences(a.result, b.result) }
    }

    /// The verdict of the second.
    pub(super) fn verdict(&self) -> VerdictKind {
        self.b.result.client.verdict.unwrap_or(VerdictKind::Valid)
    }

    pub(super) fn label(&self) -> String {
        self.b.file.to_owned()
    }

    fn row(&self, name: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.name == name)
    }

    fn lines(&self) -> [String; 2] {
        [self.a, self.b].map(|LoadSide { file, result }| {
            let started = result.started_at.get(..16).unwrap_or(&result.started_at).replace('T', " ");
            format!("{file} ({}, measured {started}, pitot {})", result.target, result.version)
        })
    }

    fn headline(&self) -> String {
        let ratio = |name: &str| Some(format!("{name} {:.2}", self.row(name)?.ratio()?));
        let known: Vec<String> =
            ["rate", "response p50", "response p99"].into_iter().filter_map(ratio).collect();
        match known.is_empty() {
            true => "There is nothing to compare: one of the loads has no reply.".to_owned(),
            false => sentence(&format!(
                "B/A: {}; two single loads cannot show whether the server is the cause",
                known.join(", ")
            )),
        }
    }

    fn cautions(&self) -> Vec<String> {
        let mut cautions = Vec::new();
        let (a, b) = (self.a.result, self.b.result);
        if a.clock_ns == b.clock_ns && a.started_at == b.started_at && !a.started_at.is_empty() {
            cautions.push("Both files hold the same load: it is compared with itself.".to_owned());
        }
        cautions.push(
            "Each side is a single load, run one after the other. Nothing shows how far apart equal servers would be, so no interval \
             and no difference is reported. To compare servers, measure them in one run: pitot run --server old=./old --server \
             new=./new --url URL."
                .to_owned(),
        );
        for (side, result) in [("A", a), ("B", b)] {
            if let Some(verdict) = result.client.verdict.filter(|verdict| *verdict != VerdictKind::Valid) {
                cautions.push(format!("{side} is {}: {}.", verdict.name(), result.client.reason));
            }
            if let Some(why) = &result.ended_early {
                cautions.push(format!("{side} ended early: {why}."));
            }
        }
        cautions
    }
}

fn rows(a: &LoadResult, b: &LoadResult) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut add = |name: String, unit: Unit, of: &dyn Fn(&LoadResult) -> Option<f64>| {
        let (a, b) = (of(a), of(b));
        if a.or(b).is_some() {
            rows.push(Row { name, unit, a, b });
        }
    };
    let counted = |n: u64| Some(n as f64);
    add("rate".into(), Unit::PerSecond, &|r| Some(r.throughput_rps));
    add("rate asked for".into(), Unit::PerSecond, &|r| r.asked_rps);
    add("received".into(), Unit::BytesPerSecond, &|r| {
        (r.duration_s > 0.0).then(|| r.bytes.received as f64 / r.duration_s)
    });
    for (kind, title) in [("response", "response"), ("first_byte", "first byte"), ("connect", "connect")] {
        let latency = |r: &LoadResult| {
            let named = r.latency_ns.named().into_iter().find(|(name, _)| *name == kind);
            named.map(|(_, latency)| *latency).filter(|latency| latency.count > 0)
        };
        for (n, (name, quantile)) in pitot_results::PERCENTILES.into_iter().enumerate() {
            let is_shown = kind == "response" || matches!(name, "p50" | "p99");
            let is_known = |count: u64| quantile <= 0.5 || count as f64 * (1.0 - quantile) >= BEYOND_MIN;
            if is_shown {
                add(format!("{title} {name}"), Unit::Nanoseconds, &|r| {
                    latency(r).filter(|l| is_known(l.count)).map(|l| l.percentiles()[n] as f64)
                });
            }
        }
        if kind == "response" {
            add("response max".into(), Unit::Nanoseconds, &|r| latency(r).map(|l| l.max as f64));
        }
    }
    add("right replies".into(), Unit::Count, &|r| counted(r.requests.ok));
    add("failed".into(), Unit::Count, &|r| counted(r.requests.failed));
    add("wrong or late".into(), Unit::Count, &|r| {
        counted(r.requests.completed.saturating_sub(r.requests.ok))
    });
    add("missed".into(), Unit::Count, &|r| r.asked_rps.and(counted(r.requests.missed)));
    add("errors".into(), Unit::Percent, &|r| r.error_share().map(|share| share * 100.0));
    let statuses: BTreeSet<u16> = a.statuses.keys().chain(b.statuses.keys()).copied().collect();
    for status in statuses {
        add(format!("status {status}"), Unit::Count, &|r| {
            counted(r.statuses.get(&status).copied().unwrap_or_default())
        });
    }
    rows
}

/// How targets, versions and options differ.
fn differences(a: &LoadResult, b: &LoadResult) -> Vec<(String, String, String)> {
    let mut found = Vec::new();
    let mut compare = |name: &str, a: &Value, b: &Value| {
        if a != b {
            let shown = |value: &Value| match value {
                Value::Null => "none".to_owned(),
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            found.push((name.to_owned(), shown(a), shown(b)));
        }
    };
    compare("target", &json!(a.target), &json!(b.target));
    compare("pitot", &json!(a.version), &json!(b.version));
    let names =
        |value: &Value| value.as_object().map(|all| all.keys().cloned().collect()).unwrap_or_default();
    let options: BTreeSet<String> =
        [&a.options, &b.options].into_iter().flat_map(|options| -> Vec<String> { names(options) }).collect();
    for name in options.iter().filter(|name| !matches!(name.as_str(), "asked" | "address")) {
        compare(name, &a.options[name], &b.options[name]);
    }
    let (asked_a, asked_b) = (&a.options["asked"], &b.options["asked"]);
    for name in ["method", "paths", "headers", "body", "cookies", "follow"] {
        compare(name, &asked_a[name], &asked_b[name]);
    }
    found
}

/// A figure of a row; a count is exact.
fn shown(value: Option<f64>, unit: Unit) -> String {
    match value {
        None => "–".to_owned(),
        Some(count) if unit == Unit::Count => pitot_meter::units::grouped(count as u64),
        Some(value) => figure(value, unit),
    }
}

pub(super) fn page(c: &LoadComparison<'_>, gates: &[(Gate, GateOutcome)]) -> Document {
    let answer = Answer { headline: c.headline(), details: Vec::new(), tiles: Vec::new() };
    let differences = match c.differences.is_empty() {
        true => Block::paragraph("The loads have the same options."),
        false => Block::list(c.differences.iter().map(|(name, a, b)| format!("{name}: {a} → {b}"))),
    };
    let rows = c.rows.iter().map(|row| {
        let ratio = row.ratio().map_or_else(|| "–".to_owned(), |ratio| format!("{ratio:.2}"));
        (row.name.clone(), vec![shown(row.a, row.unit), shown(row.b, row.unit), ratio])
    });
    let figures = Table::plain("Figures", "", ["A", "B", "B/A"].map(Column::of).to_vec(), rows);
    let mut blocks = vec![
        sides(c.lines()),
        verdict(answer, gates, c.cautions()),
        Block::section("differences", "Differences in the options", vec![differences]),
        Block::section("figures", "Figures", vec![Block::Table(figures)]),
    ];
    blocks.extend(notes(gates, &c.headline()).map(Block::Note));
    Document { title: "Comparison of two loads".into(), blocks, ..Document::default() }
}

/// As `pitot-compare-loads/1`.
pub(super) fn json(c: &LoadComparison<'_>, gates: &[(Gate, GateOutcome)]) -> String {
    let side = |LoadSide { file, result }: LoadSide<'_>| {
        json!({
            "file": file, "target": result.target, "version": result.version, "started_at": result.started_at,
            "verdict": result.client.verdict,
        })
    };
    let differences = c.differences.iter().map(|(name, a, b)| json!({ "name": name, "a": a, "b": b }));
    let figures = c.rows.iter().map(|row| {
        json!({ "name": row.name, "unit": row.unit.symbol(), "a": row.a, "b": row.b, "ratio": row.ratio() })
    });
    let outcomes = gates.iter().map(|(gate, outcome)| {
        json!({ "fail_if": gate.to_string(), "outcome": outcome.word(), "sentence": outcome.sentence(gate) })
    });
    let object = json!({
        "schema": "pitot-compare-loads/1",
        "a": side(c.a),
        "b": side(c.b),
        "answer": c.headline(),
        "interval": null,
        "differences": differences.collect::<Vec<_>>(),
        "figures": figures.collect::<Vec<_>>(),
        "cautions": c.cautions(),
        "gates": outcomes.collect::<Vec<_>>(),
    });
    let mut text = serde_json::to_string_pretty(&object).unwrap_or_default();
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use pitot_results::Latency;

    use super::*;
    use crate::compare::Gated;
    use crate::format::Format;
    use crate::reported::Reported;

    fn result(rate: f64, p99: u64, ok: u64) -> LoadResult {
        let mut result = LoadResult {
            target: "http://h/".into(),
            started_at: "2026-01-01T10:00:00.000Z".into(),
            version: "1".into(),
            throughput_rps: rate,
            duration_s: 10.0,
            options: json!({ "connections": 10, "seed": 1, "asked": { "method": "GET" } }),
            ..LoadResult::default()
        };
        result.latency_ns.response =
            Latency { count: 1000, p50: 1_000_000, p99, max: 9_000_000, ..Latency::default() };
        (result.requests.ok, result.requests.completed, result.requests.attempted) = (ok, ok, ok);
        result.client.verdict = Some(VerdictKind::Valid);
        result.statuses = [(200, ok)].into();
        result
    }

    fn compared<'r>(a: &'r LoadResult, b: &'r LoadResult) -> LoadComparison<'r> {
        LoadComparison::of(LoadSide { file: "a.json", result: a }, LoadSide { file: "b.json", result: b })
    }

    #[test]
    fn ratios_are_shown_and_no_difference_is_claimed() {
        let (a, mut b) = (result(1000.0, 4_000_000, 1000), result(500.0, 5_000_000, 900));
        b.started_at = "2026-01-01T10:01:00.000Z".into();
        (b.requests.failed, b.requests.attempted) = (100, 1000);
        b.errors = vec![pitot_results::load::ErrorRow { count: 100, ..Default::default() }];
        b.options["connections"] = json!(20);
        let compared = compared(&a, &b);
        let c = Gated { comparison: &compared, gates: Vec::new() };
        let text = c.report(Format::Terminal).unwrap();
        let row = |name: &str| {
            let line = text
                .lines()
                .find(|line| line.trim_start().starts_with(name))
                .unwrap_or_else(|| panic!("{text}"));
            line.trim_start().trim_start_matches(name).split_whitespace().collect::<Vec<_>>().join(" ")
        };
        assert_eq!(row("rate"), "1.00 k 500 0.50");
        assert_eq!(row("response p99"), "4.00 ms 5.00 ms 1.25");
        assert_eq!((row("right replies"), row("failed")), ("1,000 900 0.90".into(), "0 100 –".into()));
        assert_eq!((row("errors"), row("status 200")), ("0% 10.0% –".into(), "1,000 900 0.90".into()));
        // Of a thousand replies one lies beyond it.
        assert!(!text.contains("response p99.9") && !text.contains("missed"), "{text}");
        assert!(text.contains("connections: 10 → 20") && !text.contains("seed"), "{text}");
        assert!(text.contains("no interval and no difference") && text.contains("one after the"), "{text}");
        let json: Value = serde_json::from_str(&c.report(Format::Json).unwrap()).unwrap();
        assert_eq!((&json["schema"], &json["interval"]), (&json!("pitot-compare-loads/1"), &Value::Null));
        assert_eq!(json["figures"][0]["ratio"], 0.5);
        assert!(c.report(Format::Markdown).unwrap().contains("| rate | 1.00 k | 500 | 0.50 |"));
    }

    #[test]
    fn a_change_is_undecided_and_a_verdict_is_not() {
        let (a, mut b) = (result(1000.0, 4_000_000, 1000), result(500.0, 5_000_000, 900));
        let judge = |b: &LoadResult, gate: &str| {
            let gate: Gate = gate.parse().unwrap();
            gate.judge_loads(&compared(&a, b))
        };
        for gate in ["throughput < -5%", "p99 > 2ms", "spread > 10%"] {
            assert!(matches!(judge(&b, gate), GateOutcome::Undecided(_)), "{gate}");
        }
        assert_eq!(judge(&b, "noisy"), GateOutcome::Passed);
        b.client.verdict = Some(VerdictKind::Noisy);
        assert!(matches!(judge(&b, "noisy"), GateOutcome::Met(_)));
        b.client.verdict = Some(VerdictKind::Failed);
        assert!(matches!(judge(&b, "throughput < -5%"), GateOutcome::Met(_)));
        assert!(compared(&a, &a).cautions()[0].contains("the same load"));
        assert!(compared(&a, &b).cautions().iter().any(|caution| caution.starts_with("B is failed")));
    }
}
