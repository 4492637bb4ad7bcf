//! `pitot compare`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use pitot_report::{Format, Gate, GateOutcome, compare, render_comparison};
use pitot_results::Failure;

use crate::report::{open, write_to};

/// Compare two runs, cell by cell: from two versions, two kernels, two hosts.
///
/// Prints what differs around the runs first, then the ratio of B to A for each cell that both have, with its 95%
/// interval, and whether a difference can be declared.
#[derive(Debug, Args)]
pub(crate) struct Compare {
    /// The first run, to compare with.
    #[arg(value_name = "A.pitot")]
    a: PathBuf,
    /// The second run.
    #[arg(value_name = "B.pitot")]
    b: PathBuf,
    /// The form.
    #[arg(long, default_value = "terminal")]
    format: CompareFormat,
    /// Where to write it; - is the standard output.
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,
    /// Exit with 1 if a cell changed by more than this, as 'throughput < -5%' or 'p99 > +10%'; may be repeated.
    ///
    /// It fires only where a difference is declared (significant after correction over all cells, and beyond the
    /// plan's tolerance) and the estimated change is beyond the one named, or where a cell failed in B only. It also
    /// exits with 1 if that cannot be decided, for want of repetitions or of common cells.
    #[arg(long, value_name = "EXPR")]
    fail_if: Vec<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum CompareFormat {
    /// Text of at most 100 columns.
    Terminal,
    /// Markdown, for an issue or a wiki.
    Md,
    /// One JSON object.
    Json,
    /// One self-contained page with charts.
    Html,
}

impl Compare {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let gates = self.fail_if.iter().map(|text| gate(text)).collect::<Result<Vec<_>, _>>()?;
        let (a, b) = (open(&self.a)?, open(&self.b)?);
        let comparison = compare(&a, &b, &gates);
        let judged: Vec<(Gate, GateOutcome)> = gates
            .into_iter()
            .map(|gate| {
                let outcome = gate.judge(&comparison);
                (gate, outcome)
            })
            .collect();
        let format = match self.format {
            CompareFormat::Terminal => Format::Terminal,
            CompareFormat::Md => Format::Markdown,
            CompareFormat::Json => Format::Json,
            CompareFormat::Html => Format::Html,
        };
        write_to(self.output.as_deref(), &render_comparison(&comparison, &judged, format))?;
        for (gate, outcome) in judged.iter().filter(|(_, outcome)| *outcome != GateOutcome::Passed) {
            eprintln!("pitot: {}", outcome.sentence(gate));
        }
        let passed = judged.iter().all(|(_, outcome)| *outcome == GateOutcome::Passed);
        Ok(if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

fn gate(text: &str) -> Result<Gate, Failure> {
    Ok(text.parse::<Gate>()?)
}
