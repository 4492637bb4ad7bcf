//! The files that candidates serve: written once, and the same for all of them.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use pitot_meter::units::counted;
use pitot_results::Failure;
use pitot_study::advise::Case;

/// Size of all files together, at most: cold files are dropped from memory anyway.
const BYTES_MAX: u64 = 512 << 20;
/// The files that a worker keeps open.
const COUNT_MAX: u64 = 1000;
const COUNT_MIN: u64 = 4;
/// Written at a time.
const CHUNK: usize = 1 << 20;

/// Where they are.
pub(super) struct FileStore {
    pub(super) directory: PathBuf,
    pub(super) count: u64,
    bytes: u64,
    is_cold: bool,
}

impl FileStore {
    /// The files of a case, below a directory; none if it has none.
    pub(super) fn of(case: &Case, directory: &Path) -> Option<FileStore> {
        let files = case.files?;
        let all = files.bytes.min(BYTES_MAX);
        let least = COUNT_MIN.min(files.bytes / case.size_bytes).max(1);
        Some(FileStore {
            directory: directory.join("files"),
            count: (all / case.size_bytes).clamp(least, COUNT_MAX),
            bytes: case.size_bytes,
            is_cold: files.is_cold,
        })
    }

    pub(super) fn note(&self) -> String {
        let files = counted(self.count, "file", "files");
        match self.is_cold {
            true => format!("{files} represent all; each is dropped from the page cache before it is sent"),
            false => format!("{files} represent all; they are in the page cache"),
        }
    }

    /// Writes them to the disk.
    ///
    /// # Errors
    /// If they do not fit, or should be cold and the directory is in memory.
    pub(super) fn write(&self) -> Result<(), Failure> {
        let whole = || -> io::Result<()> {
            std::fs::create_dir_all(&self.directory)?;
            let content: Vec<u8> = (0..CHUNK).map(|at| b'a' + (at % 23) as u8).collect();
            for number in 0..self.count {
                let mut file = File::create(self.directory.join(format!("{number}.bin")))?;
                let mut left = self.bytes;
                while left > 0 {
                    let part = left.min(CHUNK as u64);
                    file.write_all(&content[..part as usize])?;
                    left -= part;
                }
                // Unwritten pages cannot be dropped from the page cache.
                file.sync_data()?;
            }
            Ok(())
        };
        whole().map_err(|e| {
            Failure::run(
                format!("the files to be served cannot be written to {}: {e}", self.directory.display()),
                "set TMPDIR to a directory with space for them",
            )
        })?;
        let system = pitot_disk::file_system::name(&self.directory).unwrap_or_default();
        match self.is_cold && ["tmpfs", "ramfs"].contains(&system.as_str()) {
            true => Err(Failure::misuse(
                format!("{} is in memory ({system}), where no file is cold", self.directory.display()),
                "set TMPDIR to a directory on a disk",
            )),
            false => Ok(()),
        }
    }
}
