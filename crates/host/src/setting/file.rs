//! Settings that are files of /proc and /sys.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rustix::fs::{Access, AtFlags, CWD, accessat};

use super::value::not_among;

/// The content without the newline at its end. White space within is kept: it is written back as it was found.
pub(super) fn read(path: &Path) -> io::Result<String> {
    let text = fs::read_to_string(path)?;
    Ok(text.trim_end_matches('\n').to_owned())
}

/// Writes a value in one system call, as the kernel wants it. Nothing is truncated: a kill must not leave an empty file.
pub(super) fn write(path: &Path, value: &str) -> io::Result<()> {
    let mut file = fs::OpenOptions::new().write(true).open(path)?;
    file.write_all(format!("{value}\n").as_bytes())
}

/// Whether this user may write it, by its effective rights.
///
/// `Unsupported` where nobody may: parameters of all network namespaces together can only be read in all but the first.
pub(super) fn may_write(path: &Path) -> io::Result<()> {
    if fs::metadata(path)?.permissions().mode() & 0o222 == 0 {
        return Err(io::ErrorKind::Unsupported.into());
    }
    Ok(accessat(CWD, path, Access::WRITE_OK, AtFlags::EACCESS)?)
}

/// Why a value is none of the choices of a file that shows them; none if it is one, or the file shows none.
pub(super) fn no_choice(path: &Path, value: &str) -> Option<String> {
    let text = read(path).ok()?;
    if !text.contains('[') {
        return None;
    }
    let choices: Vec<&str> = text.split_whitespace().map(|word| word.trim_matches(['[', ']'])).collect();
    not_among(&choices, value)
}

/// The word in brackets of a file that shows all its choices, `always [madvise] never`; the content if it shows one.
pub(super) fn choice(path: &Path) -> io::Result<String> {
    let text = read(path)?;
    let chosen = text.split_whitespace().find_map(|word| word.strip_prefix('[')?.strip_suffix(']'));
    Ok(chosen.map_or_else(|| text.trim().to_owned(), str::to_owned))
}
