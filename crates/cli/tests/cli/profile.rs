//! `--profile cpu`: which functions make one program slower than the other.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::support::{PITOT, stderr, stdout, text};

fn pitot(arguments: &[&str], dir: &Path) -> Output {
    Command::new(PITOT).args(arguments).current_dir(dir).output().unwrap()
}

/// The second server burns CPU time for each reply.
const PLAN: &str = r#"
metric = "cpu-per-request"
generations = 8
slices = 2
slice = "40ms"
warmup = "50ms"
profile = "cpu"
baseline = { "server.burn" = "0s" }
[server]
protocol = "http"
[load]
url = "http://{address}/bytes/2"
connections = 4
[factors]
server = ["loop"]
"server.burn" = ["0s", "200us"]
"#;

#[test]
fn the_function_that_makes_a_server_slower_is_named() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("plan.toml"), PLAN).unwrap();
    let ran = pitot(&["run", "plan.toml", "-o", "a.pitot"], dir.path());
    if stderr(&ran).contains("sampling by perf_event_open is not available") {
        // Where sampling is not allowed, the message says what to change.
        assert!(stderr(&ran).contains("perf_event_paranoid") || stderr(&ran).contains("CONFIG_PERF_EVENTS"));
        return;
    }
    assert!(ran.status.success(), "{}", text(&ran));
    let report = |format: &str| {
        let shown = pitot(&["report", "a.pitot", "--format", format, "-o", "-"], dir.path());
        assert!(shown.status.success(), "{}", text(&shown));
        stdout(&shown).to_owned()
    };
    let json: Value = serde_json::from_str(&report("json")).unwrap();
    let first = &json["explanations"][0];
    let name = first["name"].as_str().unwrap_or_default();
    assert!(
        name.contains("burn") || name.contains("clock") || name.contains("Instant"),
        "{}",
        json["explanations"]
    );
    assert!(first["share_of_difference"].as_f64().unwrap() > 0.3, "{first}");
    assert!(first["interval"]["low"].as_f64().unwrap() > 0.0, "{first}");
    assert!(report("terminal").contains("more CPU time per request than"));
    assert!(report("html").contains("id=\"why\""));
}

#[test]
fn fresh_runs_have_no_profile() {
    let dir = tempfile::tempdir().unwrap();
    let ran = pitot(&["run", "accept-storm", "--profile", "cpu", "--dry-run"], dir.path());
    assert_eq!(ran.status.code(), Some(2), "{}", text(&ran));
    assert!(
        stderr(&ran).contains("fresh runs") && stderr(&ran).contains("omit --profile"),
        "{}",
        stderr(&ran)
    );
}
