//! Soaks in which something is done to the servers: it is recorded with its begin and end, judged, and taken back.

use std::path::Path;
use std::process::{Command, Stdio};

use pitot_needs::needs;
use pitot_record::Soak;
use pitot_record::soak::{Endings, EventKind, Fault};
use rustix::process::Signal;
use serde_json::Value;

use super::{children, silent, soak};
use crate::support::{PITOT, Running, signal, text, until_some};

fn plan(dir: &Path, faults: &str) {
    let text = format!(
        "title = \"Faults in a soak\"\nseed = 3\n[server]\nprotocol = \"http\"\n[load]\nsize = \"1KiB\"\n\
         connections = 4\nrate = \"200\"\n[factors]\nserver = [\"loop+epoll-et\"]\n[soak]\nfor = \"1h\"\n{faults}"
    );
    std::fs::write(dir.join("p.toml"), text).unwrap();
}

/// A soak of a server that is running, of which these are the processes, with some faults.
fn of_running(dir: &Path, url: &str, processes: [&str; 2], length: &str, faults: &[&str]) -> Command {
    let mut command = soak(dir, &[url, processes[0], processes[1], "-c", "2", "-R", "50"]);
    command.args(["--for", length, "--interval", "1s", "-o", "a.pitot"]);
    command.args(faults.iter().flat_map(|fault| ["--fault", fault]));
    command
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
    assert!(output.status.success(), "{}", text(&output));
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
    assert!(output.status.success(), "{}", text(&output));
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
    assert_eq!(refused.status.code(), Some(2), "{}", text(&refused));
    assert!(text(&refused).contains("differ in their settings of the host"), "{}", text(&refused));
}

#[test]
fn helpers_of_a_plan_are_started_and_hosts_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    // Only the helper is asked.
    let plan = "title = \"A helper\"\n[helpers.other]\nprotocol = \"http\"\n[server]\nprotocol = \"http\"\n\
         [load]\nurl = \"http://{other}/bytes/100\"\nconnections = 2\n[factors]\nserver = [\"loop+epoll-et\"]\n[soak]\nfor = \"3s\"\n";
    std::fs::write(dir.path().join("p.toml"), plan).unwrap();
    let output = soak(dir.path(), &["p.toml", "--interval", "1s", "-o", "a.pitot"]).output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    let recorded = Soak::open(&dir.path().join("a.pitot")).unwrap();
    assert!(recorded.loads[0].totals.completed > 0, "{:#?}", recorded.loads);
    assert_eq!(recorded.loads[0].totals.errors, 0, "{:#?}", recorded.loads);
    let plan = "[hosts.far]\nagent = [\"false\"]\naddress = \"192.0.2.1\"\ncpus = \"0\"\n[server]\nprotocol = \"http\"\nhost = \"far\"\n[load]\n\
         [factors]\nserver = [\"loop+epoll-et\"]\n[soak]\nfor = \"3s\"\n";
    std::fs::write(dir.path().join("p.toml"), plan).unwrap();
    let refused = soak(dir.path(), &["p.toml", "-o", "b.pitot"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2), "{}", text(&refused));
    assert!(text(&refused).contains("the plan has hosts"), "{}", text(&refused));
}

#[test]
fn a_soak_that_is_killed_in_a_fault_takes_it_back_and_goes_on_with_the_next() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.pitot");
    plan(dir.path(), "[[faults]]\nkind = \"stop\"\nat = \"1s\"\nfor = \"2s\"\nevery = \"4s\"\n");
    let arguments = ["p.toml", "--interval", "1s", "-o", "a.pitot"];
    let mut command = soak(dir.path(), &arguments);
    let mut lab = Running::start(command.stdout(Stdio::null()).stderr(Stdio::null()));
    let faults = || Soak::open(&path).map(|soak| soak.faults).unwrap_or_default();
    let program = until_some("a fault is made", || children(lab.id(), "fault").first().copied());
    until_some("it is recorded", || faults().iter().any(|fault| fault.until_s.is_none()).then_some(()));
    lab.kill();
    // What nobody waits for stays as a zombie.
    let stat = || std::fs::read_to_string(format!("/proc/{program}/stat")).unwrap_or_default();
    let is_gone = || stat().is_empty() || stat().contains(") Z ");
    until_some("the fault's program has ended", || is_gone().then_some(()));

    let mut lab = Running::start(&mut soak(dir.path(), &["--resume", "a.pitot"]));
    until_some("another one is over", || {
        (faults().iter().filter(|fault| fault.until_s.is_some()).count() >= 2).then_some(())
    });
    signal(lab.id(), Signal::INT);
    assert_eq!(lab.wait().unwrap().code(), Some(1));
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

/// The state of a process (proc_pid_stat(5)).
fn state(pid: u32) -> char {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    stat.rsplit_once(')').unwrap().1.trim_start().chars().next().unwrap()
}

#[test]
fn faults_are_made_to_a_server_that_was_running_already_and_it_is_left_as_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let (server, address) = super::server::start("nothing");
    let (url, pid) = (format!("http://{address}/"), server.id().to_string());
    let arguments = [
        &*url,
        "--pid",
        &pid,
        "-c",
        "4",
        "-R",
        "200",
        "--for",
        "9s",
        "--interval",
        "1s",
        "-o",
        "a.pitot",
        "--fault",
        "stop --at 2s --for 1s",
        "--fault",
        "latency --delay 200ms --at 4s --for 1s",
        "--fault",
        "cpu-hog --at 6s --for 500ms",
        "--fault",
        "slow-readers --at 7s --for 500ms",
    ];
    let output = soak(dir.path(), &arguments).output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    let recorded = Soak::open(&dir.path().join("a.pitot")).unwrap();
    let kinds: Vec<&str> = recorded.faults.iter().map(|fault| fault.kind.as_str()).collect();
    assert_eq!(kinds, ["stop", "latency", "cpu-hog", "slow-readers"], "{:#?}", recorded.faults);
    assert!(recorded.faults.iter().all(|fault| fault.was_made && fault.effect.is_some()), "{recorded:#?}");
    let [stopped, delayed, hogged, _] = &recorded.faults[..] else { unreachable!() };
    assert!(stopped.what.contains(&format!("SIGSTOP to process {pid}")), "{stopped:#?}");
    let service = stopped.effect.as_ref().unwrap().service.as_ref();
    assert!(service.is_none_or(|service| service.first_reply_s.is_none_or(|s| s >= 0.9)), "{service:#?}");
    assert!(length_s(delayed) >= 1.0 && hogged.what.contains("busy thread on each"), "{delayed:#?}");
    // The way through the proxy stands until the loads have ended.
    let totals = &recorded.loads[0].totals;
    assert!(totals.completed > 500 && totals.errors == 0, "{totals:#?}");
    assert!(recorded.loads[0].command.contains("--resolve"), "{}", recorded.loads[0].command);
    assert!(!recorded.events.iter().any(|e| e.kind.is_hang() || e.kind == EventKind::ServerEnded));
    assert!("SR".contains(state(server.id())), "{}", state(server.id()));
}

#[test]
fn a_server_that_was_running_already_goes_on_when_the_soak_is_killed_in_a_fault() {
    let dir = tempfile::tempdir().unwrap();
    let (server, address) = super::server::start("nothing");
    let (url, pid) = (format!("http://{address}/"), server.id());
    let number = pid.to_string();
    let mut lab = silent(of_running(dir.path(), &url, ["--pid", &number], "1h", &["stop --at 1s --for 10m"]));
    until_some("it is stopped", || (state(pid) == 'T').then_some(()));
    lab.kill();
    until_some("it goes on", || (state(pid) != 'T').then_some(()));
}

#[test]
fn a_fault_of_a_process_that_is_gone_meanwhile_is_not_made_and_others_are() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.pitot");
    let (_server, address) = super::server::start("nothing");
    let mut process = Running::start(Command::new("sleep").arg("600"));
    let (url, pid) = (format!("http://{address}/"), process.id().to_string());
    let mut lab = of_running(dir.path(), &url, ["--pid", &pid], "10s", &["stop --at 6s", "latency --at 8s"]);
    let lab = lab.spawn().unwrap();
    until_some("it has begun", || Soak::open(&path).ok().filter(|soak| !soak.intervals.is_empty()));
    process.kill();
    let output = lab.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    let faults = Soak::open(&path).unwrap().faults;
    let [stopped, delayed] = &faults[..] else { panic!("{faults:#?}") };
    assert!(!stopped.was_made && stopped.what == "the server's process has ended", "{stopped:#?}");
    assert!(delayed.was_made, "{delayed:#?}");
}

#[needs("control-groups")]
#[test]
fn a_unit_is_killed_and_what_its_supervisor_starts_is_found_and_counts_as_no_end_of_its_own() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.pitot");
    let (mut server, address) = super::server::start("nothing");
    let (group, url) = (super::runs::Group::new(), format!("http://{address}/"));
    group.enter(&server);
    let mut lab = silent(of_running(dir.path(), &url, ["--unit", group.dir()], "1h", &["kill --at 2s"]));
    server.wait().unwrap();
    let event = |kind| Soak::open(&path).ok()?.events.into_iter().find(|event| event.kind == kind);
    let ended = until_some("its end is an event", || event(EventKind::ServerEnded));
    assert!(ended.sentence.contains("has ended in the fault kill; the load continues"), "{ended:?}");
    let again = Running::start(Command::new("sleep").arg("600"));
    group.enter(&again);
    until_some("its new start is an event", || event(EventKind::ServerRestarted));
    signal(lab.id(), Signal::INT);
    assert_eq!(lab.wait().unwrap().code(), Some(1));
    let recorded = Soak::open(&path).unwrap();
    assert_eq!(recorded.subjects[0].endings, Endings::default(), "{:?}", recorded.events);
    assert!(
        recorded.faults[0].was_made && recorded.faults[0].what.contains("SIGKILL"),
        "{:?}",
        recorded.faults
    );
    drop(again);
}

#[test]
fn what_cannot_be_done_to_a_server_that_runs_is_refused_before_the_soak() {
    let dir = tempfile::tempdir().unwrap();
    let (server, address) = super::server::start("nothing");
    let (url, pid, own) =
        (format!("http://{address}/"), server.id().to_string(), std::process::id().to_string());
    for (pid, fault, more, why) in [
        ("", "stop", "", "the processes of the server are not known"),
        ("", "cpu-hog", "", "the processes of the server are not known"),
        (&*pid, "kill", "", "nothing is known to restart"),
        (&own, "stop", "", "the soak itself is among"),
        (&pid, "restart", "", "only be restarted by"),
        (&pid, "dns-fails", "", "the resolver of a plan"),
        (&pid, "disk-full", "", "--dir /mnt/data"),
        (&pid, "disk-full --dir /tmp", "", "other programs need"),
        (&pid, "stop --dir /x", "", "--dir does not apply"),
        (&pid, "stop --at 30m", "", "the soak ends after 5 s"),
        (&pid, "latency", "-c 1 http://127.0.0.1:1/", "goes elsewhere: http://127.0.0.1:1/"),
        (&pid, "latency", "-c 1 --unix /x", "goes elsewhere: --unix"),
    ] {
        let mut arguments = vec![&*url, "--for", "5s", "-o", "a.pitot", "--fault", fault];
        arguments.extend([pid].iter().filter(|pid| !pid.is_empty()).flat_map(|pid| ["--pid", *pid]));
        arguments.extend([more].iter().filter(|more| !more.is_empty()).flat_map(|more| ["--load", *more]));
        let output = soak(dir.path(), &arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", text(&output));
        assert!(text(&output).contains(why), "{arguments:?}: {}", text(&output));
    }
    for fault in ["half-open", "slow-readers"] {
        let arguments = [&*url.replace("http:", "redis:"), "--for", "5s", "-o", "a.pitot", "--fault", fault];
        let output = soak(dir.path(), &arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", text(&output));
        assert!(text(&output).contains("its clients speak HTTP"), "{}", text(&output));
    }
    assert!(!dir.path().join("a.pitot").exists());
}
