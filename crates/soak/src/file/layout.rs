//! How the file of a soak is known.

/// `PRAGMA application_id`: "PitS".
pub(super) const APPLICATION_ID: i64 = 0x5069_7453;
/// `PRAGMA user_version`: the layout that this version writes.
pub(super) const LAYOUT: u32 = 5;
