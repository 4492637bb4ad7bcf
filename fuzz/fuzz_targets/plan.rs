//! Plans: any text is a plan or is refused with the place of the mistake and what fixes it; a plan goes through a run file unchanged,
//! and makes as many cells and skips as its factors have combinations.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use pitot_plan::{
    Catalog, HostLimits, ImpossiblePair, ModelWord, OptionMeaning, OptionWord, Plan, ProgramWord,
    ProtocolWord, TargetWord, expand,
};
use pitot_record::METRICS;
use pitot_target::Registry;

static CATALOG: LazyLock<Catalog> =
    LazyLock::new(|| {
        let words = |list: &[&str]| list.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>();
        let options = |names: &[&str]| -> Vec<OptionWord> {
            let option = |name: &&str| {
                let (name, takes_value) = name.strip_suffix('!').map_or((*name, true), |name| (name, false));
                let meaning = OptionMeaning {
                    reserved: ["listen", "duration", "warmup", "cpus"]
                        .contains(&name)
                        .then(|| "the lab sets it".to_owned()),
                    opens_connections: ["connections", "idle"].contains(&name),
                    of_tls: name == "insecure",
                    ..OptionMeaning::default()
                };
                OptionWord { name: name.into(), takes_value, values: Vec::new(), renamed_to: None, meaning }
            };
            names.iter().map(option).collect()
        };
        let model = |name: &str, mechanism: &str, one_process: bool| ModelWord {
            name: name.into(),
            default_mechanism: mechanism.into(),
            one_process,
        };
        let targets = Registry::embedded().expect("they are sound").targets.into_iter().map(|known| {
            TargetWord { program: "program".into(), home: None, unavailable: None, target: known.target }
        });
        Catalog {
            protocols: [("http", Some("https")), ("smtp", None), ("memcache", None), ("blob", None)]
                .map(|(name, tls)| ProtocolWord {
                    name: name.into(),
                    load_url: format!("{name}://{{address}}/bytes/{{size}}"),
                    tls_scheme: tls.map(str::to_owned),
                    tls_at_once: tls.is_some(),
                    files: name == "http",
                })
                .into(),
            models: vec![
                model("fork", "blocking", false),
                model("loop", "epoll-et", true),
                model("prefork", "epoll", false),
            ],
            mechanisms: words(&["blocking", "select", "epoll", "epoll-et", "uring"]),
            impossible: vec![ImpossiblePair {
                model: "fork".into(),
                mechanism: "uring".into(),
                reason: "a process has nothing to multiplex".into(),
            }],
            serve_options: options(&[
                "listen",
                "model",
                "mechanism",
                "workers",
                "root",
                "tls",
                "disk",
                "ktls!",
                "maildir",
            ]),
            load_options: options(&[
                "connections",
                "idle",
                "rate",
                "threads",
                "size",
                "method",
                "header",
                "requests",
                "insecure!",
                "resolver",
                "duration",
                "warmup",
                "cpus",
                "tls",
                "users",
                "browser!",
                "pipeline",
            ]),
            programs: vec![ProgramWord {
                name: "disk read".into(),
                options: options(&["size", "engine", "cpus"]),
                needs_server: false,
                writes_files: true,
                executes: false,
            }],
            targets: targets.collect(),
            charts: words(&["latency", "throughput"]),
            metrics: METRICS.iter().map(|m| m.name.to_owned()).collect(),
            ..Catalog::default()
        }
    });

/// More than these are not expanded here.
const COMBINATIONS_MAX: usize = 200;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let plan = match Plan::parse("p.toml", text, &CATALOG) {
        Ok(plan) => plan,
        Err(error) => {
            assert!(!error.what.is_empty() && !error.fix.is_empty() && error.line > 0 && error.column > 0);
            assert!(error.line <= text.matches('\n').count() + 1, "{error}");
            return;
        }
    };
    let recorded = serde_json::to_string(&plan).expect("plain data has a JSON form");
    let again: Plan = serde_json::from_str(&recorded).expect("a plan that was written can be read");
    assert_eq!(serde_json::to_string(&again).expect("plain data has a JSON form"), recorded);
    let combinations: usize = plan.factors.iter().map(|factor| factor.levels.len()).product();
    let files = |path: &str| path.contains("..") && path.contains('{');
    let has_sets =
        plan.files.iter().chain(plan.servers.iter().flat_map(|s| &s.files)).any(|file| files(&file.path));
    if combinations <= COMBINATIONS_MAX && !has_sets {
        let (cells, skips) =
            expand(&plan, &CATALOG, &HostLimits { descriptors: 20_000, missing: Vec::new() });
        assert_eq!(cells.len() + skips.len(), combinations);
        for cell in &cells {
            assert_eq!(cell.factors.len(), plan.factors.len());
            let _ = cell.connections();
        }
    }
});
