//! Small files and directories of /proc and /sys.

use std::fs;
use std::path::Path;

/// The trimmed content of a small file.
pub(crate) fn read(path: impl AsRef<Path>) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// The names in a directory, sorted.
pub(crate) fn names(path: impl AsRef<Path>) -> Vec<String> {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.map(|e| e.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
