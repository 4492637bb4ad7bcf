//! `pitot tune search`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use pitot_host::Machine;
use pitot_host::profile::PROFILES;
use pitot_meter::{Nanos, Random, units};
use pitot_plan::Plan;
use pitot_record::metric;
use pitot_report::Screen;
use pitot_results::{Failure, stderr};
use pitot_study::tune::{Bounds, WantedSetting, read_settings, search};

use super::answer::{SearchAnswer, json, page};
use super::candidates::{candidates, not_as_found};
use super::experiment::{OnThisMachine, RUNS};
use super::tolerance::tolerance;
use crate::catalog::catalog;
use crate::failure::hint;
use crate::formats::TextOrJson;
use crate::output::{self, default_output};
use crate::plan_text::PlanText;
use crate::runs::Runs;
use crate::screen::Color;
use pitot_meter::units::span;

/// Find those of many settings that help.
///
/// A screening design finds the settings that may have an effect, all combinations of these are crossed, and the best is
/// compared with the original settings again; each stage has runs of its own. The answer has the effect of each setting with
/// its 95% interval, and how to make the result permanent. At the end all settings are restored, except those that another
/// program has changed meanwhile. docs/tune.md has the method. The exit code is 0 whatever is found, 1 if the search failed or
/// was stopped, lost too many runs to know the effect of a setting, or another program has changed a setting, and 2 for a
/// mistake on the command line.
#[derive(Debug, Args)]
pub(super) struct Search {
    /// A TOML file of the settings to try, a line KEY = VALUE for each: "net.core.somaxconn" = 4096.
    #[arg(long, value_name = "FILE", required_unless_present = "profile", conflicts_with = "profile")]
    settings: Option<PathBuf>,
    #[arg(long = "for", value_name = "PROFILE", help = profile_help())]
    profile: Option<String>,
    /// The suite to measure, or the path of a plan whose load is timed. With several cells an effect is their
    /// geometric mean. [default: a built-in cache for the profiles cache and memcached-2009, else a built-in web server]
    #[arg(long, value_name = "SUITE|PLAN.toml")]
    plan: Option<String>,
    /// How long the search may take.
    #[arg(long, value_name = "TIME", value_parser = units::duration, default_value = "20m")]
    within: Nanos,
    /// The result must be better by more than this: 2%, or 0.02. [default: the plan's tolerance]
    #[arg(long, value_name = "SHARE", value_parser = tolerance)]
    tolerance: Option<f64>,
    /// The seed of the order, to repeat it.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// The folder to create, for the run files of the stages and the answer. [default: tune-search and the time]
    #[arg(short, long, value_name = "FOLDER")]
    output: Option<PathBuf>,
    /// The output format.
    #[arg(long, default_value = "text")]
    format: TextOrJson,
}

/// What is measured where no plan is named.
const PLANS: &[(&str, &str)] =
    &[("cache", include_str!("plans/cache.toml")), ("web", include_str!("plans/web.toml"))];

fn profile_help() -> String {
    let names: Vec<&str> = PROFILES.iter().map(|profile| profile.name).collect();
    format!("The settings of a profile: {}", names.join(", "))
}

impl Search {
    pub(super) fn run(self) -> Result<ExitCode, Failure> {
        let begin = Instant::now();
        let catalog = catalog()?;
        let machine = Machine::here();
        let (plan, source) = self.plan(&catalog)?;
        let metric = metric::find(&plan.metric).ok_or_else(|| {
            Failure::misuse(format!("unknown metric {}", plan.metric), "see `pitot list metrics`")
        })?;
        let (tried, mut left_out) = candidates(&machine, &self.wanted(&machine)?, self.profile.is_some())?;
        if tried.is_empty() {
            let why = left_out.first().map_or_else(String::new, |l| format!(": {}: {}", l.setting, l.why));
            return Err(Failure::misuse(
                format!("there is no setting to try{why}"),
                "name settings with other values than they have",
            ));
        }
        let tolerance = self.tolerance.unwrap_or(plan.tolerance);
        let values: Vec<(String, String)> = tried.iter().flat_map(|one| one.values.clone()).collect();
        let runs = Runs::new(RUNS, None)?;
        let folder = self.folder()?;
        let count = tried.len();
        let within_s = Duration::from_nanos(self.within.0).as_secs_f64();
        stderr::line(format_args!(
            "{} and their combinations, within {}; run files go to {}",
            units::counted(count as u64, "setting", "settings"),
            span(within_s),
            folder.display()
        ));
        let mut experiment = OnThisMachine {
            plan,
            source,
            catalog: &catalog,
            metric,
            candidates: tried,
            folder: folder.clone(),
            runs,
            random: Random::new(self.seed.unwrap_or_else(draw_seed)),
            run_s: 1.0,
            why_lost: None,
        };
        left_out.extend(experiment.try_out()?);
        if experiment.candidates.is_empty() {
            let why = left_out.last().map_or_else(String::new, |l| format!(": {}: {}", l.setting, l.why));
            return Err(Failure::run(
                format!("the plan cannot be measured with any of the settings{why}"),
                "try one alone: pitot tune try",
            ));
        }
        let bounds = Bounds { within_s: within_s - begin.elapsed().as_secs_f64(), tolerance };
        let found = search(experiment.candidates.len(), bounds, &mut experiment);
        let answer = SearchAnswer {
            search: &found?,
            candidates: &experiment.candidates,
            left_out: &left_out,
            metric,
            tolerance,
            plan: &experiment.plan,
            folder: &folder,
            took_s: begin.elapsed().as_secs_f64(),
            not_as_found: not_as_found(&machine, &values),
        };
        let (page, as_json) = (page(&answer), format!("{:#}\n", json(&answer)));
        output::each([
            match self.format {
                TextOrJson::Json => output::print(&as_json),
                TextOrJson::Text => output::draw(&page.draw(Color::AUTO.screen())),
            },
            write(&folder.join("answer.txt"), &page.draw(Screen::PLAIN).to_string()),
            write(&folder.join("answer.json"), &as_json),
        ])?;
        let is_whole = answer.not_as_found.is_empty() && answer.is_told();
        Ok(if is_whole { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    fn plan(&self, catalog: &pitot_plan::Catalog) -> Result<(Plan, String), Failure> {
        if let Some(name) = &self.plan {
            let source = PlanText::of(name)?;
            return Ok((source.parse(catalog)?, source.text));
        }
        let is_cache = matches!(self.profile.as_deref(), Some("cache" | "memcached-2009"));
        let (name, text) = PLANS[usize::from(!is_cache)];
        Ok((Plan::parse(&format!("{name}.toml"), text, catalog)?, text.to_owned()))
    }

    fn wanted(&self, machine: &Machine) -> Result<Vec<WantedSetting>, Failure> {
        if let Some(path) = &self.settings {
            let text = std::fs::read_to_string(path).map_err(|e| {
                Failure::misuse(
                    format!("the settings {} cannot be read: {e}", path.display()),
                    "write a file with a line for each: \"net.core.somaxconn\" = 4096",
                )
            })?;
            return read_settings(&path.display().to_string(), &text);
        }
        let name = self.profile.as_deref().unwrap_or_default();
        let profile = pitot_host::profile::profile(name).ok_or_else(|| {
            let names: Vec<&str> = PROFILES.iter().map(|profile| profile.name).collect();
            Failure::misuse(
                format!("there is no profile {name}{}", hint(name, names.iter().copied())),
                format!("profiles are {}", names.join(", ")),
            )
        })?;
        let wanted = |set: &pitot_host::profile::ProfileSetting| WantedSetting {
            key: set.key.to_owned(),
            value: set.value_on(machine),
        };
        Ok(profile.settings.iter().map(wanted).collect())
    }

    fn folder(&self) -> Result<PathBuf, Failure> {
        let folder = self.output.clone().unwrap_or_else(|| default_output("tune-search").with_extension(""));
        std::fs::create_dir(&folder).map_err(|e| {
            Failure::misuse(
                format!("the folder {} cannot be made: {e}", folder.display()),
                "name one that does not exist yet, with --output",
            )
        })?;
        Ok(folder)
    }
}

fn draw_seed() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(0) >> 1
}

fn write(path: &std::path::Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text).map_err(|e| {
        Failure::run(
            format!("{} cannot be written: {e}", path.display()),
            "check the space on its file system",
        )
    })
}
