//! `pitot list faults`.

use pitot_fault::{Aim, FAULTS, Means, OPTIONS};
use serde_json::json;

use super::row::{Row, unavailable_text};

/// Each fault with what it does, and why it cannot be made here, if it cannot.
pub(super) fn rows() -> Vec<Row> {
    FAULTS
        .iter()
        .map(|fault| {
            let probed = (fault.probe)();
            let options: Vec<_> = OPTIONS
                .iter()
                .filter(|option| fault.takes.contains(&option.name))
                .map(|option| {
                    json!({ "name": option.name, "value": option.value, "default": option.default, "doc": option.doc })
                })
                .collect();
            Row {
                name: fault.name.into(),
                text: match &probed {
                    Ok(()) => fault.summary.into(),
                    Err(missing) => format!("{}\n    {}", fault.summary, unavailable_text(missing)),
                },
                json: json!({
                    "name": fault.name,
                    "summary": fault.summary,
                    "doc": fault.doc,
                    "aim": match fault.aim {
                        Aim::Process => "process",
                        Aim::Server => "server",
                        Aim::Path => "path",
                        Aim::Names => "names",
                        Aim::Address => "address",
                        Aim::Cpus => "cpus",
                        Aim::Directory => "directory",
                        Aim::Nothing => "nothing",
                    },
                    "options": options,
                    "for_s": fault.lasts_s,
                    "made_by": match fault.means {
                        Means::Program { .. } => Some("pitot fault"),
                        Means::Path(_) => Some("pitot fault proxy"),
                        Means::Names(_) => Some("pitot fault resolver"),
                        Means::Starter => Some("the lab"),
                        Means::Told => None,
                    },
                    "available": probed.is_ok(),
                    "cause": probed.as_ref().err().map(|missing| missing.cause.clone()),
                    "fix": probed.as_ref().err().map(|missing| missing.fix.clone()),
                }),
            }
        })
        .collect()
}
