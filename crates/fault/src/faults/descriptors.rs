//! Exhausts the server's file descriptors, so that it can neither accept nor open.

use pitot_sys::processes::Process;
use rustix::io::Errno;
use rustix::process::{Pid, Resource, Rlimit, prlimit};

use crate::entry::{Aim, Begun, Fault, Means};
use crate::options::Options;
use crate::processes::{self, choose};
use crate::undo::{Note, Undo};

pub(super) static FAULT: Fault = Fault {
    name: "descriptors",
    summary: "Exhaust the server's file descriptors: lower its limit to those that are open (RLIMIT_NOFILE).",
    doc: "accept(2), open(2) and socket(2) fail with EMFILE, but open connections continue to work, so let the load open new ones \
          (`requests-per-connection`). Undone by restoring the soft limit, also of processes that inherited the low one.",
    aim: Aim::Process,
    takes: &["process"],
    lasts_s: 1.0,
    is_moment: false,
    may_end_server: true,
    can_silence: true,
    speaks_http: false,
    probe: || Ok(()),
    means: Means::Program { begin, undo },
};

fn begin(options: &Options, undo: &mut Undo) -> Result<Begun, String> {
    let chosen = choose(options.pid, options.process)?;
    let soft_of = |pid: u32| limits(pid).map(|limits| limits.current.unwrap_or(u64::MAX));
    let main = soft_of(options.pid).ok_or_else(|| format!("process {} does not exist", options.pid))?;
    let server = processes::of_server(options.pid);
    let known: Vec<String> = server.iter().map(|p| p.pid.to_string()).collect();
    let first = server.iter().find(|process| process.pid == options.pid);
    let first = first.ok_or_else(|| format!("process {} does not exist", options.pid))?;
    let heirs = format!("heirs {} {main} {}", processes::note(first), known.join(","));
    let mut notes = vec![Note::new(format!("what process {} starts", first.pid), heirs)];
    // A worker may have ended meanwhile.
    let found: Vec<(&Process, Rlimit)> =
        chosen.iter().filter_map(|process| Some((process, limits(process.pid)?))).collect();
    notes.extend(found.iter().map(|(process, limits)| {
        let own = format!("own {} {}", processes::note(process), limits.current.unwrap_or(u64::MAX));
        Note::of(process, own)
    }));
    undo.note(notes)?;
    let mut open_all = 0;
    for (process, limits) in found {
        let Ok(open) = std::fs::read_dir(format!("/proc/{}/fd", process.pid)) else { continue };
        let open = open.count() as u64;
        match set(process.pid, open, limits.maximum) {
            Ok(()) => open_all += open,
            Err(Errno::SRCH) => {}
            Err(e) => return Err(format!("the limits of process {} cannot be set: {e}", process.pid)),
        }
    }
    Ok(Begun::done(format!(
        "the limit of {} is lowered to its {open_all} open descriptors",
        processes::name(&chosen)
    )))
}

fn undo(note: &str) -> Result<bool, String> {
    let words: Vec<&str> = note.split(' ').collect();
    let [whose, pid, started, soft, rest @ ..] = &words[..] else {
        return Err(format!("`{note}` is not a note of this fault"));
    };
    let process = format!("{pid} {started}");
    let soft: u64 = soft.parse().map_err(|_| format!("`{soft}` is not a limit"))?;
    match *whose {
        "own" => processes::of_note(&process).map_or(Ok(false), |pid| restore(pid, soft)),
        // Children that were forked meanwhile have inherited the limit. The session of an ended first process keeps its id.
        "heirs" if !processes::is_another(&process) => {
            let known: Vec<u32> =
                rest.iter().flat_map(|list| list.split(',')).filter_map(|pid| pid.parse().ok()).collect();
            let server = processes::of_server(pid.parse().unwrap_or(0));
            let mut heirs = server.iter().filter(|process| !known.contains(&process.pid));
            heirs.try_fold(false, |any, heir| Ok(restore(heir.pid, soft)? || any))
        }
        _ => Ok(false),
    }
}

/// Restores the limit of a process, unless another program has raised it meanwhile.
fn restore(pid: u32, soft: u64) -> Result<bool, String> {
    let Some(limits) = limits(pid) else { return Ok(false) };
    let soft = limits.maximum.map_or(soft, |maximum| soft.min(maximum));
    if limits.current.is_none_or(|current| current >= soft) {
        return Ok(false);
    }
    match set(pid, soft, limits.maximum) {
        Ok(()) => Ok(true),
        Err(Errno::SRCH) => Ok(false),
        Err(e) => Err(format!("the limit of process {pid} cannot be set: {e}")),
    }
}

/// The limits on descriptors of a process, from /proc.
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
