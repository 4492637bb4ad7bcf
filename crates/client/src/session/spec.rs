use std::ops::RangeInclusive;
use std::time::Duration;

use crate::request::RequestSpec;

/// A session as the user wrote it.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionSpec {
    /// Its name in figures.
    pub name: String,
    /// How often it is chosen, relative to the others.
    pub weight: f64,
    /// Numbers that are drawn when it begins.
    pub draws: Vec<DrawSpec>,
    /// What is done, in order; at least one step.
    pub steps: Vec<StepSpec>,
}

/// A number that is drawn for each session, and is the same in all of its steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrawSpec {
    /// The name by which requests put it in.
    pub name: String,
    /// The smallest.
    pub first: i64,
    /// The largest.
    pub last: i64,
}

/// One request of a session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepSpec {
    /// Its name in figures.
    pub name: String,
    /// The request. Its path, the values of its headers and its body may hold `{name}`.
    pub request: RequestSpec,
    /// Statuses with which the session goes on; empty for those of the run.
    pub expect_status: Vec<RangeInclusive<u16>>,
    /// What is taken from its reply.
    pub take: Vec<TakeSpec>,
    /// The pause between its reply and the next request of the session, or the next session.
    pub think: Duration,
    /// It belongs to the burst that the step before it belongs to, or begins. The first request of a burst goes alone;
    /// when its reply is complete all others follow at once, as in httperf.
    pub burst: bool,
}

/// A value that is taken from a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakeSpec {
    /// The name by which later requests put it in.
    pub name: String,
    /// Where in the reply it is.
    pub from: Source,
}

/// Where in a reply a value is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// It is the status.
    Status,
    /// It is the value of a header of that name, the first one.
    Header(String),
    /// It is the first group of the first match of a regular expression in the body, or the whole match of one without.
    Regex(String),
    /// It is what a JSON pointer (RFC 6901) leads to in the body.
    Json(String),
}
