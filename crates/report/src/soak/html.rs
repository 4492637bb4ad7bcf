//! The report as one self-contained page.

use std::fmt::Write as _;

use super::analysis::Analysis;
use super::{charts, faults, text};
use crate::escape::escape;
use crate::html::{BRAND, faults_section, page, render_figure};

pub(super) fn render(a: &Analysis<'_>) -> String {
    let title = &a.soak.info.title;
    let mut body = format!("<header>{BRAND}<h1>Soak: {}</h1></header><main>", escape(title));
    if let Some(figure) = charts::figure(a) {
        let _ = write!(
            body,
            "<section id=\"timeline\"><h2>Over time</h2><p class=\"lede\">What the loads saw and what the server used. Set off \
             are gaps, in which the lab did not run, outages of the server, and faults that were made to it.</p>{}</section>",
            render_figure(&figure)
        );
    }
    body.extend(faults_section(&faults::rows(a), faults::LEGEND));
    let _ = write!(
        body,
        "<section id=\"results\"><h2>Results</h2><pre>{}</pre></section></main>",
        escape(&text::render(a))
    );
    page(&format!("Soak: {title} · Pitot"), &body)
}
