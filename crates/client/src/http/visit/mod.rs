//! Connections that keep cookies and follow redirects. This is decided when a connection is made and costs other runs nothing.

mod conn;
mod redirects;
#[cfg(test)]
mod tests;
mod visitor;

pub(super) use conn::VisitConn;
pub(crate) use visitor::{Visiting, Visitor};
