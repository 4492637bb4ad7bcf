//! A history as one JSON object, `pitot-history/1`.

use serde_json::{Value, json};

use super::gate::HistoryGate;
use super::line::{Change, Line, Point};
use super::whole::History;

/// Fields may be added; these keep their meaning.
pub(super) fn render(history: &History) -> String {
    let gate = history.gate.as_ref().map(|HistoryGate { condition, outcome }| {
        let (text, state, reasons) = (condition.to_string(), outcome.word(), outcome.reasons());
        json!({"conditions": [{"text": text, "state": state, "reasons": reasons}]})
    });
    let object = json!({
        "schema": "pitot-history/1",
        "series": history.lines.iter().map(line).collect::<Vec<_>>(),
        "left_out": history.left_out,
        "gate": gate,
    });
    format!("{object:#}\n")
}

fn line(line: &Line) -> Value {
    json!({
        "plan": line.plan,
        "cell": line.cell,
        "metric": line.metric.name,
        "unit": line.metric.unit.symbol(),
        "machine": line.machine,
        "reference": line.reference,
        "points": line.points.iter().map(point).collect::<Vec<_>>(),
        "changes": line.changes.iter().map(|one| change(line, one)).collect::<Vec<_>>(),
    })
}

fn point(point: &Point) -> Value {
    let labels: serde_json::Map<String, Value> =
        point.run.labels.iter().map(|(name, value)| (name.clone(), value.as_str().into())).collect();
    json!({
        "run": point.run.id,
        "file": point.run.file,
        "started_at": point.run.started_at,
        "version": point.run.version,
        "machine": point.run.machine,
        "labels": labels,
        "value": point.value,
        "interval": point.interval,
        "ratio_to_reference": point.ratio.as_ref().map(|ratio| ratio.value),
        "ratio_interval": point.ratio.as_ref().and_then(|ratio| ratio.interval),
    })
}

/// The size is the level after the change to that before, of the ratios to the reference if the line is of those.
fn change(line: &Line, change: &Change) -> Value {
    json!({
        "before": point(&line.points[change.at - 1]),
        "after": point(&line.points[change.at]),
        "size": change.ratio,
        "interval": [change.interval.low, change.interval.high],
        "p": change.p,
        "direction": line.tone(change).change(),
        "also_changed": change.also_changed,
    })
}
