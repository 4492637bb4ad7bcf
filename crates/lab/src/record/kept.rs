//! The figures of a verdict about what a server acknowledged and has kept.

/// Requests whose replies were right.
pub(crate) const ACKNOWLEDGED: &str = "acknowledged";
/// Those that are not there whole.
pub(crate) const LOST: &str = "lost";
/// Those of which something is there.
pub(crate) const TORN: &str = "torn";
/// Those that are there more than once.
pub(crate) const DOUBLED: &str = "doubled";
