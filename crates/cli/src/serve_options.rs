//! Options of `pitot serve` that would have no effect are refused: whoever gives one expects something of it.

use std::ffi::OsString;

use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command};
use pitot_results::Failure;
use pitot_serve::{Kind, Mechanism, Model};

use crate::serve_dns::{self, DnsArgs};
use crate::serve_http::HttpArgs;
use crate::serve_memcache::MemcacheArgs;
use crate::serve_smtp::SmtpArgs;
use crate::serve_trade::{self, TradeArgs};

/// Options of `dns` besides its own; it has no model, no mechanism and no connections that could be limited.
const OF_DNS: [&str; 6] = ["protocol", "listen", "workers", "stats", "user", "confine"];
/// Those of `trade`, likewise.
const OF_TRADE: [&str; 6] = ["protocol", "listen", "workers", "stats", "grace", "user"];
/// Options of the way in which files are sent.
const OF_FILES: [&str; 2] = ["keep_files", "no_cork"];

/// The options that were given on a command line. Others have their defaults, which look the same in the parsed options.
#[derive(Debug)]
pub(crate) struct Given {
    matches: ArgMatches,
    /// The names of all options, by what they are called in `matches`.
    names: Vec<(String, String)>,
}

impl Given {
    /// Reads a line of this command that has been parsed already; its first word is the name of the command.
    pub(crate) fn of(command: Command, line: impl IntoIterator<Item = OsString>) -> Option<Given> {
        let names = names(&command);
        Some(Given { matches: command.try_get_matches_from(line).ok()?, names })
    }

    /// Refuses options of another protocol.
    ///
    /// # Errors
    /// The first such option.
    pub(crate) fn check_protocol(&self, protocol: &str) -> Result<(), Failure> {
        let own = [
            ("http", names(&HttpArgs::augment_args(Command::new("")))),
            ("memcache", names(&MemcacheArgs::augment_args(Command::new("")))),
            ("smtp", names(&SmtpArgs::augment_args(Command::new("")))),
            (serve_dns::NAME, names(&DnsArgs::augment_args(Command::new("")))),
            (serve_trade::NAME, names(&TradeArgs::augment_args(Command::new("")))),
        ];
        let common: Option<&[&str]> = match protocol {
            serve_dns::NAME => Some(&OF_DNS),
            serve_trade::NAME => Some(&OF_TRADE),
            _ => None,
        };
        for (id, name) in self.options() {
            let owner = own.iter().find(|(_, options)| options.iter().any(|(of_owner, _)| of_owner == id));
            match owner {
                Some((owner, _)) if *owner != protocol => {
                    return Err(Failure::misuse(
                        format!("--{name} is an option of {owner} and has no effect on {protocol}"),
                        format!("omit it, or use `pitot serve {owner}`"),
                    ));
                }
                None if common.is_some_and(|common| !common.contains(&id)) => {
                    return Err(Failure::misuse(
                        format!("--{name} has no effect on {protocol}"),
                        format!("omit it; see `pitot serve --help`, options of {protocol}"),
                    ));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Refuses options of files where none are served, and those of event loops where there are none.
    ///
    /// # Errors
    /// The first such option.
    pub(crate) fn check_use(
        &self,
        serves_files: bool,
        model: &Model,
        mechanism: &Mechanism,
    ) -> Result<(), Failure> {
        let is_readiness = matches!(mechanism.kind, Kind::Readiness { .. });
        for (id, name) in self.options() {
            if OF_FILES.contains(&id) && !serves_files {
                return Err(Failure::misuse(
                    format!("--{name} needs files, and none are served"),
                    "give the directory to serve with --root, or omit it",
                ));
            }
            if id == "ring" && !matches!(mechanism.kind, Kind::Completion { .. }) {
                return Err(Failure::misuse(
                    format!("--{name} is for the mechanism uring, and this is {}", mechanism.name),
                    "omit it, or use --mechanism uring",
                ));
            }
            if id == "accepts_per_wakeup" && !(model.loops_accept && is_readiness) {
                let pair = format!("{}+{}", model.name, mechanism.name);
                return Err(Failure::misuse(
                    format!("--{name} needs event loops that accept, and {pair} has none"),
                    "omit it, or use such a loop, for example --model loops --mechanism epoll-et",
                ));
            }
        }
        Ok(())
    }

    /// The options that were given, with their names.
    fn options(&self) -> impl Iterator<Item = (&str, &str)> {
        let is_given = |id: &str| self.matches.value_source(id) == Some(ValueSource::CommandLine);
        self.names.iter().map(|(id, name)| (id.as_str(), name.as_str())).filter(move |(id, _)| is_given(id))
    }
}

/// What the options of a command are called by clap and by the user.
fn names(command: &Command) -> Vec<(String, String)> {
    let options = command.get_arguments().filter_map(|option| Some((option.get_id(), option.get_long()?)));
    options.map(|(id, name)| (id.to_string(), name.to_owned())).collect()
}
