//! The answer to the plan's question.

use super::contrast::{Contrast, contrast, reference};
use super::order::group_order;
use crate::amount::{unit, unit_of_pair};
use crate::analysis::{Analysis, Cell, Standing, Unlike, values};
use crate::control::controls;
use crate::floor::floor_sentence;
use crate::number::{count, figure_of, percent, spread};
use crate::phrase::{shown_to_exceed, superlative, versus};
use crate::text::{capital, list, s, sentence};
use pitot_record::metric::Section;
use pitot_record::metric::named;
use pitot_record::{Better, METRICS, Metric};
use pitot_stats::{Decision, Estimate, Statistic};

const CPU: &Metric = named("cpu-per-request");

const TILES_MAX: usize = 4;

/// The answer to the plan's question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Which, in one sentence.
    pub headline: String,
    /// By how much, and which led at other loads.
    pub details: Vec<String>,
    /// The figures of the best cell at the highest load.
    pub tiles: Vec<Tile>,
}

/// A figure that accompanies the answer.
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
    let best = a.top_level().and_then(|level| Some((level, a.best_at(level, a.headline)?)));
    let Some((level, best, estimate)) =
        best.and_then(|(level, best)| Some((level, best, best.estimate(a.headline)?)))
    else {
        return no_answer(a);
    };
    let rest = rest(a, level);
    let bound = if best.is_lower_bound(a.headline) { "at least " } else { "" };
    let value = format!("{bound}{}", figure_of(a.headline, estimate.value));
    let mut headline = if a.series.len() == 1 {
        alone(a, best, level, &value)
    } else {
        ranked(a, best, level, &value, &rest)
    };
    headline.push_str(&missing(a, level).unwrap_or_default());
    headline.push_str(&unranked(a, level));
    let mut details = between_loads(a, level);
    details.extend(against_others(a, best, level, &rest));
    details.extend(group_order(a, a.headline));
    details.extend(at_other_loads(a, level, a.series_of(best)));
    details.extend(floor_sentence(a));
    if let Some(sure) = sure_of_cpu(a, level) {
        details.insert(0, sentence(&headline));
        headline = sure;
    }
    if let Some(untrusted) = untrusted(a) {
        details.insert(0, format!("Its figures say: {}", sentence(&headline)));
        headline = untrusted;
    }
    Answer { headline: sentence(&headline), details, tiles: tiles(a, best) }
}

/// What the highest load makes of each server, where the plan compares loads.
fn between_loads(a: &Analysis<'_>, level: usize) -> Vec<String> {
    let sentence_of = |cell: &Cell<'_>| {
        let baseline = a.run.baseline_of(cell.record)?;
        let baseline = a.cells.iter().find(|c| c.record.id == baseline.id && !c.failed())?;
        let compared = |of: &Cell<'_>, to: &Cell<'_>| a.compare(of.record, to.record, a.headline);
        // "Twice as many" instead of "half as many".
        let (first, second) = match compared(cell, baseline)?.ratio >= 1.0 {
            true => (cell, baseline),
            false => (baseline, cell),
        };
        let unit = unit_of_pair(first.record, second.record);
        let names = (a.name_of(first), a.name_of(second));
        let comparison = compared(first, second)?;
        let text = versus((&names.0, &names.1), a.headline, &comparison, a.run.plan.tolerance, unit);
        (baseline.level != level).then(|| sentence(&text))
    };
    a.cells.iter().filter(|c| c.level == level && !c.failed()).filter_map(sentence_of).collect()
}

/// CPU time per request, if it decides and the plan's metric does not. A plan's metric that has a winner, or shows all servers to be
/// equivalent, always answers.
pub(super) fn answers_by_cpu(a: &Analysis<'_>, level: usize) -> Option<&'static Metric> {
    let is_other = a.headline.name != CPU.name && a.run.is_sliced() && a.series.len() > 1;
    let best = a.best_at(level, a.headline).filter(|_| is_other)?;
    let main = reference(a, best, level, a.headline)?;
    let is_undecided = |metric: &'static Metric, best: &Cell<'_>| {
        a.compare(best.record, main.record, metric).is_none_or(|c| !c.decision.is_decided())
    };
    let cheapest = a.best_at(level, CPU)?;
    let is_decided = cheapest.record.id != main.record.id && !is_undecided(CPU, cheapest);
    let is_open = if best.record.id == main.record.id {
        a.at_level(level, a.headline).all(|(cell, _)| cell.standing != Standing::Behind)
    } else {
        is_undecided(a.headline, best)
    };
    (is_open && is_decided).then_some(CPU)
}

/// The answer of CPU time per request if the plan's metric has none.
fn sure_of_cpu(a: &Analysis<'_>, level: usize) -> Option<String> {
    let metric = answers_by_cpu(a, level)?;
    let Contrast::Difference(text) = contrast(a, level, metric)? else { return None };
    let text = text.trim_end_matches('.');
    Some(format!("{text}. In {} this run shows no difference", a.headline.words.noun))
}

/// The headline of a run whose control failed.
fn untrusted(a: &Analysis<'_>) -> Option<String> {
    let control = controls(a).into_iter().find(|c| c.has_failed())?;
    Some(format!(
        "This run cannot be trusted: it finds a difference between two copies of **{}**, {}",
        control.name,
        control.words()
    ))
}

/// No cell has a figure: cells failed, the statistic needs more repetitions, or the metric needs something that was not recorded.
fn no_answer(a: &Analysis<'_>) -> Answer {
    if let Some(unlike) = a.top_level().and_then(|level| unlike_replies(a, level)) {
        return Answer {
            headline: format!("No winner: {unlike}."),
            details: vec![
                "Programs that give different answers do different work. Make them answer alike, or allow the difference: \
                 `replies = \"may-differ\"` in the plan, --replies may-differ, or --ignore-output."
                    .to_owned(),
            ],
            tiles: Vec::new(),
        };
    }
    let any_good = a.cells.iter().any(|c| !c.failed() && !c.record.repetitions.is_empty());
    let have = a.cells.iter().map(|c| values(c.record, a.headline).len()).max().unwrap_or(0);
    let detail = match a.run.plan.statistic {
        Statistic::TrimmedMean(dropped) if have > 0 && have <= 2 * dropped as usize => {
            let needed = 2 * dropped + 1;
            let (largest, smallest) = match dropped {
                1 => ("the largest".to_owned(), "the smallest value".to_owned()),
                n => (format!("the {n} largest"), format!("the {n} smallest values")),
            };
            format!(
                "A {} leaves out {largest} and {smallest}, so it needs {needed} repetitions, and this run has {have}: run it \
                 with `--repetitions {needed}` or more.",
                a.run.plan.statistic
            )
        }
        _ if any_good => format!("The metric `{}` needs {}.", a.headline.name, a.headline.needs),
        _ => "The verdicts of the cells say what went wrong.".to_owned(),
    };
    Answer {
        headline: format!("There is no answer yet: no cell has a value of {}.", a.headline.words.noun),
        details: vec![detail],
        tiles: Vec::new(),
    }
}

/// The other cells of a level that were not shown to be behind its best, the nearest to it first.
struct Rest<'a> {
    /// Equal to within the tolerance, or not shown to differ by more.
    level: Vec<&'a str>,
    /// With too few repetitions to tell.
    unknown: Vec<&'a str>,
    /// Whether all of `level` are equal to within the tolerance.
    is_alike: bool,
}

fn rest<'a>(a: &'a Analysis<'_>, level: usize) -> Rest<'a> {
    let mut cells: Vec<_> = a.at_level(level, a.headline).collect();
    cells.sort_by(|x, y| x.1.value.total_cmp(&y.1.value));
    if a.headline.better == Better::Higher {
        cells.reverse();
    }
    let best = a.best_at(level, a.headline);
    let is_other = |c: &&Cell<'_>| best.is_none_or(|best| best.record.id != c.record.id);
    let with = |standing: Standing| {
        cells.iter().map(|(c, _)| *c).filter(is_other).filter(move |c| c.standing == standing)
    };
    let is_alike = |cell: &Cell<'_>| {
        let comparison = best.and_then(|best| a.compare(cell.record, best.record, a.headline));
        comparison.is_some_and(|c| c.decision == Decision::Alike)
    };
    Rest {
        level: with(Standing::Level).map(|c| a.series_of(c)).collect(),
        unknown: with(Standing::Unknown).map(|c| a.series_of(c)).collect(),
        is_alike: with(Standing::Level).all(is_alike),
    }
}

/// The best of several, and whether it is shown to be the winner.
fn ranked(a: &Analysis<'_>, best: &Cell<'_>, level: usize, value: &str, rest: &Rest<'_>) -> String {
    let (name, did, at) = (a.series_of(best), superlative(a.headline), a.at_load(level));
    if !rest.unknown.is_empty() {
        let repetitions = best.estimate(a.headline).map_or(0, |e| e.repetitions);
        let is = if repetitions == 1 { "is" } else { "are" };
        return format!(
            "No winner{at}: **{name}** {did}, {value}, but {repetitions} {}{} {is} too few to tell it from {}",
            unit(best.record),
            s(repetitions),
            list(&rest.unknown)
        );
    }
    if a.at_level(level, a.headline).count() == 1 {
        return format!("Only **{name}** has a figure{at}: {value} ({})", a.headline.words.noun);
    }
    if rest.level.is_empty() {
        return format!("**{name}** {did}{at}: {value}");
    }
    if rest.is_alike {
        let all: Vec<&str> = std::iter::once(name).chain(rest.level.iter().copied()).collect();
        let tolerance = percent(a.run.plan.tolerance);
        return format!("{} {did}{at}: {value}; they are equivalent to within {tolerance}", list(&all));
    }
    format!(
        "No winner{at}: **{name}** {did}, {value}, but its lead over {} is not {}",
        list(&rest.level),
        shown_to_exceed(a.run.plan.tolerance)
    )
}

/// The cells that failed at this load or a higher one: `; **a** and **b** failed`.
fn missing(a: &Analysis<'_>, level: usize) -> Option<String> {
    let failed: Vec<String> =
        a.cells.iter().filter(|c| c.level >= level && c.failed()).map(|c| a.name_of(c)).collect();
    let names: Vec<&str> = failed.iter().map(String::as_str).collect();
    (!names.is_empty()).then(|| format!("; {} failed", list(&names)))
}

/// The cells at this load that are not ranked, with the reason: `; **a** is not ranked: 2.1% of its requests had errors`.
fn unranked(a: &Analysis<'_>, level: usize) -> String {
    let not_ranked = |has_reason: &dyn Fn(&Cell<'_>) -> bool,
                      why: &dyn Fn(&str, &str, f64) -> Option<String>| {
        let cells =
            a.cells.iter().filter(|c| c.level == level && !c.is_ranked && !c.failed() && has_reason(c));
        let cells: Vec<&Cell<'_>> = cells.collect();
        let names: Vec<&str> = cells.iter().map(|c| a.series_of(c)).collect();
        let (is, up_to, its) = match names.len() {
            0 => return None,
            1 => ("is", "", "its"),
            _ => ("are", "up to ", "their"),
        };
        let most = cells.iter().filter_map(|c| c.wrong_percent).fold(0.0, f64::max);
        Some(format!("; {} {is} not ranked: {}", list(&names), why(up_to, its, most)?))
    };
    let errors = not_ranked(&|c| c.wrong_percent.is_some(), &|up_to, its, most| {
        Some(format!("{up_to}{} of {its} requests had errors", percent(most / 100.0)))
    });
    let rising = not_ranked(&|c| c.rise.is_some(), &|_, its, _| Some(format!("{its} rate still rose")));
    let unlike = not_ranked(&|c| c.unlike.is_some(), &|_, _, _| unlike_replies(a, level));
    [errors, rising, unlike].into_iter().flatten().collect()
}

/// How replies differ at a load: `the replies of **a** have 13 bytes of content, and those of **b** 1,024 bytes`.
fn unlike_replies(a: &Analysis<'_>, level: usize) -> Option<String> {
    a.cells.iter().find(|c| c.level == level && c.unlike.is_some()).and_then(|cell| unlike_words(a, cell))
}

pub(crate) fn unlike_words(a: &Analysis<'_>, cell: &Cell<'_>) -> Option<String> {
    let bytes = |bytes: f64| match bytes.round() as u64 {
        1 => "1 byte".to_owned(),
        bytes => format!("{} bytes", count(bytes)),
    };
    let (own, name) = (a.series_of(cell), |series: usize| &a.series[series].name);
    Some(match cell.unlike.as_ref()? {
        Unlike::Content { bytes: of_own, other, other_bytes } => format!(
            "the replies of **{own}** have {} of content, and those of **{}** {}",
            bytes(*of_own),
            name(*other),
            bytes(*other_bytes)
        ),
        Unlike::Outcome { own: outcome, other, others, .. } => {
            format!("**{own}** {outcome}, and **{}** {others}", name(*other))
        }
    })
}

/// If only the load varies: the figure at the highest load and at the lowest.
fn alone(a: &Analysis<'_>, only: &Cell<'_>, level: usize, value: &str) -> String {
    // A program has no name but that of the plan.
    let of = if a.subject() == "server" { format!(" of **{}**", a.series_of(only)) } else { String::new() };
    let top = format!("{}{of}{}: {value}", a.headline.words.noun, a.at_load(level));
    let bottom = (0..level).find_map(|level| {
        let estimate = a.best_at(level, a.headline)?.estimate(a.headline)?;
        Some(format!("{}{}", figure_of(a.headline, estimate.value), a.at_load(level)))
    });
    bottom.map_or(top.clone(), |bottom| format!("{top}; {bottom}"))
}

/// The best against its baseline, else against the last, and against the next.
fn against_others(a: &Analysis<'_>, best: &Cell<'_>, level: usize, rest: &Rest<'_>) -> Vec<String> {
    let mut details: Vec<String> = match contrast(a, level, a.headline) {
        Some(Contrast::Difference(text) | Contrast::Open(text)) => vec![text],
        // The headline already says that some do not differ.
        Some(Contrast::Undeclared { ratio, .. }) if !rest.level.is_empty() => vec![sentence(&ratio)],
        Some(Contrast::Undeclared { metric, ratio }) => {
            let noun = metric.words.noun;
            let exceeds = shown_to_exceed(a.run.plan.tolerance);
            vec![sentence(&format!("no difference{} in {noun} is {exceeds} ({ratio})", a.at_load(level)))]
        }
        None => Vec::new(),
    };
    let reference = reference(a, best, level, a.headline);
    let next = runner_up(a, best, level).filter(|next| {
        reference.is_none_or(|r| r.record.id != next.record.id) && !rest.level.contains(&a.series_of(next))
    });
    if let Some(next) = next
        && let Some(comparison) = a.compare(best.record, next.record, a.headline)
    {
        let (name, against) = (a.series_of(best), a.series_of(next));
        let unit = unit_of_pair(best.record, next.record);
        let text = versus((name, against), a.headline, &comparison, a.run.plan.tolerance, unit);
        details.push(sentence(&format!("{text}, the next best")));
    }
    details
}

fn runner_up<'a, 'r>(a: &'a Analysis<'r>, best: &Cell<'_>, level: usize) -> Option<&'a Cell<'r>> {
    let others = a.at_level(level, a.headline).filter(|(c, _)| c.record.id != best.record.id);
    let better = |x: &Estimate, y: &Estimate| a.headline.is_better(x.value, y.value);
    others.reduce(|x, y| if better(y.1, x.1) { y } else { x }).map(|(cell, _)| cell)
}

/// The lower load levels at which another than the best at the highest load was a winner.
fn at_other_loads(a: &Analysis<'_>, top: usize, best_at_top: &str) -> Option<String> {
    let others: Vec<String> = (0..top)
        .filter_map(|level| {
            let best = a.best_at(level, a.headline).filter(|c| c.standing == Standing::Best)?;
            let rest = rest(a, level);
            let is_winner = rest.level.is_empty() && rest.unknown.is_empty();
            let name = Some(a.series_of(best)).filter(|name| is_winner && *name != best_at_top)?;
            Some(format!("**{name}** led{}", a.at_load(level)))
        })
        .collect();
    (!others.is_empty()).then(|| sentence(&others.join("; ")))
}

fn tiles(a: &Analysis<'_>, best: &Cell<'_>) -> Vec<Tile> {
    let asked_for = &a.run.plan.columns;
    let wanted = asked_for.iter().filter_map(|name| pitot_record::metric::find(name));
    let usual =
        METRICS.iter().filter(|m| m.is_shown_in(Section::Tile) && !asked_for.iter().any(|n| n == m.name));
    std::iter::once(a.headline)
        .chain(wanted.chain(usual).filter(|m| m.name != a.headline.name))
        .filter_map(|m| {
            let e = best.estimate(m)?;
            Some(Tile { label: capital(m.words.noun), value: figure_of(m, e.value), note: spread(m, e) })
        })
        .take(TILES_MAX)
        .collect()
}
