//! Soaks in which something is done to the servers: it is recorded with its begin and end, judged, and taken back.

use std::path::Path;
use std::process::{Command, Stdio};

use pitot_soak::Soak;
use pitot_soak::record::{EventKind, Fault};
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
        "[[faults]]\nkind = \"stop\"\nat = \"2s\"\nfor = \"1s\"\nevery = \"7s\"\n\
         [[faults]]\nkind = \"latency\"\nat = \"5s\"\nfor = \"1s\"\n\
         [[faults]]\nkind = \"kill\"\nat = \"12s\"\nfor = \"500ms\"\n",
    );
    let arguments = ["p.toml", "--for", "15s", "--interval", "1s", "-o", "a.pitot"];
    let output = soak(dir.path(), &arguments).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    let soak = Soak::open(&dir.path().join("a.pitot")).unwrap();
    let kinds: Vec<&str> = soak.faults.iter().map(|fault| fault.kind.as_str()).collect();
    assert_eq!(kinds, ["stop", "latency", "stop", "kill"], "{:#?}", soak.faults);
    assert!(soak.faults.iter().all(|fault| fault.was_made && fault.effect.is_some()), "{:#?}", soak.faults);
    let due: Vec<f64> = soak.faults.iter().map(|fault| fault.due_s).collect();
    assert_eq!(due, [2.0, 5.0, 9.0, 12.0]);
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
    until("two more are over", || {
        (faults().iter().filter(|f| f.until_s.is_some()).count() >= 3).then_some(())
    });
    signal(lab.0.id(), "-INT");
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
