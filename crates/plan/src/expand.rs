//! Expands a plan into cells. Pure, so that a dry run, a run and a resumed run see the same cells.

use super::definition::Plan;
use super::host::{self, FILE_SYSTEM_FACTOR, changes_host};
use super::levels::{FactorLevel, KERNEL_FACTOR, REPLICATE_FACTOR, SERVER_FACTOR, label};
use super::server::{External, FileContent, Helper, PlanFile, Program, TargetUse};
use super::skip::{NoCell, SkipRecord};
use super::target;
use super::value::{Settings, Value};
use crate::catalog::{Catalog, OptionMeaning, OptionWord, ProgramWord, ProtocolWord};
use crate::written::shell_line;
use pitot_host::setting::Change;

/// Properties of the machine that decide whether a cell can be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostLimits {
    /// The hard limit on descriptors of a process.
    pub descriptors: u64,
    /// Programs of the plan that are not installed.
    pub missing: Vec<String>,
}

/// A cell: a combination of levels, ready to become commands.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// The levels, in the order of the plan's factors.
    pub factors: Vec<FactorLevel>,
    /// The server.
    pub server: CellServer,
    /// Files of its private directory.
    pub files: Vec<PlanFile>,
    /// Options of the load generator, without URL and durations.
    pub load: Settings,
    /// The catalog's entries for these options.
    pub options: Vec<OptionWord>,
    /// The URL, with placeholders.
    pub url: String,
    /// The subcommand that runs instead of `pitot load`.
    pub program: Option<String>,
    /// Which of the lab's options it takes.
    pub takes: Takes,
    /// Helpers of the load.
    pub helpers: Vec<Helper>,
    /// Settings of the host, as `pitot host apply` takes them.
    pub settings: Vec<(String, String)>,
    /// The changes that they make on this machine.
    pub host: Vec<Change>,
    /// Whether it writes files, so that kernel threads work for it.
    pub writes_files: bool,
    /// Whether it executes a command again and again, which can be held.
    pub executes: bool,
    /// How long the smoke test saw the server's rate rise, if longer than the plan's warm-up.
    pub rises: Option<Settling>,
}

/// A warm-up that ends when a server's rate has settled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settling {
    /// Minimum, seconds.
    pub at_least_s: f64,
    /// Maximum, seconds.
    pub within_s: f64,
}

/// Which options of the lab a load takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Takes {
    /// The length of the measured part.
    pub duration: bool,
    /// The time before it.
    pub warmup: bool,
    /// The CPUs.
    pub cpus: bool,
}

impl Takes {
    const ALL: Takes = Takes { duration: true, warmup: true, cpus: true };

    fn of(program: &ProgramWord) -> Takes {
        let has = |name: &str| program.options.iter().any(|o| o.name == name);
        Takes { duration: has("duration"), warmup: has("warmup"), cpus: has("cpus") }
    }
}

/// The server of a cell.
#[derive(Clone, Debug, PartialEq)]
pub enum CellServer {
    /// `pitot serve`.
    Pitot {
        /// The protocol.
        protocol: String,
        /// The options, without address, CPUs and counters.
        options: Settings,
    },
    /// Another program.
    External(Box<External>),
    /// None: the load itself is measured.
    None,
}

impl Cell {
    /// The levels joined; unique within a plan.
    pub fn label(&self) -> String {
        label(&self.factors)
    }

    /// The target that is its server.
    pub fn target(&self) -> Option<&TargetUse> {
        match &self.server {
            CellServer::External(program) => program.target.as_deref(),
            CellServer::Pitot { .. } | CellServer::None => None,
        }
    }

    /// The warm-up until the rate has settled, if the target or the smoke test asks for one.
    pub fn settling(&self) -> Option<Settling> {
        let of_target = self.target().and_then(|target| target.settles_within_s);
        of_target.map(|within_s| Settling { at_least_s: 0.0, within_s }).or(self.rises)
    }

    /// The closed-loop connections of its load; none with a rate, think times, or another program than `pitot load`.
    pub fn closed_connections(&self) -> Option<u64> {
        let is_closed = self.load.get("pace").is_none_or(|pace| pace.to_string() == "closed");
        if self.program.is_some() || !is_closed || self.load_options(|of| of.open_loop).next().is_some() {
            return None;
        }
        match self.load.get("connections") {
            Some(count) => pitot_meter::units::count(&count.to_string()).ok(),
            None => Some(CONNECTIONS),
        }
    }

    /// The connections that the options of its load open.
    pub fn connections(&self) -> u64 {
        let opened = self.load_options(|of| of.opens_connections);
        opened.filter_map(|value| pitot_meter::units::count(&value.to_string()).ok()).sum()
    }

    /// Whether the load lasts for the plan's duration, not for a number of requests or connections.
    pub fn is_timed(&self) -> bool {
        self.takes.duration && self.load_options(|of| of.limits_work).next().is_none()
    }

    /// The values of the load's options with this meaning.
    fn load_options(&self, means: fn(&OptionMeaning) -> bool) -> impl Iterator<Item = &Value> {
        let is_such = move |name: &str| self.options.iter().any(|o| o.name == name && means(&o.meaning));
        let given = self.load.0.iter().filter(|(_, value)| *value != Value::Flag(false));
        given.filter(move |(name, _)| is_such(name)).map(|(_, value)| value)
    }
}

/// The default connections of `pitot load`.
const CONNECTIONS: u64 = 10;

/// Descriptors of a server besides one for each connection.
const DESCRIPTORS_SPARE: u64 = 64;

/// A run of so many cells would take weeks.
const COMBINATIONS_MAX: u128 = 100_000;
/// The most files of all cells together.
const FILES_MAX: u128 = 5_000_000;

/// Why a plan is too large to be expanded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excess {
    /// The key with the error.
    pub(super) key: &'static str,
    /// The rest of the sentence "the plan ...".
    pub what: String,
    pub(super) fix: &'static str,
}

impl Plan {
    /// Why the plan is too large to be expanded, if it is.
    pub fn excess(&self) -> Option<Excess> {
        let levels = self.factors.iter().map(|factor| factor.levels.len() as u128);
        let combinations = levels.fold(1, u128::saturating_mul);
        if combinations > COMBINATIONS_MAX {
            let what = format!("has {combinations} combinations of levels, more than {COMBINATIONS_MAX}");
            return Some(Excess { key: "factors", what, fix: "vary less at once, or split the plan" });
        }
        let files_of = |files: &[PlanFile]| files.iter().map(|file| file.count()).sum::<u128>();
        let own = self.servers.iter().map(|server| files_of(&server.files)).max().unwrap_or(0);
        let files = combinations.saturating_mul(files_of(&self.files) + own);
        (files > FILES_MAX).then(|| Excess {
            key: "files",
            what: format!("has {files} files in all cells together, more than {FILES_MAX}"),
            fix: "shorten the range in the path, for example to \"www/{0..999}.html\"",
        })
    }
}

/// Crosses the factors of a plan: the cells that can be run, and the skipped combinations with their reasons, both in the
/// order of the plan.
pub fn expand(plan: &Plan, catalog: &Catalog, host: &HostLimits) -> (Vec<Cell>, Vec<SkipRecord>) {
    let mut cells = Vec::new();
    let mut skips = Vec::new();
    for choice in combinations(plan) {
        let factors: Vec<FactorLevel> =
            choice.iter().map(|(name, level)| FactorLevel::new(name, &level.to_string())).collect();
        let excluded = plan.exclude.iter().find(|e| e.levels.matches(&factors));
        let reason = match excluded {
            Some(exclusion) => Err(exclusion.reason.clone().into()),
            None => build(plan, catalog, host, &choice, &factors),
        };
        match reason {
            Ok(cell) => cells.push(cell),
            Err(NoCell { kind, reason }) => skips.push(SkipRecord { factors, reason, kind }),
        }
    }
    (cells, skips)
}

/// All combinations, the last factor varying fastest.
fn combinations(plan: &Plan) -> Vec<Vec<(&str, &Value)>> {
    let mut all = vec![Vec::new()];
    for factor in &plan.factors {
        all = all
            .into_iter()
            .flat_map(|head: Vec<(&str, &Value)>| {
                factor.levels.iter().map(move |level| {
                    let mut choice = head.clone();
                    choice.push((&factor.name, level));
                    choice
                })
            })
            .collect();
    }
    all
}

fn build(
    plan: &Plan,
    catalog: &Catalog,
    host: &HostLimits,
    choice: &[(&str, &Value)],
    factors: &[FactorLevel],
) -> Result<Cell, NoCell> {
    let mut server = plan.server.clone();
    let mut load = plan.load.clone();
    let mut files = plan.files.clone();
    let mut external = None;
    let mut varied = Settings::default();
    let mut settings = Vec::new();
    for (name, level) in choice {
        match name.split_once('.') {
            Some(("server", option)) => server.set(option, plan.placed(level)),
            Some(("target", setting)) => varied.set(setting, (*level).clone()),
            Some(("load", option)) => load.set(option, plan.placed(level)),
            _ if changes_host(name) => {
                settings.extend(host::settings(&plan.settings, name, &level.to_string()));
            }
            _ if *name == KERNEL_FACTOR => {
                if let Some(reason) = plan.why_no_kernel(&level.to_string()) {
                    return Err(reason.to_owned().into());
                }
            }
            _ => debug_assert!([SERVER_FACTOR, REPLICATE_FACTOR].contains(name), "factors are checked"),
        }
    }
    // Last, since a server's own options override those of all servers.
    if let Some((_, level)) = choice.iter().find(|(name, _)| *name == SERVER_FACTOR) {
        let name = level.to_string();
        match plan.servers.iter().find(|s| s.name == name) {
            Some(spec) => {
                let mut own = spec.files.clone();
                match &spec.program {
                    Program::Pitot(options) => {
                        for (option, value) in &options.0 {
                            server.set(option, value.clone());
                        }
                    }
                    Program::External(program) => {
                        let mut program = (**program).clone();
                        let root = server.get("root");
                        let by_tls = target::is_asked_by_tls(catalog, &program, load.get("url"));
                        let url = load.get("url").map(Value::to_string);
                        let (shared, url) = (&plan.target, url.as_deref());
                        target::configure(&mut program, &mut own, shared, &varied, root, url, by_tls)?;
                        external = Some((program, by_tls));
                    }
                }
                // A file of the plan may also be one of the server's.
                own.retain(|file| !files.contains(file));
                files.extend(own);
            }
            None => {
                let (model, mechanism) =
                    name.split_once('+').map_or((name.as_str(), None), |(a, b)| (a, Some(b)));
                server.set("model", Value::Text(model.to_owned()));
                if let Some(mechanism) = mechanism {
                    server.set("mechanism", Value::Text(mechanism.to_owned()));
                }
            }
        }
    }
    if let (None, Some((name, _))) = (&external, varied.0.first()) {
        return Err(format!("`target.{name}` is a setting of targets, and this is a server of Pitot").into());
    }
    let url = load.take("url").map(|v| v.to_string());
    let size = load.take("size").map_or(1024, |v| pitot_meter::units::size(&v.to_string()).unwrap_or(1024));
    let program = match &plan.program {
        Some(name) => Some(catalog.program(name).ok_or_else(|| format!("this build has no `pitot {name}`"))?),
        None => None,
    };
    if let Some((executed, _)) = external.as_ref().filter(|_| program.is_some_and(|p| p.executes)) {
        execute(executed, host, &mut load)?;
    }
    let (server, url) = match external {
        _ if program.is_some_and(|p| !p.needs_server) => (CellServer::None, String::new()),
        Some((server, by_tls)) => {
            check_installed(&server, host)?;
            let url = match &server.target {
                Some(used) => target::url(used, server.url.as_deref(), url.as_deref(), by_tls)?,
                None => server.url.clone().or(url),
            };
            let url = match (url, program) {
                (Some(url), _) => url,
                (None, Some(_)) => String::new(),
                (None, None) => return Err("neither the server nor `load` has a url".into()),
            };
            (CellServer::External(Box::new(server)), url)
        }
        None => {
            let protocol =
                server.take("protocol").map(|v| v.to_string()).ok_or("the plan names no protocol")?;
            let url = server.take("url").map(|v| v.to_string()).or(url);
            check_pair(catalog, &server)?;
            check_descriptors(catalog, host, &server, factors)?;
            let url = match url {
                Some(url) => url,
                None => default_url(catalog.protocol(&protocol).ok_or("the protocol is not known")?, &server),
            };
            (CellServer::Pitot { protocol, options: server }, url)
        }
    };
    let url = url.replace("{size}", &size.to_string());
    if plan.program.is_none()
        && url.split_once("://").is_some_and(|(name, _)| catalog.protocol(name).is_some())
    {
        // The scheme is without TLS. So one plan can have servers with and without it.
        load.0.retain(|(name, _)| !catalog.load_option(name).is_some_and(|option| option.meaning.of_tls));
    }
    let files = files.into_iter().flat_map(|file| file_set(file, size)).collect();
    let options = program.map_or(&catalog.load_options, |program| &program.options);
    let options = options.iter().filter(|option| load.get(&option.name).is_some()).cloned().collect();
    Ok(Cell {
        factors: factors.to_vec(),
        server,
        files,
        load,
        options,
        url,
        program: plan.program.clone(),
        takes: program.map_or(Takes::ALL, Takes::of),
        helpers: plan.helpers.clone(),
        host: host::changes(&settings)?,
        settings,
        writes_files: program.is_some_and(|p| p.writes_files)
            || plan.durability.is_some()
            || plan.factors.iter().any(|factor| factor.name == FILE_SYSTEM_FACTOR),
        executes: program.is_some_and(|p| p.executes),
        rises: None,
    })
}

fn check_installed(program: &External, host: &HostLimits) -> Result<(), String> {
    let missing = program.command.first().filter(|p| host.missing.contains(p));
    missing.map_or(Ok(()), |missing| Err(format!("`{missing}` is not installed here")))
}

/// Has the command of a server executed, instead of a load for it.
fn execute(program: &External, host: &HostLimits, load: &mut Settings) -> Result<(), NoCell> {
    check_installed(program, host)?;
    load.set("command", Value::Text(shell_line(&program.command)));
    if let Some(cwd) = &program.cwd {
        load.set("cwd", Value::Text(cwd.clone()));
    }
    if !program.env.is_empty() {
        let variable = |(name, value): &(String, String)| Value::Text(format!("{name}={value}"));
        load.set("env", Value::List(program.env.iter().map(variable).collect()));
    }
    Ok(())
}

/// The default URL of a built-in server.
fn default_url(protocol: &ProtocolWord, server: &Settings) -> String {
    match &protocol.tls_scheme {
        Some(scheme) if server.get("tls").is_some() && protocol.tls_at_once => {
            protocol.load_url.replacen(&protocol.name, scheme, 1)
        }
        _ => protocol.load_url.clone(),
    }
}

/// The files of a path with a range.
fn file_set(file: PlanFile, size: u64) -> Vec<PlanFile> {
    let content = match &file.content {
        FileContent::SizeOfLoad => FileContent::Size(size),
        content => content.clone(),
    };
    match file.range() {
        None => vec![PlanFile { path: file.path, content }],
        Some((head, numbers, tail)) => {
            numbers.map(|n| PlanFile { path: format!("{head}{n}{tail}"), content: content.clone() }).collect()
        }
    }
}

fn check_pair(catalog: &Catalog, server: &Settings) -> Result<(), String> {
    let Some(model) = server.get("model").map(Value::to_string) else { return Ok(()) };
    let mechanism = match server.get("mechanism") {
        Some(mechanism) => mechanism.to_string(),
        None => match catalog.model(&model) {
            Some(word) => word.default_mechanism.clone(),
            None => return Ok(()),
        },
    };
    if let Some(reason) = catalog.why_impossible(&model, &mechanism) {
        return Err(reason.to_owned());
    }
    let given = server.0.iter().filter(|(_, value)| *value != Value::Flag(false));
    let reason = given.filter_map(|(option, _)| catalog.why_impossible_option(option, &mechanism)).next();
    reason.map_or(Ok(()), |reason| Err(reason.to_owned()))
}

fn check_descriptors(
    catalog: &Catalog,
    host: &HostLimits,
    server: &Settings,
    factors: &[FactorLevel],
) -> Result<(), String> {
    let one_process =
        server.get("model").and_then(|m| catalog.model(&m.to_string())).is_some_and(|word| word.one_process);
    let opens = |name| catalog.load_option(name).is_some_and(|option| option.meaning.opens_connections);
    let connections: f64 = factors
        .iter()
        .filter(|f| f.name.strip_prefix("load.").is_some_and(opens))
        .filter_map(|f| f.number)
        .sum();
    let needed = connections as u64 + DESCRIPTORS_SPARE;
    if one_process && needed > host.descriptors {
        return Err(format!(
            "its one process needs {needed} file descriptors, and the limit is {}: raise the hard limit (ulimit -Hn)",
            host.descriptors
        ));
    }
    Ok(())
}
