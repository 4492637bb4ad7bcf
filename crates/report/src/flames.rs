//! The flame graph of a cell, from its profiles, and how it differs from the baseline's.

use std::collections::BTreeMap;

use crate::document::Flame;
use crate::number::{figure, percent, signed_ns};
use pitot_meter::stack::{Frame, frames};
use pitot_record::{CellRecord, Profile, Repetition, Unit};
use pitot_results::VerdictKind;

/// What takes a smaller share of the time is not shown.
const SHARE_MIN: f64 = 0.003;
/// Deeper stacks are cut off.
const DEPTH_MAX: usize = 100;

/// The profiles of a cell, by generation.
pub(crate) fn profiles(cell: &CellRecord) -> impl Iterator<Item = (u32, &Profile)> {
    let good = |r: &&Repetition| r.verdict.kind != VerdictKind::Failed;
    cell.repetitions.iter().filter(good).filter_map(|r| Some((r.block, r.profile.as_ref()?)))
}

/// The function of a frame without its module; of a frame without a name its module.
pub(crate) fn function(frame: Frame<'_>) -> String {
    match frame.is_named() {
        true => frame.function.to_owned(),
        false => format!("{} (no symbols)", frame.module),
    }
}

/// Time per request of a function below its callers, nanoseconds.
#[derive(Debug, Default)]
struct Node {
    ns: f64,
    calls: BTreeMap<String, Node>,
}

impl Node {
    /// The mean over the generations of a cell; none without profiles.
    fn of(cell: &CellRecord) -> Option<Node> {
        let profiles: Vec<(&Profile, f64)> =
            profiles(cell).filter_map(|(_, profile)| Some((profile, profile.sample_ns()?))).collect();
        let mut root = Node::default();
        for (profile, each) in &profiles {
            for (stack, count) in &profile.stacks {
                let ns = each * *count as f64 / profiles.len() as f64;
                let mut node = &mut root;
                node.ns += ns;
                for frame in frames(stack).take(DEPTH_MAX) {
                    node = node.calls.entry(function(frame)).or_default();
                    node.ns += ns;
                }
            }
        }
        (!profiles.is_empty()).then_some(root)
    }

    /// Visits all below this one, each with its name and whether none of its callers has that too.
    fn visit<'n>(&'n self, callers: &mut Vec<&'n str>, look: &mut dyn FnMut(&str, bool, &Node)) {
        for (name, call) in &self.calls {
            look(name, !callers.contains(&name.as_str()), call);
            callers.push(name);
            call.visit(callers, look);
            callers.pop();
        }
    }

    fn flame(&self, name: &str, all_ns: f64, other: Option<&Node>, is_compared: bool) -> Flame {
        let share = self.ns / all_ns;
        let change_ns = if is_compared { self.ns - other.map_or(0.0, |other| other.ns) } else { 0.0 };
        let mut note = format!("{}, {}", figure(self.ns, Unit::Nanoseconds), percent(share));
        if is_compared {
            note.push_str(&format!(", {}", signed_ns(change_ns)));
        }
        let mut calls: Vec<Flame> = self
            .calls
            .iter()
            .filter(|(_, call)| call.ns >= SHARE_MIN * all_ns)
            .map(|(name, call)| call.flame(name, all_ns, other.and_then(|o| o.calls.get(name)), is_compared))
            .collect();
        calls.sort_by(|x, y| y.share.total_cmp(&x.share));
        Flame { name: name.to_owned(), share, note, change: change_ns / all_ns, calls }
    }
}

/// The functions in which a cell spends most of its time, and that time: in the function alone, and with what it calls.
pub(crate) fn hottest(cell: &CellRecord) -> Vec<Hot> {
    let Some(root) = Node::of(cell) else { return Vec::new() };
    let mut all: BTreeMap<String, Hot> = BTreeMap::new();
    root.visit(&mut Vec::new(), &mut |name, is_outermost, node| {
        let hot =
            all.entry(name.to_owned()).or_insert_with(|| Hot { name: name.to_owned(), ..Hot::default() });
        hot.own_ns += node.ns - node.calls.values().map(|call| call.ns).sum::<f64>();
        // A function that calls itself counts once.
        hot.with_calls_ns += if is_outermost { node.ns } else { 0.0 };
        hot.share = hot.own_ns / root.ns;
    });
    let mut all: Vec<Hot> = all.into_values().collect();
    all.sort_by(|x, y| y.own_ns.total_cmp(&x.own_ns));
    all
}

/// A function and its time per request, nanoseconds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hot {
    pub(crate) name: String,
    pub(crate) own_ns: f64,
    pub(crate) with_calls_ns: f64,
    /// Of all time, alone.
    pub(crate) share: f64,
}

/// The flame graph of a cell, coloured by how it differs from the baseline if there is one; none without profiles.
pub(crate) fn flames(cell: &CellRecord, baseline: Option<&CellRecord>, name: &str) -> Option<Flame> {
    let own = Node::of(cell)?;
    let other = baseline.and_then(Node::of);
    Some(own.flame(name, own.ns, other.as_ref(), other.is_some()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pitot_plan::Measure;

    fn cell(cpu_ns: u64, stacks: &[(&str, u64)]) -> CellRecord {
        let stacks = stacks.iter().map(|(stack, count)| ((*stack).into(), *count)).collect();
        let profile = Profile { requests: 10, cpu_ns, stacks, ..Profile::default() };
        CellRecord {
            id: 1,
            factors: Vec::new(),
            server_command: String::new(),
            load_command: String::new(),
            measure: Measure::Slices,
            fresh_reason: String::new(),
            control_of: None,
            repetitions: vec![Repetition { profile: Some(profile), ..Repetition::default() }],
        }
    }

    #[test]
    fn a_flame_has_its_share_and_its_difference() {
        let own = cell(20_000, &[("a`main;a`f", 3), ("a`main;b`?", 1)]);
        let base = cell(10_000, &[("x`main;x`f", 1)]);
        let all = flames(&own, Some(&base), "head").unwrap();
        let main = &all.calls[0];
        assert_eq!((all.share, main.share, main.name.as_str()), (1.0, 1.0, "main"));
        let names: Vec<_> = main.calls.iter().map(|call| (call.name.as_str(), call.share)).collect();
        assert_eq!(names, [("f", 0.75), ("b (no symbols)", 0.25)]);
        // 1500 ns against 1000 of 2000.
        assert!((main.calls[0].change - 0.25).abs() < 1e-12, "{main:?}");
        let hot = hottest(&cell(20_000, &[("a`main;a`f;a`f", 3), ("a`main;a`f", 1)]));
        assert_eq!((hot[0].name.as_str(), hot[0].own_ns, hot[0].with_calls_ns), ("f", 2_000.0, 2_000.0));
        assert_eq!((hot[1].name.as_str(), hot[1].share, hot[1].with_calls_ns), ("main", 0.0, 2_000.0));
        assert!(flames(&cell(0, &[("a`main", 1)]), None, "none").is_none());
    }
}
