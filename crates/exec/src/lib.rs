//! Commands that are executed again and again, and what each execution used: CPU time, wall time, memory, page faults and context
//! switches, as wait4(2) reports them.
//!
//! A [`Session`] holds any number of commands and executes them in slices, when they are asked for, as a held load sends requests. So
//! commands that are compared take turns, and what else happens on the machine meets all of them alike. A slice has as many executions
//! as begin within its length, and at least one: a command of a millisecond is executed some forty times in a slice, one of a minute
//! once.
#![forbid(unsafe_code)]

mod execution;
mod session;

pub use execution::{Executed, Recipe};
pub use session::Session;
