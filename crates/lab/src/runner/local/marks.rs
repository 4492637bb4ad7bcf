//! Recognises the processes and control groups of a run.
//!
//! Each program has a session, two environment variables, a mark that survives `env -i setsid` ([`pitot_sys::Mark`]) and, if one can
//! be created, a control group. Its descendants inherit all of them, and one is enough to recognise a process.

use std::path::PathBuf;
use std::time::Duration;

use pitot_sys::guardian::{kill_all, wait_until};

use super::groups::remove_groups;
use crate::procfs::{self, COOKIE_NAME};

/// Timeout until killed processes and their control groups are gone.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Prefix of the names of a run's control groups.
pub(super) fn group_prefix(cookie: &str) -> String {
    format!("pitot-{cookie}-")
}

/// Kills all processes of an ended run, and removes its control groups, which are directly in `parents`.
pub(super) fn end_run(cookie: &str, sessions: &[u32], parents: &[PathBuf]) {
    // Groups first: a group that is killed at once cannot fork meanwhile.
    wait_until(TIMEOUT, || remove_groups(parents, &group_prefix(cookie)));
    let line = format!("{COOKIE_NAME}={cookie}");
    kill_all(TIMEOUT, || procfs::find(sessions, Some(&line), |mark| mark.is_of(cookie)));
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use pitot_sys::Mark;

    use super::*;

    #[test]
    fn a_run_is_ended_with_daemons_that_keep_only_their_environment_or_only_their_mark() {
        let cookie = format!("test-{}", std::process::id());
        // The shell ends at once and leaves two children in sessions of their own.
        let mut command = std::process::Command::new("sh");
        command.args([
            "-c",
            "exec </dev/null >/dev/null 2>&1; setsid sleep 60 & env -i setsid sleep 61 & exit 0",
        ]);
        command.env(COOKIE_NAME, &cookie);
        Mark::new(&cookie, 3).put_on(&mut command);
        assert!(command.status().unwrap().success());
        let line = format!("{COOKIE_NAME}={cookie}");
        let count = |found: Vec<_>| {
            found.iter().filter(|p: &&pitot_sys::processes::Process| p.name == "sleep").count()
        };
        let deadline = Instant::now() + TIMEOUT;
        let all = || procfs::find(&[], Some(&line), |mark| mark.is_of(&cookie));
        while count(all()) < 2 {
            assert!(Instant::now() < deadline, "the children never came up");
            std::thread::yield_now();
        }
        assert_eq!(count(procfs::find(&[], Some(&line), |_| false)), 1, "the other one has no environment");
        end_run(&cookie, &[], &[]);
        assert_eq!(all(), []);
    }
}
