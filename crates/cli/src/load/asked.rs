//! The words of a command line as a result keeps them, so that a run can be repeated from it.

use clap::Command;
use pitot_results::secrets::{mask, mask_option};
use serde_json::{Value, json};

/// Options about this run's own output or its workers: a repetition has its own.
const OWN: &[&str] =
    &["--json", "--csv", "--hlog", "--worker", "--share", "--keep-secrets", "--progress", "--metrics"];

/// A command line, taken apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Words {
    /// The target, if it is named.
    pub(super) url: Option<String>,
    /// Options with their values; those without one alone.
    pub(super) options: Vec<(String, Option<String>)>,
}

impl Words {
    /// Takes the words after `load` apart; `command` knows which options have values. They have been parsed before, so
    /// that all options are known.
    pub(super) fn of(words: &[String], command: &Command) -> Words {
        let mut found = Words::default();
        let mut rest = words.iter();
        while let Some(word) = rest.next() {
            let argument = |name: &str| command.get_arguments().find(|a| a.get_long() == Some(name));
            if let Some(long) = word.strip_prefix("--").filter(|long| !long.is_empty()) {
                let (name, attached) = match long.split_once('=') {
                    Some((name, value)) => (name, Some(value.to_owned())),
                    None => (long, None),
                };
                let takes = argument(name).is_some_and(|a| a.get_action().takes_values());
                let value = attached.or_else(|| if takes { rest.next().cloned() } else { None });
                found.push(name, value);
            } else if let Some(shorts) = word.strip_prefix('-').filter(|shorts| !shorts.is_empty()) {
                found.shorts(shorts, command, &mut rest);
            } else if word != "--" {
                found.url = Some(word.clone());
            }
        }
        found
    }

    fn push(&mut self, name: &str, value: Option<String>) {
        if name != "from" {
            self.options.push((format!("--{name}"), value));
        }
    }

    /// `-c5`, `-c 5` and `-Lc5`.
    fn shorts<'a>(&mut self, shorts: &str, command: &Command, rest: &mut impl Iterator<Item = &'a String>) {
        for (at, short) in shorts.char_indices() {
            let known = command.get_arguments().find(|a| {
                a.get_short() == Some(short)
                    || a.get_all_short_aliases().is_some_and(|all| all.contains(&short))
            });
            let Some(name) = known.and_then(|a| a.get_long()) else { continue };
            if !known.is_some_and(|a| a.get_action().takes_values()) {
                self.push(name, None);
                continue;
            }
            let attached = &shorts[at + short.len_utf8()..];
            let value = match attached.strip_prefix('=').unwrap_or(attached) {
                "" => rest.next().cloned(),
                attached => Some(attached.to_owned()),
            };
            return self.push(name, value);
        }
    }

    /// What a result keeps of them.
    pub(super) fn recorded(&self, secrets: bool) -> Words {
        let mut words = if secrets { self.clone() } else { self.masked() };
        words.options.retain(|(name, _)| !OWN.contains(&name.as_str()));
        words
    }

    /// The same without secrets.
    fn masked(&self) -> Words {
        let option = |(name, value): &(String, Option<String>)| {
            let value = value.as_ref().map(|value| mask_option(name, value).into_owned());
            (name.clone(), value)
        };
        let url = self.url.as_ref().map(|url| mask(url).into_owned());
        Words { url, options: self.options.iter().map(option).collect() }
    }

    /// As a result holds it.
    pub(super) fn to_json(&self) -> (Value, Value) {
        let words = self.options.iter().flat_map(|(name, value)| [Some(name), value.as_ref()]);
        (json!(self.url), json!(words.flatten().collect::<Vec<_>>()))
    }
}
