//! A flame graph as nested boxes: their text is found by the browser's search, and long names are cut off where their box ends.

use std::fmt::Write as _;

use crate::document::Flame;
use crate::escape::escape;

/// A change of this share of all time has the full colour.
const FULL_CHANGE: f64 = 0.05;

pub(super) fn render(html: &mut String, flame: &Flame) {
    html.push_str("<div class=\"flames\" role=\"tree\" tabindex=\"0\">");
    one(html, flame, 1.0);
    html.push_str("</div>");
}

fn one(html: &mut String, flame: &Flame, of_parent: f64) {
    let colour = (flame.change / FULL_CHANGE).clamp(-1.0, 1.0) * 100.0;
    let class = if colour < 0.0 { "less" } else { "more" };
    let _ = write!(
        html,
        "<div class=\"flame {class}\" role=\"treeitem\" style=\"width:{:.2}%;--change:{:.0}%\"><span title=\"{}: {}\">{}</span>",
        of_parent * 100.0,
        colour.abs(),
        escape(&flame.name),
        escape(&flame.note),
        escape(&flame.name)
    );
    if !flame.calls.is_empty() {
        html.push_str("<div class=\"calls\" role=\"group\">");
        for call in &flame.calls {
            one(html, call, call.share / flame.share.max(f64::MIN_POSITIVE));
        }
        html.push_str("</div>");
    }
    html.push_str("</div>");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_is_as_wide_as_its_part_of_its_caller() {
        let call =
            Flame { name: "a<b>".into(), share: 0.2, note: "1 us".into(), change: -0.05, calls: Vec::new() };
        let flame = Flame { name: "main".into(), share: 0.4, calls: vec![call], ..Flame::default() };
        let mut html = String::new();
        render(&mut html, &flame);
        assert!(
            html.contains("class=\"flame less\" role=\"treeitem\" style=\"width:50.00%;--change:100%\""),
            "{html}"
        );
        assert!(html.contains("title=\"a&lt;b&gt;: 1 us\""), "{html}");
    }
}
