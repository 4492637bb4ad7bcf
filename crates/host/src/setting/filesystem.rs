//! A file system made for the purpose, empty, on a file of its own behind a loop device (loop(4)), or in memory.
//!
//! `filesystem=ext4` makes a directory and mounts it there: two settings, each of which is one system call. The file has no
//! name and the device lets go of it by itself, so that whoever unmounts it, or dies before it is mounted, leaves nothing.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use pitot_sys::loop_device::{LoopDevice, name_of};
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use rustix::thread::{CapabilitySet, capabilities};

use super::entry::{Change, Expanded, Setting};
use crate::machine::Machine;

pub(super) const SETTING: Setting = Setting {
    name: "file system",
    keys: "filesystem",
    summary: "a new and empty ext4, ext2, xfs, btrfs, f2fs or tmpfs at /run/pitot-filesystem, on a file that lies in TMPDIR",
    right: "root (CAP_SYS_ADMIN)",
    of_network: false,
    is_exact: |_| true,
    refuses: |_, _, _, _| None,
    owns: |key| key == PLACE || key == MOUNT,
    expand,
    read,
    write,
    may_write,
    file_at_boot: |_| None,
};

const KEY: &str = "filesystem";
const PLACE: &str = "filesystem.place";
const MOUNT: &str = "filesystem.mount";

/// Where it is mounted. Root alone writes there, and a reboot empties it, as it does the journal.
const POINT: &str = "/run/pitot-filesystem";
/// What it can hold. Blocks of the file are taken when they are written.
const SIZE: u64 = 4 << 30;
/// How long somebody who looks at what is mounted, such as an indexer, may be waited for.
const BUSY_TIMEOUT: Duration = Duration::from_secs(2);

/// A type of file systems.
struct Type {
    name: &'static str,
    /// What makes one, and its Debian package; none for one in memory.
    maker: Option<(&'static [&'static str], &'static str)>,
}

const TYPES: &[Type] = &[
    Type { name: "ext4", maker: Some((&["mkfs.ext4", "-q", "-F"], "e2fsprogs")) },
    Type { name: "ext2", maker: Some((&["mkfs.ext2", "-q", "-F"], "e2fsprogs")) },
    Type { name: "xfs", maker: Some((&["mkfs.xfs", "-q", "-f"], "xfsprogs")) },
    Type { name: "btrfs", maker: Some((&["mkfs.btrfs", "-q", "-f"], "btrfs-progs")) },
    Type { name: "f2fs", maker: Some((&["mkfs.f2fs", "-q", "-f"], "f2fs-tools")) },
    Type { name: "tmpfs", maker: None },
];

/// Where programs of root are, besides PATH.
const SYSTEM_PATHS: &[&str] = &["/usr/sbin", "/sbin", "/usr/local/sbin"];

/// Where the file system is mounted that these changes make.
pub fn file_system_of(changes: &[Change]) -> Option<PathBuf> {
    changes.iter().any(|change| change.key == MOUNT).then(|| POINT.into())
}

fn expand(machine: &Machine, key: &str, value: &str) -> Option<Expanded> {
    if key != KEY {
        return None;
    }
    let Some(kind) = TYPES.iter().find(|kind| kind.name == value) else {
        let names: Vec<&str> = TYPES.iter().map(|kind| kind.name).collect();
        return Some(Err(format!("it is one of {}", names.join(", "))));
    };
    if let Some((words, package)) = kind.maker
        && program(words[0]).is_none()
    {
        return Some(Err(format!("{} is not installed (apt-get install {package})", words[0])));
    }
    if !kernel_has(machine, kind.name) {
        return Some(Err(format!("this kernel has no {}", kind.name)));
    }
    Some(Ok(vec![Change::new(PLACE, "there"), Change::new(MOUNT, kind.name)]))
}

fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places = std::env::split_paths(&path).chain(SYSTEM_PATHS.iter().map(PathBuf::from));
    places.map(|place| place.join(name)).find(|file| file.is_file())
}

/// Whether the kernel has a type of file systems, or a module for it.
fn kernel_has(machine: &Machine, name: &str) -> bool {
    let known = machine.read("/proc/filesystems").unwrap_or_default();
    if known.lines().any(|line| line.split_whitespace().last() == Some(name)) {
        return true;
    }
    let Some(release) = machine.read("/proc/sys/kernel/osrelease") else { return false };
    let modules = machine.read(&format!("/lib/modules/{release}/modules.dep")).unwrap_or_default();
    modules.lines().any(|line| line.split(':').next().is_some_and(|m| m.contains(&format!("/{name}.ko"))))
}

fn read(machine: &Machine, key: &str) -> io::Result<String> {
    let point = machine.path(POINT);
    if key == PLACE {
        return Ok(if point.is_dir() { "there" } else { "absent" }.into());
    }
    let mounts = fs::read_to_string(machine.path("/proc/self/mounts"))?;
    Ok(mounted(&mounts).unwrap_or("absent").to_owned())
}

/// The type of what is mounted there: the last line counts, as mounts may lie upon each other.
fn mounted(mounts: &str) -> Option<&str> {
    let words = mounts.lines().rev().map(|line| line.split(' ').collect::<Vec<_>>());
    words.filter(|words| words.get(1) == Some(&POINT)).find_map(|words| words.get(2).copied())
}

fn write(machine: &Machine, key: &str, value: &str) -> io::Result<()> {
    let point = machine.path(POINT);
    match (key, value) {
        (PLACE, "there") => fs::create_dir(&point),
        (PLACE, _) => fs::remove_dir(&point),
        (_, "absent") => unmount_patiently(&point),
        (_, name) => {
            let kind = TYPES.iter().find(|kind| kind.name == name).ok_or(ErrorKind::InvalidInput)?;
            make(kind, &point)
        }
    }
}

fn make(kind: &Type, point: &Path) -> io::Result<()> {
    let flags = MountFlags::NODEV | MountFlags::NOSUID;
    let Some((words, _)) = kind.maker else {
        return Ok(mount(kind.name, point, kind.name, flags, None)?);
    };
    // It never has a name, so that nobody has to remove it.
    let file =
        openat(CWD, std::env::temp_dir(), OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC, Mode::RUSR)?;
    let file = fs::File::from(file);
    file.set_len(SIZE)?;
    let made = Command::new(program(words[0]).ok_or(ErrorKind::NotFound)?)
        .args(&words[1..])
        .arg(name_of(file.as_fd()))
        .stdin(Stdio::null())
        .output()?;
    if !made.status.success() {
        let said = String::from_utf8_lossy(&made.stderr);
        let said =
            said.lines().find(|line| !line.trim().is_empty()).unwrap_or("it gives no reason").to_owned();
        return Err(io::Error::other(format!("{} fails: {}", words[0], said.trim())));
    }
    let device = LoopDevice::of(&file)?;
    Ok(mount(device.path(), point, kind.name, flags, None)?)
}

fn unmount_patiently(point: &Path) -> io::Result<()> {
    let deadline = Instant::now() + BUSY_TIMEOUT;
    loop {
        match unmount(point, UnmountFlags::NOFOLLOW) {
            Err(rustix::io::Errno::BUSY) if Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(10));
            }
            done => return Ok(done?),
        }
    }
}

fn may_write(_: &Machine, _: &str) -> io::Result<()> {
    match capabilities(None) {
        Ok(sets) if !sets.effective.contains(CapabilitySet::SYS_ADMIN) => {
            Err(ErrorKind::PermissionDenied.into())
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_place_and_what_is_mounted_there() {
        let dir = tempfile::tempdir().unwrap();
        let machine = Machine::at(dir.path());
        for place in ["proc/self", "run"] {
            fs::create_dir_all(dir.path().join(place)).unwrap();
        }
        fs::write(dir.path().join("proc/filesystems"), "nodev\ttmpfs\n\text4\n").unwrap();
        fs::write(dir.path().join("proc/self/mounts"), "proc /proc proc rw 0 0\n").unwrap();
        let changes = expand(&machine, "filesystem", "tmpfs").unwrap().unwrap();
        let found: Vec<_> = changes.iter().map(|c| read(&machine, &c.key).unwrap()).collect();
        assert_eq!(found, ["absent", "absent"]);
        write(&machine, PLACE, "there").unwrap();
        assert_eq!(read(&machine, PLACE).unwrap(), "there");
        write(&machine, PLACE, "absent").unwrap();
        assert_eq!(read(&machine, PLACE).unwrap(), "absent");
        assert_eq!(file_system_of(&changes), Some(POINT.into()));
        assert_eq!(file_system_of(&[]), None);
    }

    #[test]
    fn what_is_mounted_last_counts() {
        let mounts =
            format!("proc /proc proc rw 0 0\n/dev/loop0 {POINT} ext4 rw 0 0\ntmpfs {POINT} tmpfs rw 0 0\n");
        assert_eq!(mounted(&mounts), Some("tmpfs"));
        assert_eq!(mounted("proc /proc proc rw 0 0\n"), None);
    }

    #[test]
    fn what_cannot_be_made_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let machine = Machine::at(dir.path());
        assert!(expand(&machine, "filesystem", "ufs").unwrap().unwrap_err().contains("ext4"));
        assert!(
            expand(&machine, "filesystem", "tmpfs")
                .unwrap()
                .unwrap_err()
                .contains("this kernel has no tmpfs")
        );
        assert!(expand(&machine, "files", "tmpfs").is_none());
    }
}
