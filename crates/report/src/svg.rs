//! Scenes as inline SVG: the one place where charts become lines and letters.
//!
//! Colours are CSS variables of the page (`--s0` ... for series, `--p0` ... for parts), so that one drawing serves
//! light, dark and print. Each scene is drawn for a wide page and again for a phone, since text in a shrunk drawing
//! could not be read; the page's style shows the one that fits.

use crate::axis::{Axis, Scale};
use crate::html::escape;
use crate::scene::{Ink, Mark, Place, Scene, Size};
use std::fmt::Write as _;

/// Colours of series before they repeat (with dashes).
pub(crate) const SERIES_COLOURS: usize = 8;
/// Width of a letter of the chart's text, in the wider of the fonts that a reader may have.
const LETTER: f64 = 6.6;
/// The same for the names at the ends of lines, which are bold.
const BOLD_LETTER: f64 = 7.1;
/// More lines than this, in half a page, are named by the legend alone.
const HALF_LABELS_MAX: usize = 3;
const LINE_HEIGHT: f64 = 15.0;
const ROW_HEIGHT: f64 = 27.0;

/// The page that a drawing is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Page {
    Wide,
    Phone,
}

/// The plot's frame within the drawing.
struct Frame {
    width: f64,
    height: f64,
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

impl Frame {
    fn of(scene: &Scene, page: Page) -> Frame {
        let width = match (page, scene.size) {
            (Page::Phone, _) => 360.0,
            (Page::Wide, Size::Half) => 500.0,
            (Page::Wide, Size::Full | Size::Rows) => 1020.0,
        };
        let rows = scene.y.ticks.len() as f64;
        let x_title = if scene.x.title.is_empty() { 0.0 } else { 17.0 };
        let (top, bottom) = (10.0, 24.0 + x_title);
        let height = match (page, scene.size) {
            (_, Size::Rows) => rows * ROW_HEIGHT + top + bottom,
            (Page::Wide, Size::Full) => 360.0,
            (Page::Wide, Size::Half) | (Page::Phone, _) => 270.0,
        };
        let widest = scene.y.ticks.iter().map(|(_, text)| text.chars().count()).max().unwrap_or(0);
        let left = widest as f64 * LETTER + 13.0;
        let labels = labelled(scene, page).map(|end| end.name.chars().count()).max();
        let right = labels.map_or(14.0, |letters| letters as f64 * BOLD_LETTER + 26.0);
        Frame { width, height, left: left.min(width * 0.42), right, top, bottom }
    }

    fn x(&self, axis: &Axis, value: f64) -> f64 {
        self.left + axis.scale.place(value).clamp(-0.02, 1.02) * self.plot_width()
    }

    fn y(&self, axis: &Axis, value: f64) -> f64 {
        let place = axis.scale.place(value).clamp(-0.02, 1.02);
        let from_top = if matches!(axis.scale, Scale::Steps(_)) { place } else { 1.0 - place };
        self.top + from_top * self.plot_height()
    }

    fn plot_width(&self) -> f64 {
        self.width - self.left - self.right
    }

    fn plot_height(&self) -> f64 {
        self.height - self.top - self.bottom
    }

    fn floor(&self) -> f64 {
        self.height - self.bottom
    }
}

/// The drawing of a scene.
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
    stretches(&mut svg, scene, &frame);
    axes(&mut svg, scene, &frame);
    for mark in &scene.marks {
        draw_mark(&mut svg, mark, scene, &frame);
    }
    line_labels(&mut svg, scene, page, &frame);
    stops(&mut svg, scene, &frame);
    svg.push_str("</svg>");
    svg
}

/// Class and attribute of a series or a part.
pub(crate) fn ink(ink: Ink) -> (String, String) {
    match ink {
        Ink::Series(i) => (format!("s{}", i % SERIES_COLOURS), format!(" data-s=\"{i}\"")),
        Ink::Part(i) => (format!("p{i}"), String::new()),
        Ink::Muted => ("muted".into(), String::new()),
        Ink::Better => ("better".into(), String::new()),
        Ink::Worse => ("worse".into(), String::new()),
    }
}

fn series_attribute(series: Option<usize>) -> String {
    series.map_or_else(String::new, |i| format!(" data-s=\"{i}\""))
}

fn axes(svg: &mut String, scene: &Scene, frame: &Frame) {
    let rows = matches!(scene.y.scale, Scale::Steps(_));
    let (right, floor) = (frame.width - frame.right, frame.floor());
    for (value, text) in &scene.y.ticks {
        let y = frame.y(&scene.y, *value);
        if rows {
            let fit = ((frame.left - 13.0) / LETTER).round() as usize;
            let _ = write!(
                svg,
                "<text class=\"row\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                frame.left - 8.0,
                y + 4.0,
                escape(&shortened(text, fit))
            );
        } else {
            let _ = write!(
                svg,
                "<line class=\"grid\" x1=\"{:.1}\" x2=\"{right:.1}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
                 <text class=\"tick y\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                frame.left,
                frame.left - 6.0,
                y + 4.0,
                escape(text)
            );
        }
    }
    let mut taken = f64::NEG_INFINITY;
    for (value, text) in &scene.x.ticks {
        let x = frame.x(&scene.x, *value);
        if rows {
            let _ = write!(
                svg,
                "<line class=\"grid\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{:.1}\" y2=\"{floor:.1}\"/>",
                frame.top
            );
        } else {
            let _ = write!(
                svg,
                "<line class=\"axis\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{floor:.1}\" y2=\"{:.1}\"/>",
                floor + 4.0
            );
        }
        // A tick whose text would run into its neighbour's keeps its line and goes without the text.
        let half = text.chars().count() as f64 * LETTER / 2.0;
        let middle = x.min(frame.width - half - 1.0);
        if middle - half > taken {
            taken = middle + half + 6.0;
            let _ = write!(
                svg,
                "<text class=\"tick x\" x=\"{middle:.1}\" y=\"{:.1}\">{}</text>",
                floor + 17.0,
                escape(text)
            );
        }
    }
    if rows {
        let x = frame.left;
        let _ = write!(
            svg,
            "<line class=\"axis\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{:.1}\" y2=\"{floor:.1}\"/>",
            frame.top
        );
    } else {
        let _ = write!(
            svg,
            "<line class=\"axis\" x1=\"{:.1}\" x2=\"{right:.1}\" y1=\"{floor:.1}\" y2=\"{floor:.1}\"/>",
            frame.left
        );
    }
    if !scene.x.title.is_empty() {
        let _ = write!(
            svg,
            "<text class=\"title x\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            frame.left + frame.plot_width() / 2.0,
            frame.height - 5.0,
            escape(&scene.x.title)
        );
    }
}

fn stretches(svg: &mut String, scene: &Scene, frame: &Frame) {
    for mark in &scene.marks {
        let Mark::Stretch { from, to, label } = mark else { continue };
        let (x1, x2) = (frame.x(&scene.x, *from), frame.x(&scene.x, *to));
        let _ = write!(
            svg,
            "<rect class=\"stretch\" x=\"{x1:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\"/>\
             <text class=\"stretch\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            frame.top,
            (x2 - x1).max(0.0),
            frame.plot_height(),
            f64::midpoint(x1, x2),
            frame.top + 12.0,
            escape(label)
        );
    }
}

fn draw_mark(svg: &mut String, mark: &Mark, scene: &Scene, frame: &Frame) {
    let x = |value: f64| frame.x(&scene.x, value);
    let y = |value: f64| frame.y(&scene.y, value);
    match mark {
        Mark::Line { ink: colour, points, dots, dashed, .. } => {
            let (class, series) = ink(*colour);
            let dash = if *dashed || matches!(colour, Ink::Series(i) if *i >= SERIES_COLOURS) {
                " dashed"
            } else {
                ""
            };
            let path: Vec<String> =
                points.iter().map(|(a, b)| format!("{:.1},{:.1}", x(*a), y(*b))).collect();
            let _ = write!(
                svg,
                "<g class=\"line {class}{dash}\"{series}><polyline points=\"{}\"/>",
                path.join(" ")
            );
            if *dots {
                for (a, b) in points {
                    dot(svg, *colour, x(*a), y(*b));
                }
            }
            svg.push_str("</g>");
        }
        Mark::Band { ink: colour, points } => {
            let (class, series) = ink(*colour);
            let upper = points.iter().map(|(a, _, high)| format!("{:.1},{:.1}", x(*a), y(*high)));
            let lower = points.iter().rev().map(|(a, low, _)| format!("{:.1},{:.1}", x(*a), y(*low)));
            let path: Vec<String> = upper.chain(lower).collect();
            let _ = write!(svg, "<polygon class=\"band {class}\"{series} points=\"{}\"/>", path.join(" "));
        }
        Mark::Whisker { ink: colour, x: at, low, high } => {
            let (class, series) = ink(*colour);
            let _ = write!(
                svg,
                "<line class=\"whisker {class}\"{series} x1=\"{0:.1}\" x2=\"{0:.1}\" y1=\"{1:.1}\" y2=\"{2:.1}\"/>",
                x(*at),
                y(*low),
                y(*high)
            );
        }
        Mark::Bar { ink: colour, series, row, from, to } => {
            let (class, _) = ink(*colour);
            let (x1, x2) = (x(*from), x(*to));
            let middle = y(*row as f64);
            let _ = write!(
                svg,
                "<rect class=\"bar {class}\"{} x=\"{x1:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"2\"/>",
                series_attribute(*series),
                middle - ROW_HEIGHT * 0.32,
                (x2 - x1).max(1.0),
                ROW_HEIGHT * 0.64
            );
        }
        Mark::Label { series, row, x: at, text } => {
            label_beside(svg, text, *series, x(*at) + 7.0, y(*row as f64), frame);
        }
        Mark::Reach { series, row, low, high } => {
            let (x1, x2, middle) = (x(*low), x(*high), y(*row as f64));
            let _ = write!(
                svg,
                "<path class=\"reach\"{} d=\"M{x1:.1} {middle:.1}H{x2:.1}M{x1:.1} {:.1}v8M{x2:.1} {:.1}v8\"/>",
                series_attribute(*series),
                middle - 4.0,
                middle - 4.0
            );
        }
        Mark::Dot { ink: colour, row, x: at, open } => {
            let (class, series) = ink(*colour);
            let open = if *open { " open" } else { "" };
            let (cx, cy) = (x(*at), y(*row as f64));
            let _ = write!(
                svg,
                "<circle class=\"dot {class}{open}\"{series} cx=\"{cx:.1}\" cy=\"{cy:.1}\" r=\"5.5\"/>"
            );
        }
        Mark::Stretch { .. } => {}
    }
}

/// A text to the right of `x`, or ending at the frame where it would not fit.
fn label_beside(svg: &mut String, label: &str, series: Option<usize>, x: f64, middle: f64, frame: &Frame) {
    let width = label.chars().count() as f64 * LETTER;
    let x = x.min(frame.width - width - 2.0);
    let _ = write!(
        svg,
        "<text class=\"beside\"{} x=\"{x:.1}\" y=\"{:.1}\">{}</text>",
        series_attribute(series),
        middle + 4.0,
        escape(label)
    );
}

/// The dot of a series: colours repeat nowhere with the same shape, and no reader has to tell them by hue alone.
pub(crate) fn dot(svg: &mut String, colour: Ink, x: f64, y: f64) {
    let shape = if let Ink::Series(i) = colour { i % 4 } else { 0 };
    let _ = match shape {
        0 => write!(svg, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.6\"/>"),
        1 => write!(svg, "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"6.8\" height=\"6.8\"/>", x - 3.4, y - 3.4),
        2 => write!(svg, "<path d=\"M{x:.1} {:.1}l4.3 7.4h-8.6z\"/>", y - 4.6),
        _ => write!(svg, "<path d=\"M{x:.1} {:.1}l4.6 4.6l-4.6 4.6l-4.6-4.6z\"/>", y - 4.6),
    };
}

/// The names of the lines at their right ends, pushed apart where lines meet.
fn line_labels(svg: &mut String, scene: &Scene, page: Page, frame: &Frame) {
    let mut labels: Vec<LineEnd<'_>> = labelled(scene, page)
        .map(|end| LineEnd { x: frame.x(&scene.x, end.x), y: frame.y(&scene.y, end.y), ..end })
        .collect();
    labels.sort_by(|a, b| a.y.total_cmp(&b.y));
    let mut places: Vec<f64> = labels.iter().map(|l| l.y).collect();
    spread_apart(&mut places, frame.top + 4.0, frame.floor());
    for (LineEnd { x: end_x, y: end_y, ink: colour, name }, y) in labels.iter().zip(places) {
        let (class, series) = ink(*colour);
        let x = frame.width - frame.right + 18.0;
        let _ = write!(
            svg,
            "<g class=\"label {class}\"{series}><polyline points=\"{:.1},{end_y:.1} {:.1},{y:.1}\"/>\
             <text x=\"{x:.1}\" y=\"{:.1}\">{}</text></g>",
            end_x + 5.0,
            x - 3.0,
            y + 4.0,
            escape(name)
        );
    }
}

/// The end of a line that is to be named there, in the units of the data.
struct LineEnd<'a> {
    x: f64,
    y: f64,
    ink: Ink,
    name: &'a str,
}

/// The lines that have a name at their end: none on a phone, and few in half a page, where there is no room.
fn labelled(scene: &Scene, page: Page) -> impl Iterator<Item = LineEnd<'_>> {
    let lines = scene.marks.iter().filter_map(|mark| match mark {
        Mark::Line { ink, points, label, .. } if !label.is_empty() => {
            points.last().map(|(x, y)| LineEnd { x: *x, y: *y, ink: *ink, name: label })
        }
        _ => None,
    });
    let room = match (page, scene.size) {
        (Page::Phone, _) => 0,
        (Page::Wide, Size::Half) => HALF_LABELS_MAX,
        (Page::Wide, Size::Full | Size::Rows) => usize::MAX,
    };
    let fits = lines.clone().count() <= room;
    lines.filter(move |_| fits)
}

/// Moves ascending places as little as needed to lie a line's height apart between `top` and `bottom`.
fn spread_apart(places: &mut [f64], top: f64, bottom: f64) {
    let step = LINE_HEIGHT.min((bottom - top) / places.len().max(1) as f64);
    // Each round moves every pair that is too close half of the way; a chart has a dozen lines at most.
    for _ in 0..200 {
        let mut moved = false;
        for i in 1..places.len() {
            let lack = step - (places[i] - places[i - 1]);
            if lack > 0.05 {
                places[i - 1] -= lack / 2.0;
                places[i] += lack / 2.0;
                moved = true;
            }
        }
        let (mut low, mut high) = (top, bottom);
        for place in places.iter_mut() {
            *place = place.max(low);
            low = *place + step * 0.01;
        }
        for place in places.iter_mut().rev() {
            *place = place.min(high);
            high = *place - step * 0.01;
        }
        if !moved {
            break;
        }
    }
}

/// The places that can be pointed at: each reaches half-way to its neighbours.
fn stops(svg: &mut String, scene: &Scene, frame: &Frame) {
    let xs: Vec<f64> = scene
        .stops
        .iter()
        .map(|s| match s.at {
            Place::X(value) => frame.x(&scene.x, value),
            Place::Row(_) => f64::NAN,
        })
        .collect();
    for (i, stop) in scene.stops.iter().enumerate() {
        let (x, y, width, height, rule) = match stop.at {
            Place::X(_) => {
                let start = if i == 0 { frame.left } else { f64::midpoint(xs[i - 1], xs[i]) };
                let end = if i + 1 == xs.len() {
                    frame.width - frame.right
                } else {
                    f64::midpoint(xs[i], xs[i + 1])
                };
                let rule = format!(
                    "<line class=\"rule\" x1=\"{0:.1}\" x2=\"{0:.1}\" y1=\"{1:.1}\" y2=\"{2:.1}\"/>",
                    xs[i],
                    frame.top,
                    frame.floor()
                );
                (start, frame.top, end - start, frame.plot_height(), rule)
            }
            Place::Row(row) => {
                let step = frame.plot_height() / scene.y.ticks.len().max(1) as f64;
                let y = frame.y(&scene.y, row as f64) - step / 2.0;
                (0.0, y, frame.width, step, String::new())
            }
        };
        let _ = write!(
            svg,
            "<g class=\"stop\" data-stop=\"{i}\">{rule}<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{height:.1}\"/></g>",
            width.max(1.0)
        );
    }
}

fn shortened(text: &str, letters: usize) -> String {
    if text.chars().count() <= letters.max(2) {
        return text.to_owned();
    }
    let kept: String = text.chars().take(letters.max(2) - 1).collect();
    format!("{kept}…")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_of_lines_that_meet_are_pushed_apart_within_the_frame() {
        let mut places = [100.0, 101.0, 102.0, 200.0];
        spread_apart(&mut places, 0.0, 300.0);
        assert!(places.windows(2).all(|p| p[1] - p[0] >= LINE_HEIGHT - 1.0), "{places:?}");
        assert_eq!(places[3], 200.0);
        let mut low = [299.0, 299.5, 300.0];
        spread_apart(&mut low, 0.0, 300.0);
        assert!(low[2] <= 300.0 && low[0] >= 255.0, "{low:?}");
    }

    #[test]
    fn a_long_name_is_shortened_with_a_sign_that_shows_it() {
        assert_eq!(shortened("loop+epoll-et", 20), "loop+epoll-et");
        assert_eq!(shortened("loop+epoll-et", 6), "loop+…");
    }
}
