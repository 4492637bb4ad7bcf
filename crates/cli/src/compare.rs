//! `pitot compare`.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use pitot_report::{Format, Gate, Gated, LoadComparison, LoadSide, Reported, compare, compare_within};
use pitot_results::load::LoadResult;
use pitot_results::{Failure, Printed};

use crate::confine::Reader;
use crate::report::open;
use crate::screen::Color;
use crate::{formats, gates};

/// Compare the servers of a run with its baseline, two runs, or two results of `pitot load --json`.
///
/// To compare two versions, measure both in one run: that shows the smallest differences. Two runs are compared cell by cell, by the
/// ratio to a reference: the plan's baseline, if it is the same server in both. The 95% interval includes how much the reference
/// changed between the runs. Without a reference no interval and no difference is reported. Differences in the environment come first.
///
/// Two results of `pitot load --json` are shown side by side with their ratios. They are single loads, so no interval and no
/// difference is reported, and a change is undecided.
///
/// Exit codes: 0 if every gate of --fail-if passed, or there is none; 1 if a gate was met, or the comparison could not be written; 2
/// for wrong usage; 3 if no gate was met and one is undecided.
#[derive(Debug, Args)]
pub(crate) struct Compare {
    /// The first run, or the first result of a load; a single run is compared with its baseline.
    #[arg(value_name = "A.pitot")]
    a: PathBuf,
    /// The second run, or the second result of a load.
    #[arg(value_name = "B.pitot")]
    b: Option<PathBuf>,
    /// Output format.
    #[arg(long, default_value = "terminal", value_parser = formats::of_comparisons())]
    format: Format,
    /// Output file; - is standard output. [default: standard output; for html, A-vs-B.html next to B.pitot, or A-vs-baseline.html]
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,
    /// Exit with 1 if a cell meets this condition, or with 3 if that is undecided; may be repeated.
    ///
    /// 'throughput < -5%' or 'p99 > +10%': the metric changed by more from A to B.
    ///
    /// 'p99 > 2ms', 'throughput < 50k', 'memory > 64MiB', 'error-rate > 1%': its value in B is beyond this limit.
    ///
    /// 'spread > 10%': the repetitions of a cell of B vary by more than this in the plan's metric.
    ///
    /// 'noisy', 'failed' or another verdict: a cell of B has it.
    ///
    /// `pitot list metrics` lists the metrics. A cell meets a condition only if its whole 95% interval is beyond the limit; a change
    /// must also be shown to exceed the plan's tolerance, after correction for the number of cells. A cell that failed only in B meets
    /// every condition. A condition passes if the interval of every cell is on the other side. It is undecided if an interval includes
    /// the limit, if a cell is missing from B, was network-bound or missed its rate, or if there are too few repetitions or no common
    /// cells. With several conditions, one that is met decides the exit code, else one that is undecided.
    #[arg(long, value_name = "EXPR")]
    fail_if: Vec<String>,
    #[command(flatten)]
    color: Color,
}

impl Compare {
    /// The results of loads with their files, if that is what is compared.
    fn loads(&self) -> Result<Option<[(String, LoadResult); 2]>, Failure> {
        let Some(b) = &self.b else {
            return match is_json(&self.a) {
                true => Err(Failure::misuse(
                    format!("{} is a single load and has no baseline", self.a.display()),
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
                    format!("{} is the result of a load, but {} is not", load.display(), run.display()),
                    "compare two results of pitot load --json, or two run files",
                ))
            }
        }
    }

    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let gates = gates::parsed(&self.fail_if)?;
        self.reader().confine();
        if let Some(loads) = self.loads()? {
            let [a, b] = loads.each_ref().map(|(file, result)| LoadSide { file, result });
            return self.conclude(&Gated::new(&LoadComparison::of(a, b), gates, Gate::judge_loads));
        }
        let (a, b) = (open(&self.a)?, self.b.as_deref().map(open).transpose()?);
        if b.is_none() && a.plan.baseline.is_none() {
            return Err(Failure::misuse(
                format!("the plan of {} has no baseline to compare with", self.a.display()),
                "name a second run, or add baseline = { server = \"old\" } to the plan and run it again",
            ));
        }
        let comparison = match &b {
            Some(b) => compare(&a, b, &gates),
            None => compare_within(&a, &gates),
        };
        self.conclude(&Gated::new(&comparison, gates, Gate::judge))
    }

    fn conclude<C>(&self, of: &Gated<'_, C>) -> Result<ExitCode, Failure>
    where
        for<'c> Gated<'c, C>: Reported,
    {
        let page = gates::page_path(&self.a, self.b.as_deref());
        gates::conclude(of, self.format, self.output.as_deref(), &page, self.color)
    }

    /// The files that it opens.
    fn reader(&self) -> Reader {
        let (a, b) = (&*self.a, self.b.as_deref());
        Reader::of(std::iter::once(a).chain(b), self.output.as_deref(), &gates::page_path(a, b))
    }
}

/// Whether a file begins as a JSON object.
fn is_json(path: &Path) -> bool {
    let mut beginning = [0; 64];
    let read = File::open(path).and_then(|mut file| file.read(&mut beginning));
    read.is_ok_and(|n| beginning[..n].trim_ascii_start().starts_with(b"{"))
}

fn load_result(path: &Path) -> Result<(String, LoadResult), Failure> {
    let wrong = |why: String| {
        Failure::misuse(
            format!("{} is not the result of a load: {why}", path.display()),
            "name a file written by pitot load --json FILE",
        )
    };
    let text = std::fs::read_to_string(path).map_err(|e| wrong(e.to_string()))?;
    let result = LoadResult::parse(&text).map_err(|e| wrong(e.to_string()))?;
    match result.printed {
        Printed::Load => Ok((path.display().to_string(), result)),
        _ => Err(wrong("another command wrote it".into())),
    }
}
