//! Which file system a directory is on.

use std::io;
use std::path::Path;

use rustix::fs::statfs;

/// Magic numbers of statfs(2), and the names that mount(8) uses.
const FILE_SYSTEMS: &[(u32, &str)] = &[
    (0xef53, "ext4"),
    (0x5846_5342, "xfs"),
    (0x9123_683e, "btrfs"),
    (0xf2f5_2010, "f2fs"),
    (0x2fc1_2fc1, "zfs"),
    (0xca45_1a4e, "bcachefs"),
    (0x0102_1994, "tmpfs"),
    (0x8584_58f6, "ramfs"),
    (0x794c_7630, "overlay"),
    (0x6969, "nfs"),
    (0xff53_4d42, "cifs"),
    (0x6573_5546, "fuse"),
    (0x0102_1997, "9p"),
    (0x4d44, "vfat"),
];

/// The name of the file system that holds `path` (ext2 and ext3 share the number of ext4), or its number.
///
/// # Errors
/// Those of statfs(2).
pub fn name(path: &Path) -> io::Result<String> {
    let magic = statfs(path)?.f_type as u32;
    let known = FILE_SYSTEMS.iter().find(|(number, _)| *number == magic);
    Ok(known.map_or_else(|| format!("file system {magic:#x}"), |(_, name)| (*name).to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_system_has_a_name() {
        assert!(!name(Path::new("/")).unwrap().is_empty());
        assert!(name(Path::new("/nowhere/at/all")).is_err());
    }
}
