//! Warm-ups, above all of servers whose rate rises for seconds, until it has settled.

use super::repetition::context::Abort;
use pitot_plan::Settling;

/// The time that is compared with as much before it, seconds, at most.
const WINDOW_S: f64 = 1.5;
/// Turns in that time. Servers that are compared take turns, and rest for less.
const TURNS: f64 = 12.0;
/// A turn of a warm-up whose length is given, seconds, at most.
const TURN_S: f64 = 0.25;
/// A rate that rises by less has settled, and so has one whose requests get cheaper by less: other work ended then.
const RISE_MAX: f64 = 0.05;
/// Seconds of load in a part of a look.
pub(super) const LOOK_PART_S: f64 = 0.125;

/// A turn of a warm-up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Warmed {
    pub(super) replies: u64,
    /// With the time in which the last replies came.
    pub(super) seconds: f64,
    /// CPU time of the server, if it is known.
    pub(super) cpu_ns: Option<u64>,
}

/// The result of a warm-up.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct WarmUp {
    /// Seconds of load.
    pub(super) seconds: f64,
    /// Replies per second at its end.
    pub(super) rate: f64,
    /// A warning, if the limit came before the rate had settled.
    pub(super) unsettled: Option<String>,
}

/// When a warm-up ends.
#[derive(Clone, Copy, Debug)]
pub(super) enum Until {
    /// After so many seconds.
    Over(f64),
    /// When the rate has settled.
    Settled(Settling),
}

/// A warm-up under way.
#[derive(Clone, Debug)]
pub(super) struct Warming {
    until: Until,
    /// The time whose rate counts, seconds.
    window_s: f64,
    /// Seconds of each turn.
    pub(super) turn_s: f64,
    turns: Vec<Warmed>,
    /// Its result so far, once it may end. It may go on, as where others are not warm yet.
    pub(super) over: Option<WarmUp>,
}

impl Warming {
    pub(super) fn new(until: Until) -> Warming {
        let (window_s, turn_s) = match until {
            Until::Over(seconds) => {
                let turn_s = seconds / (seconds / TURN_S).ceil().max(1.0);
                (turn_s, turn_s)
            }
            Until::Settled(rule) => (window_s(rule), window_s(rule) / TURNS),
        };
        Warming { until, window_s, turn_s, turns: Vec::new(), over: None }
    }

    /// Adds its next turn.
    pub(super) fn add(&mut self, turn: Warmed) {
        self.turns.push(turn);
        let seconds: f64 = self.turns.iter().map(|turn| turn.seconds).sum();
        let has_lasted = |wanted_s: f64| seconds > wanted_s - self.turn_s / 2.0;
        let unsettled = match (self.over.take(), self.until) {
            (Some(before), _) => before.unsettled,
            (None, Until::Over(all_s)) if has_lasted(all_s) => None,
            (None, Until::Settled(rule)) if seconds >= rule.at_least_s && self.has_settled() => None,
            (None, Until::Settled(rule)) if has_lasted(rule.within_s) => {
                Some(format!("its rate had not settled after {:.1} s of warm-up", rule.within_s))
            }
            (None, _) => return,
        };
        let end = self.window(self.turns.len()).unwrap_or(0);
        self.over = Some(WarmUp { seconds, rate: rate(&self.turns[end..]), unsettled });
    }

    /// Ends it without a rate, if a turn could not be loaded.
    pub(super) fn give_up(&mut self) {
        self.over.get_or_insert_default();
    }

    /// The first turn of the window that ends before a turn; none if there are too few.
    fn window(&self, end: usize) -> Option<usize> {
        let mut missing_s = self.window_s;
        self.turns[..end].iter().rposition(|turn| {
            missing_s -= turn.seconds;
            missing_s < self.turn_s / 2.0
        })
    }

    /// Whether the rate rises no more.
    fn has_settled(&self) -> bool {
        let Some(last) = self.window(self.turns.len()) else { return false };
        let Some(before) = self.window(last) else { return false };
        let (before, last) = (&self.turns[before..last], &self.turns[last..]);
        let rises = rate(last) > rate(before) * (1.0 + RISE_MAX);
        let gets_cheaper = match (cost_ns(before), cost_ns(last)) {
            (Some(before), Some(last)) => last < before * (1.0 - RISE_MAX),
            _ => true,
        };
        !(rises && gets_cheaper)
    }
}

/// Replies per second.
fn rate(turns: &[Warmed]) -> f64 {
    let seconds: f64 = turns.iter().map(|turn| turn.seconds).sum();
    turns.iter().map(|turn| turn.replies).sum::<u64>() as f64 / seconds
}

/// CPU time of the server per reply.
fn cost_ns(turns: &[Warmed]) -> Option<f64> {
    let cpu_ns: u64 = turns.iter().map(|turn| turn.cpu_ns).sum::<Option<u64>>()?;
    Some(cpu_ns as f64 / turns.iter().map(|turn| turn.replies).sum::<u64>() as f64)
}

/// What is compared takes at most half of the time, and no more than the time in which the rate rises.
fn window_s(Settling { at_least_s, within_s }: Settling) -> f64 {
    let all_s = if at_least_s > 0.0 { at_least_s.min(within_s / 2.0) } else { within_s / 2.0 };
    WINDOW_S.min(all_s / 2.0)
}

/// Loads a server in turns until its rate has settled, within the limits of the rule. `load` loads it for so many seconds; if it
/// returns none, so does this.
pub(super) fn warm_up(
    settling: Settling,
    mut load: impl FnMut(f64) -> Result<Option<Warmed>, Abort>,
) -> Result<Option<WarmUp>, Abort> {
    let mut warming = Warming::new(Until::Settled(settling));
    while let Some(turn) = load(warming.turn_s)? {
        warming.add(turn);
        if warming.over.is_some() {
            return Ok(warming.over);
        }
    }
    Ok(None)
}

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

/// How such a warm-up ends, for the report.
pub(in crate::runner) fn rule(within_s: f64) -> String {
    format!(
        "the warm-up goes on until {:.1} s give at most {:.0}% more replies than as much time before, or replies that are no cheaper, \
         for at most {within_s:.1} s",
        window_s(Settling { at_least_s: 0.0, within_s }),
        RISE_MAX * 100.0
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The parts of a look that nothing disturbs.
    fn alone(rates: &[f64]) -> Vec<Part> {
        rates.iter().map(|&rate| Part { rate, pace_ns: None, others: 0.0, cost_ns: 1e3 }).collect()
    }

    /// A turn of so many seconds at this rate.
    fn warmed(rate: f64, seconds: f64) -> Warmed {
        Warmed { replies: (rate * seconds * 1e3) as u64, seconds, cpu_ns: None }
    }

    /// What came of a warm-up whose rate in thousands per second at each second is this.
    fn warm_up_at(settling: Settling, rate: impl Fn(f64) -> f64) -> WarmUp {
        let mut now_s = 0.0;
        let warmed_up = warm_up(settling, |turn_s| {
            now_s += turn_s;
            Ok(Some(warmed(rate(now_s), turn_s)))
        });
        warmed_up.unwrap().unwrap()
    }

    fn within(within_s: f64) -> Settling {
        Settling { at_least_s: 0.0, within_s }
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
        let settling = Settling { at_least_s: 3.75, within_s: 12.0 };
        let warm = warm_up_at(settling, |now_s| if now_s < 3.0 { 34.0 } else { 100.0 });
        assert!(warm.rate > 99e3 && warm.unsettled.is_none() && warm.seconds > 4.0, "{warm:?}");
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

    #[test]
    fn a_warm_up_ends_when_the_rate_has_settled_or_at_its_limit() {
        let settled = warm_up_at(within(30.0), |now_s| f64::min(now_s, 10.0));
        assert!((11.0..13.0).contains(&settled.seconds) && settled.rate > 9.9e3, "{settled:?}");
        assert_eq!(settled.unsettled, None);
        let endless = warm_up_at(within(4.0), |now_s| f64::exp2(now_s * 4.0));
        assert!((endless.seconds - 4.0).abs() < 0.1, "{endless:?}");
        assert_eq!(endless.unsettled.unwrap(), "its rate had not settled after 4.0 s of warm-up");
        // Even the shortest limit leaves time to see that a rate has settled.
        let short = warm_up_at(Settling { at_least_s: 0.3, within_s: 0.9 }, |_| 100.0);
        assert!(short.unsettled.is_none() && short.seconds < 0.5, "{short:?}");
        assert_eq!(warm_up(within(4.0), |_| Ok(None)).unwrap(), None);
    }

    #[test]
    fn a_warm_up_of_a_length_has_it_in_turns_and_may_go_on() {
        let mut warming = Warming::new(Until::Over(0.6));
        for turn in 1..=4 {
            warming.add(warmed(f64::from(turn), warming.turn_s));
            assert_eq!(warming.over.is_some(), turn >= 3, "{warming:?}");
        }
        let over = warming.over.unwrap();
        assert!((over.seconds - 0.8).abs() < 1e-9 && (over.rate - 4e3).abs() < 10.0, "{over:?}");
        // The last replies of a slow server come when the turn is over, and count.
        let mut warming = Warming::new(Until::Over(0.1));
        warming.add(warmed(1.0, 0.4));
        assert!(warming.over.is_some());
        let mut warming = Warming::new(Until::Over(0.1));
        warming.give_up();
        assert_eq!(warming.over, Some(WarmUp::default()));
    }

    #[test]
    fn a_rate_has_settled_when_it_rises_no_more() {
        // Each lasts for a quarter of the window.
        let has_settled = |rates: &[f64]| {
            let mut warming = Warming::new(Until::Settled(within(12.0)));
            warming.turns = rates.iter().map(|&rate| warmed(rate, WINDOW_S / 4.0)).collect();
            warming.has_settled()
        };
        assert!(!has_settled(&[100.0; 7]), "too short");
        assert!(has_settled(&[100.0; 8]));
        assert!(!has_settled(&[1.0, 5.0, 20.0, 50.0, 80.0, 95.0, 96.0, 97.0]));
        assert!(has_settled(&[1.0, 5.0, 20.0, 95.0, 102.0, 99.0, 98.0, 100.0, 96.0, 104.0, 99.0]));
        assert!(has_settled(&[[100.0; 4], [90.0; 4]].concat()), "falling is not rising");
    }

    #[test]
    fn a_rate_that_rises_because_other_work_ended_has_settled() {
        let has_settled = |cost_ns: u64| {
            let mut warming = Warming::new(Until::Settled(within(12.0)));
            let of = |rate: u64, cost_ns: u64| Warmed {
                replies: rate,
                seconds: 0.5,
                cpu_ns: Some(rate * cost_ns),
            };
            warming.turns = [[of(50, cost_ns); 3], [of(100, 1000); 3]].concat();
            warming.has_settled()
        };
        assert!(has_settled(1000));
        assert!(!has_settled(2000), "requests got cheaper");
    }
}
