//! Scenes as inline SVG.
//!
//! Colours are CSS variables of the page (`--s0` ... for series, `--p0` ... for parts), so that one drawing serves light, dark and
//! print. Each scene is drawn twice, for a wide page and for a phone, since text in a shrunk drawing would be too small; the page's
//! style shows the one that fits.

mod axes;
mod frame;
mod ink;
mod labels;
mod line_end;
mod marks;
mod page;
mod stops;

pub(crate) use ink::{SERIES_COLOURS, dot, ink};
pub(crate) use line_end::names_lines;
pub(crate) use page::Page;

use crate::escape::escape;
use crate::scene::Scene;
use frame::Frame;
use std::fmt::Write as _;

/// The colours of drawings, and how their parts look; pages have them too.
const STYLE: &str = include_str!("style.css");

/// A scene as a file of its own, for a reader with or without a dark screen.
pub(crate) fn picture(scene: &Scene) -> String {
    let drawing = draw(scene, Page::Wide);
    let xml = format!("<svg xmlns=\"http://www.w3.org/2000/svg\"{}", drawing.trim_start_matches("<svg"));
    let ground =
        format!("><style>{STYLE}</style><rect width=\"100%\" height=\"100%\" style=\"fill: var(--card)\"/>");
    xml.replacen('>', &ground, 1) + "\n"
}

pub(crate) fn draw(scene: &Scene, page: Page) -> String {
    let frame = Frame::of(scene, page);
    let mut svg = String::new();
    let class = if page == Page::Wide { "wide" } else { "phone" };
    let _ = write!(
        svg,
        "<svg class=\"{class}\" viewBox=\"0 0 {} {}\" role=\"img\" tabindex=\"0\" aria-label=\"{}\">",
        frame.width,
        frame.height,
        escape(&scene.title)
    );
    marks::stretches(&mut svg, scene, &frame);
    axes::axes(&mut svg, scene, &frame);
    for mark in &scene.marks {
        marks::mark(&mut svg, mark, scene, &frame);
    }
    labels::line_labels(&mut svg, scene, page, &frame);
    stops::stops(&mut svg, scene, &frame);
    svg.push_str("</svg>");
    svg
}
