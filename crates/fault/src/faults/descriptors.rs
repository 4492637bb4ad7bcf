//! No descriptors are left: the server can accept nothing and open nothing.

use rustix::io::Errno;
use rustix::process::{Pid, Resource, Rlimit, prlimit};

use crate::entry::{Aim, Begun, Fault, Means};
use crate::options::Options;
use crate::processes::{self, choose};
use crate::undo::Undo;

pub(super) static FAULT: Fault = Fault {
    name: "descriptors",
    summary: "Leave the server no descriptor: its limit is lowered to what it has open (RLIMIT_NOFILE).",
    doc: "accept(2), open(2) and socket(2) fail with EMFILE, and connections that are open go on: clients that keep theirs see \
          nothing, so let the load open new ones (`requests-per-connection`). Taken back by the old soft limit; \
          processes that inherited the low one get it too.",
    aim: Aim::Process,
    takes: &["process"],
    lasts_s: 1.0,
    is_moment: false,
    may_end_server: true,
    can_silence: true,
    probe: || Ok(()),
    means: Means::Program { begin, undo },
};

fn begin(options: &Options, undo: &mut Undo) -> Result<Begun, String> {
    let chosen = choose(options.pid, options.process)?;
    let soft_of = |pid: u32| limits(pid).map(|limits| limits.current.unwrap_or(u64::MAX));
    let main = soft_of(options.pid).ok_or_else(|| format!("process {} is not there", options.pid))?;
    let known: Vec<String> = processes::of_server(options.pid).iter().map(|p| p.pid.to_string()).collect();
    undo.note(&format!("heirs {} {main} {}", options.pid, known.join(",")))?;
    let mut open_all = 0;
    for process in &chosen {
        // A worker may have ended since.
        let Ok(open) = std::fs::read_dir(format!("/proc/{}/fd", process.pid)) else { continue };
        let (open, Some(limits)) = (open.count() as u64, limits(process.pid)) else { continue };
        undo.note(&format!("own {} {}", limits.current.unwrap_or(u64::MAX), processes::note(process)))?;
        match set(process.pid, open, limits.maximum) {
            Ok(()) => open_all += open,
            Err(Errno::SRCH) => {}
            Err(e) => return Err(format!("the limits of process {} cannot be set: {e}", process.pid)),
        }
    }
    Ok(Begun::done(format!(
        "{} may open no more than the {open_all} descriptors that are open",
        processes::name(&chosen)
    )))
}

fn undo(note: &str) {
    let mut words = note.splitn(3, ' ');
    match (words.next(), words.next(), words.next()) {
        (Some("own"), Some(soft), Some(process)) => {
            let process = processes::of_note(process);
            restore(process, soft.parse().ok());
        }
        // What was forked meanwhile has the limit of its parent.
        (Some("heirs"), Some(server), Some(rest)) => {
            let (soft, known) = rest.split_once(' ').unwrap_or((rest, ""));
            let known: Vec<u32> = known.split(',').filter_map(|pid| pid.parse().ok()).collect();
            for process in processes::of_server(server.parse().unwrap_or(0)) {
                if !known.contains(&process.pid) {
                    restore(Some(process.pid), soft.parse().ok());
                }
            }
        }
        _ => {}
    }
}

fn restore(pid: Option<u32>, soft: Option<u64>) {
    if let (Some(pid), Some(soft)) = (pid, soft)
        && let Some(limits) = limits(pid)
    {
        let _ = set(pid, limits.maximum.map_or(soft, |maximum| soft.min(maximum)), limits.maximum);
    }
}

/// The limits on descriptors of a process. prlimit(2) tells the old ones only when it sets new ones, so they are read.
fn limits(pid: u32) -> Option<Rlimit> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/limits")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    let mut words = line.split_whitespace();
    let mut limit = || words.next().map(|word| word.parse().ok());
    Some(Rlimit { current: limit()?, maximum: limit()? })
}

fn set(pid: u32, soft: u64, maximum: Option<u64>) -> Result<(), Errno> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or(Errno::SRCH)?;
    prlimit(Some(pid), Resource::Nofile, Rlimit { current: Some(soft), maximum }).map(drop)
}

#[cfg(test)]
mod tests {
    use rustix::process::getrlimit;

    use super::*;

    #[test]
    fn limits_are_read_as_the_kernel_has_them() {
        assert_eq!(limits(std::process::id()).unwrap(), getrlimit(Resource::Nofile));
    }
}
