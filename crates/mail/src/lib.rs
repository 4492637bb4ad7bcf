//! The mail engine: one message to many recipients, each of them exactly one outcome.
//!
//! [`Options`] say what the user wants, [`Plan::new`] checks them, [`run`] does it, and [`Report`] is what came out.
//! Recipients are grouped by domain, and domains whose mail goes to the same address share its connections. A
//! transaction carries recipients of one domain only, as large receivers insist on (several if there is a relay).
//! With a journal a run that was killed goes on where it stopped ([`journal`] says what exactly it promises).
#![forbid(unsafe_code)]

pub mod address;
mod batch;
mod book;
mod dialogue;
pub mod dns;
mod doubt;
mod engine;
mod hosts;
pub mod journal;
mod letter;
pub mod list;
mod outcome;
pub mod output;
mod plan;
mod report;
mod route;
mod session;
mod slots;
mod timeouts;
mod tls;

pub use engine::{Progress, RunError, Watch, run};
pub use letter::TlsPolicy;
pub use outcome::{Outcome, Settled};
pub use plan::{Options, Plan};
pub use report::{
    Bytes, ConnectionCounts, DomainRow, EngineUse, JournalCounts, OutcomeRow, RecipientCounts, Report,
};
