//! The report of a run as a whole page: the answer first, the evidence after it.

use super::answer::{answer_card, findings_section, header};
use super::cells::cells;
use super::environment::environment;
use super::errors::errors;
use super::faults::faults;
use super::figure;
use super::method::{footer, method};
use super::page::page;
use super::results::results;
use crate::Question;
use crate::analysis::Analysis;
use crate::chart::{Chart, wanted};
use crate::escape::escape;
use crate::scene::{Figure, Pane};
use crate::trust::trust;

/// The report of a run as a whole page.
pub(crate) fn render(a: &Analysis<'_>, questions: &[Question<'_>]) -> String {
    let plan = &a.run.plan;
    let title = if plan.title.is_empty() { &plan.name } else { &plan.title };
    let mut contents = vec![("findings", "Findings")];
    let mut charts: Vec<String> = Vec::new();
    for chart in wanted(a) {
        if let Some(figure) = drawn(chart, questions) {
            contents.push((chart.name, chart.title));
            charts.push(section(chart, &figure));
        }
    }
    // The first chart is the picture of the answer; the table with all figures follows it.
    let after_first = charts.len().min(1);
    charts.insert(after_first, results(a, questions));
    contents.insert(1 + after_first, ("results", "Results"));
    let tables = [(errors(a), "errors", "Errors"), (faults(a), "faults", "Faults")];
    let tables = tables.into_iter().filter_map(|(table, id, title)| Some((table?, id, title)));
    for (number, (table, id, title)) in (1..).zip(tables) {
        charts.insert(after_first + number, table);
        contents.insert(1 + after_first + number, (id, title));
    }
    contents.extend([("cells", "Commands"), ("environment", "Environment"), ("method", "Method")]);
    let body = [
        header(a, title, &contents),
        "<main>".to_owned(),
        answer_card(a, questions, &trust(a)),
        findings_section(questions),
        charts.concat(),
        cells(a),
        environment(a),
        method(a),
        "</main>".to_owned(),
        footer(a),
    ];
    page(&format!("{title} · Pitot"), &body.concat())
}

/// A chart of the run. Where the run asks more than one thing the reader chooses what is shown, with the load level if the chart
/// has a choice of its own.
fn drawn(chart: &Chart, questions: &[Question<'_>]) -> Option<Figure> {
    if let [only] = questions {
        return (chart.draw)(only.analysis);
    }
    let mut whole: Option<Figure> = None;
    for question in questions {
        let Some(figure) = (chart.draw)(question.analysis) else { continue };
        let named = |pane: Pane| {
            let and = if pane.label.is_empty() { "" } else { " · " };
            Pane { label: format!("{}{and}{}", question.asked, pane.label), ..pane }
        };
        let panes = figure.panes.into_iter().map(named);
        match &mut whole {
            None => {
                whole = Some(Figure {
                    choice: Some("asked".to_owned()),
                    panes: panes.collect(),
                    caption: figure.caption,
                });
            }
            Some(whole) => whole.panes.extend(panes),
        }
    }
    whole
}

fn section(chart: &Chart, figure: &Figure) -> String {
    format!(
        "<section id=\"{}\"><h2>{}</h2><p class=\"lede\">{}</p>{}</section>",
        chart.name,
        escape(chart.title),
        escape(chart.summary),
        figure::render(figure)
    )
}
