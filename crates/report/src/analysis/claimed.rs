//! The cells that a claim of a publication is about.

use super::factor::{factor_title, levels_words};
use super::samples::values;
use pitot_plan::{Claim, Levels, Measure, label};
use pitot_record::{CellRecord, Metric, Run};
use pitot_stats::median;

/// A cell and what it is compared with.
pub(crate) type Pair<'r> = (&'r CellRecord, &'r CellRecord);

/// What the figure of a claim is made of: its mean over these.
#[derive(Debug)]
pub(crate) enum Terms<'r> {
    /// The cells themselves.
    Values(Vec<&'r CellRecord>),
    /// Pairs, each with the pair whose ratio theirs is divided by, if any.
    Ratios(Vec<(Pair<'r>, Option<Pair<'r>>)>),
}

impl<'r> Terms<'r> {
    /// What a claim is about.
    ///
    /// # Errors
    /// Why the run says nothing of it: a sentence without its full stop.
    pub(crate) fn of(run: &'r Run, claim: &Claim, metric: &Metric) -> Result<Terms<'r>, String> {
        let terms = Terms::named(run, claim, metric)?;
        terms.pairs().try_for_each(measured_alike)?;
        Ok(terms)
    }

    /// The cells that a claim names.
    fn named(run: &'r Run, claim: &Claim, metric: &Metric) -> Result<Terms<'r>, String> {
        let Some(of) = &claim.of else { return Err(claim.because.clone()) };
        let cells: Vec<&CellRecord> = run.cells.iter().filter(|cell| of.matches(&cell.factors)).collect();
        if cells.is_empty() {
            return Err(missing(run, of));
        }
        let cells: Vec<_> = cells.into_iter().map(|cell| measured(cell, metric)).collect::<Result<_, _>>()?;
        if let Some(factor) = &claim.over {
            return extremes(&cells, factor, metric);
        }
        let Some(to) = &claim.to else { return Ok(Terms::Values(cells)) };
        let against = |cell: &'r CellRecord| -> Result<Pair<'r>, String> {
            let other = run.counterpart(cell, to).ok_or_else(|| missing(run, to))?;
            Ok((cell, measured(other, metric)?))
        };
        let term = |cell: &'r CellRecord| {
            let than = claim.than.as_ref().map(|than| {
                let there = run.counterpart(cell, than).ok_or_else(|| missing(run, than))?;
                against(measured(there, metric)?)
            });
            Ok((against(cell)?, than.transpose()?))
        };
        cells.into_iter().map(term).collect::<Result<_, String>>().map(Terms::Ratios)
    }

    /// All pairs that are compared.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = Pair<'r>> {
        let ratios = match self {
            Terms::Values(_) => &[][..],
            Terms::Ratios(ratios) => ratios,
        };
        ratios.iter().flat_map(|(pair, than)| std::iter::once(*pair).chain(*than))
    }
}

/// The cell, if it has a figure.
fn measured<'r>(cell: &'r CellRecord, metric: &Metric) -> Result<&'r CellRecord, String> {
    if !cell.figures(metric).is_empty() {
        return Ok(cell);
    }
    let why = match cell.failures().next() {
        Some(failed) => failed.verdict.reason.clone(),
        None => format!("it has no {}", metric.words.noun),
    };
    Err(format!("there is no figure of {}: {why}", label(&cell.factors)))
}

/// Checks that both cells of a pair were measured in the same way. Servers that take turns meet less noise than one that was measured
/// alone, and they find the caches as the others left them.
fn measured_alike((one, other): Pair<'_>) -> Result<(), String> {
    let (alone, sliced) = match (one.measure, other.measure) {
        (Measure::Fresh, Measure::Slices) => (one, other),
        (Measure::Slices, Measure::Fresh) => (other, one),
        (Measure::Fresh, Measure::Fresh) | (Measure::Slices, Measure::Slices) => return Ok(()),
    };
    Err(format!(
        "{} was measured alone, since {}, and {} in turn with others",
        label(&alone.factors),
        alone.fresh_reason,
        label(&sliced.factors)
    ))
}

/// Why no cell has these levels.
fn missing(run: &Run, levels: &Levels) -> String {
    match run.skips.iter().find(|skip| levels.matches(&skip.factors)) {
        Some(skip) => format!("this run skipped {}: {}", levels_words(levels), skip.reason),
        None => format!("this run has no {}", levels_words(levels)),
    }
}

/// The highest against the lowest of the cells that differ in a factor only.
fn extremes<'r>(cells: &[&'r CellRecord], factor: &str, metric: &Metric) -> Result<Terms<'r>, String> {
    let middle = |cell: &CellRecord| median(&values(cell, metric)).unwrap_or(f64::NAN);
    let is_like = |a: &CellRecord, b: &CellRecord| {
        a.factors.iter().zip(&b.factors).all(|(a, b)| a.name == factor || a.level == b.level)
    };
    let by_middle = |a: &&'r CellRecord, b: &&'r CellRecord| middle(a).total_cmp(&middle(b));
    let mut ratios = Vec::new();
    for (at, cell) in cells.iter().enumerate() {
        if cells[..at].iter().any(|earlier| is_like(earlier, cell)) {
            continue;
        }
        let group = || cells.iter().copied().filter(|other| is_like(other, cell));
        match (group().max_by(by_middle), group().min_by(by_middle)) {
            (Some(highest), Some(lowest)) if highest.id != lowest.id => {
                ratios.push(((highest, lowest), None));
            }
            _ => return Err(format!("only one {} was measured", factor_title(factor))),
        }
    }
    Ok(Terms::Ratios(ratios))
}
