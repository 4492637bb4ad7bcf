//! The lists `exclude`, `published` and `claim` of a plan.

use crate::claim::{Bounds, Claim};
use crate::published::{Exclusion, Published, PublishedValue};
use crate::source::{Item, PlanError, Section};

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

/// Keys of a table in `claim`.
pub(crate) static CLAIM: &[Key<Claim>] = &[
    Key {
        name: "id",
        kind: Kind::Text(|c, text| c.id = text),
        presence: Presence::Required("add its number: id = \"E1.3\""),
        doc: "Its number.",
    },
    Key {
        name: "source",
        kind: Kind::Text(|c, text| c.source = text),
        presence: Presence::Required("add who made it, and when: source = \"..., 2001\""),
        doc: "Who made it, and when.",
    },
    Key {
        name: "text",
        kind: Kind::Text(|c, text| c.text = text),
        presence: Presence::Required("add what it says: text = \"...\""),
        doc: "What it says.",
    },
    Key {
        name: "metric",
        kind: Kind::Metric(|c, name| c.metric = name),
        presence: Presence::Optional,
        doc: "The metric of the figure. Default: the plan's `metric`.",
    },
    Key {
        name: "of",
        kind: Kind::Levels(Strict::OrLeftOut, |c, levels| c.of = Some(levels)),
        presence: Presence::Optional,
        doc: "The cells that it is about, by their levels. Over several cells the figure is their geometric mean. Without it no run \
              decides the claim, and `because` says why.",
    },
    Key {
        name: "to",
        kind: Kind::Levels(Strict::OrLeftOut, |c, levels| c.to = Some(levels)),
        presence: Presence::Optional,
        doc: "If given, the figure is the ratio to the cells with these levels and otherwise the same.",
    },
    Key {
        name: "than",
        kind: Kind::Levels(Strict::OrLeftOut, |c, levels| c.than = Some(levels)),
        presence: Presence::Optional,
        doc: "If given, the ratio is divided by the one at these levels: how much a gap has widened.",
    },
    Key {
        name: "over",
        kind: Kind::Text(|c, text| c.over = Some(text)),
        presence: Presence::Optional,
        doc: "If given, the figure is the highest of the cells that differ in this factor relative to the lowest.",
    },
    Key {
        name: "figure",
        kind: Kind::Choice {
            what: "a kind of figure",
            words: &["ratio", "difference"],
            set: |c, index| c.is_difference = index == 1,
        },
        presence: Presence::Default("\"ratio\""),
        doc: "With `to`: the ratio to it, or the difference in the metric's unit.",
    },
    Key {
        name: "holds",
        kind: Kind::Structure(Shape::Bounds, |_, item, c| {
            c.holds = bounds(item)?;
            Ok(())
        }),
        presence: Presence::Optional,
        doc: "The claim holds if the whole interval of the figure lies in here: \"above 1\", \"below 0.5\", \"from 0.9 to 1.1\". Without it \
              the figure is shown, and `because` says why it decides nothing.",
    },
    Key {
        name: "reversed",
        kind: Kind::Structure(Shape::Bounds, |_, item, c| {
            c.reversed = Some(bounds(item)?);
            Ok(())
        }),
        presence: Presence::Optional,
        doc: "The claim is reversed if the whole interval lies in here. Default: everywhere outside of `holds`.",
    },
    Key {
        name: "published",
        kind: Kind::Number(|c, value| c.published = Some(value)),
        presence: Presence::Optional,
        doc: "The published figure.",
    },
    Key {
        name: "because",
        kind: Kind::Text(|c, text| c.because = text),
        presence: Presence::Optional,
        doc: "What explains it if the claim does not hold, or why no run decides it.",
    },
];

/// Reads the tables of `exclude`.
pub(super) fn exclusions(known: &mut Known<'_>, item: &Item<'_>) -> Result<Vec<Exclusion>, PlanError> {
    let mut all = Vec::new();
    for one in item.list()? {
        let section = one.section("an exclusion")?;
        let others: Vec<&str> = EXCLUSION.iter().map(|key| key.name).collect();
        let levels = levels(&section, &others, known, Strict::OrLeftOut)?;
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

/// Reads the tables of `claim`.
pub(super) fn claims(known: &mut Known<'_>, item: &Item<'_>) -> Result<Vec<Claim>, PlanError> {
    let mut all: Vec<Claim> = Vec::new();
    for one in item.list()? {
        let section = one.section("`claim`")?;
        section.check_keys(CLAIM.iter().map(|key| key.name))?;
        let mut claim = Claim { metric: known.metric.clone(), ..Claim::default() };
        apply(CLAIM, known, &section, &mut claim)?;
        check_rule(known, &section, &claim)?;
        if all.iter().any(|other| other.id == claim.id) {
            return Err(section.error_at_key(
                "id",
                format!("there are two claims `{}`", claim.id),
                "number them",
            ));
        }
        all.push(claim);
    }
    Ok(all)
}

/// Refuses a rule that decides nothing.
fn check_rule(known: &Known<'_>, section: &Section<'_>, claim: &Claim) -> Result<(), PlanError> {
    let missing = |key: &str, what: &str, fix: &str| {
        let at = if section.get(key).is_some() { key } else { "id" };
        Err(section.error_at_key(at, format!("the claim `{}` {what}", claim.id), fix))
    };
    if claim.of.is_none() {
        return match claim.because.is_empty() {
            true => missing(
                "of",
                "has no rule",
                "add of = { server = \"...\" }, or why no run decides it: because = \"...\"",
            ),
            false => Ok(()),
        };
    }
    if claim.holds == Bounds::default() && claim.because.is_empty() {
        let fix = "add holds = \"above 1\", or why that cannot be said: because = \"...\"";
        return missing("holds", "does not say when it holds", fix);
    }
    if let Some(factor) = &claim.over
        && known.factors.iter().all(|known| known.name != *factor)
    {
        return missing(
            "over",
            &format!("is over `{factor}`, which is not a factor of this plan"),
            "name a factor",
        );
    }
    let needs_to = [("than", claim.than.is_some()), ("figure", claim.is_difference)];
    match needs_to.into_iter().find(|(_, is_given)| *is_given && claim.to.is_none()) {
        Some((key, _)) => missing(key, &format!("has `{key}` without `to`"), "add to = { server = \"...\" }"),
        None if claim.over.is_some() && claim.to.is_some() => {
            missing("over", "has both `over` and `to`", "omit one of them")
        }
        None => Ok(()),
    }
}

fn bounds(item: &Item<'_>) -> Result<Bounds, PlanError> {
    let text = item.text()?;
    let fix = "write \"above 1\", \"below 0.5\" or \"from 0.9 to 1.1\"";
    Bounds::read(&text).ok_or_else(|| item.error(format!("`{}` cannot be read: {text}", item.key), fix))
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
