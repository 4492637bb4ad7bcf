//! A mark that a program and all its descendants carry, whatever they do to their environment, session and parents.
//!
//! `env -i setsid daemon &` leaves nothing by which its starter could know it again: it has another session, another parent and an
//! empty environment. Where a control group can be made, that holds it. Elsewhere the mark is an uncommon soft limit on the
//! CPU time of real-time threads between two waits (RLIMIT_RTTIME, getrlimit(2)): it passes fork(2), execve(2), setsid(2) and
//! a change of user, anybody may read it in /proc/PID/limits, and as a limit it means nothing, as it is tens of thousands of years.
//!
//! PR_SET_CHILD_SUBREAPER would bring orphans back to the lab instead, but not say whose they are where several servers stand, and the
//! guardian, which must kill them when the lab is killed, is no ancestor of them.

use std::process::Command;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// This bit is set in every mark, so that it is longer than any limit that somebody would set.
const SET: u64 = 1 << 62;
/// The bits of the number; those between are the run's.
const NUMBER_BITS: u32 = 24;

/// The mark of one program of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark(u64);

impl Mark {
    /// The mark of the program with this number in the run of this name. Names are mapped to 38 bits (FNV-1a).
    pub fn new(run: &str, number: usize) -> Mark {
        let hash = run.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let number = number as u64 & ((1 << NUMBER_BITS) - 1);
        Mark(SET | (hash << NUMBER_BITS & (SET - 1)) | number)
    }

    /// Whether this is the mark of a program of that run.
    pub fn is_of(self, run: &str) -> bool {
        self.0 >> NUMBER_BITS == Mark::new(run, 0).0 >> NUMBER_BITS
    }

    /// Reads it in the text of /proc/PID/limits (proc_pid_limits(5)). `None` if there is none.
    pub fn in_limits(text: &[u8]) -> Option<Mark> {
        let line = text.split(|&b| b == b'\n').find_map(|line| line.strip_prefix(b"Max realtime timeout"))?;
        let soft = std::str::from_utf8(line).ok()?.split_ascii_whitespace().next()?;
        soft.parse().ok().filter(|mark| mark & SET != 0).map(Mark)
    }

    /// Makes `command` start its program with the mark. A kernel that does not know the limit, as gVisor's, or a lower hard limit
    /// leaves it without: the program is started all the same.
    pub fn put_on(self, command: &mut Command) {
        use std::os::unix::process::CommandExt;
        let limit = Rlimit { current: Some(self.0), maximum: getrlimit(Resource::Rttime).maximum };
        let prepare = move || {
            let _ = setrlimit(Resource::Rttime, limit);
            Ok(())
        };
        // SAFETY: the closure runs between fork and exec and makes one system call; what it copies is on the stack.
        unsafe { command.pre_exec(prepare) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_outlives_an_empty_environment_and_a_new_session() {
        let mark = Mark::new("a run", 7);
        let mut command = Command::new("sh");
        command.args(["-c", "env -i setsid cat /proc/self/limits"]);
        mark.put_on(&mut command);
        let limits = command.output().unwrap().stdout;
        assert_eq!(Mark::in_limits(&limits), Some(mark), "{}", String::from_utf8_lossy(&limits));
        assert_eq!(Mark::in_limits(&std::fs::read("/proc/self/limits").unwrap()), None);
    }

    #[test]
    fn marks_of_runs_and_programs_differ() {
        let mark = Mark::new("a run", 7);
        assert!(mark.is_of("a run") && !mark.is_of("b run") && mark != Mark::new("a run", 8));
        assert_eq!(
            Mark::in_limits(b"Max realtime timeout      unlimited            unlimited            us\n"),
            None
        );
        assert_eq!(
            Mark::in_limits(b"Max realtime timeout      200000               200000               us\n"),
            None
        );
    }
}
