use std::ops::RangeInclusive;
use std::time::Duration;

use crate::request::RequestSpec;

/// A session as the user wrote it.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionSpec {
    /// Its name in results.
    pub name: String,
    /// Its weight, relative to the others.
    pub weight: f64,
    /// Numbers drawn when it begins.
    pub draws: Vec<DrawSpec>,
    /// Its steps, in order; at least one.
    pub steps: Vec<StepSpec>,
}

/// A number that is drawn for each session, the same in all of its steps.
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
    /// Its name in results.
    pub name: String,
    /// The request. Its path, header values and body may contain `{name}`.
    pub request: RequestSpec,
    /// Statuses with which the session continues; empty for those of the run.
    pub expect_status: Vec<RangeInclusive<u16>>,
    /// The values to take from its reply.
    pub take: Vec<TakeSpec>,
    /// The pause between its reply and the next request of the session, or the next session.
    pub think: Duration,
    /// It belongs to the burst that the step before it belongs to or begins. The first request of a burst is sent alone; when its
    /// reply is complete, all others follow at once, as in httperf.
    pub burst: bool,
}

/// A value to take from a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakeSpec {
    /// The name by which later requests put it in.
    pub name: String,
    /// Its place in the reply.
    pub from: Source,
}

/// The place of a value in a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The status.
    Status,
    /// The value of the first header of that name.
    Header(String),
    /// The first group of the first match of a regular expression in the body, or the whole match without groups.
    Regex(String),
    /// The value of a JSON pointer (RFC 6901) in the body.
    Json(String),
}
