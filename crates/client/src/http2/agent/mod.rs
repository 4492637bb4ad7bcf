//! Who asks on a connection that does more than to send the same requests again and again: users who keep cookies and
//! follow redirects, a browser, or a user who plays sessions. A connection without such an agent has none of its state.
//!
//! What is asked is worded as HTTP/1.1 has it, by the code of that version, and translated by [`wording`](super::wording); the
//! heads of replies are shown to it as text as well. So the rules are the same ones, whatever the version.

mod attended;
mod browser;
mod contract;
mod seats;
mod session;
mod varied;
mod visit;

pub(super) use attended::Attended;
pub(super) use browser::BrowserPlan;
pub(super) use contract::{After, AgentPlan, Of, Wording};
pub(super) use session::SessionPlan;
pub(super) use varied::VariedPlan;
pub(super) use visit::VisitPlan;
