//! What a request takes besides CPU time, from profiles: where threads wait, which system calls are made, and what counters say; of
//! each cell, and against its baseline generation by generation, as `explain.rs` does it for CPU time.

use std::collections::{BTreeMap, BTreeSet};

use pitot_meter::stack::{PREEMPTED, frames};
use pitot_plan::Profiled;
use pitot_record::{CellRecord, Profile, ProfileEntry, Unit};
use pitot_stats::{Mean, holm, mean};
use serde_json::{Value, json};

use crate::analysis::{Analysis, Cell};
use crate::document::{Block, Column, Entry, PAGES, Table};
use crate::explain::{LEVEL, each, entry_of, signed_interval};
use crate::flames::{TimeTree, profiles};
use crate::format::Format;
use crate::number::{figure, plain, signed_ns};
use crate::text::sentence;

/// So many rows of a table are shown.
const SHOWN: usize = 12;
/// What takes a smaller share of all time or calls is not shown.
const SHARE_MIN: f64 = 0.001;
/// A ratio of two counters.
const PER_CYCLE: &str = "instructions per cycle";

/// A kind of profile that is shown as a table.
struct Kind {
    profiled: Profiled,
    title: &'static str,
    corner: &'static str,
    what: &'static str,
}

const KINDS: [Kind; 3] = [
    Kind {
        profiled: Profiled::OffCpu,
        title: "Where threads wait",
        corner: "waits in",
        what: "Time per request that threads were off the CPU, by system call; waits that began and ended within a slice.",
    },
    Kind {
        profiled: Profiled::Calls,
        title: "System calls",
        corner: "call",
        what: "Calls per request, and in parentheses the time in the kernel, waiting included.",
    },
    Kind {
        profiled: Profiled::Counters,
        title: "Counters",
        corner: "counter",
        what: "Events per request. Softirqs are those of the whole machine.",
    },
];

/// A row: what one name stands for per request.
struct Line {
    name: String,
    own: Each,
    baseline: Option<Each>,
    /// Of time where waits are compared, and else of counts.
    difference: Option<Mean>,
}

/// Per request.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Each {
    count: f64,
    ns: f64,
}

impl Each {
    fn compared(self, kind: Profiled) -> f64 {
        if kind == Profiled::OffCpu { self.ns } else { self.count }
    }
}

/// What is met by name in one generation.
fn by_name(profile: &Profile) -> BTreeMap<String, Each> {
    let mut all: BTreeMap<String, Each> = BTreeMap::new();
    for entry in &profile.entries {
        let each = all.entry(name_of(profile.kind, entry)).or_default();
        each.count += profile.count_per_request(entry).unwrap_or_default();
        each.ns += profile.ns_per_request(entry).unwrap_or_default();
    }
    let of = |name: &str| all.get(name).map(|each| each.count).filter(|count| *count > 0.0);
    if let (Some(instructions), Some(cycles)) = (of("instructions"), of("cycles")) {
        all.insert(PER_CYCLE.to_owned(), Each { count: instructions / cycles, ns: 0.0 });
    }
    all
}

fn name_of(kind: Profiled, entry: &ProfileEntry) -> String {
    match kind {
        Profiled::OffCpu
            if frames(&entry.name).next_back().is_some_and(|frame| frame.function == PREEMPTED) =>
        {
            "a CPU that another thread has".to_owned()
        }
        Profiled::OffCpu => entry_of(&entry.name),
        _ => entry.name.to_string(),
    }
}

/// What a cell does, by name, the most first.
fn lines(cell: &CellRecord, baseline: Option<&CellRecord>, kind: Profiled) -> Vec<Line> {
    let of = |cell: &CellRecord| -> BTreeMap<u32, BTreeMap<String, Each>> {
        profiles(cell, kind).map(|(block, profile)| (block, by_name(&profile))).collect()
    };
    let (own, base) = (of(cell), baseline.map(of));
    let names: BTreeSet<&String> =
        own.values().chain(base.iter().flat_map(BTreeMap::values)).flat_map(BTreeMap::keys).collect();
    let at = |named: &BTreeMap<String, Each>, name: &str| named.get(name).copied().unwrap_or_default();
    let over = |generations: &BTreeMap<u32, BTreeMap<String, Each>>, name: &str| {
        let count = generations.len().max(1) as f64;
        let sum = |of: fn(Each) -> f64| generations.values().map(|named| of(at(named, name))).sum::<f64>();
        Each { count: sum(|each| each.count) / count, ns: sum(|each| each.ns) / count }
    };
    let line = |name: &String| {
        let difference = base.as_ref().and_then(|base| {
            let pairs = own.iter().filter_map(|(block, named)| Some((named, base.get(block)?)));
            let value = |named: &BTreeMap<String, Each>| at(named, name).compared(kind);
            mean(&pairs.map(|(own, base)| value(own) - value(base)).collect::<Vec<_>>(), LEVEL)
        });
        let baseline = base.as_ref().map(|base| over(base, name));
        Line { name: name.clone(), own: over(&own, name), baseline, difference }
    };
    let mut lines: Vec<Line> = names.into_iter().map(line).collect();
    let is_met = |each: Each| each.count > 0.0;
    lines.retain(|line| is_met(line.own) || line.baseline.is_some_and(is_met));
    if kind != Profiled::Counters {
        let most =
            |line: &Line| line.own.compared(kind).max(line.baseline.unwrap_or_default().compared(kind));
        let all: f64 = lines.iter().map(most).sum();
        lines.retain(|line| most(line) >= SHARE_MIN * all);
        lines.sort_by(|x, y| most(y).total_cmp(&most(x)));
    }
    lines
}

/// The cells that have a profile of a kind: with their baselines, or if nothing is compared, alone.
fn shown<'a, 'r>(a: &'a Analysis<'r>, kind: Profiled) -> Vec<(&'a Cell<'r>, Option<&'r CellRecord>)> {
    let recorded = a.cells.iter().filter(|cell| profiles(cell.record, kind).next().is_some());
    let all: Vec<_> = recorded.map(|cell| (cell, a.run.baseline_of(cell.record))).collect();
    let is_compared = all.iter().any(|(_, baseline)| baseline.is_some());
    all.into_iter().filter(|(_, baseline)| baseline.is_some() || !is_compared).collect()
}

/// The parts of a report, after what explains CPU time.
pub(crate) fn blocks(a: &Analysis<'_>, format: Format) -> Vec<Block> {
    let mut blocks = Vec::new();
    for kind in &KINDS {
        let cells = shown(a, kind.profiled);
        let tables: Vec<Block> =
            cells.iter().flat_map(|(cell, baseline)| of_cell(a, kind, cell, *baseline, format)).collect();
        if !tables.is_empty() {
            let what = Block::Only(PAGES, vec![Block::paragraph(kind.what)]);
            let content = std::iter::once(what).chain(tables).collect();
            blocks.push(Block::section("", kind.title, content));
        }
    }
    blocks
}

fn of_cell(
    a: &Analysis<'_>,
    kind: &Kind,
    cell: &Cell<'_>,
    baseline: Option<&CellRecord>,
    format: Format,
) -> Vec<Block> {
    let lines = lines(cell.record, baseline, kind.profiled);
    let said = match kind.profiled {
        // They have units of their own.
        Profiled::Counters => None,
        _ => most_different(&lines).map(|line| said(a, kind.profiled, cell, line)),
    };
    let said = said.unwrap_or_else(|| format!("**{}**:", a.name_of(cell)));
    let has_time = kind.profiled != Profiled::Counters;
    let has_counts = kind.profiled != Profiled::OffCpu;
    let value = |each: Each| -> Entry {
        let time = figure(each.ns, Unit::Nanoseconds);
        match (has_counts, has_time) {
            (true, true) => Entry { text: plain(each.count), note: format!("({time})"), ..Entry::default() },
            (true, false) => Entry::from(plain(each.count)),
            _ => Entry::from(time),
        }
    };
    let rows = lines.iter().take(SHOWN).map(|line| {
        let difference = line.difference.map(|difference| difference_of(kind.profiled, &difference));
        let values = line.baseline.into_iter().chain([line.own]).map(value);
        (line.name.clone(), difference.into_iter().chain(values).collect::<Vec<_>>())
    });
    let is_compared = lines.iter().any(|line| line.difference.is_some());
    let titles = [is_compared.then_some("difference"), baseline.map(|_| "baseline"), Some("here")];
    let columns = titles.into_iter().flatten().map(Column::of).collect();
    let table = Table::plain(&a.name_of(cell), kind.corner, columns, rows.collect::<Vec<_>>());
    // Pictures are for pages alone.
    let picture = (kind.profiled == Profiled::OffCpu && PAGES.contains(&format))
        .then(|| TimeTree::of(a, cell, kind.profiled))
        .flatten()
        .map(|tree| tree.folded());
    [Block::Paragraph(said), Block::Table(table)].into_iter().chain(picture).collect()
}

fn difference_of(kind: Profiled, difference: &Mean) -> Entry {
    let (text, note) = match kind {
        Profiled::OffCpu => (signed_ns(difference.value), signed_interval(&difference.interval)),
        _ => (
            signed(difference.value),
            format!("[{}, {}]", signed(difference.interval.low), signed(difference.interval.high)),
        ),
    };
    Entry { text, note, ..Entry::default() }
}

fn signed(value: f64) -> String {
    format!("{}{}", if value < 0.0 { "-" } else { "+" }, plain(value.abs()))
}

/// The line that differs most from the baseline, of those that differ significantly (Holm).
fn most_different(lines: &[Line]) -> Option<&Line> {
    let compared: Vec<(&Line, Mean)> =
        lines.iter().filter_map(|line| Some((line, line.difference?))).collect();
    let corrected = holm(&compared.iter().map(|(_, difference)| difference.p).collect::<Vec<_>>());
    let differ = compared.iter().zip(corrected).filter(|(_, p)| *p < 1.0 - LEVEL).map(|(found, _)| found);
    let most = differ.max_by(|(_, x), (_, y)| x.value.abs().total_cmp(&y.value.abs()));
    most.map(|(line, _)| *line)
}

/// `loop makes 2.1 more calls of epoll_wait per request than the baseline`.
fn said(a: &Analysis<'_>, kind: Profiled, cell: &Cell<'_>, line: &Line) -> String {
    let difference = line.difference.map_or(0.0, |difference| difference.value);
    let more = if difference < 0.0 { "less" } else { "more" };
    let (name, what) = (a.name_of(cell), &line.name);
    let each = each(a);
    sentence(&match kind {
        Profiled::OffCpu => {
            let time = figure(difference.abs(), Unit::Nanoseconds);
            format!(
                "threads of **{name}** wait {time} {more} per {each} in `{what}` than those of the baseline"
            )
        }
        _ => {
            let fewer = if difference < 0.0 { "fewer" } else { "more" };
            let count = plain(difference.abs());
            format!("**{name}** has {count} {fewer} `{what}` per {each} than the baseline")
        }
    })
}

/// For programs: `counts`.
pub(crate) fn json(a: &Analysis<'_>) -> Vec<Value> {
    let mut all = Vec::new();
    for kind in &KINDS {
        for cell in a.cells.iter().filter(|cell| profiles(cell.record, kind.profiled).next().is_some()) {
            for line in lines(cell.record, a.run.baseline_of(cell.record), kind.profiled) {
                all.push(json!({
                    "cell": a.name_of(cell),
                    "kind": kind.profiled.word(),
                    "name": line.name,
                    "per_request": line.own.count,
                    "ns_per_request": (kind.profiled != Profiled::Counters).then_some(line.own.ns),
                    "baseline_per_request": line.baseline.map(|each| each.count),
                    "difference": line.difference.map(|difference| difference.value),
                    "interval": line.difference.map(|difference| difference.interval),
                }));
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(kind: Profiled, lost: u64, entries: &[(&str, u64, u64)]) -> Profile {
        let entry = |(name, count, ns): &(&str, u64, u64)| ProfileEntry {
            name: (*name).into(),
            count: *count,
            ns: *ns,
        };
        Profile {
            kind,
            requests: 10,
            lost,
            entries: entries.iter().map(entry).collect(),
            ..Profile::default()
        }
    }

    #[test]
    fn waits_are_by_what_is_waited_for() {
        let waits = profile(
            Profiled::OffCpu,
            0,
            &[
                ("a`main;a`f;kernel`__x64_sys_futex;kernel`schedule", 1, 70),
                ("a`main;a`g;kernel`__x64_sys_futex;kernel`schedule", 1, 30),
                ("a`main;a`f;kernel`(preempted)", 5, 50),
            ],
        );
        let by_name = by_name(&waits);
        assert_eq!(by_name["futex"], Each { count: 0.2, ns: 10.0 });
        assert_eq!(by_name["a CPU that another thread has"].ns, 5.0);
    }

    #[test]
    fn what_was_lost_is_made_up_for_and_cycles_are_divided() {
        let calls = profile(Profiled::Calls, 10, &[("read", 10, 100)]);
        assert_eq!(by_name(&calls)["read"], Each { count: 2.0, ns: 20.0 });
        let counters = profile(Profiled::Counters, 0, &[("cycles", 100, 0), ("instructions", 250, 0)]);
        assert_eq!(by_name(&counters)[PER_CYCLE].count, 2.5);
    }
}
