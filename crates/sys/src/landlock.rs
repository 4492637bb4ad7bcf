//! Landlock (landlock(7)): a process gives up rights to files and to the network, permanently, for itself and all that it starts.
//!
//! It needs no rights of root. What is open already stays usable; what is opened later must be below a directory that a rule names.
//! Kernels know more rights with each version of the interface: what an older one does not know it cannot forbid, and
//! [`confine`] returns the version, so that callers can say so.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use crate::Unavailable;
use crate::process::SingleThreaded;

/// Rights to files: LANDLOCK_ACCESS_FS_* of linux/landlock.h, each with the version that knows it.
const EXECUTE: u64 = 1 << 0;
const WRITE_FILE: u64 = 1 << 1;
const READ_FILE: u64 = 1 << 2;
const READ_DIR: u64 = 1 << 3;
const REMOVE_FILE: u64 = 1 << 5;
const MAKE_REG: u64 = 1 << 8;
const REFER: u64 = 1 << 13;
const TRUNCATE: u64 = 1 << 14;
/// Those that a rule about a single file can leave.
const OF_FILE: u64 = WRITE_FILE | READ_FILE | TRUNCATE;
/// All rights that each version knows, from the first on.
const KNOWN_FILES: [u64; 5] = [(1 << 13) - 1, (1 << 14) - 1, (1 << 15) - 1, (1 << 15) - 1, (1 << 16) - 1];
/// LANDLOCK_ACCESS_NET_BIND_TCP and _CONNECT_TCP, from version 4 on.
const TCP: u64 = 0b11;
const TCP_ABI: u32 = 4;
/// LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET and _SIGNAL, from version 6 on.
const SCOPES: u64 = 0b11;
const SCOPES_ABI: u32 = 6;

const CREATE_RULESET_VERSION: u32 = 1;
const RULE_PATH_BENEATH: u32 = 1;

/// What may be done to a file, or to the files below a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allowed {
    /// Files are read, directories listed.
    Read,
    /// Files are also made, written, renamed and removed. Never directories, devices or links.
    Write,
    /// Files are removed, and no more.
    Remove,
}

impl Allowed {
    const fn rights(self) -> u64 {
        match self {
            Allowed::Read => READ_FILE | READ_DIR,
            Allowed::Write => READ_FILE | READ_DIR | WRITE_FILE | MAKE_REG | REMOVE_FILE | REFER | TRUNCATE,
            Allowed::Remove => REMOVE_FILE,
        }
    }
}

/// Which TCP connections may still be opened, and sockets bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tcp {
    /// Any.
    All,
    /// None, from version 4 on.
    None,
}

/// `struct landlock_ruleset_attr`. Kernels take a longer one than they know if what they do not know is zero.
#[repr(C)]
struct Ruleset {
    files: u64,
    net: u64,
    scoped: u64,
}

/// `struct landlock_path_beneath_attr`.
#[repr(C, packed)]
struct Beneath {
    allowed: u64,
    parent: i32,
}

/// The version of the interface that this kernel has.
///
/// # Errors
/// [`Unavailable`]: the kernel is older than 5.13, was built without Landlock, or was started without it.
pub fn abi() -> Result<u32, Unavailable> {
    // SAFETY: without attributes and with this flag the call only returns a number (landlock_create_ruleset(2)).
    let abi = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            std::ptr::null::<Ruleset>(),
            0_usize,
            CREATE_RULESET_VERSION,
        )
    };
    u32::try_from(abi).map_err(|_| explain(&io::Error::last_os_error()))
}

fn explain(e: &io::Error) -> Unavailable {
    let (cause, fix) = match e.raw_os_error() {
        Some(libc::ENOSYS) => (
            "this kernel has no Landlock, or a filter of system calls hides it".to_owned(),
            "use Linux 5.13 or later, built with CONFIG_SECURITY_LANDLOCK",
        ),
        Some(libc::EOPNOTSUPP) => (
            "this kernel has Landlock, but was started without it".to_owned(),
            "add landlock to the list lsm= of the kernel's command line",
        ),
        _ => {
            (e.to_string(), "use Linux 5.13 or later, and no filter that refuses landlock_create_ruleset(2)")
        }
    };
    Unavailable { what: "Landlock".into(), cause, fix: fix.into() }
}

/// From now on this process, and all that it starts, may open nothing but these files and what is below these directories, may
/// execute nothing, may gain no rights by executing, and from version 6 on reach no abstract socket and send no signal to
/// others. Returns the version.
///
/// # Errors
/// [`Unavailable`] if the kernel cannot do it. Then nothing has changed.
pub fn confine(
    _proof: SingleThreaded,
    rules: &[(BorrowedFd<'_>, Allowed)],
    tcp: Tcp,
) -> Result<u32, Unavailable> {
    let abi = abi()?;
    restrict(abi, rules, tcp).map_err(|e| explain(&e))?;
    Ok(abi)
}

fn restrict(abi: u32, rules: &[(BorrowedFd<'_>, Allowed)], tcp: Tcp) -> io::Result<()> {
    let check = |result: libc::c_long| if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) };
    let known = KNOWN_FILES[(abi as usize).clamp(1, KNOWN_FILES.len()) - 1];
    let ruleset = Ruleset {
        files: known,
        net: if abi >= TCP_ABI && tcp == Tcp::None { TCP } else { 0 },
        scoped: if abi >= SCOPES_ABI { SCOPES } else { 0 },
    };
    debug_assert!(known & EXECUTE != 0);
    // SAFETY: the pointer is to a local variable of that size.
    let made = unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, &raw const ruleset, size_of::<Ruleset>(), 0_u32)
    };
    let made = check(made)? as i32;
    // SAFETY: the call gave a descriptor that nobody else owns.
    let made = unsafe { OwnedFd::from_raw_fd(made) };
    for (place, allowed) in rules {
        let of_kind = if is_directory(*place)? { u64::MAX } else { OF_FILE };
        let beneath = Beneath { allowed: allowed.rights() & known & of_kind, parent: place.as_raw_fd() };
        // SAFETY: the pointer is to a local variable of the type that this kind of rule takes; both descriptors are open.
        let added = check(unsafe {
            libc::syscall(
                libc::SYS_landlock_add_rule,
                made.as_raw_fd(),
                RULE_PATH_BENEATH,
                &raw const beneath,
                0_u32,
            )
        });
        match added {
            // A pipe or a socket, as /dev/stdout can be one: such are never refused, and no rule can name them.
            Err(e) if e.raw_os_error() == Some(libc::EBADFD) => {}
            added => drop(added?),
        }
    }
    // SAFETY: neither call reads memory.
    unsafe {
        check(libc::syscall(libc::SYS_prctl, libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))?;
        check(libc::syscall(libc::SYS_landlock_restrict_self, made.as_raw_fd(), 0_u32))?;
    }
    Ok(())
}

fn is_directory(place: BorrowedFd<'_>) -> io::Result<bool> {
    let about = rustix::fs::fstat(place)?;
    Ok(rustix::fs::FileType::from_raw_mode(about.st_mode).is_dir())
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;

    /// Runs `test` in a thread that is confined: Landlock is a thread's.
    fn confined(rules: &[(BorrowedFd<'_>, Allowed)], tcp: Tcp, test: impl FnOnce() + Send) {
        std::thread::scope(|scope| {
            let made = scope.spawn(|| {
                restrict(abi().unwrap(), rules, tcp).unwrap();
                test();
            });
            made.join().unwrap();
        });
    }

    #[test]
    fn nothing_but_what_rules_name_can_be_opened() {
        let Ok(abi) = abi() else {
            // Then it is a value with its reason.
            assert!(!super::abi().unwrap_err().cause.is_empty());
            return;
        };
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        for name in ["read", "write", "remove"] {
            std::fs::create_dir(at(name)).unwrap();
            std::fs::write(at(name).join("file"), name).unwrap();
        }
        std::fs::write(at("secret"), "x").unwrap();
        std::os::unix::fs::symlink("../secret", at("read/link")).unwrap();
        let open = |name: &str| std::fs::File::open(at(name)).unwrap();
        let (read, write, remove) = (open("read"), open("write"), open("remove"));
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let rules = [
            (read.as_fd(), Allowed::Read),
            (write.as_fd(), Allowed::Write),
            (remove.as_fd(), Allowed::Remove),
        ];
        confined(&rules, Tcp::None, || {
            assert_eq!(std::fs::read_to_string(at("read/file")).unwrap(), "read");
            std::fs::write(at("write/new"), "x").unwrap();
            std::fs::rename(at("write/new"), at("write/file")).unwrap();
            std::fs::remove_file(at("remove/file")).unwrap();
            let refused = |result: io::Result<()>, what: &str| {
                assert_eq!(result.unwrap_err().kind(), io::ErrorKind::PermissionDenied, "{what}");
            };
            refused(std::fs::read(at("secret")).map(drop), "a file beside");
            refused(std::fs::read(at("read/link")).map(drop), "a link that leads outside");
            refused(std::fs::write(at("read/new"), "x"), "a file where files are only read");
            refused(std::fs::create_dir(at("write/dir")), "a directory");
            refused(std::fs::remove_file(at("read/file")), "a file that is only read");
            refused(std::process::Command::new("/bin/true").status().map(drop), "a program");
            if abi >= TCP_ABI {
                let connected = std::net::TcpStream::connect(listener.local_addr().unwrap());
                refused(connected.map(drop), "a connection");
                refused(std::net::TcpListener::bind("127.0.0.1:0").map(drop), "a listener");
            }
        });
    }

    #[test]
    fn a_file_can_be_named_alone_a_pipe_needs_no_rule_and_connections_can_be_left() {
        if abi().is_err() {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        for name in ["written", "read", "other"] {
            std::fs::write(at(name), name).unwrap();
        }
        let (pipe, end) = std::io::pipe().unwrap();
        let through_proc = format!("/proc/self/fd/{}", end.as_raw_fd());
        let open = |name: &str| std::fs::File::open(at(name)).unwrap();
        let (written, read) = (open("written"), open("read"));
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let rules = [
            (written.as_fd(), Allowed::Write),
            (read.as_fd(), Allowed::Read),
            (pipe.as_fd(), Allowed::Write),
        ];
        confined(&rules, Tcp::All, || {
            std::fs::write(at("written"), "x").unwrap();
            assert_eq!(std::fs::read_to_string(at("read")).unwrap(), "read");
            assert!(std::fs::write(at("read"), "x").is_err() && std::fs::read(at("other")).is_err());
            std::fs::write(&through_proc, "x").unwrap();
            std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        });
    }
}
