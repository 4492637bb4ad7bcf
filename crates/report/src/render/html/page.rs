//! The page around the sections: style, script, and a policy that forbids all connections and every other style and script.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::digest::{SHA256, digest};

use crate::escape::escape;

macro_rules! mark {
    () => {
        "<svg viewBox=\"0 0 24 24\" aria-hidden=\"true\"><path d=\"M3 9h13a3 3 0 0 1 0 6H3M8 12h6M18 12h3\"/></svg>"
    };
}

const STYLE: &str = concat!(include_str!("../../svg/style.css"), include_str!("style.css"));
const SCRIPT: &str = include_str!("script.js");

/// Updates a page that a server shows.
const LIVE: &str = include_str!("live.js");

/// The mark at the head of a page in a file.
pub(super) const BRAND: &str = concat!("<div class=\"brand\">", mark!(), "Pitot report</div>");
/// The same on a server, where it leads to the first page.
pub(super) const BRAND_SERVED: &str = concat!("<a class=\"brand\" href=\"/\">", mark!(), "Pitot</a>");

/// A page with the report's style and script around `body`.
pub(super) fn page(title: &str, body: &str) -> String {
    whole(title, body, "form-action 'none'", &[SCRIPT])
}

/// The same on a server, which is the only place that it may connect to.
pub(super) fn served(title: &str, body: &str, is_live: bool) -> String {
    // The script that updates the page keeps it as it was before the other script, and goes first.
    let scripts: &[&str] = if is_live { &[LIVE, SCRIPT] } else { &[SCRIPT] };
    whole(title, body, "connect-src 'self'; form-action 'self'", scripts)
}

fn whole(title: &str, body: &str, allowed: &str, scripts: &[&str]) -> String {
    let sources: String = scripts.iter().map(|script| format!(" {}", source(script))).collect();
    let scripts: String = scripts.iter().map(|script| format!("<script>{script}</script>")).collect();
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <meta http-equiv=\"Content-Security-Policy\" \
         content=\"default-src 'none'; base-uri 'none'; {allowed}; script-src{sources}; style-src {}; \
         style-src-attr 'unsafe-inline'\">\
         <title>{}</title><style>{STYLE}</style></head><body>{body}<div id=\"tip\" role=\"status\" hidden></div>\
         {scripts}</body></html>\n",
        source(STYLE),
        escape(title),
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
