//! The figures of a verdict about what a server acknowledged and has kept.

/// Requests whose replies were right.
pub const ACKNOWLEDGED: &str = "acknowledged";
/// Those that are not there whole.
pub const LOST: &str = "lost";
/// Those of which something is there.
pub const TORN: &str = "torn";
/// Those that are there more than once.
pub const DOUBLED: &str = "doubled";
