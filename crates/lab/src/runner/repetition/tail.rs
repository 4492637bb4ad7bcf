//! The last lines that programs printed, for a repetition that failed.

use super::context::Context;
use crate::runner::executor::{Output, Role};
use pitot_record::looks_like_error;

/// Last lines of the server's stdout.
const SERVER_LINES: usize = 20;
/// Last lines of another program's stdout.
const OTHER_LINES: usize = 10;
/// Last lines of each program's stderr.
const ERROR_LINES: usize = 10;
/// A longer line is cut.
const LINE_CHARS_MAX: usize = 400;

/// The last lines of all programs that printed something, each program's after its name.
pub(in crate::runner) fn output_tail(context: &mut Context<'_>) -> String {
    let helpers = (0..context.helpers_started)
        .map(|index| (context.cell.helpers[index].name.as_str(), Role::Helper(index), OTHER_LINES));
    let mut text = String::new();
    for (name, role, lines) in
        [("server", Role::Server, SERVER_LINES), ("load generator", Role::Load, OTHER_LINES)]
            .into_iter()
            .chain(helpers)
    {
        let tail = tail(&context.executor.output(role), lines);
        if !tail.is_empty() {
            text.push_str(&format!("{name}:\n{tail}\n"));
        }
    }
    text
}

/// The last lines of stdout, then those of stderr, preceded by the first that looks like an error.
fn tail(output: &Output, lines: usize) -> String {
    [last(&output.stdout, lines), last_and_error(&output.stderr, ERROR_LINES)].concat().join("\n")
}

fn last(text: &str, lines: usize) -> Vec<String> {
    let all: Vec<&str> = text.lines().filter(|l| !l.trim().is_empty()).collect();
    all[all.len().saturating_sub(lines)..].iter().map(|l| cut(l)).collect()
}

fn last_and_error(text: &str, lines: usize) -> Vec<String> {
    let all: Vec<&str> = text.lines().filter(|l| !l.trim().is_empty()).collect();
    let (early, late) = all.split_at(all.len().saturating_sub(lines));
    let error = early.iter().find(|line| looks_like_error(line));
    let gap = error.filter(|_| early.len() > 1).map(|_| "...".to_owned());
    error.map(|line| cut(line)).into_iter().chain(gap).chain(late.iter().map(|l| cut(l))).collect()
}

fn cut(line: &str) -> String {
    if line.chars().count() <= LINE_CHARS_MAX {
        return line.to_owned();
    }
    line.chars().take(LINE_CHARS_MAX).chain("...".chars()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tail_holds_the_last_lines_of_both_streams_and_cuts_long_ones() {
        let output =
            Output { stdout: "one\n\ntwo\nthree\n".into(), stderr: "x".repeat(500), stdout_closed: true };
        let tail = tail(&output, 2);
        let lines: Vec<&str> = tail.lines().collect();
        assert_eq!(lines[..2], ["two", "three"]);
        assert_eq!(lines[2].len(), LINE_CHARS_MAX + 3);
    }

    #[test]
    fn an_error_before_a_long_stack_is_kept() {
        let stack: String = (0..30).map(|i| format!("    at frame {i}\n")).collect();
        let stderr = format!("starting\nError: Cannot find module 'x'\n{stack}Node.js v20\n");
        let tail = tail(&Output { stderr, ..Output::default() }, 20);
        let lines: Vec<&str> = tail.lines().collect();
        assert_eq!((lines[0], lines[1], lines.len()), ("Error: Cannot find module 'x'", "...", 12));
        assert_eq!(lines[11], "Node.js v20");
    }
}
