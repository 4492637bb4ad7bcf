//! The page of a comparison: what changed in a sentence, what differs around the runs, then every ratio.

use super::comparison::{MetricTable, RunComparison};
use super::forest::ratios;
use super::gate::{Gate, GateOutcome};
use super::words::{cautions, entries, headline, run_lines};
use crate::amount::unit_of_run;
use crate::document::{Block, Column, Document, Entry, Item, Note, PAGES, Table, Verdict};
use crate::findings::Answer;
use crate::number::percent;
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
    let mut blocks = vec![sides(run_lines(c)), verdict(answer, gates, cautions(c))];
    if !c.is_within {
        let what = match c.differences.is_empty() {
            true => vec![Block::paragraph("The machines and versions are the same.")],
            false => changes(&c.differences, "A", "B").to_vec(),
        };
        blocks.push(Block::section("differences", "Differences in the environment", what));
    }
    if let Some(figure) = ratios(c) {
        let how = format!(
            "Each dot is one cell; the line through it is its 95% interval. The shaded band is the tolerance of {}: differences within \
             it do not count.",
            percent(c.tolerance)
        );
        blocks.push(Block::section("ratios", "Ratios, B/A", vec![Block::Chart(how, Box::new(figure))]));
    }
    blocks.extend(c.metrics.iter().map(|table| metric(c, table)));
    let only = [("Only in A", &c.only_a), ("Only in B", &c.only_b)].into_iter();
    let only = only.filter(|(_, labels)| !labels.is_empty());
    let only: Vec<(String, String)> = only.map(|(name, labels)| (name.into(), labels.join("; "))).collect();
    if !only.is_empty() {
        blocks.push(Block::section("", "Cells of one run alone", vec![Block::pairs(only)]));
    }
    blocks.push(Block::Only(PAGES, vec![Block::section("method", "Method", vec![Block::list([METHOD])])]));
    blocks.extend(notes(c, gates).into_iter().map(Block::Note));
    Document { title: "Comparison".into(), blocks, ..Document::default() }
}

/// What A and B are.
pub(super) fn sides([a, b]: [String; 2]) -> Block {
    Block::pairs([("A".into(), a), ("B".into(), b)])
}

/// The answer, and how the gates came out with what a reader has to know before the figures.
pub(super) fn verdict(answer: Answer, gates: &[(Gate, GateOutcome)], cautions: Vec<String>) -> Block {
    let (grade, title) = match gates {
        [] => (Grade::Care, "Caveats"),
        _ if gates.iter().all(|(_, outcome)| *outcome == GateOutcome::Passed) => {
            (Grade::Good, "All gates passed")
        }
        _ => (Grade::Bad, "A gate was not passed"),
    };
    let outcome = |(gate, outcome): &(Gate, GateOutcome)| Item {
        tone: Some(tone_of(outcome)),
        ..Item::from(outcome.sentence(gate))
    };
    let trust = Trust { grade, reasons: Vec::new(), notes: cautions };
    Block::Verdict(Box::new(Verdict {
        title: title.to_owned(),
        reasons: gates.iter().map(outcome).collect(),
        ..Verdict::of(vec![(String::new(), answer)], trust)
    }))
}

fn tone_of(outcome: &GateOutcome) -> Tone {
    match outcome {
        GateOutcome::Passed => Tone::Good,
        GateOutcome::Met(_) => Tone::Bad,
        GateOutcome::Undecided(_) => Tone::Care,
    }
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

fn metric(c: &RunComparison<'_>, table: &MetricTable) -> Block {
    let rows = c.pairs.iter().zip(&table.rows).map(|(pair, row)| {
        let mut entries = entries(table, row, pair, unit_of_run(c.b)).map(Entry::from);
        entries[3].tone = row.comparison.as_ref().and_then(|c| tone(c, table.metric));
        (pair.label.clone(), entries.to_vec())
    });
    let columns = [Column::of("A"), Column::of("B"), Column::of("B/A"), Column::of_words("verdict")];
    let title = capital(table.metric.words.noun);
    let about = Block::Paragraph(format!("{}; {}", capital(table.metric.summary), table.metric.hint()));
    let table = Table::plain(&title, "cell", columns.to_vec(), rows);
    Block::section("", title, vec![about, Block::Table(table)])
}

/// Gates that are met and cells that fail only now are errors; gates that are undecided, and cells that got worse in the
/// plan's metric or are gone, are warnings; the rest is good to know.
fn notes(c: &RunComparison<'_>, gates: &[(Gate, GateOutcome)]) -> Vec<Note> {
    let mut notes = Vec::new();
    let mut note = |tone, title: String, text: String| notes.push(Note { tone, title, text });
    for (gate, outcome) in gates {
        note(tone_of(outcome), format!("gate {gate}"), outcome.sentence(gate));
    }
    for pair in c.pairs.iter().filter(|p| p.verdict_b == VerdictKind::Failed) {
        let tone = if pair.verdict_a == VerdictKind::Failed { Tone::Care } else { Tone::Bad };
        note(tone, format!("{} failed", pair.label), pair.b.verdict().reason);
    }
    for label in &c.only_a {
        note(Tone::Care, label.clone(), "The second run does not have this cell.".into());
    }
    if let Some(table) = c.metrics.first() {
        for (pair, row) in c.pairs.iter().zip(&table.rows) {
            let worse = row.comparison.as_ref().filter(|x| tone(x, table.metric) == Some(Tone::Bad));
            if let Some(comparison) = worse {
                let first = if c.is_within { c.name_of_a() } else { "the first run".to_owned() };
                let text = format!("{}: {} that of {first}", table.metric.words.noun, times(comparison));
                note(Tone::Care, format!("{} got worse", pair.label), text);
            }
        }
    }
    let text = format!("{} {}", headline(c), cautions(c).join(" ")).trim_end().to_owned();
    note(Tone::Good, "pitot compare".into(), text);
    notes
}
