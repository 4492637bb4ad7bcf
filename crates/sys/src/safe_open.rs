//! Opens files that are found by their place, where others may have put something else.
//!
//! [`own_file`] and [`own_directory`] open what belongs to the effective user and cannot be written by others: whoever may make
//! files in a shared directory such as /tmp cannot make one that passes. No link is followed at the end of the path, and
//! nothing that waits, such as a FIFO, is waited for.
//!
//! [`beneath`] opens what is below a directory and nothing else, whatever the path and the links on its way say. openat2(2) with
//! RESOLVE_BENEATH does that. Kernels before 5.6 and gVisor do not have it; there each component is opened separately with
//! O_PATH and O_NOFOLLOW, so that no step follows a link that was not read and judged here. That takes two or three system
//! calls for each component in place of one for the whole path; what is opened is cached by its users. A path with `..` is
//! opened in the same way when the kernel gives up on it, as it does when any file of the system is renamed meanwhile.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{self, CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use rustix::process::geteuid;

/// As many links as the kernel follows on the way to one file (path_resolution(7)).
const LINKS_MAX: usize = 40;
/// The permissions to write that a group or anybody has.
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// Opens a directory that belongs to the effective user and that nobody else can write.
///
/// # Errors
/// As open(2); `PermissionDenied` with the reason if it belongs to another user or others can write it.
pub fn own_directory(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let directory = fs::openat(CWD, path, flags, Mode::empty())?;
    check(&directory, FileType::Directory)?;
    Ok(directory)
}

/// Opens a regular file that belongs to the effective user and that nobody else can write. A path is relative to `directory`.
/// With `OFlags::CREATE` a file that is not there is made, for this user alone.
///
/// # Errors
/// As openat(2): LOOP for a link; `InvalidInput` if it is not a regular file; `PermissionDenied` with the reason if it belongs to
/// another user or others can write it.
pub fn own_file(directory: impl AsFd, path: impl AsRef<Path>, flags: OFlags) -> io::Result<File> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = fs::openat(directory, path.as_ref(), flags, Mode::RUSR | Mode::WUSR)?;
    check(&file, FileType::RegularFile)?;
    Ok(file.into())
}

fn check(file: &OwnedFd, kind: FileType) -> io::Result<()> {
    let stat = fs::fstat(file)?;
    if FileType::from_raw_mode(stat.st_mode) != kind {
        return Err(io::Error::new(ErrorKind::InvalidInput, "it is not a regular file"));
    }
    let me = geteuid();
    if stat.st_uid != me.as_raw() {
        let why = format!("it belongs to user {}, not to user {}", stat.st_uid, me.as_raw());
        return Err(io::Error::new(ErrorKind::PermissionDenied, why));
    }
    if stat.st_mode & WRITABLE_BY_OTHERS != 0 {
        let why = format!("others can write it (mode {:04o})", stat.st_mode & 0o7777);
        return Err(io::Error::new(ErrorKind::PermissionDenied, why));
    }
    Ok(())
}

/// The content of a file from where it stands.
///
/// # Errors
/// As read(2); `FileTooLarge` if there are more than `bytes_max`; `InvalidData` if it is no UTF-8.
pub fn read_text(file: &File, bytes_max: u64) -> io::Result<String> {
    let mut text = String::new();
    file.take(bytes_max + 1).read_to_string(&mut text)?;
    if text.len() as u64 > bytes_max {
        let why = format!("it is larger than {bytes_max} bytes");
        return Err(io::Error::new(ErrorKind::FileTooLarge, why));
    }
    Ok(text)
}

/// How to treat a link on the way to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Links {
    /// It is followed as long as it leads to something below the root.
    Follow,
    /// It is an error.
    Refuse,
}

/// Opens `path`, which is relative to `root` and must lead to something below it.
///
/// # Errors
/// Those of openat2(2): XDEV where the path or a link leaves the root, LOOP after too many links, or at one that is refused.
pub fn beneath(root: impl AsFd, path: &[u8], flags: OFlags, links: Links) -> Result<OwnedFd, Errno> {
    let root = root.as_fd();
    let mut resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    if links == Links::Refuse {
        resolve |= ResolveFlags::NO_SYMLINKS;
    }
    match fs::openat2(root, path, flags, Mode::empty(), resolve) {
        // Filters of system calls that do not know it answer PERM. After a rename anywhere in the system the kernel cannot
        // ensure that a `..` stayed below the root, and answers AGAIN; the walk never asks it for the parent.
        Err(Errno::NOSYS | Errno::PERM | Errno::AGAIN) => walk(root, path, flags, links),
        opened => opened,
    }
}

/// The same, component by component.
fn walk(root: BorrowedFd<'_>, path: &[u8], flags: OFlags, links: Links) -> Result<OwnedFd, Errno> {
    if path.is_empty() {
        return Err(Errno::NOENT);
    }
    // What is still to be walked, the next component last.
    let mut rest: Vec<Vec<u8>> = Vec::new();
    push(&mut rest, path)?;
    // The directories from the root's child down to where the walk is.
    let mut way: Vec<OwnedFd> = Vec::new();
    let mut followed = 0;
    while let Some(name) = rest.pop() {
        let here = way.last().map_or(root, AsFd::as_fd);
        match &name[..] {
            b"." => continue,
            b".." => {
                way.pop().ok_or(Errno::XDEV)?;
                continue;
            }
            _ => {}
        }
        let found =
            fs::openat(here, &name[..], OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
        match FileType::from_raw_mode(fs::fstat(&found)?.st_mode) {
            FileType::Symlink => {
                followed += 1;
                let is_refused =
                    links == Links::Refuse || flags.contains(OFlags::NOFOLLOW) && rest.is_empty();
                if is_refused || followed > LINKS_MAX {
                    return Err(Errno::LOOP);
                }
                push(&mut rest, fs::readlinkat(&found, "", Vec::new())?.to_bytes())?;
            }
            FileType::Directory => way.push(found),
            _ if !rest.is_empty() => return Err(Errno::NOTDIR),
            // Had it become a link since, it would not be followed.
            _ => return reopen(here, &name, flags),
        }
    }
    reopen(way.last().map_or(root, AsFd::as_fd), b".", flags)
}

fn reopen(directory: BorrowedFd<'_>, name: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
    fs::openat(directory, name, flags | OFlags::NOFOLLOW, Mode::empty())
}

/// Puts the components of a path before those that are left.
fn push(rest: &mut Vec<Vec<u8>>, path: &[u8]) -> Result<(), Errno> {
    if path.starts_with(b"/") {
        return Err(Errno::XDEV);
    }
    // After a slash at the end there is the directory itself: what comes before it must be one.
    rest.extend(path.ends_with(b"/").then(|| b".".to_vec()));
    let components = path.split(|&b| b == b'/').filter(|name| !name.is_empty());
    rest.extend(components.map(<[u8]>::to_vec).rev());
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    /// A tree with links of every kind; its root is the folder `root` in it.
    fn tree() -> (tempfile::TempDir, OwnedFd) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("root");
        std::fs::create_dir_all(root.join("a/b")).unwrap();
        std::fs::write(folder.path().join("secret"), "x").unwrap();
        std::fs::write(root.join("file"), "x").unwrap();
        std::fs::write(root.join("a/b/deep"), "x").unwrap();
        for (target, link) in [
            ("../secret", "out"),
            ("a/../../secret", "out-by-detour"),
            ("/etc/passwd", "absolute"),
            ("file", "to-file"),
            ("to-file", "to-link"),
            ("a/b", "to-folder"),
            ("a/b/", "to-folder-slash"),
            ("file/", "to-file-slash"),
            ("../a", "a/up"),
            ("..", "a/parent"),
            ("../..", "a/grandparent"),
            ("loop", "loop"),
            ("nowhere", "broken"),
            (".", "self"),
        ] {
            symlink(target, root.join(link)).unwrap();
        }
        symlink("b", root.join("chain-0")).unwrap();
        for n in 1..=50 {
            symlink(format!("chain-{}", n - 1), root.join(format!("chain-{n}"))).unwrap();
        }
        std::fs::create_dir(root.join("b")).unwrap();
        let root = fs::open(&root, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).unwrap();
        (folder, root)
    }

    #[test]
    fn a_walk_opens_and_refuses_what_the_kernel_does() {
        let (_folder, root) = tree();
        for path in [
            ".",
            "./",
            "file",
            "./file",
            "file/",
            "file/.",
            "file/x",
            "a",
            "a/",
            "a//b/deep",
            "a/./b/../b/deep",
            "a/b/deep/",
            "..",
            "../secret",
            "a/../..",
            "a/../../secret",
            "a/../file",
            "../root/file",
            "/etc/passwd",
            "/",
            "out",
            "out-by-detour",
            "absolute",
            "to-file",
            "to-link",
            "to-folder",
            "to-folder/deep",
            "to-folder-slash/deep",
            "to-file-slash",
            "to-file/",
            "a/up/b/deep",
            "a/parent/file",
            "a/grandparent",
            "a/grandparent/secret",
            "loop",
            "loop/x",
            "broken",
            "self/self/file",
            "chain-0",
            "chain-39",
            "chain-40",
            "chain-50",
            "none",
            "none/x",
            "",
            "self/",
            "to-folder/",
            "to-folder/..",
            "to-folder/../../file",
            "to-folder/../../../secret",
        ] {
            for flags in
                [OFlags::RDONLY | OFlags::CLOEXEC, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC]
            {
                let inode =
                    |opened: Result<OwnedFd, Errno>| opened.map(|file| fs::fstat(&file).unwrap().st_ino);
                for links in [Links::Follow, Links::Refuse] {
                    let by_kernel = inode(beneath(&root, path.as_bytes(), flags, links));
                    let by_walk = inode(walk(root.as_fd(), path.as_bytes(), flags, links));
                    assert_eq!(by_walk, by_kernel, "`{path}` with {flags:?} and {links:?}");
                }
            }
        }
    }

    #[test]
    fn renames_elsewhere_change_nothing() {
        let (_folder, root) = tree();
        let elsewhere = tempfile::tempdir().unwrap();
        let (one, other) = (elsewhere.path().join("one"), elsewhere.path().join("other"));
        std::fs::write(&one, "x").unwrap();
        let is_done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_done.load(Ordering::Relaxed) {
                    std::fs::rename(&one, &other).unwrap();
                    std::fs::rename(&other, &one).unwrap();
                }
            });
            let open = |path: &[u8]| beneath(&root, path, OFlags::RDONLY | OFlags::CLOEXEC, Links::Follow);
            let wrong = (0..5000).find_map(|_| {
                let (inside, outside) = (open(b"a/b/../../file").err(), open(b"a/../../secret").err());
                ((inside, outside) != (None, Some(Errno::XDEV))).then_some((inside, outside))
            });
            is_done.store(true, Ordering::Relaxed);
            assert_eq!(wrong, None);
        });
    }

    #[test]
    fn links_of_proc_lead_nowhere() {
        let root = fs::open("/proc/self", OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).unwrap();
        for path in ["root", "cwd/Cargo.toml", "exe", "fd/0", "ns/net"] {
            let refused = walk(root.as_fd(), path.as_bytes(), OFlags::RDONLY, Links::Follow).unwrap_err();
            assert!(matches!(refused, Errno::XDEV | Errno::NOENT | Errno::LOOP), "{path}: {refused}");
        }
    }

    #[test]
    fn only_regular_files_that_others_cannot_write_are_opened_and_nothing_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let open = |name: &str| {
            let file = own_file(CWD, at(name), OFlags::RDONLY)?;
            read_text(&file, 5)
        };
        std::fs::write(at("file"), "12345").unwrap();
        std::fs::write(at("long"), "123456").unwrap();
        std::fs::write(at("shared"), "x").unwrap();
        std::fs::set_permissions(at("shared"), PermissionsExt::from_mode(0o620)).unwrap();
        symlink("file", at("link")).unwrap();
        fs::mknodat(CWD, at("fifo"), FileType::Fifo, Mode::RUSR, 0).unwrap();
        assert_eq!(open("file").unwrap(), "12345");
        for (name, why) in [
            ("long", "larger than 5 bytes"),
            ("shared", "others can write it (mode 0620)"),
            ("link", "symbolic links"),
            ("fifo", "not a regular file"),
            ("none", "No such file"),
        ] {
            let e = open(name).unwrap_err().to_string();
            assert!(e.contains(why), "{name}: {e}");
        }
        assert!(own_directory(folder.path()).is_ok());
        std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o777)).unwrap();
        assert!(own_directory(folder.path()).unwrap_err().to_string().contains("others can write it"));
    }

    #[test]
    fn what_belongs_to_another_user_is_refused() {
        let opened = own_file(CWD, "/proc/sys/kernel/osrelease", OFlags::RDONLY);
        match geteuid().is_root() {
            true => assert!(opened.is_ok()),
            false => assert!(opened.unwrap_err().to_string().contains("it belongs to user")),
        }
    }
}
