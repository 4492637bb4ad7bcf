//! The plan that compares commands.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use pitot_plan::{toml_key, toml_string};
use pitot_results::Failure;

use crate::comparison::{REFERENCE, REFERENCE_KEY, in_folder, split_name, version_by_content};
use crate::exec::command_words;

/// How commands are executed.
#[derive(Debug, Default, Args)]
pub(super) struct Commands {
    /// Run this before each execution, by sh -c, unmeasured.
    #[arg(long, value_name = "LINE")]
    prepare: Option<String>,
    /// Run this after each execution, by sh -c, unmeasured.
    #[arg(long, value_name = "LINE")]
    cleanup: Option<String>,
    /// The file that commands read as their standard input. [default: nothing]
    #[arg(long, value_name = "FILE")]
    stdin: Option<PathBuf>,
    /// Compare with each of these values in the place of {NAME}; several parameters are crossed.
    #[arg(long = "parameter", value_name = "NAME=A,B,...")]
    parameters: Vec<String>,
    /// Compare commands that print something else, or exit with another code.
    #[arg(long)]
    ignore_output: bool,
    /// Kill an execution that takes longer. [default: 1h]
    #[arg(long, value_name = "TIME")]
    timeout: Option<String>,
}

/// What is compared.
#[derive(Clone, Copy)]
pub(super) struct OfCommands<'a> {
    /// The commands, the baseline first.
    pub(super) programs: &'a [String],
    /// The names of the first.
    pub(super) roles: &'a [&'a str],
    /// The command that never changes.
    pub(super) reference: Option<&'a str>,
    /// The metric that decides.
    pub(super) metric: &'a str,
    /// Smaller differences do not count.
    pub(super) tolerance: &'a str,
    /// The directory in which they run.
    pub(super) here: &'a str,
}

/// A command of a comparison.
struct Named {
    name: String,
    words: Vec<String>,
}

impl Commands {
    /// The options of these that are given.
    pub(super) fn given(&self) -> Vec<&'static str> {
        let Commands { prepare, cleanup, stdin, parameters, ignore_output, timeout } = self;
        let given = [
            ("--prepare", prepare.is_some()),
            ("--cleanup", cleanup.is_some()),
            ("--stdin", stdin.is_some()),
            ("--parameter", !parameters.is_empty()),
            ("--ignore-output", *ignore_output),
            ("--timeout", timeout.is_some()),
        ];
        given.into_iter().filter(|(_, given)| *given).map(|(option, _)| option).collect()
    }

    /// The text of the plan.
    ///
    /// # Errors
    /// If a command or an option is wrong.
    pub(super) fn plan_text(&self, of: &OfCommands<'_>) -> Result<String, Failure> {
        let OfCommands { programs, roles, reference, metric, tolerance, here } = *of;
        let last = reference.map(|reference| format!("{REFERENCE}={reference}"));
        let programs: Vec<String> = programs.iter().cloned().chain(last).collect();
        let commands = named(&programs, roles)?;
        let names: Vec<&str> = commands.iter().map(|command| command.name.as_str()).collect();
        let mut text = format!(
            "# A plan of Pitot: `pitot run FILE` runs it. docs/plans.md describes the keys.\n\
             title = {}\nquestion = {}\nmetric = {}\n",
            toml_string(&format!("{}, compared", names.join(" and "))),
            toml_string(&format!("How do {} compare, by {metric}?", names.join(" and "))),
            toml_string(metric),
        );
        // A generation has fewer of them if the commands take longer.
        let _ = writeln!(
            text,
            "slices = 8\ntolerance = {}\nbaseline = {{ server = {} }}",
            toml_string(tolerance),
            toml_string(names[0])
        );
        if reference.is_some() {
            text.push_str(REFERENCE_KEY);
        }
        if self.ignore_output {
            text.push_str("replies = \"may-differ\"\n");
        }
        text.push_str("\n# The commands of servers are executed again and again: options of `pitot exec`.\n[load]\nprogram = \"exec\"\n");
        for (key, value) in [
            ("prepare", self.prepare.clone()),
            ("cleanup", self.cleanup.clone()),
            (
                "stdin",
                self.stdin.as_ref().map(|path| Path::new(here).join(path).to_string_lossy().into_owned()),
            ),
            ("timeout", self.timeout.clone()),
        ] {
            text.extend(value.map(|value| format!("{key} = {}\n", toml_string(&value))));
        }
        let list = |values: &[String]| values.iter().map(|v| toml_string(v)).collect::<Vec<_>>().join(", ");
        let _ = writeln!(
            text,
            "\n[factors]\nserver = [{}]",
            list(&names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>())
        );
        let levels = self.levels(&commands)?;
        if !levels.is_empty() {
            let _ = writeln!(text, "load.parameter = [{}]", list(&levels));
        }
        for command in &commands {
            let mut words = command.words.clone();
            in_folder(&mut words, here);
            let _ = write!(
                text,
                "\n[servers.{}]\ncommand = [{}]\ncwd = {}\n",
                toml_key(&command.name),
                list(&words),
                toml_string(here)
            );
            if command.name == REFERENCE {
                text.push_str(&version_by_content(&words));
            }
        }
        Ok(text)
    }

    /// The combinations of all values, as `pitot exec --parameter` takes them.
    fn levels(&self, commands: &[Named]) -> Result<Vec<String>, Failure> {
        let mut levels = vec![String::new()];
        for parameter in &self.parameters {
            let (name, values) = parameter
                .split_once('=')
                .filter(|(name, values)| !name.is_empty() && !values.is_empty())
                .ok_or_else(|| {
                    let what = format!("`{parameter}` is no NAME=A,B,...");
                    Failure::misuse(what, "write --parameter threads=1,2,4, and {threads} in the commands")
                })?;
            let place = format!("{{{name}}}");
            let beside = [&self.prepare, &self.cleanup].into_iter().flatten();
            let mut texts = commands.iter().flat_map(|c| &c.words).chain(beside);
            if !texts.any(|text| text.contains(&place)) {
                return Err(Failure::misuse(
                    format!("no command contains {place}"),
                    format!("write {place} where the value belongs, or omit --parameter {name}"),
                ));
            }
            let with = |level: &String| {
                let before = if level.is_empty() { String::new() } else { format!("{level} ") };
                values.split(',').map(move |value| format!("{before}{name}={value}")).collect::<Vec<_>>()
            };
            levels = levels.iter().flat_map(with).collect();
        }
        levels.retain(|level| !level.is_empty());
        Ok(levels)
    }
}

/// The commands with their names: `NAME=COMMAND`, or the first two by their roles, and the others by their number.
fn named(programs: &[String], roles: &[&str]) -> Result<Vec<Named>, Failure> {
    let mut commands: Vec<Named> = Vec::new();
    for (at, program) in programs.iter().enumerate() {
        let (name, line) = match split_name(program) {
            Some((name, line)) => (name.to_owned(), line),
            None => {
                (roles.get(at).map_or_else(|| format!("head-{at}"), |role| (*role).to_owned()), &**program)
            }
        };
        let words = command_words(line)?;
        if words.is_empty() {
            return Err(Failure::misuse(
                format!("the command `{name}` is empty"),
                "write it in quotes: './app --fast'",
            ));
        }
        if words.iter().any(|word| word.contains("{address}") || word.contains("{port}")) {
            return Err(Failure::misuse(
                format!("`{line}` is a server, and servers need a URL"),
                "add --url 'http://{address}/'",
            ));
        }
        if commands.iter().any(|other| other.name == name) {
            return Err(Failure::misuse(
                format!("two commands are called `{name}`"),
                "give one another name: 'NAME=./app --fast'",
            ));
        }
        commands.push(Named { name, words });
    }
    Ok(commands)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(of: &Commands, programs: &[&str]) -> Result<String, Failure> {
        let programs: Vec<String> = programs.iter().map(|p| (*p).to_owned()).collect();
        of.plan_text(&OfCommands {
            programs: &programs,
            roles: &["base", "head"],
            reference: None,
            metric: "cpu-time",
            tolerance: "1%",
            here: "/here",
        })
    }

    #[test]
    fn commands_become_a_plan_with_a_cell_for_each_and_each_value() {
        let of = Commands {
            parameters: vec!["n=1,2".into(), "mode=a,b".into()],
            stdin: Some("in.txt".into()),
            ..Commands::default()
        };
        let text = text(&of, &["./old {n} {mode}", "/bin/new '{n} {mode}'", "third=sort -n"]).unwrap();
        let catalog = crate::catalog::catalog().unwrap();
        let plan = pitot_plan::Plan::parse("p.toml", &text, &catalog).unwrap();
        let host = pitot_plan::HostLimits { descriptors: 20_000, missing: Vec::new() };
        let (cells, _) = pitot_plan::expand(&plan, &catalog, &host);
        assert_eq!(cells.len(), 12);
        assert_eq!(cells[1].label(), "base, n=1 mode=b");
        assert!(cells.iter().all(|cell| cell.executes));
        let option = |cell: usize, name: &str| cells[cell].load.get(name).unwrap().to_string();
        assert_eq!(option(0, "command"), "/here/old '{n}' '{mode}'");
        assert_eq!(
            (option(4, "command").as_str(), option(4, "stdin").as_str()),
            ("/bin/new '{n} {mode}'", "/here/in.txt")
        );
    }

    #[test]
    fn mistakes_are_told_in_words_of_the_command_line() {
        let parameter = |text: &str| Commands { parameters: vec![text.into()], ..Commands::default() };
        for (of, programs, what, fix) in [
            (Commands::default(), ["./a | b", "./b"], "executed without a shell", "sh -c"),
            (Commands::default(), ["./a 'x", "./b"], "is not closed", "close"),
            (Commands::default(), ["", "./b"], "`base` is empty", "in quotes"),
            (Commands::default(), ["./a {address}", "./b"], "is a server", "--url"),
            (Commands::default(), ["x=./a", "x=./b"], "two commands are called `x`", "another name"),
            (parameter("n"), ["./a {n}", "./b"], "`n` is no NAME=", "--parameter threads=1,2,4"),
            (parameter("m=1"), ["./a {n}", "./b"], "no command contains {m}", "omit --parameter m"),
        ] {
            let failure = text(&of, &programs).unwrap_err();
            assert_eq!(failure.exit_code(), 2);
            assert!(failure.what.contains(what) && failure.fix.contains(fix), "{failure:?}");
        }
    }
}
