//! A process that outlives this one for a moment, and cleans up after it.

use std::io::{self, PipeReader, PipeWriter, Read};
use std::time::{Duration, Instant};

use crate::process::{Fork, SingleThreaded, exit_now};
use crate::processes::Process;
use crate::spawn;

/// Between two looks at what is left.
const PAUSE: Duration = Duration::from_millis(5);

/// Forks a process that lives `life` and ends. It has the other end of the pipe, which closes when this process ends, by
/// whatever means. When this returns, the child no longer dies with this process: a guardian that was not yet so far would
/// be killed together with what it guards.
///
/// # Errors
/// As pipe(2) and fork(2).
pub fn fork_guardian(proof: SingleThreaded, life: impl FnOnce(PipeReader)) -> io::Result<PipeWriter> {
    let (reader, writer) = io::pipe()?;
    let (mut is_ready, ready) = io::pipe()?;
    match proof.fork()? {
        Fork::Parent(_) => {
            drop(ready);
            // The end of this pipe, whatever comes before it, is the child's word, or its death.
            is_ready.read_to_end(&mut Vec::new())?;
            Ok(writer)
        }
        Fork::Child => {
            drop((writer, is_ready));
            let clean = spawn::outlive_parent().is_ok();
            drop(ready);
            life(reader);
            exit_now(i32::from(!clean));
        }
    }
}

/// Kills (SIGKILL) the processes that `find` names, and looks again, until there are none or the time is over.
pub fn kill_all(timeout: Duration, mut find: impl FnMut() -> Vec<Process>) {
    wait_until(timeout, || {
        let found = find();
        found.iter().for_each(Process::kill);
        found.is_empty()
    });
}

/// Looks until `is_done`, or the time is over. What a killed process held goes with it, but not at once.
pub fn wait_until(timeout: Duration, mut is_done: impl FnMut() -> bool) {
    let deadline = Instant::now() + timeout;
    while !is_done() && Instant::now() < deadline {
        std::thread::sleep(PAUSE);
    }
}
