//! The page around the sections: style, script, and a policy that forbids all connections and every other style and script.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::digest::{SHA256, digest};

use crate::escape::escape;

const STYLE: &str = concat!(include_str!("../../svg/style.css"), include_str!("style.css"));
const SCRIPT: &str = include_str!("script.js");

/// The mark at the head of every page.
pub(super) const BRAND: &str = "<div class=\"brand\"><svg viewBox=\"0 0 24 24\" aria-hidden=\"true\">\
    <path d=\"M3 9h13a3 3 0 0 1 0 6H3M8 12h6M18 12h3\"/></svg>Pitot report</div>";

/// A page with the report's style and script around `body`.
pub(super) fn page(title: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <meta http-equiv=\"Content-Security-Policy\" \
         content=\"default-src 'none'; base-uri 'none'; form-action 'none'; script-src {}; style-src {}; \
         style-src-attr 'unsafe-inline'\">\
         <title>{}</title><style>{}</style></head><body>{body}<div id=\"tip\" role=\"status\" hidden></div>\
         <script>{}</script></body></html>\n",
        source(SCRIPT),
        source(STYLE),
        escape(title),
        STYLE,
        SCRIPT,
    )
}

/// The source that the policy allows: an element with exactly this text (CSP level 3, section 2.3.1). Style attributes are allowed
/// separately, since some contain figures.
fn source(text: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(digest(&SHA256, text.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::super::flames::FULL_COLOUR;
    use super::*;

    #[test]
    fn a_page_may_connect_to_nothing() {
        let page = page("t", "");
        assert!(page.contains("default-src 'none'"));
        assert!(!page.contains("http://") && !page.contains("https://"));
    }

    /// Red, green and blue of a colour, 0 to 1.
    fn parts(colour: &str) -> [f64; 3] {
        let colour = colour.trim_start_matches('#');
        let wide =
            if colour.len() == 3 { colour.chars().flat_map(|c| [c, c]).collect() } else { colour.to_owned() };
        [0, 2, 4].map(|at| f64::from(u8::from_str_radix(&wide[at..at + 2], 16).unwrap()) / 255.0)
    }

    /// The relative luminance of a colour (WCAG 2.2).
    fn luminance(parts: [f64; 3]) -> f64 {
        let linear =
            |part: f64| if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) };
        let [red, green, blue] = parts.map(linear);
        0.2126 * red + 0.7152 * green + 0.0722 * blue
    }

    #[test]
    fn text_has_the_contrast_that_wcag_asks_for_in_light_in_dark_and_in_print() {
        let themes: Vec<&str> =
            STYLE.split(":root {").skip(1).map(|theme| theme.split('}').next().unwrap()).collect();
        assert_eq!(themes.len(), 3);
        for theme in themes {
            let colour = |name: &str| {
                let value = theme.split(&format!("--{name}: ")).nth(1).unwrap();
                parts(value.split(';').next().unwrap().trim())
            };
            let check = |ink: &str, ground: [f64; 3], name: &str| {
                let (a, b) = (luminance(colour(ink)), luminance(ground));
                let contrast = (a.max(b) + 0.05) / (a.min(b) + 0.05);
                assert!(contrast >= 4.5, "--{ink} on {name}: {contrast:.2}");
            };
            let inks = ["ink", "soft", "faint", "accent", "good", "care", "bad"];
            let plain = inks.iter().flat_map(|ink| ["paper", "card", "wash"].map(|ground| (*ink, ground)));
            let own = [("good", "good-wash"), ("care", "care-wash"), ("bad", "bad-wash"), ("card", "accent")];
            plain.chain(own).for_each(|(ink, ground)| check(ink, colour(ground), ground));
            for name in ["good", "bad", "line"] {
                let (full, part) = (colour(name), FULL_COLOUR / 100.0);
                let line = colour("line");
                let mixed = [0, 1, 2].map(|at| part * full[at] + (1.0 - part) * line[at]);
                check("ink", mixed, &format!("a box of a flame graph, {name}"));
            }
        }
    }

    #[test]
    fn only_the_script_and_the_style_of_the_page_are_allowed() {
        let page = page("t", "");
        let within = |from: &str, to: &str| page.split_once(from).unwrap().1.split_once(to).unwrap().0;
        let policy = within("Content-Security-Policy\" content=\"", "\">");
        assert!(
            policy.contains(&format!("script-src {};", source(within("<script>", "</script>")))),
            "{policy}"
        );
        assert!(
            policy.contains(&format!("style-src {};", source(within("<style>", "</style>")))),
            "{policy}"
        );
        // `printf abc | openssl dgst -sha256 -binary | base64`
        assert_eq!(source("abc"), "'sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0='");
    }
}
