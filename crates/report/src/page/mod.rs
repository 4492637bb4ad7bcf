//! The page of a run: the answer first, the evidence after it.

mod cells;
mod environment;
mod experiments;
mod question;
mod results;
mod tables;

pub(crate) use environment::{changes, machine};
pub(crate) use experiments::{Experiment, conclusions_of, experiments};
pub(crate) use question::Question;
pub(crate) use tables::faults;

use question::drawn;

use crate::analysis::{Analysis, Cell};
use crate::chart::wanted;
use crate::claims;
use crate::document::{Block, Document, Item, Note, PAGES, Verdict};
use crate::faults::{LEGEND, rows};
use crate::findings::{Answer, answer, findings};
use crate::format::Format;
use crate::method::{facts, method_sentences};
use crate::number::span;
use crate::published::published;
use crate::text::sentence;
use crate::tone::Tone;
use crate::trust::{outliers, trust};
use crate::why;
use pitot_plan::{shortened, skips_by_reason};
use pitot_record::Repetition;
use pitot_results::VerdictKind;

/// The page of a run in this form.
pub(crate) fn page(a: &Analysis<'_>, questions: &[Question<'_>], format: Format) -> Document {
    let (run, plan) = (a.run, &a.run.plan);
    let said: Vec<(String, Answer)> =
        questions.iter().map(|question| (question.asked.to_owned(), answer(question.analysis))).collect();
    let (verdict, failures) = verdict(a, questions, &said);
    let notes = notes(a, &said, &verdict.title);
    let charts = wanted(a).into_iter().filter_map(|chart| {
        let shown = Block::Chart(chart.summary.to_owned(), Box::new(drawn(chart, questions)?));
        Some(Block::section(chart.name, chart.title, vec![shown]))
    });
    let mut charts = charts.collect::<Vec<_>>().into_iter();
    let mut blocks = vec![Block::Verdict(Box::new(verdict))];
    blocks.push(of_each(questions, "findings", "Findings", |a| {
        let findings = findings(a);
        (!findings.is_empty()).then(|| Block::Numbered(findings.into_iter().map(Item::from).collect()))
    }));
    blocks.extend(claims::section(a));
    blocks.extend(why::section(a, format));
    // The first chart is the picture of the answer; the table with all figures follows it.
    blocks.extend(charts.next());
    blocks.push(of_each(questions, "results", "Results", |a| Some(Block::Table(results::results(a)))));
    let skipped = skips_by_reason(&run.skips);
    let skipped =
        skipped.iter().map(|(reason, combinations)| format!("**{}**: {reason}", shortened(combinations)));
    blocks.push(Block::section("", "Skipped", vec![Block::list(skipped)]));
    blocks.extend(tables::errors(run));
    blocks.extend(tables::faults(&rows(run), LEGEND));
    // HTML has them as a chart.
    let published = published(a).iter().map(tables::published).collect();
    blocks.push(Block::Only(&[Format::Terminal, Format::Markdown], published));
    blocks.extend(charts);
    blocks.push(Block::Only(&[Format::Terminal], vec![Block::section("", "Failures", failures)]));
    let outliers = outliers(a);
    if !outliers.is_empty() {
        let what = "Repetitions further than 3.5 robust deviations from the median of their cell. All figures include them.";
        blocks.push(Block::section("", "Outliers", vec![Block::paragraph(what), Block::list(outliers)]));
    }
    blocks.push(Block::Only(PAGES, vec![cells::cells(a), environment::environment(a), method(a)]));
    blocks.extend(notes);
    Document {
        title: title(a).to_owned(),
        question: plan.question.clone(),
        facts: facts(a).into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        blocks,
        origin: origin(a),
    }
}

/// The title of a run.
pub(crate) fn title<'r>(a: &Analysis<'r>) -> &'r str {
    let plan = &a.run.plan;
    if plan.title.is_empty() { &plan.name } else { &plan.title }
}

/// A section with a block for each question, which has a heading if there are several.
fn of_each(
    questions: &[Question<'_>],
    id: &'static str,
    title: &str,
    block: impl Fn(&Analysis<'_>) -> Option<Block>,
) -> Block {
    let mut blocks = Vec::new();
    for question in questions {
        if let Some(block) = block(question.analysis) {
            let asked = (!question.asked.is_empty()).then(|| Block::Heading(question.asked.to_owned()));
            blocks.extend(asked.into_iter().chain([block]));
        }
    }
    Block::section(id, title, blocks)
}

/// The answers, whether they can be trusted, and the failures that the reasons do not name.
fn verdict(a: &Analysis<'_>, questions: &[Question<'_>], said: &[(String, Answer)]) -> (Verdict, Vec<Block>) {
    let mut verdict = Verdict::of(said.to_vec(), trust(a));
    if let [only] = questions {
        let level = only.analysis.top_level().unwrap_or(0);
        let best = only.analysis.best_at(level, only.analysis.headline);
        let best = best.map_or("", |cell| only.analysis.series_of(cell));
        verdict.tiles_of = format!("**{best}**{}", only.analysis.at_load(level));
    }
    let count = |kind| a.cells.iter().filter(|c| c.verdict.kind == kind).count();
    let tally = VerdictKind::ALL.map(|kind| (kind, count(kind))).into_iter();
    verdict.tally = tally.filter(|(_, count)| *count > 0).collect();
    let mut failures: Vec<Item> = Vec::new();
    for cell in a.cells.iter().filter(|c| c.record.failures().next().is_some()) {
        let text = sentence(&format!("**{}**: {}", a.name_of(cell), cell.verdict.reason));
        let last = cell.record.failures().find_map(Repetition::telling_line);
        let more = last.map(|last| format!("last output: {last}"));
        match verdict.reasons.iter_mut().find(|reason| reason.text == text) {
            Some(reason) => reason.more.extend(more),
            None => failures.push(Item { text, tone: None, more: more.into_iter().collect() }),
        }
    }
    (verdict, vec![Block::List(failures)])
}

/// How the figures were made.
fn method(a: &Analysis<'_>) -> Block {
    let mut blocks = vec![Block::list(method_sentences(a))];
    if !a.run.plan.notes.is_empty() {
        blocks.extend([Block::Heading("Notes on this plan".into()), Block::list(&a.run.plan.notes)]);
    }
    let source = &a.run.info.plan_source;
    if !source.is_empty() {
        let commands = vec![Block::Commands(vec![("The plan".into(), source.clone())])];
        blocks.push(Block::Only(&[Format::Html], vec![Block::folded("The plan", commands)]));
    }
    Block::section("method", "Method", blocks)
}

fn origin(a: &Analysis<'_>) -> String {
    let elapsed: f64 = a.run.cells.iter().flat_map(|c| &c.repetitions).map(|r| r.elapsed_s).sum();
    format!(
        "Generated by Pitot {} from {} (run {}, {} of measurement in total).",
        a.run.info.version,
        a.run.path.file_name().unwrap_or_default().to_string_lossy(),
        a.run.info.id.get(..12).unwrap_or(&a.run.info.id),
        span(elapsed)
    )
}

/// Failed cells are errors, others that are not valid warnings, and each answer a notice.
fn notes(a: &Analysis<'_>, said: &[(String, Answer)], grade: &str) -> Vec<Block> {
    let of_cell = |cell: &Cell<'_>| Note {
        tone: cell.verdict.kind.into(),
        title: format!("{} {}", a.name_of(cell), cell.verdict.kind.name()),
        text: cell.verdict.reason.clone(),
    };
    let cells = a.cells.iter().filter(|c| c.verdict.kind != VerdictKind::Valid).map(of_cell);
    let of_answer = |(asked, answer): &(String, Answer)| {
        let colon = if asked.is_empty() { "" } else { ": " };
        let text = format!("{asked}{colon}{} {grade}.", answer.headline);
        Note { tone: Tone::Good, title: a.run.plan.name.clone(), text }
    };
    cells.chain(said.iter().map(of_answer)).map(Block::Note).collect()
}
