//! The functions and system calls that take more time in one cell than in another.

use std::collections::{BTreeMap, BTreeSet};

use pitot_record::Profile;
use pitot_stats::{Mean, holm, mean};

use super::key::{Key, Kind, keys};

/// The level of intervals.
pub(crate) const LEVEL: f64 = 0.95;
/// A function that explains less of the difference is not named.
const SHARE_MIN: f64 = 0.05;
/// A function whose time in both cells is below this share of the difference cannot matter.
const COULD_MATTER: f64 = 0.05;
/// What makes up for so much of a difference is named, too.
pub(super) const AGAINST: f64 = 0.5;
/// One or two functions that a function calls explain it, if they have so much of its difference: they are named in its place.
const CALLEE: f64 = 0.8;
/// Where cells do not differ as a whole, functions are compared by their shares of all CPU time: with less than this in both cells
/// they cannot matter,
const SHARE_COULD_MATTER: f64 = 0.002;
/// and a smaller difference is not named.
const SHARE_TOLD: f64 = 0.001;
/// What explains a part of a difference.
#[derive(Clone, Debug)]
pub(super) struct Explanation {
    pub(super) key: Key,
    /// Time per request in the baseline, and in the cell, nanoseconds.
    pub(super) times: (f64, f64),
    /// The difference, nanoseconds per request.
    pub(super) difference: Mean,
    /// Its share of the difference of the cells; where those do not differ, of all CPU time.
    pub(super) share: f64,
}

/// Of what explanations are shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whole {
    /// Of the difference of the cells.
    Difference,
    /// Of all CPU time of a request, since the cells do not differ. A share has less noise than a time: what disturbs a slice
    /// disturbs all functions alike (Meta's FBDetect, SOSP 2024, finds small regressions in this way).
    Time,
}

/// Times by key of one generation, nanoseconds per request.
pub(super) struct Costs {
    pub(super) total: f64,
    pub(super) of: BTreeMap<Key, f64>,
}

impl Costs {
    pub(super) fn of(profile: &Profile) -> Option<Costs> {
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

/// The times as if nothing had disturbed one generation more than another: what does slows down both cells alike, so the geometric
/// mean of their times becomes that of all generations.
pub(super) fn of_equal_conditions(pairs: Vec<(Costs, Costs)>) -> Vec<(Costs, Costs)> {
    let middle = |(base, own): &(Costs, Costs)| f64::midpoint(base.total.ln(), own.total.ln());
    let usual = pairs.iter().map(middle).sum::<f64>() / pairs.len() as f64;
    let scaled = |pair: (Costs, Costs)| {
        let factor = (usual - middle(&pair)).exp();
        (pair.0.times(factor), pair.1.times(factor))
    };
    pairs.into_iter().map(scaled).collect()
}

/// The times as if all cells and generations had taken the same as a whole, and that time.
pub(super) fn of_equal_totals(pairs: Vec<(Costs, Costs)>) -> (Vec<(Costs, Costs)>, f64) {
    let time = pairs.iter().map(|(base, _)| base.total).sum::<f64>() / pairs.len() as f64;
    let scaled = |costs: Costs| {
        let factor = time / costs.total;
        costs.times(factor)
    };
    (pairs.into_iter().map(|(base, own)| (scaled(base), scaled(own))).collect(), time)
}

/// The functions and calls that differ, in either direction, those that weigh most first, without callers that are explained by what
/// they call. `stacks` tell what is met below what.
pub(super) fn found(
    pairs: &[(Costs, Costs)],
    total: f64,
    whole: Whole,
    stacks: &Stacks<'_>,
) -> Vec<Explanation> {
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
pub(super) type Stacks<'p> = BTreeMap<&'p str, u64>;

/// The stacks of two cells over all generations.
pub(super) fn stacks(profiles: &[(Profile, Profile)]) -> Stacks<'_> {
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
}
