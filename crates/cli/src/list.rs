//! `pitot list`.

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use pitot_proto::PROTOCOLS;
use pitot_serve::{MECHANISMS, MODELS, Pair, pairs};
use serde_json::{Value, json};

use crate::failure::Failure;

/// Show what there is: models, mechanisms, protocols, and which of them go together here.
#[derive(Debug, Args)]
pub(crate) struct List {
    /// What to list.
    what: What,
    /// How.
    #[arg(long, default_value = "text")]
    format: Format,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum What {
    /// Who owns a connection.
    Models,
    /// How a worker waits, and whether this kernel offers it.
    Mechanisms,
    /// What a server speaks.
    Protocols,
    /// Every model with every mechanism: usable, impossible and why, or not offered by this kernel and why.
    Pairs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Json,
}

impl List {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let rows = match self.what {
            What::Models => models(),
            What::Mechanisms => mechanisms(),
            What::Protocols => protocols(),
            What::Pairs => all_pairs(),
        };
        match self.format {
            Format::Json => {
                let json: Vec<Value> = rows.into_iter().map(|row| row.json).collect();
                println!("{:#}", Value::from(json));
            }
            Format::Text => {
                let width = rows.iter().map(|row| row.name.len()).max().unwrap_or(0);
                for row in rows {
                    println!("{:width$}  {}", row.name, row.text);
                }
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// An entry of a list, for people and for programs.
struct Row {
    name: String,
    text: String,
    json: Value,
}

fn models() -> Vec<Row> {
    let row = |m: &&'static pitot_serve::Model| Row {
        name: m.name.into(),
        text: format!("{} (workers: {})", m.summary, m.workers),
        json: json!({ "name": m.name, "summary": m.summary, "doc": m.doc, "workers": m.workers }),
    };
    MODELS.iter().map(row).collect()
}

fn mechanisms() -> Vec<Row> {
    let row = |m: &&'static pitot_serve::Mechanism| {
        let unavailable = (m.probe)().err();
        Row {
            name: m.name.into(),
            text: match &unavailable {
                None => m.summary.into(),
                Some(u) => format!("{}\n    not here: {}; to mend it: {}", m.summary, u.cause, u.cure),
            },
            json: json!({
                "name": m.name, "summary": m.summary, "doc": m.doc, "available": unavailable.is_none(),
                "cause": unavailable.as_ref().map(|u| &u.cause), "cure": unavailable.as_ref().map(|u| &u.cure),
            }),
        }
    };
    MECHANISMS.iter().map(row).collect()
}

fn protocols() -> Vec<Row> {
    let row = |p: &pitot_proto::ProtocolEntry| Row {
        name: p.name.into(),
        text: p.summary.into(),
        json: json!({ "name": p.name, "summary": p.summary, "doc": p.doc, "files": p.files }),
    };
    PROTOCOLS.iter().map(row).collect()
}

fn all_pairs() -> Vec<Row> {
    let row = |pair: Pair| {
        let (text, status, reason, cure) = match (pair.impossible, &pair.unavailable) {
            (Some(why), _) => (format!("impossible: {why}"), "impossible", Some(why.to_owned()), None),
            (None, Some(u)) => (
                format!("not here: {}; to mend it: {}", u.cause, u.cure),
                "unavailable",
                Some(u.cause.clone()),
                Some(u.cure.clone()),
            ),
            (None, None) => ("usable".to_owned(), "usable", None, None),
        };
        let (model, mechanism) = (pair.model.name, pair.mechanism.name);
        Row {
            name: format!("{model:8} {mechanism}"),
            text,
            json: json!({
                "model": model, "mechanism": mechanism, "status": status, "usable": pair.is_usable(),
                "reason": reason, "cure": cure,
            }),
        }
    };
    pairs().into_iter().map(row).collect()
}
