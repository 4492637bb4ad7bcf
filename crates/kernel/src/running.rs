//! A program that carries out a job, from its start to its end, and how that ended.

use std::io;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

use crate::job::JobOutcome;

/// How often it is looked at.
const INTERVAL: Duration = Duration::from_millis(20);
/// Lines that are shown where nothing came back.
const LINES: usize = 6;

/// How it ended.
#[derive(Debug)]
pub enum Ended {
    /// The job was carried out, whatever came of it.
    Done(JobOutcome),
    /// Nothing came back: why, in a sentence.
    Failed(String),
    /// `stop` was true.
    Stopped,
}

/// A program, which ends with this at the latest.
pub(crate) struct Running {
    pub(crate) child: Child,
}

impl Running {
    /// Waits until it ends; none if it was killed for lack of time or since `stop` was true.
    pub(crate) fn wait(
        mut self,
        timeout: Duration,
        stop: &dyn Fn() -> bool,
    ) -> io::Result<Option<ExitStatus>> {
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(Some(status));
            }
            if began.elapsed() > timeout || stop() {
                return Ok(None);
            }
            std::thread::sleep(INTERVAL);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The last lines of what a program said, in one; if a kernel panicked, from there on, as a panic says why in its first line.
pub(crate) fn last_lines(said: &str) -> String {
    let printable = |text: &str| -> String { text.chars().filter(|c| !c.is_control()).collect() };
    let lines: Vec<&str> = said.lines().collect();
    let panic = lines.iter().position(|line| line.contains("Kernel panic"));
    let first = panic.unwrap_or(lines.len().saturating_sub(LINES));
    let last: Vec<String> = lines[first..].iter().take(LINES).map(|line| printable(line.trim())).collect();
    last.join(" | ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_shown_from_its_beginning_and_else_the_end() {
        let panic = "a\nb\nKernel panic - not syncing: x\nc\nd\n";
        assert_eq!(last_lines(panic), "Kernel panic - not syncing: x | c | d");
        let lines: String = (0..20).map(|number| format!("{number}\r\n")).collect();
        assert_eq!(last_lines(&lines), "14 | 15 | 16 | 17 | 18 | 19");
        assert_eq!(last_lines(""), "");
    }
}
