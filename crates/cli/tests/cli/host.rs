//! `pitot host apply`, `status` and `undo`, in namespaces of their own: no test changes a setting of this machine.
//!
//! What needs namespaces runs this program again inside them, for that test alone.

mod full;
mod namespaces;
mod runs;
mod search;
mod strangers;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use namespaces::{Place, in_namespaces, set_by_hand, sysctl};
use pitot_needs::needs;
use serde_json::Value;

use crate::support::{PITOT, stderr, stdout, until};

/// Every parameter of the network, every feature of the loopback, and what is mounted.
fn snapshot() -> BTreeMap<String, String> {
    fn walk(dir: &Path, found: &mut BTreeMap<String, String>) {
        for entry in fs::read_dir(dir).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                walk(&path, found);
            } else if let Ok(text) = fs::read_to_string(&path) {
                found.insert(path.display().to_string(), text);
            }
        }
    }
    let mut found = BTreeMap::new();
    walk(Path::new("/proc/sys/net"), &mut found);
    for feature in pitot_sys::ethtool::features("lo").unwrap() {
        found.insert(feature.name.clone(), format!("{feature:?}"));
    }
    // Network namespaces of other tests come and go.
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    found.insert("mounts".into(), mounts.lines().filter(|line| !line.starts_with("nsfs ")).collect());
    found
}

const CHANGES: &[&str] = &[
    "net.ipv4.tcp_timestamps=0",
    "net.ipv4.tcp_sack=0",
    "net.ipv4.tcp_rmem=4096 10000 20000",
    "net.ipv4.ip_local_port_range=1024 65535",
    "net.ipv4.ip_local_reserved_ports=8080",
    "nic.lo.gso=off",
    "nic.lo.tso=off",
    "net.core.somaxconn=128",
    "net.core.somaxconn=256",
];

#[needs("user-namespaces")]
#[test]
fn what_is_applied_is_in_force_and_undone_to_the_byte() {
    in_namespaces("what_is_applied_is_in_force_and_undone_to_the_byte", |place| {
        let before = snapshot();
        let (applied, code) = place.json(&[&["apply"], CHANGES].concat());
        assert_eq!((code, applied["settings"][0]["now"].as_str()), (0, Some("0")));
        assert_eq!(
            (sysctl("net.ipv4.tcp_timestamps"), sysctl("net.core.somaxconn")),
            ("0".into(), "256".into())
        );
        let (status, code) = place.json(&["status"]);
        let states: Vec<_> =
            status["changes"].as_array().unwrap().iter().map(|c| c["state"].as_str()).collect();
        assert!(code == 0 && states.iter().all(|state| *state == Some("in-force")), "{status:#}");
        let (_, code) = place.json(&["undo"]);
        assert_eq!((code, snapshot()), (0, before));
        assert_eq!(fs::metadata(&place.journal).unwrap().len(), 0);
        let text = place.run(&["undo"]).stdout;
        assert_eq!(String::from_utf8_lossy(&text), "nothing to undo\n");
    });
}

#[needs("user-namespaces")]
#[test]
fn after_a_kill_at_any_moment_undo_restores_everything() {
    in_namespaces("after_a_kill_at_any_moment_undo_restores_everything", |place| {
        let before = snapshot();
        let apply = [&["apply"], CHANGES].concat();
        for step in 0..10 {
            let is_undo = step % 2 == 1;
            if is_undo {
                assert!(place.run(&apply).status.success());
            }
            let mut child = place.command(if is_undo { &["undo"] } else { &apply }).spawn().unwrap();
            // How far it gets depends on the machine, and any moment is as good. At the latest it is killed when it has
            // ended.
            let moment = Instant::now() + Duration::from_millis(step * 3);
            while Instant::now() < moment && child.try_wait().unwrap().is_none() {
                std::thread::yield_now();
            }
            child.kill().unwrap();
            child.wait().unwrap();
            let undone = place.run(&["undo"]);
            assert_eq!(undone.status.code(), Some(0), "{}", stdout(&undone));
            assert_eq!(snapshot(), before, "after kill {step}");
        }
    });
}

#[needs("user-namespaces")]
#[test]
fn what_somebody_else_has_changed_since_is_kept_and_named() {
    in_namespaces("what_somebody_else_has_changed_since_is_kept_and_named", |place| {
        assert!(place.run(&["apply", "net.core.somaxconn=128", "net.ipv4.tcp_sack=0"]).status.success());
        set_by_hand("net.core.somaxconn", "77");
        let status = place.run(&["status"]);
        assert!(stdout(&status).contains("CHANGED BY ANOTHER PROGRAM SINCE to 77"));
        assert_eq!(status.status.code(), Some(1));
        let (undone, code) = place.json(&["undo"]);
        assert_eq!(code, 1);
        assert_eq!(undone["changes"][1]["outcome"], "kept");
        assert_eq!((sysctl("net.core.somaxconn"), sysctl("net.ipv4.tcp_sack")), ("77".into(), "1".into()));
        assert_eq!(place.json(&["undo"]).1, 0, "it was told once");
    });
}

#[needs("user-namespaces")]
#[test]
fn with_a_time_it_is_undone_by_itself_and_a_later_change_stays() {
    in_namespaces("with_a_time_it_is_undone_by_itself_and_a_later_change_stays", |place| {
        let found = sysctl("net.core.somaxconn");
        assert!(
            place
                .run(&["apply", "net.core.somaxconn=128", "net.ipv4.tcp_sack=0", "--for", "500ms"])
                .status
                .success()
        );
        assert!(place.run(&["apply", "net.core.somaxconn=256"]).status.success());
        until("it is undone", || sysctl("net.ipv4.tcp_sack") == "1");
        // The lock is free when it is done.
        assert_eq!(place.run(&["apply", "net.core.somaxconn=256"]).status.code(), Some(0));
        assert_eq!(sysctl("net.core.somaxconn"), "256");
        assert_eq!(place.json(&["undo"]).1, 0);
        assert_eq!(sysctl("net.core.somaxconn"), found);
    });
}

#[needs("user-namespaces")]
#[test]
fn with_a_time_it_is_undone_though_apply_was_killed() {
    in_namespaces("with_a_time_it_is_undone_though_apply_was_killed", |place| {
        let before = snapshot();
        let apply = [&["apply", "--for", "300ms"], CHANGES].concat();
        for step in 0..4 {
            let mut child = place.command(&apply).spawn().unwrap();
            std::thread::sleep(Duration::from_millis(step * 4));
            child.kill().unwrap();
            child.wait().unwrap();
            until(&format!("what kill {step} has left is undone"), || {
                snapshot() == before
                    && !fs::metadata(&place.journal).is_ok_and(|journal| has_changes(&journal, place))
            });
        }
    });
}

/// Whether something is left to undo.
fn has_changes(journal: &fs::Metadata, place: &Place) -> bool {
    journal.len() > 0
        && place.json(&["status"]).0["changes"].as_array().is_some_and(|changes| !changes.is_empty())
}

#[needs("user-namespaces")]
#[test]
fn a_timer_that_was_killed_is_told_and_one_that_is_not_needed_ends() {
    in_namespaces("a_timer_that_was_killed_is_told_and_one_that_is_not_needed_ends", |place| {
        let timer = || {
            assert!(place.run(&["apply", "net.core.somaxconn=128", "--for", "1h"]).status.success());
            let (status, code) = place.json(&["status"]);
            assert_eq!((code, &status["timers"][0]["is_alive"]), (0, &Value::Bool(true)));
            i32::try_from(status["timers"][0]["pid"].as_i64().unwrap()).unwrap()
        };
        let gone = |pid: i32| {
            let path = format!("/proc/{pid}/stat");
            until("the process ends", || {
                fs::read_to_string(&path).map_or(true, |stat| stat.contains(") Z "))
            });
        };
        let pid = rustix::process::Pid::from_raw(timer()).unwrap();
        // It has no terminal to lose.
        rustix::process::kill_process(pid, rustix::process::Signal::HUP).unwrap();
        assert_eq!(place.json(&["status"]).1, 0);
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        gone(pid.as_raw_nonzero().get());
        let status = place.run(&["status"]);
        assert_eq!(status.status.code(), Some(1));
        assert!(stdout(&status).contains("WHICH IS GONE: run `pitot host undo`"));
        assert!(place.run(&["undo"]).status.success());
        let pid = timer();
        assert!(place.run(&["undo"]).status.success());
        gone(pid);
    });
}

#[needs("user-namespaces")]
#[test]
fn what_cannot_be_set_changes_nothing_and_two_at_once_wait_for_each_other() {
    in_namespaces("what_cannot_be_set_changes_nothing_and_two_at_once_wait_for_each_other", |place| {
        let before = snapshot();
        for (change, word) in [
            ("net.ipv4.tcp_congestion_control=nonsense", "refuses"),
            ("net.ipv4.nothing=1", "no such setting"),
            ("net.core.wmem_max=1", "only be read"),
            ("nic.nothing.gro=off", "no interface"),
            ("nic.lo.rx-ring=5", "driver"),
            ("vm.swappiness=1", "vm.swappiness cannot be"),
            ("vm.drop_caches=1", "without a value"),
            ("nothing=1", "no setting"),
        ] {
            let output = place.run(&["apply", "net.ipv4.tcp_sack=0", change]);
            let text = stderr(&output);
            assert_eq!(output.status.code(), Some(2), "{change}: {text}");
            assert!(text.contains(word) && text.lines().count() == 2, "{change}: {text}");
            assert_eq!(snapshot(), before, "{change}");
        }
        let children: Vec<_> = (0..6)
            .map(|n| place.command(&["apply", &format!("net.core.somaxconn={}", 100 + n)]).spawn().unwrap())
            .collect();
        for child in children {
            assert!(child.wait_with_output().unwrap().status.success());
        }
        let (status, _) = place.json(&["status"]);
        assert_eq!(status["changes"].as_array().unwrap().len(), 6);
        assert_eq!(place.json(&["undo"]).1, 0);
        assert_eq!(snapshot(), before);
    });
}

#[needs("user-namespaces", "ip")]
#[test]
fn queues_of_a_pair_of_interfaces_are_set_and_undone() {
    in_namespaces("queues_of_a_pair_of_interfaces_are_set_and_undone", |place| {
        let many = ["numrxqueues", "4", "numtxqueues", "4"];
        let pair = [&["link", "add", "pa"], &many[..], &["type", "veth", "peer", "name", "pb"]].concat();
        // A kernel may be without such pairs.
        if !Command::new("ip").args(pair).output().unwrap().status.success() {
            return;
        }
        let queues = || {
            let fields = pitot_sys::ethtool::FIELDS.iter().filter(|field| field.name.ends_with("x-queues"));
            fields.map(|field| field.read("pa").unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(queues(), [4, 4]);
        let applied = place.run(&["apply", "nic.pa.queues=2"]);
        assert!(applied.status.success(), "{}", stderr(&applied));
        assert_eq!(queues(), [2, 2]);
        let refused = place.run(&["apply", "nic.pa.queues=9"]);
        assert!(
            refused.status.code() == Some(2) && stderr(&refused).contains("at most 4"),
            "{}",
            stderr(&refused)
        );
        assert_eq!(place.json(&["undo"]).1, 0);
        assert_eq!(queues(), [4, 4]);
    });
}

#[needs("user-namespaces")]
#[test]
fn a_profile_names_what_is_not_there_and_what_no_longer_exists() {
    in_namespaces("a_profile_names_what_is_not_there_and_what_no_longer_exists", |place| {
        let before = snapshot();
        let output = place.run(&["apply", "--profile", "memcached-2009", "--dry-run"]);
        assert_eq!(snapshot(), before);
        assert!(stdout(&output).contains("would be changed"), "{}", stderr(&output));
        let (applied, code) = place.json(&["apply", "--profile", "memcached-2009"]);
        assert_eq!(code, 0);
        let outcome = |key: &str| {
            let settings = applied["settings"].as_array().unwrap();
            settings.iter().find(|s| s["key"] == key).map(|s| s["outcome"].as_str().unwrap().to_owned())
        };
        assert_eq!(outcome("net.ipv4.tcp_sack").as_deref(), Some("changed"));
        assert_eq!(outcome("net.core.wmem_max").as_deref(), Some("left-out"));
        assert!(applied["notes"].to_string().contains("InterruptThrottleRate"));
        assert_eq!(place.json(&["undo"]).1, 0);
        assert_eq!(snapshot(), before);
    });
}

#[test]
fn a_journal_of_an_earlier_boot_is_cleared_and_a_damaged_one_named() {
    let dir = tempfile::tempdir().unwrap();
    let place = Place { journal: dir.path().join("journal") };
    let earlier = r#"{"record":"journal","version":1,"boot_id":"earlier"}
{"record":"change","id":1,"batch":1,"key":"vm.swappiness","found":"1","set":"2","by":"a user","at":"then"}
"#;
    fs::write(&place.journal, earlier).unwrap();
    let status = place.run(&["status"]);
    assert!(stdout(&status).contains("rebooted"));
    let undone = place.run(&["undo"]);
    assert!(stdout(&undone).contains("which undid 1 change"));
    assert_eq!((undone.status.code(), fs::metadata(&place.journal).unwrap().len()), (Some(0), 0));
    let damaged = |boot: &str| {
        format!("{{\"record\":\"journal\",\"version\":1,\"boot_id\":\"{}\"}}\nnonsense\n", boot.trim())
    };
    // The loss of power may tear a line. There is nothing to undo then.
    fs::write(&place.journal, damaged("earlier")).unwrap();
    assert_eq!(place.run(&["undo"]).status.code(), Some(0));
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    fs::write(&place.journal, damaged(&boot)).unwrap();
    let undone = place.run(&["undo"]);
    assert!(stderr(&undone).contains("line 2 of the journal"), "{}", stderr(&undone));
    assert_eq!(undone.status.code(), Some(1));
}

#[needs("user-namespaces")]
#[test]
fn a_machine_that_was_made_wrong_in_ten_ways_has_all_ten_named_and_fixed() {
    in_namespaces("a_machine_that_was_made_wrong_in_ten_ways_has_all_ten_named_and_fixed", |place| {
        let faults = [
            ("somaxconn", "net.core.somaxconn", "8"),
            ("syn-backlog", "net.ipv4.tcp_max_syn_backlog", "8"),
            ("syncookies", "net.ipv4.tcp_syncookies", "0"),
            ("abort-on-overflow", "net.ipv4.tcp_abort_on_overflow", "1"),
            ("port-range", "net.ipv4.ip_local_port_range", "40000 40100"),
            ("moderate-rcvbuf", "net.ipv4.tcp_moderate_rcvbuf", "0"),
            ("tcp-rmem", "net.ipv4.tcp_rmem", "4096 8192 16384"),
            ("sack", "net.ipv4.tcp_sack", "0"),
            ("window-scaling", "net.ipv4.tcp_window_scaling", "0"),
            ("timestamps", "net.ipv4.tcp_timestamps", "0"),
        ];
        let wrong = || -> Vec<String> {
            let (checked, _) = place.json(&["check"]);
            let rules = checked["rules"].as_array().unwrap().iter().filter(|rule| rule["verdict"] == "wrong");
            rules.map(|rule| rule["rule"].as_str().unwrap().to_owned()).collect()
        };
        let before = wrong();
        for (_, name, value) in faults {
            set_by_hand(name, value);
        }
        let found = wrong();
        for (rule, ..) in faults {
            assert!(found.iter().any(|name| name == rule), "{rule} is not among {found:?}");
            assert!(!before.iter().any(|name| name == rule), "{rule} was wrong before");
        }
        assert_eq!(place.json(&["check", "--for", "http"]).1, 1);
        let text = String::from_utf8(place.run(&["check"]).stdout).unwrap();
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("WRONG somaxconn: 8; wanted: at least 4096"), "{text}");
        assert!(text.contains("pitot host apply"), "{text}");
        // What Pitot says that it can fix, it can.
        let fixed = snapshot();
        let rules: Vec<&str> = faults.iter().map(|(rule, ..)| *rule).collect();
        assert!(place.run(&[&["apply"], &rules[..]].concat()).status.success());
        let left = wrong();
        assert!(rules.iter().all(|rule| left.iter().all(|name| name != rule)), "{left:?}");
        assert_eq!(place.json(&["undo"]).1, 0);
        assert_eq!(snapshot(), fixed);
    });
}

#[needs("user-namespaces")]
#[test]
fn what_check_offers_of_every_rule_is_what_apply_takes() {
    in_namespaces("what_check_offers_of_every_rule_is_what_apply_takes", |place| {
        // Of the namespace, so that there is something to offer on any machine.
        set_by_hand("net.ipv4.tcp_sack", "0");
        set_by_hand("net.ipv4.tcp_timestamps", "0");
        let (checked, _) = place.json(&["check"]);
        let mut offered = 0;
        for rule in checked["rules"].as_array().unwrap().iter().filter(|rule| rule["fix"].is_string()) {
            let name = rule["rule"].as_str().unwrap();
            if rule["can_apply"] == true {
                offered += 1;
                let settings = rule["settings"].as_array().unwrap();
                let is_ours = |setting: &Value| setting["key"].as_str().unwrap().starts_with("net.");
                assert!(!settings.is_empty() && settings.iter().all(is_ours), "read-only: {rule:#}");
                let applied = place.run(&["apply", name]);
                assert_eq!(applied.status.code(), Some(0), "{name}: {}", stderr(&applied));
                assert_eq!(place.json(&["undo"]).1, 0, "{name}");
            } else {
                assert!(rule["settings"].as_array().unwrap().is_empty(), "{rule:#}");
            }
        }
        assert!(offered >= 2, "{checked:#}");
    });
}

#[test]
fn a_check_needs_no_rights_and_shows_every_rule() {
    let dir = tempfile::tempdir().unwrap();
    let place = Place { journal: dir.path().join("journal") };
    let (checked, code) = place.json(&["check", "--for", "load"]);
    let rules = checked["rules"].as_array().unwrap();
    assert!(rules.len() >= 45 && checked["for"] == "load");
    let is_wrong = rules.iter().any(|rule| rule["verdict"] == "wrong");
    assert_eq!(code, i32::from(is_wrong));
    for rule in rules {
        let is_seen = ["fine", "wrong", "consider"].contains(&rule["verdict"].as_str().unwrap());
        assert!(is_seen == rule["found"].is_string() && is_seen == rule["reason"].is_null(), "{rule}");
        assert!(["wanted", "why", "source", "evidence"].iter().all(|key| rule[key].is_string()), "{rule}");
    }
    let all = String::from_utf8(place.run(&["check", "--all"]).stdout).unwrap();
    let (all_json, _) = place.json(&["check"]);
    for rule in all_json["rules"].as_array().unwrap() {
        assert!(all.contains(&format!(" {}: ", rule["rule"].as_str().unwrap())), "{rule}");
    }
    let words = all.split_whitespace().collect::<Vec<_>>().join(" ");
    let wanted = words.matches("; wanted: ").count() + words.matches("; could be: ").count();
    assert_eq!(wanted, all_json["rules"].as_array().unwrap().len(), "{all}");
    assert!(all.lines().all(|line| !line.contains('\x1b')), "no colours into a pipe");
    let refused = place.run(&["apply", "somaxcon"]);
    assert!(stderr(&refused).contains("did you mean `somaxconn`?") && refused.status.code() == Some(2));
    let rules = all_json["rules"].as_array().unwrap();
    let by_hand = |rule: &&Value| rule["fix"].is_string() && rule["can_apply"] == false;
    for rule in rules.iter().filter(by_hand) {
        let name = rule["rule"].as_str().unwrap();
        let refused = place.run(&["apply", name]);
        // What is a matter of the moment, such as the load, may have changed since.
        if refused.status.code() != Some(0) {
            assert_eq!(refused.status.code(), Some(2), "{name}: {}", stderr(&refused));
            assert!(stderr(&refused).contains(name), "{}", stderr(&refused));
        }
    }
}

/// A copy of the program that any user may execute.
fn program_for_anybody(dir: &Path) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let copy = dir.join("pitot");
    fs::copy(PITOT, &copy).unwrap();
    for path in [dir, &copy] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    copy
}

#[needs("setpriv", "other-users")]
#[test]
fn without_rights_what_can_be_read_is_checked_and_the_right_that_is_missing_is_named() {
    // Root becomes nobody; anybody else has no rights to begin with.
    let dir = tempfile::tempdir().unwrap();
    let program = program_for_anybody(dir.path());
    let pitot = |arguments: &[&str]| -> Output {
        let mut command = if rustix::process::geteuid().is_root() {
            let mut command = Command::new("setpriv");
            command
                .args(["--reuid", "65534", "--regid", "65534", "--clear-groups", "--inh-caps=-all"])
                .arg(&program);
            command
        } else {
            Command::new(&program)
        };
        command.args(arguments).env("PITOT_HOST_JOURNAL", dir.path().join("journal"));
        command.current_dir("/").stdin(Stdio::null()).output().unwrap()
    };
    let run = |arguments: &[&str]| pitot(&[&["host"], arguments].concat());
    let checked = run(&["check", "--format", "json"]);
    let json: Value = serde_json::from_slice(&checked.stdout).unwrap();
    let verdict = |name: &str| {
        let rules = json["rules"].as_array().unwrap();
        rules.iter().find(|rule| rule["rule"] == name).unwrap()["verdict"].as_str().unwrap().to_owned()
    };
    assert!(["fine", "wrong"].contains(&verdict("somaxconn").as_str()));
    assert!(["fine", "wrong"].contains(&verdict("sack").as_str()));
    assert!([Some(0), Some(1)].contains(&checked.status.code()));
    let other = if sysctl("net.ipv4.tcp_sack") == "1" { "0" } else { "1" };
    for (change, right) in [
        (format!("net.ipv4.tcp_sack={other}"), "CAP_NET_ADMIN"),
        ("vm.swappiness=42".to_owned(), "needs root"),
        ("nic.lo.tx-queue-len=77".to_owned(), "CAP_NET_ADMIN"),
    ] {
        let before = (sysctl("net.ipv4.tcp_sack"), sysctl("vm.swappiness"));
        let output = run(&["apply", &change]);
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{change}: {text}");
        assert!(text.contains(right) && text.contains("run it as root"), "{change}: {text}");
        assert_eq!(before, (sysctl("net.ipv4.tcp_sack"), sysctl("vm.swappiness")));
    }
    let setting = format!("net.ipv4.tcp_sack={other}");
    for arguments in [
        &["host", "apply", "--profile", "memcached-2009"][..],
        &["host", "apply", &setting, "--dry-run"],
        &["tune", "try", &setting],
        &["tune", "search", "--for", "memcached-2009", "--output", "/nowhere/out"],
    ] {
        let output = pitot(arguments);
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {text}");
        assert!(text.lines().count() == 2, "{arguments:?}: {text}");
    }
    assert!(stderr(&pitot(&["tune", "try", &setting])).contains("CAP_NET_ADMIN"));
    let plan = dir.path().join("plan.toml");
    let text = format!(
        "[server]\nprotocol = \"http\"\n[load]\nconnections = 2\n[factors]\nserver = [\"loop+epoll-et\"]\n\
         host.\"net.ipv4.tcp_sack\" = [\"found\", {other}]\n"
    );
    fs::write(&plan, text).unwrap();
    fs::set_permissions(&plan, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    let shown = pitot(&["run", plan.to_str().unwrap(), "--dry-run"]);
    let text = format!("{}{}", stdout(&shown), stderr(&shown));
    assert!(text.contains("cannot be changed by this user") && text.contains("CAP_NET_ADMIN"), "{text}");
    assert!(!dir.path().join("journal").exists(), "nothing was begun");
    assert_eq!(run(&["status"]).status.code(), Some(0));
    assert_eq!(run(&["undo"]).status.code(), Some(0));
}

#[needs("user-namespaces")]
#[test]
fn what_is_set_at_every_boot_is_in_files_until_it_is_undone() {
    in_namespaces("what_is_set_at_every_boot_is_in_files_until_it_is_undone", |place| {
        let file = "/etc/sysctl.d/90-pitot.conf";
        let lines = || fs::read_to_string(file).unwrap_or_default();
        let somaxconn = sysctl("net.core.somaxconn");
        let refused = place.run(&["apply", "nic.lo.gso=off", "--persist"]);
        assert_eq!(refused.status.code(), Some(2), "{}", stderr(&refused));
        assert!(stderr(&refused).contains("cannot be applied at boot"), "{}", stderr(&refused));
        let foreseen = place.run(&["apply", "net.core.somaxconn=77", "--persist", "--dry-run"]);
        assert!(foreseen.status.success() && lines().is_empty(), "{}", stderr(&foreseen));
        for (change, line) in [
            ("net.core.somaxconn=77", "net/core/somaxconn = 77"),
            ("net.ipv4.tcp_sack=0", "net/ipv4/tcp_sack = 0"),
        ] {
            let applied = place.run(&["apply", change, "--persist"]);
            assert!(applied.status.success(), "{}", stderr(&applied));
            assert!(lines().lines().any(|of_file| of_file == line), "{}", lines());
        }
        assert_eq!(lines().lines().count(), 3, "{}", lines());
        assert_eq!(sysctl("net.core.somaxconn"), "77");
        let undone = place.run(&["undo"]);
        assert!(undone.status.success(), "{}", stderr(&undone));
        assert_eq!((fs::exists(file).unwrap(), sysctl("net.core.somaxconn")), (false, somaxconn));
    });
}

#[needs("user-namespaces")]
#[test]
fn a_file_that_is_read_at_boot_is_named_and_told_of_where_it_stays() {
    in_namespaces("a_file_that_is_read_at_boot_is_named_and_told_of_where_it_stays", |place| {
        let file = "/etc/sysctl.d/90-pitot.conf";
        let said = |arguments: &[&str]| stdout(&place.run(arguments)).to_owned();
        let applied = said(&["apply", "net.core.somaxconn=77", "--persist"]);
        assert!(applied.contains(&format!("{file}: nothing -> 2 lines")), "{applied}");
        assert!(said(&["status"]).contains(file));
        let own = format!("{}net/ipv4/tcp_sack = 0\n", fs::read_to_string(file).unwrap());
        fs::write(file, own).unwrap();
        let undone = said(&["undo"]);
        let expected = format!("{file}: LEFT ALONE at 3 lines: ");
        assert!(undone.contains(&expected) && undone.contains("IT IS READ AT EVERY BOOT"), "{undone}");
    });
}

#[needs("user-namespaces")]
#[test]
fn what_a_profile_cannot_set_here_is_said_and_a_dry_run_says_the_same() {
    in_namespaces("what_a_profile_cannot_set_here_is_said_and_a_dry_run_says_the_same", |place| {
        let read_only = "mount --bind /proc/sys/net /proc/sys/net && mount -o remount,bind,ro /proc/sys/net";
        assert!(Command::new("sh").args(["-c", read_only]).status().unwrap().success());
        let of = |more: &[&str]| {
            let output = place.run(&[&["apply", "--profile", "web"], more].concat());
            stdout(&output).to_owned()
        };
        let applied = of(&[]);
        assert!(applied.contains("net.core.somaxconn: skipped, it is mounted read-only"), "{applied}");
        assert!(
            applied.contains("nothing can be changed here: ") && applied.contains("skipped\n"),
            "{applied}"
        );
        assert_eq!(of(&["--dry-run"]), applied);
    });
}

#[test]
fn a_profile_or_a_rule_that_is_typed_as_something_else_is_led_to_what_is_meant() {
    for (word, what, fix) in [
        ("web", "web is a profile", "pitot host apply --profile web"),
        (
            "somaxconn=9999",
            "somaxconn is a rule, which takes no value: it is about net.core.somaxconn",
            "apply somaxconn",
        ),
    ] {
        let refused = Command::new(PITOT).args(["host", "apply", word, "--dry-run"]).output().unwrap();
        assert_eq!(refused.status.code(), Some(2), "{}", stderr(&refused));
        assert!(stderr(&refused).contains(what) && stderr(&refused).contains(fix), "{}", stderr(&refused));
    }
}
