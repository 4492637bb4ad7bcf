//! How the processes and control groups of a run are known, whoever started them.

use std::time::Duration;

use pitot_sys::guardian::kill_all;

use crate::procfs;

/// The variable whose value, the cookie, marks all processes of one run.
pub(crate) const COOKIE_NAME: &str = "PITOT_RUN";

/// What the names of a run's control groups begin with.
pub(super) fn group_prefix(cookie: &str) -> String {
    format!("pitot-{cookie}-")
}

/// The line of the environment by which the processes of a run are known.
pub(super) fn cookie_line(cookie: &str) -> String {
    format!("{COOKIE_NAME}={cookie}")
}

/// Kills all processes of `sessions` and all that carry the cookie until none is left. Returns those that it found.
pub(crate) fn sweep(sessions: &[u32], cookie: &str, timeout: Duration) -> Vec<(u32, String)> {
    let mut all = Vec::new();
    kill_all(timeout, || {
        let found = procfs::find(sessions, cookie);
        let pids = found.iter().map(|(pid, _)| *pid).collect();
        let new: Vec<_> = found.into_iter().filter(|process| !all.contains(process)).collect();
        all.extend(new);
        pids
    });
    all
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(5);

    #[test]
    fn a_sweep_reaches_daemons_by_their_cookie() {
        let cookie = format!("test-{}", std::process::id());
        // The shell ends at once and leaves a child in a session of its own.
        let status = std::process::Command::new("sh")
            .args(["-c", "setsid sleep 60 </dev/null >/dev/null 2>&1 & exit 0"])
            .env(COOKIE_NAME, &cookie)
            .status()
            .unwrap();
        assert!(status.success());
        let line = cookie_line(&cookie);
        let deadline = Instant::now() + TIMEOUT;
        while procfs::find(&[], &line).iter().all(|(_, name)| name != "sleep") {
            assert!(Instant::now() < deadline, "the child never came up");
            std::thread::yield_now();
        }
        assert_eq!(sweep(&[], &line, TIMEOUT).len(), 1);
        assert_eq!(procfs::find(&[], &line), []);
    }
}
