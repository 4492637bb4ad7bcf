//! `pitot completions` and `pitot man`: made from the definitions that `--help` shows.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Command, CommandFactory as _, ValueEnum};
use clap_complete::aot;
use clap_mangen::Man;
use pitot_results::Failure;

use crate::failure::hint;
use crate::output::{self, not_written, unwritable};

/// Print the script that completes commands and options in a shell
///
/// bash: pitot completions bash >/etc/bash_completion.d/pitot
/// zsh: pitot completions zsh >/usr/local/share/zsh/site-functions/_pitot
/// fish: pitot completions fish >/etc/fish/completions/pitot.fish
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Completions {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
}

/// Print the manual page of a command
///
/// To read it: pitot man load | man -l -
#[derive(Debug, Args)]
pub(crate) struct Manual {
    /// The command, such as `load` or `host apply`. [default: the page of pitot itself]
    #[arg(value_name = "COMMAND")]
    command: Vec<String>,
    /// Write the pages of all commands into this folder, which is created.
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    all: Option<PathBuf>,
}

impl Completions {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let mut script = Vec::new();
        // The scripts would offer hidden options. That of zsh leaves them out, and is made of what options conflict with.
        let with_hidden = matches!(self.shell, Shell::Zsh);
        let mut pitot = shown_of(&crate::Pitot::command(), with_hidden);
        match self.shell {
            Shell::Bash => aot::generate(aot::Bash, &mut pitot, "pitot", &mut script),
            Shell::Zsh => aot::generate(aot::Zsh, &mut pitot, "pitot", &mut script),
            Shell::Fish => aot::generate(aot::Fish, &mut pitot, "pitot", &mut script),
        }
        output::print(&String::from_utf8_lossy(&script))?;
        Ok(ExitCode::SUCCESS)
    }
}

impl Manual {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let mut pitot =
            crate::Pitot::command().version(env!("CARGO_PKG_VERSION")).disable_help_subcommand(true);
        // Names of commands are complete from here on.
        pitot.build();
        match self.all {
            Some(folder) => {
                std::fs::create_dir_all(&folder).map_err(|e| unwritable(&folder, &e))?;
                write_below(&pitot, &folder)?;
            }
            None => {
                let words = self.command.join(" ");
                let command = words.split_whitespace().try_fold(&pitot, find)?;
                output::print(&page(command))?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// The names and descriptions of a command and those below it, without hidden commands.
fn shown_of(command: &Command, with_hidden: bool) -> Command {
    Command::new(command.get_name().to_owned())
        .about(command.get_about().cloned().unwrap_or_default())
        .args(command.get_arguments().filter(|arg| with_hidden || !arg.is_hide_set()))
        .subcommands(shown(command).map(|sub| shown_of(sub, with_hidden)))
}

/// The commands below one that people are shown.
fn shown(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|sub| !sub.is_hide_set())
}

fn find<'a>(command: &'a Command, word: &str) -> Result<&'a Command, Failure> {
    shown(command).find(|sub| sub.get_name() == word).ok_or_else(|| {
        let name = command.get_bin_name().unwrap_or(command.get_name());
        let near = hint(word, shown(command).map(Command::get_name));
        Failure::misuse(format!("`{name}` has no command `{word}`{near}"), format!("see `{name} --help`"))
    })
}

fn write_below(command: &Command, folder: &Path) -> Result<(), Failure> {
    let name = command.get_display_name().unwrap_or(command.get_name());
    let path = folder.join(format!("{name}.1"));
    std::fs::write(&path, page(command)).map_err(|e| not_written(&path.display().to_string(), &e))?;
    shown(command).try_for_each(|sub| write_below(sub, folder))
}

fn page(command: &Command) -> String {
    // The short usage of `--help`. A synopsis made of all options is a page long.
    let usage = command.clone().render_usage().to_string();
    let man = Man::new(command.clone().override_usage(usage.trim_start_matches("Usage: ").to_owned()))
        .source(concat!("Pitot ", env!("CARGO_PKG_VERSION")))
        .manual("Pitot");
    let mut page = Vec::new();
    man.render(&mut page).expect("memory can be written");
    String::from_utf8_lossy(&page).into_owned()
}
