//! The processes of a server that is the target of a fault.

use pitot_sys::processes::{Process, ProcessTable};

use crate::options::Which;

/// A note by which [`of_note`] finds the process again: its id and start time, which are unique together
/// (proc_pid_stat(5)).
pub(crate) fn note(process: &Process) -> String {
    format!("{} {}", process.pid, process.stat.started)
}

/// The process of a note, if it still exists.
pub(crate) fn of_note(note: &str) -> Option<u32> {
    let mut words = note.split(' ');
    let (pid, started): (u32, u64) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    Process::read(pid).filter(|process| process.stat.started == started).map(|process| process.pid)
}

/// Whether the process id of a note has been reused.
pub(crate) fn is_another(note: &str) -> bool {
    let pid = note.split(' ').next().and_then(|pid| pid.parse().ok());
    of_note(note).is_none() && pid.and_then(Process::read).is_some()
}

/// All processes of a server: the first, its descendants, and those with its session.
pub(crate) fn of_server(first: u32) -> Vec<Process> {
    ProcessTable::read().of(first).into_iter().cloned().collect()
}

/// The chosen processes of a server. The error is a sentence.
pub(crate) fn choose(first: u32, which: Which) -> Result<Vec<Process>, String> {
    let all = of_server(first);
    let has_children = |process: &Process| all.iter().any(|other| other.stat.parent == process.pid);
    let chosen: Vec<Process> = match which {
        Which::All => all.clone(),
        Which::Main => all.iter().filter(|process| process.pid == first).cloned().collect(),
        Which::Worker => all
            .iter()
            .filter(|p| !has_children(p))
            .max_by_key(|p| (p.stat.user + p.stat.system, p.pid))
            .cloned()
            .into_iter()
            .collect(),
    };
    if chosen.is_empty() {
        return Err(format!("process {first} does not exist"));
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
        assert_eq!(of_note(&note(&worker[0])), Some(worker[0].pid));
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
