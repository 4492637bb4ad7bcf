//! What makes a cell slower than its baseline: CPU time per request by function and by system call, from profiles.
//!
//! A profile says how the samples of a generation fall on functions; times the CPU time per request of the same slices that is the time
//! of each function per request, with all that it calls. The difference of two cells is taken generation by generation, so that it
//! has an interval (Student's t) and a p-value, which Holm's method corrects over all functions that could matter.

use crate::analysis::{Analysis, Cell};
use crate::document::{Block, Column, Entry, Table};
use crate::flames::profiles;
use crate::number::{figure, percent, signed_ns};
use crate::text::sentence;
use pitot_plan::Profiled;
use pitot_record::{Profile, Unit};
use pitot_stats::{Interval, Mean, mean};
use serde_json::{Value, json};

mod found;
mod key;
mod lacks;
#[cfg(test)]
mod tests;

pub(crate) use found::LEVEL;
use found::{AGAINST, Costs, Explanation, Whole, found, of_equal_conditions, of_equal_totals, stacks};
use key::Kind;
pub(crate) use key::{entered, entry_of};
pub(crate) use lacks::{cost, missing};

/// So many explanations are shown.
const SHOWN: usize = 8;

/// The difference of a cell to its baseline, or of a later time to an earlier one, and what explains it.
pub(crate) struct Explained {
    name: String,
    baseline: String,
    /// A request or an execution.
    each: &'static str,
    /// CPU time per request, nanoseconds.
    total: Mean,
    found: Vec<Explanation>,
    /// What makes up for a part of the difference.
    against: Option<Explanation>,
    whole: Whole,
}

/// All cells with profiles against their baselines.
pub(crate) fn explained(a: &Analysis<'_>) -> Vec<Explained> {
    a.cells.iter().filter_map(|cell| explain(a, cell)).collect()
}

fn explain(a: &Analysis<'_>, cell: &Cell<'_>) -> Option<Explained> {
    let baseline = a.run.baseline_of(cell.record)?;
    let of_baseline = a.cells.iter().find(|c| c.record.id == baseline.id);
    // Its control is the baseline once more.
    let copies = || std::iter::once(baseline).chain(a.run.control_of(baseline));
    let all: Vec<(u32, Profile)> = copies().flat_map(|copy| profiles(copy, Profiled::Cpu)).collect();
    let pairs = profiles(cell.record, Profiled::Cpu).filter_map(|(block, own)| {
        let of_baseline = all.iter().filter(|(of, _)| *of == block).map(|(_, profile)| profile);
        Some((Profile::sum(of_baseline)?, own))
    });
    Explained::of(
        a.name_of(cell),
        of_baseline.map_or_else(String::new, |cell| a.series_of(cell).to_owned()),
        each(a),
        &pairs.collect::<Vec<_>>(),
    )
}

/// What changed of a server: the second half of its profiles, oldest first, against the first, each with the one that is as far from
/// the middle of its half.
pub(crate) fn changed(name: &str, profiles: &[&Profile]) -> Option<Explained> {
    let (earlier, later) = profiles.split_at(profiles.len() / 2);
    let pairs: Vec<_> = earlier.iter().zip(later).map(|(a, b)| ((*a).clone(), (*b).clone())).collect();
    Explained::of(format!("{name}, second half"), "the first half".to_owned(), "request", &pairs)
}

impl Explained {
    /// Explains by pairs of profiles, of a baseline and of what is compared with it.
    fn of(
        name: String,
        baseline: String,
        each: &'static str,
        profiles: &[(Profile, Profile)],
    ) -> Option<Explained> {
        let costs = |(base, own): &(Profile, Profile)| Some((Costs::of(base)?, Costs::of(own)?));
        let pairs = of_equal_conditions(profiles.iter().filter_map(costs).collect());
        let differences: Vec<f64> = pairs.iter().map(|(base, own)| own.total - base.total).collect();
        let total = mean(&differences, LEVEL)?;
        let stacks = stacks(profiles);
        let (found, whole) = match total.p < 1.0 - LEVEL {
            true => (found(&pairs, total.value, Whole::Difference, &stacks), Whole::Difference),
            false => {
                let (pairs, time) = of_equal_totals(pairs);
                (found(&pairs, time, Whole::Time, &stacks), Whole::Time)
            }
        };
        let (found, against): (Vec<_>, Vec<_>) =
            found.into_iter().partition(|e| whole == Whole::Time || e.share > 0.0);
        let against = against.into_iter().next().filter(|e| -e.share >= AGAINST);
        Some(Explained { name, baseline, each, total, found, against, whole })
    }
}

impl Explanation {
    fn what(&self) -> String {
        match self.key.kind {
            Kind::Function => format!("`{}`", self.key.name),
            Kind::Call => format!("the system call `{}`", self.key.name),
            Kind::Fault => self.key.name.clone(),
            Kind::Kernel => format!("`{}` of the kernel", self.key.name),
        }
    }

    fn words(&self) -> String {
        format!("{} ({}, {})", self.what(), signed_ns(self.difference.value), percent(self.share))
    }

    fn json(&self, cell: &str, whole: Whole) -> Value {
        json!({
            "cell": cell,
            "kind": if self.key.kind == Kind::Call { "call" } else { "function" },
            "name": self.key.name,
            "per_request": self.difference.value,
            "interval": self.difference.interval,
            "share_of_difference": (whole == Whole::Difference).then_some(self.share),
            "share_of_time": (whole == Whole::Time).then_some(self.share),
            "baseline_per_request": self.times.0,
            "own_per_request": self.times.1,
            "unit": "ns",
        })
    }
}

pub(crate) fn signed_interval(of: &Interval) -> String {
    format!("[{}, {}]", signed_ns(of.low), signed_ns(of.high))
}

impl Explained {
    /// `thread takes 3.1 us more CPU time per request than loop: first of all in ...`.
    fn sentence(&self) -> String {
        let Explained { name, baseline, each, .. } = self;
        if self.whole == Whole::Time {
            let same = format!("**{name}** and **{baseline}** do not differ as a whole in these slices");
            return sentence(&match self.found.first() {
                None => format!("{same}, nor does the share of any function"),
                Some(first) => format!("{same}, but in the share of {}", first.words()),
            });
        }
        let more = if self.total.value < 0.0 { "less" } else { "more" };
        let takes = figure(self.total.value.abs(), Unit::Nanoseconds);
        let whole = format!("**{name}** takes {takes} {more} CPU time per {each} than **{baseline}**");
        match &self.found[..] {
            [] => sentence(&format!("{whole}, and no function or system call explains it")),
            [first, ..] => {
                let against = self.against.as_ref().map_or_else(String::new, |e| {
                    format!("; against that stands {} ({})", e.what(), signed_ns(e.difference.value))
                });
                sentence(&format!("{whole}: first of all in {}{against}", first.words()))
            }
        }
    }

    /// The sentence, and a table of what explains it.
    pub(crate) fn blocks(&self) -> Vec<Block> {
        std::iter::once(Block::Paragraph(self.sentence())).chain(self.table()).collect()
    }

    pub(crate) fn json(&self) -> Vec<Value> {
        self.found.iter().map(|found| found.json(&self.name, self.whole)).collect()
    }

    fn table(&self) -> Option<Block> {
        let rows = self.found.iter().take(SHOWN).map(|e| {
            let name = match e.key.kind {
                Kind::Function | Kind::Fault => e.key.name.clone(),
                Kind::Call => format!("{}(2)", e.key.name),
                Kind::Kernel => format!("{} (kernel)", e.key.name),
            };
            let difference = Entry {
                text: signed_ns(e.difference.value),
                note: signed_interval(&e.difference.interval),
                ..Entry::default()
            };
            let time = |ns: f64| Entry::from(figure(ns, Unit::Nanoseconds));
            (name, vec![difference, Entry::from(percent(e.share)), time(e.times.0), time(e.times.1)])
        });
        let share = if self.whole == Whole::Time { "of all time" } else { "share" };
        let columns = ["difference", share, "baseline", "here"].map(Column::of).to_vec();
        let table = Table::plain(&self.name, "function", columns, rows.collect::<Vec<_>>());
        (!self.found.is_empty()).then_some(Block::Table(table))
    }
}

/// What the time is of.
pub(crate) fn each(a: &Analysis<'_>) -> &'static str {
    if a.headline.is_of_commands() { "execution" } else { "request" }
}

/// For programs: `explanations`.
pub(crate) fn json(a: &Analysis<'_>) -> Vec<Value> {
    explained(a).iter().flat_map(Explained::json).collect()
}
