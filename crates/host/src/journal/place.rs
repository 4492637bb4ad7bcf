//! Where the journal is.

use std::path::{Path, PathBuf};

use pitot_sys::safe_open::own_file;
use rustix::fs::{Access, CWD, OFlags, access};
use rustix::process::geteuid;

/// Where the journal is unless somebody says otherwise.
pub const PLACE: &str = "/var/lib/pitot/host-journal";
/// The environment variable that names another place.
pub const PLACE_VARIABLE: &str = "PITOT_HOST_JOURNAL";

/// Where the journal is: where the variable says, or [`PLACE`]; for a user who cannot write there, a place that follows from
/// the user alone, so that every program of this user looks there.
pub fn place() -> PathBuf {
    let given = std::env::var_os(PLACE_VARIABLE).filter(|place| !place.is_empty());
    given.map_or_else(own_place, PathBuf::from)
}

fn own_place() -> PathBuf {
    let place = Path::new(PLACE);
    let directory = place.parent().unwrap_or(place);
    let nearest = if directory.exists() { directory } else { Path::new("/var/lib") };
    // One that is there counts also where it can only be read.
    let is_usable = own_file(CWD, place, OFlags::RDONLY).is_ok() || access(nearest, Access::WRITE_OK).is_ok();
    match is_usable {
        true => place.to_owned(),
        false => format!("/var/tmp/pitot-{}/host-journal", geteuid().as_raw()).into(),
    }
}
