use std::path::Path;
use std::sync::Arc;

use pitot_disk::DiskFile;
use pitot_sys::Unavailable;

use super::plan::DiskPlan;
use super::reader::Disk;

/// Files that are looked at, at most, to see whether the engine can read what is served.
const SAMPLES_MAX: usize = 200;

/// Checks that the engine can read the files that are to be served, as far as a look at some of them tells.
///
/// # Errors
/// What their file system lacks.
pub fn admit(plan: &DiskPlan, root: &Path) -> Result<(), Unavailable> {
    let Ok(disk) = Disk::open(plan) else { return Ok(()) };
    let names = std::fs::read_dir(root).into_iter().flatten().flatten().take(SAMPLES_MAX);
    let mut files = names.map(|entry| entry.path()).filter(|path| path.is_file());
    let Some(path) = files.next() else { return Ok(()) };
    match DiskFile::open(&path, &plan.file_options()) {
        Ok(file) => disk.admit(&Arc::new(file)),
        Err(e) if plan.options.direct && e.kind() == std::io::ErrorKind::InvalidInput => Err(Unavailable {
            what: "direct reads (O_DIRECT) of the files below the root".into(),
            cause: "their file system does not offer them".into(),
            cure: "leave --disk-direct away, or serve files of a file system on a disk".into(),
        }),
        // It may go away, or be none of ours to read.
        Err(_) => Ok(()),
    }
}
