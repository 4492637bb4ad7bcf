//! A chart before it is drawn: axes, marks in the units of the data, and what a reader can point at.
//!
//! A chart makes scenes and knows no pixel; `svg` draws scenes and knows no chart.

use crate::axis::Axis;

/// A chart: one pane, or several of which a reader sees one at a time.
#[derive(Clone, Debug)]
pub struct Figure {
    /// What the reader chooses by, if there are several panes: "connections".
    pub choice: Option<String>,
    /// The panes; with a choice the last one is shown first.
    pub panes: Vec<Pane>,
    /// What the reader should take from it, in a sentence or two.
    pub caption: String,
}

/// Scenes that are seen together.
#[derive(Clone, Debug)]
pub struct Pane {
    /// What it is called in the choice.
    pub label: String,
    /// The scenes.
    pub scenes: Vec<Scene>,
    /// The keys to what is not labelled in the scenes themselves; empty if everything is.
    pub legend: Vec<(Ink, String)>,
}

/// A drawing: two axes and what is between them.
#[derive(Clone, Debug)]
pub struct Scene {
    /// What is shown, with its unit: the heading of the drawing.
    pub title: String,
    /// Which way is better, or another short hint next to the title.
    pub hint: String,
    /// From left to right.
    pub x: Axis,
    /// From bottom to top; a row axis counts from the top.
    pub y: Axis,
    /// What is drawn, the first one lowest.
    pub marks: Vec<Mark>,
    /// What a reader can point at.
    pub stops: Vec<Stop>,
    /// Its share of the page.
    pub size: Size,
}

/// The share of the page that a scene takes, where there is room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// The whole width.
    Full,
    /// Half of the width.
    Half,
    /// The whole width, and as high as its rows need.
    Rows,
}

/// A colour by its meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ink {
    /// The colour of a series; the same in all charts of a report.
    Series(usize),
    /// A part of a whole.
    Part(usize),
    /// What is there for comparison only.
    Muted,
    /// A change for the better.
    Better,
    /// A change for the worse.
    Worse,
}

/// Something drawn.
#[derive(Clone, Debug)]
pub enum Mark {
    /// A line through points, labelled at its end.
    Line {
        /// Its colour.
        ink: Ink,
        /// x and y.
        points: Vec<(f64, f64)>,
        /// Stands at its right end; empty for none.
        label: String,
        /// Whether each point is marked; only where the points are few.
        dots: bool,
        /// Drawn dashed.
        dashed: bool,
    },
    /// The area between two lines, as an interval around a line.
    Band {
        /// Its colour.
        ink: Ink,
        /// x, lower and upper y.
        points: Vec<(f64, f64, f64)>,
        /// Whether it is only seen while its series is pointed at: many bands on top of each other show nothing.
        quiet: bool,
    },
    /// A vertical interval at one x.
    Whisker {
        /// Its colour.
        ink: Ink,
        /// Where.
        x: f64,
        /// Its lower end.
        low: f64,
        /// Its upper end.
        high: f64,
    },
    /// A bar along a row of a row axis.
    Bar {
        /// Its colour.
        ink: Ink,
        /// The series that it belongs to, for the legend's switches.
        series: Option<usize>,
        /// Its row.
        row: usize,
        /// Where it starts.
        from: f64,
        /// Where it ends.
        to: f64,
    },
    /// A text on a row, to the right of an x.
    Label {
        /// The series that it belongs to.
        series: Option<usize>,
        /// Its row.
        row: usize,
        /// Where.
        x: f64,
        /// What it says.
        text: String,
    },
    /// A horizontal interval on a row. An end beyond the axis is drawn as an arrow.
    Reach {
        /// The series that it belongs to.
        series: Option<usize>,
        /// Its row.
        row: usize,
        /// Its left end.
        low: f64,
        /// Its right end.
        high: f64,
    },
    /// A point on a row.
    Dot {
        /// Its colour.
        ink: Ink,
        /// Its row.
        row: usize,
        /// Where.
        x: f64,
        /// Filled or open.
        open: bool,
    },
    /// One of the values behind a point on a row, below it.
    Speck {
        /// Its colour.
        ink: Ink,
        /// Its row.
        row: usize,
        /// Where.
        x: f64,
    },
    /// A stretch of the x axis that is set off.
    Stretch {
        /// Where it starts.
        from: f64,
        /// Where it ends.
        to: f64,
        /// What it is.
        label: String,
        /// Something was done to the server in it.
        fault: bool,
    },
}

/// What is shown when a reader points at a part of a scene. The same texts make the table below the chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Stop {
    /// What to point at.
    pub at: Anchor,
    /// Its heading.
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
