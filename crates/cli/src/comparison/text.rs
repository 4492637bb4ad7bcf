//! The text of the plan that the options of a comparison stand for.

use std::fmt::Write as _;
use std::path::Path;

use pitot_plan::{Catalog, toml_key, toml_string};
use pitot_record::METRICS;
use pitot_results::Failure;
use pitot_target::PAGES;

use super::options::{Comparison, Folder};
use super::reference::{REFERENCE, REFERENCE_KEY, version_by_content};
use super::server::{Server, ServerKind};
use super::tls;

/// Enough for an interval even if two repetitions fail.
const REPETITIONS: u32 = 8;
/// Enough generations for 14 servers.
const GENERATIONS: u32 = 10;
const GENERATIONS_MAX: u32 = 30;
/// Time of all generations, seconds.
const ALL_S: f64 = 44.0;
/// Start, warm-up and end of a server in a generation, seconds.
const SERVER_S: f64 = 0.3;
const SLICE_S: f64 = 0.05;
/// Slices of a generation: the most that leave time for enough generations. Where slices vary much more than generations, as under a
/// runtime that collects garbage, twice as many slices tell as much as twice as many generations, without another start.
const SLICES: [u32; 3] = [12, 8, 4];
const WARMUP: &str = "150ms";
const CONNECTIONS: &str = "64";
/// Size of the file that is served without --root.
const FILE_SIZE: &str = "1KiB";

/// The text of the plan.
pub(super) fn plan(
    of: &Comparison,
    servers: &[Server],
    repetitions: Option<u32>,
    catalog: &Catalog,
    folder: Folder<'_>,
) -> Result<String, Failure> {
    let url = url(of, servers)?;
    let protocol = protocol(&url, servers, catalog)?;
    let with_certificate = is_tls(&url) && tls::is_configured(servers, &of.measured.load_options)?;
    let levels = connections(of)?;
    let metric = match &of.metric {
        Some(metric) => metric,
        None if of.measured.rate.is_some() => "latency-p99",
        None => "throughput",
    };
    let names = in_words(servers);
    let mut text = format!(
        "# A plan of Pitot: `pitot run FILE` runs it, `pitot run FILE --dry-run` shows its commands. The keys are\n\
         # described in docs/plans.md, and in the schema that `pitot list plan-schema` prints.\n\
         title = {}\nquestion = {}\n",
        toml_string(&format!("{names}{}", if servers.len() == 1 { "" } else { ", compared" })),
        toml_string(&question(&names, servers.len(), &url, metric)),
    );
    let _ = write!(
        text,
        "\n# The metric that decides: see `pitot list metrics`.\nmetric = {}\n{}\
         # Smaller differences do not count.\ntolerance = {}\n",
        toml_string(metric),
        amount(of, repetitions, servers.len() * levels.len()),
        toml_string(of.tolerance.as_deref().unwrap_or("5%")),
    );
    if let Some(rule) = &of.measured.replies {
        let _ = writeln!(text, "replies = {}", toml_string(rule));
    }
    if servers.len() > 1 {
        let _ = writeln!(text, "baseline = {{ server = {} }}", toml_string(&baseline(of, servers)?));
    }
    if of.reference.is_some() {
        text.push_str(REFERENCE_KEY);
    }
    let files = Files::of(of, servers, &url)?;
    text.push_str("\n# Options of `pitot serve` for all servers of Pitot.\n[server]\n");
    let _ = writeln!(text, "protocol = {}", toml_string(&protocol));
    if let Some(root) = files.pitot_root() {
        let _ = writeln!(text, "root = {}", toml_string(root));
    }
    if with_certificate && servers.iter().any(|s| matches!(s.kind, ServerKind::Architecture { .. })) {
        text.push_str(tls::OPTIONS);
    }
    text.push_str(&load(of, &url, &levels, with_certificate)?);
    text.push_str("\n# The factors: every combination of their levels is a cell.\n[factors]\nserver = [");
    text.push_str(&servers.iter().map(|s| toml_string(&s.name)).collect::<Vec<_>>().join(", "));
    text.push_str("]\n");
    if levels.len() > 1 {
        let _ = writeln!(text, "load.connections = [{}]", levels.join(", "));
    }
    if files.path.is_some() || with_certificate {
        text.push_str("\n# Files in the private directory of targets and servers of Pitot.\n[files]\n");
    }
    if let Some(path) = &files.path {
        let _ = writeln!(
            text,
            "{} = {{ size = {} }}",
            toml_string(&format!("html/{path}")),
            toml_string(&files.size),
        );
    }
    if with_certificate {
        let _ = writeln!(text, "# A test certificate; its key is public.\n{}", tls::files().trim_end());
    }
    for server in servers {
        text.push_str(&section(server, folder));
        if let (ServerKind::Command(words), REFERENCE) = (&server.kind, &*server.name) {
            text.push_str(&version_by_content(words));
        }
    }
    if !servers.iter().any(|s| matches!(s.kind, ServerKind::Command(_))) {
        text.push_str(EXAMPLE);
    }
    Ok(text)
}

const EXAMPLE: &str = r#"
# To add your own server, define it here and add NAME to `server` under [factors].
# [servers.NAME]
# command = ["./app", "--listen", "{address}"]
# cwd = "{plan}"
# env = { PORT = "{port}" }
# ready = "port"
"#;

fn question(names: &str, count: usize, url: &str, metric: &str) -> String {
    let measure = METRICS.iter().find(|m| m.name == metric).map_or(metric, |m| m.summary);
    let begin =
        if count == 1 { format!("What does {names} reach") } else { format!("How do {names} compare") };
    format!("{begin} at {url}, by {measure}?")
}

/// The URL that is given or meant, with a place for the server's address.
fn url(of: &Comparison, servers: &[Server]) -> Result<String, Failure> {
    let meant = || {
        let known = servers.iter().find_map(|s| match &s.kind {
            ServerKind::Target(target) => target.url.as_deref(),
            ServerKind::Architecture { .. } | ServerKind::Command(_) => None,
        });
        known.unwrap_or("http://{address}/").to_owned()
    };
    let url = of.measured.url.clone().unwrap_or_else(meant);
    let Some((_, rest)) = url.split_once("://") else {
        let path = url.strip_prefix("{address}").unwrap_or(&url);
        return Err(Failure::misuse(
            format!("`{url}` is not a URL"),
            format!("write it as --url 'http://{{address}}/{}'", path.trim_start_matches('/')),
        ));
    };
    if !url.contains("{address}") && !url.contains("{port}") {
        let path = rest.split_once('/').map_or("", |(_, path)| path);
        let scheme = &url[..url.len() - rest.len()];
        return Err(Failure::misuse(
            format!("`{url}` has a fixed address, but each server is started on its own"),
            format!("use {{address}} instead: --url '{scheme}{{address}}/{path}'"),
        ));
    }
    Ok(url)
}

/// Whether `url` asks for TLS.
fn is_tls(url: &str) -> bool {
    url.split_once("://").is_some_and(|(scheme, _)| pitot_client::find_tls(scheme).is_some())
}

/// The protocol of Pitot's servers for `url`.
fn protocol(url: &str, servers: &[Server], catalog: &Catalog) -> Result<String, Failure> {
    let scheme = url.split("://").next().unwrap_or_default();
    let of_scheme = |p: &&pitot_plan::ProtocolWord| p.load_url.split("://").next() == Some(scheme);
    if let Some(protocol) = catalog.protocols.iter().find(of_scheme) {
        return Ok(protocol.name.clone());
    }
    if let Some(name) = tls::protocol(scheme, catalog) {
        return Ok(name.to_owned());
    }
    let own = servers.iter().find(|s| matches!(s.kind, ServerKind::Architecture { .. }));
    let is_loadable = pitot_client::find(scheme).or_else(|| pitot_client::find_tls(scheme)).is_some();
    match own {
        Some(server) if is_loadable => Err(Failure::misuse(
            format!("`{}` is a server of Pitot, and none of these speaks {scheme}://", server.name),
            "omit it, or use another protocol (`pitot list protocols`)",
        )),
        None if is_loadable => Ok("http".to_owned()),
        _ => Err(Failure::misuse(
            format!("`pitot load` does not speak {scheme}://"),
            "use http:// or another of `pitot list schemes`",
        )),
    }
}

/// Levels of connections.
fn connections(of: &Comparison) -> Result<Vec<String>, Failure> {
    let text = of.measured.connections.as_deref().unwrap_or(CONNECTIONS);
    let levels: Vec<&str> = text.split(',').map(str::trim).collect();
    if levels.iter().any(|level| pitot_meter::units::count(level).is_err()) {
        return Err(Failure::misuse(
            format!("`{text}` is not a list of numbers of connections"),
            "write -c 64, or -c 16,256 to measure both",
        ));
    }
    Ok(levels.into_iter().map(toml_value).collect())
}

/// The keys for the amount: slices that take less than a minute in total, or with a duration fresh runs.
fn amount(of: &Comparison, repetitions: Option<u32>, cells: usize) -> String {
    let ready =
        of.measured.ready_timeout.as_ref().map(|time| format!("ready-timeout = {}\n", toml_string(time)));
    let ready = ready.unwrap_or_default();
    let warmup = |usual: &str| toml_string(of.measured.warmup.as_deref().unwrap_or(usual));
    if let Some(duration) = &of.duration {
        let repetitions = repetitions.unwrap_or(REPETITIONS);
        return format!(
            "# Each repetition starts a fresh server. Fewer than 6 have no 95% interval.\nrepetitions = {repetitions}\n\
             warmup = {}\nduration = {}\n{ready}",
            warmup("200ms"),
            toml_string(duration)
        );
    }
    // The control is measured like a cell.
    let generation_s = |slices: u32| (cells + 1) as f64 * (SERVER_S + f64::from(slices) * SLICE_S);
    let fitting = |slices: u32| (ALL_S / generation_s(slices)) as u32;
    let slices = SLICES.into_iter().find(|&slices| fitting(slices) >= GENERATIONS).unwrap_or(SLICES[2]);
    let generations = repetitions.unwrap_or(fitting(slices).clamp(GENERATIONS, GENERATIONS_MAX));
    format!(
        "# Each generation starts fresh servers and loads them in turn, in slices of time. Fewer than 6 generations\n\
         # decide nothing.\ngenerations = {generations}\nslices = {slices}\nwarmup = {}\n{ready}",
        warmup(WARMUP)
    )
}

fn baseline(of: &Comparison, servers: &[Server]) -> Result<String, Failure> {
    let names: Vec<&str> = servers.iter().map(|s| s.name.as_str()).collect();
    match of.baseline.as_deref() {
        None => Ok(names[0].to_owned()),
        Some(wanted) if names.contains(&wanted) => Ok(wanted.to_owned()),
        Some(wanted) => Err(Failure::misuse(
            format!("the baseline `{wanted}` is not one of the servers"),
            format!("name one of {}", names.join(", ")),
        )),
    }
}

/// The options of the load. No authority issued the certificate of Pitot.
fn load(of: &Comparison, url: &str, levels: &[String], own_certificate: bool) -> Result<String, Failure> {
    let mut options: Vec<(String, Vec<String>)> = vec![("url".into(), vec![toml_string(url)])];
    if let [one] = levels {
        options.push(("connections".into(), vec![one.clone()]));
    }
    options.extend(of.measured.rate.iter().map(|rate| ("rate".into(), vec![toml_value(rate)])));
    options.extend(
        of.measured.expect_status.iter().map(|list| ("expect-status".into(), vec![toml_string(list)])),
    );
    options.extend(of.measured.threads.iter().map(|n| ("threads".into(), vec![n.to_string()])));
    if own_certificate && !of.measured.load_options.iter().any(|option| tls::is_named(option, "insecure")) {
        options.push(("insecure".into(), vec!["true".into()]));
    }
    for option in &of.measured.load_options {
        let (name, value) = option.split_once('=').unwrap_or((option, "true"));
        let name = name.trim_start_matches('-');
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') {
            return Err(Failure::misuse(
                format!("`{option}` is not an option of `pitot load`"),
                "write --load-option NAME=VALUE, such as --load-option timeout=2s",
            ));
        }
        let value = toml_value(value);
        match options.iter_mut().find(|(other, _)| other == name) {
            Some((_, values))
                if of.measured.load_options.iter().any(|o| o.starts_with(name)) && name == "header" =>
            {
                values.push(value);
            }
            Some(_) => {
                let what = format!("the option `{name}` of the load is given twice");
                return Err(Failure::misuse(what, "omit one"));
            }
            None => options.push((name.to_owned(), vec![value])),
        }
    }
    let mut text = "\n# The load: options of `pitot load`.\n[load]\n".to_owned();
    for (name, values) in options {
        let value = match &values[..] {
            [one] => one.clone(),
            all => format!("[{}]", all.join(", ")),
        };
        let _ = writeln!(text, "{name} = {value}");
    }
    Ok(text)
}

/// The files that targets and the servers of Pitot serve.
struct Files {
    /// Below `html` in the private directory; none if not needed, or with --root.
    path: Option<String>,
    size: String,
    /// The folder on the command line.
    root: Option<String>,
    /// Whether the servers of Pitot need it, and not only targets.
    for_pitot: bool,
}

impl Files {
    fn of(of: &Comparison, servers: &[Server], url: &str) -> Result<Files, Failure> {
        let root = match &of.measured.root {
            Some(root) => {
                let folder = std::fs::canonicalize(root).map_err(|e| {
                    let what = format!("the directory {} of --root cannot be used: {e}", root.display());
                    Failure::misuse(what, "name a directory with the files to serve")
                })?;
                Some(folder.to_string_lossy().into_owned())
            }
            None => None,
        };
        let is_http = url.starts_with("http://") || url.starts_with("https://");
        let has_target = servers.iter().any(|s| matches!(s.kind, ServerKind::Target(_)));
        let has_pitot = servers.iter().any(|s| matches!(s.kind, ServerKind::Architecture { .. }));
        let path = url.split("://").nth(1).and_then(|rest| rest.split_once('/')).map_or("", |(_, path)| path);
        let path = path.split(['?', '#']).next().unwrap_or_default();
        let generated = path.strip_prefix("bytes/").filter(|size| pitot_meter::units::size(size).is_ok());
        let for_pitot = is_http && has_pitot && generated.is_none();
        let needed = is_http && root.is_none() && (has_target || for_pitot);
        let is_plain = !path.split('/').any(|part| part == ".." || part.contains("//"));
        let name = if path.is_empty() || path.ends_with('/') {
            format!("{path}index.html")
        } else {
            path.to_owned()
        };
        let page = PAGES.iter().find(|page| page.name == name);
        let is_made = page.is_some_and(|page| page.file_bytes.is_none());
        let size = match page.and_then(|page| page.file_bytes) {
            Some(bytes) => format!("{}KiB", bytes >> 10),
            None => generated.unwrap_or(FILE_SIZE).to_owned(),
        };
        Ok(Files { path: (needed && is_plain && !is_made).then_some(name), size, root, for_pitot })
    }

    fn pitot_root(&self) -> Option<&str> {
        self.for_pitot.then(|| self.root.as_deref().unwrap_or("{dir}/html"))
    }
}

/// The table of a server that the plan must define.
fn section(server: &Server, folder: Folder<'_>) -> String {
    let head = format!("\n[servers.{}]\n", toml_key(&server.name));
    match &server.kind {
        ServerKind::Architecture { model, mechanism } => {
            let level = mechanism.as_ref().map_or_else(|| model.clone(), |m| format!("{model}+{m}"));
            if server.name == level {
                return String::new();
            }
            let mechanism =
                mechanism.as_ref().map_or_else(String::new, |m| format!("mechanism = {}\n", toml_string(m)));
            format!("{head}model = {}\n{mechanism}", toml_string(model))
        }
        ServerKind::Target(target) if target.name == server.name => String::new(),
        ServerKind::Target(target) => format!("{head}target = {}\n", toml_string(&target.name)),
        ServerKind::Command(words) => {
            let mut words = words.clone();
            let cwd = match folder {
                Folder::Here => "{plan}",
                Folder::Elsewhere(path) => {
                    in_folder(&mut words, path);
                    path
                }
            };
            let command: Vec<String> = words.iter().map(|word| toml_string(word)).collect();
            format!(
                "{head}command = [{}]\ncwd = {}\n# Or {{ line = \"...\" }}: ready when it prints a line with this text.\n\
                 ready = \"port\"\n",
                command.join(", "),
                toml_string(cwd)
            )
        }
    }
}

/// A command whose program is found from a folder.
pub(crate) fn in_folder(words: &mut [String], folder: &str) {
    if let Some(program) = words.first_mut().filter(|p| p.contains('/') && !p.starts_with('/')) {
        let below = program.trim_start_matches("./");
        *program = Path::new(folder).join(below).to_string_lossy().into_owned();
    }
}

/// The option's value as a plan spells it.
fn toml_value(text: &str) -> String {
    let plain = text.parse::<i64>().is_ok() || ["true", "false"].contains(&text);
    if plain { text.to_owned() } else { toml_string(text) }
}

/// The names of servers in a sentence: `a, b and c`.
fn in_words(servers: &[Server]) -> String {
    let names: Vec<&str> = servers.iter().map(|server| server.name.as_str()).collect();
    match names.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => names.concat(),
    }
}
