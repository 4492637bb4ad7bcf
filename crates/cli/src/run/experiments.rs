//! `pitot run experiments`: the suites that repeat published experiments, one after the other, in one report.

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use pitot_lab::{Where, prepare};
use pitot_meter::units::span;
use pitot_plan::{Catalog, Plan};
use pitot_record::Run as RunFile;
use pitot_report::Experiments;
use pitot_results::Failure;

use super::amount::Amount;
use super::options::Run;
use crate::catalog::catalog;
use crate::output::{default_output, print_line};
use crate::plan_text::PlanText;
use crate::report;
use crate::runs::Runs;
use crate::screen::Color;

/// What it is called in place of a suite.
pub(super) const NAME: &str = "experiments";

/// The suites, in the order of the experiments.
pub(crate) const SUITES: &[&str] = &[
    "architectures",
    "mail",
    "files",
    "accept-storm",
    "transfer",
    "memcached",
    "tuning",
    "engines",
    "data-server",
    "kernels",
    "endurance",
    "floor",
    "idle",
];

/// A suite that is going to be run.
struct Planned {
    suite: &'static str,
    plan: Plan,
    /// The estimated seconds and the fewest that decide anything, or why it cannot be run.
    seconds: Result<(f64, f64), String>,
}

impl Run {
    /// Whether the published experiments are asked for.
    pub(super) fn is_experiments(&self) -> bool {
        self.plan.as_deref() == Some(NAME)
    }

    /// Runs every suite that repeats a published experiment.
    pub(super) fn experiments(&self, runs: &mut Runs) -> Result<ExitCode, Failure> {
        self.check_experiments()?;
        let catalog = catalog()?;
        let planned =
            SUITES.iter().map(|suite| self.planned(suite, &catalog)).collect::<Result<Vec<_>, _>>()?;
        self.announce(&planned)?;
        let folder = self.output.clone().unwrap_or_else(|| default_output(NAME).with_extension(""));
        std::fs::create_dir(&folder).map_err(|e| {
            Failure::misuse(
                format!("cannot create the folder {}: {e}", folder.display()),
                "name another with -o",
            )
        })?;
        let begin = Instant::now();
        let mut all = Experiments::default();
        for at in 0..planned.len() {
            let left_s = self.amount.within_s().map(|within_s| within_s - begin.elapsed().as_secs_f64());
            let one = &planned[at];
            let file = folder.join(format!("{}.pitot", one.suite));
            let told = match &one.seconds {
                Err(why) => Err(why.clone()),
                Ok(seconds) => {
                    let within_s = left_s.map(|left_s| share(*seconds, sums(&planned[at..]), left_s));
                    self.experiment(one.suite, &file, within_s, runs)
                }
            };
            if runs.is_stopped() {
                break;
            }
            if let Err(why) = &told {
                print_line(format_args!("{}: not run: {why}", one.suite));
            }
            all.runs.push(opened(&file, &one.plan, told.err()));
        }
        let page = folder.join("experiments.html");
        report::show_summary_and_page(&all, &page, Color::AUTO)?;
        match runs.is_stopped() {
            false => Ok(ExitCode::SUCCESS),
            true => Err(Failure::run(
                "the experiments were stopped early; finished ones are kept",
                format!("see them with: pitot report {}/*.pitot", folder.display()),
            )),
        }
    }

    /// Refuses options that are for one plan.
    fn check_experiments(&self) -> Result<(), Failure> {
        let given = [
            ("--set", !self.changes.is_empty()),
            ("--repetitions", self.amount.repetitions.is_some()),
            ("--until-decided", self.amount.until_decided),
            ("--bus", self.bus.bus.is_some()),
            ("--fail-if", self.gates.are_given()),
            ("--dry-run", self.dry_run),
            ("--events", self.events.is_some()),
            ("--metrics", self.metrics.is_some()),
        ];
        match given.iter().find(|(_, is_given)| *is_given) {
            None => Ok(()),
            Some((option, _)) => Err(Failure::misuse(
                format!("{option} is for one plan, and `{NAME}` runs {}", SUITES.len()),
                format!("run one of them: {}", SUITES.join(", ")),
            )),
        }
    }

    /// The plan of a suite, and how long it takes.
    fn planned(&self, suite: &'static str, catalog: &Catalog) -> Result<Planned, Failure> {
        let source = PlanText::changed(suite, &[])?;
        // A build without mail or the brokerage does not know all keys.
        let plan = match source.parse(catalog) {
            Ok(plan) => plan,
            Err(failure) => {
                let plan = Plan { name: suite.to_owned(), title: suite.to_owned(), ..Plan::default() };
                return Ok(Planned { suite, plan, seconds: Err(failure.what) });
            }
        };
        let seconds = match plan.is_in_guests() {
            true if self.amount.within_s().is_some() => {
                Err(format!("the time of guests is not known before; `pitot run {suite}` runs it alone"))
            }
            true => Ok((0.0, 0.0)),
            false => prepare(plan.clone(), source.text, catalog, Where::Here)
                .map(|prepared| (prepared.estimate_s(), prepared.least_s() * SPARE))
                .map_err(|failure| failure.what),
        };
        Ok(Planned { suite, plan, seconds })
    }

    /// Says how long it takes, and refuses a time in which nothing is decided.
    fn announce(&self, planned: &[Planned]) -> Result<(), Failure> {
        let (all_s, least_s) = sums(planned);
        match self.amount.within_s() {
            Some(within_s) if within_s < least_s => Err(Failure::misuse(
                format!("{within_s:.0} s are too short: {} experiments take {}", planned.len(), span(all_s)),
                format!("allow at least {:.0}m, or run one of them", (least_s / 60.0).ceil()),
            )),
            within_s => {
                print_line(format_args!(
                    "{} experiments, about {}",
                    planned.len(),
                    span(within_s.unwrap_or(all_s))
                ));
                Ok(())
            }
        }
    }

    /// Runs one suite. An error says why there are no figures of it.
    fn experiment(
        &self,
        suite: &str,
        file: &Path,
        within_s: Option<f64>,
        runs: &mut Runs,
    ) -> Result<(), String> {
        let run = Run {
            plan: Some(suite.to_owned()),
            output: Some(file.to_owned()),
            amount: within_s.map_or_else(Amount::default, Amount::share),
            seed: self.seed,
            wait: self.wait,
            user: self.user,
            is_one_of_several: true,
            ..Run::default()
        };
        print_line(format_args!("\n{suite}"));
        match run.one(suite, None, runs, &mut None) {
            // Cells that failed are in the file, with their reasons.
            Err(failure) if !file.exists() => Err(failure.what),
            _ => Ok(()),
        }
    }
}

/// A machine may be slower than estimated by this factor.
const SPARE: f64 = 1.1;

/// The estimated seconds of all, and the fewest.
fn sums(planned: &[Planned]) -> (f64, f64) {
    let known = planned.iter().filter_map(|one| one.seconds.as_ref().ok());
    known.fold((0.0, 0.0), |(all, least), (estimate_s, least_s)| (all + estimate_s, least + least_s))
}

/// The seconds of one of several: what it needs at least, and its share of the rest.
fn share((estimate_s, least_s): (f64, f64), (all_s, all_least_s): (f64, f64), left_s: f64) -> f64 {
    least_s + (left_s - all_least_s).max(0.0) * estimate_s / all_s.max(f64::MIN_POSITIVE)
}

/// The run of a suite, or its plan alone with the reason.
fn opened(file: &Path, plan: &Plan, why: Option<String>) -> (RunFile, Option<String>) {
    let none = |why| (RunFile { plan: plan.clone(), ..RunFile::default() }, Some(why));
    match why {
        Some(why) => none(why),
        None => match report::open(file) {
            Ok(mut run) => {
                run.withhold_private_facts();
                (run, None)
            }
            Err(failure) => none(failure.what),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_gets_what_it_needs_and_its_share_of_the_rest_and_what_one_leaves_goes_to_the_others() {
        let all = [(100.0, 60.0), (300.0, 140.0)];
        let sums = |all: &[(f64, f64)]| all.iter().fold((0.0, 0.0), |s, one| (s.0 + one.0, s.1 + one.1));
        assert_eq!(share(all[0], sums(&all), 400.0), 60.0 + 50.0);
        assert_eq!(share(all[1], sums(&all[1..]), 290.0), 290.0);
        assert_eq!(share(all[1], sums(&all[1..]), 340.0), 340.0);
        assert_eq!(share(all[1], sums(&all[1..]), 10.0), 140.0, "not less than it needs");
    }
}
