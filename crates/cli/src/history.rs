//! `pitot history`.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use clap::builder::ValueParser;
use pitot_history::{Index, files, open_run};
use pitot_record::{METRICS, Metric, metric};
use pitot_report::Format;
use pitot_report::history::{Condition, History, Line, Next, Search};
use pitot_results::Failure;
use pitot_target::Places;
use serde_json::json;

use crate::choice::{one_of, word};
use crate::confine::Reader;
use crate::failure::UNDECIDED;
use crate::formats;
use crate::gates::exit_code;
use crate::labels::git;
use crate::output::{print, print_line};
use crate::report::show;
use crate::screen::Color;

/// Show the cells of many runs as lines, and since when a level changed.
///
/// Each cell of a plan is a line over all its runs, in the order of their commits, or else of their times. A change is a step of the
/// level that lasts; single runs that stand out are none. Runs of different machines are different lines. If all hold the same
/// reference (`reference` in a plan, `pitot diff --reference`, or a baseline that is the same server), they are one line of ratios to it.
///
/// Exit codes: 0 if the condition of --fail-if passed, or there is none; 1 if it is met; 2 for wrong usage; 3 if it is undecided, or
/// if --since-when names a commit to measure.
#[derive(Debug, Args)]
pub(crate) struct HistoryCommand {
    /// Directories with run files, which are searched with those below them, and run files. [default: this directory]
    #[arg(value_name = "DIR|FILE.pitot")]
    paths: Vec<PathBuf>,
    /// Show this metric. [default: that of each plan]
    #[arg(long, value_name = "METRIC", value_parser = known_metric)]
    metric: Option<&'static Metric>,
    /// Only runs of this plan.
    #[arg(long, value_name = "NAME")]
    plan: Option<String>,
    /// Only the last N runs of each cell.
    #[arg(long, value_name = "N")]
    last: Option<usize>,
    /// Output format.
    #[arg(long, default_value = "terminal", value_parser = formats::of_histories())]
    format: Format,
    /// Output file; - is standard output. [default: standard output; for html, history.html in this directory]
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,
    /// Exit with 1 if a level changed, or changed for the worse.
    #[arg(long, value_name = "CONDITION", value_parser = conditions())]
    fail_if: Option<Condition>,
    /// With --fail-if: only changes from the first run on that has a label beginning so (a commit), or began then (2026-11-27).
    #[arg(long, value_name = "LABEL|TIME", requires = "fail_if")]
    since: Option<String>,
    /// Search the commit that changed this cell: prints which commit to measure next, or which one it is. Runs need the label `commit`,
    /// and the command runs in the checkout. Without a change in the line its first and last commit are taken for the two levels.
    #[arg(long, value_name = "CELL", conflicts_with_all = ["fail_if", "output"])]
    since_when: Option<String>,
    #[command(flatten)]
    color: Color,
}

fn conditions() -> ValueParser {
    one_of([
        (word("change", "A level changed"), Condition::Change),
        (word("worse", "A level changed for the worse"), Condition::Worse),
    ])
}

fn known_metric(name: &str) -> Result<&'static Metric, String> {
    metric::find(name).filter(|metric| metric.is_of_runs()).ok_or_else(|| {
        let near = METRICS.iter().filter(|metric| metric.is_of_runs()).map(|metric| metric.name);
        let near = pitot_plan::nearest(name, near)
            .map(|near| format!("; the nearest is `{near}`"))
            .unwrap_or_default();
        format!("there is no such metric{near} (pitot list metrics)")
    })
}

/// The index of runs in this user's cache.
pub(crate) fn index() -> Index {
    Index::at(&index_file())
}

/// Its file.
pub(crate) fn index_file() -> PathBuf {
    Places::of_this_machine().cache.with_file_name("runs.sqlite")
}

impl HistoryCommand {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let paths = if self.paths.is_empty() { vec![PathBuf::from(".")] } else { self.paths.clone() };
        let files = files(&paths)?;
        let index = index();
        let page = Path::new("history.html");
        // Git is another program, so that a search for a commit gives up no right.
        if self.since_when.is_none() {
            let mut directories = HashSet::new();
            let of_each = files.iter().filter(|file| directories.insert(file.parent())).map(PathBuf::as_path);
            let reader = Reader::of(of_each, self.output.as_deref(), page);
            reader.writes(index_file().parent().unwrap_or(page)).confine();
        }
        let mut history = self.read(&files, &index)?;
        if let Some(cell) = &self.since_when {
            return self.search(&history, cell);
        }
        if let Some(condition) = self.fail_if {
            history.judge(condition, self.since.as_deref());
        }
        show(&history, self.format, self.output.as_deref(), page, self.color)?;
        Ok(exit_code(history.gate.iter().map(|gate| &gate.outcome)))
    }

    /// The history of the files that are runs; the others are left out, each with its reason.
    fn read(&self, files: &[PathBuf], index: &Index) -> Result<History, Failure> {
        let (mut runs, mut left_out) = (Vec::new(), Vec::new());
        for file in files {
            match index.figures(file, self.metric) {
                Ok(run) if self.plan.as_ref().is_none_or(|plan| *plan == run.plan) => runs.push(run),
                Ok(_) => {}
                Err(failure) => left_out.push(failure.what),
            }
        }
        if runs.is_empty() {
            let why = left_out.first().map(|why| format!(" ({why})")).unwrap_or_default();
            return Err(Failure::misuse(
                format!("there is no run among {} files{why}", files.len()),
                "name a directory with the files of `pitot run`",
            ));
        }
        let mut history = History::of(runs, self.last);
        history.left_out = left_out;
        history.explain(|path| open_run(path).ok());
        Ok(history)
    }

    /// Says which commit is to be measured next.
    fn search(&self, history: &History, cell: &str) -> Result<ExitCode, Failure> {
        let line = the_line(history, cell)?;
        let wrong = |what: String| {
            Failure::misuse(what, "measure in a checkout, or name what was measured: --label commit=1a2b3c")
        };
        let search = Search::of(line).map_err(wrong)?.ok_or_else(|| {
            Failure::run(
                format!(
                    "no change of {cell} is seen, and the intervals of its first and last commit overlap"
                ),
                "measure an older or a newer commit, or both for a longer time",
            )
        })?;
        let commits = format!("{}..{}", clean(&search.before), clean(&search.after));
        let listed = git(&["rev-list", "--first-parent", "--reverse", &commits]).ok_or_else(|| {
            Failure::misuse(
                format!("git knows no commits {commits} here"),
                "run it in the checkout whose commits were measured",
            )
        })?;
        let between: Vec<String> = listed.lines().map(str::to_owned).collect();
        let next = search.next(&between);
        match self.format {
            Format::Json => print(&format!("{:#}\n", as_json(&search, &next, &between)))?,
            Format::Terminal => print_line(&next),
            _ => {
                return Err(Failure::misuse(
                    "--since-when has the formats terminal and json",
                    "omit --format",
                ));
            }
        }
        Ok(match next {
            Next::Found { .. } => ExitCode::SUCCESS,
            Next::Measure { .. } => ExitCode::from(UNDECIDED),
        })
    }
}

fn as_json(search: &Search, next: &Next, between: &[String]) -> serde_json::Value {
    let (state, commit) = match next {
        Next::Found { commit, .. } => ("found", commit),
        Next::Measure { commit, .. } => ("measure", commit),
    };
    json!({"schema": "pitot-since-when/1", "state": state, "commit": commit, "before": search.before, "after": search.after, "left": between.len()})
}

/// A commit without the mark of changed files.
fn clean(commit: &str) -> &str {
    commit.trim_end_matches("-dirty")
}

/// The one line of a cell.
fn the_line<'h>(history: &'h History, cell: &str) -> Result<&'h Line, Failure> {
    let own: Vec<&Line> = history.lines.iter().filter(|line| line.cell == cell).collect();
    match own[..] {
        [only] => Ok(only),
        [] => {
            let cells: Vec<&str> = history.lines.iter().map(|line| line.cell.as_str()).take(10).collect();
            Err(Failure::misuse(
                format!("there is no cell `{cell}`"),
                format!("name one of: {}", cells.join("; ")),
            ))
        }
        _ => Err(Failure::misuse(
            format!("`{cell}` has {} lines, of several plans or machines", own.len()),
            "name a plan with --plan, or files of one machine",
        )),
    }
}
