//! `pitot diff`, `pitot run --fail-if` and `pitot exec`.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::support::{PITOT, stderr, stdout, text};

/// A loop of a shell, whose CPU time grows with its argument.
const SPIN: &str = "sh -c 'i=0; while [ $i -lt $1 ]; do i=$((i+1)); done' sh";

fn pitot(dir: &Path, arguments: &[&str]) -> Output {
    Command::new(PITOT).args(arguments).current_dir(dir).output().unwrap()
}

fn json(output: &Output) -> Value {
    serde_json::from_str(stdout(output)).unwrap_or_else(|e| panic!("{e}: {}", text(output)))
}

fn spin(count: u32) -> String {
    format!("{SPIN} {count}")
}

#[test]
fn a_command_that_takes_many_times_the_cpu_time_meets_the_condition() {
    let dir = tempfile::tempdir().unwrap();
    let (base, head) = (spin(2_000), spin(40_000));
    let output = pitot(
        dir.path(),
        &[
            "diff",
            &base,
            &head,
            "--fail-if",
            "cpu-time > +50%",
            "--within",
            "30s",
            "--format",
            "json",
            "-o",
            "a.pitot",
        ],
    );
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    assert!(stderr(&output).contains("gate 'cpu-time > +50%': met: head has "), "{}", stderr(&output));
    let answer = json(&output);
    assert_eq!(answer["gates"][0]["outcome"], "met");
    assert!(answer["answer"].as_str().unwrap().starts_with("**head** used "), "{}", answer["answer"]);
    assert!(answer["doubts"][0].as_str().unwrap().starts_with("Control: "), "{}", answer["doubts"]);
    assert_eq!(answer["controls"][0]["metric"], "cpu-time");
    let figures = answer["cells"][0]["figures"].as_object().unwrap();
    for metric in ["cpu-time", "wall-time", "page-faults", "context-switches"] {
        assert!(figures[metric]["b"]["value"].as_f64().unwrap() >= 0.0, "{metric}");
    }
    assert!(!figures.contains_key("throughput"), "{figures:?}");
    assert!(stdout(&output).len() < 20_000);
    // The same from the file, in the other forms.
    for (format, part) in [
        ("md", "| CPU time |"),
        ("terminal", "head against base"),
        ("github", "::error title=gate cpu-time > +50%"),
        ("junit", "<testsuite name=\"cpu-time &gt; +50%\""),
    ] {
        let again =
            pitot(dir.path(), &["compare", "a.pitot", "--fail-if", "cpu-time > +50%", "--format", format]);
        assert_eq!(again.status.code(), Some(1));
        assert!(stdout(&again).contains(part), "{format}: {}", stdout(&again));
    }
    // The page of the run has it too.
    let page = std::fs::read_to_string(dir.path().join("a.html")).unwrap();
    assert!(page.contains("CPU time"));
}

#[test]
fn a_command_that_takes_a_part_of_the_cpu_time_passes() {
    let dir = tempfile::tempdir().unwrap();
    let (base, head) = (spin(40_000), spin(2_000));
    let output = pitot(
        dir.path(),
        &["diff", &base, &head, "--fail-if", "cpu-time > +3%", "--within", "30s", "--format", "md"],
    );
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    assert!(stdout(&output).contains("All gates passed"), "{}", stdout(&output));
}

#[test]
fn a_head_that_fails_or_prints_something_else_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let of = |head: &str, within: &str, more: &[&str]| {
        let arguments = ["diff", "echo a", head, "--within", within, "--fail-if", "cpu-time > +1000000%"];
        pitot(dir.path(), &[&arguments, more].concat())
    };
    let broken = of("sh -c 'echo no disk >&2; exit 4'", "5m", &[]);
    assert_eq!(broken.status.code(), Some(1), "{}", text(&broken));
    assert!(
        stderr(&broken).contains("head exited with 4: no disk, where its baseline printed 2 bytes"),
        "{}",
        text(&broken)
    );
    let other = of("echo b", "10s", &[]);
    assert_eq!(other.status.code(), Some(3), "{}", text(&other));
    assert!(stderr(&other).contains("head printed 2 bytes (CRC-32 "), "{}", text(&other));
    assert_eq!(of("echo b", "5m", &["--ignore-output"]).status.code(), Some(0));
    let missing = of("/no/such/program", "5m", &[]);
    assert_eq!(missing.status.code(), Some(1), "{}", text(&missing));
    assert!(
        text(&missing).contains("`/no/such/program` could not be executed: No such file"),
        "{}",
        text(&missing)
    );
}

#[test]
fn the_plan_of_a_comparison_has_all_that_was_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("old"), "#!/bin/sh\n").unwrap();
    let asked = [
        "diff",
        "./old {n}",
        "./new {n}",
        "--reference",
        "./old 1",
        "--parameter",
        "n=1,2",
        "--prepare",
        "true",
    ];
    let plan = pitot(dir.path(), &[&asked[..], &["--plan"]].concat());
    let plan = stdout(&plan);
    for part in [
        "program = \"exec\"",
        "prepare = \"true\"",
        "load.parameter = [\"n=1\", \"n=2\"]",
        "server = [\"base\", \"head\", \"reference\"]",
        "reference = { server = \"reference\" }",
        "sha256sum",
    ] {
        assert!(plan.contains(part), "{part}: {plan}");
    }
    std::fs::write(dir.path().join("plan.toml"), plan).unwrap();
    let shown = pitot(dir.path(), &["run", "plan.toml", "--dry-run"]);
    assert_eq!(shown.status.code(), Some(0), "{}", text(&shown));
    assert!(stdout(&shown).contains("pitot exec --prepare true"), "{}", stdout(&shown));
}

#[test]
fn runs_that_hold_the_reference_are_compared_by_it() {
    let dir = tempfile::tempdir().unwrap();
    let (base, head) = (spin(4_000), spin(5_000));
    for file in ["a.pitot", "b.pitot"] {
        let asked =
            ["diff", &base, &head, "--reference", &base, "--within", "10s", "-o", file, "--format", "json"];
        let output = pitot(dir.path(), &asked);
        assert!(output.status.success(), "{}", text(&output));
        let cells = json(&output)["cells"].as_array().unwrap().len();
        assert_eq!(cells, 1, "the reference is not asked about");
    }
    let compared = pitot(dir.path(), &["compare", "a.pitot", "b.pitot", "--format", "json"]);
    let compared = json(&compared);
    let cells = compared["cells"].as_array().unwrap();
    let reference = cells.iter().find(|cell| cell["cell"] == "reference").unwrap();
    assert_eq!(reference["is_reference"], true);
    let base = cells.iter().find(|cell| cell["cell"] == "base").unwrap();
    assert!(base["figures"]["cpu-time"]["between_runs"]["observations"].as_u64() >= Some(1), "{base}");
}

#[test]
fn servers_are_compared_until_the_condition_is_decided() {
    let dir = tempfile::tempdir().unwrap();
    let server = |burn: &str| format!("{PITOT} serve http --listen {{address}} --burn {burn}");
    let (base, head) = (server("1us"), server("400us"));
    let condition = "cpu-per-request > +50%";
    let output = pitot(
        dir.path(),
        &[
            "diff",
            &base,
            &head,
            "--url",
            "http://{address}/bytes/10",
            "-c",
            "4",
            "--warmup",
            "50ms",
            "--fail-if",
            condition,
            "--within",
            "5m",
            "--format",
            "json",
            "-o",
            "a.pitot",
        ],
    );
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    let answer = json(&output);
    let comparison = &answer["cells"][0]["figures"]["cpu-per-request"]["comparison"];
    assert!(comparison["repetitions"].as_u64() < Some(40), "it goes on when all is decided: {comparison}");
    // A run of the same plan judges alike, though one of its generations may fail beside other tests: six decide.
    let asked = ["diff", &base, &head, "--url", "http://{address}/bytes/10", "-c", "4", "--plan"];
    std::fs::write(dir.path().join("plan.toml"), stdout(&pitot(dir.path(), &asked))).unwrap();
    let run = pitot(
        dir.path(),
        &["run", "plan.toml", "--fail-if", condition, "--repetitions", "8", "-o", "b.pitot"],
    );
    assert_eq!(run.status.code(), Some(1), "{}", text(&run));
    assert!(stdout(&run).contains("head against base"), "{}", stdout(&run));
}

#[test]
fn the_tolerance_is_no_larger_than_the_smallest_change_of_a_condition() {
    let dir = tempfile::tempdir().unwrap();
    let plan = |options: &[&str]| {
        let asked = [&["diff", "true", "true", "--plan"], options].concat();
        stdout(&pitot(dir.path(), &asked)).to_owned()
    };
    for (options, tolerance) in [
        (&[][..], "1%"),
        (&["--fail-if", "cpu-time > +5%"], "1%"),
        (&["--fail-if", "cpu-time > +5%", "--fail-if", "wall-time > +0.5%"], "0.5%"),
        (&["--fail-if", "cpu-time > +0.5%", "--tolerance", "2%"], "2%"),
    ] {
        let plan = plan(options);
        assert!(plan.contains(&format!("tolerance = \"{tolerance}\"")), "{options:?}: {plan}");
    }
}

#[test]
fn wrong_use_is_told_with_its_fix() {
    let dir = tempfile::tempdir().unwrap();
    let url = ["--url", "http://{address}/"];
    let alone = "[server]\nprotocol = \"http\"\n[factors]\nserver = [\"loop\"]\n";
    std::fs::write(dir.path().join("alone.toml"), alone).unwrap();
    for (arguments, what, fix) in [
        (&["diff", "true"][..], "2 values required", ""),
        (&["diff", "true", "false", "--prepare"], "a value is required", ""),
        (&["diff", "a | b", "c"], "executed without a shell", "use sh -c"),
        (&["diff", "./a {address}", "./b {address}"], "`./a {address}` is a server", "add --url"),
        (&["diff", "a", "b", "-c", "5"], "--connections is for servers", "omit --connections"),
        (&["diff", "a", "b", "--parameter", "n=1"], "no command contains {n}", "omit --parameter n"),
        (&["diff", "a", "b", "--fail-if", "cpu-per-request > +3%"], "is a metric of servers", "use cpu-time"),
        (&["diff", "a", "b", "--metric", "speed"], "\"speed\" is not a metric", "pitot list metrics"),
        (
            &["diff", "a", "b", "--fail-if", "cpu-time > -3%"],
            "is met even if nothing changes",
            "METRIC > +5%",
        ),
        (&["diff", "x=a", "x=b"], "two commands are called `x`", "another name"),
        (
            &["diff", "./a {address}", "./b", url[0], url[1]],
            "`./b` has no address to listen on",
            "add {address}",
        ),
        (
            &["diff", "loop", "thread", url[0], url[1], "--stdin", "f"],
            "--stdin is for commands",
            "omit --stdin",
        ),
        (
            &["diff", "loop", "thread", url[0], url[1], "--fail-if", "cpu-time > +3%"],
            "is a metric of commands",
            "use cpu-per-request",
        ),
        (
            &["diff", "loop", "thread", url[0], url[1], "--within", "1s"],
            "1 s are too short",
            "allow at least",
        ),
        (&["run", "alone.toml", "--fail-if", "throughput < -5%"], "has no baseline", "add baseline"),
        (&["run", "quick", "--fail-if", "speed > +5%"], "\"speed\" is not a metric", "use one of"),
        (&["exec", "--command", "a > b"], "executed without a shell", "use sh -c"),
        (&["exec", "--command", ""], "the command is empty", "write --command"),
        (&["exec", "--command", "a", "--env", "X"], "`X` is no NAME=VALUE", "write --env NAME=VALUE"),
        (&["exec"], "--command <LINE>", ""),
    ] {
        let output = pitot(dir.path(), arguments);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains(what) && said.contains(fix), "{arguments:?}: {said}");
    }
}

#[test]
fn an_execution_is_measured_alone_and_held() {
    let dir = tempfile::tempdir().unwrap();
    let output = pitot(dir.path(), &["exec", "--command", "echo hello", "-d", "20ms", "--json", "-"]);
    let result = json(&output);
    assert!(
        result["executions"]["user_s"].as_f64().unwrap() + result["executions"]["system_s"].as_f64().unwrap()
            > 0.0
    );
    let outcomes = result["executions"]["outcomes"].as_object().unwrap();
    assert_eq!(outcomes.keys().collect::<Vec<_>>(), ["printed 6 bytes (CRC-32 363a3020)"]);
    let shown = pitot(dir.path(), &["exec", "--command", "false", "-d", "1ms"]);
    assert!(stdout(&shown).contains("exited with 1"), "{}", stdout(&shown));
    let mut held = Command::new(PITOT);
    let held = held
        .args(["exec", "--hold"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped());
    let mut held = held.spawn().unwrap();
    let lines = "open a --command 'sleep 0.05'\nrun a 1ms\nrun b 1ms\nopen a\nclose a\nquit\n";
    std::io::Write::write_all(&mut held.stdin.take().unwrap(), lines.as_bytes()).unwrap();
    let output = held.wait_with_output().unwrap();
    let events: Vec<Value> =
        stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let kinds: Vec<&str> = events.iter().map(|event| event["event"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["opened", "slice", "error", "error", "closed", "quit"]);
    assert_eq!(events[1]["requests"], 1, "a slice of 1 ms is over with the execution that it began");
}
