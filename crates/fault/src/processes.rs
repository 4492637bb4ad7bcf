//! The processes of a server, found in /proc by their first.

use std::collections::HashMap;

use crate::options::Which;

/// A process, by its number and its start, which together are never used again (proc_pid_stat(5)).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    pub(crate) name: String,
    parent: u32,
    session: u32,
    is_zombie: bool,
    /// CPU time so far, in ticks.
    ticks: u64,
    started: u64,
}

impl Process {
    fn read(pid: u32) -> Option<Process> {
        let line = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name stands in parentheses and may hold anything, parentheses too.
        let (head, rest) = line.rsplit_once(") ")?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        // Counted from the state, which is field 3.
        let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
        Some(Process {
            pid,
            name: head.split_once('(')?.1.to_owned(),
            parent: number(4)? as u32,
            session: number(6)? as u32,
            is_zombie: matches!(fields.first(), Some(&("Z" | "X"))),
            ticks: number(14)? + number(15)?,
            started: number(22)?,
        })
    }

    /// A note by which [`of_note`] finds it again, and no other.
    pub(crate) fn note(&self) -> String {
        format!("{} {}", self.pid, self.started)
    }
}

/// The process of a note, if it is still there.
pub(crate) fn of_note(note: &str) -> Option<u32> {
    let mut words = note.split(' ');
    let (pid, started): (u32, u64) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    Process::read(pid).filter(|process| process.started == started).map(|process| process.pid)
}

/// All processes of a server: its first, their descendants, and what has its session.
pub(crate) fn of_server(first: u32) -> Vec<Process> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let all: HashMap<u32, Process> =
        pids.filter_map(Process::read).filter(|p| !p.is_zombie).map(|p| (p.pid, p)).collect();
    let belongs = |process: &Process| {
        if process.session == first {
            return true;
        }
        let mut at = Some(process);
        // No chain of parents is longer than there are processes.
        for _ in 0..all.len() {
            match at {
                Some(process) if process.pid == first => return true,
                Some(process) => at = all.get(&process.parent),
                None => return false,
            }
        }
        false
    };
    let mut found: Vec<Process> = all.values().filter(|process| belongs(process)).cloned().collect();
    found.sort_by_key(|process| (process.pid != first, process.pid));
    found
}

/// The chosen processes of a server. The error is a sentence.
pub(crate) fn choose(first: u32, which: Which) -> Result<Vec<Process>, String> {
    let all = of_server(first);
    let has_children = |process: &Process| all.iter().any(|other| other.parent == process.pid);
    let chosen: Vec<Process> = match which {
        Which::All => all.clone(),
        Which::Main => all.iter().filter(|process| process.pid == first).cloned().collect(),
        Which::Worker => all
            .iter()
            .filter(|p| !has_children(p))
            .max_by_key(|p| (p.ticks, p.pid))
            .cloned()
            .into_iter()
            .collect(),
    };
    if chosen.is_empty() {
        return Err(format!("process {first} is not there"));
    }
    Ok(chosen)
}

/// `process 4711 (nginx)`, or `3 processes (nginx)`.
pub(crate) fn name(processes: &[Process]) -> String {
    match processes {
        [one] => format!("process {} ({})", one.pid, one.name),
        several => {
            format!("{} processes ({})", several.len(), several.first().map_or("", |one| one.name.as_str()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_are_those_without_children() {
        let mut command = std::process::Command::new("sh");
        command.args(["-c", "sleep 60 & sleep 60 & wait"]);
        pitot_sys::spawn::isolate(&mut command, &[]);
        let mut child = command.spawn().unwrap();
        let first = child.id();
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
        let is_up = || of_server(first).iter().filter(|p| p.name == "sleep").count() == 2;
        while !is_up() {
            assert!(std::time::Instant::now() < deadline, "the shell never had two children");
            std::thread::yield_now();
        }
        let main = choose(first, Which::Main).unwrap();
        let worker = choose(first, Which::Worker).unwrap();
        let all = choose(first, Which::All).unwrap();
        assert_eq!((main[0].pid, worker.len(), all.len()), (first, 1, 3));
        assert_eq!((worker[0].name.as_str(), all[0].pid), ("sleep", first));
        assert_eq!(of_note(&worker[0].note()), Some(worker[0].pid));
        assert_eq!(of_note(&format!("{} 1", worker[0].pid)), None, "another process of the same number");
        for process in all.iter().rev() {
            pitot_sys::spawn::stop(process.pid, pitot_sys::spawn::Stop::Kill);
        }
        child.wait().unwrap();
        while choose(first, Which::Worker).is_ok() {
            assert!(std::time::Instant::now() < deadline, "the killed processes never went");
        }
    }
}
