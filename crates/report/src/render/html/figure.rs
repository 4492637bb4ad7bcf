//! A figure as HTML: the choice, the legend, the drawings, and its values as a table.

use super::table::table;
use crate::document::{Column, Table};
use crate::escape::escape;
use crate::scene::{Anchor, Figure, Ink, Mark, Pane, Scene, Size};
use crate::svg::{self, Page};
use serde_json::json;
use std::fmt::Write as _;

/// Up to so many panes are buttons in a row; more are a list.
const BUTTONS_MAX: usize = 7;
const BUTTONS_LETTERS_MAX: usize = 48;

pub(super) fn render(figure: &Figure) -> String {
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
            html.push_str(&render_scene(scene, &pane.legend));
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

/// The choice that is shown, for print.
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
        // Only series can be switched off; without a part, the whole would look smaller.
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

/// A legend for lines that the pane's legend lacks, if the drawing has no room to label them.
fn line_names(scene: &Scene, legend: &[(Ink, String)]) -> String {
    let lines = scene.marks.iter().filter_map(|mark| match mark {
        Mark::Line { ink, label, dashed, .. } if !label.is_empty() => Some((*ink, label, *dashed)),
        _ => None,
    });
    let mut keys = String::new();
    for (ink, label, dashed) in lines.filter(|(ink, ..)| legend.iter().all(|(known, _)| known != ink)) {
        let (class, dashed) = (svg::ink(ink).0, if dashed { " dashed" } else { "" });
        let _ = write!(
            keys,
            "<span class=\"key {class}\"><svg viewBox=\"0 0 22 12\" aria-hidden=\"true\"><g class=\"line{dashed}\"><polyline \
             points=\"0,6 22,6\"/></g></svg>{}</span>",
            escape(label)
        );
    }
    match (keys.is_empty(), svg::names_lines(scene, Page::Wide)) {
        (true, _) => String::new(),
        (false, true) => format!("<div class=\"legend narrow\">{keys}</div>"),
        (false, false) => format!("<div class=\"legend\">{keys}</div>"),
    }
}

fn render_scene(scene: &Scene, legend: &[(Ink, String)]) -> String {
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
        "<div class=\"scene {size}\" data-tips=\"{}\"><p class=\"scene-title\">{}<span>{}</span></p>{}{}{}</div>",
        escape(&json!(tips).to_string()),
        escape(&scene.title),
        escape(&scene.hint),
        line_names(scene, legend),
        svg::draw(scene, Page::Wide),
        svg::draw(scene, Page::Phone)
    )
}

/// The hover texts as a table.
fn data(pane: &Pane) -> String {
    let mut html = String::from("<details class=\"data\"><summary>The values as a table</summary>");
    for scene in &pane.scenes {
        // Time series would be too long.
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
        let rows = scene.stops.iter().map(|stop| {
            let value = |name: &&str| stop.rows.iter().find(|r| r.1 == **name).map_or("", |r| r.2.as_str());
            (stop.heading.clone(), names.iter().map(value).collect())
        });
        let columns = names.iter().map(|name| Column::of(*name)).collect();
        let _ = write!(html, "<h3>{}</h3>", escape(&scene.title));
        table(&mut html, &Table::plain(&scene.title, corner, columns, rows));
    }
    if !html.contains("<table>") {
        return String::new();
    }
    html.push_str("</details>");
    html
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::axis::Axis;

    fn scene(names: &[&str]) -> Scene {
        let line = |(index, name): (usize, &&str)| Mark::Line {
            ink: Ink::Part(index % 3),
            points: vec![(0.0, 1.0), (1.0, 2.0)],
            label: (*name).to_owned(),
            dots: false,
            dashed: index >= 3,
        };
        let axis = || Axis::from_zero("", 2.0, |v| v.to_string());
        Scene {
            title: "Memory".into(),
            hint: String::new(),
            x: axis(),
            y: axis(),
            marks: names.iter().enumerate().map(line).collect(),
            stops: Vec::new(),
            size: Size::Half,
        }
    }

    #[test]
    fn lines_without_room_for_their_names_have_a_legend() {
        // On a narrow page none has its name at its end.
        let few = line_names(&scene(&["RSS", "PSS <b>"]), &[]);
        assert!(few.starts_with("<div class=\"legend narrow\">") && few.contains("PSS &lt;b&gt;"), "{few}");
        // Four are too many for half of a wide page too.
        let many = line_names(&scene(&["a", "b", "c", "d"]), &[]);
        assert!(many.starts_with("<div class=\"legend\">") && many.contains("line dashed"), "{many}");
        assert_eq!(line_names(&scene(&[""]), &[]), "");
        // What the pane's legend has already is not said twice.
        let known = [(Ink::Part(0), "RSS".to_owned())];
        assert_eq!(line_names(&scene(&["RSS"]), &known), "");
    }
}
