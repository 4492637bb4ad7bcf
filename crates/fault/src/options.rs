//! Options of faults: one set for all, of which each takes some.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use pitot_meter::units;

/// An option of faults, as plans and the command line have it.
pub struct Given {
    /// Its name.
    pub name: &'static str,
    /// What it takes.
    pub value: &'static str,
    /// What it means, one sentence or two.
    pub doc: &'static str,
    /// Its default, as a plan would spell it.
    pub default: &'static str,
    read: fn(&mut Options, &str) -> Result<(), String>,
}

/// Options other than what a fault is aimed at.
pub static OPTIONS: &[Given] = &[
    Given {
        name: "process",
        value: "worker|main|all",
        doc: "Which process of the server: `worker`, of those that have no children the one that has used the most CPU time; \
          `main`, the first; `all` of them.",
        default: "worker",
        read: |options, text| {
            let known = WHICH.iter().find(|(word, _)| *word == text);
            options.process = known.map(|(_, which)| *which).ok_or("write worker, main or all")?;
            Ok(())
        },
    },
    Given {
        name: "signal",
        value: "TERM|KILL",
        doc: "What stops the server: TERM, or the signal that the plan has for it, lets it finish; KILL does not.",
        default: "TERM",
        read: |options, text| {
            options.is_killed = match text {
                "TERM" => false,
                "KILL" => true,
                _ => return Err("write TERM or KILL".into()),
            };
            Ok(())
        },
    },
    Given {
        name: "delay",
        value: "TIME",
        doc: "What is added to every reply.",
        default: "100ms",
        read: |options, text| seconds(text).map(|s| options.delay_s = s),
    },
    Given {
        name: "jitter",
        value: "TIME",
        doc: "At most so much more is added, drawn anew for each piece of a reply.",
        default: "0ms",
        read: |options, text| seconds(text).map(|s| options.jitter_s = s),
    },
    Given {
        name: "rate",
        value: "SIZE",
        doc: "Bytes a second in each direction.",
        default: "1MiB",
        read: |options, text| match units::size(text) {
            Ok(bytes @ 1..) => {
                options.bytes_per_s = bytes as f64;
                Ok(())
            }
            Ok(0) => Err("write at least one byte".into()),
            Err(e) => Err(e.to_string()),
        },
    },
    Given {
        name: "share",
        value: "SHARE",
        doc: "The share of the packets that is lost: `1%`, or `0.01`.",
        default: "1%",
        read: |options, text| {
            let share = match text.strip_suffix('%') {
                Some(percent) => percent.parse().map(|percent: f64| percent / 100.0),
                None => text.parse(),
            };
            options.share = share
                .ok()
                .filter(|share| *share >= 1e-5 && *share <= 1.0)
                .ok_or("write a share from 0.001% to 100%")?;
            Ok(())
        },
    },
    Given {
        name: "failure",
        value: "servfail|refused|silence",
        doc: "How the resolver fails: it says so (SERVFAIL), it refuses (REFUSED), or it replies nothing.",
        default: "servfail",
        read: |options, text| {
            let known = FAILURES.iter().find(|(word, _)| *word == text);
            options.failure =
                known.map(|(_, failure)| *failure).ok_or("write servfail, refused or silence")?;
            Ok(())
        },
    },
    Given {
        name: "lie",
        value: "no-name|ADDRESS",
        doc: "What is said of every name: that it does not exist, or that it has this address on loopback.",
        default: "no-name",
        read: |options, text| {
            options.lie = match text.parse::<IpAddr>() {
                Ok(address) if address.is_loopback() => Some(address),
                Err(_) if text == "no-name" => None,
                _ => return Err("write no-name, or an address on loopback such as 127.0.0.99".into()),
            };
            Ok(())
        },
    },
    Given {
        name: "clients",
        value: "N",
        doc: "How many clients there are beside the load.",
        default: "50",
        read: |options, text| match units::count(text) {
            Ok(count @ 1..=100_000) => {
                options.clients = count as usize;
                Ok(())
            }
            _ => Err("write a number from 1 to 100000".into()),
        },
    },
    Given {
        name: "path",
        value: "PATH",
        doc: "What they ask for. In a plan it is that of the load's URL, if it is left out.",
        default: "/",
        read: |options, text| {
            if !text.starts_with('/') {
                return Err("write a path, which begins with /".into());
            }
            text.clone_into(&mut options.path);
            Ok(())
        },
    },
    Given {
        name: "seed",
        value: "N",
        doc: "What random bytes follow from.",
        default: "1",
        read: |options, text| {
            options.seed = text.parse().map_err(|_| "write a number".to_owned())?;
            Ok(())
        },
    },
    Given {
        name: "bytes",
        value: "SIZE",
        doc: "How much memory the server may newly use.",
        default: "4MiB",
        read: |options, text| {
            options.bytes = units::size(text).map_err(|e| e.to_string())?;
            Ok(())
        },
    },
    Given {
        name: "threads",
        value: "N",
        doc: "How many threads compute on each CPU.",
        default: "1",
        read: |options, text| match text.parse() {
            Ok(count @ 1..=64) => {
                options.threads = count;
                Ok(())
            }
            _ => Err("write a number from 1 to 64".into()),
        },
    },
];

/// Seconds of a text such as `200ms`.
fn seconds(text: &str) -> Result<f64, String> {
    units::duration(text).map(|length| length.as_secs_f64()).map_err(|e| e.to_string())
}

const WHICH: [(&str, Which); 3] = [("worker", Which::Worker), ("main", Which::Main), ("all", Which::All)];

/// Which processes of a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Which {
    /// Of those without children the busiest.
    #[default]
    Worker,
    /// The first.
    Main,
    /// Every one.
    All,
}

const FAILURES: [(&str, Failing); 3] =
    [("servfail", Failing::Fails), ("refused", Failing::Refuses), ("silence", Failing::IsSilent)];

/// How a resolver fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Failing {
    /// It says that it has failed.
    #[default]
    Fails,
    /// It refuses.
    Refuses,
    /// It replies nothing.
    IsSilent,
}

/// What a fault is made with.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// The first process of the server.
    pub pid: u32,
    /// Which of its processes.
    pub process: Which,
    /// Where the server listens.
    pub to: Option<SocketAddr>,
    /// The CPUs of the server; empty for all.
    pub cpus: Vec<usize>,
    /// The private directory of the server.
    pub dir: Option<PathBuf>,
    /// The share of the packets that is lost, 0 to 1.
    pub share: f64,
    /// Clients beside the load.
    pub clients: usize,
    /// What they ask for.
    pub path: String,
    /// What random bytes follow from.
    pub seed: u64,
    /// Memory, bytes.
    pub bytes: u64,
    /// Threads on each CPU.
    pub threads: usize,
    /// The server is killed, and not asked to end.
    pub is_killed: bool,
    /// Added to every reply, seconds.
    pub delay_s: f64,
    /// At most so much more, seconds.
    pub jitter_s: f64,
    /// Bytes a second in each direction.
    pub bytes_per_s: f64,
    /// How the resolver fails.
    pub failure: Failing,
    /// The address that every name has; none if no name exists.
    pub lie: Option<IpAddr>,
}

impl Options {
    /// Reads options by name, those of `takes` alone.
    ///
    /// # Errors
    /// The name of the first that is wrong, and what is wrong about it.
    pub fn read<'a>(
        takes: &[&str],
        given: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Options, (String, String)> {
        let mut options = Options::default();
        let mut read = |name: &str, text: &str| {
            let entry = OPTIONS.iter().find(|option| option.name == name && takes.contains(&name));
            let outcome = entry.map_or_else(
                || {
                    Err(match takes {
                        [] => "this fault takes no such option".to_owned(),
                        takes => format!("this fault takes {}", takes.join(", ")),
                    })
                },
                |entry| (entry.read)(&mut options, text),
            );
            outcome.map_err(|why| (name.to_owned(), why))
        };
        for option in OPTIONS.iter().filter(|option| takes.contains(&option.name)) {
            read(option.name, option.default)?;
        }
        for (name, text) in given {
            read(name, text)?;
        }
        Ok(options)
    }
}
