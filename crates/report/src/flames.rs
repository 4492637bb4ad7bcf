//! The time of a cell by function, on the CPU or off it, from its profiles, and how it differs from the baseline's.

use std::collections::BTreeMap;

use crate::analysis::{Analysis, Cell};
use crate::document::{Block, Column, Entry, Flame, Table};
use crate::number::{figure, percent, signed_ns};
use pitot_meter::stack::{Frame, frames};
use pitot_plan::Profiled;
use pitot_record::{CellRecord, Profile, Repetition, Unit};
use pitot_results::VerdictKind;
use serde_json::{Value, json};

/// What takes a smaller share of the time is not shown.
const SHARE_MIN: f64 = 0.003;
/// Deeper stacks are cut off.
const DEPTH_MAX: usize = 100;
/// So many functions are listed beside a flame graph.
const HOTTEST: usize = 20;

/// The profiles of a kind of a cell, by generation: of all its slices that were recorded, together.
pub(crate) fn profiles(cell: &CellRecord, kind: Profiled) -> impl Iterator<Item = (u32, Profile)> {
    let good = |r: &&Repetition| r.verdict.kind != VerdictKind::Failed;
    cell.repetitions.iter().filter(good).filter_map(move |r| {
        let profile = Profile::sum(r.profiles.iter().filter(|profile| profile.kind == kind))?;
        Some((r.block, profile))
    })
}

/// Whether the profiles of a cell tell its CPU time.
pub(crate) fn is_profiled(cell: &CellRecord) -> bool {
    profiles(cell, Profiled::Cpu).any(|(_, profile)| profile.sample_ns().is_some())
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
    /// The same in the baseline.
    baseline_ns: f64,
    calls: BTreeMap<String, Node>,
}

impl Node {
    /// Adds the mean over the generations of a cell to the time that `of` chooses.
    fn add(&mut self, cell: &CellRecord, kind: Profiled, of: fn(&mut Node) -> &mut f64) {
        let profiles: Vec<Profile> =
            profiles(cell, kind).map(|(_, profile)| profile).filter(|profile| profile.count() > 0).collect();
        for profile in &profiles {
            for entry in &profile.entries {
                let ns = profile.ns_per_request(entry).unwrap_or_default() / profiles.len() as f64;
                let mut node = &mut *self;
                *of(node) += ns;
                for frame in frames(&entry.name).take(DEPTH_MAX) {
                    node = node.calls.entry(function(frame)).or_default();
                    *of(node) += ns;
                }
            }
        }
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

    /// The larger of the shares that two times have of this one's: here, and in the baseline. Without a baseline that share is no
    /// number, which `max` passes over.
    fn weight(&self, ns: f64, baseline_ns: f64) -> f64 {
        (ns / self.ns).max(baseline_ns / self.baseline_ns)
    }

    fn flame(&self, name: &str, root: &Node) -> Flame {
        let shown = self.calls.iter().filter(|(_, call)| root.weight(call.ns, call.baseline_ns) >= SHARE_MIN);
        let mut calls: Vec<Flame> = shown.map(|(name, call)| call.flame(name, root)).collect();
        calls.sort_by(|x, y| y.ns.total_cmp(&x.ns));
        Flame {
            name: name.to_owned(),
            ns: self.ns,
            baseline_ns: (root.baseline_ns > 0.0).then_some(self.baseline_ns),
            share: self.ns / root.ns,
            weight: root.weight(self.ns, self.baseline_ns),
            calls,
        }
    }
}

/// The time of a cell by function.
pub(crate) struct TimeTree {
    kind: Profiled,
    name: String,
    /// What it is compared with; empty if it is not.
    baseline: String,
    root: Node,
}

/// A function and its time per request, nanoseconds.
#[derive(Clone, Debug, Default)]
struct Hot {
    /// In the function alone.
    ns: f64,
    baseline_ns: f64,
    with_calls_ns: f64,
}

impl TimeTree {
    /// That of all cells with profiles of this kind.
    pub(crate) fn of_all(a: &Analysis<'_>, kind: Profiled) -> Vec<TimeTree> {
        a.cells.iter().filter_map(|cell| TimeTree::of(a, cell, kind)).collect()
    }

    pub(crate) fn of(a: &Analysis<'_>, cell: &Cell<'_>, kind: Profiled) -> Option<TimeTree> {
        let baseline = a.run.baseline_of(cell.record);
        let root = tree(cell.record, baseline, kind)?;
        let baseline = baseline.filter(|_| root.baseline_ns > 0.0);
        let baseline = baseline.and_then(|of| a.cells.iter().find(|cell| cell.record.id == of.id));
        let baseline = baseline.map_or_else(String::new, |cell| a.name_of(cell));
        Some(TimeTree { kind, name: a.name_of(cell), baseline, root })
    }

    /// `CPU time of loop, compared with thread`.
    pub(crate) fn title(&self) -> String {
        let what = if self.kind == Profiled::OffCpu { "Time off the CPU" } else { "CPU time" };
        match self.baseline.as_str() {
            "" => format!("{what} of {}", self.name),
            baseline => format!("{what} of {}, compared with {baseline}", self.name),
        }
    }

    /// Its flame graph, folded, with a table for those who do not look at pictures.
    pub(crate) fn folded(&self) -> Block {
        Block::folded(&self.title(), vec![self.flames(), self.hottest()])
    }

    /// Its flame graph.
    pub(crate) fn flames(&self) -> Block {
        Block::Flames(Box::new(self.root.flame(&self.name, &self.root)), self.baseline.clone())
    }

    /// The functions in which it spends most of its time, with that time: in the function alone, and with what it calls.
    pub(crate) fn hottest(&self) -> Block {
        let is_compared = !self.baseline.is_empty();
        let rows = hottest(&self.root).into_iter().take(HOTTEST).map(|(name, hot)| {
            let time = |ns: f64| Entry::from(figure(ns, Unit::Nanoseconds));
            let difference = is_compared.then(|| Entry::from(signed_ns(hot.ns - hot.baseline_ns)));
            let front = [Entry::from(percent(hot.ns / self.root.ns)), time(hot.ns)];
            (name, front.into_iter().chain(difference).chain([time(hot.with_calls_ns)]).collect())
        });
        let titles = ["share", "alone"].into_iter().chain(is_compared.then_some("difference"));
        let columns = titles.chain(["with calls"]).map(Column::of).collect();
        Block::Table(Table::plain(&self.title(), "function", columns, rows))
    }

    /// The tree for programs.
    pub(crate) fn json(&self) -> Value {
        let compared_with = (!self.baseline.is_empty()).then_some(&self.baseline);
        let tree = json_of(&self.root.flame(&self.name, &self.root));
        json!({
            "cell": self.name,
            "kind": self.kind.word(),
            "compared_with": compared_with,
            "unit": "ns",
            "tree": tree,
        })
    }
}

/// The tree of a cell beside its baseline; none without profiles.
fn tree(cell: &CellRecord, baseline: Option<&CellRecord>, kind: Profiled) -> Option<Node> {
    let mut root = Node::default();
    root.add(cell, kind, |node| &mut node.ns);
    if let Some(baseline) = baseline {
        root.add(baseline, kind, |node| &mut node.baseline_ns);
    }
    (root.ns > 0.0).then_some(root)
}

/// All functions, those with the most time alone first, here or in the baseline.
fn hottest(root: &Node) -> Vec<(String, Hot)> {
    let mut all: BTreeMap<String, Hot> = BTreeMap::new();
    root.visit(&mut Vec::new(), &mut |name, is_outermost, node| {
        let hot = all.entry(name.to_owned()).or_default();
        hot.ns += node.ns - node.calls.values().map(|call| call.ns).sum::<f64>();
        hot.baseline_ns += node.baseline_ns - node.calls.values().map(|call| call.baseline_ns).sum::<f64>();
        // A function that calls itself counts once.
        hot.with_calls_ns += if is_outermost { node.ns } else { 0.0 };
    });
    let mut all: Vec<(String, Hot)> = all.into_iter().collect();
    let weight = |hot: &Hot| root.weight(hot.ns, hot.baseline_ns);
    all.sort_by(|(_, x), (_, y)| weight(y).total_cmp(&weight(x)));
    all
}

fn json_of(flame: &Flame) -> Value {
    json!({
        "name": flame.name,
        "own_per_request": flame.ns,
        "baseline_per_request": flame.baseline_ns,
        "share": flame.share,
        "calls": flame.calls.iter().map(json_of).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use pitot_plan::Measure;
    use pitot_record::ProfileEntry;

    fn cell(cpu_ns: u64, stacks: &[(&str, u64)]) -> CellRecord {
        let entry =
            |(stack, count): &(&str, u64)| ProfileEntry { name: (*stack).into(), count: *count, ns: 0 };
        let entries = stacks.iter().map(entry).collect();
        let profile = Profile { requests: 10, cpu_ns, entries, ..Profile::default() };
        CellRecord {
            id: 1,
            factors: Vec::new(),
            server_command: String::new(),
            load_command: String::new(),
            measure: Measure::Slices,
            fresh_reason: String::new(),
            control_of: None,
            repetitions: vec![Repetition { profiles: vec![profile], ..Repetition::default() }],
        }
    }

    #[test]
    fn a_flame_has_its_share_and_its_difference() {
        let own = cell(20_000, &[("a`main;a`f", 3), ("a`main;b`?", 1)]);
        let base = cell(10_000, &[("x`main;x`f", 3), ("x`main;x`gone", 1)]);
        let root = tree(&own, Some(&base), Profiled::Cpu).unwrap();
        let all = root.flame("head", &root);
        let main = &all.calls[0];
        assert_eq!((all.share, main.share, main.name.as_str()), (1.0, 1.0, "main"));
        let calls: Vec<_> =
            main.calls.iter().map(|call| (call.name.as_str(), call.share, call.change_ns())).collect();
        // What the baseline alone has is there too.
        assert_eq!(
            calls,
            [("f", 0.75, Some(750.0)), ("b (no symbols)", 0.25, Some(500.0)), ("gone", 0.0, Some(-250.0))]
        );
        let alone = tree(&own, None, Profiled::Cpu).unwrap();
        assert_eq!(alone.flame("head", &alone).change_ns(), None);
        assert!(tree(&cell(0, &[("a`main", 1)]), None, Profiled::Cpu).is_none());
    }

    #[test]
    fn the_hottest_functions_have_their_time_alone_and_with_what_they_call() {
        let own = cell(20_000, &[("a`main;a`f;a`f", 3), ("a`main;a`f", 1)]);
        let hot = hottest(&tree(&own, Some(&cell(10_000, &[("a`main;a`gone", 1)])), Profiled::Cpu).unwrap());
        let times: Vec<_> = hot
            .iter()
            .map(|(name, hot)| (name.as_str(), hot.ns, hot.baseline_ns, hot.with_calls_ns))
            .collect();
        assert_eq!(
            times,
            [("f", 2_000.0, 0.0, 2_000.0), ("gone", 0.0, 1_000.0, 0.0), ("main", 0.0, 0.0, 2_000.0)]
        );
    }
}
