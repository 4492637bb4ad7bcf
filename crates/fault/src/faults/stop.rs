//! Suspends processes, like a debugger, a frozen container or a migrated virtual machine.

use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process};

use crate::entry::{Aim, Begun, Fault, Means};
use crate::options::Options;
use crate::processes::{self, choose};
use crate::undo::{Note, Undo};

pub(super) static FAULT: Fault = Fault {
    name: "stop",
    summary: "Suspend processes of the server (SIGSTOP), and continue them (SIGCONT).",
    doc: "The kernel continues to accept connections and bytes for a suspended process until its queues are full, but there are no \
          replies. Clients wait, or time out. Undone with SIGCONT.",
    aim: Aim::Process,
    takes: &["process"],
    lasts_s: 1.0,
    is_moment: false,
    may_end_server: false,
    can_silence: true,
    speaks_http: false,
    probe: || Ok(()),
    means: Means::Program { begin, undo },
};

fn begin(options: &Options, undo: &mut Undo) -> Result<Begun, String> {
    let chosen = choose(options.pid, options.process)?;
    undo.note(chosen.iter().map(|process| Note::of(process, processes::note(process))).collect())?;
    for process in &chosen {
        match signal(process.pid, Signal::STOP) {
            // One of several may have ended meanwhile.
            Err(Errno::SRCH) if chosen.len() > 1 => {}
            stopped => stopped.map_err(|e| format!("process {} cannot be stopped: {e}", process.pid))?,
        }
    }
    Ok(Begun::done(format!("SIGSTOP to {}", processes::name(&chosen))))
}

fn undo(note: &str) -> Result<bool, String> {
    let Some(pid) = processes::of_note(note) else { return Ok(false) };
    match signal(pid, Signal::CONT) {
        Ok(()) => Ok(true),
        Err(Errno::SRCH) => Ok(false),
        Err(e) => Err(format!("process {pid} cannot be continued: {e}")),
    }
}

fn signal(pid: u32, signal: Signal) -> Result<(), Errno> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or(Errno::SRCH)?;
    kill_process(pid, signal)
}
