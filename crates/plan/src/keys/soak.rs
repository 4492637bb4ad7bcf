//! The table `soak` of a plan.

use crate::soak::SoakPlan;
use crate::source::{Item, PlanError};

use super::key::{Key, Kind, Presence, apply};
use super::known::Known;

/// Keys of the table `soak`.
pub(crate) static SOAK: &[Key<SoakPlan>] = &[
    Key {
        name: "for",
        kind: Kind::Duration { positive: true, set: |s, seconds| s.for_s = Some(seconds) },
        presence: Presence::Optional,
        doc: "Time under load; `--for` overrides it.",
    },
    Key {
        name: "restart",
        kind: Kind::Choice {
            what: "a thing to do when a server dies",
            words: &["no", "yes"],
            set: |s, index| s.restart = index == 1,
        },
        presence: Presence::Default("\"no\""),
        doc: "`yes`: a server that dies is restarted, and counted. `no`: the soak ends.",
    },
    Key {
        name: "on-hang",
        kind: Kind::Choice {
            what: "a thing to do when a server hangs",
            words: &["continue", "end"],
            set: |s, index| s.ends_on_hang = index == 1,
        },
        presence: Presence::Default("\"continue\""),
        doc: "What to do when a server is up but does not reply; `--on-hang` overrides it.",
    },
    Key {
        name: "cells",
        kind: Kind::Choice {
            what: "a choice of cells",
            words: &["all", "first"],
            set: |s, index| s.first = index == 1,
        },
        presence: Presence::Default("\"all\""),
        doc: "`all`: all cells at the same time. `first`: the first cell that can be run here.",
    },
    Key {
        name: "loads",
        kind: Kind::Texts(|s, texts| s.loads = texts),
        presence: Presence::Optional,
        doc: "Additional loads, as options of `pitot load`: `[\"-c 2 -R 10 --path /big\"]`. Placeholders are those of `[load]`.",
    },
];

pub(super) fn soak(known: &mut Known<'_>, item: &Item<'_>) -> Result<SoakPlan, PlanError> {
    let section = item.section("`soak`")?;
    section.check_keys(SOAK.iter().map(|key| key.name))?;
    let mut read = SoakPlan::default();
    apply(SOAK, known, &section, &mut read)?;
    Ok(read)
}
