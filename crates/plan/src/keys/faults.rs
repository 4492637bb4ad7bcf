//! The list `faults` of a plan.

use pitot_fault::{At, FAULTS, FaultPlan, Options, find};

use crate::source::{Item, PlanError, Section};

use super::key::{Key, Kind, Presence, apply};
use super::known::Known;

/// What a table of `faults` is read into.
pub(crate) struct Description {
    kind: String,
    at: String,
    every_s: Option<f64>,
    for_s: Option<f64>,
}

/// Keys of a table in `faults`, besides the fault's options.
pub(crate) static FAULT: &[Key<Description>] = &[
    Key {
        name: "kind",
        kind: Kind::Text(|d, text| d.kind = text),
        presence: Presence::Required("add a fault: kind = \"stop\" (`pitot list faults`)"),
        doc: "The fault (`pitot list faults`, docs/faults.md).",
    },
    Key {
        name: "at",
        kind: Kind::Text(|d, text| d.at = text),
        presence: Presence::Required("add when it begins: at = \"2s\", or at = \"random\""),
        doc: "When it begins, from the start of the measured part: a duration, or `random`, which is drawn from the seed and is \
              the same for all cells of a block. In a soak it counts time under load, and `random` covers the whole soak.",
    },
    Key {
        name: "every",
        kind: Kind::Duration { positive: true, set: |d, s| d.every_s = Some(s) },
        presence: Presence::Optional,
        doc: "Its period in a soak, from one beginning to the next; with `random`, it begins at a random time of every period. \
              An ordinary run makes it once.",
    },
    Key {
        name: "for",
        kind: Kind::Duration { positive: true, set: |d, s| d.for_s = Some(s) },
        presence: Presence::Optional,
        doc: "How long it lasts. Default: the fault's own duration.",
    },
];

/// Reads the faults.
pub(super) fn faults(known: &mut Known<'_>, item: &Item<'_>) -> Result<Vec<FaultPlan>, PlanError> {
    item.list()?.iter().map(|one| fault(known, &one.section("a fault")?)).collect()
}

fn fault(known: &mut Known<'_>, section: &Section<'_>) -> Result<FaultPlan, PlanError> {
    let mut read = Description { kind: String::new(), at: String::new(), every_s: None, for_s: None };
    apply(FAULT, known, section, &mut read)?;
    let kind = section.need("kind", "")?;
    let names: Vec<&str> = FAULTS.iter().map(|fault| fault.name).collect();
    let fault = find(&read.kind).ok_or_else(|| kind.unknown_value("a fault", &names))?;
    if !fault.means.is_made() {
        let what = format!("`{}` cannot be made; it is only recorded when it happens", fault.name);
        return Err(kind.error(what, "remove it"));
    }
    let own = FAULT.iter().map(|key| key.name);
    section.check_keys(own.clone().chain(fault.takes.iter().copied()))?;
    let at = section.need("at", "")?;
    let at = match read.at.as_str() {
        "random" => At::Random,
        _ => At::Seconds(at.duration()?),
    };
    let mut options = Vec::new();
    for option in section.items().iter().filter(|option| own.clone().all(|name| name != option.key)) {
        let value = option.need_scalar()?.to_string();
        Options::read(fault.takes, [(option.key.as_str(), value.as_str())]).map_err(|(name, why)| {
            option.error(format!("`{name} = {value}` is not valid for this fault"), why)
        })?;
        options.push((option.key.clone(), value));
    }
    let plan = FaultPlan { kind: read.kind, at, every_s: read.every_s, for_s: read.for_s, options };
    if let Some(every_s) = plan.every_s.filter(|every_s| *every_s <= plan.length_s()) {
        let what = format!("`every` is {every_s} s, and this fault lasts {} s", plan.length_s());
        return Err(section.need("every", "")?.error(what, "use a longer `every`, or a shorter `for`"));
    }
    Ok(plan)
}
