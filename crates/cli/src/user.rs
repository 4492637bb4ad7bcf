//! `--user`: whom a process becomes, or as whom programs are started.

use pitot_results::Failure;
use pitot_sys::process::{SingleThreaded, is_root};
use pitot_sys::user::User;

/// `NAME`, `NAME:GROUP` or `UID:GID`.
pub(crate) fn parse(text: &str) -> Result<User, String> {
    User::find(text).map_err(|e| format!("{e}; give NAME, NAME:GROUP or UID:GID of an ordinary user"))
}

/// Refuses a user that this process cannot become.
///
/// # Errors
/// This process is not root's.
pub(crate) fn check(user: Option<User>) -> Result<(), Failure> {
    if user.is_some() && !is_root() {
        return Err(Failure::misuse("only root may use --user", "omit it, or start this program as root"));
    }
    Ok(())
}

/// Becomes that user permanently, if there is one. Must be called while the process has one thread.
///
/// # Errors
/// As [`check`], or why the user cannot be changed.
pub(crate) fn become_user(user: Option<User>) -> Result<(), Failure> {
    check(user)?;
    let Some(user) = user else { return Ok(()) };
    let proof = SingleThreaded::check().ok_or_else(|| {
        Failure::run("the user must be changed before any thread is started", "please report this")
    })?;
    pitot_serve::become_user(user, proof)
}
