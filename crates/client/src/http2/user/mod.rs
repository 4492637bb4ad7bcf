//! What a connection does beyond sending the same requests again and again: users who keep cookies and follow redirects, a
//! browser, a user who plays sessions, or requests with random numbers. Connections without a driver have none of its state.
//!
//! The driver writes requests as text of HTTP/1.1, with the code of that version, and [`wording`](super::wording) translates
//! them. It gets the heads of replies as text as well. So both versions follow the same rules.

mod browser;
mod contract;
mod driver;
mod session;
mod slots;
mod varied;
mod visit;

pub(super) use browser::BrowserPlan;
pub(super) use contract::{After, DriverPlan, RequestId, Wording};
pub(super) use driver::UserDriver;
pub(super) use session::SessionPlan;
pub(super) use varied::VariedPlan;
pub(super) use visit::VisitPlan;
