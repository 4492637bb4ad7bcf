//! A comparison as one JSON object, `pitot-compare/1`.

use super::comparison::RunComparison;
use super::gate::Gate;
use super::within;
use super::words::{cautions, headline};
use crate::analysis::Analysis;
use crate::control;
use crate::outcome::GateOutcome;
use pitot_record::Run;
use pitot_stats::ALPHA;
use serde_json::{Value, json};

/// The comparison. Fields may be added; these keep their meaning.
pub(super) fn render(c: &RunComparison<'_>, gates: &[(Gate, GateOutcome)]) -> String {
    let run = |run: &Run| {
        json!({
            "file": run.path, "id": run.info.id, "version": run.info.version, "plan": run.plan.name,
            "started_at": run.info.started_at,
        })
    };
    let object = json!({
        "schema": "pitot-compare/1",
        "a": run(c.a),
        "b": run(c.b),
        "answer": if c.is_within { within::answer(c) } else { headline(c) },
        "doubts": if c.is_within { within::doubts(c, gates) } else { Vec::new() },
        "controls": controls(c),
        "tolerance": c.tolerance,
        "differences": c.differences,
        "cells": cells(c),
        "only_a": c.only_a,
        "only_b": c.only_b,
        "cautions": cautions(c),
        "gates": outcomes(gates),
    });
    let mut text = serde_json::to_string_pretty(&object).unwrap_or_default();
    text.push('\n');
    text
}

/// Second copies of baselines against the first.
fn controls(c: &RunComparison<'_>) -> Vec<Value> {
    let runs = if c.is_within { vec![c.b] } else { vec![c.a, c.b] };
    let of_run = |run: &Run| -> Vec<Value> {
        let controls = control::controls(&Analysis::of(run));
        let json = |x: &control::Control<'_>| json!({"run": run.info.id, "baseline": x.name, "metric": x.metric.name, "comparison": x.comparison});
        controls.iter().map(json).collect()
    };
    runs.into_iter().flat_map(of_run).collect()
}

fn cells(c: &RunComparison<'_>) -> Vec<Value> {
    c
        .pairs
        .iter()
        .enumerate()
        .map(|(i, pair)| {
            let figures: serde_json::Map<String, Value> = c
                .metrics
                .iter()
                .map(|table| {
                    let row = &table.rows[i];
                    let figure = json!({
                        "unit": table.metric.unit.symbol(), "a": row.a, "b": row.b, "comparison": row.comparison,
                        "spread_between_runs": table.between.map(|between| between.bound(ALPHA).exp()),
                        "between_runs": table.between.map(|between| json!({
                            "reference_moved": between.moved.exp(),
                            "deviation": between.deviation.exp(),
                            "observations": between.observations,
                        })),
                    });
                    (table.metric.name.to_owned(), figure)
                })
                .collect();
            json!({
                "cell": pair.label,
                "is_reference": pair.is_reference,
                "verdict_a": pair.verdict_a.name(),
                "verdict_b": pair.verdict_b.name(),
                "figures": figures,
            })
        })
        .collect()
}

fn outcomes(gates: &[(Gate, GateOutcome)]) -> Vec<Value> {
    gates
        .iter()
        .map(|(gate, outcome)| {
            json!({"gate": gate.to_string(), "outcome": outcome.word(), "reasons": outcome.reasons()})
        })
        .collect()
}
