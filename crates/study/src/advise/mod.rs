//! Advice for a description of a load: which server to build or choose, by measurement.
//!
//! Nothing here runs anything. [`KNOWN`] is what others have published, [`CONTENDERS`] is what could be built, and each
//! contender says itself why it could be best for a [`Case`] or why not. [`plan_text`] makes a plan of those that could, which
//! is run like any other; [`LevelAnswer`] reads the run file, and [`probes`] says which other loads show what would change the
//! answer.

mod answer;
mod case;
mod contenders;
mod hosts;
mod known;
mod plan;
mod probe;
mod service;
mod turn;

pub use answer::{Against, LevelAnswer, Standing};
pub use case::{Case, FileSet};
pub use contenders::{CONTENDERS, Choice, Contender, Family, Isolation, choose, may_be_advised};
pub use hosts::topics;
pub use known::{KNOWN, Known, known};
pub use plan::{Axis, Wanted, plan_text};
pub use probe::{Probe, entrants, excluded, probes};
pub use service::{SERVICES, Service};
pub use turn::{Turn, Turns, turns};
