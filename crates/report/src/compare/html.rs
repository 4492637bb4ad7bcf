//! A comparison as one HTML file: what differs around the runs, then every ratio with its interval as a picture.

use super::text::entries;
use super::{Gate, GateOutcome, MetricTable, RunComparison, cautions, run_line};
use crate::analysis::Analysis;
use crate::axis::{Axis, Scale};
use crate::html::{BRAND, escape, figure, page};
use crate::scene::{Figure, Ink, Mark, Pane, Place, Scene, Size, Stop};
use crate::words::{capital, noun, ratio};
use pitot_lab::Better;
use pitot_lab::statistics::{Comparison, Decision};
use std::fmt::Write as _;

/// Ratios further apart than this need a logarithmic axis.
const LOG_FROM: f64 = 4.0;

pub(super) fn render(c: &RunComparison<'_>, gates: &[(Gate, GateOutcome)]) -> String {
    let mut html = format!(
        "<header>{BRAND}<h1>What changed between two runs</h1><ul class=\"facts\"><li>A <b>{}</b></li><li>B <b>{}</b></li></ul></header><main>",
        escape(&run_line(c.a)),
        escape(&run_line(c.b))
    );
    answer(&mut html, c, gates);
    around(&mut html, c);
    if let Some(drawn) = ratios(c) {
        let _ = write!(
            html,
            "<section id=\"ratios\"><h2>B over A</h2><p class=\"lede\">Each dot is one cell, the line through it its 95% \
             interval. The shaded stretch is the tolerance of {}: differences within it do not count.</p>{}</section>",
            crate::number::percent(c.tolerance),
            figure::render(&drawn)
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
        "<li>Ratios are Hodges-Lehmann estimates on logarithms with the interval of Mann and Whitney's test. A \
         difference is declared if that test rejects, at 5% after Holm's correction over all cells of the figure, that \
         the ratio lies within the tolerance.</li></ul></div></section></main><footer><p>This page fetches nothing and \
         sends nothing.</p></footer>",
    );
    page("Comparison · Pitot", &html)
}

/// How many cells got better or worse, figure by figure, and how the gates came out.
fn answer(html: &mut String, c: &RunComparison<'_>, gates: &[(Gate, GateOutcome)]) {
    html.push_str(
        "<div class=\"answer\"><div class=\"card\"><p class=\"kicker\">The answer</p><ul class=\"plain\">",
    );
    for table in &c.metrics {
        let count = |wanted: &[Decision]| {
            table.rows.iter().flatten_comparisons().filter(|x| wanted.contains(&x.decision)).count()
        };
        let (more, less) = (count(&[Decision::Higher]), count(&[Decision::Lower]));
        let (better, worse) = if table.metric.better == Better::Higher { (more, less) } else { (less, more) };
        let compared = table.rows.iter().flatten_comparisons().count();
        let _ = write!(
            html,
            "<li><b>{}</b>: <span class=\"better\">{better} better</span>, <span class=\"worse\">{worse} worse</span>, {} \
             without a declared difference</li>",
            escape(&capital(noun(table.metric))),
            compared - better - worse
        );
    }
    html.push_str("</ul></div>");
    let bad = gates.iter().any(|(_, outcome)| *outcome != GateOutcome::Passed);
    let (class, grade) = match (gates.is_empty(), bad) {
        (true, _) => ("care", "Read with it"),
        (false, true) => ("bad", "A gate was not passed"),
        (false, false) => ("good", "All gates passed"),
    };
    let _ =
        write!(html, "<div class=\"card trust {class}\"><p class=\"grade\">{grade}</p><ul class=\"plain\">");
    let told = gates.iter().map(|(gate, outcome)| outcome.sentence(gate)).chain(cautions(c));
    for sentence in told {
        let _ = write!(html, "<li>{}</li>", escape(&sentence));
    }
    html.push_str("</ul></div></div>");
}

/// The comparisons that there are.
trait FlattenComparisons<'a> {
    fn flatten_comparisons(self) -> impl Iterator<Item = &'a Comparison>;
}

impl<'a, I: Iterator<Item = &'a super::MetricRow>> FlattenComparisons<'a> for I {
    fn flatten_comparisons(self) -> impl Iterator<Item = &'a Comparison> {
        self.filter_map(|row| row.comparison.as_ref())
    }
}

fn around(html: &mut String, c: &RunComparison<'_>) {
    html.push_str("<section id=\"differences\"><h2>What differs around them</h2>");
    if c.differences.is_empty() {
        html.push_str("<p>The machines and versions are the same.</p>");
    } else {
        html.push_str("<div class=\"scroll\"><table class=\"wrap\"><thead><tr><th>fact</th><th>A</th><th>B</th></tr></thead><tbody>");
        for change in &c.differences {
            let _ = write!(
                html,
                "<tr><td>{} {}</td><td>{}</td><td>{}</td></tr>",
                escape(&change.group),
                escape(&change.name),
                escape(change.before.as_deref().unwrap_or("–")),
                escape(change.after.as_deref().unwrap_or("–"))
            );
        }
        html.push_str("</tbody></table></div>");
    }
    for (name, labels) in [("Only in A", &c.only_a), ("Only in B", &c.only_b)] {
        if !labels.is_empty() {
            let _ = write!(html, "<p class=\"under\"><b>{name}</b>: {}</p>", escape(&labels.join("; ")));
        }
    }
    html.push_str("</section>");
}

fn ratios(c: &RunComparison<'_>) -> Option<Figure> {
    let mut panes: Vec<Pane> = c.metrics.iter().filter_map(|table| forest(c, table)).collect();
    // The pane shown first is the last one: the headline's.
    let first = usize::from(!panes.is_empty());
    panes.rotate_left(first);
    let choice = (panes.len() > 1).then(|| "figure".to_owned());
    (!panes.is_empty()).then_some(Figure { choice, panes, caption: String::new() })
}

fn forest(c: &RunComparison<'_>, table: &MetricTable) -> Option<Pane> {
    let rows: Vec<(&str, &Comparison)> = c
        .pairs
        .iter()
        .zip(&table.rows)
        .filter_map(|(pair, row)| Some((pair.label.as_str(), row.comparison.as_ref()?)))
        .collect();
    let ends = |x: &Comparison| x.interval.map_or((x.ratio_min, x.ratio_max), |i| (i.low, i.high));
    let low = rows.iter().map(|(_, x)| ends(x).0).reduce(f64::min)?.min(1.0 - 2.0 * c.tolerance);
    let high = rows.iter().map(|(_, x)| ends(x).1).reduce(f64::max)?.max(1.0 + 2.0 * c.tolerance);
    let x = if high / low > LOG_FROM {
        Axis::log("B over A", low, high, |v| format!("{}×", crate::number::plain(v)))
    } else {
        let room = (high - low) * 0.05;
        let show = |v: f64| format!("{:+.2}%", (v - 1.0) * 100.0);
        let mut axis = Axis::between("change from A to B", low - room, high + room, show);
        for (value, text) in &mut axis.ticks {
            *text = change_text(*value);
        }
        axis
    };
    let (from, to) = (1.0 / (1.0 + c.tolerance), 1.0 + c.tolerance);
    let mut marks = vec![Mark::Stretch { from, to, label: String::new() }];
    let mut stops = Vec::new();
    for (row, (label, comparison)) in rows.iter().enumerate() {
        let (low, high) = ends(comparison);
        let better_when_higher = table.metric.better == Better::Higher;
        let ink = match comparison.decision {
            Decision::Higher if better_when_higher => Ink::Better,
            Decision::Lower if !better_when_higher => Ink::Better,
            Decision::Higher | Decision::Lower => Ink::Worse,
            _ => Ink::Muted,
        };
        marks.push(Mark::Reach { series: None, row, low, high });
        marks.push(Mark::Dot { ink, row, x: comparison.ratio, open: !comparison.decision.is_difference() });
        stops.push(Stop {
            at: Place::Row(row),
            heading: (*label).to_owned(),
            rows: vec![
                (Some(ink), "B over A".into(), ratio(comparison)),
                (None, "verdict".into(), crate::words::decision(comparison, better_when_higher)),
            ],
        });
    }
    let scene = Scene {
        title: capital(noun(table.metric)),
        hint: Analysis::hint(table.metric).into(),
        y: Axis::rows(rows.iter().map(|(label, _)| (*label).to_owned())),
        x,
        marks,
        stops,
        size: Size::Rows,
    };
    debug_assert!(!matches!(scene.x.scale, Scale::Steps(_)), "ratios are numbers");
    let legend = vec![
        (Ink::Better, "better".into()),
        (Ink::Worse, "worse".into()),
        (Ink::Muted, "no difference declared".into()),
    ];
    Some(Pane { label: table.metric.title.to_owned(), scenes: vec![scene], legend })
}

/// A ratio as a change: `-5%`, `0%`, `+2.5%`.
fn change_text(ratio: f64) -> String {
    let change = ((ratio - 1.0) * 1000.0).round() / 10.0;
    if change == 0.0 { "0%".into() } else { format!("{change:+}%") }
}

fn metric_table(html: &mut String, c: &RunComparison<'_>, table: &MetricTable) {
    let _ = write!(
        html,
        "<section><h2>{}</h2><p class=\"lede\">{}; {}</p><div class=\"scroll results\"><table><thead><tr><th>cell</th>\
         <th>A</th><th>B</th><th>B/A</th><th class=\"left\">verdict</th></tr></thead><tbody>",
        escape(&capital(noun(table.metric))),
        escape(table.metric.summary),
        Analysis::hint(table.metric)
    );
    for (pair, row) in c.pairs.iter().zip(&table.rows) {
        let [a, b, times, verdict] = entries(table, row, (pair.verdict_a, pair.verdict_b));
        let higher = table.metric.better == Better::Higher;
        let tone = match row.comparison.as_ref().map(|x| x.decision) {
            Some(Decision::Higher) if higher => "better",
            Some(Decision::Lower) if !higher => "better",
            Some(Decision::Higher | Decision::Lower) => "worse",
            _ => "",
        };
        let _ = write!(
            html,
            "<tr><td class=\"name\">{}</td><td>{}</td><td>{}</td><td>{}</td><td class=\"left {tone}\">{}</td></tr>",
            escape(&pair.label),
            escape(&a),
            escape(&b),
            escape(&times),
            escape(&verdict)
        );
    }
    html.push_str("</tbody></table></div></section>");
}
