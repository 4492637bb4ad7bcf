//! The parts of the page around the charts: the answer first, the evidence after it.

use super::{escape, marked};
use crate::analysis::Analysis;
use crate::findings::Answer;
use crate::method::method_sentences;
use crate::number::{count, span};
use crate::table::{Mark, Results};
use crate::trust::{Grade, Trust, outliers};
use pitot_lab::VerdictKind;
use std::fmt::Write as _;

const VERDICTS: [VerdictKind; 5] = [
    VerdictKind::Valid,
    VerdictKind::ClientBound,
    VerdictKind::NetworkBound,
    VerdictKind::Noisy,
    VerdictKind::Failed,
];

pub(crate) const BRAND: &str = "<div class=\"brand\"><svg viewBox=\"0 0 24 24\" aria-hidden=\"true\">\
    <path d=\"M3 9h13a3 3 0 0 1 0 6H3M8 12h6M18 12h3\"/></svg>Pitot report</div>";

pub(super) fn header(a: &Analysis<'_>, title: &str, places: &[(&str, &str)]) -> String {
    let run = a.run;
    let mut html = format!("<header>{BRAND}<h1>{}</h1>", escape(title));
    if !run.plan.question.is_empty() {
        let _ = write!(html, "<p class=\"question\">{}</p>", escape(&run.plan.question));
    }
    html.push_str("<ul class=\"facts\">");
    for (name, value) in crate::method::facts(a) {
        let _ = write!(html, "<li>{} <b>{}</b></li>", escape(name), escape(&value));
    }
    html.push_str("</ul><nav aria-label=\"Contents\">");
    for (id, name) in places {
        let _ = write!(html, "<a href=\"#{id}\">{}</a>", escape(name));
    }
    html.push_str("</nav></header>");
    html
}

pub(super) fn answer(a: &Analysis<'_>, answer: &Answer, trust: &Trust) -> String {
    let mut html =
        String::from("<div class=\"answer\"><div class=\"card\"><p class=\"kicker\">The answer</p>");
    let _ = write!(html, "<p class=\"verdict-line\">{}</p><ul class=\"plain\">", marked(&answer.headline));
    for detail in &answer.details {
        let _ = write!(html, "<li>{}</li>", marked(detail));
    }
    html.push_str("</ul></div>");
    html.push_str(&trust_card(a, trust));
    if !answer.tiles.is_empty() {
        let level = a.top_level().unwrap_or(0);
        let best = a.best_at(level, a.headline).map_or("", |c| a.series_of(c));
        let _ = write!(
            html,
            "<div class=\"tiles\"><p>Figures of <b>{}</b>{}</p>",
            escape(best),
            escape(&a.at_load(level))
        );
        for tile in &answer.tiles {
            let _ = write!(
                html,
                "<div class=\"tile\"><div class=\"label\">{}</div><div class=\"value\">{}</div><div class=\"note\">{}</div></div>",
                escape(&tile.label),
                escape(&tile.value),
                escape(&tile.note)
            );
        }
        html.push_str("</div>");
    }
    html.push_str("</div>");
    html
}

fn trust_card(a: &Analysis<'_>, trust: &Trust) -> String {
    let class = match trust.grade {
        Grade::Good => "good",
        Grade::Care => "care",
        Grade::Bad => "bad",
    };
    let mut html = format!(
        "<div class=\"card trust {class}\"><p class=\"kicker\">Can it be trusted?</p><p class=\"grade\">{}</p><ul class=\"plain\">",
        trust.grade.name()
    );
    for reason in &trust.reasons {
        let _ = write!(html, "<li>{}</li>", marked(reason));
    }
    html.push_str("</ul><div class=\"tally\" aria-hidden=\"true\">");
    let mut words = Vec::new();
    for kind in VERDICTS {
        let cells = a.cells.iter().filter(|c| c.verdict.kind == kind).count();
        if cells > 0 {
            let colour = match kind {
                VerdictKind::Valid => "good",
                VerdictKind::Failed => "bad",
                _ => "care",
            };
            let _ = write!(html, "<i style=\"flex:{cells};background:var(--{colour})\"></i>");
            words.push(format!("{cells} {}", kind.name()));
        }
    }
    let _ = write!(html, "</div><p class=\"tally-words\">Cells: {}</p></div>", words.join(", "));
    html
}

pub(super) fn findings(findings: &[String]) -> String {
    let mut html = String::from("<section id=\"findings\"><h2>Findings</h2><ol class=\"findings\">");
    for finding in findings {
        let _ = write!(html, "<li>{}</li>", marked(finding));
    }
    html.push_str("</ol></section>");
    if findings.is_empty() { String::new() } else { html }
}

pub(super) fn results(a: &Analysis<'_>) -> String {
    let table = Results::of(a);
    let mut html = String::from("<section id=\"results\"><h2>Results</h2>");
    let _ = write!(html, "<p class=\"lede\">{}</p>", escape(&table.legend));
    html.push_str("<div class=\"scroll results\"><table><thead><tr><th>server</th>");
    for column in &table.columns {
        let _ = write!(html, "<th>{}<small>{}</small></th>", escape(&column.title), escape(&column.hint));
    }
    html.push_str("<th class=\"left\">verdict</th></tr></thead>");
    for group in &table.groups {
        html.push_str("<tbody>");
        if !group.heading.is_empty() {
            let _ = write!(
                html,
                "<tr class=\"level\"><th colspan=\"{}\">{}</th></tr>",
                table.columns.len() + 2,
                escape(&group.heading)
            );
        }
        for row in &group.rows {
            let (class, _) = crate::svg::ink(crate::scene::Ink::Series(row.series));
            let mark = match row.mark {
                Mark::Best => "<span class=\"mark\" title=\"best\">★</span>",
                Mark::Level => "<span class=\"mark\" title=\"not told apart from the best\">≈</span>",
                Mark::None => "<span class=\"mark\"></span>",
            };
            let _ = write!(
                html,
                "<tr><td class=\"name\"><i class=\"swatch {class}\"></i>{}{mark}</td>",
                escape(&row.name)
            );
            for (i, entry) in row.entries.iter().enumerate() {
                let mut classes = Vec::new();
                if entry.best {
                    classes.push("best");
                }
                classes.extend(entry.tone);
                let mut style = String::new();
                if i == 0 && entry.part > 0.0 {
                    classes.push("meter");
                    let _ = write!(style, " style=\"--part:{:.1}%\"", entry.part * 100.0);
                }
                let _ = write!(
                    html,
                    "<td class=\"{}\"{style}>{}{}</td>",
                    classes.join(" "),
                    escape(&entry.text),
                    if entry.note.is_empty() {
                        String::new()
                    } else {
                        format!("<span class=\"i\">{}</span>", escape(&entry.note))
                    }
                );
            }
            let _ = write!(html, "<td class=\"left\">{}</td></tr>", verdict(row.verdict, &row.failures));
        }
        html.push_str("</tbody>");
    }
    html.push_str("</table></div>");
    let skips = &a.run.skips;
    if !skips.is_empty() {
        let s = if skips.len() == 1 { "" } else { "s" };
        let _ = write!(
            html,
            "<details><summary>{} combination{s} left out, with the reason</summary><ul class=\"prose\">",
            skips.len()
        );
        for skip in skips {
            let levels: Vec<&str> = skip.factors.iter().map(|f| f.level.as_str()).collect();
            let _ = write!(html, "<li><b>{}</b>: {}</li>", escape(&levels.join(", ")), marked(&skip.reason));
        }
        html.push_str("</ul></details>");
    }
    html.push_str("</section>");
    html
}

fn chip(kind: VerdictKind) -> String {
    format!("<span class=\"chip {0}\">{0}</span>", kind.name())
}

/// A verdict with the number of repetitions that it had to leave out.
fn verdict(kind: VerdictKind, failures: &str) -> String {
    let failures = if failures.is_empty() {
        String::new()
    } else {
        format!(" <span class=\"chip failed\">{failures}</span>")
    };
    format!("{}{failures}", chip(kind))
}

/// Every cell with the commands that repeat it, and its repetitions.
pub(super) fn cells(a: &Analysis<'_>) -> String {
    let mut html = String::from(
        "<section id=\"cells\"><h2>Every cell and its commands</h2><p class=\"lede\">Type the first command in one \
         terminal and the second in another: that is all the lab did, once for each repetition.</p>",
    );
    let top = a.top_level();
    let mut level = None;
    for cell in &a.cells {
        if level != Some(cell.level) {
            if level.is_some() {
                html.push_str("</div></details>");
            }
            level = Some(cell.level);
            let cells = a.cells.iter().filter(|c| c.level == cell.level);
            let open = if top == level || cells.clone().any(|c| c.failed()) { " open" } else { "" };
            let words = if a.load.factor.is_some() { a.load_words(cell.level) } else { "all servers".into() };
            let _ = write!(
                html,
                "<details class=\"group\"{open}><summary>{} <span class=\"soft\">{} cells</span></summary><div class=\"cells\">",
                escape(&words),
                cells.count()
            );
        }
        let failed = if cell.failed() { " open" } else { "" };
        let _ = write!(
            html,
            "<details{failed}><summary><b>{}</b>{}</summary><div class=\"inside\">",
            escape(a.series_of(cell)),
            verdict(cell.verdict.kind, &cell.record.failures_in_words().unwrap_or_default())
        );
        if !cell.verdict.reason.is_empty() {
            let _ = write!(html, "<p>{}</p>", marked(&cell.verdict.reason));
        }
        for (name, command) in [("Server", &cell.record.server_command), ("Load", &cell.record.load_command)]
        {
            let _ = write!(
                html,
                "<h3>{name}</h3><div class=\"command\"><pre>{}</pre><button type=\"button\" class=\"copy\">copy</button></div>",
                escape(command)
            );
        }
        html.push_str(&repetitions(a, cell));
        let words = cell.record.repetitions.iter().find(|r| !r.output_tail.is_empty());
        if let Some(repetition) = words {
            let _ = write!(
                html,
                "<h3>Last words, block {}</h3><pre class=\"words\">{}</pre>",
                repetition.block + 1,
                escape(&repetition.output_tail)
            );
        }
        html.push_str("</div></details>");
    }
    if level.is_some() {
        html.push_str("</div></details>");
    }
    html.push_str("</section>");
    html
}

fn repetitions(a: &Analysis<'_>, cell: &crate::analysis::Cell<'_>) -> String {
    let metrics = Results::metrics(a);
    let mut html = String::from("<h3>Repetitions</h3><div class=\"scroll\"><table><thead><tr><th>block</th>");
    for metric in &metrics {
        let _ = write!(html, "<th>{}</th>", escape(metric.title));
    }
    html.push_str("<th>errors</th><th class=\"left\">verdict</th></tr></thead><tbody>");
    for repetition in &cell.record.repetitions {
        let _ = write!(html, "<tr><td>{}</td>", repetition.block + 1);
        for metric in &metrics {
            let value =
                (metric.read)(repetition).map_or_else(|| "–".into(), |v| crate::number::figure_of(metric, v));
            let _ = write!(html, "<td>{}</td>", escape(&value));
        }
        let errors = repetition.load.as_ref().map_or_else(String::new, |l| {
            let told: Vec<String> =
                l.errors.iter().map(|e| format!("{} {} ×{}", e.phase, e.kind, count(e.count))).collect();
            if told.is_empty() { "0".to_owned() } else { told.join(", ") }
        });
        let _ = write!(
            html,
            "<td>{}</td><td class=\"left\" title=\"{}\">{}</td></tr>",
            escape(&errors),
            escape(&repetition.verdict.reason),
            chip(repetition.verdict.kind)
        );
    }
    html.push_str("</tbody></table></div>");
    html
}

pub(super) fn environment(a: &Analysis<'_>) -> String {
    let run = a.run;
    let mut html = String::from("<section id=\"environment\"><h2>Environment</h2><dl class=\"pairs\">");
    let mut pair = |name: &str, value: &str| {
        if !value.is_empty() {
            let _ = write!(html, "<dt>{}</dt><dd>{}</dd>", escape(name), escape(value));
        }
    };
    pair("Servers ran on CPU", &run.info.server_cpus);
    pair("Load generator on CPU", &run.info.load_cpus);
    pair("Pitot", &run.info.version);
    for (name, version) in run.info.server_versions.iter().filter(|(name, _)| name != "pitot") {
        pair(name, version);
    }
    html.push_str("</dl>");
    if run.host_after.is_some() && run.host_changes.is_empty() {
        html.push_str("<p class=\"under\">The machine was the same before and after the run.</p>");
    }
    if !run.host_changes.is_empty() {
        html.push_str(
            "<h3>Changed during the run</h3><div class=\"scroll\"><table class=\"wrap\"><thead><tr><th>fact</th>\
             <th>before</th><th>after</th></tr></thead><tbody>",
        );
        for change in &run.host_changes {
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
    html.push_str("<h3>The machine in full</h3>");
    for (group, facts) in run.host_before.groups() {
        let _ = write!(
            html,
            "<details><summary>{} ({})</summary><dl class=\"pairs\">",
            escape(group),
            facts.len()
        );
        for fact in facts {
            let _ = write!(html, "<dt>{}</dt><dd>{}</dd>", escape(&fact.name), escape(&fact.value));
        }
        html.push_str("</dl></details>");
    }
    html.push_str("</section>");
    html
}

pub(super) fn method(a: &Analysis<'_>) -> String {
    let mut html = String::from("<section id=\"method\"><h2>Method</h2><div class=\"prose\"><ul>");
    for sentence in method_sentences(a) {
        let _ = write!(html, "<li>{}</li>", marked(&sentence));
    }
    html.push_str("</ul>");
    if !a.run.plan.notes.is_empty() {
        html.push_str("<h3>Notes on this plan</h3><ul>");
        for note in &a.run.plan.notes {
            let _ = write!(html, "<li>{}</li>", marked(note));
        }
        html.push_str("</ul>");
    }
    let outliers = outliers(a);
    if !outliers.is_empty() {
        html.push_str(
            "<h3>Repetitions that stand out</h3><p class=\"soft\">Further than 3.5 robust deviations from the median of \
             their cell. They are part of all figures.</p><ul>",
        );
        for outlier in outliers {
            let _ = write!(html, "<li>{}</li>", marked(&outlier));
        }
        html.push_str("</ul>");
    }
    html.push_str("</div>");
    if !a.run.info.plan_source.is_empty() {
        let _ = write!(
            html,
            "<details><summary>The plan</summary><div class=\"command\"><pre>{}</pre><button type=\"button\" class=\"copy\">copy</button></div></details>",
            escape(&a.run.info.plan_source)
        );
    }
    html.push_str("</section>");
    html
}

pub(super) fn footer(a: &Analysis<'_>) -> String {
    let elapsed: f64 = a.run.cells.iter().flat_map(|c| &c.repetitions).map(|r| r.elapsed_s).sum();
    format!(
        "<footer><p>Made by Pitot {} from {} (run {}, {} of measurement in all). This page fetches nothing and sends \
         nothing.</p></footer>",
        escape(&a.run.info.version),
        escape(&a.run.path.file_name().unwrap_or_default().to_string_lossy()),
        escape(a.run.info.id.get(..12).unwrap_or(&a.run.info.id)),
        escape(&span(elapsed))
    )
}
