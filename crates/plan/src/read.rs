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

/// A plan without `measure` is measured in fresh runs if it has one of these keys.
const FRESH_KEYS: [&str; 4] = ["repetitions", "duration", "faults", "durability"];
/// Keys that only slices have.
const SLICE_KEYS: [&str; 4] = ["generations", "until-decided", "slices", "slice"];
/// The default warm-up of slices: shorter, since every generation has one.
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
            let fix = match what.contains("with a dotted key") {
                // TOML reads server.workers as a key of the table `server`, which is a list here.
                true => "write the dotted key in quotes: \"server.workers\" = [1, 2]",
                false => "plans are TOML; `pitot list plan-schema` describes their keys",
            };
            source.error(&e.span().unwrap_or(0..0), what, fix)
        })?;
        let root = Section::root(source, table.get_ref());
        for (old, new) in keys::RENAMED {
            if let Some(item) = root.get(old) {
                let what = format!("`{old}` is now called `{new}`");
                return Err(item.key_error(what, format!("write `{new}` instead")));
            }
        }
        root.check_keys(keys::PLAN.iter().map(|key| key.name))?;
        let mut plan = Plan { name: stem(name), ..Plan::default() };
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
            left_out: Vec::new(),
            metric: plan.metric.clone(),
        };
        keys::apply(keys::PLAN, &mut known, &root, &mut plan)?;
        if let Some(excess) = plan.excess() {
            return Err(root.error_at_key(excess.key, format!("the plan {}", excess.what), excess.fix));
        }
        if plan.measure == Measure::Slices && root.get("warmup").is_none() {
            plan.warmup_s = SLICED_WARMUP_S;
        }
        check_measure(&plan, &root)?;
        check_needs(&known, &plan, &root)?;
        check_resolver(&plan, &root)?;
        check_conflicts(&plan, &root)?;
        check_fault_times(&plan, &root)?;
        check_foreign(&plan, &root)?;
        check_reach(&known, &plan, &root)?;
        plan.has_resolver = plan.has_faults_of_names();
        placeholders::check(source, table.get_ref())?;
        Ok(plan)
    }
}

/// Keys of slices need cells that are measured in slices, and only one key may set the number of generations.
fn check_measure(plan: &Plan, root: &Section<'_>) -> Result<(), PlanError> {
    if plan.measure == Measure::Fresh {
        let Some((key, item)) = SLICE_KEYS.iter().find_map(|&key| Some((key, root.get(key)?))) else {
            return Ok(());
        };
        let why = match FRESH_KEYS.iter().find(|key| root.get(key).is_some()) {
            Some(other) if root.get("measure").is_none() => format!("because it sets `{other}`"),
            _ => "as `measure` says".to_owned(),
        };
        let what = format!("`{key}` is for slices, and this plan uses fresh runs, {why}");
        let fix = format!("remove `{key}`, or write measure = \"slices\"");
        return Err(item.key_error(what, fix));
    }
    if let Some(item) = root.get("slices").filter(|_| plan.slices % 2 == 1) {
        let what = format!("`slices = {}` is odd, and each round has two, in opposite orders", plan.slices);
        let fix = format!("write slices = {} or {}", (plan.slices - 1).max(2), plan.slices + 1);
        return Err(item.key_error(what, fix));
    }
    if root.get("generations").is_some()
        && let Some(item) = root.get("until-decided")
    {
        let what = "`generations` and `until-decided` both say how many generations there are";
        return Err(item.key_error(what, "remove one of the two"));
    }
    Ok(())
}

/// A DNS fault needs a client of the resolver, and there is a resolver only for such faults.
fn check_resolver(plan: &Plan, root: &Section<'_>) -> Result<(), PlanError> {
    let placeholder = format!("{{{RESOLVER}}}");
    let place = root.source.text.find(&placeholder);
    match (plan.has_faults_of_names(), place) {
        (true, None) => {
            let what =
                format!("a DNS fault needs a client that asks `{placeholder}`, and this plan has none");
            let fix = "write resolver = \"{resolver}\" and url = \"http://www.test:{port}/\" under [load]";
            Err(root.error_at_key("faults", what, fix))
        }
        (false, Some(at)) => {
            let what =
                format!("`{placeholder}` exists only in a plan with a DNS fault, and this plan has none");
            let fix = "add a fault of kind dns-fails or dns-lies, or write the resolver's address";
            Err(root.source.error(&(at..at + placeholder.len()), what, fix))
        }
        _ => Ok(()),
    }
}

/// A key that cannot be used with something else that the plan says.
struct Conflict {
    key: &'static str,
    is_in: fn(&Plan) -> bool,
    what: &'static str,
    fix: &'static str,
}

static CONFLICTS: &[Conflict] = &[
    Conflict {
        key: "faults",
        is_in: |plan| !plan.faults.is_empty() && plan.measure == Measure::Slices,
        what: "faults need fresh runs, and `measure` says slices, where a fault would affect all cells of a group",
        fix: "write measure = \"fresh\", or remove the faults",
    },
    Conflict {
        key: "faults",
        is_in: |plan| !plan.faults.is_empty() && !plan.hosts.is_empty(),
        what: "faults are made on this machine only, and this plan has hosts",
        fix: "remove the hosts, or the faults",
    },
    Conflict {
        key: "servers",
        is_in: |plan| !plan.faults.is_empty() && plan.foreign_server().is_some(),
        what: "faults are made on this machine only, and a server of this plan has an `address`",
        fix: "remove the faults",
    },
    Conflict {
        key: "hosts",
        is_in: |plan| plan.is_in_guests() && !plan.hosts.is_empty(),
        what: "guests are started on this machine only, and this plan has hosts",
        fix: "remove `hosts`, or the factor `kernel`",
    },
    Conflict {
        key: "until-decided",
        is_in: |plan| plan.is_in_guests() && plan.until_decided_s.is_some(),
        what: "kernels are measured in fresh runs, and `until-decided` is for slices",
        fix: "use `repetitions` instead",
    },
    Conflict {
        key: "servers",
        is_in: |plan| plan.is_in_guests() && plan.foreign_server().is_some(),
        what: "a guest has no network to the outside, and a server of this plan has an `address`",
        fix: "remove that server, or the factor `kernel`",
    },
    Conflict {
        key: "durability",
        is_in: |plan| plan.durability.is_some() && plan.measure == Measure::Slices,
        what: "durability is checked after the server has stopped, and `measure` says slices",
        fix: "write measure = \"fresh\"",
    },
    Conflict {
        key: "durability",
        is_in: |plan| {
            plan.durability.is_some() && (!plan.hosts.is_empty() || plan.foreign_server().is_some())
        },
        what: "durability is checked on this machine only, and this plan has servers elsewhere",
        fix: "remove `durability`",
    },
    Conflict {
        key: "durability",
        is_in: |plan| plan.durability.is_some() && plan.is_in_guests(),
        what: "durability is checked on this machine only, and this plan has guests",
        fix: "remove `durability`",
    },
    Conflict {
        key: "durability",
        is_in: |plan| plan.durability.is_some() && plan.program.is_some(),
        what: "only `pitot load` records what was acknowledged, and this plan runs another program",
        fix: "remove `durability`",
    },
    Conflict {
        key: "helpers",
        is_in: |plan| !plan.helpers.is_empty() && plan.load_hosts.len() > 1,
        what: "helpers run beside the load, and the load of this plan is on several hosts",
        fix: "name one host: load.host = \"...\"",
    },
    Conflict {
        key: "needs",
        is_in: |plan| plan.needs.is_some() && !plan.hosts.is_empty(),
        what: "`needs` checks this machine only, and this plan has hosts",
        fix: "remove it, and run `pitot host check` on each host",
    },
];

fn check_conflicts(plan: &Plan, root: &Section<'_>) -> Result<(), PlanError> {
    match CONFLICTS.iter().find(|conflict| (conflict.is_in)(plan)) {
        Some(conflict) => Err(root.error_at_key(conflict.key, conflict.what, conflict.fix)),
        None => Ok(()),
    }
}

/// A fault begins within the measured part, unless the plan is for soaks.
fn check_fault_times(plan: &Plan, root: &Section<'_>) -> Result<(), PlanError> {
    let Some(item) = root.get("faults").filter(|_| root.get("soak").is_none()) else { return Ok(()) };
    for (fault, table) in plan.faults.iter().zip(item.list()?) {
        if let At::Seconds(at_s) = fault.at
            && at_s >= plan.duration_s
        {
            let section = table.section("a fault")?;
            let what =
                format!("this fault begins after the measured part, which lasts {} s", plan.duration_s);
            return Err(section.need("at", "")?.error(what, "use a longer `duration`, or an earlier `at`"));
        }
    }
    Ok(())
}

/// A server on a system without an agent is not on a host with one.
fn check_foreign(plan: &Plan, root: &Section<'_>) -> Result<(), PlanError> {
    match plan.foreign_server().filter(|_| plan.server_host.is_some()) {
        Some(server) => {
            let what =
                format!("`servers.{}` has an `address`, and `server.host` puts it on a host", server.name);
            Err(root.error_at_key("servers", what, "remove one of the two"))
        }
        None => Ok(()),
    }
}

/// Servers on this machine listen at 127.0.0.1, which a load on another host does not reach.
fn check_reach(known: &Known<'_>, plan: &Plan, root: &Section<'_>) -> Result<(), PlanError> {
    let has_servers_here = known.program.is_none_or(|program| program.needs_server)
        && plan.server_host.is_none()
        && plan.foreign_server().is_none();
    if has_servers_here && plan.load_hosts().any(|host| !host.address.is_loopback()) {
        let what = "the load is on another host, and servers on this machine listen at 127.0.0.1, where it cannot reach them";
        let fix = "name this machine too: [hosts.here] with agent = [\"pitot\", \"agent\"], address and cpus, and server.host = \"here\"";
        return Err(root.error_at_key("load", what, fix));
    }
    Ok(())
}

/// What holds between keys.
fn check_needs(known: &Known<'_>, plan: &Plan, root: &Section<'_>) -> Result<(), PlanError> {
    let whole = plan.factors.iter().any(|f| f.name == SERVER_FACTOR);
    if let Some(f) =
        plan.factors.iter().find(|f| whole && matches!(f.name.as_str(), "server.model" | "server.mechanism"))
    {
        let factors = root.need("factors", "")?;
        let what = format!("both `server` and `{}` choose the server", f.name);
        return Err(factors.error(what, "remove one of the two factors"));
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
    if known.program.is_some_and(|p| p.executes) {
        return check_commands(plan, root);
    }
    if known.program.is_some_and(|p| !p.needs_server) {
        let is_servers = |f: &&Factor| f.name == SERVER_FACTOR || f.name.starts_with("server.");
        let by_factor = plan.factors.iter().find(is_servers).and_then(|_| root.get("factors"));
        let at = root.get("server").or_else(|| root.get("servers")).or(by_factor);
        return at.map_or(Ok(()), |item| {
            let name = plan.program.as_deref().unwrap_or_default();
            let what = format!("`pitot {name}` is measured without a server");
            Err(item.key_error(what, "remove the server"))
        });
    }
    if has_pitot_server && !protocol {
        let words: Vec<&str> = known.catalog.protocols.iter().map(|p| p.name.as_str()).collect();
        let fix = format!("write protocol = \"{}\" under [server]", words.join("\" or \""));
        return Err(root.error_at_key("server", "the plan does not say which protocol is served", fix));
    }
    Ok(())
}

/// What is executed are the commands of servers that the plan describes.
fn check_commands(plan: &Plan, root: &Section<'_>) -> Result<(), PlanError> {
    let Some(factor) = plan.factors.iter().find(|f| f.name == SERVER_FACTOR) else {
        let fix = "add the factor server = [\"a\", \"b\"], and [servers.a] with command = [\"./a\"]";
        return Err(root.error_at_key(
            "factors",
            "`pitot exec` executes the commands of servers, and there are none",
            fix,
        ));
    };
    let is_command = |name: &str| {
        plan.servers
            .iter()
            .any(|s| s.name == name && matches!(&s.program, Program::External(p) if p.target.is_none()))
    };
    match factor.levels.iter().map(ToString::to_string).find(|name| !is_command(name)) {
        None => Ok(()),
        Some(name) => {
            let what = format!("`pitot exec` executes commands, and `{name}` has none");
            Err(root.error_at_key(
                "factors",
                what,
                format!("add [servers.{name}] with command = [\"./{name}\"]"),
            ))
        }
    }
}

/// `suites/quick.toml` is called `quick`.
fn stem(name: &str) -> String {
    std::path::Path::new(name)
        .file_stem()
        .map_or_else(|| name.to_owned(), |s| s.to_string_lossy().into_owned())
}
