//! `pitot tune try`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use clap::Args;
use pitot_meter::{Nanos, units};
use pitot_plan::{Catalog, Plan, SettingSet};
use pitot_record::{Run, metric};
use pitot_report::{Tried, tried};
use pitot_results::{Failure, VerdictKind};
use serde_json::{Value, json};

use super::setting::{checked, plan_with, ready};
use super::tolerance::tolerance;
use crate::catalog::catalog;
use crate::failure::hint;
use crate::formats::TextOrJson;
use crate::output::default_output;
use crate::run::Profile;
use crate::runs::{Ran, Runs};

/// The level at which the settings are made.
const TRIED: &str = "tried";

/// Test whether settings of the host help a server.
///
/// In each generation the server is started with the settings, without them, and once more without them as a control, in random
/// order. A difference counts if a second run confirms it. The answer is a sentence with an interval: the settings help, they
/// harm, or any difference is below a bound.
///
/// The exit code is 0 if there is an answer for each cell, 1 if a cell failed or has no answer, and 2 for misuse.
#[derive(Debug, Args)]
pub(crate) struct Attempt {
    /// Settings, as of `pitot host apply`: net.core.somaxconn=4096. All are applied together.
    #[arg(value_name = "SETTING=VALUE", required = true)]
    settings: Vec<String>,
    /// A suite, or the path of a plan, whose cells are measured. [default: one event
    /// loop, small replies, 64 connections that stay open]
    #[arg(long, value_name = "SUITE|PLAN.toml")]
    plan: Option<String>,
    /// The total time; a difference is measured again in the second half. [default: 20 generations, and again]
    #[arg(long, value_name = "TIME", value_parser = units::duration)]
    within: Option<Nanos>,
    /// The metric that decides, instead of the plan's.
    #[arg(long)]
    metric: Option<String>,
    /// Smaller differences do not count: 2%, or 0.02.
    #[arg(long, value_name = "SHARE", default_value = "1%", value_parser = tolerance)]
    tolerance: f64,
    #[command(flatten)]
    profile: Profile,
    /// The run file to create. [default: `tune-try` and the time, in this directory]
    #[arg(short, long, value_name = "FILE.pitot")]
    output: Option<PathBuf>,
    /// The output format.
    #[arg(long, default_value = "text")]
    format: TextOrJson,
}

/// Generations where no time is given: an effect as large as the spread of a generation is found in nearly all runs.
const GENERATIONS: u32 = 20;

impl Attempt {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let settings = checked(&self.settings)?;
        let outcome = self.measure(&settings)?;
        if outcome.answers.is_empty() {
            return Err(Failure::run(
                "no cell could be measured with the settings and without them",
                format!("the reasons: pitot report {}", outcome.files[0].display()),
            ));
        }
        crate::output::print(&match self.format {
            TextOrJson::Text => outcome.text(),
            TextOrJson::Json => format!("{:#}\n", outcome.json(&settings, self.tolerance)),
        })?;
        let is_whole = outcome.answers.iter().all(Tried::is_decided) && !outcome.has_failed;
        Ok(if is_whole { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    /// Runs the plan, and once more where that has seen a difference.
    fn measure(&self, settings: &[(String, String)]) -> Result<Outcome, Failure> {
        let mut runs = Runs::new(2, None)?;
        let catalog = catalog()?;
        let (plan, text) = self.experiment(settings, &catalog)?;
        let begin = Instant::now();
        let within_s = self.within.map(|within| within.as_secs_f64());
        let prepare = |plan: Plan, runs: f64| {
            let mut prepared = ready(plan, text.clone(), &catalog)?;
            if let Some(within_s) = within_s {
                let least_s = 2.0 * prepared.least_s();
                if within_s < least_s {
                    return Err(Failure::misuse(
                        format!(
                            "{within_s:.0} s is too short: to measure twice takes at least {least_s:.0} s"
                        ),
                        format!("--within {:.0}s, or a plan of fewer cells", (least_s * 1.1).ceil()),
                    ));
                }
                prepared.keep_within((within_s - begin.elapsed().as_secs_f64()) / runs)?;
            }
            Ok::<_, Failure>(prepared)
        };
        let words = self.settings.join(" ");
        let output = self.output.clone().unwrap_or_else(|| default_output("tune-try"));
        let Ran { path, run, .. } = runs.run(prepare(plan.clone(), 2.0)?, &output)?;
        let first = Outcome::of(path, &run, &words);
        if !first.answers.iter().any(|answer| answer.effect.is_difference()) {
            return Ok(first);
        }
        // In an order of its own: what a plan's seed repeats is a first run.
        let Ran { path, run, .. } =
            runs.run(prepare(Plan { seed: None, ..plan }, 1.0)?, &again(&first.files[0]))?;
        Ok(first.confirmed_by(Outcome::of(path, &run, &words)))
    }

    /// The plan with the settings as a factor.
    fn experiment(
        &self,
        settings: &[(String, String)],
        catalog: &Catalog,
    ) -> Result<(Plan, String), Failure> {
        let set = SettingSet { name: TRIED.to_owned(), settings: settings.to_vec() };
        let (mut plan, text) = plan_with(self.plan.as_deref(), vec![set], catalog)?;
        self.profile.change(&mut plan);
        if let Some(name) = &self.metric {
            let all = || catalog.metrics.iter().map(String::as_str);
            plan.metric = metric::find(name)
                .filter(|metric| metric.is_of_runs())
                .map(|metric| metric.name.to_owned())
                .ok_or_else(|| {
                    let what = format!("unknown metric `{name}`{}", hint(name, all()));
                    Failure::misuse(what, "see `pitot list metrics`")
                })?;
        }
        plan.name = "tune-try".to_owned();
        plan.title = format!("Does it help? {}", self.settings.join(", "));
        plan.tolerance = self.tolerance;
        plan.until_decided_s = None;
        plan.generations = Some(GENERATIONS);
        Ok((plan, text))
    }
}

/// The file of the second run.
fn again(first: &Path) -> PathBuf {
    let stem = first.file_stem().unwrap_or_default().to_string_lossy();
    first.with_file_name(format!("{stem}-again.pitot"))
}

/// What runs say of the settings.
struct Outcome {
    metric: String,
    answers: Vec<Tried>,
    controls: Vec<String>,
    has_failed: bool,
    /// The run, and the one that confirms it where there is one.
    files: Vec<PathBuf>,
}

impl Outcome {
    fn of(file: PathBuf, run: &Run, words: &str) -> Outcome {
        let (answers, controls) = tried(run, words);
        let has_failed = run.cells.iter().any(|cell| cell.verdict().kind == VerdictKind::Failed);
        Outcome { metric: run.plan.metric.clone(), answers, controls, has_failed, files: vec![file] }
    }

    /// Both together: answers of this one that are no difference, and the others as the second confirms them.
    fn confirmed_by(mut self, second: Outcome) -> Outcome {
        let confirmed = |answer: Tried| {
            let same = second.answers.iter().find(|other| other.cell == answer.cell).cloned();
            answer.confirmed_by(same)
        };
        self.answers = self.answers.into_iter().map(confirmed).collect();
        self.controls.extend(second.controls);
        self.has_failed |= second.has_failed;
        self.files.extend(second.files);
        self
    }

    fn text(&self) -> String {
        let sentences = self.answers.iter().map(|answer| &answer.sentence).chain(&self.controls);
        let whole = self.files.iter().map(|file| format!("the whole run: pitot report {}", file.display()));
        sentences.cloned().chain(whole).map(|line| line + "\n").collect()
    }

    fn json(&self, settings: &[(String, String)], tolerance: f64) -> Value {
        json!({
            "schema": "pitot-tune-try/1",
            "settings": settings.iter().cloned().collect::<std::collections::BTreeMap<_, _>>(),
            "tolerance": tolerance,
            "answers": self.answers.iter().map(|answer| to_json(answer, &self.metric)).collect::<Vec<_>>(),
            "controls": self.controls,
            "file": self.files[0],
            "confirmed_in": self.files.get(1),
        })
    }
}

fn to_json(answer: &Tried, metric: &str) -> Value {
    json!({
        "cell": answer.cell,
        "metric": metric,
        "effect": answer.effect.name(),
        "ratio": answer.comparison.ratio,
        "interval": answer.comparison.interval.map(|interval| [interval.low, interval.high]),
        "p": answer.comparison.p,
        "none_above": answer.none_above,
        "half_takes_s": answer.half_takes_s,
        "sentence": answer.sentence,
    })
}
