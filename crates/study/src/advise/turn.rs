//! Where the answer changes: the same contenders at other levels of one factor.

use super::answer::{Against, LevelAnswer};
use super::case::Case;
use super::contenders::Contender;
use super::plan::Axis;
use super::probe::Probe;
use pitot_record::Run;

/// The result of a probe.
#[derive(Debug)]
pub struct Turns {
    /// What was varied.
    pub axis: Axis,
    /// At each level, in the order of the probe.
    pub levels: Vec<Turn>,
}

/// The result at one level.
#[derive(Debug)]
pub struct Turn {
    /// The level.
    pub level: u64,
    /// Whether the advised contender is still the best or ties with it; none if it was not measured there.
    pub holds: Option<bool>,
    /// The best at this level.
    pub best: &'static Contender,
    /// The factor by which the best is better than the advised one.
    pub ahead: Option<Against>,
    /// Where the two are equal, interpolated between the description and this level, if the order changes and both were
    /// measured at both.
    pub near: Option<u64>,
    /// The whole answer at this level.
    pub answer: LevelAnswer,
}

/// The result of a probe's run for the advice.
pub fn turns(run: &Run, case: &Case, probe: &Probe, main: &LevelAnswer) -> Turns {
    let axis = probe.axis;
    let at = |&level: &u64| {
        let there = axis.at(level, case);
        let answer = LevelAnswer::of(run, &there, Some((axis.factor(), &axis.spelled(level))))?;
        let best = answer.best().contender;
        let advised = answer.standing(main.build.name);
        let holds = advised.map(|_| answer.is_level(main.build.name));
        let ahead = advised.and_then(|standing| standing.behind);
        let near = match (holds, ahead, here(main, best)) {
            (Some(false), Some(ahead), Some(here)) => {
                crossing(axis, (axis.level(case), here), (level, ahead.factor))
            }
            _ => None,
        };
        Some(Turn { level, holds, best, ahead, near, answer })
    };
    Turns { axis, levels: probe.levels.iter().filter_map(at).collect() }
}

/// The factor by which a rival was better than the advice in the main run.
fn here(main: &LevelAnswer, rival: &Contender) -> Option<f64> {
    let behind = |name: &str| Some(main.standing(name)?.behind.map_or(1.0, |behind| behind.factor));
    Some(behind(main.build.name)? / behind(rival.name)?)
}

/// The level at which a factor is 1, if it is below 1 at one level and above 1 at the other: linear in the logarithm of
/// the factor over that of the level, or over the level if one is 0. None if it does not cross 1, or if there are no
/// levels in between.
fn crossing(axis: Axis, here: (u64, f64), there: (u64, f64)) -> Option<u64> {
    if axis == Axis::Cold || (here.1 - 1.0) * (there.1 - 1.0) > 0.0 {
        return None;
    }
    let is_linear = here.0 == 0 || there.0 == 0;
    let place = |level: u64| if is_linear { level as f64 } else { (level as f64).ln() };
    let (low, high) = (here.1.ln(), there.1.ln());
    if high == low {
        return None;
    }
    let x = place(here.0) + (place(there.0) - place(here.0)) * (-low / (high - low));
    Some(if is_linear { x } else { x.exp() }.round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advise::answer::tests::run;
    use crate::advise::case::tests::plain;

    #[test]
    fn a_crossing_lies_between_its_levels() {
        assert_eq!(crossing(Axis::Active, (100, 0.5), (400, 2.0)), Some(200));
        assert_eq!(crossing(Axis::Work, (0, 0.5), (1000, 2.0)), Some(500));
        assert_eq!(crossing(Axis::Work, (0, 1.1), (1000, 2.0)), None);
        assert_eq!(crossing(Axis::Cold, (0, 0.5), (1, 2.0)), None);
    }

    #[test]
    fn the_order_turns_where_another_is_declared_better() {
        let case = plain(100, 100);
        let main = run(&[("thread", None, 120.0, 1.0), ("loop+epoll-et", None, 100.0, 1.0)]);
        let main = LevelAnswer::of(&main, &case, None).unwrap();
        assert_eq!(main.build.name, "thread");
        let at = |level| Some(("load.connections", level));
        let probed = run(&[
            ("thread", at("25"), 130.0, 1.0),
            ("loop+epoll-et", at("25"), 100.0, 1.0),
            ("thread", at("400"), 100.0, 1.0),
            ("loop+epoll-et", at("400"), 120.0, 1.0),
        ]);
        let probe = Probe { axis: Axis::Active, levels: vec![25, 400], note: None };
        let turns = turns(&probed, &case, &probe, &main);
        let [low, high] = &turns.levels[..] else { panic!() };
        assert_eq!((low.holds, low.near), (Some(true), None));
        assert_eq!((high.holds, high.best.name), (Some(false), "loop+epoll-et"));
        assert!((190..=210).contains(&high.near.unwrap()), "half way in logarithms: {:?}", high.near);
        assert!((high.ahead.unwrap().factor - 1.2).abs() < 0.02);
    }
}
