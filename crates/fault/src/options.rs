//! Options of faults: one set, of which each fault takes some.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use pitot_meter::units;

/// An option of faults in plans and on the command line.
pub struct Given {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    pub value: &'static str,
    /// Its documentation, one or two sentences.
    pub doc: &'static str,
    /// Its default, as a plan would spell it.
    pub default: &'static str,
    read: fn(&mut Options, &str) -> Result<(), String>,
}

/// All options, without targets.
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
        doc: "How to stop the server: TERM (or the plan's signal) lets it finish requests; KILL does not.",
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
        doc: "The delay of every reply.",
        default: "100ms",
        read: |options, text| seconds(text).map(|s| options.delay_s = s),
    },
    Given {
        name: "jitter",
        value: "TIME",
        doc: "The maximum additional delay, random for each piece of a reply.",
        default: "0ms",
        read: |options, text| seconds(text).map(|s| options.jitter_s = s),
    },
    Given {
        name: "rate",
        value: "SIZE",
        doc: "Bytes per second in each direction.",
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
        doc: "The share of packets to drop: `1%`, or `0.01`.",
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
        doc: "How the resolver fails: it reports a failure (SERVFAIL), refuses (REFUSED), or does not reply.",
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
        doc: "The reply for every name: it does not exist, or it has this loopback address.",
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
        doc: "The number of additional clients.",
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
        doc: "The requested path. Default in a plan: that of the load's URL.",
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
        doc: "The seed of the random bytes.",
        default: "1",
        read: |options, text| {
            options.seed = text.parse().map_err(|_| "write a number".to_owned())?;
            Ok(())
        },
    },
    Given {
        name: "bytes",
        value: "SIZE",
        doc: "How much additional memory the server may use.",
        default: "4MiB",
        read: |options, text| {
            options.bytes = units::size(text).map_err(|e| e.to_string())?;
            Ok(())
        },
    },
    Given {
        name: "threads",
        value: "N",
        doc: "The number of busy threads on each CPU.",
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
    /// The busiest one without children.
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
    /// It reports a failure.
    #[default]
    Fails,
    /// It refuses.
    Refuses,
    /// It does not reply.
    IsSilent,
}

/// The options and target of a fault.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// The first process of the server.
    pub pid: u32,
    /// Which of its processes.
    pub process: Which,
    /// The server's address.
    pub to: Option<SocketAddr>,
    /// The CPUs of the server; empty for all.
    pub cpus: Vec<usize>,
    /// The private directory of the server.
    pub dir: Option<PathBuf>,
    /// The share of packets to drop, 0 to 1.
    pub share: f64,
    /// Additional clients.
    pub clients: usize,
    /// The requested path.
    pub path: String,
    /// The seed of the random bytes.
    pub seed: u64,
    /// Memory, bytes.
    pub bytes: u64,
    /// Threads on each CPU.
    pub threads: usize,
    /// Whether to kill the server instead of asking it to end.
    pub is_killed: bool,
    /// The delay of every reply, seconds.
    pub delay_s: f64,
    /// The maximum additional delay, seconds.
    pub jitter_s: f64,
    /// Bytes per second in each direction.
    pub bytes_per_s: f64,
    /// How the resolver fails.
    pub failure: Failing,
    /// The address of every name; none for "no such name".
    pub lie: Option<IpAddr>,
}

impl Options {
    /// Reads options by name, only those in `takes`.
    ///
    /// # Errors
    /// The name of the first wrong option, and its error.
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
                        [] => "this fault has no options".to_owned(),
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
