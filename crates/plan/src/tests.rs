use super::*;
use crate::{
    Catalog, ImpossibleOption, ImpossiblePair, ModelWord, OptionMeaning, OptionWord, ProgramWord,
    ProtocolWord,
};
use pitot_stats::Statistic;

pub(crate) fn catalog() -> Catalog {
    let words = |list: &[&str]| list.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>();
    let option = |name: &str, takes_value: bool, values: &[&str]| OptionWord {
        name: name.into(),
        takes_value,
        values: words(values),
        renamed_to: (name == "disk-told").then(|| "disk-notify".to_owned()),
        meaning: OptionMeaning {
            reserved: match name {
                "listen" => Some("the lab chooses a free port".into()),
                "duration" => Some("write duration at the top of the plan".into()),
                "json" => Some("the lab always asks for the result".into()),
                _ => None,
            },
            opens_connections: ["connections", "idle"].contains(&name),
            limits_work: name == "requests-total",
            open_loop: name == "requests",
            of_tls: name == "insecure",
        },
    };
    let model = |name: &str, default_mechanism: &str, one_process: bool| ModelWord {
        name: name.into(),
        default_mechanism: default_mechanism.into(),
        one_process,
    };
    Catalog {
        protocols: [("busy", "busy://{address}"), ("http", "http://{address}/bytes/{size}")]
            .map(|(name, url)| ProtocolWord {
                name: name.into(),
                load_url: url.into(),
                tls_scheme: (name == "http").then(|| "https".into()),
                tls_at_once: true,
                files: name == "http",
            })
            .into(),
        models: vec![
            model("fork", "blocking", false),
            model("loop", "epoll-et", true),
            model("thread", "blocking", true),
        ],
        mechanisms: words(&["blocking", "select", "epoll-et", "uring"]),
        impossible: vec![ImpossiblePair {
            model: "fork".into(),
            mechanism: "uring".into(),
            reason: "a process per connection has nothing to multiplex".into(),
        }],
        impossible_options: vec![
            ImpossibleOption {
                option: "quiet".into(),
                mechanism: Some("select".into()),
                reason: "select is never quiet".into(),
            },
            ImpossibleOption { option: "ktls".into(), mechanism: None, reason: "no kernel has it".into() },
        ],
        serve_options: vec![
            option("listen", true, &[]),
            option("disk-told", true, &[]),
            option("disk-notify", true, &[]),
            option("model", true, &[]),
            option("mechanism", true, &[]),
            option("workers", true, &[]),
            option("root", true, &[]),
            option("quiet", false, &[]),
            option("ktls", false, &[]),
            option("tls", true, &[]),
        ],
        load_options: vec![
            option("insecure", false, &[]),
            option("connections", true, &[]),
            option("idle", true, &[]),
            option("duration", true, &[]),
            option("requests", true, &[]),
            option("requests-total", true, &[]),
            option("pace", true, &["closed", "poisson"]),
            option("header", true, &[]),
        ],
        programs: vec![
            ProgramWord {
                name: "disk files".into(),
                options: vec![
                    option("count", true, &[]),
                    option("sizes", true, &[]),
                    option("json", true, &[]),
                ],
                needs_server: false,
                writes_files: true,
                executes: false,
            },
            ProgramWord {
                name: "mail".into(),
                options: vec![
                    option("list", true, &[]),
                    option("relay", true, &[]),
                    option("dns", true, &[]),
                    option("test-mode", false, &[]),
                    option("duration", true, &[]),
                ],
                needs_server: true,
                writes_files: false,
                executes: false,
            },
        ],
        targets: Vec::new(),
        charts: words(&["power-curve"]),
        metrics: words(&["throughput", "cpu-per-request"]),
        renamed_metrics: vec![("cpu".into(), "cpu-per-request".into())],
    }
}

const SOUND: &str = r#"
title = "Which one?"
repetitions = 10
warmup = "250ms"
duration = "2s"
statistic = "trimmed-mean(1)"
tolerance = "5%"
metric = "cpu-per-request"
baseline = { server = "fork" }
charts = ["power-curve"]

[server]
protocol = "http"
root = "{dir}/html"

[load]
header = ["A: 1", "B: 2"]
size = "4KiB"

[factors]
server = ["loop+uring", "loop-w2", "nginx", "fork", "fork+uring"]
load.connections = [1, 1000]

[servers.loop-w2]
model = "loop"
workers = 2
quiet = true

[servers.nginx]
command = ["nginx", "-c", "{dir}/nginx.conf"]
stop = "SIGQUIT"
ready = { line = "started" }
url = "http://{address}/4k.bin"
files."nginx.conf" = "listen {port};"

[files]
"html/4k.bin" = { size = "4KiB" }

[[exclude]]
server = "nginx"
load.connections = 1000
reason = "it has 512 connections"

[[published]]
source = "Somebody"
year = 2001
ratio-to = { server = "fork" }
values = [{ server = "loop+uring", load.connections = 500, value = 12 }]
"#;

fn sound() -> Plan {
    Plan::parse("suites/which.toml", SOUND, &catalog()).unwrap()
}

fn host() -> HostLimits {
    HostLimits { descriptors: 20_000, missing: Vec::new() }
}

fn placement() -> Placement {
    Placement {
        pitot: "pitot".into(),
        address: "127.0.0.1:8080".into(),
        dir: "/tmp/x".into(),
        server_cpus: "0".into(),
        load_cpus: "1".into(),
        helpers: Vec::new(),
    }
}

#[test]
fn a_plan_is_read_as_it_is_meant() {
    let plan = sound();
    assert_eq!(plan.name, "which");
    assert_eq!((plan.repetitions, plan.warmup_s, plan.duration_s), (10, 0.25, 2.0));
    assert_eq!(plan.statistic, Statistic::TrimmedMean(1));
    assert_eq!(plan.tolerance, 0.05);
    assert_eq!(plan.factors[0].name, "server");
    assert_eq!(plan.factors[1].levels, [Value::Integer(1), Value::Integer(1000)]);
    assert_eq!(plan.published[0].metric, "cpu-per-request");
    assert_eq!(plan.published[0].values[0].levels.0[1].1, ["500"]);
    let copy: Plan = serde_json::from_str(&serde_json::to_string(&plan).unwrap()).unwrap();
    assert_eq!(copy, plan, "a plan survives the run file");
}

#[test]
fn factors_are_crossed_and_what_cannot_run_is_skipped_with_its_reason() {
    let (cells, skips) = expand(&sound(), &catalog(), &host());
    let labels: Vec<String> = cells.iter().map(Cell::label).collect();
    let all = [
        "loop+uring, 1",
        "loop+uring, 1000",
        "loop-w2, 1",
        "loop-w2, 1000",
        "nginx, 1",
        "fork, 1",
        "fork, 1000",
    ];
    assert_eq!(labels, all);
    let reasons: Vec<&str> = skips.iter().map(|s| s.reason.as_str()).collect();
    let nothing = "a process per connection has nothing to multiplex";
    assert_eq!(reasons, ["it has 512 connections", nothing, nothing]);
}

#[test]
fn commands_are_what_a_user_would_type() {
    let plan = sound();
    let (cells, _) = expand(&plan, &catalog(), &host());
    assert_eq!(
        cells[2].server_line(&placement()).lines().last().unwrap(),
        "pitot serve http --listen 127.0.0.1:8080 --root /tmp/x/html --model loop --workers 2 --quiet --cpus 0 \
         --stats json"
    );
    assert_eq!(
        cells[1].load_line(&plan, &placement()),
        "pitot load http://127.0.0.1:8080/bytes/4096 --header 'A: 1' --header 'B: 2' --connections 1000 \
         --warmup 250ms --duration 2s --cpus 1"
    );
    assert_eq!(
        cells[4].server_line(&placement()),
        "mkdir -p /tmp/x/html && head -c 4096 /dev/zero | tr '\\0' x > /tmp/x/html/4k.bin\n\
         mkdir -p /tmp/x && cat > /tmp/x/nginx.conf <<'END'\nlisten 8080;\nEND\n\
         taskset -c 0 nginx -c /tmp/x/nginx.conf"
    );
    assert!(cells[4].load_line(&plan, &placement()).starts_with("pitot load http://127.0.0.1:8080/4k.bin "));
}

#[test]
fn one_process_is_not_asked_for_more_connections_than_it_may_have_descriptors() {
    let text = "[server]\nprotocol = \"busy\"\n[factors]\nserver = [\"fork\", \"loop\"]\nload.connections = [\"30k\"]";
    let plan = Plan::parse("p", text, &catalog()).unwrap();
    let (cells, skips) = expand(&plan, &catalog(), &host());
    assert_eq!(cells.len(), 1);
    assert_eq!(cells[0].label(), "fork, 30k");
    assert!(skips[0].reason.contains("30064 file descriptors"), "{}", skips[0].reason);
}

/// A sound plan with one line put in the place of another: place, what is wrong, fix.
fn mistake(line: &str, instead: &str) -> (usize, String, String) {
    assert!(SOUND.contains(line), "{line}");
    let text = SOUND.replacen(line, instead, 1);
    let error = Plan::parse("which.toml", &text, &catalog()).unwrap_err();
    let expected_line = text[..text.find(instead).unwrap()].matches('\n').count() + 1;
    assert_eq!(error.line, expected_line, "{error}");
    (error.column, error.what, error.fix)
}

#[test]
fn every_kind_of_mistake_is_reported_with_its_position_and_fix() {
    for (line, instead, what, fix) in [
        (
            "repetitions = 10",
            "repetition = 10",
            "`repetition` is not a key of the plan",
            "did you mean `repetitions`?",
        ),
        (
            "repetitions = 10",
            "repetitions = 0",
            "`repetitions` must be a whole number from 1 to 10000, not the number 0",
            "write at least 1: repetitions = 1",
        ),
        ("repetitions = 10", "repetitions = \"ten\"", "not `ten`", "without quotes"),
        (
            "warmup = \"250ms\"",
            "warmup = 250",
            "`warmup` must be a duration, not the number 250",
            "\"500ms\"",
        ),
        ("duration = \"2s\"", "duration = \"2 parsecs\"", "not `2 parsecs`", "with its unit"),
        ("duration = \"2s\"", "duration = \"0s\"", "must be greater than zero", "2s"),
        (
            "statistic = \"trimmed-mean(1)\"",
            "statistic = \"average\"",
            "`average` is not a statistic",
            "known: median, trimmed-mean(1)",
        ),
        ("tolerance = \"5%\"", "tolerance = 5", "share from 0 up to 1", "0.02"),
        (
            "metric = \"cpu-per-request\"",
            "metric = \"cpu-per-requests\"",
            "is not a metric",
            "did you mean `cpu-per-request`?",
        ),
        (
            "server = \"fork\" }",
            "server = \"frok\" }",
            "`frok` is not a level of `server`",
            "did you mean `fork`?",
        ),
        (
            "server = \"fork\" }",
            "sever = \"fork\" }",
            "`sever` is not a factor of this plan",
            "did you mean `server`?",
        ),
        ("\"power-curve\"", "\"power-cruve\"", "is not a chart", "did you mean `power-curve`?"),
        ("protocol = \"http\"", "protocol = \"htp\"", "`htp` is not a protocol", "did you mean `http`?"),
        (
            "root = \"{dir}/html\"",
            "rot = \"{dir}/html\"",
            "`rot` is not an option of `pitot serve`",
            "did you mean `root`?",
        ),
        (
            "root = \"{dir}/html\"",
            "disk-told = \"pipe\"",
            "`disk-told` is now called `disk-notify`",
            "write disk-notify = ...",
        ),
        (
            "root = \"{dir}/html\"",
            "listen = \"0.0.0.0:80\"",
            "`server.listen` is set by the lab",
            "free port",
        ),
        ("size = \"4KiB\"", "size = \"4 KB\"", "`4 KB` is not a size", "4KiB"),
        (
            "size = \"4KiB\"",
            "duration = \"4s\"",
            "`load.duration` is set by the lab",
            "at the top of the plan",
        ),
        ("size = \"4KiB\"", "url = \"localhost\"", "`localhost` is not a URL", "http://"),
        ("size = \"4KiB\"", "pace = \"close\"", "`close` is not a value of `pace`", "did you mean `closed`?"),
        (
            "\"loop+uring\",",
            "\"loop+urin\",",
            "`urin` in `loop+urin` is not an event mechanism",
            "did you mean `uring`?",
        ),
        (
            "\"loop-w2\", \"nginx\"",
            "\"loop-w3\", \"nginx\"",
            "`loop-w3` is not a server of this plan, a target or a concurrency model",
            "did you mean `loop-w2`?",
        ),
        (
            "load.connections = [1, 1000]",
            "load.conections = [1, 1000]",
            "not an option of `pitot load`",
            "did you mean `connections`?",
        ),
        (
            "load.connections = [1, 1000]",
            "lod.connections = [1, 1000]",
            "is not a factor",
            "did you mean `load.connections`?",
        ),
        ("load.connections = [1, 1000]", "load.connections = 1000", "must be a list", "in brackets"),
        ("1, 1000]", "1, 1]", "the level `1` is repeated", "remove one"),
        ("[1, 1000]", "[]", "has no levels", "at least one"),
        ("quiet = true", "quiet = \"yes\"", "is a switch", "quiet = true"),
        ("workers = 2", "workers = true", "takes a value", "workers ="),
        ("workers = 2", "stop = \"INT\"", "has `stop` but no `command`", "command = [...]"),
        (
            "stop = \"SIGQUIT\"",
            "stop = \"KILL\"",
            "`KILL` is not a signal to stop a server",
            "known: TERM, INT, QUIT",
        ),
        (
            "stop = \"SIGQUIT\"",
            "stopp = \"QUIT\"",
            "`stopp` is not a key of `servers.nginx`",
            "did you mean `stop`?",
        ),
        ("{ line = \"started\" }", "\"prot\"", "not a readiness check", "did you mean `port`?"),
        ("[\"nginx\", \"-c\", \"{dir}/nginx.conf\"]", "\"nginx | tee\"", "split at blanks", "as a list"),
        ("\"html/4k.bin\" =", "\"../4k.bin\" =", "not a path below", "html/index.html"),
        ("year = 2001", "year = \"2001\"", "`year` must be a whole number", "without quotes"),
        ("value = 12 }", "valeu = 12 }", "`valeu` is not a factor of this plan", "did you mean `value`?"),
        ("title = \"Which one?\"", "title = Which", "", "plans are TOML"),
    ] {
        let (_, found, hint) = mistake(line, instead);
        assert!(found.contains(what), "{instead}: {found}");
        assert!(hint.contains(fix), "{instead}: {hint}");
    }
}

#[test]
fn what_is_missing_is_asked_for() {
    let parse = |text: &str| Plan::parse("p.toml", text, &catalog()).unwrap_err();
    assert_eq!(parse("").what, "the plan lacks `factors`");
    assert_eq!(parse("[factors]").what, "`factors` is empty");
    let error = parse("[factors]\nserver = [\"loop\"]");
    assert!(error.fix.contains("protocol = \"busy\" or \"http\""), "{error}");
    let text = SOUND.replace("reason = \"it has 512 connections\"", "");
    assert_eq!(parse(&text).what, "an exclusion lacks `reason`");
    let error =
        parse("[server]\nprotocol=\"http\"\n[factors]\nserver = [\"loop\"]\n\"server.model\" = [\"loop\"]");
    assert_eq!(error.what, "both `server` and `server.model` choose the server");
}

#[test]
fn a_level_that_is_repeated_on_purpose_is_a_replicate() {
    let text = "[server]\nprotocol = \"busy\"\n[factors]\nserver = [\"loop\"]\nreplicate = [1, 2]";
    let plan = Plan::parse("p", text, &catalog()).unwrap();
    let (cells, _) = expand(&plan, &catalog(), &host());
    assert_eq!(cells.len(), 2);
    assert_eq!(cells[0].server_line(&placement()), cells[1].server_line(&placement()));
}

#[test]
fn a_private_directory_that_a_command_names_is_made_first() {
    let line = |more: &str| {
        let text = format!(
            "[load]\nurl = \"http://{{address}}/\"\n[servers.one]\ncommand = [\"one\", \"{{address}}\"]\n{more}\n\
             [factors]\nserver = [\"one\"]"
        );
        let plan = Plan::parse("p", &text, &catalog()).unwrap();
        let (cells, _) = expand(&plan, &catalog(), &host());
        cells[0].server_line(&placement())
    };
    let with_env = line("env = { TMPDIR = \"{dir}\" }");
    assert!(with_env.starts_with("mkdir -p /tmp/x\nenv TMPDIR=/tmp/x "), "{with_env}");
    assert!(!line("").contains("mkdir"), "{}", line(""));
}

#[test]
fn a_program_runs_in_the_place_of_server_and_load() {
    let text = "duration = \"2s\"\n[load]\nprogram = \"disk files\"\ncount = 100\n[factors]\nload.sizes = [\"4KiB\"]";
    let plan = Plan::parse("p.toml", text, &catalog()).unwrap();
    let (cells, skips) = expand(&plan, &catalog(), &host());
    assert_eq!((cells.len(), skips.len()), (1, 0));
    assert_eq!(cells[0].server, CellServer::None);
    assert!(!cells[0].is_timed());
    let line = cells[0].load_line(&plan, &placement());
    assert!(
        line.starts_with("taskset -c ") && line.ends_with("disk files --count 100 --sizes 4KiB"),
        "{line}"
    );
    assert_eq!(cells[0].server_line(&placement()), "");
}

#[test]
fn a_number_of_requests_ends_a_load_and_a_file_of_requests_does_not() {
    let line = |option: &str| {
        let text = format!(
            "duration = \"2s\"\nwarmup = \"1s\"\n[server]\nprotocol = \"busy\"\n[load]\n{option}\n[factors]\n\
             server = [\"loop\"]"
        );
        let plan = Plan::parse("p.toml", &text, &catalog()).unwrap();
        let (cells, _) = expand(&plan, &catalog(), &host());
        cells[0].load_line(&plan, &placement())
    };
    let timed = line("requests = \"log.txt\"");
    assert!(timed.contains("--requests log.txt --warmup 1s --duration 2s"), "{timed}");
    let counted = line("requests-total = 5000");
    assert!(counted.contains("--requests-total 5000") && !counted.contains("--duration"), "{counted}");
}

#[test]
fn a_mailing_has_a_server_and_a_helper() {
    let text = r#"
        [server]
        protocol = "busy"
        [load]
        program = "mail"
        list = "{dir}/list"
        relay = "{address}"
        dns = "{names}"
        test-mode = true
        [helpers.names]
        protocol = "http"
        workers = 1
        [factors]
        server = ["loop"]
        [files]
        list = { lines = "2k", line = "u{i}@d{i%7}.test" }
    "#;
    let plan = Plan::parse("p.toml", text, &catalog()).unwrap();
    assert_eq!(plan.files[0].content, FileContent::Lines { count: 2000, line: "u{i}@d{i%7}.test".into() });
    let (cells, _) = expand(&plan, &catalog(), &host());
    let at = Placement { helpers: vec![("names".into(), "127.0.0.1:53".into())], ..placement() };
    let line = cells[0].load_line(&plan, &at);
    assert!(line.contains("serve http --listen 127.0.0.1:53 --workers 1 &\n"), "{line}");
    assert!(line.contains("--dns 127.0.0.1:53 --test-mode") && line.contains("--duration"), "{line}");
    let script = cells[0].server_line(&at);
    assert!(script.contains(r#"print "u" i "@d" i % 7 ".test" }"#), "{script}");
}

#[test]
fn mistakes_with_programs_are_reported_with_their_fix() {
    let parse = |text: &str| Plan::parse("p.toml", text, &catalog()).unwrap_err();
    let error = parse("[load]\nprogram = \"disk file\"\n[factors]\nload.sizes = [1]");
    assert_eq!((error.line, error.fix.as_str()), (2, "did you mean `disk files`?"));
    let error = parse("[load]\nprogram = \"disk files\"\nsize = 1\n[factors]\nload.sizes = [1]");
    assert_eq!(error.what, "`size` is not an option of `pitot disk files`");
    let error = parse("[load]\nprogram = \"disk files\"\n[factors]\nserver = [\"loop\"]");
    assert_eq!(error.what, "`pitot disk files` is measured without a server");
    let error = parse("[load]\nprogram = \"mail\"\n[factors]\nload.duration = [\"1s\"]");
    assert!(error.what.contains("set by the lab"), "{error}");
    let error = parse(
        "[helpers.dir]\nprotocol = \"http\"\n[server]\nprotocol=\"http\"\n[factors]\nserver = [\"loop\"]",
    );
    assert!(error.what.contains("is a placeholder already"), "{error}");
}

#[test]
fn a_set_of_files_has_the_size_of_the_load() {
    let text = "[server]\nprotocol = \"http\"\n[factors]\nserver = [\"loop\"]\nload.size = [\"1KiB\", \"4KiB\"]\n\
                [files]\n\"html/{8..10}.bin\" = { size = \"{size}\" }\n\"{x}\" = \"text\"";
    let plan = Plan::parse("p.toml", text, &catalog()).unwrap();
    let (cells, _) = expand(&plan, &catalog(), &host());
    let files: Vec<_> = cells[1].files.iter().map(|f| (f.path.as_str(), f.content.clone())).collect();
    let sized = |path| (path, FileContent::Size(4096));
    assert_eq!(files[..3], [sized("html/8.bin"), sized("html/9.bin"), sized("html/10.bin")]);
    assert_eq!(files[3].0, "{x}");
}

#[test]
fn servers_with_and_without_tls_stand_in_one_plan() {
    let cells = |plan: &str| {
        let plan = Plan::parse("p.toml", plan, &catalog()).unwrap();
        let (cells, _) = expand(&plan, &catalog(), &host());
        cells.iter().map(|cell| (cell.url.clone(), cell.load.get("insecure").is_some())).collect::<Vec<_>>()
    };
    let plain = ("http://{address}/bytes/1024".to_owned(), false);
    let over_tls = ("https://{address}/bytes/1024".to_owned(), true);
    let plan = "title = \"TLS\"\nmetric = \"throughput\"\n[server]\nprotocol = \"http\"\n[load]\ninsecure = true\n\
                [servers.a]\nmodel = \"loop\"\ntls = \"self-signed\"\n[factors]\nserver = [\"loop\", \"a\"]\n";
    assert_eq!(cells(plan), [plain.clone(), over_tls]);
    let named = plan.replace("[factors]", "url = \"https://{address}/x\"\n[factors]");
    assert_eq!(cells(&named), [plain, ("https://{address}/x".to_owned(), true)]);
}

#[test]
fn a_server_that_is_not_installed_is_skipped_with_its_reason() {
    let plan = Plan::parse("p.toml", SOUND, &catalog()).unwrap();
    let host = HostLimits { missing: vec!["nginx".into()], ..host() };
    let (_, skips) = expand(&plan, &catalog(), &host);
    assert!(skips.iter().any(|s| s.reason == "`nginx` is not installed here"), "{skips:?}");
}

#[test]
fn a_renamed_key_is_refused_with_its_new_name() {
    let error = Plan::parse("p.toml", "\n[beside.dns]\nprotocol = \"http\"", &catalog()).unwrap_err();
    assert_eq!((error.line, error.what.as_str()), (2, "`beside` is now called `helpers`"));
}

#[test]
fn a_renamed_metric_is_refused_with_its_new_name() {
    let plan = SOUND.replace("cpu-per-request", "cpu");
    let error = Plan::parse("p.toml", &plan, &catalog()).unwrap_err();
    assert_eq!(error.what, "`cpu` is now called `cpu-per-request`");
}

#[test]
fn the_folder_of_the_plan_is_put_into_levels_but_not_into_their_names() {
    let text = "[server]\nprotocol = \"http\"\n[factors]\nserver = [\"loop\"]\n\
                load.url = [\"http://{address}/{plan}/a\", \"http://{address}/b\"]\n";
    let mut plan = Plan::parse("p.toml", text, &catalog()).unwrap();
    plan.resolve_paths(std::path::Path::new("/srv/plans"));
    let (cells, _) = expand(&plan, &catalog(), &HostLimits { descriptors: 20_000, missing: Vec::new() });
    assert_eq!(cells[0].url, "http://{address}//srv/plans/a");
    assert_eq!(cells[0].factors[1].level, "http://{address}/{plan}/a");
}

#[test]
fn settings_of_the_host_are_factors_by_themselves_and_as_sets() {
    let text = "[server]\nprotocol = \"http\"\n[settings.both]\n\"net.core.somaxconn\" = 16\n\
                net.ipv4.tcp_timestamps = 0\n[factors]\nserver = [\"loop\"]\nsettings = [\"found\", \"both\"]\n\
                host.\"net.ipv4.tcp_rmem\" = [\"found\", \"4096 16384 65536\"]\n";
    let plan = Plan::parse("p.toml", text, &catalog()).unwrap();
    let (cells, _) = expand(&plan, &catalog(), &host());
    let changes: Vec<Vec<String>> = cells
        .iter()
        .map(|cell| cell.host.iter().map(|c| format!("{}={}", c.key, c.value)).collect())
        .collect();
    let both = ["net.core.somaxconn=16", "net.ipv4.tcp_timestamps=0"];
    let rmem = "net.ipv4.tcp_rmem=4096 16384 65536";
    assert_eq!(changes, [vec![], vec![rmem], both.to_vec(), vec![both[0], both[1], rmem]]);
}

#[test]
fn mistakes_with_settings_of_the_host_are_reported_with_their_fix() {
    let parse = |text: &str| {
        let text = format!("[server]\nprotocol = \"http\"\n{text}");
        Plan::parse("p.toml", &text, &catalog()).unwrap_err()
    };
    let error = parse("[factors]\nhost.nothing = [1]");
    assert_eq!((error.line, error.what.as_str()), (4, "no setting of the host is called `nothing`"));
    let error = parse("[factors]\nhost.\"fs.file-mx\" = [1]\n[baseline]\nhost.\"fs.file-max\" = 1");
    assert_eq!(
        (error.line, error.fix.as_str()),
        (4, "did you mean `host.fs.file-max`?"),
        "the factor is wrong"
    );
    let error = parse("[factors]\nhost.\"fs.file-max\" = [1]\n[baseline]\nhost.\"fs.file-mx\" = 1");
    assert_eq!((error.line, error.what.as_str()), (6, "`host.fs.file-mx` is not a factor of this plan"));
    assert_eq!(error.fix, "did you mean `host.fs.file-max`? (the factor is on line 4)");
    let error = parse("[factors]\nsettings = [\"tuned\"]");
    assert_eq!(error.what, "`tuned` is not a table of `settings`");
    let error = parse("[settings.found]\n\"net.core.somaxconn\" = 1\n[factors]\nsettings = [\"found\"]");
    assert_eq!(error.what, "`found` is the level that changes nothing");
    let error = parse("[settings.a]\n[factors]\nsettings = [\"a\"]");
    assert_eq!(error.what, "`settings.a` sets nothing");
}

#[test]
fn an_option_that_cannot_be_used_here_is_a_reason_to_skip() {
    let of = |text: &str| {
        let plan = Plan::parse("plan.toml", text, &catalog()).unwrap();
        let (cells, skips) = expand(&plan, &catalog(), &HostLimits { descriptors: 20_000, missing: vec![] });
        (cells.len(), skips.into_iter().map(|skip| skip.reason).collect::<Vec<_>>())
    };
    let quiet = "[server]\nprotocol = \"http\"\nquiet = true\n[factors]\nserver = [\"loop+epoll-et\", \"loop+select\"]\n";
    assert_eq!(of(quiet), (1, vec!["select is never quiet".to_owned()]));
    assert_eq!(of(&quiet.replace("true", "false")), (2, vec![]));
    let (cells, reasons) = of(&quiet.replace("quiet = true", "ktls = true"));
    assert_eq!((cells, reasons), (0, vec!["no kernel has it".to_owned(); 2]));
    // Another kernel may have it; that a mechanism has not is true of all.
    let plan = |text: &str| Plan::parse("plan.toml", text, &catalog()).unwrap();
    let elsewhere = |text: &str| {
        let host = HostLimits { descriptors: 20_000, missing: vec![] };
        expand(&plan(text), &catalog().on_other_kernels(), &host).0.len()
    };
    assert_eq!(elsewhere(&quiet.replace("quiet = true", "ktls = true")), 2);
    assert_eq!(elsewhere(quiet), 1);
}

#[test]
fn what_a_guest_cannot_do_is_refused_with_the_plan() {
    let refused = |top: &str, more: &str, what: &str| {
        let text = format!(
            "{top}\n[server]\nprotocol = \"http\"\n[factors]\nkernel = [\"6.1\", \"6.12\"]\nserver = [\"loop\"]\n{more}"
        );
        let error = Plan::parse("p.toml", &text, &catalog()).map(|_| ()).unwrap_err();
        assert!(error.to_string().contains(what) && !error.fix.is_empty(), "{error}");
    };
    let host = "[hosts.a]\nagent = [\"x\"]\naddress = \"10.0.0.1\"\ncpus = \"0\"\n";
    refused("", host, "guests are started on this machine only");
    refused("until-decided = \"5m\"", "", "kernels are measured in fresh runs");
    refused("repetitions = 2\ndurability = \"{dir}\"", "", "this plan has guests");
    let foreign = "[servers.x]\naddress = \"10.0.0.9:80\"\ncommand = [\"ssh\"]\n";
    refused("", foreign, "a guest has no network to the outside");
}

#[test]
fn a_load_elsewhere_needs_servers_that_it_can_reach() {
    let parse = |address: &str, server: &str| {
        let text = format!(
            "[hosts.b]\nagent = [\"x\"]\naddress = \"{address}\"\ncpus = \"0\"\n[load]\nhost = \"b\"\n\
             [server]\nprotocol = \"http\"\n{server}[factors]\nserver = [\"loop\"]\n"
        );
        Plan::parse("p.toml", &text, &catalog()).map(|_| ())
    };
    let error = parse("10.0.0.2", "").unwrap_err();
    assert!(
        error.to_string().contains("listen at 127.0.0.1") && error.fix.contains("[hosts.here]"),
        "{error}"
    );
    assert_eq!(error.line, 5);
    parse("10.0.0.2", "host = \"b\"\n").unwrap();
    // An agent on this machine reaches them.
    parse("127.0.0.1", "").unwrap();
    // What is measured without a server needs none to be reached.
    let text = "[hosts.b]\nagent = [\"x\"]\naddress = \"10.0.0.2\"\ncpus = \"0\"\n[load]\nprogram = \"disk files\"\n\
                host = \"b\"\n[factors]\nreplicate = [1, 2]\n";
    Plan::parse("p.toml", text, &catalog()).unwrap();
}

#[test]
fn a_plan_that_no_memory_holds_is_refused_with_its_size() {
    let refused = |factors: &str, more: &str, what: &str| {
        let text =
            format!("{more}\n[server]\nprotocol = \"http\"\n[factors]\nserver = [\"loop\"]\n{factors}");
        let error = Plan::parse("p.toml", &text, &catalog()).map(|_| ()).unwrap_err();
        assert!(error.to_string().contains(what) && !error.fix.is_empty(), "{error}");
        error
    };
    let numbers =
        |from: u32, count: u32| (from..from + count).map(|n| n.to_string()).collect::<Vec<_>>().join(",");
    let crossed = ["replicate", "load.connections", "load.idle"]
        .map(|name| format!("{name} = [{}]\n", numbers(1, 50)))
        .concat();
    let error = refused(&crossed, "", "the plan has 125000 combinations of levels, more than 100000");
    assert_eq!(error.line, 4, "{error}");
    refused(&format!("replicate = [{}]\n", numbers(1, 200_000)), "", "the plan has 200000 combinations");
    let files = "files = { \"www/{0..4294967295}\" = \"x\" }";
    refused("", files, "the plan has 4294967296 files in all cells together");
    let most = format!("replicate = [{}]\n", numbers(1, 100_000));
    let text = format!("[server]\nprotocol = \"http\"\n[factors]\nserver = [\"loop\"]\n{most}");
    Plan::parse("p.toml", &text, &catalog()).unwrap();
}
