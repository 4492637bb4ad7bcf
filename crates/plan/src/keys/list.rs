//! The keys of plans as a list, for people and for `docs/plan-keys.md`.

use super::faults::FAULT;
use super::hosts::HOST;
use super::kernels::KERNEL;
use super::key::{Key, Kind, Presence, Shape};
use super::plan::PLAN;
use super::published::{CLAIM, EXCLUSION, PUBLISHED, PUBLISHED_VALUE};
use super::servers::EXTERNAL;
use super::soak::SOAK;

/// A key of a plan, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyInWords {
    /// The table that it stands in, as a plan writes its head; empty at the top of a plan.
    pub table: &'static str,
    /// The key itself.
    pub name: &'static str,
    /// Which values it takes.
    pub takes: String,
    /// `required`, its default as a plan writes it, or empty.
    pub default: String,
    /// What it means, in sentences.
    pub doc: &'static str,
}

/// All keys of plans, table by table.
pub fn plan_keys() -> Vec<KeyInWords> {
    let tables = [
        in_words("", PLAN),
        in_words("[servers.NAME]", EXTERNAL),
        in_words("[hosts.NAME]", HOST),
        in_words("[kernels.NAME]", KERNEL),
        in_words("[[faults]]", FAULT),
        in_words("[soak]", SOAK),
        in_words("[[exclude]]", EXCLUSION),
        in_words("[[published]]", PUBLISHED),
        in_words("[[published]] values", PUBLISHED_VALUE),
        in_words("[[claim]]", CLAIM),
    ];
    tables.into_iter().flatten().collect()
}

fn in_words<T>(table: &'static str, keys: &'static [Key<T>]) -> Vec<KeyInWords> {
    let of = |key: &Key<T>| KeyInWords {
        table,
        name: key.name,
        takes: takes(&key.kind),
        default: match key.presence {
            Presence::Required(_) => "required".to_owned(),
            Presence::Default(value) => value.to_owned(),
            Presence::Optional => String::new(),
        },
        doc: key.doc,
    };
    keys.iter().map(of).collect()
}

/// The values that a key takes.
fn takes<T>(kind: &Kind<T>) -> String {
    match kind {
        Kind::Text(_) => "a text".into(),
        Kind::Texts(_) => "a text, or a list".into(),
        Kind::Command(_) => "a command".into(),
        Kind::Variables(_) => "texts by name".into(),
        Kind::Count { least, most: i64::MAX, .. } => format!("a number from {least}"),
        Kind::Count { least, most, .. } => format!("a number from {least} to {most}"),
        Kind::Number(_) => "a number".into(),
        Kind::Duration { .. } => "a duration, such as \"500ms\"".into(),
        Kind::Share(_) => "a share, such as \"5%\" or 0.05".into(),
        Kind::Choice { words, .. } => {
            let plain = words.iter().filter(|word| !word.starts_with("SIG"));
            plain.map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(", ")
        }
        Kind::Choices { words, .. } => format!(
            "{}, or a list of them",
            words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(", ")
        ),
        Kind::Statistic(_) => "\"median\", \"trimmed-mean(1)\"".into(),
        Kind::Metric(_) => "a metric".into(),
        Kind::Metrics(_) => "a list of metrics".into(),
        Kind::Charts(_) => "a list of charts".into(),
        Kind::Cpus(_) => "CPUs, such as \"0-3,8\"".into(),
        Kind::CpusOrAll(_) => "CPUs, such as \"0-3,8\", or \"all\"".into(),
        Kind::Levels(..) => "levels".into(),
        Kind::Files(_) => "contents by path".into(),
        Kind::Ready(_) => "\"port\", { get = \"/\" }, { line = \"...\" }".into(),
        Kind::Structure(shape, _) => match shape {
            Shape::Server | Shape::Target | Shape::Load => "a table of options".into(),
            Shape::Helpers | Shape::Servers | Shape::SettingSets | Shape::Hosts | Shape::Kernels => {
                "tables by name".into()
            }
            Shape::Factors | Shape::Soak => "a table".into(),
            Shape::Bounds => "\"above 1\", \"below 0.5\", \"from 0.9 to 1.1\"".into(),
            Shape::Faults | Shape::Exclusions | Shape::Published | Shape::PublishedValues | Shape::Claims => {
                "a list of tables".into()
            }
        },
    }
}
