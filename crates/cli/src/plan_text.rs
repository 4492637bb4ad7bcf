//! Plans as users name them: a suite, or a file, with other values for some keys.

use std::io;
use std::path::{Path, PathBuf};

use pitot_plan::{Catalog, Plan, RENAMED_SUITES, SUITES, suite, with_change};
use pitot_results::Failure;

use crate::failure::hint;

/// The text of a plan, and where it comes from.
#[derive(Clone, Debug)]
pub(crate) struct PlanText {
    /// As messages name it.
    pub(crate) name: String,
    pub(crate) text: String,
    /// That of its file; none of a suite.
    folder: Option<PathBuf>,
}

impl PlanText {
    /// Of a suite, or of a file.
    pub(crate) fn of(name: &str) -> Result<PlanText, Failure> {
        if let Some(suite) = suite(name) {
            return Ok(PlanText { name: format!("{name}.toml"), text: suite.text.to_owned(), folder: None });
        }
        let folder = std::path::absolute(name).ok().and_then(|path| Some(path.parent()?.to_owned()));
        Ok(PlanText { name: name.to_owned(), text: read_plan(name)?, folder })
    }

    /// With other values for some keys.
    pub(crate) fn changed(name: &str, changes: &[String]) -> Result<PlanText, Failure> {
        let plan = PlanText::of(name)?;
        let text = changes.iter().try_fold(plan.text, |text, change| with_change(&text, change))?;
        Ok(PlanText { text, ..plan })
    }

    /// What the options of a comparison describe, started in a folder.
    pub(crate) fn described(name: &str, text: String, folder: PathBuf) -> PlanText {
        PlanText { name: name.to_owned(), text, folder: Some(folder) }
    }

    /// The plan. Its paths are those of its folder.
    pub(crate) fn parse(&self, catalog: &Catalog) -> Result<Plan, Failure> {
        let mut plan = Plan::parse(&self.name, &self.text, catalog)?;
        if let Some(folder) = &self.folder {
            plan.resolve_paths(folder);
        }
        Ok(plan)
    }
}

/// What is wrong with a name that no suite has, with the name that was meant.
pub(crate) fn unknown_suite(name: &str) -> String {
    match RENAMED_SUITES.iter().find(|(old, _)| *old == name) {
        Some((_, new)) => format!("the suite `{name}` is now called `{new}`"),
        None => format!("unknown suite `{name}`{}", hint(name, SUITES.iter().map(|suite| suite.name))),
    }
}

fn read_plan(name: &str) -> Result<String, Failure> {
    let path = Path::new(name);
    if !path.exists() && path.extension().is_none() {
        let all: Vec<&str> = SUITES.iter().map(|s| s.name).collect();
        return Err(Failure::misuse(
            unknown_suite(name),
            format!("suites are {}; a plan is a file whose name ends in .toml", all.join(", ")),
        ));
    }
    std::fs::read_to_string(path).map_err(|e| {
        let what = format!("the plan {name} cannot be read: {e}");
        let fix = match e.kind() {
            // Most likely a program.
            io::ErrorKind::InvalidData => {
                format!("to measure a program: pitot run --server '{name} {{address}}'")
            }
            _ => "check the path and its permissions".to_owned(),
        };
        Failure::misuse(what, fix)
    })
}
