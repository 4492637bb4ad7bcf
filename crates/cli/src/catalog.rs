//! The words that plans may use, from the registries and the options of the command line.

use clap::{Command, CommandFactory};
use pitot_plan::{
    Catalog, ImpossibleOption, ImpossiblePair, ModelWord, OptionMeaning, OptionWord, ProgramWord,
    ProtocolWord,
};
use pitot_proto::{PROTOCOLS, TlsBegins};
use pitot_record::metric::{METRICS, RENAMED};
use pitot_results::Failure;
use pitot_serve::{MECHANISMS, MODELS, Model, pairs};

use crate::{serve_tls, targets};

/// A command that may take the place of `pitot load`.
struct Program {
    /// Its words on the command line.
    name: &'static str,
    /// False if it is itself what is measured.
    needs_server: bool,
    /// Whether what is measured writes files.
    writes_files: bool,
    /// Whether it executes the commands of servers.
    executes: bool,
}

const PROGRAMS: &[Program] = &[
    Program { name: "disk files", needs_server: false, writes_files: true, executes: false },
    Program { name: "disk read", needs_server: false, writes_files: true, executes: false },
    Program { name: "exec", needs_server: false, writes_files: true, executes: true },
    Program { name: "floor", needs_server: false, writes_files: true, executes: false },
    Program { name: "mail", needs_server: true, writes_files: false, executes: false },
];
/// Protocols of `pitot serve` without model and mechanism, with their load URLs.
const OTHER_PROTOCOLS: &[(&str, &str)] = &[("dns", "dns://{address}")];

/// The command of an option.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Of {
    Serve,
    Load,
    /// `pitot load`, and programs in its place.
    AnyLoad,
}

/// What an option means to the lab.
enum Means {
    /// Only the lab sets it; the text says what to write instead.
    Reserved(&'static str),
    /// Its value is a number of connections.
    OpensConnections,
    /// The load ends before the plan's duration.
    EndsByItself,
    /// Requests do not wait for the reply before them.
    OpenLoop,
    OfTls,
}

const MEANINGS: &[(Of, &str, Means)] = &[
    (Of::Serve, "listen", Means::Reserved("the lab chooses a free port for every repetition")),
    (Of::Serve, "stats", Means::Reserved("the lab always asks for the counters")),
    (Of::Serve, "cpus", Means::Reserved("write server-cpus = \"0-3\" at the top of the plan")),
    (Of::AnyLoad, "duration", Means::Reserved("write duration = \"2s\" at the top of the plan")),
    (Of::AnyLoad, "warmup", Means::Reserved("write warmup = \"500ms\" at the top of the plan")),
    (Of::AnyLoad, "json", Means::Reserved("the lab always asks for the result")),
    (Of::AnyLoad, "cpus", Means::Reserved("write load-cpus = \"4-7\" at the top of the plan")),
    (Of::AnyLoad, "connections", Means::OpensConnections),
    (Of::AnyLoad, "command", Means::Reserved("write command = [\"./a\"] under [servers.a]")),
    (Of::Load, "idle", Means::OpensConnections),
    (Of::Load, "requests-total", Means::EndsByItself),
    (Of::Load, "stages", Means::EndsByItself),
    (Of::Load, "storm", Means::EndsByItself),
    (Of::Load, "rate", Means::OpenLoop),
    (Of::Load, "stages", Means::OpenLoop),
    (Of::Load, "search", Means::OpenLoop),
    (Of::Load, "replay", Means::OpenLoop),
    (Of::Load, "think", Means::OpenLoop),
    (Of::Load, "storm", Means::OpenLoop),
    (Of::Load, "user-stages", Means::OpenLoop),
    (Of::Load, "browser", Means::OpenLoop),
    (Of::Load, "requests", Means::OpenLoop),
    (Of::Load, "wsess", Means::OpenLoop),
    (Of::Load, "wsesslog", Means::OpenLoop),
    (Of::Load, "share", Means::OpenLoop),
    (Of::Load, "insecure", Means::OfTls),
    (Of::Load, "tls-ca", Means::OfTls),
    (Of::Load, "tls-cert", Means::OfTls),
    (Of::Load, "tls-crl", Means::OfTls),
    (Of::Load, "tls-key", Means::OfTls),
    (Of::Load, "tls-resume", Means::OfTls),
    (Of::Load, "tls-version", Means::OfTls),
];

fn meaning(of: &[Of], option: &str) -> OptionMeaning {
    let mut meaning = OptionMeaning::default();
    for (_, _, means) in MEANINGS.iter().filter(|(whose, name, _)| of.contains(whose) && *name == option) {
        match means {
            Means::Reserved(fix) => meaning.reserved = Some((*fix).to_owned()),
            Means::OpensConnections => meaning.opens_connections = true,
            Means::EndsByItself => meaning.limits_work = true,
            Means::OpenLoop => meaning.open_loop = true,
            Means::OfTls => meaning.of_tls = true,
        }
    }
    meaning
}

/// The words that a plan may use with this binary on this machine.
///
/// # Errors
/// If a target of the user is unsound.
pub(crate) fn catalog() -> Result<Catalog, Failure> {
    let command = crate::Pitot::command();
    let impossible = pairs().into_iter().filter_map(|pair| {
        let reason = match (pair.impossible, &pair.unavailable) {
            (Some(why), _) => why.to_owned(),
            (None, Some(missing)) => format!("{missing} (to enable it: {})", missing.fix),
            (None, None) => return None,
        };
        Some(ImpossiblePair { model: pair.model.name.into(), mechanism: pair.mechanism.name.into(), reason })
    });
    Ok(Catalog {
        protocols: PROTOCOLS
            .iter()
            .map(|p| ProtocolWord {
                name: p.name.to_owned(),
                load_url: p.load_url.to_owned(),
                tls_scheme: pitot_client::find(p.name)
                    .and_then(|c| c.tls.as_ref())
                    .map(|tls| tls.scheme.to_owned()),
                tls_at_once: matches!(p.tls, TlsBegins::AtOnce { .. }),
                files: p.files,
            })
            .chain(OTHER_PROTOCOLS.iter().map(|(name, url)| ProtocolWord {
                name: (*name).to_owned(),
                load_url: (*url).to_owned(),
                tls_scheme: None,
                tls_at_once: false,
                files: false,
            }))
            .collect(),
        models: MODELS.iter().map(|model| model_word(model)).collect(),
        mechanisms: MECHANISMS.iter().map(|m| m.name.to_owned()).collect(),
        impossible: impossible.collect(),
        impossible_options: impossible_options(),
        serve_options: options(&command, "serve", &[Of::Serve]),
        load_options: options(&command, "load", &[Of::Load, Of::AnyLoad]),
        programs: PROGRAMS
            .iter()
            .filter_map(|program| {
                Some(ProgramWord {
                    name: program.name.to_owned(),
                    options: options_of(find(&command, program.name)?, &[Of::AnyLoad]),
                    needs_server: program.needs_server,
                    writes_files: program.writes_files,
                    executes: program.executes,
                })
            })
            .collect(),
        targets: targets::words()?,
        charts: pitot_report::chart::CHARTS.iter().map(|c| c.name.to_owned()).collect(),
        metrics: METRICS.iter().filter(|m| m.is_of_runs()).map(|m| m.name.to_owned()).collect(),
        renamed_metrics: RENAMED.iter().map(|(old, new)| ((*old).to_owned(), (*new).to_owned())).collect(),
    })
}

/// Options that this kernel, or a mechanism, does not have.
fn impossible_options() -> Vec<ImpossibleOption> {
    let option = || serve_tls::KTLS.to_owned();
    let without = MECHANISMS.iter().filter(|mechanism| !pitot_serve::has_kernel_tls(mechanism));
    let mut options: Vec<_> = without
        .map(|mechanism| ImpossibleOption {
            option: option(),
            mechanism: Some(mechanism.name.to_owned()),
            reason: format!("--{} is not for mechanism {}", option(), mechanism.name),
        })
        .collect();
    options.extend(pitot_serve::probe_kernel_tls().err().map(|missing| ImpossibleOption {
        option: option(),
        mechanism: None,
        reason: format!("{missing} (to enable it: {})", missing.fix),
    }));
    options
}

fn model_word(model: &Model) -> ModelWord {
    ModelWord {
        name: model.name.to_owned(),
        default_mechanism: pitot_serve::default_mechanism(model)
            .map_or_else(String::new, |m| m.name.to_owned()),
        one_process: model.is_one_process,
    }
}

/// The options of a subcommand by their long names.
fn options(command: &Command, subcommand: &str, of: &[Of]) -> Vec<OptionWord> {
    find(command, subcommand).map(|command| options_of(command, of)).unwrap_or_default()
}

/// A subcommand by its words: `disk read`.
fn find<'a>(command: &'a Command, words: &str) -> Option<&'a Command> {
    words.split(' ').try_fold(command, |command, word| command.find_subcommand(word))
}

fn options_of(command: &Command, of: &[Of]) -> Vec<OptionWord> {
    let word = |arg: &clap::Arg| {
        Some(OptionWord {
            name: arg.get_long()?.to_owned(),
            takes_value: arg.get_action().takes_values(),
            values: arg.get_possible_values().iter().map(|v| v.get_name().to_owned()).collect(),
            renamed_to: crate::renamed::new_name(arg.get_long()?).map(str::to_owned),
            meaning: meaning(of, arg.get_long()?),
        })
    };
    command.get_arguments().filter_map(word).filter(|o| o.takes_value || o.name != "help").collect()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn the_catalog_knows_the_options_of_this_command_line() {
        let catalog = catalog().unwrap();
        let option = |name: &str| catalog.serve_options.iter().find(|o| o.name == name).unwrap();
        assert!(option("workers").takes_value);
        assert_eq!(option("stats").values, ["json"]);
        assert!(catalog.why_impossible("fork", "uring").is_some());
        assert!(!option("ktls").takes_value && catalog.why_impossible_option("ktls", "uring").is_some());
        assert_eq!(catalog.model("thread").unwrap().default_mechanism, "blocking");
        assert_eq!(catalog.model("loop").unwrap().default_mechanism, "epoll-et");
        assert!(catalog.load_options.iter().any(|o| o.name == "connections"));
        let disk = catalog.program("disk read").unwrap();
        assert!(!disk.needs_server && disk.options.iter().any(|o| o.name == "engine" && o.takes_value));
    }

    #[test]
    fn what_means_something_to_the_lab_is_an_option_of_its_command() {
        let catalog = catalog().unwrap();
        for (of, name, _) in MEANINGS {
            let options = if *of == Of::Serve { &catalog.serve_options } else { &catalog.load_options };
            let option = options.iter().find(|o| o.name == *name).unwrap_or_else(|| panic!("{name}"));
            assert_ne!(option.meaning, OptionMeaning::default(), "{name}");
        }
        let floor = &catalog.program("floor").unwrap().options;
        assert!(floor.iter().any(|o| o.name == "json" && o.meaning.reserved.is_some()));
    }

    /// The claims that are numbered in the literature that Pitot repeats.
    const CLAIMS: &[(&str, u32)] =
        &[("E1", 8), ("E2", 3), ("E3", 2), ("E4", 2), ("E5", 4), ("E6", 5), ("E7", 14), ("E8", 5), ("G", 3)];

    #[test]
    fn every_claim_is_decided_by_one_suite_that_is_run() {
        let catalog = catalog().unwrap();
        let mut ids: Vec<String> = Vec::new();
        for suite in pitot_plan::SUITES {
            let plan = suite.plan(&catalog).unwrap();
            if !plan.claim.is_empty() {
                assert!(crate::run::experiments::SUITES.contains(&suite.name), "{} is not run", suite.name);
            }
            for claim in &plan.claim {
                assert!(!ids.contains(&claim.id), "{}", claim.id);
                ids.push(claim.id.clone());
            }
        }
        for (experiment, count) in CLAIMS {
            for number in 1..=*count {
                let id = format!("{experiment}.{number}");
                assert!(ids.iter().any(|known| *known == id || known.starts_with(&format!("{id}."))), "{id}");
            }
        }
    }

    #[test]
    fn every_suite_is_a_sound_plan() {
        let catalog = catalog().unwrap();
        for suite in pitot_plan::SUITES {
            let plan = suite.plan(&catalog).unwrap_or_else(|e| panic!("{e}"));
            assert!(!plan.title.is_empty() && !plan.question.is_empty(), "{}", suite.name);
            let (cells, _) = pitot_plan::expand(
                &plan,
                &catalog,
                &pitot_plan::HostLimits { descriptors: 20_000, missing: Vec::new() },
            );
            assert!(!cells.is_empty(), "{}", suite.name);
        }
        let quick = pitot_plan::suite("quick").unwrap().plan(&catalog).unwrap();
        assert!(quick.repetitions >= 6, "a median of fewer has no 95% interval");
    }

    /// Three repetitions are for suites that ask whether something is kept or lost; those that have an interval compare, too.
    #[test]
    fn every_suite_that_compares_has_enough_repetitions_and_generations_to_decide() {
        let catalog = catalog().unwrap();
        let mut short = Vec::new();
        for suite in pitot_plan::SUITES {
            let plan = suite.plan(&catalog).unwrap();
            let prepared = pitot_lab::prepare(plan, String::new(), &catalog, pitot_lab::Where::Elsewhere);
            let prepared = prepared.unwrap_or_else(|e| panic!("{}: {e}", suite.name));
            let (plan, ways) = (&prepared.plan, &prepared.ways);
            let is_fresh = ways.sliced() < prepared.cells.len();
            let compares = plan.repetitions as usize >= pitot_stats::MEDIAN_REPETITIONS_MIN;
            if is_fresh && compares && plan.repetitions < ways.repetitions_least() {
                short.push((suite.name, ways.comparisons, ways.repetitions_least()));
            }
            if ways.sliced() > 0 && plan.generations.unwrap() < ways.generations_least() {
                short.push((suite.name, ways.comparisons, ways.generations_least()));
            }
        }
        assert!(short.is_empty(), "{short:?}");
    }

    #[test]
    fn every_suite_can_be_narrowed_to_one_level_of_each_factor() {
        let catalog = catalog().unwrap();
        for suite in pitot_plan::SUITES {
            let plan = suite.plan(&catalog).unwrap();
            let mut text = suite.text.to_owned();
            for factor in &plan.factors {
                let compared = [&plan.baseline, &plan.reference].into_iter().flatten();
                let wanted = compared.flat_map(|levels| &levels.0).find(|(name, _)| *name == factor.name);
                let level =
                    wanted.map_or_else(|| factor.levels[0].to_string(), |(_, levels)| levels[0].clone());
                text = pitot_plan::with_change(&text, &format!("{}={level}", factor.name)).unwrap();
                let narrowed = pitot_plan::Plan::parse(suite.name, &text, &catalog);
                let narrowed = narrowed.unwrap_or_else(|e| panic!("{}={level}: {e}\n{text}", factor.name));
                assert_eq!(narrowed.factors.iter().find(|f| f.name == factor.name).unwrap().levels.len(), 1);
            }
        }
    }

    #[test]
    fn the_example_on_the_page_on_plans_is_sound() {
        let page = include_str!("../../../docs/plans.md");
        let example = page.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
        let catalog = catalog().unwrap();
        let plan = pitot_plan::Plan::parse("plans.md", example, &catalog).unwrap_or_else(|e| panic!("{e}"));
        let host = pitot_plan::HostLimits { descriptors: 20_000, missing: Vec::new() };
        let (cells, skips) = pitot_plan::expand(&plan, &catalog, &host);
        assert_eq!(cells.len() + skips.len(), 8);
        assert!(skips.iter().any(|s| s.reason == "a second loop is for many connections"), "{skips:?}");
        assert_eq!(cells[0].files.iter().filter(|f| f.path.starts_with("html/")).count(), 16);
    }

    /// Whether a value follows the schema, as far as the words go that `plan_schema` uses.
    fn follows(schema: &Value, value: &Value, root: &Value) -> bool {
        if let Some(name) = schema["$ref"].as_str().and_then(|text| text.strip_prefix("#/$defs/")) {
            return follows(&root["$defs"][name], value, root);
        }
        let is_of = |kind: &str| match kind {
            "string" => value.is_string(),
            "number" => value.is_number(),
            "integer" => value.is_i64() || value.is_u64(),
            "boolean" => value.is_boolean(),
            "array" => value.is_array(),
            "object" => value.is_object(),
            other => panic!("{other}"),
        };
        let kinds = match &schema["type"] {
            Value::String(kind) => vec![kind.as_str()],
            kinds => {
                kinds.as_array().map(|all| all.iter().filter_map(Value::as_str).collect()).unwrap_or_default()
            }
        };
        let each = |list: &Value, is_met: &dyn Fn(&Value) -> bool| {
            list.as_array().is_none_or(|l| l.iter().any(is_met))
        };
        let members = value.as_object().into_iter().flatten().all(|(name, member)| {
            let known = schema["properties"].get(name).or_else(|| {
                // The only pattern of keys is that of settings of the host.
                schema["patternProperties"].get("^host\\.").filter(|_| name.starts_with("host."))
            });
            match known.or(schema.get("additionalProperties")) {
                Some(Value::Bool(allowed)) => *allowed,
                Some(schema) => follows(schema, member, root),
                None => true,
            }
        });
        let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
        (kinds.is_empty() || kinds.iter().any(|kind| is_of(kind)))
            && each(&schema["enum"], &|one| one == value)
            && each(&schema["anyOf"], &|one| follows(one, value, root))
            && schema.get("const").is_none_or(|one| one == value)
            && (!value.is_object() || (members && required.into_iter().all(|name| value.get(name).is_some())))
            && value
                .as_array()
                .is_none_or(|l| schema.get("items").is_none_or(|s| l.iter().all(|v| follows(s, v, root))))
    }

    fn is_accepted(text: &str) -> bool {
        let schema = pitot_plan::plan_schema(&catalog().unwrap());
        follows(&schema, &toml::from_str(text).unwrap(), &schema)
    }

    #[test]
    fn options_are_checked_by_their_names_and_words_wherever_they_stand() {
        let plan = "[server]\nprotocol = \"http\"\n[load]\nconnections = 8\n[factors]\nserver = [\"loop\"]\n";
        assert!(is_accepted(plan));
        for (right, wrong) in [
            ("connections = 8", "conections = 8"),
            ("protocol = \"http\"", "protocol = \"htp\""),
            ("protocol = \"http\"", "modell = \"loop\""),
            ("server = [\"loop\"]", "server.modell = [\"loop\"]"),
            ("server = [\"loop\"]", "\"load.conections\" = [1]"),
            ("server = [\"loop\"]", "servers = [\"loop\"]"),
            ("[factors]", "[servers.mine]\nmodell = \"loop\"\n[factors]"),
            ("[factors]", "[helpers.names]\nprotocoll = \"dns\"\n[factors]"),
        ] {
            assert!(!is_accepted(&plan.replace(right, wrong)), "{wrong}");
        }
        for more in ["load.connections = [1, 2]", "\"load.connections\" = [1, 2]", "host.thp = [\"always\"]"]
        {
            assert!(is_accepted(&format!("{plan}{more}\n")), "{more}");
        }
        let own = "[servers.mine]\nmodel = \"loop\"\nsummary = \"s\"\n[servers.own]\ncommand = [\"a\", \"{port}\"]\n";
        assert!(is_accepted(&format!("{plan}{own}")));
    }

    #[test]
    fn the_schema_accepts_every_suite() {
        for suite in pitot_plan::SUITES {
            assert!(is_accepted(suite.text), "{}", suite.name);
        }
    }
}
