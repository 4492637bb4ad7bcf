//! Archives in the format "newc" of cpio(5), which the kernel unpacks at its start
//! (Documentation/driver-api/early-userspace/buffer-format.rst).

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

const MAGIC: &[u8; 6] = b"070701";
const HEADER_BYTES: usize = 110;
const TRAILER: &str = "TRAILER!!!";
/// Maximum length of a name.
const NAME_BYTES_MAX: usize = 4096;

/// The bits of a mode for the type of an entry.
const KIND: u32 = 0o170_000;
const DIRECTORY: u32 = 0o040_000;
const FILE: u32 = 0o100_000;
const LINK: u32 = 0o120_000;
const CHARACTER_DEVICE: u32 = 0o020_000;

/// Writes an archive.
#[derive(Debug)]
pub(crate) struct Writer<W: Write> {
    to: W,
    entries: u32,
    known: BTreeSet<String>,
}

impl<W: Write> Writer<W> {
    pub(crate) fn new(to: W) -> Writer<W> {
        Writer { to, entries: 0, known: BTreeSet::new() }
    }

    /// Adds a file with its permissions, and its parent directories. Of two with the same path the first counts.
    pub(crate) fn file(&mut self, path: &str, mode: u32, content: &[u8]) -> io::Result<()> {
        self.entry(path, FILE | mode, (0, 0), content)
    }

    /// A symbolic link.
    pub(crate) fn link(&mut self, path: &str, target: &str) -> io::Result<()> {
        self.entry(path, LINK | 0o777, (0, 0), target.as_bytes())
    }

    /// A directory.
    pub(crate) fn directory(&mut self, path: &str) -> io::Result<()> {
        self.entry(path, DIRECTORY | 0o755, (0, 0), b"")
    }

    /// A character device by its numbers.
    pub(crate) fn device(&mut self, path: &str, major: u32, minor: u32) -> io::Result<()> {
        self.entry(path, CHARACTER_DEVICE | 0o600, (major, minor), b"")
    }

    /// Ends the archive.
    pub(crate) fn finish(mut self) -> io::Result<W> {
        self.raw(TRAILER, 0, (0, 0), b"")?;
        self.to.flush()?;
        Ok(self.to)
    }

    fn entry(&mut self, path: &str, mode: u32, device: (u32, u32), content: &[u8]) -> io::Result<()> {
        let path = path.trim_matches('/');
        if path.is_empty() || self.known.contains(path) {
            return Ok(());
        }
        for (at, _) in path.match_indices('/') {
            if self.known.insert(path[..at].to_owned()) {
                self.raw(&path[..at], DIRECTORY | 0o755, (0, 0), b"")?;
            }
        }
        self.known.insert(path.to_owned());
        self.raw(path, mode, device, content)
    }

    fn raw(&mut self, path: &str, mode: u32, device: (u32, u32), content: &[u8]) -> io::Result<()> {
        let size = u32::try_from(content.len())
            .map_err(|_| io::Error::new(io::ErrorKind::FileTooLarge, format!("{path} has 4 GiB or more")))?;
        self.entries += 1;
        let links = if mode & DIRECTORY != 0 { 2 } else { 1 };
        self.to.write_all(MAGIC)?;
        let fields =
            [self.entries, mode, 0, 0, links, 0, size, 0, 0, device.0, device.1, path.len() as u32 + 1, 0];
        for field in fields {
            write!(self.to, "{field:08x}")?;
        }
        self.to.write_all(path.as_bytes())?;
        self.to.write_all(&[0; 4][..1 + padding(HEADER_BYTES + path.len() + 1)])?;
        self.to.write_all(content)?;
        self.to.write_all(&[0; 4][..padding(content.len())])
    }
}

/// Bytes up to the next multiple of four.
fn padding(length: usize) -> usize {
    length.wrapping_neg() % 4
}

/// Reads the files of an archive. None if it is truncated or not an archive; a complete one ends with a trailer.
pub(crate) fn read(from: &[u8]) -> Option<Vec<(String, Vec<u8>)>> {
    let mut files = Vec::new();
    entries(from, |mode, path, content| {
        if mode & KIND == FILE {
            files.push((path.to_owned(), content.to_vec()));
        }
    })?;
    Some(files)
}

/// Unpacks directories, files and links of a trusted archive into a folder, without devices.
pub(crate) fn unpack(from: &[u8], folder: &Path) -> io::Result<()> {
    let mut outcome = Ok(());
    let make = |mode: u32, path: &str, content: &[u8]| -> io::Result<()> {
        let place = folder.join(path);
        match mode & KIND {
            DIRECTORY => fs::create_dir_all(place),
            LINK => symlink(String::from_utf8_lossy(content).as_ref(), place),
            FILE => {
                fs::write(&place, content)?;
                fs::set_permissions(&place, fs::Permissions::from_mode(mode & 0o777))
            }
            _ => Ok(()),
        }
    };
    let is_whole = entries(from, |mode, path, content| {
        if outcome.is_ok() {
            outcome = make(mode, path, content);
        }
    });
    outcome.and(is_whole.ok_or_else(|| io::ErrorKind::InvalidData.into()))
}

/// Calls `visit` with mode, path and content of each entry. None if the archive is truncated or not an archive.
fn entries(mut from: &[u8], mut visit: impl FnMut(u32, &str, &[u8])) -> Option<()> {
    loop {
        let header = take(&mut from, HEADER_BYTES)?;
        let field = |number: usize| {
            let at = MAGIC.len() + number * 8;
            let digits = std::str::from_utf8(&header[at..at + 8]).ok()?;
            u32::from_str_radix(digits, 16).ok()
        };
        let (size, name) = (field(6)? as usize, field(11)? as usize);
        if &header[..MAGIC.len()] != MAGIC || name == 0 || name > NAME_BYTES_MAX {
            return None;
        }
        let path = std::str::from_utf8(&take(&mut from, name)?[..name - 1]).ok()?;
        take(&mut from, padding(HEADER_BYTES + name))?;
        if path == TRAILER {
            return Some(());
        }
        let content = take(&mut from, size)?;
        take(&mut from, padding(size))?;
        visit(field(1)?, path, content);
    }
}

fn take<'a>(from: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (head, rest) = from.split_at_checked(length)?;
    *from = rest;
    Some(head)
}

/// Reads a file of the host for an archive, at most `limit` bytes of it.
pub(crate) fn content(path: &std::path::Path, limit: u64) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    std::fs::File::open(path)?.take(limit + 1).read_to_end(&mut content)?;
    match content.len() as u64 > limit {
        true => Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it has more than {limit} bytes"))),
        false => Ok(content),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive() -> Vec<u8> {
        let mut writer = Writer::new(Vec::new());
        writer.directory("proc").unwrap();
        writer.device("/dev/console", 5, 1).unwrap();
        writer.file("/usr/bin/x", 0o755, b"abcde").unwrap();
        writer.file("usr/bin/x", 0o755, b"a second one").unwrap();
        writer.link("bin", "usr/bin").unwrap();
        writer.file("empty", 0o644, b"").unwrap();
        writer.finish().unwrap()
    }

    #[test]
    fn what_is_written_is_read() {
        let files = read(&archive()).unwrap();
        assert_eq!(files, [("usr/bin/x".to_owned(), b"abcde".to_vec()), ("empty".to_owned(), Vec::new())]);
        assert_eq!(archive().len() % 4, 0);
    }

    #[test]
    fn what_is_written_is_unpacked_but_for_devices() {
        let folder = tempfile::tempdir().unwrap();
        unpack(&archive(), folder.path()).unwrap();
        let at = |name: &str| folder.path().join(name);
        assert_eq!(fs::read(at("bin/x")).unwrap(), b"abcde");
        assert_eq!(fs::metadata(at("usr/bin/x")).unwrap().permissions().mode() & 0o777, 0o755);
        assert!(at("proc").is_dir() && !at("dev/console").exists());
        assert!(unpack(&archive()[..200], folder.path()).is_err());
    }

    #[test]
    fn an_archive_that_is_cut_short_is_none_and_no_bytes_make_it_panic() {
        let whole = archive();
        for length in 0..whole.len() - 4 {
            assert_eq!(read(&whole[..length]), None, "{length}");
        }
        for at in 0..whole.len() {
            let mut changed = whole.clone();
            changed[at] = changed[at].wrapping_add(7);
            let _ = read(&changed);
        }
    }

    #[test]
    fn cpio_itself_reads_the_archive_where_it_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.cpio");
        std::fs::write(&path, archive()).unwrap();
        let Ok(listed) = std::process::Command::new("cpio").arg("-t").arg("-F").arg(&path).output() else {
            return;
        };
        let names = String::from_utf8(listed.stdout).unwrap();
        let names: Vec<&str> = names.lines().collect();
        assert_eq!(names, ["proc", "dev", "dev/console", "usr", "usr/bin", "usr/bin/x", "bin", "empty"]);
    }
}
