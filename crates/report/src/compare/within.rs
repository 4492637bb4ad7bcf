//! The page of a run whose cells are compared with its baseline, in the order in which people ask: is it slower, by how much, could it be
//! noise, and what would settle it.

use super::comparison::{CellPair, RunComparison};
use super::gate::Gate;
use super::page::{chart, metric, notes, notes_of_cells, row, verdict};
use super::words::{cautions, headline, run_line};
use crate::amount::{size, unit_of_run};
use crate::analysis::Analysis;
use crate::control::{control_sentences, failed_controls};
use crate::document::{Block, Column, Document, PAGES, Table};
use crate::findings::Answer;
use crate::format::Format;
use crate::number::percent;
use crate::outcome::GateOutcome;
use crate::outlook::outlook;
use crate::phrase::versus;
use crate::text::{capital, sentence};
use crate::why;

/// More cells than this are shown metric by metric.
const EACH_MAX: usize = 8;

pub(super) fn page(c: &RunComparison<'_>, gates: &[(Gate, GateOutcome)], format: Format) -> Document {
    let what = Block::pairs([("run".into(), format!("{}, {}", run_line(c.b), size(c.b)))]);
    let answer = Answer { headline: answer(c), details: doubts(c, gates), tiles: Vec::new() };
    let mut blocks = vec![what, verdict(answer, gates, cautions(c))];
    match c.pairs.len() {
        0..=EACH_MAX => blocks.extend(c.pairs.iter().enumerate().map(|(at, pair)| of_cell(c, at, pair))),
        _ => blocks.extend(c.metrics.iter().map(|table| metric(c, table))),
    }
    blocks.extend(why::section(&Analysis::of(c.b), format));
    blocks.extend(chart(c, "Ratios to the baseline"));
    let method = Block::section("method", "Method", vec![Block::list([method(c)])]);
    blocks.push(Block::Only(PAGES, vec![method]));
    let told = format!("{} {}", self::answer(c), cautions(c).join(" "));
    blocks.extend(notes(gates, &told).chain(notes_of_cells(c)).map(Block::Note));
    Document { title: c.b.plan.title.clone(), blocks, ..Document::default() }
}

/// Whether it differs and by how much. Of a run that finds differences where there are none, that is said first.
pub(super) fn answer(c: &RunComparison<'_>) -> String {
    if let Some(failed) = failed_controls(&Analysis::of(c.b)).into_iter().next() {
        return failed;
    }
    let only = match (&c.pairs[..], c.metrics.first()) {
        ([pair], Some(table)) => {
            table.rows[0].comparison.as_ref().map(|comparison| (pair, table, comparison))
        }
        _ => None,
    };
    let Some((pair, table, comparison)) = only else { return headline(c) };
    let names = (pair.label.as_str(), &*c.name_of_a());
    sentence(&versus(names, table.metric, comparison, c.tolerance, unit_of_run(c.b)))
}

/// Whether it could be noise, and what would settle it. (A gate says that itself.)
pub(super) fn doubts(c: &RunComparison<'_>, gates: &[(Gate, GateOutcome)]) -> Vec<String> {
    let analysis = Analysis::of(c.b);
    let more = if gates.is_empty() { outlook(&analysis) } else { None };
    control_sentences(&analysis).into_iter().chain(more).collect()
}

/// A cell and its baseline in all metrics.
fn of_cell(c: &RunComparison<'_>, at: usize, pair: &CellPair<'_>) -> Block {
    let measured = c.metrics.iter().filter(|table| table.rows[at].b.is_some());
    let rows = measured.map(|table| (capital(table.metric.words.noun), row(c, table, at)));
    let base = c.name_of_a();
    let columns =
        [Column::of(&base), Column::of(&pair.label), Column::of("ratio"), Column::of_words("verdict")];
    let title = format!("{} against {base}", pair.label);
    let table = Table::plain(&title, "metric", columns.to_vec(), rows);
    Block::section("", title, vec![Block::Table(table)])
}

fn method(c: &RunComparison<'_>) -> String {
    let comparisons =
        c.metrics.iter().flat_map(|table| &table.rows).filter_map(|row| row.comparison.as_ref());
    let test = comparisons.filter_map(|comparison| comparison.test).next();
    let test = test.map_or_else(String::new, |test| format!(" and the test: {}", test.name()));
    format!(
        "Ratios are Hodges-Lehmann estimates on logarithms, with 95% intervals{test}. A difference is declared if the test rejects, at 5% \
         after Holm's correction for all cells of the metric, that the ratio lies within the tolerance of {}.",
        percent(c.tolerance)
    )
}
