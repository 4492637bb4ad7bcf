//! Advice which server to build or choose for a load, by measurement.
//!
//! [`KNOWN`] has published rules, and [`CONTENDERS`] has candidates, each with a reason why it could or could not be best for a
//! [`Case`]. [`plan_text`] writes a plan of the possible ones; [`LevelAnswer`] reads the run file, and [`probes`] selects other loads
//! that could change the answer.

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
