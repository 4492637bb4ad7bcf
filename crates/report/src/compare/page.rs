//! The page of a comparison: what changed in a sentence, what differs around the runs, then every ratio.

use super::comparison::{MetricTable, RunComparison};
use super::forest::ratios;
use super::gate::Gate;
use super::words::{cautions, entries, headline, run_line};
use crate::amount::unit_of_run;
use crate::document::{Block, Column, Document, Entry, Item, Note, PAGES, Table, Verdict};
use crate::findings::Answer;
use crate::number::percent;
use crate::outcome::GateOutcome;
use crate::page::changes;
use crate::phrase::{times, tone};
use crate::text::capital;
use crate::tone::Tone;
use crate::trust::{Grade, Trust};
use pitot_results::VerdictKind;
use pitot_stats::Comparison;

const METHOD: &str = "Ratios are Hodges-Lehmann estimates on logarithms with the interval of the Mann-Whitney test. A difference is \
     declared if that test rejects, at 5% after Holm's correction for all cells of the metric, that the ratio lies within the tolerance.";

pub(super) fn page(c: &RunComparison<'_>, gates: &[(Gate, GateOutcome)]) -> Document {
    let answer = Answer {
        headline: headline(c),
        details: c.metrics.iter().map(|table| counts(c, table)).collect(),
        tiles: Vec::new(),
    };
    let mut blocks = vec![sides([run_line(c.a), run_line(c.b)]), verdict(answer, gates, cautions(c))];
    let what = match c.differences.is_empty() {
        true => vec![Block::paragraph("The machines and versions are the same.")],
        false => changes(&c.differences, "A", "B").to_vec(),
    };
    blocks.push(Block::section("differences", "Differences in the environment", what));
    blocks.extend(chart(c, "Ratios, B/A"));
    blocks.extend(c.metrics.iter().map(|table| metric(c, table)));
    let only = [("Only in A", &c.only_a), ("Only in B", &c.only_b)].into_iter();
    let only = only.filter(|(_, labels)| !labels.is_empty());
    let only: Vec<(String, String)> = only.map(|(name, labels)| (name.into(), labels.join("; "))).collect();
    if !only.is_empty() {
        blocks.push(Block::section("", "Cells of one run alone", vec![Block::pairs(only)]));
    }
    blocks.push(Block::Only(PAGES, vec![Block::section("method", "Method", vec![Block::list([METHOD])])]));
    let answer = format!("{} {}", headline(c), cautions(c).join(" "));
    blocks.extend(notes(gates, &answer).chain(notes_of_cells(c)).map(Block::Note));
    Document { title: "Comparison".into(), blocks, ..Document::default() }
}

/// Every ratio as a picture.
pub(super) fn chart(c: &RunComparison<'_>, title: &str) -> Option<Block> {
    let how = format!(
        "Each dot is one cell; the line through it is its 95% interval. The shaded band is the tolerance of {}: differences within \
         it do not count.",
        percent(c.tolerance)
    );
    let figure = ratios(c)?;
    Some(Block::section("ratios", title, vec![Block::Chart(how, Box::new(figure))]))
}

pub(super) fn sides([a, b]: [String; 2]) -> Block {
    Block::pairs([("A".into(), a), ("B".into(), b)])
}

/// The answer, the outcomes of the gates, and the caveats.
pub(super) fn verdict(answer: Answer, gates: &[(Gate, GateOutcome)], cautions: Vec<String>) -> Block {
    let (grade, title) = match gates {
        [] => (Grade::Care, "Caveats"),
        _ if gates.iter().all(|(_, outcome)| *outcome == GateOutcome::Passed) => {
            (Grade::Good, "All gates passed")
        }
        _ if gates.iter().any(|(_, outcome)| matches!(outcome, GateOutcome::Met(_))) => {
            (Grade::Bad, "A gate was met")
        }
        _ => (Grade::Care, "A gate is undecided"),
    };
    let outcome = |(gate, outcome): &(Gate, GateOutcome)| Item {
        tone: Some(outcome.tone()),
        ..Item::from(outcome.sentence(gate))
    };
    let trust = Trust { grade, reasons: Vec::new(), notes: cautions };
    Block::Verdict(Box::new(Verdict {
        title: title.to_owned(),
        reasons: gates.iter().map(outcome).collect(),
        ..Verdict::of(vec![(String::new(), answer)], trust)
    }))
}

/// How many cells got better or worse.
fn counts(c: &RunComparison<'_>, table: &MetricTable) -> String {
    let rows = c.pairs.iter().zip(&table.rows).filter(|(pair, _)| !pair.is_reference);
    let compared: Vec<&Comparison> = rows.filter_map(|(_, row)| row.comparison.as_ref()).collect();
    let count = |wanted| compared.iter().filter(|x| tone(x, table.metric) == Some(wanted)).count();
    let (better, worse) = (count(Tone::Good), count(Tone::Bad));
    let rest = compared.len() - better - worse;
    format!(
        "**{}**: {better} better, {worse} worse, {rest} not shown to differ",
        capital(table.metric.words.noun)
    )
}

pub(super) fn metric(c: &RunComparison<'_>, table: &MetricTable) -> Block {
    let rows = c.pairs.iter().enumerate().map(|(at, pair)| (pair.label.clone(), row(c, table, at)));
    let columns = [Column::of("A"), Column::of("B"), Column::of("B/A"), Column::of_words("verdict")];
    let title = capital(table.metric.words.noun);
    let about = Block::Paragraph(format!("{}; {}", capital(table.metric.summary), table.metric.hint()));
    let table = Table::plain(&title, "cell", columns.to_vec(), rows);
    Block::section("", title, vec![about, Block::Table(table)])
}

/// The figures of a pair in a metric, with the verdict in its tone.
pub(super) fn row(c: &RunComparison<'_>, table: &MetricTable, at: usize) -> Vec<Entry> {
    let row = &table.rows[at];
    let mut entries = entries(table, row, &c.pairs[at], unit_of_run(c.b)).map(Entry::from);
    entries[3].tone = row.comparison.as_ref().and_then(|c| tone(c, table.metric));
    entries.to_vec()
}

/// Gates that are met are errors, undecided ones warnings, and the answer a notice.
pub(super) fn notes(gates: &[(Gate, GateOutcome)], answer: &str) -> impl Iterator<Item = Note> {
    let of_gate = |(gate, outcome): &(Gate, GateOutcome)| Note {
        tone: outcome.tone(),
        title: format!("gate {gate}"),
        text: outcome.sentence(gate),
    };
    let answer = Note { tone: Tone::Good, title: "pitot compare".into(), text: answer.trim_end().to_owned() };
    gates.iter().map(of_gate).chain([answer])
}

/// Cells that fail only in B are errors; cells that got worse in the plan's metric or are missing are warnings.
pub(super) fn notes_of_cells(c: &RunComparison<'_>) -> Vec<Note> {
    let failed = c.pairs.iter().filter(|p| p.verdict_b == VerdictKind::Failed).map(|pair| Note {
        tone: if pair.verdict_a == VerdictKind::Failed { Tone::Care } else { Tone::Bad },
        title: format!("{} failed", pair.label),
        text: pair.b.verdict().reason,
    });
    let gone = c.only_a.iter().map(|label| Note {
        tone: Tone::Care,
        title: label.clone(),
        text: "The second run does not have this cell.".into(),
    });
    let worse = c.metrics.first().into_iter().flat_map(|table| {
        c.pairs.iter().zip(&table.rows).filter_map(|(pair, row)| {
            let worse = row.comparison.as_ref().filter(|x| tone(x, table.metric) == Some(Tone::Bad))?;
            let first = if c.is_within { c.name_of_a() } else { "the first run".to_owned() };
            let text = format!("{}: {} that of {first}", table.metric.words.noun, times(worse));
            Some(Note { tone: Tone::Care, title: format!("{} got worse", pair.label), text })
        })
    });
    failed.chain(gone).chain(worse).collect()
}
