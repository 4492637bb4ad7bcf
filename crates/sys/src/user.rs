//! Another user: whom a process that root has started becomes for good, once it has opened what only root may open.
//!
//! Names are looked up in /etc/passwd and /etc/group alone: a directory service would be asked over the network, in the middle of a
//! measurement, and by threads of its library. Give numbers where users are known only there.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::process::SingleThreaded;

/// A user and a group, neither of them root's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct User {
    uid: u32,
    gid: u32,
}

/// Why a word names no user that a process could become.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoUser {
    /// No line of /etc/passwd has this name or number.
    User(String),
    /// No line of /etc/group has this name.
    Group(String),
    /// It is root, or root's group.
    Root(String),
}

impl std::fmt::Display for NoUser {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            NoUser::User(name) => write!(f, "no user in /etc/passwd is called `{name}`"),
            NoUser::Group(name) => write!(f, "no group in /etc/group is called `{name}`"),
            NoUser::Root(name) => write!(f, "`{name}` is root: no rights would be dropped"),
        }
    }
}

impl std::error::Error for NoUser {}

impl User {
    /// The user of `NAME`, `NAME:GROUP` or `UID:GID`; without a group it is that of the user in /etc/passwd.
    ///
    /// # Errors
    /// [`NoUser`].
    pub fn find(text: &str) -> Result<User, NoUser> {
        let read =
            |path: &str| String::from_utf8_lossy(&std::fs::read(path).unwrap_or_default()).into_owned();
        User::find_in(text, &read("/etc/passwd"), &read("/etc/group"))
    }

    fn find_in(text: &str, passwd: &str, group: &str) -> Result<User, NoUser> {
        let (name, group_name) = match text.split_once(':') {
            Some((name, group)) => (name, Some(group)),
            None => (text, None),
        };
        // passwd(5): NAME:PASSWORD:UID:GID:...
        let known = passwd.lines().find_map(|line| {
            let mut fields = line.split(':');
            let (its_name, uid) = (fields.next()?, fields.nth(1)?.parse::<u32>().ok()?);
            let gid = fields.next()?.parse::<u32>().ok()?;
            (its_name == name || name.parse() == Ok(uid)).then_some((uid, gid))
        });
        // group(5): NAME:PASSWORD:GID:...
        let of_group = |wanted: &str| {
            let named = group.lines().find_map(|line| {
                let mut fields = line.split(':');
                (fields.next()? == wanted).then(|| fields.nth(1)?.parse::<u32>().ok()).flatten()
            });
            named.or_else(|| wanted.parse().ok()).ok_or_else(|| NoUser::Group(wanted.to_owned()))
        };
        let unknown = || NoUser::User(name.to_owned());
        let (uid, gid) = match (known, group_name) {
            (Some((uid, gid)), None) => (uid, gid),
            (Some((uid, _)), Some(group)) => (uid, of_group(group)?),
            // A number alone that no line has says nothing of a group.
            (None, None) => return Err(unknown()),
            (None, Some(group)) => (name.parse().map_err(|_| unknown())?, of_group(group)?),
        };
        // The last number stands for "leave it as it is" (setresuid(2)).
        if uid == 0 || gid == 0 || uid == u32::MAX || gid == u32::MAX {
            return Err(NoUser::Root(text.to_owned()));
        }
        Ok(User { uid, gid })
    }

    /// Its number.
    pub fn uid(self) -> u32 {
        self.uid
    }

    /// The number of its group.
    pub fn gid(self) -> u32 {
        self.gid
    }

    /// Makes this process that user, without other groups, without capabilities, and without a way back: a program that it executes
    /// gains nothing by set-user-ID bits either. It still dies with its parent if it did before.
    ///
    /// # Errors
    /// EPERM where root may not change its user, as in some containers; another error if something is left of root's rights.
    pub fn become_for_good(self, _proof: SingleThreaded) -> io::Result<()> {
        change(self)
    }

    /// Makes `command` start its program as that user, in the same way. Call it after what else prepares the command.
    pub fn run(self, command: &mut Command) {
        // SAFETY: the closure runs between fork and exec and makes system calls only.
        unsafe { command.pre_exec(move || change(self)) };
    }
}

/// System calls alone, each for the calling thread, which is the only one.
fn change(User { uid, gid }: User) -> io::Result<()> {
    let check = |result: libc::c_long| if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) };
    let mut death: libc::c_int = 0;
    let (mut uids, mut gids) = ([0; 3], [0; 3]);
    // SAFETY: pointers are to local variables of the types that the calls fill, or null where nothing is read. The calls change
    // this thread alone, and it is the only one of its process.
    unsafe {
        check(libc::syscall(libc::SYS_prctl, libc::PR_GET_PDEATHSIG, &raw mut death))?;
        check(libc::syscall(libc::SYS_setgroups, 0, std::ptr::null::<libc::gid_t>()))?;
        check(libc::syscall(libc::SYS_setresgid, gid, gid, gid))?;
        check(libc::syscall(libc::SYS_setresuid, uid, uid, uid))?;
        check(libc::syscall(libc::SYS_prctl, libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))?;
        // A change of user clears it.
        check(libc::syscall(libc::SYS_prctl, libc::PR_SET_PDEATHSIG, death))?;
        let [real, effective, saved] = &mut uids;
        check(libc::syscall(libc::SYS_getresuid, &raw mut *real, &raw mut *effective, &raw mut *saved))?;
        let [real, effective, saved] = &mut gids;
        check(libc::syscall(libc::SYS_getresgid, &raw mut *real, &raw mut *effective, &raw mut *saved))?;
        let groups = check(libc::syscall(libc::SYS_getgroups, 0, std::ptr::null::<libc::gid_t>()))?;
        let is_back = libc::syscall(libc::SYS_setresuid, 0, 0, 0) == 0
            || libc::syscall(libc::SYS_setresgid, 0, 0, 0) == 0;
        if is_back || groups != 0 || uids != [uid; 3] || gids != [gid; 3] || has_capabilities() {
            return Err(io::Error::from_raw_os_error(libc::ENOTRECOVERABLE));
        }
    }
    Ok(())
}

/// Whether this thread has, or could take, a right of root's (capabilities(7)).
fn has_capabilities() -> bool {
    let sets = rustix::thread::capabilities(None);
    sets.is_ok_and(|sets| !sets.effective.is_empty() || !sets.permitted.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_names_or_numbers_and_never_root() {
        let passwd = "root:x:0:0:root:/root:/bin/sh\nwww:x:33:34::/:/bin/false\nbroken\n99:x:7:8::/:/\nwheel:x:5:0::/:/\n";
        let group = "root:x:0:\nlog:x:44:www\n";
        let find = |text| User::find_in(text, passwd, group);
        let user = |uid, gid| Ok(User { uid, gid });
        assert_eq!(find("www"), user(33, 34));
        assert_eq!(find("33"), user(33, 34));
        assert_eq!(find("www:log"), user(33, 44));
        assert_eq!(find("1000:1001"), user(1000, 1001));
        assert_eq!(find("1000:log"), user(1000, 44));
        for (text, e) in [
            ("nobody-here", NoUser::User("nobody-here".into())),
            ("1000", NoUser::User("1000".into())),
            ("", NoUser::User(String::new())),
            ("www:staff", NoUser::Group("staff".into())),
            ("www:", NoUser::Group(String::new())),
            ("root", NoUser::Root("root".into())),
            ("0:33", NoUser::Root("0:33".into())),
            ("www:root", NoUser::Root("www:root".into())),
            ("wheel", NoUser::Root("wheel".into())),
            ("4294967295:1", NoUser::Root("4294967295:1".into())),
        ] {
            assert_eq!(find(text), Err(e));
        }
    }

    #[test]
    fn a_program_of_another_user_has_no_right_of_root_and_no_way_back() {
        let mut command = Command::new("cat");
        command.arg("/proc/self/status");
        crate::spawn::isolate(&mut command, &[]);
        User { uid: 65533, gid: 65532 }.run(&mut command);
        let output = command.output();
        if !crate::process::is_root() {
            assert_eq!(output.unwrap_err().raw_os_error(), Some(libc::EPERM));
            return;
        }
        use std::os::unix::fs::MetadataExt;
        if std::fs::metadata("/").unwrap().mode() & 0o001 == 0 {
            // As root it could be started: no other user gets below /.
            assert_eq!(output.unwrap_err().raw_os_error(), Some(libc::EACCES));
            return;
        }
        let status = String::from_utf8(output.unwrap().stdout).unwrap();
        let value = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(value("Uid:"), ["65533"; 4]);
        assert_eq!(value("Gid:"), ["65532"; 4]);
        assert_eq!(value("Groups:"), [""; 0]);
        assert_eq!(value("NoNewPrivs:"), ["1"]);
        for set in ["CapPrm:", "CapEff:", "CapAmb:"] {
            assert_eq!(value(set), ["0000000000000000"], "{set}");
        }
    }
}
