//! The areas of a drawing that can be pointed at.

use super::frame::Frame;
use crate::scene::{Anchor, Scene};
use std::fmt::Write as _;

/// The areas that can be pointed at: each reaches half-way to its neighbours.
pub(super) fn stops(svg: &mut String, scene: &Scene, frame: &Frame) {
    let xs: Vec<f64> = scene
        .stops
        .iter()
        .map(|s| match s.at {
            Anchor::X(value) => frame.x(&scene.x, value),
            Anchor::Row(_) => f64::NAN,
        })
        .collect();
    for (i, stop) in scene.stops.iter().enumerate() {
        let (x, y, width, height, rule) = match stop.at {
            Anchor::X(_) => {
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
            Anchor::Row(row) => {
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
