//! Files that options name.

use std::fs;
use std::io::Read as _;
use std::path::Path;

use pitot_results::Failure;

/// A file that an option names.
pub fn read(file: &Path) -> Result<Vec<u8>, Failure> {
    fs::read(file).map_err(|e| {
        Failure::misuse(
            format!("cannot read the file {}: {e}", file.display()),
            "check its name and its permissions",
        )
    })
}

/// True if the name is that of standard input.
pub fn is_stdin(file: &Path) -> bool {
    file.as_os_str() == "-"
}

/// A file that an option names, or standard input for `-`.
pub fn read_or_stdin(file: &Path) -> Result<Vec<u8>, Failure> {
    if !is_stdin(file) {
        return read(file);
    }
    let mut bytes = Vec::new();
    match std::io::stdin().lock().read_to_end(&mut bytes) {
        Ok(_) => Ok(bytes),
        Err(e) => {
            Err(Failure::misuse(format!("cannot read standard input: {e}"), "name a file instead of -"))
        }
    }
}

/// The name of a file in messages.
pub fn name(file: &Path) -> String {
    if is_stdin(file) { "standard input".into() } else { file.display().to_string() }
}

/// A body: the text itself, or the content of the file behind an at sign.
pub fn body(text: &str) -> Result<Vec<u8>, Failure> {
    match text.strip_prefix('@') {
        Some(file) => read(Path::new(file)),
        None => Ok(text.as_bytes().to_vec()),
    }
}
