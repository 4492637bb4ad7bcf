//! What makes a cell slower than its baseline: CPU time per request by function and by system call, from profiles.
//!
//! A profile says how the samples of a generation fall on functions; times the CPU time per request of the same slices that is the time
//! of each function per request, with all that it calls. The difference of two cells is taken generation by generation, so that it
//! has an interval (Student's t) and a p-value, which Holm's method corrects over all functions that could matter.

use std::collections::{BTreeMap, BTreeSet};

use crate::analysis::{Analysis, Cell};
use crate::document::{Block, Column, Entry, Table};
use crate::flames::{function, profiles};
use crate::number::{figure, percent, ratio, signed_ns};
use crate::text::sentence;
use pitot_meter::stack::{Frame, frames};
use pitot_plan::Profiled;
use pitot_record::{Profile, Unit};
use pitot_stats::{Interval, Mean, holm, mean};
use serde_json::{Value, json};

/// The level of intervals.
pub(crate) const LEVEL: f64 = 0.95;
/// A function that explains less of the difference is not named.
const SHARE_MIN: f64 = 0.05;
/// A function whose time in both cells is below this share of the difference cannot matter.
const COULD_MATTER: f64 = 0.05;
/// What makes up for so much of a difference is named, too.
const AGAINST: f64 = 0.5;
/// One or two functions that a function calls explain it, if they have so much of its difference: they are named in its place.
const CALLEE: f64 = 0.8;
/// From this share on the report mentions samples without names.
const NAMELESS_TOLD: f64 = 0.05;
/// Where cells do not differ as a whole, functions are compared by their shares of all CPU time: with less than this in both cells
/// they cannot matter,
const SHARE_COULD_MATTER: f64 = 0.002;
/// and a smaller difference is not named.
const SHARE_TOLD: f64 = 0.001;
/// So many explanations are shown.
const SHOWN: usize = 8;
/// System calls as functions of the kernel are named: linux/arch/*/include/asm/syscall_wrapper.h.
const CALLS: [&str; 2] = ["__x64_sys_", "__arm64_sys_"];
/// How the functions are named that those end with.
const JUMPED_TO: [&str; 5] = ["__se_sys_", "__do_sys_", "__sys_", "ksys_", "do_"];
/// The functions of the kernel that handle page faults: entry, and handler.
const FAULTS: [&str; 3] = ["asm_exc_page_fault", "exc_page_fault", "do_page_fault"];
/// Through these functions of the kernel every system call comes.
const ENTRIES: [&str; 6] = [
    "entry_SYSCALL_64_after_hwframe",
    "do_syscall_64",
    "x64_sys_call",
    "el0t_64_sync",
    "el0_svc",
    "invoke_syscall",
];

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    /// Of a program or a library.
    Function,
    /// A system call.
    Call,
    /// The handler of page faults.
    Fault,
    /// Another function of the kernel.
    Kernel,
}

/// Something that takes CPU time, by name: builds of a program have its functions at different addresses and in different files.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    kind: Kind,
    name: String,
}

impl Key {
    fn of(frame: Frame<'_>) -> Key {
        let call = CALLS.iter().find_map(|prefix| frame.function.strip_prefix(prefix));
        match call {
            _ if !frame.is_of_kernel() => Key { kind: Kind::Function, name: function(frame) },
            _ if FAULTS.contains(&frame.function) => {
                Key { kind: Kind::Fault, name: "page faults".to_owned() }
            }
            Some(call) => Key { kind: Kind::Call, name: call.to_owned() },
            None => Key { kind: Kind::Kernel, name: function(frame) },
        }
    }

    /// Of the first function behind the entry of the kernel. Where the compiler ended the function of a system call with a jump, that is
    /// what it jumped to: `do_writev`, `ksys_read`, `__sys_sendto`.
    fn of_first(frame: Frame<'_>) -> Key {
        let call = JUMPED_TO.iter().find_map(|prefix| frame.function.strip_prefix(prefix));
        match call.filter(|_| frame.is_of_kernel()) {
            Some(call) => Key { kind: Kind::Call, name: call.to_owned() },
            None => Key::of(frame),
        }
    }

    /// Whether it is how a program enters the kernel.
    fn is_entry(&self) -> bool {
        matches!(self.kind, Kind::Call | Kind::Fault)
    }
}

/// The keys of a stack, the outermost first: without those through which every system call comes, and without functions that have no
/// name, whose time is their caller's, unless the program has no function with one.
fn keys(stack: &str) -> impl Iterator<Item = Key> {
    let has_names = frames(stack).any(|frame| frame.is_named() && !frame.is_of_kernel());
    let is_entry = |frame: Frame<'_>| frame.is_of_kernel() && ENTRIES.contains(&frame.function);
    let mut before = None;
    frames(stack).filter_map(move |frame| {
        let is_first = before.replace(frame).is_some_and(is_entry);
        match frame {
            _ if is_entry(frame) => None,
            _ if is_first => Some(Key::of_first(frame)),
            _ => (frame.is_named() || !has_names).then(|| Key::of(frame)),
        }
    })
}

/// What a stack is in: a system call or a page fault, else the innermost function that has a name.
pub(crate) fn entry_of(stack: &str) -> String {
    let keys: Vec<Key> = keys(stack).collect();
    let entry = keys.iter().find(|key| key.is_entry()).or(keys.last());
    entry.map_or_else(|| stack.to_owned(), |key| key.name.clone())
}

/// The system call or page fault in which a stack is, if it is in one.
pub(crate) fn entered(stack: &str) -> Option<String> {
    keys(stack).find(Key::is_entry).map(|key| key.name)
}

/// What explains a part of a difference.
#[derive(Clone, Debug)]
pub(crate) struct Explanation {
    key: Key,
    /// Time per request in the baseline, and in the cell, nanoseconds.
    times: (f64, f64),
    /// The difference, nanoseconds per request.
    difference: Mean,
    /// Its share of the difference of the cells; where those do not differ, of all CPU time.
    share: f64,
}

/// Of what explanations are shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whole {
    /// Of the difference of the cells.
    Difference,
    /// Of all CPU time of a request, since the cells do not differ. A share has less noise than a time: what disturbs a slice
    /// disturbs all functions alike (Meta's FBDetect, SOSP 2024, finds small regressions in this way).
    Time,
}

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

/// Times by key of one generation, nanoseconds per request.
struct Costs {
    total: f64,
    of: BTreeMap<Key, f64>,
}

impl Costs {
    fn of(profile: &Profile) -> Option<Costs> {
        let each = profile.sample_ns()?;
        let mut of: BTreeMap<Key, f64> = BTreeMap::new();
        for entry in &profile.entries {
            // A function that calls itself is met once.
            for key in keys(&entry.name).collect::<BTreeSet<_>>() {
                *of.entry(key).or_default() += each * entry.count as f64;
            }
        }
        let total = each * profile.count() as f64;
        Some(Costs { total, of })
    }

    fn times(self, factor: f64) -> Costs {
        let of = self.of.into_iter().map(|(key, ns)| (key, ns * factor)).collect();
        Costs { total: self.total * factor, of }
    }
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

/// The times as if nothing had disturbed one generation more than another: what does slows down both cells alike, so the geometric
/// mean of their times becomes that of all generations.
fn of_equal_conditions(pairs: Vec<(Costs, Costs)>) -> Vec<(Costs, Costs)> {
    let middle = |(base, own): &(Costs, Costs)| f64::midpoint(base.total.ln(), own.total.ln());
    let usual = pairs.iter().map(middle).sum::<f64>() / pairs.len() as f64;
    let scaled = |pair: (Costs, Costs)| {
        let factor = (usual - middle(&pair)).exp();
        (pair.0.times(factor), pair.1.times(factor))
    };
    pairs.into_iter().map(scaled).collect()
}

/// The times as if all cells and generations had taken the same as a whole, and that time.
fn of_equal_totals(pairs: Vec<(Costs, Costs)>) -> (Vec<(Costs, Costs)>, f64) {
    let time = pairs.iter().map(|(base, _)| base.total).sum::<f64>() / pairs.len() as f64;
    let scaled = |costs: Costs| {
        let factor = time / costs.total;
        costs.times(factor)
    };
    (pairs.into_iter().map(|(base, own)| (scaled(base), scaled(own))).collect(), time)
}

/// The functions and calls that differ, in either direction, those that weigh most first, without callers that are explained by what
/// they call. `stacks` tell what is met below what.
fn found(pairs: &[(Costs, Costs)], total: f64, whole: Whole, stacks: &Stacks<'_>) -> Vec<Explanation> {
    let keys: BTreeSet<&Key> =
        pairs.iter().flat_map(|(base, own)| base.of.keys().chain(own.of.keys())).collect();
    let count = pairs.len() as f64;
    let could_matter = if whole == Whole::Time { SHARE_COULD_MATTER } else { COULD_MATTER };
    let mut all: Vec<Explanation> = Vec::new();
    for key in keys {
        let at = |costs: &Costs| costs.of.get(key).copied().unwrap_or_default();
        let base = pairs.iter().map(|(base, _)| at(base)).sum::<f64>() / count;
        let own = pairs.iter().map(|(_, own)| at(own)).sum::<f64>() / count;
        if base.max(own) < could_matter * total.abs() {
            continue;
        }
        let differences: Vec<f64> = pairs.iter().map(|(base, own)| at(own) - at(base)).collect();
        if let Some(difference) = mean(&differences, LEVEL) {
            let share = difference.value / total;
            all.push(Explanation { key: key.clone(), times: (base, own), difference, share });
        }
    }
    let corrected = holm(&all.iter().map(|e| e.difference.p).collect::<Vec<_>>());
    let told = if whole == Whole::Time { SHARE_TOLD } else { SHARE_MIN };
    let mut all: Vec<Explanation> = all
        .into_iter()
        .zip(corrected)
        .filter(|(e, p)| *p < 1.0 - LEVEL && e.share.abs() >= told)
        .map(|(e, _)| e)
        .collect();
    all.sort_by(|x, y| y.share.abs().total_cmp(&x.share.abs()));
    let below = Below::of(all.iter().map(|e| e.key.clone()), stacks);
    // What the kernel does in a system call or a fault says less than which of them it is.
    let entries: Vec<Key> = all.iter().map(|e| e.key.clone()).filter(Key::is_entry).collect();
    all.retain(|e| e.key.kind != Kind::Kernel || !entries.iter().any(|entry| below.is(&e.key, entry)));
    let callees = all.clone();
    all.retain(|e| share_of_callees(e, &callees, &below) / e.share < CALLEE);
    all.sort_by(|x, y| y.weight().total_cmp(&x.weight()));
    all
}

/// The share of the two functions that explain most of what a caller does, one of which is not below the other.
fn share_of_callees(caller: &Explanation, all: &[Explanation], below: &Below) -> f64 {
    let mut two: Vec<&Explanation> = Vec::new();
    // The largest first, so that a caller comes before what it calls.
    for e in all.iter().filter(|e| e.share * caller.share > 0.0 && below.is(&e.key, &caller.key)) {
        if two.len() < 2 && !two.iter().any(|of| below.is(&e.key, &of.key)) {
            two.push(e);
        }
    }
    two.iter().map(|e| e.share).sum()
}

/// How often each stack was met.
type Stacks<'p> = BTreeMap<&'p str, u64>;

/// The stacks of two cells over all generations.
fn stacks(profiles: &[(Profile, Profile)]) -> Stacks<'_> {
    let mut stacks = Stacks::new();
    for entry in profiles.iter().flat_map(|(base, own)| base.entries.iter().chain(&own.entries)) {
        *stacks.entry(&entry.name).or_default() += entry.count;
    }
    stacks
}

/// Which of some keys are met below which others: by their numbers, the one below first.
struct Below {
    numbers: BTreeMap<Key, usize>,
    pairs: BTreeSet<(usize, usize)>,
}

impl Below {
    /// A key is below another if nearly all samples with it have the other above it. All pairs are counted in one pass: a server in Python
    /// has some ten thousand stacks of fifty frames, and hundreds of functions that differ.
    fn of(of: impl Iterator<Item = Key>, stacks: &Stacks<'_>) -> Below {
        let numbers: BTreeMap<Key, usize> = of.zip(0..).collect();
        let mut with = vec![0; numbers.len()];
        let mut counts: BTreeMap<(usize, usize), u64> = BTreeMap::new();
        for (stack, count) in stacks {
            let mut above = Vec::new();
            for number in keys(stack).filter_map(|key| numbers.get(&key).copied()) {
                if !above.contains(&number) {
                    with[number] += count;
                    above.iter().for_each(|other| *counts.entry((number, *other)).or_default() += count);
                    above.push(number);
                }
            }
        }
        counts.retain(|(number, _), count| *count as f64 > 0.9 * with[*number] as f64);
        Below { numbers, pairs: counts.into_keys().collect() }
    }

    fn is(&self, one: &Key, other: &Key) -> bool {
        let number = |key| self.numbers.get(key).copied();
        number(one).zip(number(other)).is_some_and(|pair| self.pairs.contains(&pair))
    }
}

impl Explanation {
    /// Its share, times the part of its own time that only one of the two cells has. What is added to a program or taken from it makes
    /// one function as a whole; what is only the effect of that, as colder caches or a load that sleeps more often, slows down by a
    /// part what takes long anyway.
    fn weight(&self) -> f64 {
        let (base, own) = self.times;
        self.share.abs() * (own - base).abs() / base.max(own)
    }

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

/// What sampling costs: the CPU time of a request in slices that were sampled, as a ratio to that in slices that count.
pub(crate) fn cost(a: &Analysis<'_>) -> Option<String> {
    let mut by_generation: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for cell in a.run.cells.iter().chain(&a.run.controls) {
        for (block, profile) in profiles(cell, Profiled::Cpu).filter(|(_, profile)| profile.sees_kernel) {
            let counted = cell.repetitions.iter().find(|r| r.block == block)?.slices.iter();
            let (requests, cpu_ns) = counted.fold((0, 0), |(requests, cpu_ns), slice| {
                (requests + slice.requests, cpu_ns + slice.server_cpu_ns.unwrap_or(0))
            });
            let ratio = profile.cpu_ns as f64 / profile.requests as f64 * requests as f64 / cpu_ns as f64;
            if ratio > 0.0 && ratio.is_finite() {
                by_generation.entry(block).or_default().push(ratio.ln());
            }
        }
    }
    let logs: Vec<f64> =
        by_generation.values().map(|logs| logs.iter().sum::<f64>() / logs.len() as f64).collect();
    let mean = mean(&logs, LEVEL)?;
    let show = |log: f64| ratio(log.exp());
    Some(format!(
        "In slices that were sampled a request took {} times [{}, {}] the CPU time that it took in those that count, which came before.",
        show(mean.value),
        show(mean.interval.low),
        show(mean.interval.high)
    ))
}

/// That the kernel's part is missing, if it is.
fn without_kernel(a: &Analysis<'_>) -> Option<String> {
    let mut all = a.run.cells.iter().flat_map(|cell| profiles(cell, Profiled::Cpu));
    all.any(|(_, profile)| !profile.sees_kernel).then(|| {
        "The time in the kernel is missing, which the user of this run may not sample: it is root's, or everybody's with `sysctl kernel.perf_event_paranoid=1`."
            .to_owned()
    })
}

/// The shares of samples whose innermost function has no name: of the kernel, and of programs.
fn without_names(a: &Analysis<'_>) -> Vec<String> {
    let of_cells = a.run.cells.iter().flat_map(|cell| profiles(cell, Profiled::Cpu));
    let (mut of_kernel, mut of_programs, mut samples) = (0, 0, 0);
    for entry in of_cells.flat_map(|(_, profile)| profile.entries) {
        samples += entry.count;
        match frames(&entry.name).next_back().filter(|frame| !frame.is_named()) {
            Some(frame) if frame.is_of_kernel() => of_kernel += entry.count,
            Some(_) => of_programs += entry.count,
            None => {}
        }
    }
    let nameless = [
        (
            of_kernel,
            "functions of the kernel, whose names this user may not see: run as root, or: sysctl kernel.kptr_restrict=0; in a container: --cap-add SYSLOG",
        ),
        (
            of_programs,
            "functions without a name: the programs or libraries have no symbols (docs/profile.md)",
        ),
    ];
    let share = |count: u64| count as f64 / samples.max(1) as f64;
    let told = nameless.into_iter().filter(|(count, _)| share(*count) >= NAMELESS_TOLD);
    told.map(|(count, of)| format!("{} of the samples are in {of}.", percent(share(count)))).collect()
}

/// What the time is of.
pub(crate) fn each(a: &Analysis<'_>) -> &'static str {
    if a.headline.is_of_commands() { "execution" } else { "request" }
}

/// What profiles lack.
pub(crate) fn missing(a: &Analysis<'_>) -> Vec<Block> {
    without_kernel(a).into_iter().chain(without_names(a)).map(Block::Paragraph).collect()
}

/// For programs: `explanations`.
pub(crate) fn json(a: &Analysis<'_>) -> Vec<Value> {
    explained(a).iter().flat_map(Explained::json).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pitot_record::ProfileEntry;

    fn profile(cpu_ns: u64, stacks: &[(&str, u64)]) -> Profile {
        let entry =
            |(stack, count): &(&str, u64)| ProfileEntry { name: (*stack).into(), count: *count, ns: 0 };
        Profile { requests: 100, cpu_ns, entries: stacks.iter().map(entry).collect(), ..Profile::default() }
    }

    fn costs(profiles: &[(Profile, Profile)]) -> Vec<(Costs, Costs)> {
        let of = |profile| Costs::of(profile).unwrap();
        profiles.iter().map(|(base, own)| (of(base), of(own))).collect()
    }

    #[test]
    fn time_is_that_of_a_function_and_what_it_calls() {
        let costs = Costs::of(&profile(
            1_000_000,
            &[("a`main;a`f;a`f", 50), ("a`main;kernel`__x64_sys_write", 25), ("lib`?;kernel`clear_page", 25)],
        ));
        let costs = costs.unwrap();
        let of = |kind, name: &str| costs.of.get(&Key { kind, name: name.to_owned() }).copied();
        assert_eq!((of(Kind::Function, "main"), of(Kind::Function, "f")), (Some(7_500.0), Some(5_000.0)));
        assert_eq!(
            (of(Kind::Call, "write"), of(Kind::Function, "lib (no symbols)")),
            (Some(2_500.0), Some(2_500.0))
        );
        let key = |frame: &str| Key::of(Frame::parse(frame));
        let of_caller: Vec<Key> = keys("a`main;lib`?;kernel`do_syscall_64").collect();
        assert_eq!(of_caller, [key("a`main")], "a function without a name is its caller's");
        assert_eq!(key("kernel`asm_exc_page_fault"), key("kernel`exc_page_fault"));
        let jumped = keys("a`writev;kernel`do_syscall_64;kernel`do_writev;kernel`do_iter_readv_writev");
        let kinds: Vec<_> = jumped.map(|key| (key.kind, key.name)).collect();
        assert_eq!(kinds[1], (Kind::Call, "writev".to_owned()));
        assert_eq!(kinds[2].0, Kind::Kernel);
        assert!(Costs::of(&profile(0, &[("a`main", 1)])).is_none());
    }

    #[test]
    fn what_explains_the_difference_is_found_below_its_callers() {
        let generation = |noise: u64| {
            let base = profile(
                1_000_000,
                &[("a`main;a`serve;a`copy", 20 + noise), ("a`main;a`serve;a`parse", 80 - noise)],
            );
            let own = profile(
                1_500_000,
                &[("b`main;b`serve;b`copy", 70 + noise), ("b`main;b`serve;b`parse", 80 - noise)],
            );
            (base, own)
        };
        let profiles: Vec<_> = (0..10).map(|n| generation(n % 3)).collect();
        let found = found(&costs(&profiles), 5_000.0, Whole::Difference, &stacks(&profiles));
        assert_eq!(found.iter().map(|e| e.key.name.as_str()).collect::<Vec<_>>(), ["copy"]);
        assert!(
            (found[0].share - 1.0).abs() < 0.1 && found[0].difference.interval.low > 4_000.0,
            "{found:?}"
        );
    }

    #[test]
    fn what_is_new_comes_before_what_is_only_slower() {
        let generation = |n: u64| {
            let base =
                profile(1_000_000, &[("a`main;a`work", 60 + n), ("a`main;kernel`__x64_sys_write", 40 - n)]);
            let own = [
                ("a`main;a`work", 60 + n),
                ("a`main;a`added", 12),
                ("a`main;kernel`__x64_sys_write", 58 - n),
            ];
            (base, profile(1_300_000, &own))
        };
        let profiles: Vec<_> = (0..10).map(|n| generation(n % 3)).collect();
        let found = found(&costs(&profiles), 3_000.0, Whole::Difference, &stacks(&profiles));
        assert_eq!(found.iter().map(|e| e.key.name.as_str()).collect::<Vec<_>>(), ["added", "write"]);
        assert!(found[0].share < found[1].share, "{found:?}");
    }

    #[test]
    fn what_makes_up_for_most_of_a_difference_is_named() {
        let pair = |n: u64| {
            let base = profile(
                1_000_000,
                &[("a`main;a`interpret", 60 + n), ("a`main;kernel`__x64_sys_read", 40 - n)],
            );
            let own = profile(900_000, &[("b`start;b`run", 86 + n), ("b`start;kernel`__x64_sys_read", 4)]);
            (base, own)
        };
        let pairs: Vec<_> = (0..10).map(|n| pair(n % 3)).collect();
        let explained = Explained::of("own".into(), "base".into(), "request", &pairs).unwrap();
        assert_eq!(explained.found[0].key.name, "interpret");
        assert_eq!(explained.against.as_ref().map(|e| e.key.name.as_str()), Some("run"));
        assert!(explained.found.iter().all(|e| e.share > 0.0), "{:?}", explained.found);
        let said = explained.sentence();
        assert!(said.contains("; against that stands `run` (+"), "{said}");
    }

    #[test]
    fn a_generation_that_is_disturbed_does_not_hide_a_difference() {
        let pair = |n: u64| {
            // In one of eight generations everything takes seven times as long.
            let factor = if n == 4 { 7 } else { 1 };
            let base = profile(1_000_000 * factor, &[("a`main;a`serve", 80)]);
            let own =
                profile((1_200_000 + 5_000 * n) * factor, &[("b`main;b`serve", 80), ("b`main;b`copy", 16)]);
            (base, own)
        };
        let pairs: Vec<_> = (0..8).map(pair).collect();
        let explained = Explained::of("own".into(), "base".into(), "request", &pairs).unwrap();
        assert_eq!((explained.whole, explained.found[0].key.name.as_str()), (Whole::Difference, "copy"));
    }

    #[test]
    fn where_totals_are_equal_shares_are_compared() {
        let generation = |n: u64| {
            // What disturbs a generation is far more than what `hash` takes.
            let noise = 1_000_000 + 200_000 * (n % 5);
            let base = profile(noise, &[("a`main;a`hash", 20 + n % 2), ("a`main;a`serve", 980 - n % 2)]);
            let own =
                profile(1_400_000 - 200_000 * (n % 3), &[("a`main;a`hash", 25), ("a`main;a`serve", 975)]);
            (base, own)
        };
        let profiles: Vec<_> = (0..30).map(generation).collect();
        let (pairs, time) = of_equal_totals(costs(&profiles));
        let found = found(&pairs, time, Whole::Time, &stacks(&profiles));
        assert_eq!(found[0].key.name, "hash");
        assert!((found[0].share - 0.0045).abs() < 0.0002, "{found:?}");
    }
}
