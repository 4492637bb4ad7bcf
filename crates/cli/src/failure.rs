//! How a failed command is reported, and the name that a misspelt word most likely meant.

use std::process::ExitCode;

use pitot_plan::nearest;
use pitot_results::{Failure, stderr};

/// Prints a failure to standard error, what is wrong and how to mend it on a line each, and gives the exit code.
pub(crate) fn print(failure: &Failure) -> ExitCode {
    stderr::line(format_args!("pitot: {}\n  {}", failure.what, failure.cure));
    ExitCode::from(failure.exit_code())
}

/// What a `pitot` said was wrong, of all that it printed to standard error: without how to mend it, which is a line further in.
pub(crate) fn complaint(stderr: &[u8]) -> Option<String> {
    let said = String::from_utf8_lossy(stderr);
    let line = |is_it: fn(&&str) -> bool| said.lines().rev().find(is_it);
    let own = line(|line| line.starts_with("pitot: ") || line.starts_with("error: "));
    let found = own.or_else(|| line(|line| !line.trim().is_empty()))?;
    Some(found.trim().trim_start_matches("pitot: ").to_owned())
}

/// The name that was most likely meant, as a hint: ` (did you mean `epoll-et`?)`, or nothing.
pub(crate) fn hint<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, names).map(|name| format!(" (did you mean `{name}`?)")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_complaint_is_what_was_wrong_and_not_how_to_mend_it() {
        let said = |text: &str| complaint(text.as_bytes());
        assert_eq!(said("note: x\npitot: no `nginx`\n  install it\n").as_deref(), Some("no `nginx`"));
        assert_eq!(
            said("error: unexpected `-x`\n\nUsage: pitot\n").as_deref(),
            Some("error: unexpected `-x`")
        );
        assert_eq!((said("killed\n\n").as_deref(), said("\n")), (Some("killed"), None));
    }

    #[test]
    fn a_near_name_is_offered_as_a_hint() {
        assert_eq!(hint("epoll-ed", ["epoll-lt", "epoll-et"]), " (did you mean `epoll-et`?)");
        assert_eq!(hint("kqueue", ["epoll-lt", "epoll-et"]), "");
    }
}
