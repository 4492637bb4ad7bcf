//! What servers have stored of requests, found in a directory of files or in a Maildir.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::acknowledged::{Acknowledged, Stored};
use crate::name::RequestName;

/// The longest header of a mail, bytes.
const HEADER_BYTES_MAX: usize = 64 << 10;

/// A file with a stored request, or a part of one.
pub(crate) struct StoredCopy<'c> {
    pub(crate) name: RequestName<'c>,
    pub(crate) path: &'c Path,
    pub(crate) is_whole: bool,
}

/// Calls back for every copy of `wanted` requests in a directory of files or a Maildir. A server may be running: files that
/// disappear meanwhile are skipped.
///
/// # Errors
/// The directory or a file cannot be read.
pub(crate) fn each_copy<'a>(
    dir: &Path,
    of: Stored,
    wanted: &dyn Fn(RequestName<'_>) -> Option<&'a Acknowledged>,
    see: &mut dyn FnMut(&StoredCopy<'_>),
) -> io::Result<()> {
    match of {
        Stored::Uploads => each_file(dir, &mut |path| {
            let Some(name) = path.file_name().and_then(|name| name.to_str()).and_then(RequestName::find)
            else {
                return Ok(());
            };
            if let Some(acknowledged) = wanted(name) {
                see(&StoredCopy { name, path, is_whole: acknowledged.is_whole(&fs::read(path)?) });
            }
            Ok(())
        }),
        // A mail in `tmp` is not delivered.
        Stored::Mail => ["new", "cur"].map(|name| dir.join(name)).iter().try_for_each(|folder| {
            each_file(folder, &mut |path| {
                let mail = fs::read(path)?;
                let header = String::from_utf8_lossy(&mail[..mail.len().min(HEADER_BYTES_MAX)]);
                let Some(name) = RequestName::find(&header) else { return Ok(()) };
                if let Some(acknowledged) = wanted(name) {
                    see(&StoredCopy { name, path, is_whole: acknowledged.is_whole(&mail) });
                }
                Ok(())
            })
        }),
    }
}

/// Every file below a directory.
fn each_file(dir: &Path, see: &mut dyn FnMut(&Path) -> io::Result<()>) -> io::Result<()> {
    let mut folders: Vec<PathBuf> = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let seen = entry.file_type().and_then(|kind| {
                if kind.is_dir() {
                    folders.push(entry.path());
                }
                if kind.is_file() { see(&entry.path()) } else { Ok(()) }
            });
            match seen {
                Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                seen => seen?,
            }
        }
    }
    Ok(())
}
