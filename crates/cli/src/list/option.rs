//! Options of every command, as the help has them.

use clap::{Arg, ArgAction, Command};
use serde_json::json;

use super::row::Row;

/// What the help says of an option that may be given several times, whose name has an ellipsis here.
const REPEATED: &str = "; may be repeated";

/// The visible options of the commands below `command`.
pub(super) fn rows(command: &Command) -> Vec<Row> {
    below(command, "")
}

fn below(command: &Command, prefix: &str) -> Vec<Row> {
    let of = |sub: &Command| {
        let path = format!("{prefix}{}", sub.get_name());
        let own = sub.get_arguments().filter(|arg| !arg.is_hide_set()).map(|arg| row(&path, arg));
        own.chain(below(sub, &format!("{path} "))).collect::<Vec<_>>()
    };
    command.get_subcommands().filter(|sub| !sub.is_hide_set()).flat_map(of).collect()
}

fn row(command: &str, arg: &Arg) -> Row {
    let value =
        arg.get_value_names().unwrap_or_default().iter().map(|name| format!(" {name}")).collect::<String>();
    let takes_value = arg.is_positional() || arg.get_action().takes_values();
    let value = if takes_value { value } else { String::new() };
    let name = match (arg.get_short(), arg.get_long()) {
        (Some(short), Some(long)) => format!("-{short}, --{long}{value}"),
        (None, Some(long)) => format!("--{long}{value}"),
        (Some(short), None) => format!("-{short}{value}"),
        (None, None) => value.trim_start().to_owned(),
    };
    let help = arg.get_help().map(|help| first_sentence(&help.to_string())).unwrap_or_default();
    let is_repeated = arg.get_long().is_some() && matches!(arg.get_action(), ArgAction::Append);
    let name = if is_repeated { format!("{name} ...") } else { name };
    let help = help.replace(REPEATED, "");
    let default: Vec<_> = arg.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    let default = if takes_value { default.join(" ") } else { String::new() };
    Row {
        name: format!("{command} {name}"),
        text: if default.is_empty() { help.clone() } else { format!("{help} [default: {default}]") },
        json: json!({ "command": command, "option": name, "summary": help, "default": default }),
    }
}

/// The first sentence of a help text, without its full stop; the command's own help has the rest.
fn first_sentence(help: &str) -> String {
    let end = help
        .match_indices(". ")
        .map(|(at, _)| at)
        .find(|at| !help[..*at].ends_with(" .."))
        .unwrap_or(help.len());
    help[..end].trim_end_matches('.').to_owned()
}
