use pitot_meter::units::{counted, grouped};

use super::super::judge::absent;
use super::super::rule::{Fix, Verdict};
use crate::facts::{Demand, Facts};

/// A figure of the machine that has to be large enough for what is asked of it.
pub(super) struct Figure {
    /// What it counts.
    pub(super) unit: Unit,
    /// What it has to be at least; 0 where it does not matter.
    pub(super) wanted: fn(&Facts, &Demand) -> u64,
    /// What it is; `None` where it cannot be seen.
    pub(super) found: fn(&Facts, &Demand) -> Option<u64>,
    /// How to fix it, from the wanted figure.
    pub(super) fix: fn(&Facts, u64) -> String,
}

impl Figure {
    /// What to say of it: of several demands the one that is missed by most counts.
    pub(super) fn judge(&self, facts: &Facts) -> Verdict {
        let of_demand = |demand: &Demand| {
            let (wanted, found) = ((self.wanted)(facts, demand), (self.found)(facts, demand));
            (wanted > 0).then_some((wanted, found))
        };
        // How much more there is than is wanted, or how much less.
        let spare =
            |(wanted, found): &(u64, Option<u64>)| i128::from(found.unwrap_or(*wanted)) - i128::from(*wanted);
        let Some((wanted, found)) = facts.asked.iter().filter_map(of_demand).min_by_key(spare) else {
            return absent("not needed");
        };
        let shown = self.unit.show(wanted);
        match found {
            None => Verdict::Unknown { why: format!("unknown; wanted: {shown}") },
            Some(found) if found >= wanted => {
                Verdict::Fine { found: format!("{}, and {shown} wanted", self.unit.show(found)) }
            }
            Some(found) => {
                let fix = Fix { settings: Vec::new(), by_hand: (self.fix)(facts, wanted) };
                Verdict::Wrong { found: self.unit.show(found), wanted: shown, fix }
            }
        }
    }
}

/// What a figure counts.
#[derive(Clone, Copy)]
pub(super) enum Unit {
    /// Things.
    Count,
    /// Bytes.
    Bytes,
    /// Pages of memory.
    Pages,
}

impl Unit {
    pub(super) fn show(self, figure: u64) -> String {
        match self {
            Unit::Count => grouped(figure),
            Unit::Bytes if figure >= 10 << 30 => format!("{} GiB", figure.div_ceil(1 << 30)),
            Unit::Bytes => format!("{} MiB", grouped(figure.div_ceil(1 << 20))),
            Unit::Pages => counted(figure, "page", "pages"),
        }
    }
}
