//! Whether a server is slow for a while after its start, as seen in looks at it, and how long a warm-up it needs then.

use pitot_plan::Settling;

/// Seconds of load in a part of a look.
pub(super) const LOOK_PART_S: f64 = 0.125;

/// A rate below this share of the final rate is a rise that would bias a measurement.
const RISEN_MIN: f64 = 0.8;
/// Number of parts at the end of a look that show the final rate.
const END_PARTS: usize = 4;
/// Requests that cost more than this, against those of the end on CPUs of the same pace, show that a server is not warm, whatever else
/// runs.
const COST_MAX: f64 = 2.0;
/// Other work explains a rate of no less than this part.
const LEFT_MIN: f64 = 0.25;
/// The minimum warm-up is longer than the observed rise by this factor, since starts differ.
const SPARE: f64 = 1.25;
/// The maximum warm-up is longer than the observed rise by this factor.
const LONGER: f64 = 3.0;

/// A part of a look.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    /// Replies per second.
    pub(super) rate: f64,
    /// CPU time of a fixed piece of work on the server's CPUs, if it was measured.
    pub(super) pace_ns: Option<u64>,
    /// CPU time of other processes, as a share of a CPU.
    pub(super) others: f64,
    /// CPU time of the server per reply, nanoseconds.
    pub(super) cost_ns: f64,
}

impl Part {
    /// How much slower the CPUs were than at this pace; 1 if they were not.
    fn slower_than(&self, pace_ns: f64) -> f64 {
        self.pace_ns.map_or(1.0, |own_ns| (own_ns as f64 / pace_ns).max(1.0))
    }

    /// The rate that it could have had without other work, on CPUs of this pace.
    fn rate_undisturbed(&self, pace_ns: f64) -> f64 {
        self.rate * self.slower_than(pace_ns) / (1.0 - self.others).clamp(LEFT_MIN, 1.0)
    }
}

/// The warm-up of a server in the parts of a look; none if it was warm. A rise requires all parts up to it to be low, so that one
/// disturbed part does not count: to have a rate lower than the pace of the CPUs and other work explain together, or requests that cost
/// more than that pace explains. What disturbs the last parts explains nothing: only what was measured counts.
fn needed(parts: &[Part]) -> Option<Settling> {
    let end = &parts[parts.len().checked_sub(END_PARTS)?..];
    let mean = |of: fn(&Part) -> f64| end.iter().map(of).sum::<f64>() / END_PARTS as f64;
    let final_rate = mean(|part| part.rate);
    let final_pace_ns = mean(|part| part.pace_ns.unwrap_or_default() as f64);
    // Of all replies together, on CPUs of a pace: a part may have only a few.
    let cost_ns = |some: &[Part], pace_ns: f64| {
        let all_ns = |part: &Part| part.rate * part.cost_ns / part.slower_than(pace_ns);
        let rates: f64 = some.iter().map(|part| part.rate).sum();
        some.iter().map(all_ns).sum::<f64>() / rates.max(f64::MIN_POSITIVE)
    };
    // No CPU is slower than that: as it was measured.
    let final_cost_ns = cost_ns(end, f64::INFINITY);
    let is_low = |some: &[Part]| {
        let rate =
            some.iter().map(|part| part.rate_undisturbed(final_pace_ns)).sum::<f64>() / some.len() as f64;
        rate < final_rate * RISEN_MIN || cost_ns(some, final_pace_ns) > final_cost_ns * COST_MAX
    };
    let low = (1..parts.len()).rev().find(|&n| is_low(&parts[n - 1..n]) && is_low(&parts[..n]))?;
    let at_least_s = low as f64 * LOOK_PART_S * SPARE;
    Some(Settling { at_least_s, within_s: at_least_s * LONGER })
}

/// Looks that have to see a rise: other work that ends during one and could not be seen looks like a rise, too.
const LOOKS: usize = 2;

/// The warm-up that a server needs by the parts of each look at it, if that is longer than `known_s`: the shortest that they agree on.
/// A look that sees no rise is the last. `None` if there is no look.
pub(super) fn risen(known_s: f64, mut look: impl FnMut() -> Option<Vec<Part>>) -> Option<Option<Settling>> {
    let mut shortest: Option<Settling> = None;
    for _ in 0..LOOKS {
        let seen = needed(&look()?).filter(|settling| settling.at_least_s > known_s);
        let Some(settling) = seen else { return Some(None) };
        shortest = shortest.filter(|known| known.at_least_s < settling.at_least_s).or(Some(settling));
    }
    Some(shortest)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The parts of a look that nothing disturbs.
    fn alone(rates: &[f64]) -> Vec<Part> {
        rates.iter().map(|&rate| Part { rate, pace_ns: None, others: 0.0, cost_ns: 1e3 }).collect()
    }

    #[test]
    fn a_server_that_is_slow_at_first_is_loaded_for_longer_than_that() {
        let step = [[34.0; 24], [100.0; 24]].concat();
        let needed = |rates: &[f64]| needed(&alone(rates)).map(|settling| settling.at_least_s);
        assert_eq!(needed(&step), Some(3.75));
        assert_eq!(needed(&[20.0, 50.0, 70.0, 90.0, 95.0, 100.0, 101.0, 99.0]), Some(0.46875));
        // Equal parts, a disturbed one, and a server that gets slower.
        assert_eq!(needed(&[100.0; 8]), None);
        assert_eq!(needed(&[100.0, 98.0, 101.0, 40.0, 99.0, 100.0, 100.0, 101.0]), None);
        assert_eq!(needed(&[100.0, 90.0, 80.0, 70.0, 60.0, 50.0]), None);
        assert_eq!(needed(&[1.0]), None);
    }

    #[test]
    fn other_work_that_ends_and_a_core_that_gets_faster_are_no_rise() {
        let needed = |parts: &[Part]| needed(parts).map(|settling| settling.at_least_s);
        let of = |rate, pace_ns, others| Part { rate, pace_ns: Some(pace_ns), others, cost_ns: 1e3 };
        assert_eq!(needed(&[[of(40.0, 3000, 0.6); 10], [of(100.0, 3000, 0.0); 10]].concat()), None);
        assert_eq!(needed(&[[of(55.0, 6000, 0.0); 10], [of(100.0, 3000, 0.0); 10]].concat()), None);
        // The other way round, a server that hardly notices the pace has not risen either.
        assert_eq!(needed(&[[of(100.0, 3000, 0.0); 10], [of(105.0, 6000, 0.0); 10]].concat()), None);
        // Both at once, and other work that comes at the end and takes nothing from the server.
        assert_eq!(needed(&[[of(30.0, 5000, 0.5); 10], [of(100.0, 3000, 0.0); 10]].concat()), None);
        assert_eq!(needed(&[[of(75.0, 3000, 0.1); 10], [of(100.0, 3000, 0.8); 10]].concat()), None);
        // Requests that cost more are not explained by other work, nor by a slow CPU alone.
        let dear = |part: Part, cost_ns| Part { cost_ns, ..part };
        let warms = [[dear(of(30.0, 3000, 0.6), 4e3); 4], [of(100.0, 3000, 0.0); 4]].concat();
        assert_eq!(needed(&warms), Some(4.0 * LOOK_PART_S * SPARE));
        let warms = [[dear(of(55.0, 6000, 0.0), 3e3); 4], [of(100.0, 3000, 0.0); 4]].concat();
        assert_eq!(needed(&warms), None);
        // The first replies may cost a hundred times as much.
        let first = [vec![dear(of(1.0, 3000, 0.0), 1e5)], vec![of(100.0, 3000, 0.0); 20]].concat();
        assert_eq!(needed(&first), Some(LOOK_PART_S * SPARE));
        // A rate that nothing explains.
        let rises = [[of(30.0, 5000, 0.1); 10], [of(100.0, 3000, 0.0); 10]].concat();
        assert_eq!(needed(&rises), Some(10.0 * LOOK_PART_S * SPARE));
    }

    #[test]
    fn a_rise_that_only_one_look_sees_was_other_work() {
        let step = |low: usize| alone(&[vec![34.0; 2 * low], vec![100.0; 32 - 2 * low]].concat());
        let risen = |known_s, looks: &[usize]| {
            let mut looks = looks.iter();
            let risen = risen(known_s, || looks.next().map(|&low| step(low)));
            (risen.map(|risen| risen.map(|settling| settling.at_least_s)), looks.len())
        };
        assert_eq!(risen(0.1, &[12, 8, 4]), (Some(Some(2.5)), 1));
        assert_eq!(risen(0.1, &[12, 0, 4]), (Some(None), 1));
        assert_eq!(risen(0.1, &[0, 12, 4]), (Some(None), 2), "one look is enough");
        assert_eq!(risen(3.0, &[12, 8, 4]), (Some(None), 1), "the plan warms up for longer");
        assert_eq!(risen(0.1, &[12]), (None, 0), "the user stopped it");
    }
}
