//! What a run found, in sentences: the answer, and three to six findings.

use crate::analysis::{Analysis, Cell, Standing, known};
use crate::number::{figure_of, spread};
use crate::published::published;
use crate::words::{capital, list, noun, sentence, superlative, times, versus};
use pitot_lab::statistics::{Decision, Estimate, judge};
use pitot_lab::{Better, Metric, VerdictKind};

/// At most so many findings: more would be a table.
const FINDINGS_MAX: usize = 6;

/// The answer to the plan's question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Which, in one sentence.
    pub headline: String,
    /// By how much, and where it is otherwise.
    pub details: Vec<String>,
    /// The figures of the best cell at the highest load.
    pub tiles: Vec<Tile>,
}

/// A figure that stands out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tile {
    /// What it is.
    pub label: String,
    /// The figure with its unit.
    pub value: String,
    /// Its interval, or another short note.
    pub note: String,
}

/// The answer to the plan's question, at the highest load.
pub fn answer(a: &Analysis<'_>) -> Answer {
    let nothing = || Answer {
        headline: "There is no answer yet: no cell has a figure.".into(),
        details: vec!["The verdicts of the cells tell what went wrong.".into()],
        tiles: Vec::new(),
    };
    let Some(level) = a.top_level() else { return nothing() };
    let Some(best) = a.best_at(level, a.headline) else { return nothing() };
    let Some(estimate) = best.estimate(a.headline) else { return nothing() };
    let leaders = leaders(a, level);
    let bound = if best.verdict.kind == VerdictKind::ClientBound && a.headline.better == Better::Higher {
        "at least "
    } else {
        ""
    };
    let value = format!("{bound}{}", figure_of(a.headline, estimate.value));
    let headline = if a.series.len() == 1 {
        alone(a, best, level, &value)
    } else if leaders.len() > 1 {
        format!(
            "{} {}{}: {value}, and no difference seen between them",
            list(&leaders),
            superlative(a.headline, true),
            a.at_load(level)
        )
    } else {
        format!("**{}** {}{}: {value}", a.series_of(best), superlative(a.headline, false), a.at_load(level))
    };
    let mut details = Vec::new();
    details.extend(against_others(a, best, level, &leaders));
    details.extend(elsewhere(a, level, &leaders));
    Answer { headline: sentence(&headline), details, tiles: tiles(a, best) }
}

/// What there is to say where nothing is compared but the loads: the figure at the top, and at the bottom.
fn alone(a: &Analysis<'_>, only: &Cell<'_>, level: usize, value: &str) -> String {
    let top = format!("{} of **{}**{}: {value}", noun(a.headline), a.series_of(only), a.at_load(level));
    let bottom = (0..level).find_map(|level| {
        let estimate = a.best_at(level, a.headline)?.estimate(a.headline)?;
        Some(format!("{}{}", figure_of(a.headline, estimate.value), a.at_load(level)))
    });
    bottom.map_or(top.clone(), |bottom| format!("{top}; {bottom}"))
}

/// The names of the best of a level and of those that do not differ from it.
fn leaders<'a>(a: &'a Analysis<'_>, level: usize) -> Vec<&'a str> {
    let mut cells: Vec<&Cell<'_>> = a
        .cells
        .iter()
        .filter(|c| c.level == level && matches!(c.standing, Standing::Best | Standing::Level))
        .collect();
    cells.sort_by_key(|c| c.standing != Standing::Best);
    let names: Vec<&str> = cells.iter().map(|c| a.series_of(c)).collect();
    if names.is_empty() {
        a.best_at(level, a.headline).map(|c| a.series_of(c)).into_iter().collect()
    } else {
        names
    }
}

/// The best against its baseline, else against the last, and against the next.
fn against_others(a: &Analysis<'_>, best: &Cell<'_>, level: usize, leaders: &[&str]) -> Vec<String> {
    let reference = reference(a, best, level, a.headline);
    let compared = |other: &Cell<'_>| {
        let comparison = a.compare(best.record, other.record, a.headline)?;
        let (name, against) = (a.series_of(best), a.series_of(other));
        Some(versus(name, against, a.headline, &comparison, a.run.plan.tolerance))
    };
    let mut details: Vec<String> = match widest(a, level, a.headline) {
        Some(Told::Difference(text)) => vec![text],
        Some(Told::NotSeen(text)) => {
            vec![sentence(&format!("no difference was seen{} in {text}", a.at_load(level)))]
        }
        None => Vec::new(),
    };
    let next = runner_up(a, best, level).filter(|n| {
        reference.is_none_or(|r| r.record.id != n.record.id) && !leaders.contains(&a.series_of(n))
    });
    if let Some(next) = next {
        details.extend(compared(next).map(|text| sentence(&format!("{text}, the next best"))));
    }
    details
}

/// What the best is set against at its load: the baseline, or the last where there is none or it failed.
fn reference<'a, 'r>(
    a: &'a Analysis<'r>,
    best: &Cell<'_>,
    level: usize,
    metric: &'a Metric,
) -> Option<&'a Cell<'r>> {
    let baseline = a.run.baseline_of(best.record);
    let usable = |c: &&Cell<'r>| c.level == level && !c.failed();
    let baseline = baseline.and_then(|r| a.cells.iter().filter(usable).find(|c| c.record.id == r.id));
    baseline.or_else(|| worst(a, level, metric))
}

/// Load levels whose leaders are others.
fn elsewhere(a: &Analysis<'_>, top: usize, leaders_at_top: &[&str]) -> Option<String> {
    let others: Vec<String> = (0..top)
        .filter_map(|level| {
            let names = leaders(a, level);
            let shared = names.iter().any(|n| leaders_at_top.contains(n));
            let verb = if names.len() == 1 { "leads" } else { "lead" };
            let place = a.at_load(level);
            (!names.is_empty() && !shared).then(|| format!("{} {verb}{place}", list(&names)))
        })
        .collect();
    (!others.is_empty()).then(|| sentence(&format!("it is otherwise elsewhere: {}", others.join("; "))))
}

fn tiles(a: &Analysis<'_>, best: &Cell<'_>) -> Vec<Tile> {
    let mut metrics = vec![a.headline];
    for name in ["throughput", "cpu-per-request", "latency-p99", "memory-per-connection"] {
        metrics.extend(Some(known(name)).filter(|m| m.name != a.headline.name));
    }
    metrics
        .into_iter()
        .filter_map(|m| {
            let e = best.estimate(m)?;
            Some(Tile { label: capital(noun(m)), value: figure_of(m, e.value), note: spread(e, m.unit) })
        })
        .take(4)
        .collect()
}

/// Three to six findings beside the answer.
pub fn findings(a: &Analysis<'_>) -> Vec<String> {
    let Some(level) = a.top_level() else { return Vec::new() };
    let told = |name: &str| {
        let metric = known(name);
        if metric.name == a.headline.name { None } else { widest(a, level, metric) }
    };
    let mut found = Vec::new();
    let mut not_seen = Vec::new();
    let mut add = |told: Option<Told>, found: &mut Vec<String>| match told {
        Some(Told::Difference(text)) => found.push(text),
        Some(Told::NotSeen(text)) => not_seen.push(text),
        None => {}
    };
    add(told("throughput"), &mut found);
    add(told("cpu-per-request"), &mut found);
    found.extend(kernel_share(a, level));
    found.extend(scaling(a));
    add(told("latency-p99"), &mut found);
    add(told("memory-per-connection"), &mut found);
    if !not_seen.is_empty() {
        let place = a.at_load(level);
        found.push(sentence(&format!("no difference was seen{place} in {}", not_seen.join(", nor in "))));
    }
    found.truncate(FINDINGS_MAX);
    found
}

/// What a figure tells.
enum Told {
    /// A difference, in a sentence.
    Difference(String),
    /// None was seen: the part of a sentence that names the figure.
    NotSeen(String),
}

/// The best against the baseline, or the last, in one figure, with what was published of it.
fn widest(a: &Analysis<'_>, level: usize, metric: &'static Metric) -> Option<Told> {
    let best = a.best_at(level, metric)?;
    let other = reference(a, best, level, metric)?;
    if other.record.id == best.record.id {
        return None;
    }
    // "27 times the CPU time" says more than "0.037 times": what costs more goes first.
    let (first, second) = if metric.better == Better::Higher { (best, other) } else { (other, best) };
    let comparison = a.compare(first.record, second.record, metric)?;
    let (one, two) = (a.series_of(first), a.series_of(second));
    if matches!(comparison.decision, Decision::Alike | Decision::NoDifferenceSeen) {
        let ratio = crate::words::ratio(&comparison);
        return Some(Told::NotSeen(format!("{} (**{one}** to **{two}**: ratio {ratio})", noun(metric))));
    }
    let mut text = versus(one, two, metric, &comparison, a.run.plan.tolerance);
    text.push_str(&a.at_load(level));
    if comparison.decision.is_difference() {
        let of = |cell: &Cell<'_>| cell.estimate(metric).map(|e| figure_of(metric, e.value));
        text.push_str(&format!(", {} against {}", of(first)?, of(second)?));
    }
    text.push_str(&cited(a, first, second, metric).unwrap_or_default());
    Some(Told::Difference(sentence(&text)))
}

/// What was published of the ratio of two cells: `; Lyris Technologies 2001: 12 times`.
fn cited(a: &Analysis<'_>, first: &Cell<'_>, second: &Cell<'_>, metric: &Metric) -> Option<String> {
    published(a).iter().filter(|t| t.metric.name == metric.name).find_map(|table| {
        let reference = table.source.ratio_to.as_ref().filter(|r| r.matches(&second.record.factors))?;
        let is_first = |levels: &pitot_lab::Levels| levels.matches(&first.record.factors);
        let value = table
            .source
            .values
            .iter()
            .find(|v| is_first(&v.levels) && !reference.matches(&first.record.factors))?;
        Some(format!("; {}: {} times", table.citation(), value.value))
    })
}

/// How much of the cheapest server's CPU time the kernel takes.
fn kernel_share(a: &Analysis<'_>, level: usize) -> Option<String> {
    let cell = a.best_at(level, known("cpu-per-request"))?;
    let system = cell.estimate(known("system-per-request"))?.value;
    let user = cell.estimate(known("user-per-request"))?.value;
    let whole = user + system;
    (whole > 0.0).then(|| {
        format!(
            "Of the CPU time of **{}**{}, {} is spent in the kernel and {} in its own code.",
            a.series_of(cell),
            a.at_load(level),
            crate::number::percent((system / whole * 100.0).round() / 100.0),
            crate::number::percent((user / whole * 100.0).round() / 100.0),
        )
    })
}

/// Which server falls most from its own peak to the heaviest load, and how the best there fares. Costs have no peak
/// to fall from: they rise with the load.
fn scaling(a: &Analysis<'_>) -> Option<String> {
    if a.load.factor.is_none() || a.headline.better == Better::Lower {
        return None;
    }
    let top = a.top_level().filter(|top| *top > 0)?;
    let value = |cell: &Cell<'_>| cell.estimate(a.headline).filter(|_| !cell.failed()).map(|e| e.value);
    // The peak of each series, and its cell at the top.
    let pairs: Vec<(&Cell<'_>, &Cell<'_>)> = (0..a.series.len())
        .filter_map(|series| {
            let last = a.cell(series, top).filter(|c| value(c).is_some())?;
            let cells = a.cells.iter().filter(|c| c.series == series && c.level <= top && value(c).is_some());
            let peak = cells.reduce(|x, y| if value(y) > value(x) { y } else { x })?;
            Some((peak, last))
        })
        .collect();
    let fallen: Vec<_> = pairs.iter().filter(|(peak, last)| peak.level != last.level).collect();
    let family: Vec<_> =
        fallen.iter().map(|(p, l)| crate::analysis::samples(l.record, p.record, a.headline)).collect();
    let judged = judge(&family, a.run.plan.tolerance);
    let worst = fallen
        .iter()
        .zip(&judged)
        .filter_map(|((peak, last), c)| {
            Some((*peak, *last, c.as_ref().filter(|c| c.decision == Decision::Lower)?))
        })
        .reduce(|x, y| if y.2.ratio < x.2.ratio { y } else { x });
    let up_to = format!("up to {}", a.load_words(top));
    let Some((peak, last, comparison)) = worst else {
        return (pairs.len() > 1).then(|| sentence(&format!("{up_to} no server fell below its own peak")));
    };
    let mut text = format!(
        "**{}** fell most from its peak:{} it had {} its {} at {}",
        a.series_of(last),
        a.at_load(top),
        times(comparison),
        noun(a.headline),
        a.load_words(peak.level)
    );
    if let Some(best) = a.best_at(top, a.headline).filter(|best| best.series != last.series) {
        let kept = fallen
            .iter()
            .zip(&judged)
            .find(|((_, l), _)| l.series == best.series)
            .and_then(|(_, c)| c.as_ref());
        let name = a.series_of(best);
        text.push_str(&kept.map_or_else(
            || format!("; **{name}** was at its peak there"),
            |c| format!("; **{name}** had {}", times(c)),
        ));
    }
    Some(sentence(&text))
}

fn runner_up<'a, 'r>(a: &'a Analysis<'r>, best: &Cell<'_>, level: usize) -> Option<&'a Cell<'r>> {
    let mut others: Vec<(&Cell<'r>, &Estimate)> =
        a.at_level(level, a.headline).filter(|(c, _)| c.record.id != best.record.id).collect();
    others.sort_by(|x, y| x.1.value.total_cmp(&y.1.value));
    let next = if a.headline.better == Better::Higher { others.last() } else { others.first() };
    next.map(|(cell, _)| *cell)
}

fn worst<'a, 'r>(a: &'a Analysis<'r>, level: usize, metric: &'a Metric) -> Option<&'a Cell<'r>> {
    let worse = |x: f64, y: f64| if metric.better == Better::Higher { x < y } else { x > y };
    a.at_level(level, metric)
        .reduce(|x, y| if worse(y.1.value, x.1.value) { y } else { x })
        .map(|(cell, _)| cell)
}
