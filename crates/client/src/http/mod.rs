//! The client side of HTTP/1.1 (RFC 9112), for any server.
//!
//! Only the status line and the framing of each reply are parsed, which takes some 50 ns. Content is compared only on request.

mod browser;
mod build;
mod chunked;
mod conn;
mod cookies;
mod head;
mod reader;
mod request_head;
mod session;
mod site;
mod step;
#[cfg(test)]
mod tests;
mod visit;

pub(super) use browser::{Pages, Sight};
pub(super) use build::{build, check_varied, pages, requests, visiting, without_cookies};
pub(super) use cookies::Jar;
pub(super) use head::{Head, number};
pub(super) use reader::{Parts, Reader};
pub(super) use session::{Compiled, compile};
pub(super) use site::Request;
pub(super) use step::{Step, path};
pub(super) use visit::{Visiting, Visitor};
