//! A page as one HTML file: it makes no network requests, and it can be mailed. Or the same page as a server shows it.
//!
//! The policy of a file forbids all connections. Without scripts it shows everything except hover texts, and flame graphs have no search.

mod content;
mod figure;
mod flames;
mod page;
mod served;
mod table;
mod text;
mod verdict;

pub(super) use content::content;
pub(super) use served::served;

use crate::document::Document;

pub(super) fn render(document: &Document) -> String {
    let origin = format!("{} This page makes no network requests.", document.origin);
    let document = &Document { origin, ..document.clone() };
    page::page(&format!("{} · Pitot", document.title), &content(document, page::BRAND, ""))
}
