//! The search: screen, cross, confirm.
//!
//! 1. **Screen.** A folded design over all settings ([`screening`]). Settings that may help go on: a positive effect with p <= 10%,
//!    uncorrected, so that few are missed. Up to [`CROSSED_MAX`] settings skip this stage.
//! 2. **Cross.** All combinations of the remaining settings, in new runs, with a strict limit: 5% over all effects and interactions
//!    together (Holm). The winner is the best combination of proven settings.
//! 3. **Confirm.** The winner against the start, again in new runs, since the best of many was also lucky: only these runs show by how
//!    much it is better.
//!
//! So a search over settings without effect finds something in fewer than one of 20 cases: chance has to favour the same setting in
//! all stages. An [`Experiment`] runs the combinations; nothing here knows a server or a clock.

use serde::Serialize;

use pitot_results::Failure;

use super::design::{CROSSED_MAX, Combination, Pair, SETTINGS_MAX, against_start, factorial, screening};
use super::effects::{Contrast, Effect, effects};
use pitot_stats::{Comparison, Decision, Samples, judge};

/// The p-value up to which a setting goes on to the next stage.
const SCREEN_P_MAX: f64 = 0.10;

/// Minimum number of runs of each combination in a stage. Three are 24 pairs or more in a screen.
const SCREEN_BLOCKS_MIN: usize = 2;
const CROSS_PAIRS_MIN: usize = 8;
const CONFIRM_BLOCKS_MIN: usize = 8;

/// Maximum number of pairs in a stage, enough for an effect of half of the standard deviation of a run.
const PAIRS_MAX: usize = 150;

/// The shares of the time.
const SCREEN_SHARE: f64 = 0.5;
const CROSS_SHARE_OF_REST: f64 = 0.5;
/// The rest is a reserve for slower runs.
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

/// Runs combinations of settings.
pub trait Experiment {
    /// Seconds of one run of a combination, including restarts: an estimate, and after a stage its average.
    fn run_s(&self) -> f64;

    /// Runs both combinations of each pair `blocks` times: in each block all pairs in random order, and the two of a pair
    /// next to each other in random order. Returns for each block and pair the logarithms of both figures, with the sign
    /// that makes more better; none if a run failed.
    ///
    /// # Errors
    /// If nothing can be measured, or the user stopped it.
    fn run(&mut self, stage: Stage, pairs: &[Pair], blocks: usize) -> Result<Vec<Vec<Measured>>, Failure>;

    /// Why runs of the last stage failed, if known: a clause.
    fn why_lost(&self) -> Option<String> {
        None
    }
}

/// The figures of a pair; none if one of the two has none.
pub type Measured = Option<(f64, f64)>;

/// If more than this share of pairs failed, a stage says nothing about settings without a proven effect.
const LOST_SHARE_MAX: f64 = 0.25;

/// Settings of a search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Seconds for all stages.
    pub within_s: f64,
    /// The winner is confirmed if it is better by more than this (0.01: 1%).
    pub tolerance: f64,
}

/// The size of a stage.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Extent {
    /// Combinations.
    pub combinations: usize,
    /// Runs of each combination.
    pub blocks: usize,
    /// Failed runs, with their partners.
    pub lost: usize,
    /// Why the first one failed, if known.
    pub why_lost: Option<String>,
    /// Whether enough runs succeeded to conclude that there is no effect.
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

/// The interaction of two settings.
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
    /// The winner against the start; higher is better. None if no run succeeded.
    pub comparison: Option<Comparison>,
}

/// The result of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fate {
    /// It helps and is in the result.
    Kept,
    /// It is proven to be harmful.
    Harms,
    /// No effect was seen.
    NoEffect,
    /// Too many of its runs failed, so its effect is unknown.
    CannotTell,
    /// It seemed to help, and new runs did not confirm it.
    NotBorneOut,
    /// It helps alone, but not in the best combination.
    NotInTheBest,
    /// It was in the winner, which was not confirmed.
    NotConfirmed,
    /// More settings seemed to help than can be crossed. Search again from the result.
    LeftForLater,
}

/// The result of a search.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Search {
    /// The first stage, where there were too many settings to cross.
    pub screened: Option<Screened>,
    /// The second, if the first left two or more.
    pub crossed: Option<Crossed>,
    /// The third, if anything was left.
    pub confirmed: Option<Confirmed>,
    /// The result of each setting.
    pub fates: Vec<Fate>,
}

impl Search {
    /// The settings that are in the result.
    pub fn kept(&self) -> Vec<usize> {
        (0..self.fates.len()).filter(|&at| self.fates[at] == Fate::Kept).collect()
    }

    /// The settings whose effect is unknown, since too many runs failed.
    pub fn untold(&self) -> Vec<usize> {
        (0..self.fates.len()).filter(|&at| self.fates[at] == Fate::CannotTell).collect()
    }

    /// The stages that were run.
    pub fn extents(&self) -> impl Iterator<Item = &Extent> {
        let screened = self.screened.iter().map(|stage| &stage.extent);
        let crossed = self.crossed.iter().map(|stage| &stage.extent);
        screened.chain(crossed).chain(self.confirmed.iter().map(|stage| &stage.extent))
    }

    /// The best estimate of a setting's effect: from the last stage that tested it alone.
    pub fn effect(&self, setting: usize) -> Option<Effect> {
        let crossed = self.crossed.iter().flat_map(|c| &c.effects);
        let screened = self.screened.iter().flat_map(|s| &s.effects);
        crossed.chain(screened).find(|seen| seen.setting == setting).map(|seen| seen.effect)
    }
}

/// Minimum number of runs of a search over so many settings, in all stages.
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
/// Of the experiment; or if there are no settings, too many settings, or too little time.
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
        return Err(Failure::misuse(
            "there are no settings to search",
            "name at least one setting whose value differs",
        ));
    }
    if settings > SETTINGS_MAX {
        return Err(Failure::misuse(
            format!("{settings} settings are too many: the maximum is {SETTINGS_MAX}"),
            "leave out the settings from which you expect least",
        ));
    }
    let least_s = runs_min(settings) as f64 * run_s;
    if least_s > bounds.within_s {
        let minutes = (least_s * 1.5 / 60.0).ceil();
        return Err(Failure::misuse(
            format!(
                "the time is too short: {settings} settings need at least {} runs of {run_s:.1} s, {least_s:.0} s, and {:.0} s are left after \
                 the trial",
                runs_min(settings),
                bounds.within_s.max(0.0)
            ),
            format!(
                "allow more time (--within {minutes:.0}m), or use fewer settings or a plan with fewer cells"
            ),
        ));
    }
    Ok(())
}

/// Runs stages and tracks the time.
struct Stages<'a> {
    experiment: &'a mut dyn Experiment,
    left_s: f64,
}

impl Stages<'_> {
    /// Runs a stage for this share of the remaining time, and at least so many pairs.
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
        // Its actual time, which may exceed the estimate.
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

/// The settings of a screen that go on; the results of the others are recorded.
fn candidates_of(judged: &[Effect], fates: &mut [Fate]) -> Vec<usize> {
    let helps = |at: &usize| judged[*at].log > 0.0 && judged[*at].p <= SCREEN_P_MAX;
    let mut candidates: Vec<usize> = (0..judged.len()).filter(helps).collect();
    // Proven effects first, then likely ones.
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

/// The combination with these levels of the candidates and all other settings as found.
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

/// The effects of a full factorial design: of each setting, and interactions of each two.
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

/// The interaction of two settings, with the others as in `base`.
fn quad(figure: &dyn Fn(&Combination) -> Option<f64>, base: &Combination, a: usize, b: usize) -> Option<f64> {
    let with = |at: &[usize]| {
        let mut levels = base.clone();
        at.iter().for_each(|&at| levels[at] = true);
        figure(&levels)
    };
    Some(with(&[a, b])? - with(&[a])? - with(&[b])? + with(&[])?)
}

/// The combination with the best proven effects; of equals the one that changes least.
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
