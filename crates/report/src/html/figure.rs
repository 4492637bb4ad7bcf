//! A figure as HTML: the choice, the legend, the drawings, and its values as a table.

use crate::escape::escape;
use crate::scene::{Anchor, Figure, Ink, Pane, Scene, Size};
use crate::svg::{self, Page};
use serde_json::json;
use std::fmt::Write as _;

/// Up to here the panes of a choice are buttons in a row; more become a list.
const BUTTONS_MAX: usize = 7;
const BUTTONS_LETTERS_MAX: usize = 48;

pub(crate) fn render(figure: &Figure) -> String {
    let shown = figure.panes.len().saturating_sub(1);
    let mut html = String::from("<figure>");
    for (i, pane) in figure.panes.iter().enumerate() {
        let on = if i == shown { " on" } else { "" };
        let _ = write!(
            html,
            "<div class=\"pane{on}\">{}<div class=\"bar-row\">{}",
            printed(figure, pane),
            legend(pane)
        );
        html.push_str("</div><div class=\"scenes\">");
        for scene in &pane.scenes {
            html.push_str(&render_scene(scene));
        }
        let _ = write!(html, "</div>{}</div>", data(pane));
    }
    if let Some(choice) = &figure.choice {
        html.insert_str("<figure>".len(), &choose(figure, choice, shown));
    }
    if !figure.caption.is_empty() {
        let _ = write!(html, "<figcaption>{}</figcaption>", escape(&figure.caption));
    }
    html.push_str("</figure>");
    html
}

fn choose(figure: &Figure, choice: &str, shown: usize) -> String {
    let letters: usize = figure.panes.iter().map(|p| p.label.chars().count()).sum();
    let choice = escape(choice);
    let mut html =
        format!("<div class=\"bar-row\"><div class=\"choose\" role=\"group\" aria-label=\"{choice}\">");
    if figure.panes.len() <= BUTTONS_MAX && letters <= BUTTONS_LETTERS_MAX {
        let _ = write!(html, "<span>{choice}</span><span class=\"options\">");
        for (i, pane) in figure.panes.iter().enumerate() {
            let _ = write!(
                html,
                "<button type=\"button\" aria-pressed=\"{}\">{}</button>",
                i == shown,
                escape(&pane.label)
            );
        }
        html.push_str("</span>");
    } else {
        let _ = write!(html, "<label>{choice} <select>");
        for (i, pane) in figure.panes.iter().enumerate() {
            let selected = if i == shown { " selected" } else { "" };
            let _ = write!(html, "<option{selected}>{}</option>", escape(&pane.label));
        }
        html.push_str("</select></label>");
    }
    html.push_str("</div></div>");
    html
}

/// The choice that was made, for paper: there the controls are gone.
fn printed(figure: &Figure, pane: &Pane) -> String {
    let line =
        |choice: &String| format!("<p class=\"printed\">{}: {}</p>", escape(choice), escape(&pane.label));
    figure.choice.as_ref().map_or_else(String::new, line)
}

fn legend(pane: &Pane) -> String {
    let mut html = String::new();
    if pane.legend.is_empty() {
        return html;
    }
    html.push_str("<div class=\"legend\">");
    for (ink, name) in &pane.legend {
        let (class, series) = svg::ink(*ink);
        let name = escape(name);
        let sign = sign(*ink);
        // Only series can be switched; parts of a whole cannot go missing without the whole looking smaller.
        if matches!(ink, Ink::Series(_)) {
            let _ = write!(
                html,
                "<button type=\"button\" class=\"key {class}\"{series} aria-pressed=\"true\">{sign}{name}</button>"
            );
        } else {
            let _ = write!(html, "<span class=\"key {class}\">{sign}{name}</span>");
        }
    }
    html.push_str("</div>");
    html
}

/// The line or the patch of a legend's key, in the shape that the chart uses.
fn sign(ink: Ink) -> String {
    let Ink::Series(i) = ink else {
        return "<svg viewBox=\"0 0 22 12\" aria-hidden=\"true\"><rect class=\"shape\" x=\"5\" y=\"0\" width=\"12\" height=\"12\" rx=\"3\"/></svg>".into();
    };
    let dashed = if i >= svg::SERIES_COLOURS { " dashed" } else { "" };
    let mut shape = String::new();
    svg::dot(&mut shape, ink, 11.0, 6.0);
    format!(
        "<svg viewBox=\"0 0 22 12\" aria-hidden=\"true\"><g class=\"line{dashed}\"><polyline points=\"0,6 22,6\"/>{shape}</g></svg>"
    )
}

fn render_scene(scene: &Scene) -> String {
    let size = if scene.size == Size::Half { "half" } else { "full" };
    let tips: Vec<_> = scene
        .stops
        .iter()
        .map(|stop| {
            let rows: Vec<_> = stop
                .rows
                .iter()
                .map(|(ink, name, value)| {
                    json!([ink.map_or_else(String::new, |i| svg::ink(i).0), name, value])
                })
                .collect();
            json!({"h": stop.heading, "r": rows})
        })
        .collect();
    format!(
        "<div class=\"scene {size}\" data-tips=\"{}\"><p class=\"scene-title\">{}<span>{}</span></p>{}{}</div>",
        escape(&json!(tips).to_string()),
        escape(&scene.title),
        escape(&scene.hint),
        svg::draw(scene, Page::Wide),
        svg::draw(scene, Page::Phone)
    )
}

/// What can be pointed at, as a table: for readers who do not point, and for copying.
fn data(pane: &Pane) -> String {
    let mut html = String::from("<details class=\"data\"><summary>The values as a table</summary>");
    for scene in &pane.scenes {
        // Time series would be long and dull.
        let dense = scene.stops.len() > 30;
        if dense || scene.stops.is_empty() {
            continue;
        }
        let mut names: Vec<&str> = Vec::new();
        for (_, name, _) in scene.stops.iter().flat_map(|s| &s.rows) {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        let by_x = scene.stops.iter().any(|s| matches!(s.at, Anchor::X(_)));
        let corner = if by_x { scene.x.title.as_str() } else { "" };
        let _ = write!(
            html,
            "<h3>{}</h3><div class=\"scroll\"><table><caption>{}</caption><thead><tr><th scope=\"col\">{}</th>",
            escape(&scene.title),
            escape(&scene.title),
            escape(corner)
        );
        for name in &names {
            let _ = write!(html, "<th scope=\"col\">{}</th>", escape(name));
        }
        html.push_str("</tr></thead><tbody>");
        for stop in &scene.stops {
            let _ = write!(html, "<tr><th scope=\"row\">{}</th>", escape(&stop.heading));
            for name in &names {
                let value = stop.rows.iter().find(|r| r.1 == *name).map_or("", |r| r.2.as_str());
                let _ = write!(html, "<td>{}</td>", escape(value));
            }
            html.push_str("</tr>");
        }
        html.push_str("</tbody></table></div>");
    }
    if !html.contains("<table>") {
        return String::new();
    }
    html.push_str("</details>");
    html
}
