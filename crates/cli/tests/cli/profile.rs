//! `--profile cpu`: which functions make one program slower than the other.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::support::{PITOT, stderr, stdout, text};
use pitot_needs::needs;

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

#[needs("sampling")]
#[test]
fn the_function_that_makes_a_server_slower_is_named() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("plan.toml"), PLAN).unwrap();
    let ran = pitot(&["run", "plan.toml", "-o", "a.pitot"], dir.path());
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
    let html = report("html");
    assert!(html.contains("id=\"why\"") && html.contains("class=\"flames\""));
    std::fs::remove_file(dir.path().join("a.html")).unwrap();
    let shown = pitot(&["report", "a.pitot", "--profile"], dir.path());
    assert!(shown.status.success(), "{}", text(&shown));
    let tree = stdout(&shown);
    assert_eq!(tree.matches("  function\n").count(), 2, "{tree}");
    assert!(
        tree.contains(", compared with ") && tree.lines().all(|line| line.chars().count() <= 80),
        "{tree}"
    );
    let shown = pitot(&["report", "a.pitot", "--profile", "--format", "json"], dir.path());
    let trees: Value = serde_json::from_str(stdout(&shown)).unwrap();
    let slower = &trees["cells"][1]["tree"];
    assert!(slower["own_per_request"].as_f64() > slower["baseline_per_request"].as_f64(), "{trees}");
    assert!(!dir.path().join("a.html").exists(), "--profile writes no page");
}

#[test]
fn a_report_of_profiles_needs_them_and_has_two_formats() {
    let dir = tempfile::tempdir().unwrap();
    let plan = PLAN.replace("profile = \"cpu\"\n", "").replace("generations = 8", "generations = 6");
    std::fs::write(dir.path().join("plan.toml"), plan).unwrap();
    assert!(pitot(&["run", "plan.toml", "-o", "a.pitot"], dir.path()).status.success());
    for (arguments, what) in [
        (&["a.pitot", "--profile"][..], "a.pitot has no profiles"),
        (&["a.pitot", "--profile", "--format", "html"], "--profile has the formats terminal and json"),
        (&["a.pitot", "--profile", "-o", "a.md"], "--profile has the formats terminal and json"),
        (&["a.pitot", "b.pitot", "--profile"], "cannot be used with"),
    ] {
        let refused = pitot(&[&["report"], arguments].concat(), dir.path());
        assert_eq!(refused.status.code(), Some(2), "{}", text(&refused));
        assert!(stderr(&refused).contains(what), "{}", stderr(&refused));
    }
    let refused = pitot(&["report", "a.pitot", "--profile"], dir.path());
    assert!(stderr(&refused).contains("`pitot run PLAN --profile cpu`"), "{}", stderr(&refused));
}

/// The report of a run of this plan.
fn recorded(plan: &str, dir: &Path) -> Value {
    std::fs::write(dir.join("plan.toml"), plan).unwrap();
    let ran = pitot(&["run", "plan.toml", "-o", "a.pitot"], dir);
    assert!(ran.status.success(), "{}", text(&ran));
    let shown = pitot(&["report", "a.pitot", "--format", "json", "-o", "-"], dir);
    assert!(shown.status.success(), "{}", text(&shown));
    let report: Value = serde_json::from_str(stdout(&shown)).unwrap();
    for cell in report["cells"].as_array().unwrap() {
        assert_eq!(cell["repetitions"]["failed"], 0, "{}\n{}", cell["verdict"], text(&ran));
    }
    report
}

fn count<'a>(report: &'a Value, kind: &str, name: &str) -> &'a Value {
    let counts = report["counts"].as_array().unwrap();
    let found = counts.iter().find(|count| count["kind"] == kind && count["name"] == name);
    found.unwrap_or_else(|| panic!("there is no {kind} {name}: {counts:#?}"))
}

#[needs("sampling")]
#[test]
fn calls_waits_and_counters_are_per_request() {
    let dir = tempfile::tempdir().unwrap();
    let plan = PLAN.replace("profile = \"cpu\"", "profile = [\"off-cpu\", \"counters\", \"calls\"]");
    let plan = plan.replace("generations = 8", "generations = 2").replace("200us", "20us");
    let report = recorded(&plan, dir.path());
    // One reply for each request; the requests of one wait are read and answered one by one.
    let sent = count(&report, "calls", "sendto")["per_request"].as_f64().unwrap();
    assert!((0.2..3.0).contains(&sent), "{sent}");
    let waited = count(&report, "off-cpu", "epoll_pwait2")["ns_per_request"].as_f64().unwrap();
    assert!(waited > 0.0, "{waited}");
    assert!(count(&report, "counters", "context switches")["per_request"].as_f64().unwrap() > 0.0);
}

#[needs("sampling")]
#[test]
fn a_fresh_run_is_recorded_after_its_measured_part() {
    let dir = tempfile::tempdir().unwrap();
    let fresh = "measure = \"fresh\"\nrepetitions = 2\nduration = \"200ms\"\n";
    let plan = PLAN.replace("generations = 8\nslices = 2\nslice = \"40ms\"\n", fresh);
    let report = recorded(&plan.replace("\"cpu\"", "[\"calls\", \"cpu\"]"), dir.path());
    assert!(count(&report, "calls", "sendto")["per_request"].as_f64().unwrap() > 0.3);
}

#[needs("sampling")]
#[test]
fn a_soak_is_recorded_for_a_second_again_and_again() {
    let dir = tempfile::tempdir().unwrap();
    let soak = [
        "soak",
        "--server",
        "loop",
        "--for",
        "8s",
        "--interval",
        "1s",
        "--profile",
        "calls",
        "-o",
        "a.pitot",
    ];
    let ran = pitot(&soak, dir.path());
    assert!(ran.status.success(), "{}", text(&ran));
    let soak = pitot_record::Soak::open(&dir.path().join("a.pitot")).unwrap();
    let [recorded] = &soak.profiles[..] else { panic!("{:#?}", soak.profiles) };
    assert!(recorded.at_s < 8.0 && recorded.profile.requests > 0, "{recorded:?}");
    assert!(recorded.profile.entries.iter().any(|entry| &*entry.name == "epoll_pwait2"), "{recorded:?}");
}

/// In a namespace of users the kernel takes root for an ordinary user.
#[needs("perf-event-paranoid", "user-namespaces")]
#[test]
fn what_cannot_be_recorded_is_left_out_and_the_report_says_how_to_have_it() {
    let dir = tempfile::tempdir().unwrap();
    let run = |profile: &str| {
        let plan = PLAN.replace("profile = \"cpu\"", &format!("profile = {profile}"));
        std::fs::write(dir.path().join("plan.toml"), plan.replace("generations = 8", "generations = 6"))
            .unwrap();
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", PITOT, "run", "plan.toml", "-o", "a.pitot"]);
        command.current_dir(dir.path()).output().unwrap()
    };
    let refused = run("\"off-cpu\"");
    assert_eq!(refused.status.code(), Some(2), "{}", text(&refused));
    assert!(stderr(&refused).contains("is not available"), "{}", stderr(&refused));
    assert!(stderr(&refused).contains("perf_event_paranoid"), "{}", stderr(&refused));
    assert_eq!(stderr(&refused).lines().count(), 2, "{}", stderr(&refused));
    let ran = run("[\"off-cpu\", \"counters\", \"cpu\"]");
    assert_eq!(ran.status.code(), Some(0), "{}", text(&ran));
    assert!(
        stderr(&ran).contains("note: The profile `off-cpu` is left out: ")
            && stderr(&ran).contains("To have it: "),
        "{}",
        stderr(&ran)
    );
    let told = stdout(&ran).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        told.contains("The profile `off-cpu` is left out: ")
            && told.contains("softirqs NET_RX")
            && told.contains("The time in the kernel is missing"),
        "{told}"
    );
}

#[test]
fn a_storm_of_connections_has_no_profile() {
    let dir = tempfile::tempdir().unwrap();
    let ran = pitot(&["run", "accept-storm", "--profile", "cpu", "--dry-run"], dir.path());
    assert_eq!(ran.status.code(), Some(2), "{}", text(&ran));
    assert!(
        stderr(&ran).contains("leaves nothing to record") && stderr(&ran).contains("omit --profile"),
        "{}",
        stderr(&ran)
    );
}
