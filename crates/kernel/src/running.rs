//! A program that runs a job, and how it ended.

use std::io;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

use crate::job::JobOutcome;

/// Interval of checks.
const INTERVAL: Duration = Duration::from_millis(20);
/// Number of lines that are shown if there is no result.
const LINES: usize = 6;

/// How it ended.
#[derive(Debug)]
pub enum Ended {
    /// The job was run, successfully or not.
    Done(JobOutcome),
    /// There is no result: why, in a sentence.
    Failed(String),
    /// `stop` was true.
    Stopped,
}

/// A program, which is killed when this is dropped.
pub(crate) struct Running {
    pub(crate) child: Child,
}

impl Running {
    /// Waits until it ends; none if it was killed after its timeout or by `stop`.
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

/// The last lines of a program's output, joined; after a kernel panic, from its first line, which has the reason.
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
