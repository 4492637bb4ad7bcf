//! Settings that are files of /proc and /sys, each opened below its tree: no key leads out of it.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};

use pitot_sys::safe_open::{Links, beneath};
use rustix::fs::{Access, AtFlags, CWD, Mode, OFlags, accessat, fstat, openat};

use super::value::not_among;
use crate::machine::Machine;

/// The trees that have settings. Links of /sys name devices; in the others there are none.
const TREES: &[(&str, Links)] =
    &[("/proc/sys", Links::Refuse), ("/proc/irq", Links::Refuse), ("/sys", Links::Follow)];

/// Opens a file, which is named from the machine's root.
fn open(machine: &Machine, path: &str, flags: OFlags) -> io::Result<OwnedFd> {
    let within = TREES.iter().find_map(|(tree, links)| {
        let rest = path.strip_prefix(tree)?.strip_prefix('/')?;
        Some((tree, rest, *links))
    });
    let (tree, rest, links) = within.ok_or(io::ErrorKind::InvalidInput)?;
    if rest.split('/').any(|name| matches!(name, "" | "." | "..")) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let directory = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = openat(CWD, machine.path(tree), directory, Mode::empty())?;
    Ok(beneath(root, rest.as_bytes(), flags | OFlags::CLOEXEC, links)?)
}

/// The content without the newline at its end. White space within is kept: it is written back as it was found.
pub(super) fn read(machine: &Machine, path: &str) -> io::Result<String> {
    let mut text = String::new();
    File::from(open(machine, path, OFlags::RDONLY)?).read_to_string(&mut text)?;
    Ok(text.trim_end_matches('\n').to_owned())
}

/// Writes a value in one system call, as the kernel wants it. Nothing is truncated: a kill must not leave an empty file.
pub(super) fn write(machine: &Machine, path: &str, value: &str) -> io::Result<()> {
    let mut file = File::from(open(machine, path, OFlags::WRONLY)?);
    file.write_all(format!("{value}\n").as_bytes())
}

/// Whether this user may write it, a file or a directory, by its effective rights.
///
/// `Unsupported` where nobody may: parameters of all network namespaces together can only be read in all but the first.
pub(super) fn may_write(machine: &Machine, path: &str) -> io::Result<()> {
    let file = open(machine, path, OFlags::PATH)?;
    if fstat(&file)?.st_mode & 0o222 == 0 {
        return Err(io::ErrorKind::Unsupported.into());
    }
    let same = format!("/proc/self/fd/{}", file.as_raw_fd());
    Ok(accessat(CWD, same, Access::WRITE_OK, AtFlags::EACCESS)?)
}

/// Why a value is none of the choices of a file that shows them; none if it is one, or the file shows none.
pub(super) fn no_choice(machine: &Machine, path: &str, value: &str) -> Option<String> {
    let text = read(machine, path).ok()?;
    if !text.contains('[') {
        return None;
    }
    let choices: Vec<&str> = text.split_whitespace().map(|word| word.trim_matches(['[', ']'])).collect();
    not_among(&choices, value)
}

/// The word in brackets of a file that shows all its choices, `always [madvise] never`; the content if it shows one.
pub(super) fn choice(machine: &Machine, path: &str) -> io::Result<String> {
    let text = read(machine, path)?;
    let chosen = text.split_whitespace().find_map(|word| word.strip_prefix('[')?.strip_suffix(']'));
    Ok(chosen.map_or_else(|| text.trim().to_owned(), str::to_owned))
}
