//! What a browser loads with a page: the addresses of its images, scripts, style sheets and frames.
//!
//! Both scanners take a document in pieces as it arrives, and keep only an incomplete tag or `url()`. They are tolerant, as
//! browsers are: every sequence of bytes is a document. They build no tree and run no scripts.

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
