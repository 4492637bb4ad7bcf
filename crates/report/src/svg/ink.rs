//! Colours and shapes: CSS classes, and the dots of the series.

use crate::scene::Ink;
use std::fmt::Write as _;

/// Colours of series before they repeat (with dashes).
pub(crate) const SERIES_COLOURS: usize = 8;

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

/// The attribute by which the legend finds the marks of a series.
pub(super) fn series_attribute(series: Option<usize>) -> String {
    series.map_or_else(String::new, |i| format!(" data-s=\"{i}\""))
}

/// The dot of a series: a colour never repeats with the same shape, so that nobody has to go by hue alone.
pub(crate) fn dot(svg: &mut String, colour: Ink, x: f64, y: f64) {
    let shape = if let Ink::Series(i) = colour { i % 4 } else { 0 };
    let _ = match shape {
        0 => write!(svg, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.6\"/>"),
        1 => write!(svg, "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"6.8\" height=\"6.8\"/>", x - 3.4, y - 3.4),
        2 => write!(svg, "<path d=\"M{x:.1} {:.1}l4.3 7.4h-8.6z\"/>", y - 4.6),
        _ => write!(svg, "<path d=\"M{x:.1} {:.1}l4.6 4.6l-4.6 4.6l-4.6-4.6z\"/>", y - 4.6),
    };
}
