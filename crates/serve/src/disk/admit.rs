use std::path::Path;
use std::sync::Arc;

use pitot_disk::DiskFile;
use pitot_sys::Unavailable;

use super::plan::DiskPlan;
use super::reader::Disk;

/// Limit on the files that are tried with the engine.
const SAMPLES_MAX: usize = 200;

/// Checks with a sample of the files to be served that the engine can read them.
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
            cause: "their file system does not support O_DIRECT".into(),
            fix: "omit --disk-direct, or serve files from a file system on a disk".into(),
        }),
        // The file may disappear, or not be readable.
        Err(_) => Ok(()),
    }
}
