//! The search: screen, cross, confirm.
//!
//! 1. **Screen.** A folded design over all settings ([`screening`]). What may help goes on: its effect is positive with
//!    p <= 10%, uncorrected, so that little is overlooked. Up to [`CROSSED_MAX`] settings skip this stage.
//! 2. **Cross.** All combinations of those that are left, on runs of their own. Here the bar is the strict one: 5% over
//!    all effects and all pairs of settings together (Holm). The best combination of what is proven is the winner.
//! 3. **Confirm.** The winner against the start, again on runs of their own, since whoever picks the best of many picks
//!    some luck with it: only these runs say by how much it is better.
//!
//! So a search over settings that do nothing comes out with something in fewer than one of twenty cases: chance has
//! to favour the same setting in all stages. Nothing here knows a server or a clock: what runs combinations is an
//! [`Experiment`].

use serde::Serialize;

use pitot_results::Failure;

use super::design::{CROSSED_MAX, Combination, Pair, SETTINGS_MAX, against_start, factorial, screening};
use super::effects::{Contrast, Effect, effects};
use pitot_stats::{Comparison, Decision, Samples, judge};

/// What a setting may show by chance and go on to the next stage.
const SCREEN_P_MAX: f64 = 0.10;

/// The fewest times that each combination is run in a stage. A screen of three is 24 pairs and more.
const SCREEN_BLOCKS_MIN: usize = 2;
const CROSS_PAIRS_MIN: usize = 8;
const CONFIRM_BLOCKS_MIN: usize = 8;

/// So many pairs find an effect of half of the spread of a run; a stage takes no more.
const PAIRS_MAX: usize = 150;

/// The shares of the time.
const SCREEN_SHARE: f64 = 0.5;
const CROSS_SHARE_OF_REST: f64 = 0.5;
/// What remains of it is for runs that take longer than those before.
const CONFIRM_SHARE_OF_REST: f64 = 0.85;

/// A stage of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// Many settings, few combinations.
    Screen,
    /// Few settings, all combinations.
    Cross,
    /// The winner against the start.
    Confirm,
}

/// What runs combinations of settings.
pub trait Experiment {
    /// Seconds that one run of a combination takes, restarts of servers included: as foreseen, and after a stage as it
    /// was on average in it.
    fn run_s(&self) -> f64;

    /// Runs both combinations of each pair `blocks` times: in each block all pairs in random order, the two of a pair next
    /// to each other in random order. Returns for each block and each pair the logarithms of the two figures, turned so
    /// that more is better; none where a run failed.
    ///
    /// # Errors
    /// If nothing can be measured at all, or the user has stopped it.
    fn run(&mut self, stage: Stage, pairs: &[Pair], blocks: usize) -> Result<Vec<Vec<Measured>>, Failure>;

    /// Why the last stage lost runs, if that is known: a clause.
    fn why_lost(&self) -> Option<String> {
        None
    }
}

/// The figures of a pair; none if one of the two has none.
pub type Measured = Option<(f64, f64)>;

/// A stage that has lost more than this share of its pairs says nothing of a setting whose effect it has not proven.
const LOST_SHARE_MAX: f64 = 0.25;

/// What is left to decide by the caller.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Seconds for all stages.
    pub within_s: f64,
    /// The winner is confirmed if it is better by more than this (0.01: 1%).
    pub tolerance: f64,
}

/// How a stage went.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Extent {
    /// Combinations.
    pub combinations: usize,
    /// How often each was run.
    pub blocks: usize,
    /// Runs that failed, with their partners.
    pub lost: usize,
    /// Why the first of them failed, if that is known.
    pub why_lost: Option<String>,
    /// Whether enough is left for "no effect was seen" to mean anything.
    pub is_enough: bool,
}

/// The effect of a setting in a stage.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Seen {
    /// Its index in the list of settings.
    pub setting: usize,
    /// Its effect.
    pub effect: Effect,
}

/// What two settings do together beyond what each does alone.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Together {
    /// Their indices.
    pub settings: (usize, usize),
    /// The effect.
    pub effect: Effect,
}

/// The first stage.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Screened {
    /// How much was run.
    pub extent: Extent,
    /// All settings in their order.
    pub effects: Vec<Seen>,
}

/// The second stage.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Crossed {
    /// How much was run.
    pub extent: Extent,
    /// The settings that were crossed.
    pub effects: Vec<Seen>,
    /// All pairs of them.
    pub together: Vec<Together>,
}

/// The third stage.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Confirmed {
    /// How much was run.
    pub extent: Extent,
    /// The settings of the winner.
    pub winner: Vec<usize>,
    /// The winner against the start; higher is better. None if no run of it succeeded.
    pub comparison: Option<Comparison>,
}

/// What became of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fate {
    /// It is in the result.
    Kept,
    /// It is proven to do harm.
    Harms,
    /// No effect was seen.
    NoEffect,
    /// Too many of its runs were lost: nothing is known of it.
    CannotTell,
    /// It looked as if it helped, and runs of their own did not bear that out.
    NotBorneOut,
    /// It helps alone, and in the best combination it has no place.
    NotInTheBest,
    /// It was in the winner, which was not confirmed.
    NotConfirmed,
    /// More settings looked as if they helped than are crossed at once. Search again from the result.
    LeftForLater,
}

/// What a search found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Search {
    /// The first stage, where there were too many settings to cross.
    pub screened: Option<Screened>,
    /// The second, if the first left two or more.
    pub crossed: Option<Crossed>,
    /// The third, if anything was left.
    pub confirmed: Option<Confirmed>,
    /// What became of each setting.
    pub fates: Vec<Fate>,
}

impl Search {
    /// The settings that are in the result.
    pub fn kept(&self) -> Vec<usize> {
        (0..self.fates.len()).filter(|&at| self.fates[at] == Fate::Kept).collect()
    }

    /// The settings of which nothing is known, since too many runs were lost.
    pub fn untold(&self) -> Vec<usize> {
        (0..self.fates.len()).filter(|&at| self.fates[at] == Fate::CannotTell).collect()
    }

    /// The stages that were run.
    pub fn extents(&self) -> impl Iterator<Item = &Extent> {
        let screened = self.screened.iter().map(|stage| &stage.extent);
        let crossed = self.crossed.iter().map(|stage| &stage.extent);
        screened.chain(crossed).chain(self.confirmed.iter().map(|stage| &stage.extent))
    }

    /// The best estimate of what a setting does by itself: of the last stage that looked at it so.
    pub fn effect(&self, setting: usize) -> Option<Effect> {
        let crossed = self.crossed.iter().flat_map(|c| &c.effects);
        let screened = self.screened.iter().flat_map(|s| &s.effects);
        crossed.chain(screened).find(|seen| seen.setting == setting).map(|seen| seen.effect)
    }
}

/// The runs that a search of so many settings takes at least, all stages together.
pub fn runs_min(settings: usize) -> usize {
    let screen = if settings > CROSSED_MAX {
        screening(settings).map_or(0, |pairs| 2 * pairs.len() * SCREEN_BLOCKS_MIN)
    } else {
        0
    };
    let crossed = settings.min(2);
    let cross = if crossed > 1 { 2 * CROSS_PAIRS_MIN } else { 0 };
    screen + cross + 2 * CONFIRM_BLOCKS_MIN
}

/// Searches among `settings` settings.
///
/// # Errors
/// Of the experiment; or if there are no settings, too many, or too little time.
pub fn search(settings: usize, bounds: Bounds, experiment: &mut dyn Experiment) -> Result<Search, Failure> {
    check(settings, bounds, experiment.run_s())?;
    let mut search =
        Search { screened: None, crossed: None, confirmed: None, fates: vec![Fate::NoEffect; settings] };
    let mut stages = Stages { experiment, left_s: bounds.within_s };
    let all: Vec<usize> = (0..settings).collect();
    let candidates = if settings > CROSSED_MAX { screen(&mut search, &mut stages)? } else { all };
    let winner =
        if candidates.len() > 1 { cross(&candidates, &mut search, &mut stages)? } else { candidates };
    if !winner.is_empty() {
        confirm(winner, bounds.tolerance, &mut search, &mut stages)?;
    }
    Ok(search)
}

/// The first stage, over all settings. Returns those that go on.
fn screen(search: &mut Search, stages: &mut Stages<'_>) -> Result<Vec<usize>, Failure> {
    let settings = search.fates.len();
    let pairs = screening(settings).unwrap_or_default();
    let (extent, blocks) =
        stages.run(Stage::Screen, &pairs, SCREEN_SHARE, SCREEN_BLOCKS_MIN * pairs.len())?;
    let judged = effects(&differences(&pairs, &blocks));
    let mut candidates = candidates_of(&judged, &mut search.fates);
    if !extent.is_enough || judged.len() < settings {
        let is_proven = |at: &usize| judged.get(*at).is_some_and(Effect::is_proven);
        candidates.retain(is_proven);
        (0..settings).filter(|at| !is_proven(at)).for_each(|at| search.fates[at] = Fate::CannotTell);
    }
    search.screened = Some(Screened { extent, effects: seen(0..settings, judged) });
    Ok(candidates)
}

/// The second stage, over few settings. Returns those of the best combination.
fn cross(candidates: &[usize], search: &mut Search, stages: &mut Stages<'_>) -> Result<Vec<usize>, Failure> {
    let settings = search.fates.len();
    let pairs = factorial(candidates.len());
    let wide: Vec<Pair> = pairs
        .iter()
        .map(|(a, b)| (spread(a, candidates, settings), spread(b, candidates, settings)))
        .collect();
    let (extent, blocks) = stages.run(Stage::Cross, &wide, CROSS_SHARE_OF_REST, CROSS_PAIRS_MIN)?;
    let (alone, together) = crossed(&pairs, &blocks, candidates.len());
    let best = best_combination(&alone, &together, candidates.len());
    for (at, &setting) in candidates.iter().enumerate() {
        search.fates[setting] = match alone[at] {
            _ if best[at] => Fate::Kept,
            effect if effect.is_proven() && effect.log < 0.0 => Fate::Harms,
            effect if effect.is_proven() => Fate::NotInTheBest,
            effect if !extent.is_enough || effect.interval.is_none() => Fate::CannotTell,
            _ if search.screened.is_some() => Fate::NotBorneOut,
            _ => Fate::NoEffect,
        };
    }
    let of = |(a, b): (usize, usize)| (candidates[a], candidates[b]);
    search.crossed = Some(Crossed {
        extent,
        effects: seen(candidates.iter().copied(), alone),
        together: together
            .into_iter()
            .map(|(settings, effect)| Together { settings: of(settings), effect })
            .collect(),
    });
    Ok(candidates.iter().zip(&best).filter(|(_, wanted)| **wanted).map(|(&at, _)| at).collect())
}

/// The third stage: the settings of the winner against none.
fn confirm(
    winner: Vec<usize>,
    tolerance: f64,
    search: &mut Search,
    stages: &mut Stages<'_>,
) -> Result<(), Failure> {
    let combination: Combination = (0..search.fates.len()).map(|at| winner.contains(&at)).collect();
    let pairs = [against_start(combination)];
    let (extent, blocks) = stages.run(Stage::Confirm, &pairs, CONFIRM_SHARE_OF_REST, CONFIRM_BLOCKS_MIN)?;
    let ratios = blocks.iter().flatten().flatten().map(|(start, winner)| winner - start).collect();
    let comparison = judge(&[Samples::Generations(ratios)], tolerance).remove(0);
    let fate = match comparison.as_ref().map(|c| c.decision) {
        Some(Decision::Higher) => Fate::Kept,
        Some(Decision::Lower) => Fate::Harms,
        None | Some(Decision::TooFewRepetitions { .. }) => Fate::CannotTell,
        _ if !extent.is_enough => Fate::CannotTell,
        _ => Fate::NotConfirmed,
    };
    winner.iter().for_each(|&at| search.fates[at] = fate);
    search.confirmed = Some(Confirmed { extent, winner, comparison });
    Ok(())
}

fn check(settings: usize, bounds: Bounds, run_s: f64) -> Result<(), Failure> {
    if settings == 0 {
        return Err(Failure::misuse("there is no setting to search among", "name at least one that differs"));
    }
    if settings > SETTINGS_MAX {
        return Err(Failure::misuse(
            format!("{settings} settings are too many: a search takes at most {SETTINGS_MAX}"),
            "leave out those of which you expect least",
        ));
    }
    let least_s = runs_min(settings) as f64 * run_s;
    if least_s > bounds.within_s {
        let minutes = (least_s * 1.5 / 60.0).ceil();
        return Err(Failure::misuse(
            format!(
                "the time is too short: {settings} settings take {} runs of {run_s:.1} s at least, {least_s:.0} s, and {:.0} s are left after \
                 the trial",
                runs_min(settings),
                bounds.within_s.max(0.0)
            ),
            format!("give it more time (--within {minutes:.0}m), fewer settings, or a plan of fewer cells"),
        ));
    }
    Ok(())
}

/// Runs stages and keeps account of the time.
struct Stages<'a> {
    experiment: &'a mut dyn Experiment,
    left_s: f64,
}

impl Stages<'_> {
    /// Runs a stage for this share of the time that is left, and at least so many pairs.
    fn run(
        &mut self,
        stage: Stage,
        pairs: &[Pair],
        share: f64,
        pairs_min: usize,
    ) -> Result<(Extent, Vec<Vec<Measured>>), Failure> {
        let block_s = 2.0 * pairs.len() as f64 * self.experiment.run_s();
        let fit = (self.left_s * share / block_s) as usize;
        let least = pairs_min.div_ceil(pairs.len());
        let blocks = fit.clamp(least, (PAIRS_MAX / pairs.len()).max(least));
        let measured = self.experiment.run(stage, pairs, blocks)?;
        // What it took, which may be more than was foreseen.
        let took_s = 2.0 * pairs.len() as f64 * self.experiment.run_s() * blocks as f64;
        self.left_s = (self.left_s - took_s).max(0.0);
        let all = measured.iter().flatten().count();
        let lost = measured.iter().flatten().filter(|m| m.is_none()).count();
        let extent = Extent {
            combinations: 2 * pairs.len(),
            blocks,
            lost,
            why_lost: self.experiment.why_lost().filter(|_| lost > 0),
            is_enough: lost as f64 <= all as f64 * LOST_SHARE_MAX,
        };
        Ok((extent, measured))
    }
}

fn seen(settings: impl IntoIterator<Item = usize>, effects: Vec<Effect>) -> Vec<Seen> {
    settings.into_iter().zip(effects).map(|(setting, effect)| Seen { setting, effect }).collect()
}

/// The settings of a screen that go on; those that do not have their fates written down.
fn candidates_of(judged: &[Effect], fates: &mut [Fate]) -> Vec<usize> {
    let helps = |at: &usize| judged[*at].log > 0.0 && judged[*at].p <= SCREEN_P_MAX;
    let mut candidates: Vec<usize> = (0..judged.len()).filter(helps).collect();
    // What is proven goes first, then what is likely.
    candidates.sort_by(|&a, &b| {
        let proven = judged[b].is_proven().cmp(&judged[a].is_proven());
        proven.then(judged[b].log.total_cmp(&judged[a].log))
    });
    for (at, effect) in judged.iter().enumerate() {
        if effect.is_proven() && effect.log < 0.0 {
            fates[at] = Fate::Harms;
        }
    }
    for &at in candidates.iter().skip(CROSSED_MAX) {
        fates[at] = if judged[at].is_proven() { Fate::LeftForLater } else { Fate::NoEffect };
    }
    candidates.truncate(CROSSED_MAX);
    candidates.sort_unstable();
    candidates
}

/// The combination of all settings in which these candidates have these levels and all others are as found.
fn spread(levels: &Combination, candidates: &[usize], settings: usize) -> Combination {
    let mut wide = vec![false; settings];
    candidates.iter().zip(levels).for_each(|(&at, &level)| wide[at] = level);
    wide
}

fn sign(level: bool) -> f64 {
    if level { 1.0 } else { -1.0 }
}

/// The difference of each pair that was measured.
fn differences(pairs: &[Pair], blocks: &[Vec<Measured>]) -> Vec<Contrast> {
    let of_block = |block: &Vec<Measured>| -> Vec<Contrast> {
        let measured = pairs.iter().zip(block).filter_map(|((row, _), m)| Some((row, (*m)?)));
        measured
            .map(|(row, (a, b))| Contrast {
                signs: row.iter().map(|&level| sign(level)).collect(),
                difference: a - b,
            })
            .collect()
    };
    blocks.iter().flat_map(of_block).collect()
}

/// The effects of a full factorial: of each setting, and of each two beyond those.
#[allow(clippy::type_complexity)] // A list of pairs of indices with what they do.
fn crossed(
    pairs: &[Pair],
    blocks: &[Vec<Measured>],
    count: usize,
) -> (Vec<Effect>, Vec<((usize, usize), Effect)>) {
    let twos: Vec<(usize, usize)> = (0..count).flat_map(|a| (a + 1..count).map(move |b| (a, b))).collect();
    let mut contrasts = differences(pairs, blocks);
    contrasts.iter_mut().for_each(|c| c.signs.extend(twos.iter().map(|_| 0.0)));
    for block in blocks {
        let figure = |levels: &Combination| {
            pairs.iter().zip(block).find_map(|((row, mirror), m)| {
                let (of_row, of_mirror) = (*m)?;
                if row == levels { Some(of_row) } else { (mirror == levels).then_some(of_mirror) }
            })
        };
        for (at, &(a, b)) in twos.iter().enumerate() {
            for (row, mirror) in pairs {
                for base in [row, mirror] {
                    let four = if base[a] || base[b] { None } else { quad(&figure, base, a, b) };
                    let Some(difference) = four else { continue };
                    let mut signs = vec![0.0; count + twos.len()];
                    signs[count + at] = 1.0;
                    contrasts.push(Contrast { signs, difference });
                }
            }
        }
    }
    let mut judged = effects(&contrasts);
    if judged.is_empty() {
        let none = Effect { log: 0.0, interval: None, p: 1.0, p_corrected: 1.0 };
        judged = vec![none; count + twos.len()];
    }
    let together = judged.split_off(count);
    (judged, twos.into_iter().zip(together).collect())
}

/// What two settings do together beyond what each does alone, where the others are as in `base`.
fn quad(figure: &dyn Fn(&Combination) -> Option<f64>, base: &Combination, a: usize, b: usize) -> Option<f64> {
    let with = |at: &[usize]| {
        let mut levels = base.clone();
        at.iter().for_each(|&at| levels[at] = true);
        figure(&levels)
    };
    Some(with(&[a, b])? - with(&[a])? - with(&[b])? + with(&[])?)
}

/// The combination of which what is proven promises most; of equals the one that changes least.
fn best_combination(alone: &[Effect], together: &[((usize, usize), Effect)], count: usize) -> Combination {
    let promise = |levels: &Combination| -> f64 {
        let proven = |effect: &Effect| if effect.is_proven() { effect.log } else { 0.0 };
        let alone = levels.iter().zip(alone).map(|(&l, e)| sign(l) * proven(e) / 2.0);
        let together =
            together.iter().map(|((a, b), e)| sign(levels[*a]) * sign(levels[*b]) * proven(e) / 4.0);
        alone.sum::<f64>() + together.sum::<f64>()
    };
    let mut all: Vec<Combination> =
        (0..1usize << count).map(|row| (0..count).map(|at| row >> at & 1 == 1).collect()).collect();
    all.sort_by_key(|levels: &Combination| levels.iter().filter(|l| **l).count());
    let mut best = vec![false; count];
    for levels in all {
        if promise(&levels) > promise(&best) + 1e-9 {
            best = levels;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::super::simulated::Simulated;
    use super::*;

    const WITHIN: Bounds = Bounds { within_s: 1200.0, tolerance: 0.01 };

    fn found(simulated: &mut Simulated) -> Search {
        search(simulated.effects.len(), WITHIN, simulated).unwrap()
    }

    #[test]
    fn two_planted_effects_among_twelve_are_found_and_nothing_else() {
        let searches = 40;
        let mut exact = 0;
        for seed in 0..searches {
            let mut simulated = Simulated::new(12, 0.05, seed);
            (simulated.effects[2], simulated.effects[9]) = (0.08, 0.25);
            let search = found(&mut simulated);
            exact += usize::from(search.kept() == [2, 9]);
            assert!(simulated.seconds <= WITHIN.within_s, "{}", simulated.seconds);
        }
        assert!(exact >= searches as usize * 9 / 10, "{exact} of {searches}");
    }

    #[test]
    fn settings_that_do_nothing_are_kept_in_at_most_one_search_of_twenty() {
        // Noise with bursts, drift between blocks, and a harmful setting in every other search.
        let searches = 120;
        let mut false_alarms = 0;
        for seed in 0..searches {
            let mut simulated = Simulated::new(12, 0.05, 1000 + seed);
            (simulated.bursts, simulated.drift) = (0.1, 0.05);
            simulated.effects[4] = if seed % 2 == 0 { 0.0 } else { -0.2 };
            false_alarms += usize::from(!found(&mut simulated).kept().is_empty());
        }
        assert!(false_alarms <= 6, "{false_alarms} of {searches}");
    }

    #[test]
    fn few_settings_that_do_nothing_are_not_kept_either() {
        let mut false_alarms = 0;
        for seed in 0..150 {
            let mut simulated = Simulated::new(1 + seed as usize % 4, 0.05, 5000 + seed);
            false_alarms += usize::from(!found(&mut simulated).kept().is_empty());
        }
        assert!(false_alarms <= 9, "{false_alarms} of 150");
    }

    #[test]
    fn harm_is_named_and_not_kept() {
        let mut simulated = Simulated::new(8, 0.03, 3);
        simulated.effects[5] = -0.3;
        let search = found(&mut simulated);
        assert_eq!((search.kept(), search.fates[5]), (vec![], Fate::Harms));
        assert!((search.effect(5).unwrap().log + 0.3).abs() < 0.03);
    }

    #[test]
    fn settings_that_spoil_each_other_are_not_both_kept() {
        // Each helps by 10%, and both together are worse than none.
        let mut simulated = Simulated::new(6, 0.02, 8);
        (simulated.effects[1], simulated.effects[3]) = (0.12, 0.10);
        simulated.together.push(((1, 3), -0.25));
        let search = found(&mut simulated);
        assert!(search.kept().len() <= 1, "{search:?}");
        let mut crossed = Simulated::new(2, 0.02, 9);
        (crossed.effects, crossed.together) = (vec![0.12, 0.10], vec![((0, 1), -0.15)]);
        let search = found(&mut crossed);
        assert_eq!((search.kept(), search.fates[1]), (vec![0], Fate::NotInTheBest), "{search:?}");
        let together = search.crossed.unwrap().together[0].effect;
        assert!(together.is_proven() && (together.log + 0.15).abs() < 0.05, "{together:?}");
    }

    #[test]
    fn settings_that_only_help_together_are_both_kept() {
        let mut simulated = Simulated::new(3, 0.02, 4);
        simulated.together.push(((0, 2), 0.2));
        assert_eq!(found(&mut simulated).kept(), [0, 2]);
    }

    #[test]
    fn runs_that_fail_are_left_out_and_counted() {
        let mut simulated = Simulated::new(6, 0.03, 6);
        simulated.effects[0] = 0.2;
        simulated.fails = 0.1;
        let search = found(&mut simulated);
        assert_eq!(search.kept(), [0]);
        assert!(search.screened.as_ref().unwrap().extent.lost > 0);
        assert_eq!(search.untold(), [0; 0]);
    }

    #[test]
    fn lost_runs_are_no_finding() {
        // Of two settings to cross, of many to screen, and of one to confirm.
        for settings in [1, 2, 6] {
            for fails in [0.6, 1.0] {
                let mut simulated = Simulated::new(settings, 0.03, 6);
                simulated.fails = fails;
                let search = found(&mut simulated);
                assert!(search.kept().is_empty());
                assert_eq!(search.untold(), (0..settings).collect::<Vec<_>>(), "{search:?}");
                assert!(search.extents().all(|extent| extent.lost > 0 && !extent.is_enough));
            }
        }
    }

    #[test]
    fn too_little_time_and_no_settings_are_misuse() {
        let short = Bounds { within_s: 30.0, ..WITHIN };
        for (settings, bounds) in [(12, short), (0, WITHIN), (SETTINGS_MAX + 1, WITHIN)] {
            let failure = search(settings, bounds, &mut Simulated::new(settings, 0.1, 1)).unwrap_err();
            assert_eq!(failure.exit_code(), 2, "{failure:?}");
        }
    }

    #[test]
    fn the_time_is_kept_whatever_the_number_of_settings() {
        for settings in [1, 2, 4, 5, 12, 20] {
            let mut simulated = Simulated::new(settings, 0.05, 77);
            simulated.effects.iter_mut().for_each(|effect| *effect = 0.05);
            found(&mut simulated);
            assert!(simulated.seconds <= WITHIN.within_s * 1.01, "{settings}: {}", simulated.seconds);
        }
    }
}
