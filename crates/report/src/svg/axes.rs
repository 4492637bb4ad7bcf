//! Axes: ticks, grid lines, titles.

use super::frame::{Frame, LETTER};
use crate::axis::Scale;
use crate::escape::escape;
use crate::scene::Scene;
use std::fmt::Write as _;

pub(super) fn axes(svg: &mut String, scene: &Scene, frame: &Frame) {
    if matches!(scene.y.scale, Scale::Steps(_)) {
        row_names(svg, scene, frame);
        x_grid(svg, scene, frame);
        x_tick_texts(svg, scene, frame);
        line(svg, "axis", (frame.left, frame.top), (frame.left, frame.floor()));
    } else {
        y_ticks(svg, scene, frame);
        x_ticks(svg, scene, frame);
        x_tick_texts(svg, scene, frame);
        line(svg, "axis", (frame.left, frame.floor()), (frame.width - frame.right, frame.floor()));
    }
    if !scene.x.title.is_empty() {
        let middle = frame.left + frame.plot_width() / 2.0;
        text(svg, "title x", (middle, frame.height - 5.0), &scene.x.title);
    }
}

/// The names of rows, shortened if there is no room.
fn row_names(svg: &mut String, scene: &Scene, frame: &Frame) {
    let letters = ((frame.left - 13.0) / LETTER).round() as usize;
    for (value, name) in &scene.y.ticks {
        let y = frame.y(&scene.y, *value) + 4.0;
        text(svg, "row", (frame.left - 8.0, y), &shortened(name, letters));
    }
}

fn y_ticks(svg: &mut String, scene: &Scene, frame: &Frame) {
    for (value, label) in &scene.y.ticks {
        let y = frame.y(&scene.y, *value);
        line(svg, "grid", (frame.left, y), (frame.width - frame.right, y));
        text(svg, "tick y", (frame.left - 6.0, y + 4.0), label);
    }
}

fn x_grid(svg: &mut String, scene: &Scene, frame: &Frame) {
    for (value, _) in &scene.x.ticks {
        let x = frame.x(&scene.x, *value);
        line(svg, "grid", (x, frame.top), (x, frame.floor()));
    }
}

fn x_ticks(svg: &mut String, scene: &Scene, frame: &Frame) {
    for (value, _) in &scene.x.ticks {
        let x = frame.x(&scene.x, *value);
        line(svg, "axis", (x, frame.floor()), (x, frame.floor() + 4.0));
    }
}

/// The texts of the ticks; a text that would overlap its neighbour is omitted.
fn x_tick_texts(svg: &mut String, scene: &Scene, frame: &Frame) {
    let mut taken = f64::NEG_INFINITY;
    for (value, label) in &scene.x.ticks {
        let half = label.chars().count() as f64 * LETTER / 2.0;
        let middle = frame.x(&scene.x, *value).min(frame.width - half - 1.0);
        if middle - half > taken {
            taken = middle + half + 6.0;
            text(svg, "tick x", (middle, frame.floor() + 17.0), label);
        }
    }
}

fn line(svg: &mut String, class: &str, from: (f64, f64), to: (f64, f64)) {
    let _ = write!(
        svg,
        "<line class=\"{class}\" x1=\"{:.1}\" x2=\"{:.1}\" y1=\"{:.1}\" y2=\"{:.1}\"/>",
        from.0, to.0, from.1, to.1
    );
}

fn text(svg: &mut String, class: &str, at: (f64, f64), text: &str) {
    let _ =
        write!(svg, "<text class=\"{class}\" x=\"{:.1}\" y=\"{:.1}\">{}</text>", at.0, at.1, escape(text));
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
    fn a_long_name_is_shortened_with_a_sign_that_shows_it() {
        assert_eq!(shortened("loop+epoll-et", 20), "loop+epoll-et");
        assert_eq!(shortened("loop+epoll-et", 6), "loop+…");
    }
}
