//! Failures of system calls while a server starts, with their fixes.

use std::io;

use pitot_results::Failure;
use pitot_sys::Unavailable;
use rustix::io::Errno;

/// The failure of a system call while a server starts. `doing` describes it.
pub fn starting(doing: &str, e: &io::Error) -> Failure {
    let fix = match Errno::from_io_error(e) {
        Some(Errno::MFILE | Errno::NFILE) => {
            "raise the limit on descriptors (ulimit -n), or use fewer --workers"
        }
        Some(Errno::AGAIN) => "raise the limit on processes (ulimit -u) or use fewer --workers",
        Some(Errno::NOMEM) => "use fewer --workers or free some memory",
        _ => "use another --model or --mechanism; `pitot list pairs` shows all",
    };
    Failure::misuse(format!("{doing}: {e}"), fix)
}

/// Something that the kernel, the user's permissions or a limit does not allow.
pub fn unavailable(missing: Unavailable) -> Failure {
    Failure::misuse(missing.to_string(), missing.fix)
}
