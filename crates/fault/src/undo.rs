//! How a fault is taken back: by a guardian process that knows each change before it is made.

use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Write};
use std::time::Duration;

use pitot_sys::guardian::{fork_guardian, wait_until};
use pitot_sys::process::{self, SingleThreaded};

/// How long the guardian may take.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The program's end of the pipe to its guardian.
#[derive(Debug)]
pub struct Undo(PipeWriter);

impl Undo {
    /// Forks the guardian, which undoes by `undo` what was noted, the last change first, when this process ends or
    /// [takes it back](Self::take_back).
    ///
    /// # Errors
    /// As pipe(2) and fork(2).
    pub(crate) fn start(proof: SingleThreaded, undo: fn(&str)) -> std::io::Result<Undo> {
        fork_guardian(proof, move |pipe| watch(pipe, undo)).map(Undo)
    }

    /// Notes a change that is about to be made. The error is a sentence: without the note it must not be made.
    pub fn note(&mut self, change: &str) -> Result<(), String> {
        self.0.write_all(format!("{change}\n").as_bytes()).map_err(|e| format!("the guardian is gone: {e}"))
    }

    /// Has everything undone, and waits until it is. False if the guardian could not be seen to end.
    pub(crate) fn take_back(self) -> bool {
        drop(self.0);
        let mut ended = false;
        wait_until(TIMEOUT, || {
            ended |= process::reap().is_some();
            ended
        });
        ended
    }
}

fn watch(pipe: PipeReader, undo: fn(&str)) {
    let changes: Vec<String> = BufReader::new(pipe).lines().map_while(Result::ok).collect();
    changes.iter().rev().for_each(|change| undo(change));
}
