//! The report of a run as a whole page: the answer first, the evidence after it.

use super::answer::{answer_card, findings_list, header};
use super::cells::cells;
use super::environment::environment;
use super::faults::faults;
use super::figure;
use super::method::{footer, method};
use super::page::page;
use super::results::results;
use crate::analysis::Analysis;
use crate::chart::{Chart, wanted};
use crate::escape::escape;
use crate::findings::{answer, findings};
use crate::scene::Figure;
use crate::trust::trust;

/// The report of a run as a whole page.
pub(crate) fn render(a: &Analysis<'_>) -> String {
    let plan = &a.run.plan;
    let title = if plan.title.is_empty() { &plan.name } else { &plan.title };
    let mut contents = vec![("findings", "Findings")];
    let mut charts: Vec<String> = Vec::new();
    for chart in wanted(a) {
        if let Some(figure) = (chart.draw)(a) {
            contents.push((chart.name, chart.title));
            charts.push(section(chart, &figure));
        }
    }
    // The first chart is the picture of the answer; the table with all figures follows it.
    let after_first = charts.len().min(1);
    charts.insert(after_first, results(a));
    contents.insert(1 + after_first, ("results", "Results"));
    if let Some(table) = faults(a) {
        charts.insert(after_first + 1, table);
        contents.insert(2 + after_first, ("faults", "Faults"));
    }
    contents.extend([("cells", "Commands"), ("environment", "Environment"), ("method", "Method")]);
    let body = [
        header(a, title, &contents),
        "<main>".to_owned(),
        answer_card(a, &answer(a), &trust(a)),
        findings_list(&findings(a)),
        charts.concat(),
        cells(a),
        environment(a),
        method(a),
        "</main>".to_owned(),
        footer(a),
    ];
    page(&format!("{title} · Pitot"), &body.concat())
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
