//! Whether settings of the host help, in a sentence for each cell.

use pitot_plan::{AS_FOUND, SETTINGS_FACTOR};
use pitot_record::{Better, Run};
use pitot_stats::{Comparison, Decision, more_generations};

use crate::amount::{generation_s, generations, unit_of_pair};
use crate::analysis::{Analysis, Cell, within_run};
use crate::control::control_sentences;
use crate::number::{percent, span};
use crate::phrase::versus;

/// What a run says of settings for one cell.
#[derive(Clone, Debug)]
pub struct Tried {
    /// The cell, without the settings.
    pub cell: String,
    /// The answer.
    pub effect: Effect,
    /// The settings against none of them, in the metric of the run.
    pub comparison: Comparison,
    /// The largest difference that the interval allows, as a share (0.012: 1.2%); none if there is a difference, or no interval.
    pub none_above: Option<f64>,
    /// Seconds in which such a run detects half of that with 80% power.
    pub half_takes_s: Option<f64>,
    /// All of it in a sentence.
    pub sentence: String,
}

impl Tried {
    /// Whether it is an answer: a difference, or none above some share.
    pub fn is_decided(&self) -> bool {
        self.effect.is_difference() || (self.effect == Effect::None && self.none_above.is_some())
    }

    /// This run and a second one of fresh generations together: a difference is declared if both show it, with the size in the second,
    /// since the first was selected for its difference.
    ///
    /// The rate of false differences falls from 1 in 20 to 1 in 800.
    #[must_use]
    pub fn confirmed_by(self, again: Option<Tried>) -> Tried {
        if !self.effect.is_difference() {
            return self;
        }
        let Some(mut again) = again else {
            let sentence = format!(
                "{}: undecided. The difference in the first run could not be measured again.",
                self.cell
            );
            return Tried { effect: Effect::Unknown, sentence, ..self };
        };
        let seen = self.comparison.interval.map_or(String::new(), |interval| {
            format!(" ({:.3} [{:.3}, {:.3}])", self.comparison.ratio, interval.low, interval.high)
        });
        if again.effect.is_difference() && again.effect != self.effect {
            again.effect = Effect::Unknown;
            again.sentence = format!(
                "{}: undecided. The first run showed the opposite{seen} of fresh generations ({:.3}).",
                again.cell, again.comparison.ratio
            );
        } else if !again.effect.is_difference() {
            again.sentence +=
                &format!(" Fresh generations did not confirm the difference of the first run{seen}.");
        }
        again
    }
}

/// Whether settings help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Better than without.
    Helps,
    /// Worse than without.
    Harms,
    /// No difference was found.
    None,
    /// There are too few generations or repetitions to tell.
    Unknown,
}

impl Effect {
    /// Whether it helps or harms.
    pub fn is_difference(self) -> bool {
        matches!(self, Effect::Helps | Effect::Harms)
    }

    /// The word for it in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Effect::Helps => "helps",
            Effect::Harms => "harms",
            Effect::None => "no-difference",
            Effect::Unknown => "unknown",
        }
    }
}

/// The effect of each level of the factor `settings` except `found`, and the sentences of the controls. `name`: the settings in
/// sentences.
pub fn tried(run: &Run, name: &str) -> (Vec<Tried>, Vec<String>) {
    let a = Analysis::of(run);
    let is_tried = |cell: &&Cell<'_>| {
        cell.record.factors.iter().any(|f| f.name == SETTINGS_FACTOR && f.level != AS_FOUND)
    };
    let answers = a.cells.iter().filter(is_tried).filter_map(|cell| answer(&a, cell, name)).collect();
    let controls = control_sentences(&a).into_iter().map(|sentence| sentence.replace("**", "")).collect();
    (answers, controls)
}

fn answer(a: &Analysis<'_>, cell: &Cell<'_>, name: &str) -> Option<Tried> {
    let baseline = a.run.baseline_of(cell.record)?;
    let comparison = a.compare(cell.record, baseline, a.headline)?;
    let higher_is_better = a.headline.better == Better::Higher;
    let effect = match comparison.decision {
        Decision::Higher if higher_is_better => Effect::Helps,
        Decision::Lower if !higher_is_better => Effect::Helps,
        Decision::Higher | Decision::Lower => Effect::Harms,
        Decision::TooFewRepetitions { .. } | Decision::NoReference => Effect::Unknown,
        Decision::Suggested | Decision::Alike | Decision::NoDifferenceSeen => Effect::None,
    };
    let interval = comparison.interval.filter(|_| effect == Effect::None);
    let none_above = interval.map(|interval| (interval.high - 1.0).max(1.0 - interval.low));
    let half_takes_s = none_above.and_then(|limit| seconds_for(a, cell, limit / 2.0));
    let others = cell.record.factors.iter().filter(|f| f.name != SETTINGS_FACTOR);
    let label = others.map(|f| f.level.as_str()).collect::<Vec<_>>().join(", ");
    let unit = unit_of_pair(cell.record, baseline);
    let said = versus((name, "found"), a.headline, &comparison, a.run.plan.tolerance, unit).replace("**", "");
    let sentence = match (effect, none_above) {
        (Effect::Helps, _) => format!("{label}: it helps. {said}."),
        (Effect::Harms, _) => format!("{label}: it harms. {said}."),
        (Effect::None, Some(limit)) => {
            let ratio =
                said.rsplit_once("ratio ").map_or(String::new(), |(_, ratio)| format!(", ratio {ratio}"));
            let finer = half_takes_s
                .map(|s| format!(" Detecting {} takes about {}.", percent(limit / 2.0), span(s.ceil())));
            let noun = a.headline.words.noun;
            format!(
                "{label}: no difference above {} in {noun}{ratio}.{}",
                percent(limit),
                finer.unwrap_or_default()
            )
        }
        (Effect::None | Effect::Unknown, _) => format!("{label}: undecided. {said}."),
    };
    Some(Tried { cell: label, effect, comparison, none_above, half_takes_s, sentence })
}

/// Seconds of a whole run that would find a difference.
fn seconds_for(a: &Analysis<'_>, cell: &Cell<'_>, difference: f64) -> Option<f64> {
    let baseline = a.run.baseline_of(cell.record)?;
    let samples = within_run(a.run, cell.record, baseline, a.headline);
    let more = more_generations(&samples, difference, a.family_size_max(a.headline), 0.0)?;
    Some((generations(a.run) + more) as f64 * generation_s(a.run)?)
}

#[cfg(test)]
mod tests {
    use pitot_stats::{Interval, Samples, judge};

    use super::*;

    fn said(effect: Effect, ratio: f64) -> Tried {
        let alike = Samples::Paired(vec![(100.0, 100.0); 7]);
        let mut comparison = judge(&[alike], 0.0).remove(0).unwrap();
        comparison.ratio = ratio;
        comparison.interval = Some(Interval { low: ratio - 0.1, high: ratio + 0.1, coverage: 0.95 });
        let sentence = format!("loop: {}.", effect.name());
        Tried { cell: "loop".into(), effect, comparison, none_above: Some(0.1), half_takes_s: None, sentence }
    }

    #[test]
    fn a_difference_is_one_that_fresh_generations_see_too() {
        let together = |first, again| said(first, 1.3).confirmed_by(Some(again));
        let found = together(Effect::Helps, said(Effect::Helps, 1.2));
        assert_eq!(
            (found.effect, found.comparison.ratio, found.sentence.as_str()),
            (Effect::Helps, 1.2, "loop: helps.")
        );
        let chance = together(Effect::Helps, said(Effect::None, 1.0));
        assert_eq!(chance.effect, Effect::None);
        assert!(
            chance
                .sentence
                .ends_with("did not confirm the difference of the first run (1.300 [1.200, 1.400])."),
            "{}",
            chance.sentence
        );
        let torn = together(Effect::Helps, said(Effect::Harms, 0.8));
        assert!(
            torn.effect == Effect::Unknown && torn.sentence.contains("the opposite"),
            "{}",
            torn.sentence
        );
        assert_eq!(said(Effect::Harms, 0.7).confirmed_by(None).effect, Effect::Unknown);
        // What was no difference was not asked again.
        assert_eq!(together(Effect::None, said(Effect::Harms, 0.8)).effect, Effect::None);
    }
}
