//! The mail engine: one message to many recipients, with exactly one outcome for each.
//!
//! [`MailPlan::new`] checks [`Options`]; [`run`] executes the plan and returns a [`pitot_results::mail::MailResult`]. Recipients
//! are grouped by domain, and domains with the same mail host share its connections. A transaction has recipients of one domain
//! only, as large receivers require (several with a relay). With a journal, a killed run continues where it stopped ([`journal`]
//! describes the guarantee).
#![forbid(unsafe_code)]

pub mod address;
mod batch;
mod dialogue;
pub mod dns;
mod dry_run;
mod endpoint;
mod engine;
mod hosts;
pub mod journal;
pub mod list;
mod login;
mod message;
mod outcome;
pub mod output;
mod plan;
mod queues;
mod reasons;
mod relay;
mod report;
mod route;
mod seen;
mod session;
mod slots;
mod timeouts;
mod tls;
mod unacknowledged;
mod well_formed;

pub use dry_run::dry_run;
pub use engine::{Finished, Observer, Progress, RunError, run};
pub use message::TlsPolicy;
pub use outcome::Settled;
pub use plan::{MailPlan, Options};
