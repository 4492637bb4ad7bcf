//! Whether a run can be trusted, and what speaks against it: never in a footnote.

use crate::analysis::{Analysis, Cell};
use crate::number::figure;
use crate::words::{list, noun, sentence};
use pitot_lab::statistics::MEDIAN_REPETITIONS_MIN;
use pitot_lab::{RunState, VerdictKind};

/// Whether the measurement can be trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trust {
    /// The grade.
    pub grade: Grade,
    /// Why, one sentence each; the gravest first.
    pub reasons: Vec<String>,
}

/// A grade of trust.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grade {
    /// Every cell is valid and nothing else speaks against it.
    Good,
    /// Some figures need the care that the reasons tell.
    Care,
    /// Most of the figures do not tell of the servers.
    Bad,
}

impl Grade {
    /// The grade in words.
    pub fn name(self) -> &'static str {
        match self {
            Grade::Good => "The measurement can be trusted",
            Grade::Care => "Read with care",
            Grade::Bad => "Do not rely on this run",
        }
    }
}

/// Whether the run can be trusted, and what speaks against it.
pub fn trust(a: &Analysis<'_>) -> Trust {
    let total = a.cells.len();
    let of_kind =
        |kind: VerdictKind| -> Vec<&Cell<'_>> { a.cells.iter().filter(|c| c.verdict.kind == kind).collect() };
    let names = |cells: &[&Cell<'_>]| {
        let names: Vec<String> = cells.iter().map(|c| a.name_of(c)).collect();
        list(&names.iter().map(String::as_str).collect::<Vec<_>>())
    };
    // "All 16 cells were", "3 of 16 cells were", "1 of 16 cells was".
    let count = |cells: &[&Cell<'_>], one: &str, many: &str| match cells.len() {
        n if n == total && total > 1 => format!("All {total} cells {many}"),
        1 => format!("1 of {total} cells {one}"),
        n => format!("{n} of {total} cells {many}"),
    };
    let mut reasons = Vec::new();
    let failed = of_kind(VerdictKind::Failed);
    let noisy = of_kind(VerdictKind::Noisy);
    let network = of_kind(VerdictKind::NetworkBound);
    for (cells, one, many) in [
        (&failed, "failed and has no figures", "failed and have no figures"),
        (&noisy, "was noisy", "were noisy"),
        (&network, "was limited by the network", "were limited by the network"),
    ] {
        if let Some(first) = cells.first() {
            reasons.push(format!("{}: {}.", count(cells, one, many), names(cells)));
            reasons.push(sentence(&format!("**{}**: {}", a.name_of(first), first.verdict.reason)));
        }
    }
    let partly: Vec<&Cell<'_>> =
        a.cells.iter().filter(|c| !c.failed() && c.record.failures().next().is_some()).collect();
    if !partly.is_empty() {
        let some = partly.iter().flat_map(|c| c.record.failures()).count();
        reasons.push(format!(
            "{some} repetition{} failed and {} left out of the figures of {}; the reasons stand with the cells.",
            if some == 1 { "" } else { "s" },
            if some == 1 { "is" } else { "are" },
            names(&partly)
        ));
    }
    let client = of_kind(VerdictKind::ClientBound);
    if !client.is_empty() {
        reasons.push(format!(
            "{} limited by the load generator: the server can carry more than is shown, CPU per request is not \
             affected ({}).",
            count(&client, "was", "were"),
            names(&client)
        ));
    }
    if a.run.info.state != RunState::Complete || !a.run.is_complete() {
        let done: usize = a.run.cells.iter().map(|c| c.repetitions.len()).sum();
        let wanted = a.run.cells.len() * a.run.plan.repetitions as usize;
        reasons.push(format!(
            "The run is not complete: {done} of {wanted} repetitions are there; `pitot run --resume {}` goes on.",
            a.run.path.display()
        ));
    }
    if (a.run.plan.repetitions as usize) < MEDIAN_REPETITIONS_MIN {
        reasons.push(format!(
            "{} repetitions give no 95% interval of a median ({MEDIAN_REPETITIONS_MIN} do): ranges are shown instead, \
             in round brackets.",
            a.run.plan.repetitions
        ));
    }
    let unsteady = a.cells.iter().filter(|c| c.spread.as_ref().is_some_and(|s| !s.is_steady())).count();
    if unsteady > 0 {
        reasons.push(format!(
            "In {unsteady} of {total} cells the repetitions spread by more than {} in {}.",
            crate::number::percent(pitot_lab::statistics::STEADY_MAX),
            noun(a.headline)
        ));
    }
    if !a.run.host_changes.is_empty() {
        let what: Vec<String> =
            a.run.host_changes.iter().map(|c| format!("{} {}", c.group, c.name)).collect();
        reasons.push(format!("The machine changed during the run: {}.", what.join(", ")));
    }
    reasons.extend(a.run.info.warnings.iter().map(|w| sentence(w)));
    let spoilt = failed.len() + noisy.len() + network.len();
    let grade = if total == 0 || spoilt * 2 > total {
        Grade::Bad
    } else if reasons.is_empty() {
        Grade::Good
    } else {
        Grade::Care
    };
    if grade == Grade::Good {
        reasons.push(format!("All {total} cells are valid, and the machine did not change during the run."));
    }
    Trust { grade, reasons }
}

/// The repetitions that stand out in the headline's figure, one sentence for each cell that has some.
pub(crate) fn outliers(a: &Analysis<'_>) -> Vec<String> {
    a.cells
        .iter()
        .filter_map(|cell| {
            let spread = cell.spread.as_ref().filter(|s| !s.outliers.is_empty())?;
            let figures = cell.record.figures(a.headline);
            let which: Vec<String> = spread
                .outliers
                .iter()
                .filter_map(|i| figures.get(*i))
                .map(|(block, value)| format!("block {}: {}", block + 1, figure(*value, a.headline.unit)))
                .collect();
            let middle = figure(cell.estimate(a.headline)?.value, a.headline.unit);
            Some(format!("**{}** ({middle}): {}.", a.name_of(cell), which.join(", ")))
        })
        .collect()
}
