//! `pitot compare`.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use pitot_report::{
    Format, Gate, GateOutcome, Gated, LoadComparison, LoadSide, Reported, compare, compare_within,
};
use pitot_results::load::LoadResult;
use pitot_results::{Failure, Printed, stderr};

use crate::confine::Reader;
use crate::failure::UNDECIDED;
use crate::report::{open, show};
use crate::screen::Color;

/// Compare the servers of one run with its baseline, two runs cell by cell, or two results of `pitot load --json`, and judge what changed.
///
/// One run that has measured two versions side by side tells them apart best. Of two runs each cell that both have is compared by
/// its ratio to a reference: the plan's baseline, a server that is the same in both. Its 95% interval holds how far the reference
/// lay apart between them; without a reference no interval and no difference is claimed. Differences in the environment come first.
///
/// Two results of `pitot load --json` are shown side by side, with their ratios. They are single loads, so that no interval and no
/// difference is claimed, and a change is undecided.
///
/// Exit codes: 0 if every gate of --fail-if was passed, or there is none; 1 if one was met, or the comparison could not be
/// written; 2 for wrong use; 3 if no gate was met and one is undecided.
#[derive(Debug, Args)]
pub(crate) struct Compare {
    /// The first run, or result of a load; or the only run, whose cells are compared with its baseline.
    #[arg(value_name = "A.pitot")]
    a: PathBuf,
    /// The second run, or result of a load.
    #[arg(value_name = "B.pitot")]
    b: Option<PathBuf>,
    /// Output format.
    #[arg(long, default_value = "terminal")]
    format: CompareFormat,
    /// Output file; - is standard output. [default: standard output; for html, A-vs-B.html next to B.pitot, or A-vs-baseline.html]
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,
    /// Exit with 1 if a cell meets this condition, and with 3 if that cannot be decided; may be repeated.
    ///
    /// 'throughput < -5%' or 'p99 > +10%': the metric changed by more than this from A to B.
    ///
    /// 'p99 > 2ms', 'throughput < 50k', 'memory > 64MiB', 'error-rate > 1%': its value in B is beyond this limit.
    ///
    /// 'spread > 10%': the repetitions of a cell of B vary by more than this in the plan's metric.
    ///
    /// 'noisy', 'failed' or another verdict: a cell of B has it.
    ///
    /// `pitot list metrics` has the metrics. A cell meets a condition only if the whole 95% interval lies beyond it; for a
    /// change, the difference must also be significant (after correction for the number of cells, and beyond the plan's
    /// tolerance). A cell that failed in B only meets every condition. A condition is passed if the interval of every cell
    /// lies on the other side. It is undecided if an interval holds the limit, if a cell is missing from B, was
    /// network-bound or missed its rate, or for lack of repetitions or of common cells. Of several conditions, one that is
    /// met decides the exit code, else one that is undecided.
    #[arg(long, value_name = "EXPR")]
    fail_if: Vec<String>,
    #[command(flatten)]
    color: Color,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum CompareFormat {
    /// Text as wide as the terminal; of 80 columns where there is none and COLUMNS is not set.
    Terminal,
    /// Markdown, for an issue or a wiki.
    #[value(alias = "markdown")]
    Md,
    /// One JSON object.
    Json,
    /// One self-contained page with charts.
    Html,
    /// Annotations of GitHub Actions; the comparison as Markdown goes to the job summary ($GITHUB_STEP_SUMMARY).
    Github,
    /// JUnit XML: a test case for each cell, and one for each gate and cell.
    Junit,
}

impl Compare {
    /// The results of loads with their files, if that is what is compared.
    fn loads(&self) -> Result<Option<[(String, LoadResult); 2]>, Failure> {
        let Some(b) = &self.b else {
            return match is_json(&self.a) {
                true => Err(Failure::misuse(
                    format!("{} is the result of one load, and has no baseline", self.a.display()),
                    "name the result of a second load",
                )),
                false => Ok(None),
            };
        };
        match (is_json(&self.a), is_json(b)) {
            (false, false) => Ok(None),
            (true, true) => Ok(Some([load_result(&self.a)?, load_result(b)?])),
            (is_a, _) => {
                let (load, run) = if is_a { (&self.a, b) } else { (b, &self.a) };
                Err(Failure::misuse(
                    format!("{} is the result of a load, and {} is not", load.display(), run.display()),
                    "compare two results of pitot load --json, or two run files",
                ))
            }
        }
    }

    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let gates = self.fail_if.iter().map(|text| gate(text)).collect::<Result<Vec<_>, _>>()?;
        self.reader().confine();
        if let Some(loads) = self.loads()? {
            let [a, b] = loads.each_ref().map(|(file, result)| LoadSide { file, result });
            return self.conclude(&Gated::new(&LoadComparison::of(a, b), gates, Gate::judge_loads));
        }
        let (a, b) = (open(&self.a)?, self.b.as_deref().map(open).transpose()?);
        if b.is_none() && a.plan.baseline.is_none() {
            return Err(Failure::misuse(
                format!(
                    "the plan of {} has no baseline that its cells could be compared with",
                    self.a.display()
                ),
                "name a second run; or write baseline = { server = \"old\" } into the plan and run it again",
            ));
        }
        let comparison = match &b {
            Some(b) => compare(&a, b, &gates),
            None => compare_within(&a, &gates),
        };
        self.conclude(&Gated::new(&comparison, gates, Gate::judge))
    }

    /// Shows a comparison, and says which gates were not passed.
    fn conclude<C>(&self, of: &Gated<'_, C>) -> Result<ExitCode, Failure>
    where
        for<'c> Gated<'c, C>: Reported,
    {
        let format = match self.format {
            CompareFormat::Terminal => Format::Terminal,
            CompareFormat::Md => Format::Markdown,
            CompareFormat::Json => Format::Json,
            CompareFormat::Html => Format::Html,
            CompareFormat::Github => Format::Github,
            CompareFormat::Junit => Format::Junit,
        };
        let page = page_path(&self.a, self.b.as_deref());
        let shown = show(of, format, self.output.as_deref(), &page, self.color);
        for (gate, outcome) in of.gates.iter().filter(|(_, outcome)| *outcome != GateOutcome::Passed) {
            stderr::line(format_args!("pitot: {}", outcome.sentence(gate)));
        }
        shown?;
        Ok(exit_code(of.gates.iter().map(|(_, outcome)| outcome)))
    }

    /// The files that it opens.
    fn reader(&self) -> Reader {
        let (a, b) = (&*self.a, self.b.as_deref());
        Reader::of(std::iter::once(a).chain(b), self.output.as_deref(), &page_path(a, b))
    }
}

/// What an object of JSON begins with; a run file begins otherwise.
fn is_json(path: &Path) -> bool {
    let mut beginning = [0; 64];
    let read = File::open(path).and_then(|mut file| file.read(&mut beginning));
    // What cannot be read is reported where it is opened.
    read.is_ok_and(|n| beginning[..n].trim_ascii_start().starts_with(b"{"))
}

fn load_result(path: &Path) -> Result<(String, LoadResult), Failure> {
    let wrong = |why: String| {
        Failure::misuse(
            format!("{} is no result of a load: {why}", path.display()),
            "name what pitot load --json FILE has written",
        )
    };
    let text = std::fs::read_to_string(path).map_err(|e| wrong(e.to_string()))?;
    let result = LoadResult::parse(&text).map_err(|e| wrong(e.to_string()))?;
    match result.printed {
        Printed::Load => Ok((path.display().to_string(), result)),
        _ => Err(wrong("another command has written it".into())),
    }
}

/// A gate that is met is a finding, and one that is undecided is none: a caller can tell the two apart.
fn exit_code<'a>(outcomes: impl Iterator<Item = &'a GateOutcome>) -> ExitCode {
    let code = outcomes.map(|outcome| match outcome {
        GateOutcome::Met(_) => 1,
        GateOutcome::Undecided(_) => UNDECIDED,
        GateOutcome::Passed => 0,
    });
    ExitCode::from(code.reduce(|x, y| if x == 1 || y == 1 { 1 } else { x.max(y) }).unwrap_or(0))
}

/// The page of a comparison, next to the last run file.
fn page_path(a: &Path, b: Option<&Path>) -> PathBuf {
    let stem = |path: &Path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    match b {
        Some(b) => b.with_file_name(format!("{}-vs-{}.html", stem(a), stem(b))),
        None => a.with_file_name(format!("{}-vs-baseline.html", stem(a))),
    }
}

fn gate(text: &str) -> Result<Gate, Failure> {
    text.parse()
}
