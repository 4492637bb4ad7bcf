//! The report as one HTML file: nothing is fetched, nothing is sent, and it can be mailed.
//!
//! The page's policy forbids all connections. Without scripts it still shows everything but hover texts, and prints.

pub(crate) mod figure;
mod sections;

pub(crate) use sections::BRAND;

use crate::analysis::Analysis;
use crate::chart::wanted;
use crate::findings::{answer, findings};
use crate::trust::trust;
use std::fmt::Write as _;

/// The report of a run as a whole page.
pub(crate) fn render(a: &Analysis<'_>) -> String {
    let plan = &a.run.plan;
    let title = if plan.title.is_empty() { &plan.name } else { &plan.title };
    let mut charts = String::new();
    let mut places = vec![("findings", "Findings")];
    for (i, chart) in wanted(a).into_iter().enumerate() {
        // The first chart is the picture of the answer; the table with all figures follows it.
        if i == 1 {
            places.push(("results", "Results"));
            charts.push_str(&sections::results(a));
        }
        if let Some(drawn) = (chart.draw)(a) {
            places.push((chart.name, chart.title));
            let _ = write!(
                charts,
                "<section id=\"{}\"><h2>{}</h2><p class=\"lede\">{}</p>{}</section>",
                chart.name,
                escape(chart.title),
                escape(chart.summary),
                figure::render(&drawn)
            );
        }
    }
    if places.iter().all(|(id, _)| *id != "results") {
        places.push(("results", "Results"));
        charts.push_str(&sections::results(a));
    }
    places.extend([("cells", "Commands"), ("environment", "Environment"), ("method", "Method")]);
    let mut body = sections::header(a, title, &places);
    body.push_str("<main>");
    body.push_str(&sections::answer(a, &answer(a), &trust(a)));
    body.push_str(&sections::findings(&findings(a)));
    body.push_str(&charts);
    body.push_str(&sections::cells(a));
    body.push_str(&sections::environment(a));
    body.push_str(&sections::method(a));
    body.push_str("</main>");
    body.push_str(&sections::footer(a));
    page(&format!("{title} · Pitot"), &body)
}

/// A page with the report's style and script around `body`.
pub(crate) fn page(title: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <meta http-equiv=\"Content-Security-Policy\" \
         content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\
         <title>{}</title><style>{}</style></head><body>{body}<div id=\"tip\" role=\"status\" hidden></div>\
         <script>{}</script></body></html>\n",
        escape(title),
        include_str!("style.css"),
        include_str!("script.js"),
    )
}

/// Text as HTML, also within quoted attributes.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

/// A sentence with its marked names in bold, and what stands in back quotes as code.
pub(crate) fn marked(sentence: &str) -> String {
    let bold = between(&glued(&escape(sentence)), "**", "strong");
    between(&bold, "`", "code")
}

/// Keeps a figure and its unit on one line: `142 k`, `4.93 µs`.
fn glued(text: &str) -> String {
    const UNITS: &[&str] = &["k", "M", "G", "s", "ms", "µs", "ns", "B", "KiB", "MiB", "GiB"];
    let mut html = String::with_capacity(text.len());
    for word in text.split_inclusive(' ') {
        let unit = word.trim_end().trim_end_matches(['.', ',', ';', ':', ')']);
        if UNITS.contains(&unit)
            && html.ends_with(' ')
            && html[..html.len() - 1].ends_with(|c: char| c.is_ascii_digit())
        {
            html.pop();
            html.push('\u{a0}');
        }
        html.push_str(word);
    }
    html
}

/// Puts every second part between `marks` into an element.
fn between(text: &str, marks: &str, element: &str) -> String {
    let mut html = String::new();
    let mut parts = text.split(marks).peekable();
    let mut inside = false;
    while let Some(part) = parts.next() {
        // A mark without its partner is a plain character.
        if inside && parts.peek().is_none() {
            let _ = write!(html, "{marks}{part}");
        } else if inside {
            let _ = write!(html, "<{element}>{part}</{element}>");
        } else {
            html.push_str(part);
        }
        inside = !inside;
    }
    html
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_from_outside_cannot_become_markup() {
        assert_eq!(escape("<a href='x'>&\""), "&lt;a href=&#39;x&#39;&gt;&amp;&quot;");
        assert_eq!(marked("**<b>** wins"), "<strong>&lt;b&gt;</strong> wins");
        assert_eq!(marked("type `a` or `b"), "type <code>a</code> or `b");
        assert_eq!(marked("at 512: 33.5 k, 4 s later"), "at 512: 33.5\u{a0}k, 4\u{a0}s later");
    }

    #[test]
    fn a_page_may_connect_to_nothing() {
        let page = page("t", "");
        assert!(page.contains("default-src 'none'"));
        assert!(!page.contains("http://") && !page.contains("https://"));
    }
}
