//! Gates for continuous integration: `throughput < -5%`, `p99 > 2ms`, `noisy`.
//!
//! A gate must not fire on noise, and must not pass for lack of data. A cell **meets** it only if its whole 95% interval is beyond
//! the limit; for a change, a difference must also be declared (shown to exceed the tolerance after correction for all cells). A cell
//! that failed only in the second run meets it too. A cell **passes** if its whole interval is on the other side. Everything else is
//! **undecided**: an interval that includes the limit, a cell that is missing from the second run, was network-bound or missed
//! its rate, too few repetitions, nothing to compare, and a cell that would pass but did other work than its baseline. A noisy
//! cell is judged by its interval like any other.

mod condition;
mod judge;
mod outcome;

pub use condition::Gate;
pub(super) use outcome::CellOutcome;
