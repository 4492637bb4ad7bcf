//! The plot's frame within the drawing: how positions on the axes become pixels.

use super::line_end::labelled;
use super::page::Page;
use crate::axis::{Axis, Scale};
use crate::scene::{Scene, Size};

/// Width of a letter of the chart's text, in the wider of the fonts that a reader may have.
pub(super) const LETTER: f64 = 6.6;
/// The same for the names at the ends of lines, which are bold.
const BOLD_LETTER: f64 = 7.1;
pub(super) const ROW_HEIGHT: f64 = 27.0;

pub(super) struct Frame {
    pub(super) width: f64,
    pub(super) height: f64,
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) top: f64,
    pub(super) bottom: f64,
}

impl Frame {
    pub(super) fn of(scene: &Scene, page: Page) -> Frame {
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

    pub(super) fn x(&self, axis: &Axis, value: f64) -> f64 {
        self.left + axis.scale.position(value).clamp(-0.02, 1.02) * self.plot_width()
    }

    pub(super) fn y(&self, axis: &Axis, value: f64) -> f64 {
        let position = axis.scale.position(value).clamp(-0.02, 1.02);
        let from_top = if matches!(axis.scale, Scale::Steps(_)) { position } else { 1.0 - position };
        self.top + from_top * self.plot_height()
    }

    pub(super) fn plot_width(&self) -> f64 {
        self.width - self.left - self.right
    }

    pub(super) fn plot_height(&self) -> f64 {
        self.height - self.top - self.bottom
    }

    pub(super) fn floor(&self) -> f64 {
        self.height - self.bottom
    }
}
