//! The answer to the plan's question.

use super::contrast::{Contrast, contrast, reference};
use crate::analysis::{Analysis, Cell, Standing};
use crate::number::{figure_of, spread};
use crate::phrase::{superlative, versus};
use crate::text::{capital, list, sentence};
use pitot_lab::METRICS;
use pitot_lab::metric::Section;
use pitot_lab::statistics::Estimate;

/// At most so many figures accompany the answer.
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
    let leaders = leaders(a, level);
    let bound = if best.is_lower_bound(a.headline) { "at least " } else { "" };
    let value = format!("{bound}{}", figure_of(a.headline, estimate.value));
    let mut headline = if a.series.len() == 1 {
        alone(a, best, level, &value)
    } else if leaders.len() > 1 {
        let differences =
            if leaders.len() == 2 { "difference between them is" } else { "differences between them are" };
        format!(
            "{} {}{}: {value}; the {differences} not significant",
            list(&leaders),
            superlative(a.headline),
            a.at_load(level)
        )
    } else {
        format!("**{}** {}{}: {value}", a.series_of(best), superlative(a.headline), a.at_load(level))
    };
    headline.push_str(hedge(a, level));
    headline.push_str(&missing(a, level).unwrap_or_default());
    let mut details = against_others(a, best, level, &leaders);
    details.extend(at_other_loads(a, level, &leaders));
    Answer { headline: sentence(&headline), details, tiles: tiles(a, best) }
}

/// No cell has a figure: the verdicts of failed cells say why, or else the metric needs what was not recorded.
fn no_answer(a: &Analysis<'_>) -> Answer {
    let any_good = a.cells.iter().any(|c| !c.failed() && !c.record.repetitions.is_empty());
    let detail = if any_good {
        format!("The metric `{}` needs {}.", a.headline.name, a.headline.needs)
    } else {
        "The verdicts of the cells say what went wrong.".to_owned()
    };
    Answer {
        headline: format!("There is no answer yet: no cell has a value of {}.", a.headline.words.noun),
        details: vec![detail],
        tiles: Vec::new(),
    }
}

/// A note where the best has the best figure, but no other was shown to be worse: with so few repetitions none could be.
fn hedge(a: &Analysis<'_>, level: usize) -> &'static str {
    let others = a.at_level(level, a.headline).filter(|(c, _)| c.standing != Standing::Best);
    let standings: Vec<Standing> = others.map(|(c, _)| c.standing).collect();
    let undecided = !standings.is_empty() && standings.iter().all(|s| *s == Standing::Unknown);
    if undecided { " (too few repetitions to tell whether the others are behind)" } else { "" }
}

/// The cells that failed at this load or a higher one, so that nobody takes the best of the rest for the best of all:
/// `; **a** and **b** failed`.
fn missing(a: &Analysis<'_>, level: usize) -> Option<String> {
    let failed: Vec<String> =
        a.cells.iter().filter(|c| c.level >= level && c.failed()).map(|c| a.name_of(c)).collect();
    let names: Vec<&str> = failed.iter().map(String::as_str).collect();
    (!names.is_empty()).then(|| format!("; {} failed", list(&names)))
}

/// What there is to say where nothing is compared but the loads: the figure at the top, and at the bottom.
fn alone(a: &Analysis<'_>, only: &Cell<'_>, level: usize, value: &str) -> String {
    let top = format!("{} of **{}**{}: {value}", a.headline.words.noun, a.series_of(only), a.at_load(level));
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
    let mut details: Vec<String> = match contrast(a, level, a.headline) {
        Some(Contrast::Difference(text)) => vec![text],
        // The headline has said already that the leaders do not differ.
        Some(Contrast::NotSignificant { ratio, .. }) if leaders.len() > 1 => vec![sentence(&ratio)],
        Some(Contrast::NotSignificant { metric, ratio }) => {
            let noun = metric.words.noun;
            vec![sentence(&format!("no significant difference{} in {noun} ({ratio})", a.at_load(level)))]
        }
        None => Vec::new(),
    };
    let reference = reference(a, best, level, a.headline);
    let next = runner_up(a, best, level).filter(|next| {
        reference.is_none_or(|r| r.record.id != next.record.id) && !leaders.contains(&a.series_of(next))
    });
    if let Some(next) = next
        && let Some(comparison) = a.compare(best.record, next.record, a.headline)
    {
        let (name, against) = (a.series_of(best), a.series_of(next));
        let text = versus(name, against, a.headline, &comparison, a.run.plan.tolerance);
        details.push(sentence(&format!("{text}, the next best")));
    }
    details
}

fn runner_up<'a, 'r>(a: &'a Analysis<'r>, best: &Cell<'_>, level: usize) -> Option<&'a Cell<'r>> {
    let others = a.at_level(level, a.headline).filter(|(c, _)| c.record.id != best.record.id);
    let better = |x: &Estimate, y: &Estimate| a.headline.is_better(x.value, y.value);
    others.reduce(|x, y| if better(y.1, x.1) { y } else { x }).map(|(cell, _)| cell)
}

/// The load levels at which none of the leaders at the highest load led.
fn at_other_loads(a: &Analysis<'_>, top: usize, leaders_at_top: &[&str]) -> Option<String> {
    let others: Vec<String> = (0..top)
        .filter_map(|level| {
            let names = leaders(a, level);
            let shared = names.iter().any(|n| leaders_at_top.contains(n));
            (!names.is_empty() && !shared).then(|| format!("{} led{}", list(&names), a.at_load(level)))
        })
        .collect();
    (!others.is_empty()).then(|| sentence(&others.join("; ")))
}

fn tiles(a: &Analysis<'_>, best: &Cell<'_>) -> Vec<Tile> {
    let others = METRICS.iter().filter(|m| m.is_shown_in(Section::Tile) && m.name != a.headline.name);
    std::iter::once(a.headline)
        .chain(others)
        .filter_map(|m| {
            let e = best.estimate(m)?;
            Some(Tile { label: capital(m.words.noun), value: figure_of(m, e.value), note: spread(m, e) })
        })
        .take(TILES_MAX)
        .collect()
}
