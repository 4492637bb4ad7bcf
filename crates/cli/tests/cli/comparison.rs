//! A comparison that options describe, and the plan that `pitot init` makes of them, with the real program.

use std::path::Path;
use std::process::{Command, Output};

use pitot_record::Run;
use pitot_results::VerdictKind;

use crate::support::{PITOT, text};

/// A server of one's own: this program under another name, in the directory of the test.
const OWN: &str = "./mine serve http --listen {address}";

fn bed() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(PITOT, dir.path().join("mine")).unwrap();
    dir
}

fn pitot(dir: &Path, arguments: &[&str]) -> Output {
    Command::new(PITOT).args(arguments).current_dir(dir).env("TMPDIR", dir).output().unwrap()
}

#[test]
fn two_commands_are_compared_without_a_plan() {
    let bed = bed();
    let variable = "named=env ROOT={dir} ./mine serve http --listen 127.0.0.1:{port}";
    let arguments = ["run", "-o", "run.pitot", "--repetitions", "1", "-d", "200ms", "-c", "4"];
    let servers = ["--server", OWN, "--server", variable, "--server", "loop+epoll-et"];
    let output =
        pitot(bed.path(), &[&arguments[..], &servers, &["--url", "http://{address}/x.html"]].concat());
    // A server of Pitot has the file that the URL names; the others have no root, and answer 404.
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    let output = pitot(
        bed.path(),
        &[&["run", "-o", "good.pitot", "--repetitions", "1", "-d", "200ms", "-c", "4"], &servers[..]]
            .concat(),
    );
    assert!(output.status.success(), "{}", text(&output));
    let run = Run::open(&bed.path().join("good.pitot")).unwrap();
    let labels: Vec<String> = run.cells.iter().map(|cell| cell.label()).collect();
    assert_eq!(labels, ["mine", "named", "loop+epoll-et"]);
    assert!(run.cells.iter().all(|cell| cell.verdict().kind != VerdictKind::Failed));
    assert!(run.info.plan_source.contains("[servers.mine]\ncommand = [\""), "{}", run.info.plan_source);
    assert_eq!(run.plan.name, "comparison");
    let output = pitot(bed.path(), &["run", "--resume", "good.pitot"]);
    assert!(output.status.success(), "the run file has the whole plan: {}", text(&output));
}

#[test]
fn servers_are_compared_over_tls_by_the_time_of_their_handshakes() {
    let bed = bed();
    let run = |name: &str, more: &[&str]| {
        let common =
            ["run", "-o", name, "--repetitions", "2", "-c", "4", "--url", "https://{address}/x.html"];
        let options = ["--server", "loop+epoll-et", "--load-option", "requests-per-connection=1", "--metric"];
        let output = pitot(bed.path(), &[&common[..], &options, more].concat());
        assert!(output.status.success(), "{}", text(&output));
        Run::open(&bed.path().join(name)).unwrap()
    };
    let fresh = ["handshake-p99", "-d", "200ms", "--server", "thread", "--load-option", "tls-resume=off"];
    let measured = run("fresh.pitot", &fresh);
    for cell in &measured.cells {
        let load = cell.repetitions[0].load.as_ref().unwrap();
        let tls = load.tls.as_ref().unwrap();
        assert!(tls.handshakes.full > 0 && tls.handshakes.resumed == 0, "{tls:?}");
        assert_eq!(load.content_per_reply(), Some(1024.0), "records and heads are none");
    }
    let sliced = run("sliced.pitot", &["resumption-p50", "--tolerance", "50%"]);
    let load = sliced.cells[0].repetitions[0].load.as_ref().unwrap();
    assert!(load.latency_ns.resumption.count > 0, "{:?}", load.latency_ns);
    assert_eq!(load.content_per_reply(), Some(1024.0));
    for (gate, code) in [("handshake-p99 > 60s", 0), ("handshake-p50 < 60s", 1), ("resumption-p99 > 60s", 3)]
    {
        let output = pitot(bed.path(), &["compare", "fresh.pitot", "fresh.pitot", "--fail-if", gate]);
        // Two repetitions have no interval, and no session was resumed.
        assert!([code, 3].contains(&output.status.code().unwrap()), "{gate}: {}", text(&output));
    }
    let page = pitot(bed.path(), &["report", "fresh.pitot", "--format", "md"]);
    assert!(text(&page).contains("handshake p99"), "{}", text(&page));
}

#[test]
fn a_server_whose_replies_are_shorter_wins_nothing_in_slices_and_in_fresh_runs() {
    let bed = bed();
    std::fs::create_dir(bed.path().join("pages")).unwrap();
    std::fs::write(bed.path().join("pages/x.html"), "short").unwrap();
    let own = format!("{OWN} --root pages");
    let servers = ["--server", "loop+epoll-et", "--server", &own, "--url", "http://{address}/x.html"];
    for (name, way) in [
        ("sliced.pitot", &["--repetitions", "2"][..]),
        ("fresh.pitot", &["--repetitions", "1", "-d", "200ms"]),
        ("meant.pitot", &["--repetitions", "1", "-d", "200ms", "--replies", "may-differ"]),
    ] {
        let output = pitot(bed.path(), &[&["run", "-c", "4", "-o", name], &servers[..], way].concat());
        assert!(output.status.success(), "{name}: {}", text(&output));
        let output = pitot(bed.path(), &["report", name, "--format", "markdown"]);
        let said = text(&output).contains(
            "No winner: the replies of **loop+epoll-et** have 1,024 bytes of content, and those of **mine** 5 bytes.",
        );
        assert_eq!(said, name != "meant.pitot", "{name}: {}", text(&output));
    }
}

#[test]
fn init_writes_a_plan_that_runs_and_overwrites_nothing() {
    let bed = bed();
    let options = ["--server", OWN, "--server", "thread", "-c", "4", "-d", "200ms", "--repetitions", "1"];
    let output = pitot(bed.path(), &[&["init"], &options[..]].concat());
    assert!(output.status.success(), "{}", text(&output));
    let plan = std::fs::read_to_string(bed.path().join("plan.toml")).unwrap();
    assert!(
        plan.starts_with("#:schema ./plan-schema.json\n# A plan of Pitot")
            && plan.contains("cwd = \"{plan}\""),
        "{plan}"
    );
    let output = pitot(bed.path(), &["run", "plan.toml"]);
    assert!(output.status.success(), "{}", text(&output));
    let output = pitot(bed.path(), &["init"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output).contains("plan.toml already exists"), "{}", text(&output));
    assert_eq!(std::fs::read_to_string(bed.path().join("plan.toml")).unwrap(), plan);
    std::fs::create_dir(bed.path().join("plans")).unwrap();
    let output = pitot(bed.path(), &[&["init", "plans/other.toml"], &options[..]].concat());
    assert!(output.status.success(), "{}", text(&output));
    let output = pitot(bed.path(), &["run", "plans/other.toml", "--dry-run"]);
    let own = bed.path().join("mine");
    assert!(text(&output).contains(&format!("{} serve http", own.display())), "{}", text(&output));
}

#[test]
fn a_suite_is_run_and_written_with_other_values() {
    let bed = bed();
    let set = ["--set", "load.connections=8", "--set", "server=thread,loop+poll", "--set", "slices=4"];
    let dry = pitot(bed.path(), &[&["run", "quick", "--dry-run"], &set[..]].concat());
    assert!(dry.status.success(), "{}", text(&dry));
    assert!(text(&dry).contains("# 2 cells, ") && text(&dry).contains("--connections 8 "), "{}", text(&dry));
    let output = pitot(bed.path(), &[&["init", "own.toml", "--from", "quick"], &set[..]].concat());
    assert!(output.status.success(), "{}", text(&output));
    let own = pitot(bed.path(), &["run", "own.toml", "--dry-run"]);
    assert!(own.status.success() && text(&own).contains("# 2 cells, "), "{}", text(&own));
    let plan = std::fs::read_to_string(bed.path().join("own.toml")).unwrap();
    assert!(plan.contains("load.connections = [8]") && plan.contains("title = "), "{plan}");
    for (change, what) in
        [("load.conections=8", "`conections`"), ("slices", "has no `=`"), ("duration=fast", "duration")]
    {
        for command in [["run", "quick", "--dry-run"], ["init", "-", "--from=quick"]] {
            let output = pitot(bed.path(), &[&command[..], &["--set", change]].concat());
            assert_eq!(output.status.code(), Some(2), "{}", text(&output));
            assert!(text(&output).contains(what), "{what}: {}", text(&output));
        }
    }
    let output = pitot(bed.path(), &["init", "-", "--from", "quik"]);
    assert!(
        output.status.code() == Some(2) && text(&output).contains("did you mean `quick`"),
        "{}",
        text(&output)
    );
}

#[test]
fn a_server_runs_in_its_folder_with_its_variables() {
    let bed = bed();
    std::fs::create_dir(bed.path().join("app")).unwrap();
    let script = "#!/bin/sh\nexec ../mine serve http --listen \"127.0.0.1:$PORT\"\n";
    std::fs::write(bed.path().join("app/start.sh"), script).unwrap();
    let plan = "repetitions = 1\nduration = \"200ms\"\nwarmup = \"0s\"\n\
                [load]\nurl = \"http://{address}/\"\n[factors]\nserver = [\"own\"]\n\
                [servers.own]\ncommand = [\"sh\", \"start.sh\"]\ncwd = \"app\"\nenv = { PORT = \"{port}\" }\n";
    std::fs::write(bed.path().join("plan.toml"), plan).unwrap();
    let output = pitot(bed.path(), &["run", "plan.toml"]);
    assert!(output.status.success(), "{}", text(&output));
    std::fs::write(bed.path().join("plan.toml"), plan.replace("\"app\"", "\"ap\"")).unwrap();
    let output = pitot(bed.path(), &["run", "plan.toml"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    assert!(text(&output).contains("/ap is not a folder"), "{}", text(&output));
}

#[test]
fn a_server_that_is_named_must_be_one_that_can_be_measured() {
    let bed = bed();
    let refused = |arguments: &[&str], what: &str| {
        let output = pitot(bed.path(), &[&["run"], arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{}", text(&output));
        assert!(text(&output).contains(what), "{what}: {}", text(&output));
    };
    refused(&["--server", "loop", "--server", "fork+uring"], "fork+uring cannot be measured: ");
    refused(
        &["--server", "loop", "--server", "no-such-program {address}"],
        "`no-such-program` is not installed here",
    );
    refused(&["quick", "--server", "loop"], "cannot be used with");
    refused(&["quick", "-c", "4"], "--connections needs --server");
}
