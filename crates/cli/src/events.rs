//! `--events`: events of a run or a soak, one JSON object per line (docs/events.md).

use std::io::Write;
use std::path::Path;
use std::time::SystemTime;

use pitot_lab::{Event, Step};
use pitot_meter::Histogram;
use pitot_record::file::Moment;
use pitot_record::soak::{Event as Happened, Interval, Load, Reading, Subject};
use pitot_record::{CellRecord, METRICS, Repetition};
use pitot_results::secrets::{Secrets, mask_option};
use pitot_results::{Failure, rfc3339, visible};
use serde_json::{Map, Value, json};

use crate::output::{create, is_stdout, not_written};

/// The layout of the events.
const SCHEMA: &str = "pitot-events/1";

/// Where events are written.
pub(crate) struct Events {
    out: Box<dyn Write>,
    secrets: Secrets,
    /// The first failure; nothing is written after it.
    failed: Option<std::io::Error>,
    /// The first event names the layout of all.
    is_first: bool,
    /// Nothing else may go to standard output.
    pub(crate) are_on_stdout: bool,
}

impl Events {
    /// Opens the output, before the run.
    pub(crate) fn create(path: &Path, secrets: Secrets) -> Result<Events, Failure> {
        Ok(Events {
            out: create(path)?,
            secrets,
            failed: None,
            is_first: true,
            are_on_stdout: is_stdout(path),
        })
    }

    /// Writes an event.
    pub(crate) fn write(&mut self, event: &Event<'_>) {
        if self.failed.is_some() {
            return;
        }
        let at = rfc3339(SystemTime::now());
        let Some(mut object) = shown(event, &at) else { return };
        if std::mem::take(&mut self.is_first) {
            object["schema"] = json!(SCHEMA);
        }
        let line = self.secrets.hide(&object.to_string()).into_owned();
        let written = writeln!(self.out, "{}", visible(&line)).and_then(|()| self.out.flush());
        self.failed = written.err().filter(|e| e.kind() != std::io::ErrorKind::BrokenPipe);
    }

    /// # Errors
    /// If an event could not be written.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        self.failed.map_or(Ok(()), |e| Err(not_written("the events", &e)))
    }
}

/// An event as an object, if it is written.
fn shown(event: &Event<'_>, at: &str) -> Option<Value> {
    let mut object = Map::new();
    let mut put = |name: &str, value: Value| {
        object.insert(name.to_owned(), value);
    };
    let (name, more) = match event {
        Event::Trying(step) => ("trying", of_step(step)),
        Event::GivenUp { step, tried } => {
            let mut more = of_step(step);
            more["verdict"] = verdict(tried);
            ("given-up", more)
        }
        Event::Started { file, run, cells } => {
            let cells: Vec<Value> = (0..).zip(*cells).map(of_cell).collect();
            ("started", json!({"file": file, "run": run, "cells": cells}))
        }
        Event::Begun(step) => ("begun", of_step(step)),
        Event::Measured { step, repetitions } => {
            let mut more = of_step(step);
            more["repetitions"] = repetitions.iter().map(of_repetition).collect();
            ("measured", more)
        }
        Event::SoakBegun { file, run, subjects, loads } => {
            let loads_of = |subject: i64| loads.iter().filter(move |load| load.subject == subject);
            let load = |load: &Load| json!({"load": load.id, "name": load.name, "command": load.command});
            let server = |server: &Subject| {
                json!({
                    "server": server.id, "name": server.name, "command": server.command,
                    "loads": loads_of(server.id).map(load).collect::<Vec<_>>(),
                })
            };
            let servers: Vec<Value> = subjects.iter().map(server).collect();
            ("started", json!({"file": file, "run": run, "servers": servers}))
        }
        Event::Recorded(moment) => ("recorded", of_moment(moment)?),
        Event::Status(_) => return None,
        Event::Warning(sentence) => ("warning", json!({"text": sentence})),
        Event::Finished(outcome) => (
            "finished",
            json!({"state": outcome.state.word(), "failed": outcome.failed, "file": outcome.path}),
        ),
    };
    put("event", json!(name));
    put("at", json!(at));
    if let Value::Object(more) = more {
        object.extend(more);
    }
    Some(Value::Object(object))
}

/// A moment of a soak, if anything happened in it.
fn of_moment(moment: &Moment) -> Option<Value> {
    let mut object = Map::new();
    let mut put = |name: &str, list: Vec<Value>| {
        if !list.is_empty() {
            object.insert(name.to_owned(), list.into());
        }
    };
    put("intervals", moment.intervals.iter().map(of_interval).collect());
    let reading = |r: &Reading| json!({"server": r.subject, "metric": r.metric, "mean": r.mean, "from_s": r.start_s, "length_s": r.length_s});
    put("readings", moment.readings.iter().map(reading).collect());
    let happened = |e: &Happened| {
        json!({
            "kind": e.kind, "server": e.subject, "from_s": e.at_s, "until_s": e.until_s, "text": e.sentence,
            "evidence": e.evidence,
        })
    };
    put("events", moment.events.iter().map(happened).collect());
    put("faults", moment.faults.iter().map(|fault| json!(fault)).collect());
    put("losses", moment.losses.iter().map(|loss| json!(loss)).collect());
    if object.is_empty() {
        return None;
    }
    object.insert("now_s".to_owned(), json!(moment.now_s));
    Some(Value::Object(object))
}

fn of_interval(interval: &Interval) -> Value {
    let times = Histogram::decode(&interval.response).unwrap_or_default();
    let at = |quantile: f64| (times.count() > 0).then(|| times.at(quantile).0);
    json!({
        "load": interval.load, "from_s": interval.start_s, "length_s": interval.length_s,
        "completed": interval.completed, "errors": interval.errors, "missed": interval.missed,
        "received": interval.received, "open": interval.open, "p50_ns": at(0.5), "p99_ns": at(0.99),
    })
}

fn of_step(step: &Step<'_>) -> Value {
    json!({"step": step.number, "steps": step.total, "label": label(step), "left_s": step.left_s})
}

fn of_cell((number, cell): (usize, &CellRecord)) -> Value {
    let factors: Map<String, Value> = cell.factors.iter().map(|f| (f.name.clone(), json!(f.level))).collect();
    json!({
        "cell": number, "factors": factors, "measure": cell.measure,
        "is_control": cell.control_of.is_some(), "measured": cell.repetitions.len(),
    })
}

fn of_repetition((cell, repetition): &(usize, Repetition)) -> Value {
    let values =
        METRICS.iter().filter_map(|metric| Some((metric.name.to_owned(), json!(metric.of(repetition)?))));
    json!({
        "cell": cell, "block": repetition.block, "host": repetition.host,
        "verdict": verdict(repetition), "metrics": values.collect::<Map<_, _>>(),
    })
}

fn verdict(repetition: &Repetition) -> Value {
    json!({"kind": repetition.verdict.kind.name(), "reason": repetition.verdict.reason})
}
/// A label whose levels may be URLs and headers.
pub(crate) fn label(step: &Step<'_>) -> String {
    let levels: Vec<_> = step.label.split(", ").map(|level| mask_option("header", level)).collect();
    levels.join(", ")
}
