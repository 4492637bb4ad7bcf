//! Failures on standard error, and hints for misspelt words.

use std::process::ExitCode;

use pitot_plan::nearest;
use pitot_results::{Failure, stderr};

/// The exit code where no condition is met and one is undecided.
pub(crate) const UNDECIDED: u8 = 3;

/// What each exit code means, for all commands.
pub(crate) const EXIT_CODES: [(u8, &str); 4] = [
    (0, "The command did what it was asked: the run is complete, the report is written, every gate passed."),
    (
        1,
        "The command ran and failed: a cell failed, the run was stopped, a gate was met, a limit of --fail-if was exceeded.",
    ),
    (
        2,
        "The command was used wrongly, or needs what this machine lacks. Nothing ran and nothing was changed.",
    ),
    (
        UNDECIDED,
        "pitot compare, diff, run --fail-if: no condition was met, and at least one is undecided. Measure longer.",
    ),
];

/// Prints a failure and its fix to standard error, one line each, and returns the exit code.
pub(crate) fn print(failure: &Failure) -> ExitCode {
    stderr::line(format_args!("pitot: {}\n  {}", failure.what, failure.fix));
    ExitCode::from(failure.exit_code())
}

/// The most likely name: ` (did you mean `epoll-et`?)`, or nothing.
pub(crate) fn hint<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, names).map(|name| format!(" (did you mean `{name}`?)")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_near_name_is_offered_as_a_hint() {
        assert_eq!(hint("epoll-ed", ["epoll-lt", "epoll-et"]), " (did you mean `epoll-et`?)");
        assert_eq!(hint("kqueue", ["epoll-lt", "epoll-et"]), "");
    }
}
