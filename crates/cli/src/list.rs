//! `pitot list`.

use std::process::ExitCode;

use clap::{Args, CommandFactory, ValueEnum};
use pitot_client::CLIENTS;
use pitot_disk::{ENGINES, EngineOptions};
use pitot_host::check::{Rule, TOPICS};
use pitot_host::profile::PROFILES;
use pitot_host::setting::SETTINGS;
use pitot_load::{PACES, WORKLOADS};
use pitot_plan::{KeyInWords, Plan, SUITES};
use pitot_proto::PROTOCOLS;
use pitot_record::{Better, METRICS, Metric};
use pitot_report::chart::CHARTS;
use pitot_results::{Failure, VerdictKind};
use pitot_serve::{MECHANISMS, MODELS, Pair, RING_FEATURES, pairs};
use serde_json::{Value, json};

use crate::failure::EXIT_CODES;
use crate::formats::TextOrJson;
use crate::output::print;
use crate::targets;

mod fault;
mod option;
mod row;

use row::{Row, unavailable_text};

/// List models, mechanisms, protocols, engines, metrics and more, and what of them works on this machine.
#[derive(Debug, Args)]
pub(crate) struct List {
    /// What to list. [default: the names of the lists]
    what: Option<What>,
    /// Output format.
    #[arg(long, default_value = "text")]
    format: TextOrJson,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum What {
    /// Concurrency models: who owns a connection.
    Models,
    /// Event mechanisms: how a worker waits, and whether this kernel offers it.
    Mechanisms,
    /// What the mechanism uring can use of io_uring(7), and whether this kernel offers it.
    RingFeatures,
    /// Protocols of the servers.
    Protocols,
    /// Disk engines: how files are read, their needs and limits, and whether this kernel offers them.
    Engines,
    /// What `pitot floor` measures of the machine.
    Primitives,
    /// Paces: when requests of a load start.
    Paces,
    /// Workloads: when the connections of a load open and close.
    Workloads,
    /// Protocols of the load generator.
    Schemes,
    /// Built-in plans.
    Suites,
    /// Servers of others that Pitot knows, their settings, and whether they are installed.
    Targets,
    /// Faults of plans and of `pitot fault`, and whether they can be made on this machine.
    Faults,
    /// Metrics of plans, reports and gates.
    Metrics,
    /// Charts of a report.
    Charts,
    /// Rules of `pitot host check`.
    Rules,
    /// Kinds of settings that `pitot host apply` changes.
    Settings,
    /// Profiles of `pitot host apply`.
    Profiles,
    /// Keys of a plan: which values each takes, its default, and what it means.
    PlanKeys,
    /// Options of every command, one line each.
    Options,
    /// Verdicts on a measurement.
    Verdicts,
    /// Exit codes of all commands.
    ExitCodes,
    /// The JSON Schema of a plan, as one JSON object.
    PlanSchema,
    /// Every pair of a model and a mechanism: usable, impossible and why, or not offered by this kernel.
    Pairs,
}

impl List {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let named = |name: &str, summary: &str, doc: &str| Row {
            name: name.into(),
            text: summary.into(),
            json: json!({ "name": name, "summary": summary, "doc": doc }),
        };
        let Some(what) = self.what else { return self.print(lists()) };
        let rows = match what {
            What::PlanSchema => {
                print(&format!("{:#}\n", pitot_plan::plan_schema(&crate::catalog::catalog()?)))?;
                return Ok(ExitCode::SUCCESS);
            }
            What::Paces => PACES.iter().map(|p| named(p.name, p.summary, p.doc)).collect(),
            What::Workloads => WORKLOADS.iter().map(|w| named(w.name, w.summary, w.doc)).collect(),
            What::Schemes => CLIENTS
                .iter()
                .flat_map(|c| {
                    let over_tls = c.tls.map(|tls| {
                        let doc = format!(
                            "What {}:// is, over TLS. The options of TLS are in pitot load --help.",
                            c.scheme
                        );
                        named(tls.scheme, &format!("{}:// over TLS", c.scheme), &doc)
                    });
                    std::iter::once(named(c.scheme, c.summary, c.doc)).chain(over_tls)
                })
                .collect(),
            What::Rules => rules(),
            What::Settings => SETTINGS.iter().map(setting).collect(),
            What::Profiles => PROFILES.iter().map(profile).collect(),
            What::Suites => suites()?,
            What::Targets => targets()?,
            What::Faults => fault::rows(),
            What::Metrics => metrics(),
            What::PlanKeys => pitot_plan::plan_keys().into_iter().map(plan_key).collect(),
            What::Options => option::rows(&crate::Pitot::command()),
            What::ExitCodes => {
                EXIT_CODES.iter().map(|(code, meaning)| named(&code.to_string(), meaning, "")).collect()
            }
            What::Verdicts => VerdictKind::ALL.iter().map(|v| named(v.name(), v.meaning(), "")).collect(),
            What::Charts => CHARTS.iter().map(|c| named(c.name, c.title, c.summary)).collect(),
            What::Models => models(),
            What::Mechanisms => mechanisms(),
            What::RingFeatures => ring_features(),
            What::Protocols => protocols(),
            What::Engines => engines(),
            What::Primitives => primitives(),
            What::Pairs => all_pairs(),
        };
        self.print(rows)
    }

    fn print(&self, rows: Vec<Row>) -> Result<ExitCode, Failure> {
        match self.format {
            TextOrJson::Json => {
                let json: Vec<Value> = rows.into_iter().map(|row| row.json).collect();
                print(&format!("{:#}\n", Value::from(json)))?;
            }
            TextOrJson::Text => {
                let width = rows.iter().map(|row| row.name.len()).max().unwrap_or(0);
                let line = |row: &Row| format!("{:width$}  {}\n", row.name, row.text);
                print(&rows.iter().map(line).collect::<String>())?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// What can be listed.
fn lists() -> Vec<Row> {
    let row = |what: &What| {
        let value = what.to_possible_value()?;
        let summary = value.get_help().map(ToString::to_string).unwrap_or_default();
        Some(Row {
            name: value.get_name().to_owned(),
            json: json!({ "name": value.get_name(), "summary": summary }),
            text: summary,
        })
    };
    What::value_variants().iter().filter_map(row).collect()
}

fn setting(kind: &pitot_host::setting::Setting) -> Row {
    Row {
        name: kind.name.into(),
        text: kind.summary.into(),
        json: json!({ "name": kind.name, "summary": kind.summary, "keys": kind.keys, "needs": kind.right }),
    }
}

fn profile(profile: &pitot_host::profile::Profile) -> Row {
    let settings: Vec<Value> = profile
        .settings
        .iter()
        .map(|set| json!({ "key": set.key, "value": set.value, "or_more": set.at_least, "why": set.why }))
        .collect();
    let gone: Vec<Value> =
        profile.gone.iter().map(|gone| json!({ "what": gone.what, "instead": gone.instead })).collect();
    Row {
        name: profile.name.into(),
        text: profile.summary.into(),
        json: json!({
            "name": profile.name, "summary": profile.summary, "source": profile.source, "settings": settings, "gone": gone,
        }),
    }
}

fn plan_key(key: KeyInWords) -> Row {
    let KeyInWords { table, name, takes, default, doc } = key;
    let state = match &*default {
        "" => String::new(),
        "required" => "; required".to_owned(),
        value => format!("; default: {value}"),
    };
    Row {
        name: format!("{table} {name}").trim_start().to_owned(),
        text: format!("{doc} ({takes}{state})"),
        json: json!({ "table": table, "name": name, "takes": takes, "default": default, "doc": doc }),
    }
}

fn rules() -> Vec<Row> {
    let row = |topic: &str, rule: &'static Rule| Row {
        name: rule.name.into(),
        text: format!("{}: {} ({})", rule.looks_at, rule.wanted, rule.sources()),
        json: json!({
            "name": rule.name, "topic": topic, "uses": rule.uses, "summary": rule.looks_at, "wanted": rule.wanted, "doc": rule.why, "source": rule.source,
            "evidence": rule.evidence, "threshold": rule.threshold.word(), "threshold_source": rule.threshold.words(), "can_apply": rule.can_apply,
        }),
    };
    TOPICS.iter().flat_map(|(topic, rules)| rules.iter().map(move |rule| row(topic, rule))).collect()
}

fn models() -> Vec<Row> {
    let row = |m: &&'static pitot_serve::Model| Row {
        name: m.name.into(),
        text: format!("{} (workers: {})", m.summary, m.workers),
        json: json!({ "name": m.name, "summary": m.summary, "doc": m.doc, "workers": m.workers }),
    };
    MODELS.iter().map(row).collect()
}

fn mechanisms() -> Vec<Row> {
    let row = |m: &&'static pitot_serve::Mechanism| {
        let row = Row {
            name: m.name.into(),
            text: m.summary.into(),
            json: json!({ "name": m.name, "summary": m.summary, "doc": m.doc }),
        };
        row.probed((m.probe)().err().as_ref())
    };
    MECHANISMS.iter().map(row).collect()
}

fn ring_features() -> Vec<Row> {
    let row = |feature: &pitot_serve::RingFeature| {
        let name = feature
            .value
            .map_or_else(|| feature.name.to_owned(), |value| format!("{}={value}", feature.name));
        let usual = if feature.is_usual { " (usual)" } else { "" };
        let row = Row {
            name,
            text: format!("{}{usual}", feature.summary),
            json: json!({
                "name": feature.name, "value": feature.value, "summary": feature.summary, "usual": feature.is_usual,
            }),
        };
        row.probed(feature.probe().err().as_ref())
    };
    RING_FEATURES.iter().map(row).collect()
}

fn protocols() -> Vec<Row> {
    let row = |p: &pitot_proto::ProtocolEntry| Row {
        name: p.name.into(),
        text: p.summary.into(),
        json: json!({ "name": p.name, "summary": p.summary, "doc": p.doc, "files": p.files }),
    };
    PROTOCOLS.iter().copied().map(row).collect()
}

fn suites() -> Result<Vec<Row>, Failure> {
    let catalog = crate::catalog::catalog()?;
    let row = |suite: &pitot_plan::Suite| {
        let plan = Plan::parse(suite.name, suite.text, &catalog)
            .map_err(|e| Failure::run(e.to_string(), "please report this: it is a built-in plan"))?;
        Ok(Row {
            name: suite.name.into(),
            text: plan.title.clone(),
            json: json!({ "name": suite.name, "title": plan.title, "question": plan.question, "plan": suite.text }),
        })
    };
    SUITES.iter().map(row).collect()
}

fn targets() -> Result<Vec<Row>, Failure> {
    let row = |known: &targets::Seen| {
        let target = &known.target;
        let state = match (&known.word.unavailable, &known.version) {
            (Some(reason), _) => reason.clone(),
            (None, Some(version)) => version.clone(),
            (None, None) => "installed".to_owned(),
        };
        // A page whose module is missing, where the rest is there.
        let lacks = known.word.target.cannot.iter().filter(|one| !target.cannot.contains(one));
        let lacks = lacks.filter(|_| known.word.unavailable.is_none());
        let lacks: String = lacks.map(|(page, why)| format!("\n    /{page}: {why}")).collect();
        let settings: Vec<Value> = target
            .settings
            .iter()
            .map(|s| {
                let values: Vec<&str> = s.values.iter().map(|(value, _)| value.as_str()).collect();
                json!({ "name": s.name, "default": s.default, "doc": s.doc, "values": values })
            })
            .collect();
        Row {
            name: target.name.clone(),
            text: format!("{}\n    {state}{lacks}", target.summary),
            json: json!({
                "name": target.name, "summary": target.summary, "protocol": target.protocol,
                "installed": known.word.unavailable.is_none(), "version": known.version,
                "install": known.install, "settings": settings, "file": known.file,
                "cannot": known.word.target.cannot.iter().cloned().collect::<std::collections::BTreeMap<_, _>>(),
                "failed": target.failed,
                "on_demand": on_demand(&known.word.target),
            }),
        }
    };
    Ok(targets::seen()?.iter().map(row).collect())
}

/// Pages that are in the configuration only where they are asked for, and can be.
fn on_demand(target: &pitot_target::Target) -> Vec<&str> {
    let is_served = |page: &str| target.cannot.iter().all(|(other, _)| other != page);
    target.on_demand.iter().map(|one| one.page.as_str()).filter(|page| is_served(page)).collect()
}

fn metrics() -> Vec<Row> {
    let row = |m: &Metric| {
        let better = match m.better {
            Better::Higher => "higher",
            Better::Lower => "lower",
        };
        Row {
            name: m.name.into(),
            text: if m.is_of_runs() { m.summary.into() } else { format!("{} (only in soaks)", m.summary) },
            json: json!({
                "name": m.name, "summary": m.summary, "doc": format!("Needs {}.", m.needs), "title": m.title,
                "unit": m.unit.symbol(), "better": better, "runs": m.is_of_runs(), "soaks": m.in_soak.is_some(),
            }),
        }
    };
    METRICS.iter().map(row).collect()
}

fn primitives() -> Vec<Row> {
    let row = |p: &pitot_floor::Primitive| Row {
        name: p.name.into(),
        text: p.summary.into(),
        json: json!({ "name": p.name, "summary": p.summary, "operation": p.operation.name() }),
    };
    pitot_floor::primitives().map(row).collect()
}

fn engines() -> Vec<Row> {
    let row = |e: &pitot_disk::EngineEntry| {
        let options = EngineOptions::default();
        let delivers: Vec<&str> = e.delivers.iter().map(|target| target.name()).collect();
        let supports: Vec<&str> = e.supports.iter().map(|option| option.name()).collect();
        let text = format!(
            "{} (delivers to: {}; blocks on a page-cache miss: {})",
            e.summary,
            delivers.join(", "),
            e.blocks.words(),
        );
        let row = Row {
            name: e.name.into(),
            text,
            json: json!({
                "name": e.name, "summary": e.summary, "doc": e.doc, "needs": e.needs, "limits": e.limits,
                "delivers": delivers, "options": supports, "depth_max": e.depth_max,
                "blocks_on_cold": e.blocks_on_cold(&options), "blocks": e.blocks.words(),
                "joins_event_loop": e.joins_event_loop(),
            }),
        };
        row.probed(e.probe().err().as_ref())
    };
    ENGINES.iter().map(row).collect()
}

fn all_pairs() -> Vec<Row> {
    let row = |pair: Pair| {
        let (text, status, reason, fix) = match (pair.impossible, &pair.unavailable) {
            (Some(why), _) => (format!("impossible: {why}"), "impossible", Some(why.to_owned()), None),
            (None, Some(u)) => {
                (unavailable_text(u), "unavailable", Some(u.cause.clone()), Some(u.fix.clone()))
            }
            (None, None) => ("usable".to_owned(), "usable", None, None),
        };
        let (model, mechanism) = (pair.model.name, pair.mechanism.name);
        Row {
            name: format!("{model:8} {mechanism}"),
            text,
            json: json!({
                "model": model, "mechanism": mechanism, "status": status, "usable": pair.is_usable(),
                "reason": reason, "fix": fix,
            }),
        }
    };
    pairs().into_iter().map(row).collect()
}
