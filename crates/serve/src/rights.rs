//! The privileges that a server drops once everything is open and before it reads the first byte of a client.
//!
//! It becomes another user and is confined by Landlock, both permanently. docs/security.md describes what a defect in a parser
//! could still do. Both happen in the supervisor while it has one thread, so that every worker inherits them, including later
//! replacements.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pitot_results::{Failure, stderr};
use pitot_sys::landlock::{self, Allowed, Tcp};
use pitot_sys::process::SingleThreaded;
use pitot_sys::user::User;
use rustix::fs::{Access, Mode, OFlags, access, open};

use crate::access_log::LogTarget;
use crate::address::Address;
use crate::failure::unavailable;
use crate::plan::ServePlan;
use crate::server::Server;
use crate::store::Store;

/// Drops the privileges named in the plan.
///
/// # Errors
/// What the user cannot access, or why a privilege cannot be dropped. The server must not serve then.
pub fn give_up(
    plan: &ServePlan,
    server: &Server,
    single_threaded: Option<SingleThreaded>,
) -> Result<(), Failure> {
    if plan.user.is_none() && !plan.confine {
        return Ok(());
    }
    let proof = single_threaded.ok_or_else(several_threads)?;
    if let Some(user) = plan.user {
        become_user(user, proof)?;
        check_access(plan, user)?;
    }
    if plan.confine { confine(plan, server, proof) } else { Ok(()) }
}

/// Changes the user of this process.
///
/// # Errors
/// Why it cannot, with a fix.
pub fn become_user(user: User, proof: SingleThreaded) -> Result<(), Failure> {
    user.become_for_good(proof).map_err(|e| {
        Failure::misuse(
            format!("cannot become user {} of group {}: {e}", user.uid(), user.gid()),
            "start the server as root with CAP_SETUID and CAP_SETGID, which a container may lack",
        )
    })
}

/// Checks that the user may access the paths that the server will use later. Open files stay open.
fn check_access(plan: &ServePlan, user: User) -> Result<(), Failure> {
    let (read, write) = (Access::READ_OK | Access::EXEC_OK, Access::WRITE_OK | Access::EXEC_OK);
    let maildir =
        plan.maildir.iter().flat_map(|dir| ["tmp", "new"].map(|name| (dir.join(name), write, "write")));
    let root = plan.root.iter().map(|dir| (dir.clone(), read, "read"));
    let is_writable = plan.protocol_options.writable;
    let uploads = plan.root.iter().filter(|_| is_writable).map(|dir| (dir.clone(), write, "write"));
    let executes = plan.model.executes;
    let program = plan.connection_command.first().filter(|_| executes);
    let program = program.map(|program| (PathBuf::from(program), Access::EXEC_OK, "execute"));
    let log = match &plan.access_log {
        Some(LogTarget::File(path)) if executes => Some((path.clone(), Access::WRITE_OK, "write")),
        _ => None,
    };
    for (path, how, word) in maildir.chain(root).chain(uploads).chain(program).chain(log) {
        if let Err(e) = access(&path, how) {
            let path = path.display();
            return Err(Failure::misuse(
                format!(
                    "user {} of group {} has no permission to {word} {path}: {e}",
                    user.uid(),
                    user.gid()
                ),
                format!(
                    "grant it access (chown or chmod {path} and the directories above), or choose another --user"
                ),
            ));
        }
    }
    Ok(())
}

fn confine(plan: &ServePlan, server: &Server, proof: SingleThreaded) -> Result<(), Failure> {
    let root: Option<Arc<OwnedFd>> = server.root.as_ref().map(|root| root.directory());
    let socket = match &plan.listen {
        Address::Unix(path) => Some(directory_of(path)?),
        Address::Tcp(_) => None,
    };
    let mut rules = Vec::new();
    rules.extend(root.iter().map(|root| (root.as_fd(), Allowed::Read)));
    match &server.store {
        Some(Store::Maildir(maildir)) => {
            rules.extend(maildir.directories().map(|directory| (directory, Allowed::Write)));
        }
        Some(Store::Uploads(_)) => rules.extend(root.iter().map(|root| (root.as_fd(), Allowed::Write))),
        None => {}
    }
    // The socket is removed when the server stops.
    rules.extend(socket.iter().map(|directory| (directory.as_fd(), Allowed::Remove)));
    restrict(proof, &rules, Tcp::None)
}

/// Confines this process to open files, to these files and to these connections, and reports it. Must be called while it has one
/// thread.
///
/// # Errors
/// What this kernel lacks, with a fix.
pub fn confine_to(rules: &[(BorrowedFd<'_>, Allowed)], tcp: Tcp) -> Result<(), Failure> {
    restrict(SingleThreaded::check().ok_or_else(several_threads)?, rules, tcp)
}

fn restrict(proof: SingleThreaded, rules: &[(BorrowedFd<'_>, Allowed)], tcp: Tcp) -> Result<(), Failure> {
    let version = landlock::confine(proof, rules, tcp).map_err(unavailable)?;
    stderr::line(format_args!(
        "pitot: confined by Landlock, version {version} (docs/security.md describes the effect)"
    ));
    Ok(())
}

fn several_threads() -> Failure {
    Failure::run("privileges must be dropped before any thread is started", "please report this")
}

/// The directory of a socket.
fn directory_of(socket: &Path) -> Result<OwnedFd, Failure> {
    let directory = socket.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    open(directory, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).map_err(|e| {
        Failure::misuse(
            format!("cannot open {}, the directory of the socket: {e}", directory.display()),
            "choose a path in a readable directory",
        )
    })
}
