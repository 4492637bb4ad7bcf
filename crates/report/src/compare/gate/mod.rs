//! Gates for continuous integration: `throughput < -5%`, `p99 > 2ms`, `noisy`.
//!
//! A gate must not fire on noise, and must not pass for lack of data. So a cell **meets** it only where the whole 95%
//! interval lies beyond the limit; for a change, a difference must have been declared there as well (significant after
//! correction over all cells, and beyond the tolerance). A cell that failed in the second run only meets it too. A cell
//! **passes** if its whole interval lies on the other side. Everything else is **undecided**, which is neither: an interval
//! that holds the limit, a cell that is missing from the second run, one that was network-bound or missed its rate, too few
//! repetitions, nothing to compare; and a change of a cell that would pass and did other work than its baseline. A noisy cell is judged by its interval as any other.

mod condition;
mod judge;
mod outcome;

pub use condition::{Gate, GateError};
pub use outcome::{CellOutcome, GateCell, GateOutcome};
