//! The disk is full.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{FallocateFlags, fallocate, statvfs};

use crate::entry::{Aim, Begun, Fault, Means};
use crate::options::Options;
use crate::undo::Undo;

pub(super) static FAULT: Fault = Fault {
    name: "disk-full",
    summary: "Fill the file system on which the server's private directory lies.",
    doc: "Writes fail with ENOSPC. Only a small file system that others do not need is ever filled: not that of / or of /tmp, and \
          none with more than 5 GiB free, so a plan makes one for its servers (`host.filesystem = [\"ext4\"]`, as root). The \
          space is reserved by a file (fallocate(2)) and given back with it.",
    aim: Aim::Directory,
    takes: &[],
    lasts_s: 1.0,
    is_moment: false,
    may_end_server: true,
    probe: || Ok(()),
    means: Means::Program {
        begin,
        undo: |path| {
            let _ = std::fs::remove_file(path);
        },
    },
};

/// A file system with more room is not one that was made for the purpose.
const FREE_BYTES_MAX: u64 = 5 << 30;
/// The name of the file.
const NAME: &str = ".pitot-disk-full";
/// What is reserved at once, from the largest to the smallest.
const PARTS: [u64; 4] = [256 << 20, 16 << 20, 1 << 20, 4096];

fn begin(options: &Options, undo: &mut Undo) -> Result<Begun, String> {
    let dir = options.dir.as_deref().ok_or("the directory is not known")?;
    let free = check(dir)?;
    let path = dir.join(NAME);
    undo.note(&path.to_string_lossy())?;
    let file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&path)
        .map_err(|e| format!("{} cannot be made: {e}", path.display()))?;
    let filled = fill(&file).map_err(|e| format!("{} cannot be filled: {e}", dir.display()))?;
    Ok(Begun::done(format!(
        "{filled} of {free} free bytes are taken on the file system of {}",
        dir.display()
    )))
}

/// How much is free, if the file system may be filled.
fn check(dir: &Path) -> Result<u64, String> {
    let device = |path: &Path| std::fs::metadata(path).map(|data| data.dev());
    let own = device(dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    let others = [Path::new("/"), Path::new("/tmp"), Path::new("/var/tmp"), Path::new("/dev/shm")];
    if let Some(other) = others.iter().find(|other| device(other).is_ok_and(|other| other == own)) {
        return Err(format!(
            "{} lies on the file system of {}, which others need too; a plan makes one for its servers: host.filesystem = [\"ext4\"]",
            dir.display(),
            other.display()
        ));
    }
    let system = statvfs(dir).map_err(|e| e.to_string())?;
    let free = system.f_bfree * system.f_frsize;
    if free > FREE_BYTES_MAX {
        return Err(format!(
            "{} has {free} bytes free: that is no file system made for the purpose",
            dir.display()
        ));
    }
    Ok(free)
}

/// Reserves all that is there; returns how much that was.
fn fill(file: &File) -> Result<u64, rustix::io::Errno> {
    let mut filled = 0;
    for part in PARTS {
        loop {
            match fallocate(file, FallocateFlags::empty(), filled, part) {
                Ok(()) => filled += part,
                Err(rustix::io::Errno::NOSPC) => break,
                Err(rustix::io::Errno::INTR) => {}
                Err(e) => return Err(e),
            }
        }
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_system_that_others_need_is_never_filled() {
        assert!(check(Path::new("/")).unwrap_err().contains("others need too"));
        assert!(check(&std::env::temp_dir()).is_err());
    }
}
