//! A flame graph as nested boxes: their text is found by the browser's search, and long names are cut off where their box ends.
//!
//! The script (`script.js`) adds a search, a zoom and keys, and the roles of a tree, which without keys would be an empty promise.

use std::fmt::Write as _;

use crate::document::Flame;
use crate::escape::escape;
use crate::number::{figure, percent, signed_ns};
use pitot_record::Unit;

/// A change of this share of all time has the full colour, ...
const FULL_CHANGE: f64 = 0.05;
/// ... of which so much is mixed in, so that names can be read on it.
pub(super) const FULL_COLOUR: f64 = 35.0;
/// A smaller change has no colour and no sign.
const CHANGE_MIN: f64 = 0.005;

const TOOLS: &str = "<div class=\"flame-tools\" hidden><label>Search <input type=\"search\" spellcheck=\"false\"></label>\
    <output></output><button type=\"button\" hidden>Whole graph</button>\
    <span class=\"soft\">Click or Enter enlarges a function, Escape shows all; arrow keys go to callers and callees.</span></div>";

pub(super) fn render(html: &mut String, root: &Flame, baseline: &str) {
    let _ = write!(
        html,
        "<div class=\"flames\">{TOOLS}<p class=\"flame-key\">A box is a function above what it calls, as wide as its share of the time."
    );
    if !baseline.is_empty() {
        let key = |class: &str, text: &str| {
            format!(
                " <span class=\"flame {class}\" style=\"--change:{FULL_COLOUR}%\"><span>{text}</span></span>"
            )
        };
        let more = format!("more time than {}", escape(baseline));
        let _ = write!(html, "{}{}", key("more", &more), key("less", "less"));
    }
    html.push_str("</p><div class=\"flame-tree\">");
    one(html, root, root.ns, root.ns);
    html.push_str("</div><p class=\"flame-at\"></p></div>");
}

fn one(html: &mut String, flame: &Flame, all_ns: f64, caller_ns: f64) {
    let change = flame.change_ns().map_or(0.0, |ns| ns / all_ns);
    let (class, colour) = match change {
        change if change >= CHANGE_MIN => (" more", change),
        change if change <= -CHANGE_MIN => (" less", -change),
        _ => ("", 0.0),
    };
    let colour = (colour / FULL_CHANGE).min(1.0) * FULL_COLOUR;
    let mut note = format!("{}, {}", figure(flame.ns, Unit::Nanoseconds), percent(flame.share));
    if let Some(ns) = flame.change_ns() {
        let _ = write!(note, ", {}", signed_ns(ns));
    }
    let name = escape(&flame.name);
    let _ = write!(
        html,
        "<div class=\"flame{class}\" data-share=\"{:.5}\" style=\"width:{:.2}%;--change:{colour:.0}%\">\
         <span title=\"{name}: {}\">{name}</span>",
        flame.share,
        flame.ns / caller_ns * 100.0,
        escape(&note),
    );
    // What the baseline alone has takes no room; the table has it.
    let mut calls = flame.calls.iter().filter(|call| call.ns > 0.0).peekable();
    if calls.peek().is_some() {
        html.push_str("<div class=\"calls\">");
        calls.for_each(|call| one(html, call, all_ns, flame.ns));
        html.push_str("</div>");
    }
    html.push_str("</div>");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flame(name: &str, ns: f64, baseline_ns: Option<f64>, calls: Vec<Flame>) -> Flame {
        Flame { name: name.into(), ns, baseline_ns, share: ns / 1_000.0, weight: 1.0, calls }
    }

    fn rendered(root: &Flame, baseline: &str) -> String {
        let mut html = String::new();
        render(&mut html, root, baseline);
        html
    }

    #[test]
    fn a_box_is_as_wide_as_its_part_of_its_caller_and_has_its_share_of_all() {
        let calls = vec![
            flame("a<b>", 200.0, Some(250.0), Vec::new()),
            flame("\"><script>", 100.0, Some(75.0), Vec::new()),
            flame("same", 100.0, Some(98.0), Vec::new()),
            flame("gone", 0.0, Some(10.0), Vec::new()),
        ];
        let main = flame("main", 400.0, Some(433.0), calls);
        let html = rendered(&flame("head", 1_000.0, Some(1_033.0), vec![main]), "v1 <old>");
        for part in [
            "<div class=\"flame less\" data-share=\"0.20000\" style=\"width:50.00%;--change:35%\">\
             <span title=\"a&lt;b&gt;: 200 ns, 20%, -50.0 ns\">a&lt;b&gt;</span></div>",
            "<div class=\"flame more\" data-share=\"0.10000\" style=\"width:25.00%;--change:18%\">\
             <span title=\"&quot;&gt;&lt;script&gt;: 100 ns, 10%, +25.0 ns\">",
            "<div class=\"flame\" data-share=\"0.10000\" style=\"width:25.00%;--change:0%\"><span title=\"same: 100 ns, 10%, +2.00 ns\">",
            "<span>more time than v1 &lt;old&gt;</span>",
        ] {
            assert!(html.contains(part), "{part}\n{html}");
        }
        assert!(!html.contains("gone") && !html.contains("<script"), "{html}");
    }

    #[test]
    fn a_graph_that_is_compared_with_nothing_has_no_colours() {
        let html = rendered(&flame("head", 1_000.0, None, vec![flame("main", 900.0, None, Vec::new())]), "");
        assert!(html.contains("<span title=\"main: 900 ns, 90%\">main</span>"), "{html}");
        assert!(!html.contains("less") && !html.contains("more"), "{html}");
    }
}
