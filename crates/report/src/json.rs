//! The report as one JSON object, `pitot-report/1`, for programs.

use crate::amount::{generations, slice_s};
use crate::analysis::{Analysis, Standing};
use crate::claims::{Conclusion, conclusions};
use crate::control::{controls, steal};
use crate::counts;
use crate::errors::{ErrorRow, of_cell};
use crate::explain;
use crate::faults::effect;
use crate::findings::{Answer, answer, findings};
use crate::floor::times;
use crate::page::Question;
use crate::published::published;
use crate::text::unmarked;
use crate::trust::{Grade, trust};
use pitot_fault::Effect;
use pitot_record::{CellRecord, HostRecord, METRICS};
use serde_json::{Map, Value, json};

/// Fields may be added; these keep their meaning.
pub(crate) fn render(a: &Analysis<'_>, questions: &[Question<'_>]) -> String {
    let run = a.run;
    let answers: Vec<Answer> = questions.iter().map(|q| answer(q.analysis)).collect();
    let said = |index: usize| match questions[index].asked {
        "" => unmarked(&answers[index].headline),
        asked => format!("{asked}: {}", unmarked(&answers[index].headline)),
    };
    let trust = trust(a);
    let skips: Vec<Value> =
        run.skips.iter().map(|s| json!({"factors": s.factors, "reason": s.reason})).collect();
    let mut object = json!({
        "schema": "pitot-report/1",
        "run": {
            "id": run.info.id,
            "version": run.info.version,
            "command_line": run.info.command_line,
            "started_at": run.info.started_at,
            "ended_at": run.info.ended_at,
            "complete": run.is_complete(),
            "seed": run.info.seed,
        },
        "plan": {
            "name": run.plan.name,
            "title": run.plan.title,
            "question": run.plan.question,
            "metric": a.headline.name,
            "repetitions": run.plan.repetitions,
            "generations": run.is_sliced().then(|| generations(run)),
            "slices": run.is_sliced().then_some(run.plan.slices),
            "slice_s": slice_s(run),
            "statistic": run.plan.statistic.to_string(),
            "tolerance": run.plan.tolerance,
        },
        "answer": (0..answers.len()).map(said).collect::<Vec<_>>().join(" "),
        "details": answers.iter().flat_map(|answer| plain(&answer.details)).collect::<Vec<_>>(),
        "findings": questions.iter().flat_map(|q| plain(&findings(q.analysis))).collect::<Vec<_>>(),
        "trust": {
            "grade": trust.grade.name(),
            "trusted": trust.grade != Grade::Untrusted,
            "reasons": plain(&trust.reasons),
            "notes": plain(&trust.notes),
        },
        "control": controls_of(a),
        "steal_share": steal(run),
        "parts": parts(questions, &answers),
        "cells": questions.iter().flat_map(|q| cells(q.analysis)).collect::<Vec<_>>(),
        "faults": faults_of(a),
        "skipped": skips,
        "published": published_values(a),
        "conclusions": conclusions(a).iter().map(Conclusion::json).collect::<Vec<_>>(),
        "explanations": explain::json(a),
        "counts": counts::json(a),
        "host": run.host_before,
        "host_changes": run.host_changes,
        "hosts": hosts_of(a),
    });
    if let Some(floor) = &run.floor {
        object["floor"] = json!(floor);
    }
    let mut text = serde_json::to_string_pretty(&object).unwrap_or_default();
    text.push('\n');
    text
}

/// The parts of a run that has several.
fn parts(questions: &[Question<'_>], answers: &[Answer]) -> Vec<Value> {
    let part = |(question, answer): (&Question<'_>, &Answer)| {
        json!({
            "asked": question.asked,
            "answer": unmarked(&answer.headline),
            "details": plain(&answer.details),
            "findings": plain(&findings(question.analysis)),
        })
    };
    questions.iter().zip(answers).filter(|(question, _)| !question.asked.is_empty()).map(part).collect()
}

/// Every fault of every repetition, with what its clients saw.
fn faults_of(a: &Analysis<'_>) -> Vec<Value> {
    let mut all = Vec::new();
    for cell in &a.run.cells {
        let factors = factors(cell);
        for repetition in &cell.repetitions {
            let start = repetition.load.as_ref().map_or(0, |load| load.clock_ns.start);
            let seconds = |at: u64| (at > 0 && start > 0).then(|| (at as f64 - start as f64) / 1e9);
            for (index, fault) in repetition.faults.iter().enumerate() {
                let seen = effect(repetition, index);
                all.push(json!({
                    "factors": factors,
                    "block": repetition.block,
                    "number": fault.number,
                    "kind": fault.kind,
                    "what": fault.what,
                    "made": fault.was_made(),
                    "due_s": fault.due_s,
                    "began_s": seconds(fault.began_ns),
                    "ended_s": seconds(fault.ended_ns),
                    "server_died": fault.server_died,
                    "service": seen.as_ref().map(|seen| json!(seen.service)),
                    "errors": seen.as_ref().map(errors_of),
                    "errors_before": seen.as_ref().map(|seen| seen.errors_before),
                }));
            }
        }
    }
    all
}

fn factors(cell: &CellRecord) -> Map<String, Value> {
    cell.factors.iter().map(|f| (f.name.clone(), json!(f.level))).collect()
}

/// The errors that clients saw of a fault, by phase and kind.
pub(crate) fn errors_of(effect: &Effect) -> Value {
    let error =
        |(phase, kind, count): &(String, String, u64)| json!({"phase": phase, "kind": kind, "count": count});
    effect.errors.iter().map(error).collect()
}

fn cells(a: &Analysis<'_>) -> Vec<Value> {
    let comparisons: Vec<_> = METRICS.iter().map(|m| a.against_baseline(m)).collect();
    a.cells
        .iter()
        .enumerate()
        .map(|(position, cell)| {
            let mut figures = Map::new();
            for (index, metric) in METRICS.iter().enumerate() {
                let Some(e) = cell.estimates[index].as_ref().filter(|_| !cell.failed()) else { continue };
                let mut figure = json!({
                    "unit": metric.unit.symbol(),
                    "value": e.value,
                    "interval": e.interval,
                    "min": e.min,
                    "max": e.max,
                    "repetitions": e.repetitions,
                });
                if let Some(comparison) = &comparisons[index][position] {
                    figure["against_baseline"] = json!(comparison);
                }
                figures.insert(metric.name.to_owned(), figure);
            }
            let standing = match cell.standing {
                Standing::Best => "best",
                Standing::Level => "no-difference-from-best",
                Standing::Behind => "behind",
                Standing::Unknown => "unknown",
            };
            let mut object = json!({
                "factors": factors(cell.record),
                "verdict": {"kind": cell.verdict.kind.name(), "reason": cell.verdict.reason},
                "repetitions": {"total": cell.record.repetitions.len(), "failed": cell.record.failures().count()},
                "measure": cell.record.measure,
                "fresh_reason": cell.record.fresh_reason,
                "standing": standing,
                "figures": figures,
                "errors": errors_of_cell(cell.record),
                "server_command": cell.record.server_command,
                "load_command": cell.record.load_command,
            });
            if let Some(times) = times(a, cell) {
                object["times_the_floor"] = json!(times);
            }
            object
        })
        .collect()
}

/// The hosts other than the lab's own, with their clocks.
fn hosts_of(a: &Analysis<'_>) -> Vec<Value> {
    let host = |host: &HostRecord| {
        json!({
            "name": host.name,
            "does": host.does,
            "clock_offset_ns": host.clock_offset_ns,
            "clock_error_ns": host.clock_error_ns,
            "round_trip_ns": host.round_trip_ns,
            "facts": host.facts,
            "changes": crate::hosts::changes(host),
        })
    };
    a.run.hosts.iter().map(host).collect()
}

/// The errors of a cell by phase and kind, over its repetitions.
fn errors_of_cell(record: &CellRecord) -> Vec<Value> {
    let error = |row: ErrorRow| json!({"phase": row.phase, "kind": row.kind, "count": row.count, "share": row.share, "repetitions": row.of.0});
    of_cell(record).into_iter().map(error).collect()
}

/// The controls; empty without slices.
fn controls_of(a: &Analysis<'_>) -> Vec<Value> {
    let of_control = |control: crate::control::Control<'_>| {
        let c = &control.comparison;
        json!({
            "factors": factors(control.baseline),
            "metric": control.metric.name,
            "ratio": c.ratio,
            "low": c.interval.map(|i| i.low),
            "high": c.interval.map(|i| i.high),
            "generations": c.repetitions,
            "p": c.p_alone,
            "decision": c.decision,
            "told_apart": control.has_failed(),
        })
    };
    controls(a).into_iter().map(of_control).collect()
}

fn published_values(a: &Analysis<'_>) -> Vec<Value> {
    let mut values = Vec::new();
    for table in published(a) {
        for row in &table.rows {
            let measured = row
                .measured
                .map(|m| json!({"value": m.value, "low": m.low, "high": m.high, "cells": m.cells}));
            values.push(json!({
                "source": table.source.source,
                "year": table.source.year,
                "metric": table.metric.name,
                "ratio": table.is_ratio(),
                "label": row.label,
                "published": row.published,
                "measured": measured,
            }));
        }
    }
    values
}

/// Sentences without the marks of names.
pub(crate) fn plain(sentences: &[String]) -> Vec<String> {
    sentences.iter().map(|sentence| unmarked(sentence)).collect()
}
