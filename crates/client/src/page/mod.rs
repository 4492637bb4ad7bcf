//! What a browser reads of a page: the addresses of the images, scripts, style sheets and frames that belong to it.
//!
//! The two scanners take a document in pieces as it arrives and keep no more of it than the tag, or the `url()`, that is
//! not complete yet. They are tolerant, as browsers are: every sequence of bytes is a document. They build no tree and
//! run no script, so that what a script would load is not found.

mod carry;
mod conn;
mod css;
mod find;
mod found;
mod html;
mod origin;
#[cfg(test)]
mod tests;

pub use conn::{PageConn, Search};
pub use css::Css;
pub use find::{Find, Kind};
pub use found::{Found, Redirect, Reference};
pub use html::Html;
pub use origin::{Base, Origin, Place};
