//! What /proc says of processes, read into buffers that are reused.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

/// Nanoseconds of a clock tick: /proc counts CPU time in hundredths of a second on every architecture (USER_HZ).
pub(crate) const TICK_NS: u64 = 10_000_000;

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
        Stat::parse(self.read(format_args!("{pid}/stat"))?)
    }

    /// The name of a process.
    pub(crate) fn name(&mut self, pid: u32) -> String {
        let name = self.read(format_args!("{pid}/comm")).unwrap_or_default();
        String::from_utf8_lossy(name).trim_end().to_owned()
    }
}

/// The fields of /proc/PID/stat that matter here (proc_pid_stat(5)). Times are in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stat {
    pub(crate) zombie: bool,
    pub(crate) session: u32,
    pub(crate) user: u64,
    pub(crate) system: u64,
    /// Of children that have ended and were waited for.
    pub(crate) children_user: u64,
    pub(crate) children_system: u64,
    pub(crate) threads: u64,
    pub(crate) rss_pages: u64,
    /// The CPU it ran on last.
    pub(crate) processor: usize,
    pub(crate) kernel_thread: bool,
}

/// `PF_KTHREAD` of include/linux/sched.h.
const KERNEL_THREAD: u64 = 0x0020_0000;

impl Stat {
    fn parse(line: &[u8]) -> Option<Stat> {
        // The name stands in parentheses and may hold anything, parentheses too: count from the last one.
        let after = line.iter().rposition(|&b| b == b')')? + 1;
        let text = std::str::from_utf8(&line[after..]).ok()?;
        let mut stat = Stat::default();
        for (field, word) in (3..).zip(text.split_ascii_whitespace()) {
            let number = || word.parse().unwrap_or(0);
            match field {
                3 => stat.zombie = matches!(word, "Z" | "X"),
                6 => stat.session = number() as u32,
                9 => stat.kernel_thread = number() & KERNEL_THREAD != 0,
                14 => stat.user = number(),
                15 => stat.system = number(),
                16 => stat.children_user = number(),
                17 => stat.children_system = number(),
                20 => stat.threads = number(),
                24 => stat.rss_pages = number(),
                39 => {
                    stat.processor = number() as usize;
                    return Some(stat);
                }
                _ => {}
            }
        }
        None
    }
}

/// The processes there are.
pub(crate) fn pids(into: &mut Vec<u32>) {
    into.clear();
    let Ok(entries) = std::fs::read_dir("/proc") else { return };
    into.extend(entries.flatten().filter_map(|e| e.file_name().to_str()?.parse::<u32>().ok()));
}

/// Sorts processes into sessions, and remembers those of other sessions, so that it does not read them
/// again and again.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    pids: Vec<u32>,
    /// Processes outside the sessions; true for threads of the kernel.
    others: HashMap<u32, bool>,
}

impl Sessions {
    /// Calls `visit` with every process of `sessions` and what is known of it.
    pub(crate) fn walk(&mut self, reader: &mut Reader, sessions: &[u32], mut visit: impl FnMut(u32, Stat)) {
        pids(&mut self.pids);
        self.pids.sort_unstable();
        self.others.retain(|pid, _| self.pids.binary_search(pid).is_ok());
        for &pid in &self.pids {
            if self.others.contains_key(&pid) {
                continue;
            }
            let Some(stat) = reader.stat(pid) else { continue };
            if sessions.contains(&stat.session) {
                visit(pid, stat);
            } else {
                self.others.insert(pid, stat.kernel_thread);
            }
        }
    }

    /// The processes outside the sessions, as of the last walk, without threads of the kernel.
    pub(crate) fn others(&self) -> impl Iterator<Item = u32> {
        self.others.iter().filter(|(_, kernel)| !**kernel).map(|(pid, _)| *pid)
    }
}

/// The processes of `sessions`, and those whose environment has the line `cookie` (a daemon leaves its session, but
/// takes its environment along), zombies left out: pid and name.
pub(crate) fn find(sessions: &[u32], cookie: &str) -> Vec<(u32, String)> {
    let mut reader = Reader::default();
    let mut all = Vec::new();
    pids(&mut all);
    let own = std::process::id();
    let mut found = Vec::new();
    for pid in all {
        let Some(stat) = reader.stat(pid) else { continue };
        if stat.zombie || stat.kernel_thread || pid == own {
            continue;
        }
        let marked = |reader: &mut Reader| {
            let environment = reader.read(format_args!("{pid}/environ")).unwrap_or_default();
            environment.split(|&b| b == 0).any(|line| line == cookie.as_bytes())
        };
        if sessions.contains(&stat.session) || marked(&mut reader) {
            found.push((pid, reader.name(pid)));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_does_not_shift_the_fields() {
        let mut line =
            b"42 (a) b (c)) Z 1 7 77 0 -1 4194560 1 2 3 4 10 20 30 40 20 0 9 0 100 4096 55".to_vec();
        for field in 25..=38 {
            line.extend(format!(" {field}").bytes());
        }
        line.extend(b" 3 0 0\n");
        let stat = Stat::parse(&line).unwrap();
        assert!(stat.zombie && !stat.kernel_thread);
        assert_eq!((stat.session, stat.user, stat.system), (77, 10, 20));
        assert_eq!((stat.children_user, stat.children_system), (30, 40));
        assert_eq!((stat.threads, stat.rss_pages, stat.processor), (9, 55, 3));
        assert_eq!(Stat::parse(b"42 (short) S 1"), None);
        assert_eq!(Stat::parse(b""), None);
    }

    #[test]
    fn a_process_is_found_by_its_session_and_by_its_cookie() {
        let cookie = format!("PITOT_TEST={}", std::process::id());
        let (key, value) = cookie.split_once('=').unwrap();
        let mut command = std::process::Command::new("sleep");
        command.arg("60").env(key, value);
        pitot_sys::spawn::isolate(&mut command, &[]);
        let mut child = command.spawn().unwrap();
        let pid = child.id();
        let by_session = find(&[pid], "NONE=1");
        let by_cookie = find(&[], &cookie);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(by_session, [(pid, "sleep".to_owned())]);
        assert_eq!(by_cookie, by_session);
        assert_eq!(find(&[pid], &cookie), []);
    }
}
