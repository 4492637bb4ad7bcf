//! Where the journal is.

use std::path::PathBuf;

/// Where the journal is unless somebody says otherwise.
pub const PLACE: &str = "/var/lib/pitot/host-journal";
/// The environment variable that names another place.
pub const PLACE_VARIABLE: &str = "PITOT_HOST_JOURNAL";

/// Where the journal is.
pub fn place() -> PathBuf {
    std::env::var_os(PLACE_VARIABLE)
        .filter(|place| !place.is_empty())
        .map_or_else(|| PLACE.into(), PathBuf::from)
}
