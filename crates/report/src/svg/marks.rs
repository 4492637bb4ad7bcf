//! Marks: each kind has one function.

use super::frame::{Frame, LETTER, ROW_HEIGHT};
use super::ink::{SERIES_COLOURS, dot, ink, series_attribute};
use crate::escape::escape;
use crate::scene::{Ink, Mark, Scene};
use std::fmt::Write as _;

/// How far below the middle of a row the values behind a point are drawn.
const SPECK_BELOW: f64 = 9.5;

struct Plane<'a> {
    scene: &'a Scene,
    frame: &'a Frame,
}

impl Plane<'_> {
    fn x(&self, value: f64) -> f64 {
        self.frame.x(&self.scene.x, value)
    }

    fn y(&self, value: f64) -> f64 {
        self.frame.y(&self.scene.y, value)
    }

    fn row(&self, row: usize) -> f64 {
        self.y(row as f64)
    }

    fn end(&self) -> f64 {
        self.scene.x.end()
    }

    fn is_beyond(&self, value: f64) -> bool {
        value > self.end()
    }

    fn is_before(&self, value: f64) -> bool {
        value < self.scene.x.start()
    }

    fn point(&self, x: f64, y: f64) -> String {
        format!("{:.1},{:.1}", self.x(x), self.y(y))
    }
}

/// The stretches of a scene, which lie below everything else.
pub(super) fn stretches(svg: &mut String, scene: &Scene, frame: &Frame) {
    let plane = Plane { scene, frame };
    let (mut areas, mut names) = (String::new(), String::new());
    for mark in &scene.marks {
        let Mark::Stretch { from, to, label, fault } = mark else { continue };
        let (x1, x2) = (plane.x(*from), plane.x(*to));
        // The name of a fault stands below that of what it lies in, and a moment is a line.
        let (class, down, width) = if *fault { (" fault", 26.0, 2.0) } else { ("", 12.0, 0.0) };
        let _ = write!(
            areas,
            "<rect class=\"stretch{class}\" x=\"{x1:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\"/>",
            frame.top,
            (x2 - x1).max(width),
            frame.plot_height()
        );
        let _ = write!(
            names,
            "<text class=\"stretch{class}\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            f64::midpoint(x1, x2),
            frame.top + down,
            escape(label)
        );
    }
    // No name is covered by what is shaded inside its stretch.
    svg.push_str(&areas);
    svg.push_str(&names);
}

pub(super) fn mark(svg: &mut String, mark: &Mark, scene: &Scene, frame: &Frame) {
    let plane = Plane { scene, frame };
    match mark {
        Mark::Line { ink, points, dots, dashed, .. } => line(svg, &plane, *ink, points, *dots, *dashed),
        Mark::Band { ink, points, quiet } => band(svg, &plane, *ink, points, *quiet),
        Mark::Whisker { ink, x, low, high } => whisker(svg, &plane, *ink, *x, (*low, *high)),
        Mark::Bar { ink, series, row, from, to } => bar(svg, &plane, *ink, *series, *row, (*from, *to)),
        Mark::Label { series, row, x, text } => label(svg, &plane, *series, *row, *x, text),
        Mark::Reach { series, row, low, high } => reach(svg, &plane, *series, *row, (*low, *high)),
        Mark::Dot { ink, row, x, open } => row_dot(svg, &plane, *ink, *row, *x, *open),
        Mark::Speck { ink, row, x } => speck(svg, &plane, *ink, *row, *x),
        Mark::Stretch { .. } => {}
    }
}

fn line(svg: &mut String, plane: &Plane<'_>, colour: Ink, points: &[(f64, f64)], dots: bool, dashed: bool) {
    let (class, series) = ink(colour);
    let repeats = matches!(colour, Ink::Series(i) if i >= SERIES_COLOURS);
    let dash = if dashed || repeats { " dashed" } else { "" };
    let path: Vec<String> = points.iter().map(|(x, y)| plane.point(*x, *y)).collect();
    let _ = write!(svg, "<g class=\"line {class}{dash}\"{series}><polyline points=\"{}\"/>", path.join(" "));
    if dots {
        for (x, y) in points {
            dot(svg, colour, plane.x(*x), plane.y(*y));
        }
    }
    svg.push_str("</g>");
}

fn band(svg: &mut String, plane: &Plane<'_>, colour: Ink, points: &[(f64, f64, f64)], quiet: bool) {
    let (class, series) = ink(colour);
    let upper = points.iter().map(|(x, _, high)| plane.point(*x, *high));
    let lower = points.iter().rev().map(|(x, low, _)| plane.point(*x, *low));
    let path: Vec<String> = upper.chain(lower).collect();
    let quiet = if quiet { " quiet" } else { "" };
    let _ = write!(svg, "<polygon class=\"band {class}{quiet}\"{series} points=\"{}\"/>", path.join(" "));
}

fn whisker(svg: &mut String, plane: &Plane<'_>, colour: Ink, x: f64, (low, high): (f64, f64)) {
    let (class, series) = ink(colour);
    let _ = write!(
        svg,
        "<line class=\"whisker {class}\"{series} x1=\"{0:.1}\" x2=\"{0:.1}\" y1=\"{1:.1}\" y2=\"{2:.1}\"/>",
        plane.x(x),
        plane.y(low),
        plane.y(high)
    );
}

fn bar(
    svg: &mut String,
    plane: &Plane<'_>,
    colour: Ink,
    series: Option<usize>,
    row: usize,
    (from, to): (f64, f64),
) {
    let (class, _) = ink(colour);
    let (x1, x2) = (plane.x(from), plane.x(to));
    let _ = write!(
        svg,
        "<rect class=\"bar {class}\"{} x=\"{x1:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"2\"/>",
        series_attribute(series),
        plane.row(row) - ROW_HEIGHT * 0.32,
        (x2 - x1).max(1.0),
        ROW_HEIGHT * 0.64
    );
}

/// A text to the right of `x`, or ending at the frame where it would not fit.
fn label(svg: &mut String, plane: &Plane<'_>, series: Option<usize>, row: usize, x: f64, text: &str) {
    let width = text.chars().count() as f64 * LETTER;
    let x = (plane.x(x) + 7.0).min(plane.frame.width - width - 2.0);
    let _ = write!(
        svg,
        "<text class=\"bar-label\"{} x=\"{x:.1}\" y=\"{:.1}\">{}</text>",
        series_attribute(series),
        plane.row(row) + 4.0,
        escape(text)
    );
}

fn reach(svg: &mut String, plane: &Plane<'_>, series: Option<usize>, row: usize, (low, high): (f64, f64)) {
    let (x1, middle) = (plane.x(low.clamp(plane.scene.x.start(), plane.end())), plane.row(row));
    let top = middle - 4.0;
    let first = if plane.is_before(low) {
        format!("M{:.1} {top:.1}l-6 4l6 4", x1 + 6.0)
    } else {
        format!("M{x1:.1} {top:.1}v8")
    };
    let (x2, cap) = if plane.is_beyond(high) {
        (plane.x(plane.end()), "m-6 -4l6 4l-6 4".to_owned())
    } else {
        let x2 = plane.x(high);
        (x2, format!("M{x2:.1} {top:.1}v8"))
    };
    let _ = write!(
        svg,
        "<path class=\"reach\"{} d=\"{first}M{x1:.1} {middle:.1}H{x2:.1}{cap}\"/>",
        series_attribute(series),
    );
}

/// A small dot below the middle of its row; one beyond the axis is an arrow head at its end.
fn speck(svg: &mut String, plane: &Plane<'_>, colour: Ink, row: usize, x: f64) {
    let (class, series) = ink(colour);
    let cy = plane.row(row) + SPECK_BELOW;
    let _ = if plane.is_beyond(x) {
        let tip = plane.x(plane.end());
        write!(svg, "<path class=\"speck {class}\"{series} d=\"M{tip:.1} {cy:.1}l-5 -3v6z\"/>")
    } else if plane.is_before(x) {
        let tip = plane.x(plane.scene.x.start());
        write!(svg, "<path class=\"speck {class}\"{series} d=\"M{tip:.1} {cy:.1}l5 -3v6z\"/>")
    } else {
        write!(
            svg,
            "<circle class=\"speck {class}\"{series} cx=\"{:.1}\" cy=\"{cy:.1}\" r=\"2.4\"/>",
            plane.x(x)
        )
    };
}

fn row_dot(svg: &mut String, plane: &Plane<'_>, colour: Ink, row: usize, x: f64, open: bool) {
    let (class, series) = ink(colour);
    let open = if open { " open" } else { "" };
    let (cx, cy) = (plane.x(x), plane.row(row));
    let _ =
        write!(svg, "<circle class=\"dot {class}{open}\"{series} cx=\"{cx:.1}\" cy=\"{cy:.1}\" r=\"5.5\"/>");
}
