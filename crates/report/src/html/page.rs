//! The page around the sections: style, script, and a policy that forbids all connections.

use crate::escape::escape;

/// The mark at the head of every page.
pub(crate) const BRAND: &str = "<div class=\"brand\"><svg viewBox=\"0 0 24 24\" aria-hidden=\"true\">\
    <path d=\"M3 9h13a3 3 0 0 1 0 6H3M8 12h6M18 12h3\"/></svg>Pitot report</div>";

/// A page with the report's style and script around `body`.
pub(crate) fn page(title: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <meta http-equiv=\"Content-Security-Policy\" \
         content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\
         <title>{}</title><style>{}</style></head><body>{body}<div id=\"tip\" role=\"status\" hidden></div>\
         <script>{}</script></body></html>\n",
        escape(title),
        include_str!("style.css"),
        include_str!("script.js"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_may_connect_to_nothing() {
        let page = page("t", "");
        assert!(page.contains("default-src 'none'"));
        assert!(!page.contains("http://") && !page.contains("https://"));
    }
}
