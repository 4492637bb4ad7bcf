//! Which lines have a name at their end.

use super::page::Page;
use crate::scene::{Ink, Mark, Scene, Size};

/// More lines than this, in half a page, are named by the legend alone.
const HALF_LABELS_MAX: usize = 3;

/// The end of a line that is to be named there, in the units of the data.
pub(super) struct LineEnd<'a> {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) ink: Ink,
    pub(super) name: &'a str,
}

/// Whether the lines of a scene have their names at their ends on that page.
pub(crate) fn names_lines(scene: &Scene, page: Page) -> bool {
    labelled(scene, page).next().is_some()
}

/// The lines that have a name at their end: none on a phone, and few in half a page, where there is no room.
pub(super) fn labelled(scene: &Scene, page: Page) -> impl Iterator<Item = LineEnd<'_>> {
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
