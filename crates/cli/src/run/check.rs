//! Whether `pitot serve` and `pitot load` accept the options of a plan, checked before anything runs.

use std::ffi::OsString;

use clap::Parser;
use clap::error::{ContextKind, ErrorKind};
use pitot_lab::Prepared;
use pitot_meter::units::counted;
use pitot_plan::Measure;
use pitot_results::Failure;

use crate::built;
use crate::serve::Serve;
use crate::{Command, Pitot};

/// Options of the load that name files, which may not be there yet.
const OF_FILES: &[&str] = &["--requests", "--expect-body", "--body"];

/// Parses the commands of all cells as this program would, were it started with them. `name` is the plan's file, if it
/// is one that the user has written.
///
/// # Errors
/// The first option that would be refused, with its place in the plan.
pub(crate) fn check(prepared: &Prepared, name: Option<&str>) -> Result<(), Failure> {
    let plan = &prepared.plan;
    check_build(prepared)?;
    let has_figure = |repetitions: usize| plan.statistic.of(&vec![1.0; repetitions]).is_some();
    let in_fresh_runs = prepared.ways.cells.iter().any(|(measure, _)| *measure == Measure::Fresh);
    if in_fresh_runs && !has_figure(plan.repetitions as usize) {
        let needed = (1..).find(|repetitions| has_figure(*repetitions)).unwrap_or(1);
        return Err(Failure::misuse(
            format!(
                "a `{}` of {} has no figure",
                plan.statistic,
                counted(plan.repetitions.into(), "repetition", "repetitions")
            ),
            format!("run at least {needed}: --repetitions {needed}, or `repetitions = {needed}` in the plan"),
        ));
    }
    for (server, load) in prepared.arguments() {
        let sides = [("server", server), ("load", Some(load))];
        for (table, argv) in sides.into_iter().filter_map(|(table, argv)| Some((table, argv?))) {
            refusal(&argv).map_or(Ok(()), |refusal| Err(refusal.at(table, name, &prepared.source)))?;
        }
    }
    Ok(())
}

/// Refuses what this build does not carry out: as a server of others, or as what answers for names.
fn check_build(prepared: &Prepared) -> Result<(), Failure> {
    let resolver =
        prepared.plan.has_resolver.then(|| ["pitot", "fault", "resolver"].map(str::to_owned).to_vec());
    for words in prepared.server_words().into_iter().chain(resolver) {
        let own: Vec<_> = words.into_iter().skip_while(|word| word != "pitot").map(OsString::from).collect();
        built::check(&own)?;
    }
    Ok(())
}

/// Parses a command as this program would, were it started with it. `place` names what the user has written of it.
///
/// # Errors
/// What it would refuse.
pub(crate) fn check_command(argv: &[String], place: &str) -> Result<(), Failure> {
    match refusal(argv) {
        None => Ok(()),
        Some(Refusal { failure, .. }) if place.is_empty() => Err(failure),
        Some(Refusal { failure, .. }) => {
            Err(Failure { what: format!("{place}: {}", failure.what), ..failure })
        }
    }
}

/// What a command would say of its options.
struct Refusal {
    /// The option, without dashes, if one is to blame.
    option: Option<String>,
    value: Option<String>,
    failure: Failure,
}

fn refusal(argv: &[String]) -> Option<Refusal> {
    let words: Vec<OsString> = argv.iter().map(OsString::from).collect();
    if let Err(failure) = built::check(&words) {
        return Some(Refusal { option: None, value: None, failure });
    }
    let failure = failure(argv)?;
    let (option, value) = blamed(argv).unzip();
    Some(Refusal { option, value: value.flatten(), failure })
}

/// The option, without dashes, and its value, without which a command that is refused would not be.
fn blamed(argv: &[String]) -> Option<(String, Option<String>)> {
    let mut options = argv.iter().enumerate().filter_map(|(at, word)| Some((at, word.strip_prefix("--")?)));
    options.find_map(|(at, option)| {
        let value = argv.get(at + 1).filter(|next| !next.starts_with("--"));
        let rest = at + 1 + usize::from(value.is_some());
        failure(&[&argv[..at], &argv[rest..]].concat()).is_none().then(|| (option.to_owned(), value.cloned()))
    })
}

/// What a command would say of its options.
fn failure(argv: &[String]) -> Option<Failure> {
    let words = argv.iter().skip(1).take_while(|word| !word.starts_with('-') && !word.contains("://"));
    let help = format!("pitot {} --help", words.take(2).cloned().collect::<Vec<_>>().join(" "));
    match Pitot::try_parse_from(argv) {
        Err(error) => Some(of_clap(&error, &help)),
        Ok(Pitot { command: Command::Load(load) })
            if !argv.iter().any(|word| OF_FILES.contains(&word.as_str())) =>
        {
            load.check().err()
        }
        Ok(Pitot { command: Command::Exec(exec) }) => exec.check().err(),
        Ok(Pitot { command: Command::Serve(serve) }) => {
            serve.check(Serve::given(argv.iter().skip(1).map(OsString::from)).as_ref()).err()
        }
        Ok(_) => None,
    }
}

fn of_clap(error: &clap::Error, help: &str) -> Failure {
    let context = |kind| error.get(kind).map(ToString::to_string);
    let option = context(ContextKind::InvalidArg).and_then(|arg| {
        let name = arg.trim_start_matches('-').split([' ', '=']).next()?;
        arg.starts_with("--").then(|| name.to_owned())
    });
    let value = context(ContextKind::InvalidValue);
    let what = match (&option, &value, error.kind()) {
        (Some(option), Some(value), ErrorKind::ValueValidation | ErrorKind::InvalidValue) => {
            let reason = std::error::Error::source(error).map(|e| format!(": {e}")).unwrap_or_default();
            format!("`{value}` is not a value of `{option}`{reason}")
        }
        _ => {
            let text = error.to_string();
            let line = text.lines().next().unwrap_or_default();
            line.trim_start_matches("error: ").to_owned()
        }
    };
    Failure::misuse(what, format!("see {help}"))
}

impl Refusal {
    /// The failure, with the place at which the plan sets the option.
    fn at(self, table: &str, name: Option<&str>, source: &str) -> Failure {
        let place =
            self.option.as_deref().and_then(|option| place(source, table, option, self.value.as_deref()));
        match (name, place) {
            (Some(name), Some((line, column))) => {
                Failure { what: format!("{name}:{line}:{column}: {}", self.failure.what), ..self.failure }
            }
            (Some(name), None) => Failure { what: format!("{name}: {}", self.failure.what), ..self.failure },
            (None, _) => self.failure,
        }
    }
}

/// Line and column, from 1, at which a plan sets an option of `server` or `load`, or where `value` stands in that line.
fn place(source: &str, table: &str, option: &str, value: Option<&str>) -> Option<(usize, usize)> {
    let wanted = format!("{table}.{option}");
    let of_a_server = |key: &str| table == "server" && key.starts_with("servers.") && key.ends_with(option);
    let mut header = "";
    let mut found = None;
    for (number, line) in (1..).zip(source.lines()) {
        let trimmed = line.trim();
        if let Some(name) = trimmed.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            header = name;
            continue;
        }
        let Some((key, rest)) = line.split_once('=') else { continue };
        // A dotted key may stand in quotes.
        let key = key.trim().replace(['"', '\''], "");
        let key = match header {
            "" | "factors" => key,
            header => format!("{header}.{key}"),
        };
        if key != wanted && !of_a_server(&key) {
            continue;
        }
        let in_line = value.and_then(|value| Some(line.len() - rest.len() + find_word(rest, value)?));
        let column = in_line.unwrap_or(line.len() - line.trim_start().len());
        let at = (number, line[..column].chars().count() + 1);
        // Of two settings of an option, that which has the value is to blame.
        if in_line.is_some() {
            return Some(at);
        }
        found = found.or(Some(at));
    }
    found
}

/// Where `word` stands in `text`, and not as a part of a longer one.
fn find_word(text: &str, word: &str) -> Option<usize> {
    let is_apart = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
    let mut found = text.match_indices(word).map(|(at, _)| at);
    found.find(|&at| {
        is_apart(text[..at].chars().next_back()) && is_apart(text[at + word.len()..].chars().next())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_is_found_where_the_plan_sets_it() {
        let plan = "[server]\nworkers = 2\n[load]\nrate = \"5k\"\n  pace = \"x\"\n[factors]\n\
                    \"load.connections\" = [5, 15, \"many\"]\n[servers.own]\nworkers = \"all\"\n";
        assert_eq!(place(plan, "load", "pace", Some("x")), Some((5, 11)));
        assert_eq!(place(plan, "load", "rate", None), Some((4, 1)));
        assert_eq!(place(plan, "load", "connections", Some("many")), Some((7, 31)));
        assert_eq!(place(plan, "load", "connections", Some("15")), Some((7, 26)));
        assert_eq!(place(plan, "server", "workers", Some("all")), Some((9, 12)));
        assert_eq!(place(plan, "load", "timeout", None), None);
    }
}
