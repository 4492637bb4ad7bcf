//! A chart before it is drawn: axes, marks in the units of the data, and hover texts.
//!
//! A chart makes scenes and knows no pixel; `svg` draws scenes and knows no chart.

use crate::axis::Axis;

/// A chart: one pane, or several of which a reader sees one at a time.
#[derive(Clone, Debug)]
pub struct Figure {
    /// What the reader chooses by, if there are several panes: "connections".
    pub choice: Option<String>,
    /// The last one is shown first.
    pub panes: Vec<Pane>,
    pub caption: String,
}

impl Figure {
    /// Panes that a reader chooses from by `choice`; none without panes.
    pub(crate) fn of(choice: &str, panes: Vec<Pane>) -> Option<Figure> {
        let choice = (panes.len() > 1).then(|| choice.to_owned());
        (!panes.is_empty()).then(|| Figure { choice, panes, caption: String::new() })
    }
}

/// Scenes that are shown together.
#[derive(Clone, Debug)]
pub struct Pane {
    /// Its name in the choice.
    pub label: String,
    pub scenes: Vec<Scene>,
    /// The keys to what the scenes do not label.
    pub legend: Vec<(Ink, String)>,
}

impl Pane {
    /// One scene without label and legend.
    pub(crate) fn of(scene: Scene) -> Pane {
        Pane { label: String::new(), scenes: vec![scene], legend: Vec::new() }
    }
}

/// A drawing: two axes and what is between them.
#[derive(Clone, Debug)]
pub struct Scene {
    pub title: String,
    /// Which way is better, or another short hint next to the title.
    pub hint: String,
    pub x: Axis,
    /// From bottom to top; a row axis counts from the top.
    pub y: Axis,
    /// The first one is drawn lowest.
    pub marks: Vec<Mark>,
    pub stops: Vec<Stop>,
    pub size: Size,
}

/// The share of the page that a scene takes, if there is room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    Full,
    Half,
    /// The whole width, and as high as its rows need.
    Rows,
}

/// A colour by its meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ink {
    /// The colour of a series, the same in all charts of a report.
    Series(usize),
    /// A part of a whole.
    Part(usize),
    Muted,
    Better,
    Worse,
}

#[derive(Clone, Debug)]
pub enum Mark {
    /// A line through points, labelled at its right end unless `label` is empty; `dots` only if the points are few.
    Line { ink: Ink, points: Vec<(f64, f64)>, label: String, dots: bool, dashed: bool },
    /// The area between two lines: x, lower and upper y. A `quiet` one shows only while its series is pointed at.
    Band { ink: Ink, points: Vec<(f64, f64, f64)>, quiet: bool },
    /// A vertical interval.
    Whisker { ink: Ink, x: f64, low: f64, high: f64 },
    /// A bar along a row. `series`: for the switches of the legend.
    Bar { ink: Ink, series: Option<usize>, row: usize, from: f64, to: f64 },
    /// A text on a row, to the right of `x`.
    Label { series: Option<usize>, row: usize, x: f64, text: String },
    /// A horizontal interval on a row. An end beyond the axis is an arrow.
    Reach { series: Option<usize>, row: usize, low: f64, high: f64 },
    /// A point on a row, filled or open.
    Dot { ink: Ink, row: usize, x: f64, open: bool },
    /// One of the values behind a point on a row, below it.
    Speck { ink: Ink, row: usize, x: f64 },
    /// A shaded stretch of the x axis.
    Stretch { from: f64, to: f64, label: String, fault: bool },
}

impl Mark {
    /// A solid line without dots.
    pub(crate) fn line(ink: Ink, label: &str, points: Vec<(f64, f64)>) -> Mark {
        Mark::Line { ink, points, label: label.into(), dots: false, dashed: false }
    }
}

/// A hover text. The same texts make the table below the chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Stop {
    pub at: Anchor,
    pub heading: String,
    /// Series, name, value.
    pub rows: Vec<(Option<Ink>, String, String)>,
}

/// What a stop is attached to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Anchor {
    /// At an x, over the whole height.
    X(f64),
    /// At a row, over the whole width.
    Row(usize),
}
