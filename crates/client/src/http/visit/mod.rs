//! Connections that keep cookies and follow redirects. Whether a run wants that is decided once, when a connection is
//! made, so that it costs the others nothing.

mod conn;
mod redirects;
#[cfg(test)]
mod tests;
mod visitor;

pub(super) use conn::VisitConn;
pub(crate) use visitor::{Visiting, Visitor};
