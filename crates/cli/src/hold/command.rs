//! The commands to what is held.

use pitot_meter::{Nanos, units};
use pitot_results::Failure;

use crate::words;

/// The group of a URL on the command line, and of a command that names none.
pub(crate) const DEFAULT_GROUP: &str = "default";

/// One line of standard input.
#[derive(Debug, PartialEq)]
pub(super) enum Command {
    /// `open NAME URL [OPTIONS]`: the name, and the words after it.
    Open { group: String, words: Vec<String> },
    /// `run [NAME] TIME [at NS]`.
    Run { group: String, length: Nanos, at: Option<Nanos> },
    /// `close NAME`.
    Close { group: String },
    /// `quit`.
    Quit,
}

impl Command {
    /// Reads a line; `None` if it is empty or a comment.
    ///
    /// # Errors
    /// The line is no command.
    pub(super) fn parse(line: &str) -> Result<Option<Command>, Failure> {
        let wrong = |what: String, fix: &str| Err(Failure::misuse(what, fix));
        let words = match words::split(line, &[]) {
            Ok(words) => words,
            Err(flaw) => {
                return wrong(flaw.to_string(), "close the quotes, or write \\ before a literal character");
            }
        };
        let Some((command, words)) = words.split_first().filter(|(first, _)| !first.starts_with('#')) else {
            return Ok(None);
        };
        let command = match (command.as_str(), words) {
            ("open", [group, words @ ..]) if !words.is_empty() => {
                Command::Open { group: group.clone(), words: words.to_vec() }
            }
            ("open", _) => {
                return wrong(
                    "`open` takes a name, and what to open".into(),
                    "open NAME URL [OPTIONS], or with pitot exec open NAME --command LINE [OPTIONS]",
                );
            }
            ("run", [words @ .., word, at]) if word == "at" && !words.is_empty() => {
                let Ok(at) = at.parse() else {
                    return wrong(
                        format!("`{at}` is not a number of nanoseconds"),
                        "run [NAME] 50ms at NANOSECONDS",
                    );
                };
                slice(words, Some(Nanos(at)))?
            }
            ("run", words) => slice(words, None)?,
            ("close", [group]) => Command::Close { group: group.clone() },
            ("close", _) => return wrong("`close` takes a name".into(), "close NAME"),
            ("quit", []) => Command::Quit,
            ("quit", _) => return wrong("`quit` takes nothing".into(), "quit"),
            (other, _) => {
                return wrong(format!("unknown command `{other}`"), "write open, run, close or quit");
            }
        };
        Ok(Some(command))
    }

    /// The name of the group that it is about.
    pub(super) fn group(&self) -> Option<&str> {
        match self {
            Command::Open { group, .. } | Command::Run { group, .. } | Command::Close { group } => {
                Some(group)
            }
            Command::Quit => None,
        }
    }
}

/// A slice of a group, or of the one without a name.
fn slice(words: &[String], at: Option<Nanos>) -> Result<Command, Failure> {
    match words {
        [length] => Ok(Command::Run { group: DEFAULT_GROUP.into(), length: time(length)?, at }),
        [group, length] => Ok(Command::Run { group: group.clone(), length: time(length)?, at }),
        _ => Err(Failure::misuse("`run` takes a time", "run [NAME] 50ms")),
    }
}

fn time(word: &str) -> Result<Nanos, Failure> {
    units::duration(word).map_err(|e| {
        Failure::misuse(format!("`{word}` is not a time: {e}"), "write it like 50ms: run [NAME] 50ms")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_lines() {
        let run =
            |group: &str, ms| Command::Run { group: group.into(), length: Nanos::from_millis(ms), at: None };
        for (line, command) in [
            ("", None),
            ("  # a comment", None),
            ("run 50ms", Some(run("default", 50))),
            ("run 'group a' 0.1s", Some(run("group a", 100))),
            (
                "run a 5ms at 77",
                Some(Command::Run { group: "a".into(), length: Nanos::from_millis(5), at: Some(Nanos(77)) }),
            ),
            ("close a", Some(Command::Close { group: "a".into() })),
            ("quit", Some(Command::Quit)),
            (
                "open a http://h/ -c 4",
                Some(Command::Open {
                    group: "a".into(),
                    words: ["http://h/", "-c", "4"].map(str::to_owned).into(),
                }),
            ),
        ] {
            assert_eq!(Command::parse(line).unwrap(), command, "{line}");
        }
    }

    #[test]
    fn a_line_that_is_no_command_is_refused_with_a_fix() {
        for line in [
            "open",
            "open a",
            "run",
            "run fast",
            "run a",
            "run a 5ms 6ms",
            "run at 7",
            "run a 5ms at soon",
            "close",
            "close a b",
            "quit now",
            "stop",
            "run 'a",
        ] {
            let failure = Command::parse(line).unwrap_err();
            assert!(!failure.what.is_empty() && !failure.fix.is_empty(), "{line}");
        }
    }
}
