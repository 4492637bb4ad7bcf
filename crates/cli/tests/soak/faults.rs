//! Soaks in which something is done to the servers: it is recorded with its begin and end, judged, and taken back.

use std::path::Path;
use std::process::{Command, Stdio};

use pitot_needs::needs;
use pitot_soak::Soak;
use pitot_soak::record::{EventKind, Fault};
use rustix::process::Signal;
use serde_json::Value;

use super::{PITOT, Running, children, said, signal, soak, until};

fn plan(dir: &Path, faults: &str) {
    let text = format!(
        "title = \"Faults in a soak\"\nseed = 3\n[server]\nprotocol = \"http\"\n[load]\nsize = \"1KiB\"\n\
         connections = 4\nrate = \"200\"\n[factors]\nserver = [\"loop+epoll-et\"]\n[soak]\nfor = \"1h\"\n{faults}"
    );
    std::fs::write(dir.join("p.toml"), text).unwrap();
}

fn length_s(fault: &Fault) -> f64 {
    fault.until_s.unwrap() - fault.at_s
}

#[test]
fn faults_are_made_when_they_are_due_and_judged_by_what_clients_saw() {
    let dir = tempfile::tempdir().unwrap();
    plan(
        dir.path(),
        "[[faults]]\nkind = \"stop\"\nat = \"2s\"\nfor = \"1s\"\nevery = \"4s\"\n\
         [[faults]]\nkind = \"latency\"\nat = \"4s\"\nfor = \"1s\"\n\
         [[faults]]\nkind = \"kill\"\nat = \"8s\"\nfor = \"500ms\"\n",
    );
    let arguments = ["p.toml", "--for", "10s", "--interval", "1s", "-o", "a.pitot"];
    let output = soak(dir.path(), &arguments).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    let soak = Soak::open(&dir.path().join("a.pitot")).unwrap();
    let kinds: Vec<&str> = soak.faults.iter().map(|fault| fault.kind.as_str()).collect();
    assert_eq!(kinds, ["stop", "latency", "stop", "kill"], "{:#?}", soak.faults);
    assert!(soak.faults.iter().all(|fault| fault.was_made && fault.effect.is_some()), "{:#?}", soak.faults);
    let due: Vec<f64> = soak.faults.iter().map(|fault| fault.due_s).collect();
    assert_eq!(due, [2.0, 4.0, 6.0, 8.0]);
    assert!(soak.faults.iter().all(|fault| fault.at_s >= fault.due_s), "{:#?}", soak.faults);
    let [stopped, delayed, _, killed] = &soak.faults[..] else { unreachable!() };
    assert!(length_s(stopped) >= 1.0 && length_s(delayed) >= 1.0, "{:#?}", soak.faults);
    // Nothing answers while the only process is stopped.
    let service = stopped.effect.as_ref().unwrap().service.as_ref();
    assert!(service.is_none_or(|service| service.first_reply_s.is_none_or(|s| s >= 0.9)), "{service:#?}");
    assert!(killed.server_died && killed.effect.as_ref().unwrap().error_count() > 0, "{killed:#?}");
    // It is no death of the server's own, and no hang.
    let own = soak.events.iter().find(|e| e.kind.is_hang() || e.kind == EventKind::ServerEnded);
    assert!(own.is_none(), "{own:?}");
    // Each is a band over the page's charts.
    let page = std::fs::read_to_string(dir.path().join("a.html")).unwrap();
    assert!(page.matches("class=\"stretch fault\"").count() >= 4 && page.contains("id=\"faults\""));
}

#[needs("root")]
#[test]
fn a_disk_is_filled_that_the_plan_has_made_and_the_host_is_as_before_afterwards() {
    let dir = tempfile::tempdir().unwrap();
    let plan = "title = \"A full disk\"\n\
         [[faults]]\nkind = \"disk-full\"\nat = \"1s\"\nfor = \"1s\"\n\
         [server]\nprotocol = \"http\"\nroot = \"{dir}/up\"\nwritable = true\n\
         [load]\nurl = \"http://{address}/{0..99}\"\nchoice = \"turn\"\nmethod = \"PUT\"\nconnections = 4\n\
         body = \"0123456789\"\n[files]\n\"up/x\" = \"x\"\n\
         [factors]\nserver = [\"thread\", \"loop+epoll-et\"]\nhost.filesystem = [LEVELS]\n[soak]\nfor = \"4s\"\n\
         loads = [\"-c 1 -X PUT --body @{plan}/body http://{address}/own-{port}\"]\n";
    std::fs::write(dir.path().join("body"), "x".repeat(16 << 10)).unwrap();
    std::fs::write(dir.path().join("p.toml"), plan.replace("LEVELS", "\"ext4\"")).unwrap();
    // The file system is mounted where nobody else sees it.
    let soak = |arguments: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(["--mount", PITOT, "soak"]).args(arguments).current_dir(dir.path());
        command.env("TMPDIR", dir.path()).env("PITOT_HOST_JOURNAL", dir.path().join("journal"));
        command.output().unwrap()
    };
    let output = soak(&["p.toml", "--interval", "1s", "-o", "a.pitot"]);
    assert!(output.status.success(), "{}", said(&output));
    let recorded = Soak::open(&dir.path().join("a.pitot")).unwrap();
    assert_eq!(recorded.faults.len(), 2, "{:#?}", recorded.faults);
    for fault in &recorded.faults {
        let errors = fault.effect.as_ref().map(|effect| &effect.errors);
        // Insufficient Storage (RFC 4918 section 11.5).
        let is_told = errors.is_some_and(|errors| errors.iter().any(|(_, kind, _)| kind == "status-507"));
        assert!(fault.was_made && is_told, "{fault:#?}");
    }
    assert!(recorded.loads.iter().all(|load| load.totals.completed > 0), "{:#?}", recorded.loads);
    // Levels that differ cannot be at the same time.
    std::fs::write(dir.path().join("p.toml"), plan.replace("LEVELS", "\"ext4\", \"tmpfs\"")).unwrap();
    let refused = soak(&["p.toml", "-o", "b.pitot"]);
    assert_eq!(refused.status.code(), Some(2), "{}", said(&refused));
    assert!(said(&refused).contains("differ in their settings of the host"), "{}", said(&refused));
}

#[test]
fn helpers_of_a_plan_are_started_and_hosts_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    // Only the helper is asked.
    let plan = "title = \"A helper\"\n[helpers.other]\nprotocol = \"http\"\n[server]\nprotocol = \"http\"\n\
         [load]\nurl = \"http://{other}/bytes/100\"\nconnections = 2\n[factors]\nserver = [\"loop+epoll-et\"]\n[soak]\nfor = \"3s\"\n";
    std::fs::write(dir.path().join("p.toml"), plan).unwrap();
    let output = soak(dir.path(), &["p.toml", "--interval", "1s", "-o", "a.pitot"]).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    let recorded = Soak::open(&dir.path().join("a.pitot")).unwrap();
    assert!(recorded.loads[0].totals.completed > 0, "{:#?}", recorded.loads);
    assert_eq!(recorded.loads[0].totals.errors, 0, "{:#?}", recorded.loads);
    let plan = "[hosts.far]\nagent = [\"false\"]\naddress = \"192.0.2.1\"\ncpus = \"0\"\n[server]\nprotocol = \"http\"\nhost = \"far\"\n[load]\n\
         [factors]\nserver = [\"loop+epoll-et\"]\n[soak]\nfor = \"3s\"\n";
    std::fs::write(dir.path().join("p.toml"), plan).unwrap();
    let refused = soak(dir.path(), &["p.toml", "-o", "b.pitot"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2), "{}", said(&refused));
    assert!(said(&refused).contains("the plan has hosts"), "{}", said(&refused));
}

#[test]
fn a_soak_that_is_killed_in_a_fault_takes_it_back_and_goes_on_with_the_next() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.pitot");
    plan(dir.path(), "[[faults]]\nkind = \"stop\"\nat = \"1s\"\nfor = \"2s\"\nevery = \"4s\"\n");
    let arguments = ["p.toml", "--interval", "1s", "-o", "a.pitot"];
    let mut command = soak(dir.path(), &arguments);
    let mut lab = Running(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    let faults = || Soak::open(&path).map(|soak| soak.faults).unwrap_or_default();
    let program = until("a fault is made", || children(lab.0.id(), "fault").first().copied());
    until("it is recorded", || faults().iter().any(|fault| fault.until_s.is_none()).then_some(()));
    lab.0.kill().unwrap();
    lab.0.wait().unwrap();
    let is_gone = || !Path::new(&format!("/proc/{program}")).exists();
    until("the fault's program has ended", || is_gone().then_some(()));

    let mut lab = Running(soak(dir.path(), &["--resume", "a.pitot"]).spawn().unwrap());
    until("another one is over", || {
        (faults().iter().filter(|fault| fault.until_s.is_some()).count() >= 2).then_some(())
    });
    signal(lab.0.id(), Signal::INT);
    assert_eq!(lab.0.wait().unwrap().code(), Some(1));
    let all = faults();
    assert!(all.iter().all(|fault| fault.was_made && fault.until_s.is_some()), "{all:#?}");
    assert_eq!(all[0].what, "it was taken back when the lab was killed");
    assert!(all[0].effect.is_none() && all[1].effect.is_some(), "{all:#?}");
    let due: Vec<f64> = all.iter().map(|fault| fault.due_s).collect();
    assert!(due.iter().zip(0..).all(|(due, n)| *due == 1.0 + 4.0 * f64::from(n)), "{due:?}");

    let arguments = ["report", "a.pitot", "--format", "json", "-o", "-"];
    let report = Command::new(PITOT).args(arguments).current_dir(dir.path()).output().unwrap();
    let report: Value = serde_json::from_slice(&report.stdout).unwrap();
    assert_eq!(report["faults"].as_array().unwrap().len(), all.len(), "{report:#}");
}
