//! What a soak runs: from the command line to servers and loads.

use pitot_host::CpuSplit;
use pitot_lab::{Cell, Ground, Plan, Prepared, SoakPlan, prepare, suite};
use pitot_results::Failure;
use pitot_soak::run::{LoadOrder, Server, SubjectOrder};

use super::{Soak, faults};
use crate::catalog::catalog;
use crate::comparison::{self, Comparison, Folder};
use crate::run::{check, plan_text};
use crate::words;

/// All cells of a plan run at the same time; more than these only disturb each other.
const CELLS_MAX: usize = 12;
/// A load runs until the soak ends it; this is what it is told.
const LOAD_HOURS: u32 = 10_000;
const CONNECTIONS: u32 = 8;

/// What is run.
pub(super) enum Target {
    /// The cells of a plan.
    Plan(Box<Prepared>),
    /// A server that is running.
    Running(String),
}

impl Target {
    /// What a plan says of soaks.
    pub(super) fn soak(&self) -> Option<&SoakPlan> {
        match self {
            Target::Plan(prepared) => Some(&prepared.plan.soak),
            Target::Running(_) => None,
        }
    }

    /// A line about it.
    pub(super) fn title(&self) -> String {
        match self {
            Target::Plan(prepared) => prepared.plan.title.clone(),
            Target::Running(url) => url.clone(),
        }
    }
}

impl Soak {
    pub(super) fn target(&self) -> Result<Target, Failure> {
        let url = self.target.as_ref().filter(|target| target.contains("://"));
        if let Some(url) = url {
            if let Some(fault) = self.faults.first() {
                return Err(Failure::misuse(
                    format!("--fault '{fault}' is for servers that the soak starts, and {url} is running"),
                    "name the server with --server or in a plan, or use pitot fault beside the soak",
                ));
            }
            return match &self.url {
                None => Ok(Target::Running(url.clone())),
                Some(_) => Err(Failure::misuse("there are two URLs", "leave --url out")),
            };
        }
        let mut prepared = self.prepared()?;
        if prepared.plan.soak.first {
            prepared.cells.truncate(1);
        }
        let foreign = |cell: &&Cell| cell.program.is_some();
        if let Some(cell) = prepared.cells.iter().find(foreign) {
            return Err(Failure::misuse(
                format!("a soak loads with `pitot load`, and {} with something else", cell.label()),
                "use another plan, or the URL of the server",
            ));
        }
        if prepared.cells.len() > CELLS_MAX {
            return Err(Failure::misuse(
                format!(
                    "a soak runs all cells of a plan at the same time, and this one has {}",
                    prepared.cells.len()
                ),
                format!("name at most {CELLS_MAX} servers with --server, or write a plan of that many cells"),
            ));
        }
        if let Some(pid) = self.pid {
            return Err(Failure::misuse(
                format!("--pid {pid} is for a server that is running, and here servers are started"),
                "leave --pid out, or give the URL of the server instead of a plan",
            ));
        }
        Ok(Target::Plan(Box::new(prepared)))
    }

    fn prepared(&self) -> Result<Prepared, Failure> {
        let catalog = catalog()?;
        let (name, text, folder) = match &self.target {
            Some(target) => {
                for (option, given) in [
                    ("--url", self.url.is_some()),
                    ("--connections", self.connections.is_some()),
                    ("--rate", self.rate.is_some()),
                ] {
                    if given {
                        return Err(Failure::misuse(
                            format!("{option} goes with --server or a URL, and `{target}` is a plan"),
                            "write it into the plan, or add a load with --load",
                        ));
                    }
                }
                plan_text(target)?
            }
            None => {
                let here = std::env::current_dir().unwrap_or_default();
                let connections = self.connections.unwrap_or(CONNECTIONS);
                let comparison =
                    Comparison::of(&self.servers, self.url.as_deref(), connections, self.rate.as_deref());
                let text =
                    comparison.plan_text(None, &catalog, Folder::Elsewhere(&here.to_string_lossy()))?;
                (comparison::NAME.to_owned(), text, Some(here))
            }
        };
        let mut plan = Plan::parse(&name, &text, &catalog)?;
        if let Some(folder) = folder {
            plan.resolve_paths(&folder);
        }
        plan.needs_no_guests("a soak")?;
        plan.faults.extend(faults::asked(&self.faults, &catalog)?);
        plan.duration_s = f64::from(LOAD_HOURS) * 3600.0;
        if self.target.is_none() {
            plan.title = self.servers.join(", ");
        }
        let prepared = prepare(plan, text, &catalog)?;
        // A suite says which it takes of several that may be missing; whoever names a server wants it.
        if let Some(skip) = prepared.skips.first().filter(|_| self.target.is_none()) {
            return Err(Failure::misuse(
                format!("a server cannot be run: {}", skip.reason),
                "install what is missing, or leave the server out",
            ));
        }
        let is_file = self.target.as_deref().is_some_and(|target| suite(target).is_none());
        check::check(&prepared, self.target.as_deref().filter(|_| is_file))?;
        Ok(prepared)
    }

    /// The servers and loads.
    pub(super) fn orders<'g>(
        &self,
        target: &'g Target,
        ground: &'g Ground<'g>,
        pitot: &str,
        cpus: &CpuSplit,
    ) -> Result<Vec<SubjectOrder<'g>>, Failure> {
        match target {
            Target::Running(url) => {
                let mut loads = Vec::new();
                if self.loads.is_empty() || self.connections.is_some() || self.rate.is_some() {
                    let mut words =
                        vec!["-c".to_owned(), self.connections.unwrap_or(CONNECTIONS).to_string()];
                    words.extend(self.rate.iter().flat_map(|rate| ["-R".to_owned(), rate.clone()]));
                    loads.push((words.join(" "), self.command(pitot, url, &words, cpus)));
                }
                loads.extend(self.further(self.loads.iter(), pitot, url, cpus)?);
                let server = Server::Running { pid: self.pid, port: port(url) };
                Ok(vec![SubjectOrder { name: url.clone(), server, loads, faults: Vec::new() }])
            }
            Target::Plan(prepared) => {
                let order = |cell: &'g Cell| {
                    let mut loads = vec![("the plan's load".to_owned(), LoadOrder::OfCell)];
                    let lines = prepared.plan.soak.loads.iter().chain(&self.loads);
                    loads.extend(self.further(lines, pitot, &cell.url, cpus)?);
                    let server = Server::Standing(Box::new(ground.server(&prepared.plan, cell)));
                    Ok(SubjectOrder { name: cell.label(), server, loads, faults: Vec::new() })
                };
                prepared.cells.iter().map(order).collect()
            }
        }
    }

    /// The loads of these lines.
    fn further<'l>(
        &self,
        lines: impl Iterator<Item = &'l String>,
        pitot: &str,
        url: &str,
        cpus: &CpuSplit,
    ) -> Result<Vec<(String, LoadOrder)>, Failure> {
        let load = |line: &String| {
            let words = words::split(line, &[]).map_err(|flaw| {
                Failure::misuse(
                    format!("--load '{line}': {flaw}"),
                    "close the quotes, or write \\ before a character that is meant as it is",
                )
            })?;
            Ok((line.clone(), self.command(pitot, url, &words, cpus)))
        };
        lines.map(load).collect()
    }

    fn command(&self, pitot: &str, url: &str, words: &[String], cpus: &CpuSplit) -> LoadOrder {
        let mut argv = vec![pitot.to_owned(), "load".to_owned()];
        if !words.iter().any(|word| word.contains("://")) {
            argv.push(url.to_owned());
        }
        argv.extend_from_slice(words);
        let more = [
            ("--duration", format!("{LOAD_HOURS}h")),
            ("--intervals", "1s".to_owned()),
            ("--cpus", cpus.load_list()),
        ];
        argv.extend(more.into_iter().flat_map(|(option, value)| [option.to_owned(), value]));
        LoadOrder::Command(argv)
    }
}

/// The port of a URL, or that of its scheme.
fn port(url: &str) -> Option<u16> {
    let (scheme, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let named = authority.rsplit_once(':').and_then(|(_, port)| port.parse().ok());
    named.or(match scheme {
        "http" => Some(80),
        "https" => Some(443),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_of_a_url_is_found() {
        assert_eq!(port("http://127.0.0.1:8080/a:9"), Some(8080));
        assert_eq!(port("https://h/a"), Some(443));
        assert_eq!(port("http://[::1]:81"), Some(81));
        assert_eq!(port("redis://h"), None);
    }
}
