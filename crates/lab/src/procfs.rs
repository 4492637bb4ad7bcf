//! Reads /proc into buffers that are reused.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

use pitot_sys::Mark;
use pitot_sys::processes::{self, Process};
pub(crate) use pitot_sys::processes::{Stat, TICK_NS};

/// The variable whose value, the cookie, marks all processes of one run.
pub(crate) const COOKIE_NAME: &str = "PITOT_RUN";

/// A reader of small files with one buffer.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    path: Vec<u8>,
    content: Vec<u8>,
}

impl Reader {
    /// The content of `/proc/{rest}`, or `None` if it cannot be read.
    pub(crate) fn read(&mut self, rest: std::fmt::Arguments<'_>) -> Option<&[u8]> {
        self.path.clear();
        self.path.extend_from_slice(b"/proc/");
        self.path.write_fmt(rest).ok()?;
        self.content.clear();
        let path: &std::ffi::OsStr = std::os::unix::ffi::OsStrExt::from_bytes(&self.path);
        File::open(Path::new(path)).ok()?.read_to_end(&mut self.content).ok()?;
        Some(&self.content)
    }

    /// The line about a process.
    pub(crate) fn stat(&mut self, pid: u32) -> Option<Stat> {
        Stat::parse(self.read(format_args!("{pid}/stat"))?).map(|(stat, _)| stat)
    }

    /// The name of a process.
    pub(crate) fn name(&mut self, pid: u32) -> String {
        let name = self.read(format_args!("{pid}/comm")).unwrap_or_default();
        String::from_utf8_lossy(name).trim_end().to_owned()
    }
}

/// Sorts processes into sessions, and remembers those of other sessions to skip them later. A process that leaves its
/// session, as those of PostgreSQL do, still belongs to it: it is recognised by its parent.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    pids: Vec<u32>,
    /// Processes of the sessions found by the current walk, in ascending order, with their sessions.
    members: Vec<(u32, u32)>,
    /// Processes that have left these sessions, with the session that they left.
    left: HashMap<u32, u32>,
    /// Processes whose parents may come later in the same walk, since process ids are reused.
    unknown: Vec<(u32, Stat)>,
    /// Processes outside the sessions; true for threads of the kernel.
    others: HashMap<u32, bool>,
}

impl Sessions {
    /// Calls `visit` with every process of `sessions` and its status; a process that left a session counts for that
    /// session.
    pub(crate) fn walk(&mut self, reader: &mut Reader, sessions: &[u32], mut visit: impl FnMut(u32, Stat)) {
        self.pids.clear();
        self.pids.extend(processes::pids());
        self.pids.sort_unstable();
        let exists = |pid: &u32| self.pids.binary_search(pid).is_ok();
        self.others.retain(|pid, _| exists(pid));
        self.left.retain(|pid, _| exists(pid));
        self.members.clear();
        self.unknown.clear();
        for at in 0..self.pids.len() {
            let pid = self.pids[at];
            if self.others.contains_key(&pid) {
                continue;
            }
            let Some(stat) = reader.stat(pid) else { continue };
            if sessions.contains(&stat.session) {
                self.members.push((pid, stat.session));
                visit(pid, stat);
            } else if let Some(session) = self.session_left(pid, &stat) {
                self.left.insert(pid, session);
                visit(pid, Stat { session, ..stat });
            } else {
                self.unknown.push((pid, stat));
            }
        }
        let mut unknown = std::mem::take(&mut self.unknown);
        loop {
            let before = unknown.len();
            unknown.retain(|&(pid, stat)| {
                let Some(session) = self.session_left(pid, &stat) else { return true };
                self.left.insert(pid, session);
                visit(pid, Stat { session, ..stat });
                false
            });
            if unknown.len() == before {
                break;
            }
        }
        self.others.extend(unknown.drain(..).map(|(pid, stat)| (pid, stat.kernel_thread)));
        self.unknown = unknown;
    }

    /// The session that a process or its ancestor has left.
    fn session_left(&self, pid: u32, stat: &Stat) -> Option<u32> {
        let of_parent = || {
            let at = self.members.binary_search_by_key(&stat.parent, |(pid, _)| *pid).ok()?;
            Some(self.members[at].1)
        };
        self.left.get(&pid).or_else(|| self.left.get(&stat.parent)).copied().or_else(of_parent)
    }

    /// The processes outside the sessions, as of the last walk, without threads of the kernel.
    pub(crate) fn others(&self) -> impl Iterator<Item = u32> {
        self.others.iter().filter(|(_, kernel)| !**kernel).map(|(pid, _)| *pid)
    }
}

/// The processes of `sessions`, those whose environment has the line, and those with a mark, without zombies. A daemon
/// leaves its session but keeps its environment, and keeps its mark even if it clears the environment.
pub(crate) fn find(sessions: &[u32], line: Option<&str>, is_ours: impl Fn(Mark) -> bool) -> Vec<Process> {
    let mut reader = Reader::default();
    let own = std::process::id();
    let mut found = Vec::new();
    for pid in processes::pids().filter(|pid| *pid != own) {
        let Some(process) = Process::read(pid).filter(|process| !process.stat.kernel_thread) else {
            continue;
        };
        let has_line = |reader: &mut Reader| {
            let environment = reader.read(format_args!("{pid}/environ")).unwrap_or_default();
            line.is_some_and(|line| environment.split(|&b| b == 0).any(|other| other == line.as_bytes()))
        };
        let has_mark = |reader: &mut Reader| {
            let limits = reader.read(format_args!("{pid}/limits")).unwrap_or_default();
            Mark::in_limits(limits).is_some_and(&is_ours)
        };
        if sessions.contains(&process.stat.session) || has_line(&mut reader) || has_mark(&mut reader) {
            found.push(process);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_leaves_its_session_is_still_counted_in_it() {
        let mut command = std::process::Command::new("sh");
        // The first child leads a session of its own, and has a child in another one.
        command.args(["-c", "setsid sh -c 'setsid sleep 60 & wait' & read line; wait"]);
        command.stdin(std::process::Stdio::piped());
        pitot_sys::spawn::isolate(&mut command, &[]);
        let mut child = command.spawn().unwrap();
        let (mut reader, mut sessions) = (Reader::default(), Sessions::default());
        let mut walk = || {
            let mut seen = Vec::new();
            sessions.walk(&mut reader, &[child.id()], |pid, stat| {
                assert_eq!(stat.session, child.id());
                seen.push((pid, stat.parent, stat.is_over()));
            });
            seen
        };
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
        let (middle, last) = loop {
            assert!(std::time::Instant::now() < deadline, "the shell never had its descendants");
            let seen = walk();
            let child_of = |of: u32| seen.iter().find(|(_, parent, _)| *parent == of).map(|(pid, ..)| *pid);
            let Some(middle) = child_of(child.id()) else { continue };
            let Some(last) = child_of(middle) else { continue };
            break (middle, last);
        };
        // Who is left behind goes on being counted.
        pitot_sys::spawn::stop(middle, pitot_sys::spawn::Stop::Kill);
        while walk().iter().any(|(pid, _, zombie)| *pid == middle && !zombie) {
            assert!(std::time::Instant::now() < deadline, "the process never ended");
        }
        assert!(walk().iter().any(|(pid, ..)| *pid == last));
        pitot_sys::spawn::stop(last, pitot_sys::spawn::Stop::Kill);
        drop(child.stdin.take());
        child.wait().unwrap();
    }

    #[test]
    fn a_process_is_found_by_its_session_its_environment_and_its_mark() {
        let line = format!("PITOT_TEST={}", std::process::id());
        let mark = Mark::new(&line, 1);
        let (key, value) = line.split_once('=').unwrap();
        let mut command = std::process::Command::new("sleep");
        command.arg("60").env(key, value);
        mark.put_on(&mut command);
        pitot_sys::spawn::isolate(&mut command, &[]);
        let mut child = command.spawn().unwrap();
        let pid = child.id();
        let pids = |found: Vec<Process>| found.into_iter().map(|p| (p.pid, p.name)).collect::<Vec<_>>();
        let by_session = pids(find(&[pid], None, |_| false));
        let by_line = pids(find(&[], Some(&line), |_| false));
        let by_mark = pids(find(&[], None, |other| other == mark));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(by_session, [(pid, "sleep".to_owned())]);
        assert_eq!((&by_line, &by_mark), (&by_session, &by_session));
        assert_eq!(find(&[pid], Some(&line), |other| other == mark), []);
    }
}
