//! Reads the entries of a directory.

use std::os::fd::{AsFd, OwnedFd};

use pitot_proto::FileMeta;
use pitot_proto::http::listing::Entries;
use pitot_sys::safe_open::{Links, beneath};
use rustix::fs::{self, FileType, OFlags, RawDir};
use rustix::io::Errno;

/// Size of the buffer for getdents64(2).
const BUFFER_BYTES: usize = 32 << 10;

/// Reads the names in a directory below `root`, whose path is empty or ends with a slash. A symbolic link counts as a file, since
/// checking its target would cost a system call each.
///
/// # Errors
/// Those of openat2(2) and getdents64(2).
pub fn read(root: &OwnedFd, path: &[u8]) -> Result<FileMeta, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let path = if path.is_empty() { b"." } else { path };
    let directory = beneath(root, path, flags, Links::Follow)?;
    let stat = fs::fstat(&directory)?;
    let mut entries = Entries::default();
    let mut buffer = Vec::with_capacity(BUFFER_BYTES);
    let mut list = RawDir::new(directory.as_fd(), buffer.spare_capacity_mut());
    while let Some(entry) = list.next() {
        let entry = entry?;
        let is_directory = match entry.file_type() {
            FileType::RegularFile | FileType::Symlink | FileType::Unknown => false,
            FileType::Directory => true,
            // Never served.
            _ => continue,
        };
        if !entries.push(entry.file_name().to_bytes(), is_directory) {
            break;
        }
    }
    let content = entries.into_content();
    Ok(FileMeta {
        size: content.len() as u64,
        modified_s: stat.st_mtime.max(0) as u64,
        modified_ns: stat.st_mtime_nsec as u32,
        inode: stat.st_ino,
        content: Some(content),
    })
}
