//! The report as one JSON object, `pitot-soak/1`, for programs.

use serde_json::{Value, json};

use super::analysis::{Analysis, LoadFigures, SubjectFigures};
use super::answer::answer;
use super::faults;
use super::page::changed;
use super::series::Series;
use super::trust::trust;
use crate::explain::Explained;
use crate::json::plain;
use crate::text::unmarked;

/// Fields may be added; these keep their meaning.
pub(super) fn render(a: &Analysis<'_>) -> String {
    let info = &a.soak.info;
    let (answer, trust) = (answer(a), trust(a));
    let object = json!({
        "schema": "pitot-soak/1",
        "soak": {
            "title": info.title,
            "version": info.version,
            "arguments": info.arguments,
            "started_unix_s": info.started_unix_s,
            "asked_s": info.asked_s,
            "loaded_s": a.loaded_s(),
            "gaps_s": a.soak.gaps_s(),
            "interval_s": info.interval_s,
            "state": a.soak.state,
            "notes": info.notes,
            "published": info.published,
        },
        "answer": unmarked(&answer.headline),
        "details": plain(&answer.details),
        "trust": {
            "grade": trust.grade.name(),
            "reasons": plain(&trust.reasons),
            "notes": plain(&trust.notes),
        },
        "host": info.machine,
        "servers": a.subjects.iter().map(server).collect::<Vec<_>>(),
        "control": a.control.iter().map(series).collect::<Vec<_>>(),
        "machine": a.machine.iter().map(series).collect::<Vec<_>>(),
        "drifts": drifts(a),
        "explanations": changed(a).iter().flat_map(Explained::json).collect::<Vec<_>>(),
        "faults": faults::json(a),
        "events": a.soak.events,
    });
    format!("{object:#}\n")
}

/// Those of all servers, and of the machine, whose server is null.
fn drifts(a: &Analysis<'_>) -> Vec<Value> {
    let of_servers = a.subjects.iter().flat_map(|subject| {
        let name = subject.subject.name.as_str();
        subject.drifts.iter().map(move |judged| judged.json(Some(name)))
    });
    of_servers.chain(a.machine_drifts.iter().map(|judged| judged.json(None))).collect()
}

fn server(subject: &SubjectFigures<'_>) -> Value {
    json!({
        "id": subject.subject.id,
        "name": subject.subject.name,
        "command": subject.subject.command,
        "deaths": subject.subject.endings.deaths,
        "restarts": subject.subject.endings.restarts,
        "loads": subject.loads.iter().map(load).collect::<Vec<_>>(),
        "series": subject.series.iter().map(series).collect::<Vec<_>>(),
    })
}

fn load(load: &LoadFigures<'_>) -> Value {
    let times = &load.response;
    let totals = &load.load.totals;
    json!({
        "id": load.load.id,
        "name": load.load.name,
        "command": load.load.command,
        "totals": totals,
        "throughput_rps": load.rate(),
        "response_ns": {
            "mean": times.mean().0,
            "p50": times.at(0.5).0,
            "p99": times.at(0.99).0,
            "p99.9": times.at(0.999).0,
            "max": times.max().0,
        },
        "errors_by_interval": load.points.iter().filter(|p| p.errors > 0).map(|p| json!([p.at_s, p.errors])).collect::<Vec<_>>(),
    })
}

fn series(series: &Series) -> Value {
    json!({ "figure": series.figure.name, "of": series.of, "points": series.points })
}
