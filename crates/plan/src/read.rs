//! From the text of a plan to a checked [`Plan`].

use pitot_fault::At;
use toml::de::DeTable;

use super::definition::{Measure, Plan};
use super::keys::{self, Known};
use super::levels::{Factor, SERVER_FACTOR};
use super::placeholders::{self, RESOLVER};
use super::server::Program;
use super::source::{PlanError, Section, Source};
use crate::catalog::Catalog;

/// Keys of fresh runs. A plan that has one and says nothing of `measure` means fresh runs.
const FRESH_KEYS: [&str; 4] = ["repetitions", "duration", "faults", "keeps"];
/// Keys of slices alone.
const SLICE_KEYS: [&str; 4] = ["generations", "until-decided", "slices", "slice"];
/// The warm-up of a server that is loaded in slices, where the plan does not say: there is one in every generation.
const SLICED_WARMUP_S: f64 = 0.15;

impl Plan {
    /// Reads a plan. `name` is the suite's name or the file's; errors begin with it.
    ///
    /// # Errors
    /// The first mistake, with its line and the nearest right word.
    pub fn parse(name: &str, text: &str, catalog: &Catalog) -> Result<Plan, PlanError> {
        let source = Source { name, text };
        let table = DeTable::parse(text).map_err(|e| {
            let what = e.message().lines().next().unwrap_or("it is not TOML").to_owned();
            let cure = match what.contains("with a dotted key") {
                // TOML reads server.workers as a key in `server`, which is a list beside it.
                true => "write the dotted key in quotes: \"server.workers\" = [1, 2]",
                false => "plans are TOML; `pitot list plan-schema` describes their keys",
            };
            source.error(&e.span().unwrap_or(0..0), what, cure)
        })?;
        let root = Section::root(source, table.get_ref());
        for (old, new) in keys::RENAMED {
            if let Some(item) = root.get(old) {
                let what = format!("`{old}` is now called `{new}`");
                return Err(source.error(&item.key_span, what, format!("write `{new}` in its place")));
            }
        }
        root.check_keys(keys::PLAN.iter().map(|key| key.name))?;
        let mut plan = Plan { name: stem(name), ..Plan::default() };
        // What a fresh run alone needs says that fresh runs are meant.
        if FRESH_KEYS.iter().all(|key| root.get(key).is_none()) {
            plan.measure = Measure::Slices;
        }
        let mut known = Known {
            catalog,
            program: None,
            servers: Vec::new(),
            settings: Vec::new(),
            hosts: Vec::new(),
            factors: Vec::new(),
            factor_spans: Vec::new(),
            metric: plan.metric.clone(),
        };
        keys::apply(keys::PLAN, &mut known, &root, &mut plan)?;
        if let Some(excess) = plan.excess() {
            let span = root.get(excess.key).map_or(0..0, |item| item.key_span);
            return Err(source.error(&span, format!("the plan {}", excess.what), excess.cure));
        }
        if plan.measure == Measure::Slices && root.get("warmup").is_none() {
            plan.warmup_s = SLICED_WARMUP_S;
        }
        check_measure(&plan, &root)?;
        check_needs(&known, &plan, &root)?;
        check_faults(&plan, &root)?;
        plan.has_resolver = plan.has_faults_of_names();
        check_guests(&plan, &root)?;
        check_keeps(&plan, &root)?;
        check_helpers(&plan, &root)?;
        check_foreign(&plan, &root)?;
        check_machine(&plan, &root)?;
        placeholders::check(source, table.get_ref())?;
        Ok(plan)
    }
}

/// Keys of slices have a meaning where cells are measured in slices, and of two keys one sets the number of generations.
fn check_measure(plan: &Plan, root: &Section<'_>) -> Result<(), PlanError> {
    if plan.measure == Measure::Fresh {
        let Some((key, item)) = SLICE_KEYS.iter().find_map(|&key| Some((key, root.get(key)?))) else {
            return Ok(());
        };
        let why = match FRESH_KEYS.iter().find(|key| root.get(key).is_some()) {
            Some(other) if root.get("measure").is_none() => format!("which `{other}` asks for"),
            _ => "as `measure` says".to_owned(),
        };
        let what = format!("`{key}` is for slices, and this plan is measured in fresh runs, {why}");
        let cure = format!("take `{key}` out, or write measure = \"slices\"");
        return Err(root.source.error(&item.key_span, what, cure));
    }
    if let Some(item) = root.get("slices").filter(|_| plan.slices % 2 == 1) {
        let what = format!("`slices = {}` is odd, and each round has two, in opposite orders", plan.slices);
        let cure = format!("write slices = {} or {}", (plan.slices - 1).max(2), plan.slices + 1);
        return Err(root.source.error(&item.key_span, what, cure));
    }
    if root.get("generations").is_some()
        && let Some(item) = root.get("until-decided")
    {
        let what = "`generations` and `until-decided` both say how many generations there are";
        return Err(root.source.error(&item.key_span, what, "take one of the two out"));
    }
    Ok(())
}

/// A fault of the resolver reaches those who ask it, and without one there is no resolver.
fn check_resolver(plan: &Plan, root: &Section<'_>) -> Result<(), PlanError> {
    let placeholder = format!("{{{RESOLVER}}}");
    let place = root.source.text.find(&placeholder);
    match (plan.has_faults_of_names(), place) {
        (true, None) => {
            let span = root.get("faults").map_or(0..0, |item| item.key_span.clone());
            let what = format!("a fault of names is felt by those who ask `{placeholder}`, and nobody does");
            let cure =
                "let the load ask it: [load] resolver = \"{resolver}\", url = \"http://www.test:{port}/\"";
            Err(root.source.error(&span, what, cure))
        }
        (false, Some(at)) => {
            let what = format!("`{placeholder}` is there where a fault of names is made, and none is");
            let cure = "add a fault of the kind dns-fails or dns-lies, or write the resolver's address";
            Err(root.source.error(&(at..at + placeholder.len()), what, cure))
        }
        _ => Ok(()),
    }
}

/// Faults are made in fresh runs on this machine, and within the measured part if the plan is not for soaks.
fn check_faults(plan: &Plan, root: &Section<'_>) -> Result<(), PlanError> {
    check_resolver(plan, root)?;
    let Some(item) = root.get("faults").filter(|_| !plan.faults.is_empty()) else { return Ok(()) };
    if plan.measure == Measure::Slices {
        let what =
            "faults are made in fresh runs, and `measure` says slices: they would meet all cells of a group";
        return Err(root.source.error(
            &item.key_span,
            what,
            "write measure = \"fresh\", or take the faults out",
        ));
    }
    if !plan.hosts.is_empty() {
        let what = "faults are made on the lab's own machine, and this plan has hosts";
        return Err(root.source.error(&item.key_span, what, "take the hosts out, or the faults"));
    }
    for (fault, table) in plan.faults.iter().zip(item.list()?) {
        // Those of a soak have its whole length.
        if root.get("soak").is_none()
            && let At::Seconds(at_s) = fault.at
            && at_s >= plan.duration_s
        {
            let section = table.section("a fault")?;
            let what = format!("the measured part is over after {} s, before this fault", plan.duration_s);
            return Err(section.need("at", "")?.error(what, "write a longer `duration`, or an earlier `at`"));
        }
    }
    Ok(())
}

/// A guest has server and load in it, and its kernel is measured by itself.
fn check_guests(plan: &Plan, root: &Section<'_>) -> Result<(), PlanError> {
    if !plan.is_in_guests() {
        return Ok(());
    }
    let (key, what, cure) = if !plan.hosts.is_empty() {
        (
            "hosts",
            "guests are started on the lab's own machine, and this plan has hosts",
            "take `hosts` out, or the factor `kernel`",
        )
    } else if plan.until_decided_s.is_some() {
        (
            "until-decided",
            "kernels are measured in fresh runs, each at a time of its own, and `until-decided` is for slices",
            "give `repetitions` in its place",
        )
    } else if plan.foreign_server().is_some() {
        (
            "servers",
            "a guest reaches nothing outside of it, and a server of this plan has an `address`",
            "take that server out, or the factor `kernel`",
        )
    } else {
        return Ok(());
    };
    let span = root.get(key).map_or(0..0, |item| item.key_span.clone());
    Err(root.source.error(&span, what, cure))
}

/// What servers keep is looked for on this machine, by what `pitot load` was told.
fn check_keeps(plan: &Plan, root: &Section<'_>) -> Result<(), PlanError> {
    let Some(item) = root.get("keeps") else { return Ok(()) };
    let (what, cure) = if plan.measure == Measure::Slices {
        (
            "what servers keep is looked for when they have ended, and `measure` says slices",
            "write measure = \"fresh\"",
        )
    } else if !plan.hosts.is_empty() || plan.foreign_server().is_some() {
        (
            "what servers keep is looked for on the lab's own machine, and this plan has servers elsewhere",
            "take `keeps` out",
        )
    } else if plan.is_in_guests() {
        (
            "what servers keep is looked for on the lab's own machine, and this plan has guests",
            "take `keeps` out",
        )
    } else if plan.program.is_some() {
        (
            "only `pitot load` knows what was acknowledged, and this plan has another program",
            "take `keeps` out",
        )
    } else {
        return Ok(());
    };
    Err(root.source.error(&item.key_span, what, cure))
}

/// `needs` is looked for on the lab's own machine.
fn check_machine(plan: &Plan, root: &Section<'_>) -> Result<(), PlanError> {
    match root.get("needs").filter(|_| !plan.hosts.is_empty()) {
        Some(item) => {
            let what = "`needs` is checked on the lab's own machine, and this plan has hosts";
            Err(root.source.error(
                &item.key_span,
                what,
                "take it out, and run `pitot host check` on each of them",
            ))
        }
        None => Ok(()),
    }
}

/// A server on a system without an agent is not on a host with one.
fn check_foreign(plan: &Plan, root: &Section<'_>) -> Result<(), PlanError> {
    match (root.get("servers"), plan.foreign_server()) {
        (Some(item), Some(server)) if plan.server_host.is_some() => {
            let what =
                format!("`servers.{}` has an `address`, and `server.host` puts it on a host", server.name);
            Err(root.source.error(&item.key_span, what, "take one of the two out"))
        }
        (Some(item), Some(_)) if !plan.faults.is_empty() => {
            let what = "faults are made on the lab's own machine, and a server of this plan has an `address`";
            Err(root.source.error(&item.key_span, what, "take the faults out"))
        }
        _ => Ok(()),
    }
}

/// Helpers of a load on several hosts would have to be reached from all of them.
fn check_helpers(plan: &Plan, root: &Section<'_>) -> Result<(), PlanError> {
    match root.get("helpers").filter(|_| plan.load_hosts.len() > 1 && !plan.helpers.is_empty()) {
        Some(item) => {
            let what = "helpers are beside the load, and this plan's load is on several hosts";
            Err(root.source.error(&item.key_span, what, "name one host: load.host = \"...\""))
        }
        None => Ok(()),
    }
}

/// What holds between keys.
fn check_needs(known: &Known<'_>, plan: &Plan, root: &Section<'_>) -> Result<(), PlanError> {
    let whole = plan.factors.iter().any(|f| f.name == SERVER_FACTOR);
    if let Some(f) =
        plan.factors.iter().find(|f| whole && matches!(f.name.as_str(), "server.model" | "server.mechanism"))
    {
        let factors = root.need("factors", "")?;
        let what = format!("both `server` and `{}` choose the server", f.name);
        return Err(factors.error(what, "take one of the two factors out"));
    }
    let has_pitot_server = !whole
        || plan.factors.iter().filter(|f| f.name == SERVER_FACTOR).flat_map(|f| &f.levels).any(|l| {
            !plan.servers.iter().any(|s| s.name == l.to_string() && matches!(s.program, Program::External(_)))
        });
    let protocol = plan.server.get("protocol").is_some()
        || plan.factors.iter().any(|f| f.name == "server.protocol")
        || plan
            .servers
            .iter()
            .any(|s| matches!(&s.program, Program::Pitot(o) if o.get("protocol").is_some()));
    if known.program.is_some_and(|p| !p.needs_server) {
        let is_servers = |f: &&Factor| f.name == SERVER_FACTOR || f.name.starts_with("server.");
        let by_factor = plan.factors.iter().find(is_servers).and_then(|_| root.get("factors"));
        let at = root.get("server").or_else(|| root.get("servers")).or(by_factor);
        return at.map_or(Ok(()), |item| {
            let name = plan.program.as_deref().unwrap_or_default();
            let what = format!("`pitot {name}` is measured by itself, without a server");
            Err(root.source.error(&item.key_span, what, "take the server out"))
        });
    }
    if has_pitot_server && !protocol {
        let words: Vec<&str> = known.catalog.protocols.iter().map(|p| p.name.as_str()).collect();
        let cure = format!("write protocol = \"{}\" under [server]", words.join("\" or \""));
        let at = root.get("server").map_or(0..0, |i| i.key_span);
        return Err(root.source.error(&at, "the plan does not say which protocol is served", cure));
    }
    Ok(())
}

/// `suites/quick.toml` is called `quick`.
fn stem(name: &str) -> String {
    std::path::Path::new(name)
        .file_stem()
        .map_or_else(|| name.to_owned(), |s| s.to_string_lossy().into_owned())
}
