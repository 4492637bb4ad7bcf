//! The names at the ends of lines.

use super::frame::Frame;
use super::ink::ink;
use super::line_end::{LineEnd, labelled};
use super::page::Page;
use crate::escape::escape;
use crate::scene::Scene;
use std::fmt::Write as _;

const LINE_HEIGHT: f64 = 15.0;

/// The names of the lines at their right ends, pushed apart where lines meet.
pub(super) fn line_labels(svg: &mut String, scene: &Scene, page: Page, frame: &Frame) {
    let mut labels: Vec<LineEnd<'_>> = labelled(scene, page)
        .map(|end| LineEnd { x: frame.x(&scene.x, end.x), y: frame.y(&scene.y, end.y), ..end })
        .collect();
    labels.sort_by(|a, b| a.y.total_cmp(&b.y));
    let mut heights: Vec<f64> = labels.iter().map(|l| l.y).collect();
    spread_apart(&mut heights, frame.top + 4.0, frame.floor());
    for (LineEnd { x: end_x, y: end_y, ink: colour, name }, y) in labels.iter().zip(heights) {
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

/// Moves ascending heights as little as needed to lie a line's height apart between `top` and `bottom`.
fn spread_apart(heights: &mut [f64], top: f64, bottom: f64) {
    let step = LINE_HEIGHT.min((bottom - top) / heights.len().max(1) as f64);
    // Each round moves every pair that is too close half of the way; a chart has a dozen lines at most.
    for _ in 0..200 {
        let mut moved = false;
        for i in 1..heights.len() {
            let lack = step - (heights[i] - heights[i - 1]);
            if lack > 0.05 {
                heights[i - 1] -= lack / 2.0;
                heights[i] += lack / 2.0;
                moved = true;
            }
        }
        let (mut low, mut high) = (top, bottom);
        for height in heights.iter_mut() {
            *height = height.max(low);
            low = *height + step * 0.01;
        }
        for height in heights.iter_mut().rev() {
            *height = height.min(high);
            high = *height - step * 0.01;
        }
        if !moved {
            break;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_of_lines_that_meet_are_pushed_apart_within_the_frame() {
        let mut heights = [100.0, 101.0, 102.0, 200.0];
        spread_apart(&mut heights, 0.0, 300.0);
        assert!(heights.windows(2).all(|p| p[1] - p[0] >= LINE_HEIGHT - 1.0), "{heights:?}");
        assert_eq!(heights[3], 200.0);
        let mut low = [299.0, 299.5, 300.0];
        spread_apart(&mut low, 0.0, 300.0);
        assert!(low[2] <= 300.0 && low[0] >= 255.0, "{low:?}");
    }
}
