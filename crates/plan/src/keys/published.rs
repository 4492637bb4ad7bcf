//! The lists `exclude` and `published` of a plan.

use crate::published::{Exclusion, Published, PublishedValue};
use crate::source::{Item, PlanError};

use super::key::{Key, Kind, Presence, Shape, apply};
use super::known::Known;
use super::levels::{Strict, levels};

/// Keys of a table in `exclude`, besides levels.
pub(crate) static EXCLUSION: &[Key<Exclusion>] = &[Key {
    name: "reason",
    kind: Kind::Text(|e, text| e.reason = text),
    presence: Presence::Required("add reason = \"...\""),
    doc: "Why it is left out.",
}];

/// Keys of a table in `published`.
pub(crate) static PUBLISHED: &[Key<Published>] = &[
    Key {
        name: "source",
        kind: Kind::Text(|p, text| p.source = text),
        presence: Presence::Required("add who published it: source = \"...\""),
        doc: "Who published it.",
    },
    Key {
        name: "year",
        kind: Kind::Count { least: 1900, most: 2200, set: |p, year| p.year = year as i32 },
        presence: Presence::Required("add when it was published: year = 2001"),
        doc: "When.",
    },
    Key {
        name: "title",
        kind: Kind::Text(|p, text| p.title = text),
        presence: Presence::Optional,
        doc: "What was measured, on which machine.",
    },
    Key {
        name: "metric",
        kind: Kind::Metric(|p, name| p.metric = name),
        presence: Presence::Optional,
        doc: "The metric of the values. Default: the plan's `metric`.",
    },
    Key {
        name: "ratio-to",
        kind: Kind::Levels(Strict::Words, |p, levels| p.ratio_to = Some(levels)),
        presence: Presence::Optional,
        doc: "If given, the values are ratios to the cell with these levels.",
    },
    Key {
        name: "values",
        kind: Kind::Structure(Shape::PublishedValues, |known, item, p| {
            p.values = values(known, item)?;
            Ok(())
        }),
        presence: Presence::Required("add values = [{ server = \"...\", value = 1.5 }]"),
        doc: "The figures, each with its levels. Numbers need not be levels of the plan.",
    },
];

/// Keys of an element of `published.values`, besides levels.
pub(crate) static PUBLISHED_VALUE: &[Key<PublishedValue>] = &[Key {
    name: "value",
    kind: Kind::Number(|v, value| v.value = value),
    presence: Presence::Required("add the figure: value = 1.5"),
    doc: "The figure in the metric's unit (seconds, bytes, per second, percent), or a ratio.",
}];

/// Reads the tables of `exclude`.
pub(super) fn exclusions(known: &mut Known<'_>, item: &Item<'_>) -> Result<Vec<Exclusion>, PlanError> {
    let mut all = Vec::new();
    for one in item.list()? {
        let section = one.section("an exclusion")?;
        let others: Vec<&str> = EXCLUSION.iter().map(|key| key.name).collect();
        let levels = levels(&section, &others, known, Strict::All)?;
        let mut exclusion = Exclusion { levels, ..Exclusion::default() };
        apply(EXCLUSION, known, &section, &mut exclusion)?;
        all.push(exclusion);
    }
    Ok(all)
}

/// Reads the tables of `published`.
pub(super) fn published(known: &mut Known<'_>, item: &Item<'_>) -> Result<Vec<Published>, PlanError> {
    let mut all = Vec::new();
    for one in item.list()? {
        let section = one.section("`published`")?;
        section.check_keys(PUBLISHED.iter().map(|key| key.name))?;
        let mut published = Published { metric: known.metric.clone(), ..Published::default() };
        apply(PUBLISHED, known, &section, &mut published)?;
        all.push(published);
    }
    Ok(all)
}

fn values(known: &mut Known<'_>, item: &Item<'_>) -> Result<Vec<PublishedValue>, PlanError> {
    let mut all = Vec::new();
    for one in item.list()? {
        let section = one.section("a published value")?;
        let others: Vec<&str> = PUBLISHED_VALUE.iter().map(|key| key.name).collect();
        let levels = levels(&section, &others, known, Strict::Words)?;
        let mut value = PublishedValue { levels, ..PublishedValue::default() };
        apply(PUBLISHED_VALUE, known, &section, &mut value)?;
        all.push(value);
    }
    Ok(all)
}
