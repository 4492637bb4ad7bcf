//! Faults in runs with the real program: each is made, taken back and recorded, and the times that a report gives agree with
//! those of the fault.

mod kept;
mod loss;

use std::cell::RefCell;
use std::collections::HashSet;
use std::path::Path;
use std::process::{Command, Output};

use pitot_lab::{Repetition, Run};
use pitot_needs::needs;
use serde_json::Value;

const PITOT: &str = env!("CARGO_BIN_EXE_pitot");

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// The load that these faults are felt by.
fn load(faults: &str) -> &'static str {
    if faults.contains("\"descriptors\"") {
        // Connections that are open need no descriptor.
        return "size = \"1KiB\"\nrequests-per-connection = 20\n";
    }
    if faults.contains("\"latency\"") || faults.contains("\"bandwidth\"") {
        // A rate that is the same before and after, whatever else the machine does.
        return "size = \"1KiB\"\nrate = 1000\n";
    }
    match faults.contains("\"dns-") {
        // One that looks the server up for each request.
        true => {
            "url = \"http://www.test:{port}/bytes/1024\"\nresolver = \"{resolver}\"\nrequests-per-connection = 1\n"
        }
        false => "size = \"1KiB\"\n",
    }
}

/// Runs a plan with these faults on these servers, and returns the JSON report and the directory of the run.
fn run(faults: &str, servers: &str, duration: &str) -> (Value, tempfile::TempDir) {
    let dir = tempfile::tempdir().unwrap();
    let plan = format!(
        "repetitions = 1\nduration = \"{duration}\"\nwarmup = \"100ms\"\n{faults}\n[server]\nprotocol = \"http\"\n\
         [load]\n{}connections = 8\n[factors]\nserver = [{servers}]\n",
        load(faults)
    );
    std::fs::write(dir.path().join("plan.toml"), plan).unwrap();
    let output = pitot(dir.path(), &["run", "plan.toml", "-o", "run.pitot"]);
    assert!(output.status.success(), "{}", text(&output));
    let report = pitot(dir.path(), &["report", "run.pitot", "--format", "json"]);
    (serde_json::from_slice(&report.stdout).unwrap(), dir)
}

fn pitot(dir: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(PITOT);
    command.args(arguments).current_dir(dir).env("TMPDIR", dir);
    command.env("PITOT_HOST_JOURNAL", dir.join("journal")).output().unwrap()
}

fn seconds(fault: &Value, name: &str) -> f64 {
    fault[name].as_f64().unwrap_or_else(|| panic!("no {name}: {fault:#}"))
}

/// So near to what is known have the times to be that a report gives.
const NEAR_S: f64 = 0.1;

/// How far a report is from what is known of when service was back, in seconds. The fault itself has said when it began and ended.
fn off_s(fault: &Value) -> f64 {
    let service = &fault["service"];
    // On a machine that has no time for it, it may not have been made, or there were too few replies to judge by.
    let [Some(began), Some(ended), Some(first_reply)] =
        [&fault["began_s"], &fault["ended_s"], &service["first_reply_s"]].map(Value::as_f64)
    else {
        return f64::INFINITY;
    };
    let late_s = first_reply - (ended - began);
    match fault["kind"].as_str().unwrap() {
        // Replies go on, fewer of them; as many as before are there when it is over.
        "latency" | "bandwidth" => {
            service["full_rate_s"].as_f64().map_or(f64::INFINITY, |full| (full - (ended - began)).abs())
        }
        // The acceptor of `fork` holds no connection. Its limit is what it had open at that moment: with a connection that it was
        // handing over it accepts on, and without one nobody new is served until the end.
        "descriptors" if server_of(fault) == "\"fork\"" => first_reply.min(late_s.abs()),
        // Others are served meanwhile; of descriptors, those to whom a connection that closed has left one.
        "slow-readers" | "half-open" | "garbage" | "cpu-hog" | "memory" | "descriptors" => first_reply,
        "kill" if fault["server_died"] == false => first_reply,
        // A server that is started again may answer others before it answers the lab, which says then that it is there.
        "kill" | "restart" => late_s.max(0.0),
        // Clients ask again every half a second.
        _ if fault["what"].as_str().is_some_and(|what| what.ends_with("get no reply")) => {
            (late_s - 0.5).max(0.0)
        }
        _ => late_s.abs(),
    }
}

/// The server of a fault, as a plan names it.
fn server_of(fault: &Value) -> String {
    fault["factors"]["server"].to_string()
}

/// The faults of runs in which each of them was once as near to what is known of it as [`NEAR_S`], and the directory of the first run.
fn run_in_time(faults: &str, servers: &str, duration: &str) -> (Vec<Value>, tempfile::TempDir) {
    until_right(servers, &|fault| off_s(fault) <= NEAR_S, &mut |servers| run(faults, servers, duration))
}

/// The faults of runs in which each was once right, and the directory of the first run. A machine on which something else runs may
/// stop anybody for so long: then the run is made again, with the servers that had a wrong one, whose faults are those of their last
/// run. What is wrong in five of five shows that it is not the machine.
fn until_right(
    servers: &str,
    is_right: &dyn Fn(&Value) -> bool,
    run: &mut dyn FnMut(&str) -> (Value, tempfile::TempDir),
) -> (Vec<Value>, tempfile::TempDir) {
    let (mut of_all, mut right, mut first) = (Vec::new(), HashSet::new(), None);
    let mut left: Vec<&str> = servers.split(", ").collect();
    for attempt in 1.. {
        let (report, dir) = run(&left.join(", "));
        first.get_or_insert(dir);
        let of_run = report["faults"].as_array().unwrap();
        of_all.retain(|fault| !left.contains(&server_of(fault).as_str()));
        of_all.extend(of_run.iter().cloned());
        let id = |fault: &Value| format!("{} of {}", fault["number"], server_of(fault));
        right.extend(of_run.iter().filter(|fault| is_right(fault)).map(id));
        let wrong: Vec<&Value> = of_run.iter().filter(|fault| !right.contains(&id(fault))).collect();
        left.retain(|server| wrong.iter().any(|fault| server_of(fault) == *server));
        if left.is_empty() {
            break;
        }
        assert!(attempt < 5, "{wrong:#?}");
    }
    (of_all, first.expect("a run was made"))
}

const FOUR: &str = "\"fork\", \"thread\", \"loop+epoll-et\", \"prefork\"";

#[test]
fn a_stopped_server_answers_again_when_it_is_continued() {
    let stop = "[[faults]]\nkind = \"stop\"\nprocess = \"all\"\nat = \"800ms\"\nfor = \"700ms\"\n";
    let (faults, dir) = run_in_time(stop, FOUR, "2200ms");
    assert_eq!(faults.len(), 4, "{faults:#?}");
    for fault in &faults {
        assert!(fault["what"].as_str().unwrap().starts_with("SIGSTOP to "), "{fault:#}");
        let lasted = seconds(fault, "ended_s") - seconds(fault, "began_s");
        assert!(lasted >= 0.7, "{fault:#}");
    }
    let run = Run::open(&dir.path().join("run.pitot")).unwrap();
    assert!(run.cells.iter().all(|cell| cell.failures().next().is_none()), "{faults:#?}");
    let shown = pitot(dir.path(), &["report", "run.pitot"]);
    assert!(text(&shown).contains("first right reply"), "{}", text(&shown));
    let page = std::fs::read_to_string(dir.path().join("run.html")).unwrap();
    assert!(page.contains("class=\"stretch fault\"") && page.contains("id=\"faults\""));
}

#[test]
fn a_killed_server_is_started_again_and_a_killed_worker_is_replaced_by_its_own() {
    let kill = "[[faults]]\nkind = \"kill\"\nat = \"800ms\"\nfor = \"400ms\"\n";
    let (faults, _dir) = run_in_time(kill, FOUR, "2200ms");
    assert_eq!(faults.len(), 4, "{faults:#?}");
    for fault in &faults {
        let server = fault["factors"]["server"].as_str().unwrap();
        let is_one_process = ["loop+epoll-et", "thread"].contains(&server);
        assert_eq!(fault["server_died"].as_bool(), Some(is_one_process), "{fault:#}");
        let errors = fault["errors"].as_array().unwrap();
        assert!(!errors.is_empty(), "nobody noticed: {fault:#}");
        // Some clients lost a connection, and service came back, if not by the lab, by itself.
        seconds(&fault["service"], "first_reply_s");
    }
}

#[test]
fn faults_on_the_way_and_restarts_meet_every_architecture() {
    let faults = "[[faults]]\nkind = \"reset\"\nat = \"600ms\"\nfor = \"400ms\"\n\
                  [[faults]]\nkind = \"black-hole\"\nat = \"1700ms\"\nfor = \"400ms\"\n\
                  [[faults]]\nkind = \"latency\"\ndelay = \"100ms\"\nat = \"2700ms\"\nfor = \"400ms\"\n\
                  [[faults]]\nkind = \"restart\"\nat = \"3700ms\"\n";
    let (faults, _dir) = run_in_time(faults, FOUR, "4500ms");
    assert_eq!(faults.len(), 16, "{faults:#?}");
    for fault in &faults {
        assert_eq!(fault["made"], true, "{fault:#}");
        let errors = fault["errors"].to_string();
        let service = &fault["service"];
        match fault["kind"].as_str().unwrap() {
            "reset" => assert!(errors.contains("ECONNRESET"), "{fault:#}"),
            "black-hole" => assert_eq!(errors, "[]", "nobody is told: {fault:#}"),
            "latency" => {
                // 8 clients, each of whose replies takes 100 ms.
                assert!(seconds(service, "during_rps") < 160.0, "{fault:#}");
                assert_eq!(errors, "[]", "{fault:#}");
            }
            "restart" => assert!(fault["what"].as_str().unwrap().contains("started again"), "{fault:#}"),
            other => panic!("{other}"),
        }
    }
}

#[test]
fn names_that_fail_or_lie_are_felt_by_new_connections_of_every_architecture() {
    let kinds = [
        ("dns-fails", "failure = \"servfail\"", Some(("resolve", "SERVFAIL"))),
        ("dns-lies", "lie = \"no-name\"", Some(("resolve", "NXDOMAIN"))),
        ("dns-lies", "lie = \"127.0.0.99\"", Some(("connect", "ECONNREFUSED"))),
        // Clients ask again later than it ends, which would be what is usual before the next one.
        ("dns-fails", "failure = \"silence\"", None),
    ];
    let faults: Vec<String> = kinds
        .iter()
        .enumerate()
        .map(|(index, (kind, option, _))| {
            let at = 600 + index * 1100;
            format!("[[faults]]\nkind = \"{kind}\"\n{option}\nat = \"{at}ms\"\nfor = \"400ms\"\n")
        })
        .collect();
    let (faults, dir) = run_in_time(&faults.concat(), FOUR, "5400ms");
    assert_eq!(faults.len(), 16, "{faults:#?}");
    for fault in &faults {
        assert_eq!((&fault["made"], &fault["server_died"]), (&true.into(), &false.into()), "{fault:#}");
        let lasted = seconds(fault, "ended_s") - seconds(fault, "began_s");
        let service = &fault["service"];
        // Nothing was answered meanwhile but what was under way, and all afterwards: nobody remembers a wrong answer.
        assert!(
            // The lab says when it is over, and it said when it should begin: the resolver may have heard that later.
            lasted >= 0.3 && seconds(service, "during_rps") < seconds(service, "before_rps") / 5.0,
            "{fault:#}"
        );
        let (_, _, error) = kinds[fault["number"].as_u64().unwrap() as usize];
        let errors = fault["errors"].as_array().unwrap();
        let is_told = errors.iter().all(|row| error == row["phase"].as_str().zip(row["kind"].as_str()));
        assert!(is_told && errors.is_empty() == error.is_none(), "{fault:#}");
    }
    let page = std::fs::read_to_string(dir.path().join("run.html")).unwrap();
    assert!(page.contains("class=\"stretch fault\"") && page.contains("SERVFAIL"));
}

#[test]
fn a_narrow_way_lets_through_what_its_rate_allows() {
    let narrow = "[[faults]]\nkind = \"bandwidth\"\nrate = \"32KiB\"\nat = \"600ms\"\nfor = \"1s\"\n";
    let (faults, _dir) = run_in_time(narrow, FOUR, "2200ms");
    assert_eq!(faults.len(), 4);
    for fault in &faults {
        // A reply is more than 1 KiB, and those under way may use what had not been used before.
        assert!(seconds(&fault["service"], "during_rps") < 64.0, "{fault:#}");
        assert_eq!(fault["errors"].to_string(), "[]", "{fault:#}");
    }
}

/// Runs uploads to these servers, the disk of which is full for a while.
fn run_with_full_disk(servers: &str) -> (Value, tempfile::TempDir) {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("body"), "x".repeat(16 << 10)).unwrap();
    let plan = format!(
        "repetitions = 1\nduration = \"2200ms\"\nwarmup = \"100ms\"\n\
         [[faults]]\nkind = \"disk-full\"\nat = \"800ms\"\nfor = \"700ms\"\n\
         [server]\nprotocol = \"http\"\nroot = \"{{dir}}/up\"\nwritable = true\n\
         [load]\nurl = \"http://{{address}}/{{0..99}}\"\nchoice = \"turn\"\nmethod = \"PUT\"\nconnections = 4\nbody = \"@{}\"\n\
         [files]\n\"up/x\" = \"x\"\n[factors]\nserver = [{servers}]\nhost.filesystem = [\"ext4\"]\n",
        dir.path().join("body").display()
    );
    std::fs::write(dir.path().join("plan.toml"), plan).unwrap();
    // The file system is mounted where nobody else sees it.
    let output = Command::new("unshare")
        .args(["--mount", PITOT, "run", "plan.toml", "-o", "run.pitot"])
        .current_dir(dir.path())
        .env("TMPDIR", dir.path())
        .env("PITOT_HOST_JOURNAL", dir.path().join("journal"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&output));
    let report = pitot(dir.path(), &["report", "run.pitot", "--format", "json"]);
    (serde_json::from_slice(&report.stdout).unwrap(), dir)
}

#[needs("root")]
#[test]
fn a_full_disk_is_told_to_those_who_upload_and_has_room_again_afterwards() {
    let (faults, _dir) = until_right(FOUR, &|fault| off_s(fault) <= NEAR_S, &mut run_with_full_disk);
    assert_eq!(faults.len(), 4, "{faults:#?}");
    for fault in &faults {
        assert_eq!((&fault["made"], &fault["server_died"]), (&true.into(), &false.into()), "{fault:#}");
        // Insufficient Storage (RFC 4918 section 11.5).
        assert!(fault["errors"].to_string().contains("status-507"), "{fault:#}");
    }
}

#[test]
fn faults_beside_the_load_and_of_the_machine_meet_every_architecture() {
    let kinds = ["slow-readers", "half-open", "garbage", "cpu-hog", "descriptors", "memory"];
    let faults: Vec<String> = kinds
        .iter()
        .enumerate()
        .map(|(index, kind)| {
            let options = match *kind {
                "descriptors" => "process = \"all\"\n",
                "memory" => "bytes = \"64MiB\"\n",
                _ => "",
            };
            format!(
                "[[faults]]\nkind = \"{kind}\"\nat = \"{}ms\"\nfor = \"400ms\"\n{options}",
                700 + index * 1100
            )
        })
        .collect();
    let listed = Command::new(PITOT).args(["list", "faults", "--format", "json"]).output().unwrap();
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    let is_possible = |kind: &Value| {
        let entry = listed.as_array().unwrap().iter().find(|fault| fault["name"] == *kind).unwrap();
        entry["available"] == true
    };
    // What has been felt of it, by cell and kind, in all runs together.
    let felt: RefCell<HashSet<(String, String)>> = RefCell::default();
    let is_right = |fault: &Value| match is_possible(&fault["kind"]) {
        true => fault["made"] == true && is_felt(&felt.borrow(), fault) && off_s(fault) <= NEAR_S,
        false => fault["made"] == false,
    };
    let (of_all, _dir) = until_right(FOUR, &is_right, &mut |servers| {
        let (report, dir) = run(&faults.concat(), servers, "7300ms");
        let run = Run::open(&dir.path().join("run.pitot")).unwrap();
        for cell in &run.cells {
            let with_effect = (0..kinds.len()).filter(|index| has_effect(&cell.repetitions[0], *index));
            felt.borrow_mut().extend(with_effect.map(|index| (cell.label(), kinds[index].to_owned())));
        }
        // Servers go on afterwards.
        let verdicts: Vec<&Value> =
            report["cells"].as_array().unwrap().iter().map(|cell| &cell["verdict"]["kind"]).collect();
        assert!(verdicts.iter().all(|kind| *kind != "failed"), "{verdicts:?}");
        (report, dir)
    });
    assert_eq!(of_all.len(), 4 * kinds.len());
    for fault in &of_all {
        assert_eq!(fault["server_died"], false, "{fault:#}");
        assert!(fault["made"] == false || fault["ended_s"].as_f64() > fault["began_s"].as_f64(), "{fault:#}");
    }
}

/// Whether a fault that was made has done something: to this server, or, where only samples show it, to one of the servers. What
/// samples show may fall between two of them on a busy machine, and the 64 processes of `prefork` are too many to be walked at each.
fn is_felt(felt: &HashSet<(String, String)>, fault: &Value) -> bool {
    let [server, kind] = [&fault["factors"]["server"], &fault["kind"]].map(|text| text.as_str().unwrap());
    // The acceptor of `fork` holds no connection: what it had open when its limit was lowered may be all that it needs.
    let by_any = matches!(kind, "slow-readers" | "half-open" | "cpu-hog") || server == "prefork";
    let needs_none = server == "fork" && kind == "descriptors";
    needs_none || felt.iter().any(|(cell, of)| of == kind && (by_any || cell == server))
}

/// Whether a fault of a repetition has done to the server what it is there for.
fn has_effect(repetition: &Repetition, number: usize) -> bool {
    let Some(fault) = repetition.faults.iter().find(|fault| fault.number as usize == number) else {
        return false;
    };
    let (from, to) = (fault.began_ns, fault.ended_ns);
    let stats = |name: &str| {
        repetition.server_stats.as_ref().and_then(|stats| stats["errors"][name].as_u64()).unwrap_or_default()
    };
    let samples =
        |from: u64, to: u64| repetition.samples.iter().filter(move |s| (from..to).contains(&s.at_ns));
    let descriptors =
        |from: u64, to: u64| samples(from, to).filter_map(|sample| sample.server?.descriptors).max();
    match fault.kind.as_str() {
        // So many more connections, which each is at least a descriptor.
        "slow-readers" | "half-open" => {
            let before = descriptors(from.saturating_sub(300_000_000), from);
            before.zip(descriptors(from, to)).is_some_and(|(before, during)| during >= before + 20)
        }
        "garbage" => stats("malformed") + stats("too_large") + stats("replies_4xx") > 0,
        "descriptors" => stats("accept_failed") > 0,
        "memory" => fault.what.ends_with("may newly use 67108864 bytes of memory"),
        // Somebody else has computed on the server's CPUs.
        "cpu-hog" => {
            let of_others = |sample: &pitot_lab::Sample| {
                Some(sample.server_cpus.user_ns.saturating_sub(sample.server?.user_ns))
            };
            let mut during = samples(from, to).filter_map(of_others);
            let first = during.next();
            first
                .zip(during.next_back())
                .is_some_and(|(first, last)| last.saturating_sub(first) > (to - from) / 10)
        }
        other => panic!("{other}"),
    }
}

#[test]
fn mistakes_in_faults_are_told_where_they_stand() {
    let dir = tempfile::tempdir().unwrap();
    for (fault, said) in [
        ("kind = \"stpo\"\nat = \"1s\"", "stop"),
        ("kind = \"stop\"", "say when"),
        ("kind = \"stop\"\nat = \"soon\"", "soon"),
        ("kind = \"stop\"\nat = \"1h\"", "the measured part is over"),
        ("kind = \"dns-fails\"\nat = \"1s\"", "nobody does"),
        ("kind = \"dns-fails\"\nat = \"1s\"\nfailure = \"late\"", "servfail, refused or silence"),
        ("kind = \"dns-lies\"\nat = \"1s\"\nlie = \"192.0.2.1\"", "on loopback"),
        ("kind = \"stop\"\nat = \"1s\"\n[load]\nresolver = \"{resolver}\"", "none is"),
        ("kind = \"stop\"\nat = \"1s\"\nprocess = \"some\"", "worker, main or all"),
        ("kind = \"stop\"\nat = \"1s\"\nproces = \"all\"", "process"),
    ] {
        let plan = format!(
            "[[faults]]\n{fault}\n[server]\nprotocol = \"http\"\n[factors]\nserver = [\"loop+epoll-et\"]\n"
        );
        std::fs::write(dir.path().join("plan.toml"), plan).unwrap();
        let output = pitot(dir.path(), &["run", "plan.toml", "--dry-run"]);
        assert_eq!(output.status.code(), Some(2), "{fault}: {}", text(&output));
        assert!(text(&output).contains(said), "{fault}: {}", text(&output));
    }
    for arguments in
        [&["fault", "stop"][..], &["fault", "sotp"], &["fault", "stop", "--pid", "1", "--process"]]
    {
        assert_eq!(pitot(dir.path(), arguments).status.code(), Some(2), "{arguments:?}");
    }
}
