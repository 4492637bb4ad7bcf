//! A key as data, and how a table of keys is applied.

use crate::levels::Levels;
use crate::server::{PlanFile, Ready};
use crate::source::{Item, PlanError, Section};
use pitot_stats::Statistic;

use super::known::Known;
use super::levels::{Strict, levels};
use super::values;

/// A key of a table that is read into a `T`.
pub(crate) struct Key<T: 'static> {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind<T>,
    pub(crate) presence: Presence,
    /// For the schema and the documentation.
    pub(crate) doc: &'static str,
}

/// Whether a key is required.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    /// It is required; this says what to write.
    Required(&'static str),
    /// Its default, as a plan would spell it.
    Default(&'static str),
    /// It may be left out.
    Optional,
}

/// The type of a key's value, and the field that it sets.
pub(crate) enum Kind<T: 'static> {
    Text(fn(&mut T, String)),
    /// One text, or a list of them.
    Texts(fn(&mut T, Vec<String>)),
    /// A command: a list of arguments, or one text that is split at blanks.
    Command(fn(&mut T, Vec<String>)),
    /// Variables of an environment: a table of texts.
    Variables(fn(&mut T, Vec<(String, String)>)),
    /// A whole number within bounds.
    Count {
        least: i64,
        most: i64,
        set: fn(&mut T, i64),
    },
    Number(fn(&mut T, f64)),
    /// Seconds; greater than zero if `positive`.
    Duration {
        positive: bool,
        set: fn(&mut T, f64),
    },
    /// From 0 up to 1.
    Share(fn(&mut T, f64)),
    /// One of these words; its index is set. `what` is for errors: "an order".
    Choice {
        what: &'static str,
        words: &'static [&'static str],
        set: fn(&mut T, usize),
    },
    /// One of these words, or a list of them; their indices are set, each once.
    Choices {
        what: &'static str,
        words: &'static [&'static str],
        set: fn(&mut T, Vec<usize>),
    },
    Statistic(fn(&mut T, Statistic)),
    Metric(fn(&mut T, String)),
    Metrics(fn(&mut T, Vec<String>)),
    Charts(fn(&mut T, Vec<String>)),
    /// A list of CPUs such as `0-3,8`.
    Cpus(fn(&mut T, String)),
    /// The same, or `all`.
    CpusOrAll(fn(&mut T, String)),
    /// A table of levels.
    Levels(Strict, fn(&mut T, Levels)),
    Files(fn(&mut T, Vec<PlanFile>)),
    Ready(fn(&mut T, Ready)),
    /// A table or a list with its own reader.
    Structure(Shape, fn(&mut Known<'_>, &Item<'_>, &mut T) -> Result<(), PlanError>),
}

/// The shape of a value with its own reader, for the schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Options of `pitot serve` that all cells share.
    Server,
    /// Settings of targets.
    Target,
    /// Options of `pitot load`, or of the program that runs instead.
    Load,
    /// Helpers by name.
    Helpers,
    /// Servers by name.
    Servers,
    /// Settings of the host, by the name of their set.
    SettingSets,
    /// Hosts by name, each read by `HOST`.
    Hosts,
    /// Kernels by name, each read by `KERNEL`.
    Kernels,
    /// Factors and their levels.
    Factors,
    /// A list of tables that are read by `FAULT`, with options of the fault.
    Faults,
    /// A table that is read by `SOAK`.
    Soak,
    /// A list of tables that are read by `EXCLUSION`, with levels.
    Exclusions,
    /// A list of tables that are read by `PUBLISHED`.
    Published,
    /// A list of tables that are read by `PUBLISHED_VALUE`, with levels.
    PublishedValues,
    /// A list of tables that are read by `CLAIM`.
    Claims,
    /// A range of figures.
    Bounds,
}

/// Reads the keys of a section into `target`, in the order of the table. The caller handles other keys.
pub(crate) fn apply<T>(
    keys: &[Key<T>],
    known: &mut Known<'_>,
    section: &Section<'_>,
    target: &mut T,
) -> Result<(), PlanError> {
    for key in keys {
        match (section.get(key.name), key.presence) {
            (Some(item), _) => key.kind.read(known, &item, target)?,
            (None, Presence::Required(fix)) => drop(section.need(key.name, fix)?),
            (None, Presence::Default(_) | Presence::Optional) => {}
        }
    }
    Ok(())
}

impl<T> Kind<T> {
    fn read(&self, known: &mut Known<'_>, item: &Item<'_>, target: &mut T) -> Result<(), PlanError> {
        match self {
            Kind::Text(set) => set(target, item.text()?),
            Kind::Texts(set) => set(target, item.texts()?),
            Kind::Command(set) => set(target, values::command(item)?),
            Kind::Variables(set) => set(target, values::variables(item)?),
            Kind::Count { least, most, set } => set(target, item.integer(*least, *most)?),
            Kind::Number(set) => set(target, item.number()?),
            Kind::Duration { positive, set } => {
                let seconds = item.duration()?;
                if *positive && seconds <= 0.0 {
                    let what = format!("`{}` must be greater than zero", item.key);
                    return Err(item.error(what, "write \"2s\", for example"));
                }
                set(target, seconds);
            }
            Kind::Share(set) => set(target, item.share()?),
            Kind::Choice { what, words, set } => {
                let text = item.text()?;
                let index = words.iter().position(|word| *word == text);
                set(target, index.ok_or_else(|| item.unknown_value(what, words))?);
            }
            Kind::Choices { what, words, set } => {
                let index = |item: &Item<'_>| {
                    let text = item.text()?;
                    let known = words.iter().position(|word| *word == text);
                    known.ok_or_else(|| item.unknown_value(what, words))
                };
                let mut chosen = match item.text() {
                    Ok(_) => vec![index(item)?],
                    Err(_) => item.list()?.iter().map(index).collect::<Result<_, _>>()?,
                };
                chosen.sort_unstable();
                chosen.dedup();
                set(target, chosen);
            }
            Kind::Statistic(set) => set(target, values::statistic(item)?),
            Kind::Metric(set) => {
                set(target, values::metric(item, known.catalog)?);
            }
            Kind::Metrics(set) => {
                let metrics = item.list()?;
                let name = |metric: &Item<'_>| values::metric(metric, known.catalog);
                set(target, metrics.iter().map(name).collect::<Result<_, _>>()?);
            }
            Kind::Charts(set) => {
                let charts = item.list()?;
                let name = |chart: &Item<'_>| values::one_of(chart, "a chart", &known.catalog.charts);
                set(target, charts.iter().map(name).collect::<Result<_, _>>()?);
            }
            Kind::Cpus(set) => set(target, values::cpu_list(item)?),
            Kind::CpusOrAll(set) => set(target, values::cpu_list_or_all(item)?),
            Kind::Levels(strict, set) => {
                let section = item.section(format!("`{}`", item.key))?;
                set(target, levels(&section, &[], known, *strict)?);
            }
            Kind::Files(set) => set(target, values::files(item)?),
            Kind::Ready(set) => set(target, values::ready(item)?),
            Kind::Structure(_, read) => read(known, item, target)?,
        }
        Ok(())
    }
}
