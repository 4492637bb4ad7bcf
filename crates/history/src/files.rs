//! Finds the files of runs and soaks.

use std::fs;
use std::path::{Path, PathBuf};

use pitot_results::Failure;

/// Directories below a named one are searched so deep.
const DEPTH_MAX: usize = 6;

/// Whether a file has the name of a record.
pub fn is_record(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "pitot")
}

/// The named files, and all `*.pitot` files of the named directories and those below them, each once and by name. Hidden directories
/// and symbolic links to directories are left out.
///
/// # Errors
/// If one of the names does not exist.
pub fn files(named: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut found = Vec::new();
    for path in named {
        let about = fs::metadata(path).map_err(|e| {
            Failure::misuse(
                format!("{} cannot be read: {e}", path.display()),
                "name a directory or files of runs",
            )
        })?;
        match about.is_dir() {
            true => search(path, DEPTH_MAX, &mut found),
            false => found.push(path.clone()),
        }
    }
    found.sort();
    found.dedup();
    Ok(found)
}

/// What cannot be listed is left out: another user's directory is no reason to show nothing.
fn search(directory: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let Ok(kind) = entry.file_type() else { continue };
        let path = entry.path();
        let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        if kind.is_dir() && depth > 0 && !is_hidden {
            search(&path, depth - 1, found);
        } else if !kind.is_dir() && is_record(&path) && path.is_file() {
            found.push(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_directories_are_found_once_and_hidden_ones_are_left_out() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        for folder in ["a/b", ".git"] {
            fs::create_dir_all(at(folder)).unwrap();
        }
        for name in ["x.pitot", "a/b/y.pitot", "a/z.html", ".git/w.pitot"] {
            fs::write(at(name), "").unwrap();
        }
        std::os::unix::fs::symlink(root.path(), at("a/loop")).unwrap();
        let found = files(&[root.path().to_owned(), at("x.pitot")]).unwrap();
        assert_eq!(found, [at("a/b/y.pitot"), at("x.pitot")]);
        assert!(files(&[at("missing")]).is_err());
    }
}
