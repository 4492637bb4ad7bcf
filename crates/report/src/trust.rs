//! Whether a run can be trusted, and the reasons not to.

use crate::amount::{generations, sliced};
use crate::analysis::{Analysis, Cell};
use crate::carry_over::carry_over;
use crate::control::{Control, control_sentences, controls, failed_controls};
use crate::findings::unlike_words;
use crate::number::{figure, figure_with_spread, percent};
use crate::outlook::outlook;
use crate::phrase::ratio;
use crate::text::{list, s, sentence};
use pitot_plan::Measure;
use pitot_record::RunState;
use pitot_results::VerdictKind;
use pitot_stats::{Decision, Interval, MEDIAN_REPETITIONS_MIN, STEADY_MAX};

/// Whether the measurement can be trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trust {
    /// The grade.
    pub grade: Grade,
    /// Why, one sentence each, the worst first.
    pub reasons: Vec<String>,
    /// What else matters: the controls, cells measured in another way, and what a longer run would show.
    pub notes: Vec<String>,
}

/// A grade of trust.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grade {
    /// Every cell is valid, and there is no reason to distrust it.
    Good,
    /// Some figures need care, for the reasons given.
    Care,
    /// Most of the figures do not describe the servers.
    Bad,
    /// The control failed: the run finds differences where there are none.
    Untrusted,
}

impl Grade {
    /// The grade in JSON, and its class in HTML.
    pub fn name(self) -> &'static str {
        match self {
            Grade::Good => "good",
            Grade::Care => "care",
            Grade::Bad | Grade::Untrusted => "bad",
        }
    }

    /// The grade for readers.
    pub fn title(self) -> &'static str {
        match self {
            Grade::Good => "The measurement can be trusted",
            Grade::Care => "Read with care",
            Grade::Bad => "Do not rely on this run",
            Grade::Untrusted => "This run cannot be trusted",
        }
    }
}

/// So many changes of the machine are named; more are counted.
const CHANGES_MAX: usize = 5;

/// Verdicts of cells whose figures do not describe their server, in words for one cell and for several.
const SPOILT: [(VerdictKind, &str, &str); 4] = [
    (VerdictKind::Failed, "failed and has no figures", "failed and have no figures"),
    (VerdictKind::Noisy, "was noisy", "were noisy"),
    (
        VerdictKind::RateMissed,
        "did not reach the rate that was asked for",
        "did not reach the rate that was asked for",
    ),
    (VerdictKind::NetworkBound, "was limited by the network", "were limited by the network"),
];

/// A wider interval of a ratio is reported.
const INTERVAL_WIDTH_MAX: f64 = 1.5;

/// Whether the run can be trusted.
pub fn trust(a: &Analysis<'_>) -> Trust {
    let total = a.cells.len();
    // From figures that are wrong to figures that are imprecise.
    let mut reasons = failed_controls(a);
    let has_control_failed = !reasons.is_empty();
    reasons.extend(spoilt(a));
    reasons.extend(wrong(a));
    reasons.extend(unlike(a));
    reasons.extend(rising(a));
    reasons.extend(carry_over(a));
    reasons.extend(failed_repetitions(a));
    reasons.extend(client_bound(a));
    reasons.extend(incomplete(a));
    reasons.extend(host_changes(a));
    reasons.extend(a.run.info.warnings.iter().map(|w| sentence(w)));
    reasons.extend(without_control(a));
    reasons.extend(too_few_repetitions(a));
    reasons.extend(unsteady(a));
    reasons.extend(wide(a));
    let is_spoilt = |c: &&Cell<'_>| SPOILT.iter().any(|(kind, ..)| *kind == c.verdict.kind);
    let grade = if has_control_failed {
        Grade::Untrusted
    } else if total == 0 || a.cells.iter().filter(is_spoilt).count() * 2 > total {
        Grade::Bad
    } else if reasons.is_empty() {
        Grade::Good
    } else {
        Grade::Care
    };
    if grade == Grade::Good {
        let all = if total == 1 { "The only cell is".to_owned() } else { format!("All {total} cells are") };
        reasons.push(format!("{all} valid, and the machine did not change during the run."));
    }
    let notes =
        control_sentences(a).into_iter().chain(waiting(a)).chain(fresh(a)).chain(outlook(a)).collect();
    Trust { grade, reasons, notes }
}

fn of_kind<'a, 'r>(a: &'a Analysis<'r>, kind: VerdictKind) -> Vec<&'a Cell<'r>> {
    a.cells.iter().filter(|c| c.verdict.kind == kind).collect()
}

fn names(a: &Analysis<'_>, cells: &[&Cell<'_>]) -> String {
    let names: Vec<String> = cells.iter().map(|c| a.name_of(c)).collect();
    list(&names.iter().map(String::as_str).collect::<Vec<_>>())
}

/// `All 16 cells were`, `3 of 16 cells were`, `1 of 16 cells was`.
fn counted(a: &Analysis<'_>, cells: &[&Cell<'_>], one: &str, many: &str) -> String {
    let total = a.cells.len();
    match cells.len() {
        1 if total == 1 => format!("The only cell {one}"),
        n if n == total => format!("All {total} cells {many}"),
        1 => format!("1 of {total} cells {one}"),
        n => format!("{n} of {total} cells {many}"),
    }
}

fn spoilt(a: &Analysis<'_>) -> Vec<String> {
    let mut reasons = Vec::new();
    for (kind, one, many) in SPOILT {
        let cells = of_kind(a, kind);
        if let Some(first) = cells.first() {
            reasons.push(format!("{}: {}.", counted(a, &cells, one, many), names(a, &cells)));
            reasons.push(sentence(&format!("**{}**: {}", a.name_of(first), first.verdict.reason)));
        }
    }
    reasons
}

/// The cells with too many errors.
fn wrong(a: &Analysis<'_>) -> Option<String> {
    let cells: Vec<&Cell<'_>> = a.cells.iter().filter(|c| c.wrong_percent.is_some() && !c.failed()).collect();
    let most = cells.iter().filter_map(|c| c.wrong_percent).reduce(f64::max)?;
    let up_to = if cells.len() == 1 { "" } else { "up to " };
    Some(format!(
        "{} answered with errors, {up_to}{} of the requests: {}. {} not ranked.",
        counted(a, &cells, "was", "were").replace(" was", "").replace(" were", ""),
        percent(most / 100.0),
        names(a, &cells),
        if cells.len() == 1 { "It is" } else { "They are" },
    ))
}

/// The cells whose replies differ from those of the cells with the same load.
fn unlike(a: &Analysis<'_>) -> Option<String> {
    let cells: Vec<&Cell<'_>> = a.cells.iter().filter(|c| c.unlike.is_some()).collect();
    let words = unlike_words(a, cells.first()?)?;
    let (does, it) = match cells.len() {
        1 => ("answers differently", "It is"),
        _ => ("do not answer alike", "They are"),
    };
    let names = names(a, &cells);
    Some(format!("{names} {does}: {words}. {it} not ranked."))
}

fn rising(a: &Analysis<'_>) -> Option<String> {
    let cells: Vec<&Cell<'_>> = a.cells.iter().filter(|c| c.rise.is_some() && !c.failed()).collect();
    let most = cells.iter().filter_map(|c| c.rise).reduce(f64::max)?;
    let up_to = if cells.len() == 1 { "" } else { "up to " };
    Some(format!(
        "{} still getting faster while measured, by {up_to}{} from the start of a repetition to its end: {}. Use a longer \
         warm-up (`warmup`, --warmup).",
        counted(a, &cells, "was", "were"),
        percent(most - 1.0),
        names(a, &cells)
    ))
}

/// The cells in which neither server nor load generator was busy, in at least half of the repetitions.
fn waiting(a: &Analysis<'_>) -> Option<String> {
    let is_waiting = |c: &&Cell<'_>| {
        let count = c.record.repetitions.iter().filter(|r| r.verdict.is_waiting()).count();
        c.verdict.kind == VerdictKind::Valid && count > 0 && count * 2 >= c.record.repetitions.len()
    };
    let cells: Vec<&Cell<'_>> = a.cells.iter().filter(is_waiting).collect();
    let first = cells.first()?;
    let verdict = first.record.repetitions.iter().map(|r| &r.verdict).find(|verdict| verdict.is_waiting())?;
    Some(format!(
        "{} not limited by a CPU: {}. **{}**: {}.",
        counted(a, &cells, "was", "were"),
        names(a, &cells),
        a.name_of(first),
        verdict.reason
    ))
}

fn failed_repetitions(a: &Analysis<'_>) -> Option<String> {
    let cells: Vec<&Cell<'_>> =
        a.cells.iter().filter(|c| !c.failed() && c.record.failures().next().is_some()).collect();
    let failed = cells.iter().flat_map(|c| c.record.failures()).count();
    let was = if failed == 1 { "was" } else { "were" };
    let of_control = match a.run.controls.iter().flat_map(|control| control.failures()).count() {
        0 => String::new(),
        failed => format!(", and {failed} of the control"),
    };
    (failed > 0).then(|| {
        format!(
            "{failed} repetition{} failed and {was} excluded from the figures of {}{of_control}; the cells list the reasons.",
            s(failed),
            names(a, &cells)
        )
    })
}

fn client_bound(a: &Analysis<'_>) -> Option<String> {
    let cells = of_kind(a, VerdictKind::ClientBound);
    (!cells.is_empty()).then(|| {
        format!(
            "{} limited by the load generator: the server can handle more than is shown. CPU time per request is not \
             affected ({}).",
            counted(a, &cells, "was", "were"),
            names(a, &cells)
        )
    })
}

fn incomplete(a: &Analysis<'_>) -> Option<String> {
    let is_complete = a.run.info.state == RunState::Complete && a.run.is_complete();
    let done_of = |measure: Measure| {
        let cells = a.run.cells.iter().filter(move |c| c.measure == measure);
        let done: usize = cells.clone().map(|c| c.repetitions.len()).sum();
        (done, cells.count())
    };
    let ((sliced_done, sliced), (fresh_done, fresh)) = (done_of(Measure::Slices), done_of(Measure::Fresh));
    let mut parts = Vec::new();
    if sliced > 0 {
        let wanted = generations(a.run);
        let done = sliced_done as f64 / sliced as f64;
        parts.push(match a.run.plan.until_decided_s {
            Some(_) => format!("{done:.0} generation{} so far", s(done as usize)),
            None => format!("{done:.0} of {wanted} generations"),
        });
    }
    if fresh > 0 {
        parts.push(format!("{fresh_done} of {} repetitions", fresh * a.run.plan.repetitions as usize));
    }
    (!is_complete).then(|| {
        format!(
            "The run is incomplete: it has {}. `pitot run --resume {}` continues it.",
            parts.join(" and "),
            a.run.path.display()
        )
    })
}

fn too_few_repetitions(a: &Analysis<'_>) -> Vec<String> {
    let amount = |of: Option<usize>, unit: &str| {
        let count = of.filter(|count| *count < MEDIAN_REPETITIONS_MIN)?;
        let is = if count == 1 { "is" } else { "are" };
        Some(format!(
            "{count} {unit}{} {is} too few for a 95% interval, which needs {MEDIAN_REPETITIONS_MIN}: ranges are shown \
             instead, in parentheses.",
            s(count)
        ))
    };
    let sliced = sliced(a.run).next().map(|_| generations(a.run));
    let is_fresh = a.run.cells.iter().any(|c| c.measure == Measure::Fresh);
    let fresh = is_fresh.then_some(a.run.plan.repetitions as usize);
    amount(sliced, "generation").into_iter().chain(amount(fresh, "repetition")).collect()
}

/// Ratios in slices, and figures of fresh runs, that are known badly.
fn wide(a: &Analysis<'_>) -> Vec<String> {
    let in_slices = |cell: &Cell<'_>| cell.record.measure == Measure::Slices;
    let against = a.against_baseline(a.headline);
    let ratios =
        a.cells.iter().zip(&against).filter(|(cell, _)| in_slices(cell)).filter_map(|(cell, comparison)| {
            let comparison = comparison.as_ref()?;
            Some((cell, comparison.interval?, ratio(comparison)))
        });
    let figures = a.cells.iter().filter(|cell| !in_slices(cell) && !cell.failed()).filter_map(|cell| {
        let estimate = cell.estimate(a.headline)?;
        Some((cell, estimate.interval?, figure_with_spread(a.headline, estimate)))
    });
    let told = |what: &str, all: &[(&Cell<'_>, Interval, String)]| {
        let width = |interval: &Interval| interval.high / interval.low;
        let wide: Vec<_> =
            all.iter().filter(|(_, i, _)| i.low > 0.0 && width(i) > INTERVAL_WIDTH_MAX).collect();
        let (cell, _, shown) = wide.iter().max_by(|x, y| width(&x.1).total_cmp(&width(&y.1)))?;
        let (count, total, noun) = (wide.len(), all.len(), a.headline.words.noun);
        let are = if count == 1 { "is" } else { "are" };
        Some(format!(
            "{count} of {total} {what} {noun} {are} known only to within a factor of {INTERVAL_WIDTH_MAX} or more; the \
             widest is **{}**: {shown}.",
            a.name_of(cell),
        ))
    };
    let (ratios, figures): (Vec<_>, Vec<_>) = (ratios.collect(), figures.collect());
    told("ratios in", &ratios).into_iter().chain(told("figures of", &figures)).collect()
}

fn without_control(a: &Analysis<'_>) -> Option<String> {
    let controls = controls(a);
    let needed = |c: &Control<'_>| match c.comparison.decision {
        Decision::TooFewRepetitions { needed } => Some(needed),
        _ => None,
    };
    match controls.iter().map(needed).collect::<Option<Vec<usize>>>()?.iter().max() {
        Some(needed) => Some(format!("The control cannot be judged yet: that needs {needed} generations.")),
        None => Some(
            "The run has no control (a second copy of a server), so nothing shows how far apart equal servers are on this machine."
                .to_owned(),
        ),
    }
}

/// The cells of a plan for slices that were measured in fresh runs, with the reason.
fn fresh(a: &Analysis<'_>) -> Vec<String> {
    let mut reasons: Vec<&str> = Vec::new();
    for cell in &a.cells {
        let reason = cell.record.fresh_reason.as_str();
        if !reason.is_empty() && !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }
    let of_reason = |reason: &str| {
        let cells: Vec<&Cell<'_>> = a.cells.iter().filter(|c| c.record.fresh_reason == reason).collect();
        let was = if cells.len() == 1 { "was" } else { "were" };
        format!(
            "{} {was} measured in fresh runs, not in slices: {}.",
            names(a, &cells),
            reason.trim_end_matches('.')
        )
    };
    reasons.into_iter().map(of_reason).collect()
}

fn unsteady(a: &Analysis<'_>) -> Option<String> {
    let unsteady = a.cells.iter().filter(|c| c.spread.as_ref().is_some_and(|s| !s.is_steady())).count();
    (unsteady > 0).then(|| {
        let which = match a.cells.len() {
            1 => "The".to_owned(),
            total => format!("In {unsteady} of {total} cells the"),
        };
        format!("{which} repetitions vary by more than {} in {}.", percent(STEADY_MAX), a.headline.words.noun)
    })
}

fn host_changes(a: &Analysis<'_>) -> Option<String> {
    // A network interface that comes or goes changes a hundred settings; the report lists all.
    let changes = &a.run.host_changes;
    let named = changes.iter().take(CHANGES_MAX).map(|c| format!("{} {}", c.group, c.name));
    let mut what: Vec<String> = named.collect();
    let more = changes.len() - what.len();
    what.extend((more > 0).then(|| format!("and {more} more")));
    (!what.is_empty()).then(|| format!("The machine changed during the run: {}.", what.join(", ")))
}

/// The outliers in the plan's metric, one sentence for each cell that has some.
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
