//! What servers have acknowledged is there when they have ended, after kills and stops too, and a server that lost some of it
//! is found out.

use std::path::Path;

use pitot_record::{Repetition, Run};
use pitot_results::VerdictKind;

use super::pitot;
use crate::support::text;

const KILLS: &str = r#"
[[faults]]
kind = "kill"
process = "all"
at = "400ms"
for = "100ms"
[[faults]]
kind = "stop"
process = "all"
at = "800ms"
for = "100ms"
[[faults]]
kind = "kill"
process = "all"
at = "1200ms"
for = "100ms"
"#;

const UPLOADS: &str = r#"
durability = "{dir}/html"
[server]
protocol = "http"
root = "{dir}/html"
writable = true
[load]
url = "http://{address}/{request-id}.dat"
method = "PUT"
body = "@{plan}/body"
connections = 4
rate = 500
[files]
"html/index.html" = "x"
[factors]
server = ["thread", "prefork", "loop+epoll-et", "preloop+epoll-et"]
"#;

/// Runs a plan of one repetition, and returns it with the terminal's text.
fn run(dir: &Path, lines: &str) -> (Run, String) {
    let plan = format!("repetitions = 1\nduration = \"1600ms\"\nwarmup = \"0ms\"\n{lines}");
    std::fs::write(dir.join("plan.toml"), plan).unwrap();
    let output = pitot(dir, &["run", "plan.toml", "-o", "run.pitot"]);
    let run = Run::open(&dir.join("run.pitot")).unwrap_or_else(|e| panic!("{e}: {}", text(&output)));
    (run, text(&output))
}

fn figure(repetition: &Repetition, name: &str) -> f64 {
    let figure = repetition.verdict.figures.iter().find(|(figure, _)| figure == name);
    figure.unwrap_or_else(|| panic!("no {name}: {:?}", repetition.verdict)).1
}

/// Nothing of what four architectures acknowledged is missing, in a plan with kills.
fn nothing_is_lost(lines: &str) {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("body"), "0123456789abcdef".repeat(1024)).unwrap();
    let (run, said) = run(dir.path(), lines);
    assert_eq!(run.cells.len(), 4, "{said}");
    for cell in &run.cells {
        let repetition = &cell.repetitions[0];
        let label = cell.label();
        assert_ne!(repetition.verdict.kind, VerdictKind::Failed, "{label}: {:?}", repetition.verdict);
        let died = repetition.faults.iter().filter(|fault| fault.server_died).count();
        assert_eq!(died, 2, "{label}: {:?}", repetition.faults);
        let durability = repetition.load.as_ref().unwrap().durability.as_ref().unwrap();
        assert_eq!(figure(repetition, "acknowledged"), durability.count() as f64);
        assert!(durability.count() > 0, "{label}");
        assert_eq!((figure(repetition, "lost"), figure(repetition, "torn")), (0.0, 0.0), "{label}");
    }
    let report = pitot(dir.path(), &["report", "run.pitot", "--format", "json"]);
    let report: serde_json::Value = serde_json::from_slice(&report.stdout).unwrap();
    for cell in report["cells"].as_array().unwrap() {
        assert_eq!(cell["figures"]["lost"]["value"], 0.0, "{cell:#}");
        assert!(cell["figures"]["acknowledged"]["value"].as_f64().unwrap() > 0.0, "{cell:#}");
    }
    assert!(report["findings"].to_string().contains(" are present and intact."), "{report:#}");
}

#[test]
fn uploads_that_were_acknowledged_are_there_whole_after_kills() {
    nothing_is_lost(&UPLOADS.replace("[server]", &format!("{KILLS}[server]")));
}

#[test]
fn mail_that_was_acknowledged_is_there_whole_after_kills() {
    let servers = [
        ("thread", "\"thread\""),
        ("prefork", "\"prefork\""),
        ("loop+epoll-et", "\"loop\", \"--mechanism\", \"epoll-et\""),
        ("preloop+epoll-et", "\"preloop\", \"--mechanism\", \"epoll-et\""),
    ];
    let described = servers.map(|(name, model)| {
        format!(
            "[servers.\"{name}\"]\ncommand = [\"pitot\", \"serve\", \"smtp\", \"--listen\", \"{{address}}\", \"--deliver\", \
             \"maildir\", \"{{dir}}/mail\", \"--model\", {model}]\n"
        )
    });
    let names = servers.map(|(name, _)| format!("{name:?}")).join(", ");
    nothing_is_lost(&format!(
        "durability = \"{{dir}}/mail\"\n{KILLS}[load]\nurl = \"smtp://{{address}}/?size=8KiB\"\nconnections = 4\n{}[factors]\n\
         server = [{names}]\n",
        described.concat()
    ));
}

/// A server that removes three of its files at its end, spoils one and empties another; not when it is tried before the run.
const FORGETFUL: &str = r#"
durability = "{dir}/html"
[load]
url = "http://{address}/{request-id}"
method = "PUT"
body = "0123456789"
connections = 4
rate = 500
[files]
"html/index.html" = "x"
[servers.forgetful]
command = ["sh", "-c", """
"$0" serve http --root html --writable --listen {address} &
trap 'kill $!; wait $!
      set -- html/request-*
      [ ! -e {plan}/tried ] || { rm "$1" "$2" "$3"; printf 012345678x > "$4"; : > "$5"; }
      : > {plan}/tried
      exit 0' TERM
wait $!
""", "PITOT"]
cwd = "{dir}"
[factors]
server = ["forgetful"]
"#;

#[test]
fn a_server_that_loses_what_it_acknowledged_is_found_out() {
    let dir = tempfile::tempdir().unwrap();
    let (run, said) = run(dir.path(), &FORGETFUL.replace("PITOT", super::PITOT));
    let repetition = &run.cells[0].repetitions[0];
    assert_eq!(repetition.verdict.kind, VerdictKind::Failed, "{said}");
    let acknowledged = repetition.load.as_ref().unwrap().durability.as_ref().unwrap().count();
    let reason = format!("lost: 3, torn: 2 uploads of {acknowledged} acknowledged by the server");
    assert_eq!(repetition.verdict.reason, reason);
    assert_eq!((figure(repetition, "lost"), figure(repetition, "torn")), (5.0, 2.0));
    assert!(said.contains(&reason), "{said}");
    let report = pitot(dir.path(), &["report", "run.pitot", "--format", "json"]);
    let found = " acknowledged uploads: forgetful 5.";
    assert!(text(&report).contains(found), "{}", text(&report));
}

#[test]
fn what_cannot_be_looked_for_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    for (lines, said) in [
        (UPLOADS.replace("{request-id}", "{request-it}"), "did you mean `{request-id}`?"),
        (UPLOADS.replace("durability", "measure = \"slices\"\ndurability"), "after the server has stopped"),
        (
            UPLOADS.replace(
                "durability",
                "hosts.far = { address = \"10.0.0.1\", cpus = \"0\", agent = [\"x\"] }\ndurability",
            ),
            "on this machine only",
        ),
    ] {
        std::fs::write(dir.path().join("plan.toml"), &lines).unwrap();
        let output = pitot(dir.path(), &["run", "plan.toml", "--dry-run"]);
        assert_eq!(output.status.code(), Some(2), "{}", text(&output));
        assert!(text(&output).contains(said), "{}", text(&output));
    }
    for arguments in [
        &["load", "http://127.0.0.1:9/{request-id}", "--durability"][..],
        &["load", "http://127.0.0.1:9/", "--durability", "--body", "x"],
        &["load", "http://127.0.0.1:9/{request-id}", "--durability", "--body", "x", "--http", "2"],
        &["load", "redis://127.0.0.1:9/", "--durability"],
    ] {
        let output = pitot(dir.path(), arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", text(&output));
        assert!(text(&output).contains("--durability needs one kind of request"), "{}", text(&output));
    }
}
