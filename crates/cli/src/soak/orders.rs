//! What a soak runs: from the command line to servers and loads.

use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::path::PathBuf;
use std::time::Duration;

use pitot_fault::{Aim, find};
use pitot_host::CpuSplit;
use pitot_lab::{LocalHost, Prepared, Where, prepare};
use pitot_load::host_and_port;
use pitot_plan::{Cell, SoakPlan, suite};
use pitot_results::{Failure, stderr};
use pitot_soak::run::{Faulted, LoadOrder, Server, SubjectOrder, Watch, Watched};
use pitot_sys::control_group;
use pitot_sys::processes::ProcessTable;
use pitot_sys::tcp_sockets::{any_address, listening};

use super::faults;
use super::options::Soak;
use crate::catalog::catalog;
use crate::comparison::{self, Comparison, Folder};
use crate::plan_text::PlanText;
use crate::run::check;
use crate::run::check::check_command;
use crate::words;

/// All cells of a plan run at the same time; more than these only disturb each other.
const CELLS_MAX: usize = 12;
/// A load runs until the soak ends it; this is what it is told.
pub(super) const LOAD_HOURS: u32 = 10_000;
const CONNECTIONS: u32 = 8;
/// So many addresses at which a server listens are shown.
const SHOWN_MAX: usize = 3;
/// How long each of several addresses of a server is tried.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);

/// What is run.
pub(super) enum SoakTarget {
    /// The cells of a plan.
    Plan(Box<Prepared>),
    /// A server that is running, at this URL, and the plan of the faults that are made to it.
    Running { url: String, faulted: Option<Box<Prepared>> },
}

impl SoakTarget {
    /// The plan, also that of the faults of a server that is running.
    pub(super) fn prepared(&self) -> Option<&Prepared> {
        match self {
            SoakTarget::Plan(prepared) => Some(prepared),
            SoakTarget::Running { faulted, .. } => faulted.as_deref(),
        }
    }

    /// What a plan says of soaks.
    pub(super) fn soak(&self) -> Option<&SoakPlan> {
        match self {
            SoakTarget::Plan(prepared) => Some(&prepared.plan.soak),
            SoakTarget::Running { .. } => None,
        }
    }

    /// What a reader should know of its method.
    pub(super) fn notes(&self) -> Vec<String> {
        match self {
            SoakTarget::Plan(prepared) => [&prepared.plan.notes[..], &prepared.warnings].concat(),
            SoakTarget::Running { .. } => Vec::new(),
        }
    }

    /// What it is known by beside others.
    pub(super) fn labels(&self) -> &[(String, String)] {
        match self {
            SoakTarget::Plan(prepared) => &prepared.plan.labels,
            SoakTarget::Running { .. } => &[],
        }
    }

    /// Figures that others published, in a line each.
    pub(super) fn published(&self) -> Vec<String> {
        match self {
            SoakTarget::Plan(prepared) => pitot_report::soak::published(&prepared.plan.published),
            SoakTarget::Running { .. } => Vec::new(),
        }
    }

    /// A line about it.
    pub(super) fn title(&self) -> String {
        match self {
            SoakTarget::Plan(prepared) => prepared.plan.title.clone(),
            SoakTarget::Running { url, .. } => url.clone(),
        }
    }
}

impl Soak {
    pub(super) fn target(&self) -> Result<SoakTarget, Failure> {
        let url = self.target.as_ref().filter(|target| target.contains("://"));
        if let Some(url) = url {
            if self.url.is_some() {
                return Err(Failure::misuse("there are two URLs", "omit --url"));
            }
            let faulted = match self.faults[..] {
                [] if self.seed.is_some() => {
                    return Err(Failure::misuse(
                        "--seed is for random faults, and there are none",
                        "omit --seed, or add --fault",
                    ));
                }
                [] => None,
                _ => Some(Box::new(faults::of_running(&self.faults, self.seed, url, &catalog()?)?)),
            };
            return Ok(SoakTarget::Running { url: url.clone(), faulted });
        }
        let mut prepared = self.prepared()?;
        if prepared.plan.soak.first {
            prepared.cells.truncate(1);
        }
        let foreign = |cell: &&Cell| cell.program.is_some();
        if let Some(cell) = prepared.cells.iter().find(foreign) {
            return Err(Failure::misuse(
                format!("a soak loads with `pitot load`, and {} uses another load", cell.label()),
                "use another plan, or the URL of the server",
            ));
        }
        if prepared.cells.len() > CELLS_MAX {
            return Err(Failure::misuse(
                format!(
                    "a soak runs all cells of a plan at the same time, and this plan has {}",
                    prepared.cells.len()
                ),
                format!("name at most {CELLS_MAX} servers with --server, or write a plan of that many cells"),
            ));
        }
        if let Some(cell) = prepared.cells.iter().find(|cell| cell.host != prepared.cells[0].host) {
            return Err(Failure::misuse(
                format!(
                    "{} and {} differ in their settings of the host, and in a soak all servers run at the same time",
                    prepared.cells[0].label(),
                    cell.label()
                ),
                "give each setting one level, or run a soak for each",
            ));
        }
        let of_running = [("--pid", self.pid.is_some()), ("--unit", self.unit.is_some())];
        if let Some((option, _)) = of_running.iter().find(|(_, is_given)| *is_given) {
            return Err(Failure::misuse(
                format!("{option} needs a running server, and here servers are started"),
                format!("omit {option}, or give the URL of the server instead of a plan"),
            ));
        }
        Ok(SoakTarget::Plan(Box::new(prepared)))
    }

    fn prepared(&self) -> Result<Prepared, Failure> {
        let catalog = catalog()?;
        let source = match &self.target {
            Some(target) => {
                for (option, given) in [
                    ("--url", self.url.is_some()),
                    ("--connections", self.connections.is_some()),
                    ("--rate", self.rate.is_some()),
                ] {
                    if given {
                        return Err(Failure::misuse(
                            format!("{option} needs --server or a URL, and `{target}` is a plan"),
                            "write it into the plan, or add a load with --load",
                        ));
                    }
                }
                PlanText::of(target)?
            }
            None => {
                let here = std::env::current_dir().unwrap_or_default();
                let connections = self.connections.unwrap_or(CONNECTIONS);
                let comparison =
                    Comparison::of(&self.servers, self.url.as_deref(), connections, self.rate.as_deref());
                let text =
                    comparison.plan_text(None, &catalog, Folder::Elsewhere(&here.to_string_lossy()))?;
                PlanText::described(comparison::NAME, text, here)
            }
        };
        let mut plan = source.parse(&catalog)?;
        plan.needs_no_guests("a soak")?;
        if !plan.hosts.is_empty() {
            return Err(Failure::misuse(
                "a soak runs on this machine, and the plan has hosts",
                "remove [hosts] from the plan, or start the server there and give its URL",
            ));
        }
        if self.seed.is_some() {
            plan.seed = self.seed;
        }
        plan.faults.extend(faults::asked(&self.faults, &catalog, false)?);
        plan.duration_s = f64::from(LOAD_HOURS) * 3600.0;
        if self.target.is_none() {
            plan.title = self.servers.join(", ");
        }
        let prepared = prepare(plan, source.text, &catalog, Where::Here)?;
        // A suite says which it takes of several that may be missing; whoever names a server wants it.
        if let Some(skip) = prepared.skips.first().filter(|_| self.target.is_none()) {
            return Err(Failure::misuse(
                format!("a server cannot run: {}", skip.reason),
                "install what is missing, or omit the server",
            ));
        }
        let is_file = self.target.as_deref().is_some_and(|target| suite(target).is_none());
        check::check(&prepared, self.target.as_deref().filter(|_| is_file))?;
        Ok(prepared)
    }

    /// What makes faults to a server that is running, if all of them can be made.
    fn faulted<'g>(
        &self,
        url: &str,
        prepared: &'g Prepared,
        local_host: &'g LocalHost<'g>,
        watch: Option<&Watch>,
        loads: &[(String, LoadOrder)],
    ) -> Result<Faulted<'g>, Failure> {
        let (host, port) = host_and_port(url)?;
        let (address, name) = (address(&host, port)?, join(&host, port));
        let running = faults::Running { url, address, watch, is_unit: self.unit.is_some() };
        faults::check_running(&prepared.plan.faults, &self.faults, &running)?;
        let is_on_the_way = |line: &&String| {
            line.split_whitespace().next().and_then(find).is_some_and(|f| f.aim == Aim::Path)
        };
        if let Some(line) = self.faults.iter().find(is_on_the_way) {
            let elsewhere = loads.iter().find_map(|(load, order)| match order {
                LoadOrder::Command(argv) => Some((load, leads_elsewhere(argv, &name)?)),
                LoadOrder::OfCell => None,
            });
            if let Some((load, word)) = elsewhere {
                return Err(Failure::misuse(
                    format!(
                        "--fault '{line}' is on the path to {name}, and the load '{load}' goes elsewhere: {word}"
                    ),
                    "remove that from the load, or omit the fault",
                ));
            }
        }
        let cell = prepared
            .cells
            .first()
            .ok_or_else(|| Failure::run("no fault can be made", "see pitot list faults"))?;
        Ok(Faulted { server: Box::new(local_host.server(&prepared.plan, cell)), address, name })
    }

    /// The servers and loads.
    pub(super) fn orders<'g>(
        &self,
        target: &'g SoakTarget,
        local_host: &'g LocalHost<'g>,
        cpus: &CpuSplit,
    ) -> Result<Vec<SubjectOrder<'g>>, Failure> {
        let pitot = local_host.pitot();
        let as_it_is = |word: &str| word.to_owned();
        match target {
            SoakTarget::Running { url, faulted } => {
                let process = self.pid.map(|pid| watched(pid).map(Watch::Process));
                let watch = process.or_else(|| self.unit.as_deref().map(unit)).transpose()?;
                let mut loads = Vec::new();
                if self.loads.is_empty() || self.connections.is_some() || self.rate.is_some() {
                    let mut words =
                        vec!["-c".to_owned(), self.connections.unwrap_or(CONNECTIONS).to_string()];
                    words.extend(self.rate.iter().flat_map(|rate| ["-R".to_owned(), rate.clone()]));
                    let argv = command(pitot, url, &words, cpus);
                    check_command(&argv, "")?;
                    loads.push((words.join(" "), LoadOrder::Command(argv)));
                }
                for line in &self.loads {
                    let place = format!("--load '{line}'");
                    let argv = further(line, &place, (pitot, url, cpus), None, &as_it_is)?;
                    loads.push((line.clone(), LoadOrder::Command(argv)));
                }
                let faulted = match faulted {
                    Some(prepared) => {
                        Some(self.faulted(url, prepared, local_host, watch.as_ref(), &loads)?)
                    }
                    None => None,
                };
                let at = |(host, port): (String, u16)| match host.parse::<IpAddr>() {
                    Ok(ip) => SocketAddr::new(ip, port),
                    Err(_) => any_address(port),
                };
                let address = host_and_port(url).ok().map(at);
                if let Some(elsewhere) =
                    watch.as_ref().zip(address).and_then(|(watch, address)| elsewhere(watch, address.port()))
                {
                    stderr::line(format_args!("warning: {elsewhere}"));
                }
                let server = Server::Running { watch, address, faulted };
                Ok(vec![SubjectOrder { name: url.clone(), server, loads, faults: Vec::new() }])
            }
            SoakTarget::Plan(prepared) => {
                let folder = prepared.plan.folder.as_deref();
                let order = |(number, cell): (usize, &'g Cell)| {
                    let mut loads = vec![("the plan's load".to_owned(), LoadOrder::OfCell)];
                    let of_plan = prepared.plan.soak.loads.iter().map(|line| (line, "[soak] loads"));
                    for (line, place) in of_plan.chain(self.loads.iter().map(|line| (line, "--load"))) {
                        let place = format!("{place} '{line}'");
                        let shown = |word: &str| prepared.filled_as_shown(number, word);
                        let argv = further(line, &place, (pitot, &cell.url, cpus), folder, &shown)?;
                        loads.push((line.clone(), LoadOrder::Command(argv)));
                    }
                    let server = Server::LongRunning(Box::new(local_host.server(&prepared.plan, cell)));
                    Ok(SubjectOrder { name: cell.label(), server, loads, faults: Vec::new() })
                };
                prepared.cells.iter().enumerate().map(order).collect()
            }
        }
    }
}

/// What is said of processes that listen, and not at the port that is asked: they may be another server's, or behind a proxy.
fn elsewhere(watch: &Watch, port: u16) -> Option<String> {
    let pids = watch.pids();
    let table = ProcessTable::read();
    let addresses = listening(table.of_all(&pids).iter().map(|process| process.pid));
    if addresses.is_empty() || addresses.iter().any(|address| address.port() == port) {
        return None;
    }
    let shown: Vec<String> = addresses.iter().take(SHOWN_MAX).map(ToString::to_string).collect();
    Some(format!(
        "process {} listens at {}, and not at the port {port} of the URL: if that is another server, give the --pid or --unit of this one",
        pids.first()?,
        shown.join(", ")
    ))
}

/// Where a server listens: of several addresses of its name the first that takes a connection, as a load does.
fn address(host: &str, port: u16) -> Result<SocketAddr, Failure> {
    let unknown = |why: String| {
        Failure::misuse(format!("{host} cannot be resolved: {why}"), "check the name, or use the address")
    };
    let addresses: Vec<SocketAddr> =
        (host, port).to_socket_addrs().map_err(|e| unknown(e.to_string()))?.collect();
    let takes = |address: &&SocketAddr| TcpStream::connect_timeout(address, CONNECT_TIMEOUT).is_ok();
    let first = || addresses.first();
    let found = if addresses.len() > 1 { addresses.iter().find(takes).or_else(first) } else { first() };
    found.copied().ok_or_else(|| unknown("it has no address".into()))
}

/// Whether a load is led where its own options say, or asks for another host than the soak's.
fn leads_elsewhere(argv: &[String], name: &str) -> Option<String> {
    let is_option = |word: &&String| {
        ["--resolve", "--resolver", "--unix"].contains(&word.split('=').next().unwrap_or_default())
    };
    let other = |word: &&String| {
        word.contains("://") && host_and_port(word).is_ok_and(|(host, port)| join(&host, port) != name)
    };
    argv.iter().find(|word| is_option(word) || other(word)).cloned()
}

/// A host and a port in one word.
fn join(host: &str, port: u16) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

/// The process that has this number now.
fn watched(pid: u32) -> Result<Watched, Failure> {
    Watched::of(pid).ok_or_else(|| {
        Failure::misuse(
            format!("--pid {pid}: no such process"),
            "give the number of the server's first process (ss -tlnp shows it), or omit --pid",
        )
    })
}

/// The processes of a unit of systemd, or of the control group whose directory is named.
fn unit(name: &str) -> Result<Watch, Failure> {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let groups = match name {
        dir if dir.contains('/') => vec![PathBuf::from(dir)],
        _ => {
            let full = if name.contains('.') { name.to_owned() } else { format!("{name}.service") };
            control_group::groups_named(&mounts, &full)
        }
    };
    let mut groups = groups.into_iter().filter(|dir| control_group::is_control_group(dir)).peekable();
    let wrong = |what: &str, fix: &str| Failure::misuse(format!("--unit {name}: {what}"), fix);
    if groups.peek().is_none() {
        return Err(wrong(
            "no such control group",
            "give a unit that runs (systemctl status UNIT), or the directory of a control group below /sys/fs/cgroup",
        ));
    }
    groups.find_map(Watch::group).ok_or_else(|| {
        wrong("it has no process", "start it first, or omit --unit and know only what loads measure")
    })
}

/// The command of another load, whose options are a line. `{plan}` in it is the folder of the plan; with what `shown` fills in, it
/// must be one that `pitot load` takes.
fn further(
    line: &str,
    place: &str,
    (pitot, url, cpus): (&str, &str, &CpuSplit),
    folder: Option<&str>,
    shown: &dyn Fn(&str) -> String,
) -> Result<Vec<String>, Failure> {
    let words = words::split(line, &[]).map_err(|flaw| {
        Failure::misuse(
            format!("{place}: {flaw}"),
            "close the quotes, or write \\ before a literal character",
        )
    })?;
    let words: Vec<String> = words
        .iter()
        .map(|word| folder.map_or(word.clone(), |folder| word.replace("{plan}", folder)))
        .collect();
    let argv = command(pitot, url, &words, cpus);
    let shown: Vec<String> = argv.iter().map(|word| shown(word)).collect();
    if let Some(word) = shown.iter().filter(|word| word.contains("://")).find_map(|url| unknown_in(url)) {
        return Err(Failure::misuse(
            format!("{place}: `{{{word}}}` is not known here"),
            "known are {address}, {port}, {dir}, {plan}, {cpus}, {resolver} and the plan's helpers, of servers that the soak starts",
        ));
    }
    check_command(&shown, place)?;
    Ok(argv)
}

/// The first word in braces of a URL that nothing has replaced and that is not the load's own; ranges are numbers.
fn unknown_in(url: &str) -> Option<&str> {
    let words = url.split('{').skip(1).filter_map(|rest| Some(rest.split_once('}')?.0));
    let mut words = words.filter(|word| word.starts_with(|c: char| c.is_ascii_alphabetic()));
    words.find(|word| *word != "request-id")
}

fn command(pitot: &str, url: &str, words: &[String], cpus: &CpuSplit) -> Vec<String> {
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
    argv
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn further_loads_know_the_words_in_braces_and_what_they_ask_for_is_checked() {
        let cpus = CpuSplit { server: vec![0], load: vec![1] };
        let of = |line: &str| {
            let at = ("pitot", "http://{address}/", &cpus);
            let shown = |word: &str| word.replace("{address}", "127.0.0.1:80").replace("{port}", "80");
            further(line, "--load", at, Some("/a b"), &shown)
        };
        let argv = of("-X PUT --body @{plan}/body --path /{port}").unwrap();
        assert!(argv.contains(&"@/a b/body".to_owned()) && argv.contains(&"/{port}".to_owned()), "{argv:?}");
        assert!(argv.contains(&"http://{address}/".to_owned()), "{argv:?}");
        assert!(of("http://{adress}/{0..9}/{request-id} -c 1").unwrap_err().what.contains("`{adress}`"));
        assert!(!of("http://other/ -c 1").unwrap().contains(&"http://{address}/".to_owned()));
        for line in ["--no-such", "-R abc", "http://[/ -c 2", "-d 1s"] {
            let refused = of(line).unwrap_err();
            assert!(refused.what.starts_with("--load: "), "{refused:?}");
        }
    }

    #[test]
    fn a_load_that_goes_elsewhere_than_the_soak_is_seen() {
        let of = |words: &str| {
            let argv: Vec<String> = words.split(' ').map(str::to_owned).collect();
            leads_elsewhere(&argv, "h:80")
        };
        assert_eq!(of("pitot load http://h/a -c 2 --host x"), None);
        assert_eq!(of("pitot load http://h:81/ -c 2").as_deref(), Some("http://h:81/"));
        assert_eq!(of("pitot load http://h/ --unix=/x").as_deref(), Some("--unix=/x"));
        assert_eq!(join("::1", 80), "[::1]:80");
    }
}
