//! Writes the plan that measures contenders, as text that can be read and run again.

use std::fmt::Write as _;

use pitot_meter::Nanos;

use super::case::Case;
use super::contenders::{Contender, REFERENCE};
use pitot_plan::toml_string;

/// Smaller differences do not decide what to build.
const TOLERANCE: &str = "5%";
const SLICES: u32 = 6;
/// Number of long slices.
const SLICES_LONG: u32 = 4;
const WARMUP: Nanos = Nanos::from_millis(150);
/// Minimum length of a slice, in durations of the requests under way at its end.
const SLICE_TO_DRAIN: u64 = 2;
/// Above this time, requests under way at the end of a slice determine its length.
const DRAIN_LONG: Nanos = Nanos::from_millis(10);
const SLICE_MAX: Nanos = Nanos::from_secs(1);

/// What a plan measures.
#[derive(Clone, Debug)]
pub struct Wanted<'a> {
    /// The load.
    pub case: &'a Case,
    /// The servers.
    pub contenders: Vec<&'static Contender>,
    /// An additional factor, and its levels.
    pub axis: Option<(Axis, Vec<u64>)>,
    /// Contenders that are excluded at some levels, and why.
    pub excluded: Vec<(&'static Contender, u64, String)>,
    /// The directory of the files `0.bin` and so on, and their number.
    pub files: Option<(String, u64)>,
    /// All CPUs as a list, if servers and load are to share them.
    pub shared_cpus: Option<String>,
}

/// What can be varied to see what changes the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// Idle connections.
    Idle,
    /// Connections with requests under way.
    Active,
    /// CPU time for each request, nanoseconds.
    Work,
    /// Files in memory, 0, or not, 1.
    Cold,
}

impl Axis {
    /// The factor of a plan.
    pub fn factor(self) -> &'static str {
        match self {
            Axis::Idle => "load.idle",
            Axis::Active => "load.connections",
            Axis::Work => "server.burn",
            Axis::Cold => "server.cold-files",
        }
    }

    /// What is varied, in words.
    pub fn noun(self) -> &'static str {
        match self {
            Axis::Idle => "idle connections",
            Axis::Active => "active connections",
            Axis::Work => "CPU work per request",
            Axis::Cold => "files in memory or not",
        }
    }

    /// Its name in file names and JSON.
    pub fn word(self) -> &'static str {
        match self {
            Axis::Idle => "idle",
            Axis::Active => "connections",
            Axis::Work => "work",
            Axis::Cold => "cold",
        }
    }

    /// The level of a case.
    pub fn level(self, case: &Case) -> u64 {
        match self {
            Axis::Idle => case.idle(),
            Axis::Active => case.active,
            Axis::Work => case.work.0,
            Axis::Cold => u64::from(case.is_cold()),
        }
    }

    /// The case at another level.
    pub fn at(self, level: u64, case: &Case) -> Case {
        let mut case = case.clone();
        match self {
            Axis::Idle => case.connections = case.active + level,
            Axis::Active => {
                case.connections = case.idle() + level;
                case.active = level;
            }
            Axis::Work => case.work = Nanos(level),
            Axis::Cold => {
                if let Some(files) = &mut case.files {
                    files.is_cold = level > 0;
                }
            }
        }
        case
    }

    /// A level as a plan and a record spell it.
    pub fn spelled(self, level: u64) -> String {
        match self {
            Axis::Idle | Axis::Active => level.to_string(),
            Axis::Work => format!("{level}ns"),
            Axis::Cold => (level > 0).to_string(),
        }
    }

    /// A level for readers.
    pub fn shown(self, level: u64) -> String {
        match self {
            Axis::Idle | Axis::Active => pitot_meter::units::grouped(level),
            Axis::Work if level == 0 => "none".into(),
            Axis::Work => Nanos(level).to_string(),
            Axis::Cold if level > 0 => "cold".into(),
            Axis::Cold => "hot".into(),
        }
    }
}

/// The plan as text.
pub fn plan_text(wanted: &Wanted<'_>) -> String {
    let case = wanted.case;
    let varied = wanted.axis.as_ref();
    let is_varied = |axis: Axis| varied.is_some_and(|(of, _)| *of == axis);
    let mut text = String::new();
    let _ = writeln!(text, "title = {}", toml_string(&title(wanted)));
    let _ = writeln!(text, "question = {}", toml_string(&question(wanted)));
    text.push_str("metric = \"throughput\"\nmeasure = \"slices\"\nrepetitions = 8\nduration = \"1s\"\n");
    let _ = writeln!(text, "tolerance = \"{TOLERANCE}\"");
    let levels: Vec<Case> = match varied {
        Some((axis, levels)) => levels.iter().map(|&level| axis.at(level, case)).collect(),
        None => vec![case.clone()],
    };
    let drain = wanted.drain();
    if let Some(slice) = slice(drain) {
        let _ = writeln!(text, "slices = {SLICES_LONG}\nslice = \"{}ms\"", slice.0 / 1_000_000);
    } else {
        let _ = writeln!(text, "slices = {SLICES}");
    }
    let _ = writeln!(text, "warmup = \"{}ms\"", WARMUP.0.max(drain.0 * 2) / 1_000_000);
    if let Some(cpus) = &wanted.shared_cpus {
        let _ = writeln!(text, "server-cpus = \"{cpus}\"\nload-cpus = \"{cpus}\"");
    }
    if wanted.contenders.len() > 1 {
        let is_there = wanted.contenders.iter().any(|c| c.name == REFERENCE);
        let baseline = if is_there { REFERENCE } else { wanted.contenders[0].name };
        let _ = writeln!(text, "baseline = {{ server = \"{baseline}\" }}");
    }

    let _ = writeln!(text, "\n[server]\nprotocol = \"{}\"", case.service.name);
    if let Some((directory, _)) = &wanted.files {
        let _ = writeln!(text, "root = {}", toml_string(directory));
        if case.is_cold() && !is_varied(Axis::Cold) {
            text.push_str("cold-files = true\n");
        }
    }
    if case.work > Nanos::ZERO && !is_varied(Axis::Work) {
        let _ = writeln!(text, "burn = \"{}\"", Axis::Work.spelled(case.work.0));
    }

    text.push_str("\n[load]\n");
    match &wanted.files {
        Some((_, count)) => {
            let _ =
                writeln!(text, "url = \"http://{{address}}/{{0..{}}}.bin\"\nchoice = \"uniform\"", count - 1);
        }
        None => {
            let _ = writeln!(text, "url = \"{}\"", case.service.url);
            if case.service.has_size {
                let _ = writeln!(text, "size = {}", case.size_bytes);
            }
        }
    }
    if !is_varied(Axis::Active) {
        let _ = writeln!(text, "connections = {}", case.active);
    }
    if case.idle() > 0 && !is_varied(Axis::Idle) {
        let _ = writeln!(text, "idle = {}", case.idle());
    }
    if let Some(requests) = case.requests_per_connection.filter(|_| case.service.keeps_connections) {
        let _ = writeln!(text, "requests-per-connection = {requests}");
    }

    let names: Vec<String> = wanted.contenders.iter().map(|c| toml_string(c.name)).collect();
    let _ = writeln!(text, "\n[factors]\nserver = [{}]", names.join(", "));
    if let Some((axis, levels)) = varied {
        let words: Vec<String> = levels
            .iter()
            .map(|&level| match axis {
                Axis::Work => toml_string(&axis.spelled(level)),
                _ => axis.spelled(level),
            })
            .collect();
        let _ = writeln!(text, "{} = [{}]", factor_key(axis.factor()), words.join(", "));
    }
    let largest = levels.iter().max_by_key(|case| case.connections).unwrap_or(case);
    for contender in &wanted.contenders {
        let Some(options) = contender.options else { continue };
        let _ = write!(
            text,
            "\n[servers.{}]\nsummary = {}\n{}",
            toml_string(contender.name),
            toml_string(contender.build),
            options(largest)
        );
        if let Some(workers) = contender.workers.map(|of| of(largest)).filter(|&workers| workers > 1) {
            let _ = writeln!(text, "workers = {workers}");
        }
    }
    for (contender, level, why) in &wanted.excluded {
        let Some((axis, _)) = varied else { continue };
        let word = match axis {
            Axis::Work => toml_string(&axis.spelled(*level)),
            _ => axis.spelled(*level),
        };
        let _ = write!(
            text,
            "\n[[exclude]]\nserver = {}\n{} = {word}\nreason = {}\n",
            toml_string(contender.name),
            factor_key(axis.factor()),
            toml_string(why)
        );
    }
    text
}

/// The length of slices, if requests under way at their end determine it.
fn slice(drain: Nanos) -> Option<Nanos> {
    let slice = Nanos(drain.0 * SLICE_TO_DRAIN).min(SLICE_MAX).max(Nanos::from_millis(40));
    (drain >= DRAIN_LONG).then_some(slice)
}

impl Wanted<'_> {
    /// Maximum duration of requests under way at the end of a slice.
    fn drain(&self) -> Nanos {
        let of = |case: &Case| Nanos(case.active * case.work.0 / case.cpus.max(1) as u64);
        match &self.axis {
            Some((axis, levels)) => levels.iter().map(|&level| of(&axis.at(level, self.case))).max(),
            None => Some(of(self.case)),
        }
        .unwrap_or(Nanos::ZERO)
    }

    /// The ratio of the actual to the nominal length of slices. Requests under way at their end take longer on one shared
    /// CPU.
    pub fn overrun(&self) -> f64 {
        let drain_ns = self.drain().0 as f64 * (1.0 + self.case.cpus as f64) / 2.0;
        slice(self.drain()).map_or(1.0, |slice| 1.0 + drain_ns / slice.0 as f64)
    }
}

fn title(wanted: &Wanted<'_>) -> String {
    let what = wanted.case.in_words();
    match &wanted.axis {
        None => format!("Advice: {what}"),
        Some((axis, _)) => format!("Advice, varied {}: {what}", axis.noun()),
    }
}

fn question(wanted: &Wanted<'_>) -> String {
    match &wanted.axis {
        None => "Which of the possible servers is best?".into(),
        Some((axis, levels)) => {
            let levels: Vec<String> = levels.iter().map(|&level| axis.shown(level)).collect();
            format!("Does the order change with {}: {}?", axis.noun(), levels.join(", "))
        }
    }
}

/// `server.cold-files` is one key where `server` is a factor as well.
fn factor_key(name: &str) -> String {
    if name.starts_with("server.") { toml_string(name) } else { name.to_owned() }
}
