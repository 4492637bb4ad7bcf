//! Opens what is below a directory and nothing else, whatever the path and the links on its way say.
//!
//! openat2(2) with RESOLVE_BENEATH does that. Kernels before 5.6 and gVisor do not have it; there each component is opened by
//! itself with O_PATH and O_NOFOLLOW, so that no step follows a link that was not read and judged here. That takes two or three
//! system calls for each component in place of one for the whole path; what is opened is cached by its users.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{self, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

/// As many links as the kernel follows on the way to one file (path_resolution(7)).
const LINKS_MAX: usize = 40;

/// Opens `path`, which is relative to `root` and must lead to something below it.
///
/// # Errors
/// Those of openat2(2): XDEV where the path or a link leaves the root, LOOP after too many links.
pub(crate) fn open(root: &OwnedFd, path: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    match fs::openat2(root, path, flags, Mode::empty(), resolve) {
        Err(Errno::NOSYS) => walk(root, path, flags),
        opened => opened,
    }
}

/// The same, component by component.
fn walk(root: &OwnedFd, path: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
    if path.is_empty() {
        return Err(Errno::NOENT);
    }
    // What is still to be walked, the next component last.
    let mut rest: Vec<Vec<u8>> = Vec::new();
    push(&mut rest, path)?;
    // The directories from the root's child down to where the walk is.
    let mut way: Vec<OwnedFd> = Vec::new();
    let mut links = 0;
    while let Some(name) = rest.pop() {
        let here = way.last().map_or(root.as_fd(), AsFd::as_fd);
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
                links += 1;
                if links > LINKS_MAX || flags.contains(OFlags::NOFOLLOW) && rest.is_empty() {
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
    reopen(way.last().map_or(root.as_fd(), AsFd::as_fd), b".", flags)
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
    use std::os::unix::fs::symlink;

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
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
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
                let by_kernel = inode(fs::openat2(&root, path, flags, Mode::empty(), resolve));
                let by_walk = inode(walk(&root, path.as_bytes(), flags));
                assert_eq!(by_walk, by_kernel, "`{path}` with {flags:?}");
            }
        }
    }

    #[test]
    fn links_of_proc_lead_nowhere() {
        let root = fs::open("/proc/self", OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).unwrap();
        for path in ["root", "cwd/Cargo.toml", "exe", "fd/0", "ns/net"] {
            let refused = walk(&root, path.as_bytes(), OFlags::RDONLY).unwrap_err();
            assert!(matches!(refused, Errno::XDEV | Errno::NOENT | Errno::LOOP), "{path}: {refused}");
        }
    }
}
