//! The last lines that programs printed, for a repetition that failed.

use super::context::Context;
use crate::runner::executor::{Output, Role};

/// Lines of each stream of the server.
const SERVER_LINES: usize = 20;
/// Lines of each stream of another program.
const OTHER_LINES: usize = 10;
/// A longer line is cut.
const LINE_CHARS_MAX: usize = 400;

/// The last lines of all programs that printed something, each program's after its name.
pub(super) fn output_tail(context: &mut Context<'_>) -> String {
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

/// The last lines of stdout, then those of stderr.
fn tail(output: &Output, lines: usize) -> String {
    let last = |text: &str| -> Vec<String> {
        let all: Vec<&str> = text.lines().filter(|l| !l.trim().is_empty()).collect();
        all[all.len().saturating_sub(lines)..].iter().map(|l| cut(l)).collect()
    };
    [last(&output.stdout), last(&output.stderr)].concat().join("\n")
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
}
