//! A comparison as one HTML file: what differs around the runs, then every ratio.

use super::comparison::{MetricTable, RunComparison};
use super::forest::ratios;
use super::gate::{Gate, GateOutcome};
use super::words::{cautions, entries, headline, run_lines};
use crate::amount::unit_of_run;
use crate::escape::escape;
use crate::html::{BRAND, changes_table, page, render_figure};
use crate::number::percent;
use crate::phrase::{Tone, tone};
use crate::text::capital;
use pitot_stats::Comparison;
use std::fmt::Write as _;

pub(super) fn render(c: &RunComparison<'_>, gates: &[(Gate, GateOutcome)]) -> String {
    let mut html = format!(
        "<header>{BRAND}<h1>What changed between two runs</h1><ul class=\"facts\"><li>A <b>{}</b></li><li>B <b>{}</b></li></ul></header><main>",
        escape(&run_lines(c)[0]),
        escape(&run_lines(c)[1])
    );
    answer(&mut html, c, gates);
    environment(&mut html, c);
    if let Some(drawn) = ratios(c) {
        let _ = write!(
            html,
            "<section id=\"ratios\"><h2>Ratios, B/A</h2><p class=\"lede\">Each dot is one cell; the line through it is its \
             95% interval. The shaded band is the tolerance of {}: differences within it do not count.</p>{}</section>",
            percent(c.tolerance),
            render_figure(&drawn)
        );
    }
    for table in &c.metrics {
        metric_table(&mut html, c, table);
    }
    html.push_str("<section id=\"method\"><h2>Method</h2><div class=\"prose\"><ul>");
    for caution in cautions(c) {
        let _ = write!(html, "<li>{}</li>", escape(&caution));
    }
    html.push_str(
        "<li>Ratios are Hodges-Lehmann estimates on logarithms with the interval of the Mann-Whitney test. A \
         difference is declared if that test rejects, at 5% after Holm's correction for all cells of the metric, that \
         the ratio lies within the tolerance.</li></ul></div></section></main><footer><p>This page makes no network \
         requests.</p></footer>",
    );
    page("Comparison · Pitot", &html)
}

/// How many cells got better or worse, figure by figure, and how the gates came out.
fn answer(html: &mut String, c: &RunComparison<'_>, gates: &[(Gate, GateOutcome)]) {
    let _ = write!(
        html,
        "<div class=\"answer\"><div class=\"card\"><p class=\"kicker\">The answer</p><p class=\"verdict-line\">{}</p><ul \
         class=\"plain\">",
        escape(&headline(c))
    );
    for table in &c.metrics {
        let rows = c.pairs.iter().zip(&table.rows).filter(|(pair, _)| !pair.is_reference);
        let compared: Vec<&Comparison> = rows.filter_map(|(_, row)| row.comparison.as_ref()).collect();
        let count = |wanted| compared.iter().filter(|x| tone(x, table.metric) == Some(wanted)).count();
        let (better, worse) = (count(Tone::Better), count(Tone::Worse));
        let _ = write!(
            html,
            "<li><b>{}</b>: {}, {}, {} not shown to differ</li>",
            escape(&capital(table.metric.words.noun)),
            toned("better", better),
            toned("worse", worse),
            compared.len() - better - worse
        );
    }
    html.push_str("</ul></div>");
    let bad = gates.iter().any(|(_, outcome)| *outcome != GateOutcome::Passed);
    let (class, grade) = match (gates.is_empty(), bad) {
        (true, _) => ("care", "Caveats"),
        (false, true) => ("bad", "A gate was not passed"),
        (false, false) => ("good", "All gates passed"),
    };
    let _ =
        write!(html, "<div class=\"card trust {class}\"><p class=\"grade\">{grade}</p><ul class=\"plain\">");
    let sentences = gates.iter().map(|(gate, outcome)| outcome.sentence(gate)).chain(cautions(c));
    for sentence in sentences {
        let _ = write!(html, "<li>{}</li>", escape(&sentence));
    }
    html.push_str("</ul></div></div>");
}

/// A count in its colour; none is no news, and has none.
fn toned(what: &str, count: usize) -> String {
    match count {
        0 => format!("0 {what}"),
        _ => format!("<span class=\"{what}\">{count} {what}</span>"),
    }
}

fn environment(html: &mut String, c: &RunComparison<'_>) {
    html.push_str("<section id=\"differences\"><h2>Differences in the environment</h2>");
    if c.differences.is_empty() {
        html.push_str("<p>The machines and versions are the same.</p>");
    } else {
        html.push_str(&changes_table(&c.differences, "A", "B"));
    }
    for (name, labels) in [("Only in A", &c.only_a), ("Only in B", &c.only_b)] {
        if !labels.is_empty() {
            let _ = write!(html, "<p class=\"under\"><b>{name}</b>: {}</p>", escape(&labels.join("; ")));
        }
    }
    html.push_str("</section>");
}

fn metric_table(html: &mut String, c: &RunComparison<'_>, table: &MetricTable) {
    let _ = write!(
        html,
        "<section><h2>{}</h2><p class=\"lede\">{}; {}</p><p class=\"scroll-hint\" hidden>The table goes on to the right: scroll it sideways →</p>\
         <div class=\"scroll results\" tabindex=\"0\"><table><caption>{}</caption><thead><tr><th scope=\"col\">cell</th>\
         <th scope=\"col\">A</th><th scope=\"col\">B</th><th scope=\"col\">B/A</th><th scope=\"col\" class=\"left\">verdict</th></tr></thead><tbody>",
        escape(&capital(table.metric.words.noun)),
        escape(&capital(table.metric.summary)),
        table.metric.hint(),
        escape(&capital(table.metric.words.noun))
    );
    for (pair, row) in c.pairs.iter().zip(&table.rows) {
        let [a, b, times, verdict] = entries(table, row, pair, unit_of_run(c.b));
        let tone = row.comparison.as_ref().and_then(|c| tone(c, table.metric)).map_or("", Tone::name);
        let _ = write!(
            html,
            "<tr><th scope=\"row\" class=\"name\">{}</th><td>{}</td><td>{}</td><td>{}</td><td class=\"left {tone}\">{}</td></tr>",
            escape(&pair.label),
            escape(&a),
            escape(&b),
            escape(&times),
            escape(&verdict)
        );
    }
    html.push_str("</tbody></table></div></section>");
}
