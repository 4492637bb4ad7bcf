//! Runs combinations of settings with the lab: a stage is a run file.

use std::path::PathBuf;
use std::time::Instant;

use pitot_lab::{Where, prepare};
use pitot_meter::Random;
use pitot_plan::{AS_FOUND, Catalog, Plan, SettingSet};
use pitot_record::Run;
use pitot_record::metric::Metric;
use pitot_results::Failure;
use pitot_study::tune::{Combination, Experiment, Measured, Pair, Stage, log_figure, why_lost};

use super::candidates::{Candidate, LeftOut};
use crate::runs::Runs;

/// Runs that a search may need: the trial, the settings one by one, and three stages.
pub(super) const RUNS: usize = 5;

/// Combinations of settings on this machine.
pub(super) struct OnThisMachine<'a> {
    pub(super) plan: Plan,
    pub(super) source: String,
    pub(super) catalog: &'a Catalog,
    pub(super) metric: &'static Metric,
    pub(super) candidates: Vec<Candidate>,
    pub(super) folder: PathBuf,
    pub(super) runs: Runs,
    pub(super) random: Random,
    pub(super) run_s: f64,
    /// Why the last stage lost runs.
    pub(super) why_lost: Option<String>,
}

impl OnThisMachine<'_> {
    /// Tries the start and everything that is wanted for one generation, so that it is known what works and how long it
    /// takes. If all together does not work, each is tried alone, and those with which nothing works are left out.
    ///
    /// # Errors
    /// If nothing can be measured as the machine was found.
    pub(super) fn try_out(&mut self) -> Result<Vec<LeftOut>, Failure> {
        let none = vec![false; self.candidates.len()];
        let all = vec![true; self.candidates.len()];
        let begin = Instant::now();
        let run = self.measure("trial", &[none.clone(), all.clone()], vec![vec![0, 1]])?;
        self.run_s = begin.elapsed().as_secs_f64() / 2.0;
        if log_figure(&run, self.metric, &label(&none), 0).is_none() {
            let why = why_lost(&run, &label(&none)).unwrap_or("the metric has no figure there");
            return Err(Failure::run(
                format!("the plan cannot be measured with the present settings: {why}"),
                "try the plan alone with `pitot run`",
            ));
        }
        if log_figure(&run, self.metric, &label(&all), 0).is_some() {
            return Ok(Vec::new());
        }
        let singles: Vec<Combination> = (0..self.candidates.len())
            .map(|one| (0..self.candidates.len()).map(|at| at == one).collect())
            .collect();
        let run = self.measure("one-by-one", &singles, vec![(0..singles.len()).collect()])?;
        let mut left_out = Vec::new();
        let mut kept = Vec::new();
        for (candidate, single) in self.candidates.drain(..).zip(&singles) {
            if log_figure(&run, self.metric, &label(single), 0).is_some() {
                kept.push(candidate);
                continue;
            }
            let why = why_lost(&run, &label(single)).unwrap_or("the metric has no figure with it");
            let setting = format!("{}={}", candidate.key, candidate.wanted);
            left_out.push(LeftOut { setting, why: format!("nothing can be measured with it: {why}") });
        }
        self.candidates = kept;
        Ok(left_out)
    }

    /// Measures combinations, so many generations as there are orders, and returns the run.
    fn measure(
        &mut self,
        name: &str,
        combinations: &[Combination],
        orders: Vec<Vec<usize>>,
    ) -> Result<Run, Failure> {
        let sets: Vec<SettingSet> = combinations.iter().map(|combination| self.set(combination)).collect();
        let mut plan = self.plan.clone();
        plan.name = format!("tune-search-{name}");
        plan.title = format!("Which settings help? {name}");
        plan.notes.push(self.legend());
        plan.seed = Some(self.random.next_u64() >> 1);
        let mut prepared = prepare(plan.under(&sets), self.source.clone(), self.catalog, Where::Here)?;
        prepared.in_orders(orders)?;
        Ok(self.runs.run_untried(prepared, &self.folder.join(format!("{name}.pitot")))?.run)
    }

    /// A combination as a set of settings of a plan, in the user's words: some keys stand for steps that belong together.
    fn set(&self, combination: &Combination) -> SettingSet {
        let wanted = self.candidates.iter().zip(combination).filter(|(_, level)| **level);
        let settings =
            wanted.map(|(candidate, _)| (candidate.key.clone(), candidate.wanted.clone())).collect();
        SettingSet { name: label(combination), settings }
    }

    /// What the numbers of settings in labels mean.
    fn legend(&self) -> String {
        let settings = (1..).zip(&self.candidates);
        let named = settings.map(|(number, c)| format!("{number} {} {} -> {}", c.key, c.found, c.wanted));
        format!(
            "Levels of `settings` are the numbers of the changed settings: {}.",
            named.collect::<Vec<_>>().join("; ")
        )
    }
}

impl Experiment for OnThisMachine<'_> {
    fn why_lost(&self) -> Option<String> {
        self.why_lost.clone()
    }

    fn run_s(&self) -> f64 {
        self.run_s
    }

    fn run(&mut self, stage: Stage, pairs: &[Pair], blocks: usize) -> Result<Vec<Vec<Measured>>, Failure> {
        let name = match stage {
            Stage::Screen => "screen",
            Stage::Cross => "cross",
            Stage::Confirm => "confirm",
        };
        let combinations: Vec<Combination> =
            pairs.iter().flat_map(|(row, mirror)| [row.clone(), mirror.clone()]).collect();
        let orders = (0..blocks).map(|_| self.order(pairs.len())).collect();
        let begin = Instant::now();
        let run = self.measure(name, &combinations, orders)?;
        self.run_s = begin.elapsed().as_secs_f64() / (combinations.len() * blocks) as f64;
        let figure =
            |levels: &Combination, block: usize| log_figure(&run, self.metric, &label(levels), block as u32);
        let why = |levels: &Combination| why_lost(&run, &label(levels));
        self.why_lost = combinations.iter().find_map(why).map(str::to_owned);
        let pair = |(row, mirror): &Pair, block| Some((figure(row, block)?, figure(mirror, block)?));
        Ok((0..blocks).map(|block| pairs.iter().map(|p| pair(p, block)).collect()).collect())
    }
}

impl OnThisMachine<'_> {
    /// An order of pairs by lot; the two of a pair follow each other, in an order by lot.
    fn order(&mut self, pairs: usize) -> Vec<usize> {
        let mut shuffled: Vec<usize> = (0..pairs).collect();
        self.random.shuffle(&mut shuffled);
        shuffled
            .into_iter()
            .flat_map(|pair| {
                let first = self.random.below(2);
                [2 * pair + first, 2 * pair + 1 - first]
            })
            .collect()
    }
}

/// The numbers, from 1, of the settings that are as wanted: unique in a stage.
fn label(combination: &Combination) -> String {
    let numbers = (1..).zip(combination).filter(|(_, level)| **level);
    let numbers: Vec<String> = numbers.map(|(number, _): (usize, _)| number.to_string()).collect();
    if numbers.is_empty() { AS_FOUND.into() } else { numbers.join(" ") }
}
