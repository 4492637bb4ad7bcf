//! `pitot init`.

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use pitot_plan::Plan;
use pitot_results::Failure;

use crate::catalog::catalog;
use crate::comparison::{Comparison, Folder};
use crate::output::{print, print_line};
use crate::plan_text::{PlanText, unknown_suite};

/// Write a plan with comments, to edit.
///
/// With the options of `pitot run --server ...` it is the plan of that comparison, with --from that of a suite, else one of
/// two servers of Pitot, with comments on how to add your own. Existing files are not overwritten.
///
/// Its first line names the schema of plans, by which editors complete and check keys (docs/plans.md):
/// pitot list plan-schema >plan-schema.json
#[derive(Debug, Args)]
pub(crate) struct Init {
    /// The file to write; - is standard output.
    #[arg(value_name = "FILE", default_value = "plan.toml")]
    file: PathBuf,
    /// Repetitions of each cell. [default: 8]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    repetitions: Option<u32>,
    /// The plan of this suite (`pitot list suites`).
    #[arg(long, value_name = "SUITE", conflicts_with_all = ["server", "repetitions"])]
    from: Option<String>,
    /// With --from: another value for a key of the plan; may be repeated. For a factor, its levels: --set
    /// load.connections=64,256.
    #[arg(long = "set", id = "set", value_name = "KEY=VALUE", requires = "from")]
    changes: Vec<String>,
    #[command(flatten)]
    comparison: Comparison,
}

impl Init {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        self.comparison.check_servers()?;
        let comparison =
            if self.comparison.is_given() { self.comparison.clone() } else { Comparison::example() };
        let is_stdout = self.file == Path::new("-");
        let here = std::env::current_dir().map_err(|e| {
            Failure::run(format!("the current directory is not known: {e}"), "change to one that exists")
        })?;
        let folder = if is_stdout { None } else { std::path::absolute(&self.file).ok() };
        let is_here = folder.as_deref().and_then(Path::parent).is_none_or(|folder| folder == here);
        let elsewhere = here.to_string_lossy();
        let folder = if is_here { Folder::Here } else { Folder::Elsewhere(&elsewhere) };
        let text = match &self.from {
            Some(suite) => suite_text(suite, &self.changes)?,
            None => comparison.plan_text(self.repetitions, &catalog()?, folder)?,
        };
        let text = format!("{SCHEMA}\n{text}");
        if is_stdout {
            return print(&text).map(|()| ExitCode::SUCCESS);
        }
        let shown = self.file.display();
        let written = File::create_new(&self.file).and_then(|mut file| file.write_all(text.as_bytes()));
        match written {
            Ok(()) => {
                print_line(format_args!("wrote {shown}; run it with: pitot run {shown}"));
                Ok(ExitCode::SUCCESS)
            }
            Err(e) if e.kind() == ErrorKind::AlreadyExists => Err(Failure::misuse(
                format!("{shown} already exists"),
                format!("name another file, or print the plan with: pitot init {}-", options_of_hint(&self)),
            )),
            Err(e) => Err(Failure::run(
                format!("{shown} cannot be written: {e}"),
                "check the path, its permissions and the free space",
            )),
        }
    }
}

/// The first line of a plan, which editors read that follow Taplo's directives.
const SCHEMA: &str = "#:schema ./plan-schema.json";

/// The plan of a suite, changed, as one who reads it first would write it.
fn suite_text(name: &str, changes: &[String]) -> Result<String, Failure> {
    if pitot_plan::suite(name).is_none() {
        return Err(Failure::misuse(
            unknown_suite(name),
            "`pitot list suites` names them; a plan of your own is copied with cp",
        ));
    }
    let text = PlanText::changed(name, changes)?.text;
    Plan::parse(&format!("{name}.toml"), &text, &catalog()?)?;
    Ok(text)
}

/// Reminds of the options in the command that a hint shows.
fn options_of_hint(init: &Init) -> &'static str {
    if init.comparison.is_given() { "[OPTIONS] " } else { "" }
}
