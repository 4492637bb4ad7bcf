//! Faults in runs with the real program: each is made, taken back and recorded, and the times that a report gives agree with
//! those of the fault.

mod counts;
mod durability;
mod loss;

use std::path::Path;
use std::process::{Command, Output};

use pitot_fault::FaultRecord;
use pitot_needs::needs;
use pitot_record::{CellRecord, Repetition, Run};
use serde_json::Value;

use crate::support::{PITOT, text};

/// The load that these faults are felt by. Most have a rate, which is the same before and after, whatever else the machine does, and leaves it
/// its CPUs: tests run beside each other.
fn load(faults: &str) -> &'static str {
    if faults.contains("\"descriptors\"") {
        // Connections that are open need no descriptor; of these some are new before the server has closed those before them.
        return "size = \"1KiB\"\nrequests-per-connection = 1\nrate = 1000\n";
    }
    match faults.contains("\"dns-") {
        // One that looks the server up for each request.
        true => {
            "url = \"http://www.test:{port}/bytes/1024\"\nresolver = \"{resolver}\"\nrequests-per-connection = 1\nrate = 500\n"
        }
        // Each connection has a request under way, so that its user notices when it ends.
        false if faults.contains("\"kill\"") => "size = \"1KiB\"\n",
        false => "size = \"1KiB\"\nrate = 1000\n",
    }
}

/// A run with the faults of its report.
struct Told {
    dir: tempfile::TempDir,
    report: Value,
    run: Run,
}

impl Told {
    fn of(dir: tempfile::TempDir) -> Told {
        let report = pitot(dir.path(), &["report", "run.pitot", "--format", "json"]);
        let report = serde_json::from_slice(&report.stdout).unwrap();
        let run = Run::open(&dir.path().join("run.pitot")).unwrap();
        Told { dir, report, run }
    }

    /// The faults, each of which agrees with what the run counted around it. Those that were made; of the others the report
    /// says why not.
    fn faults(&self, count: usize) -> Vec<&Value> {
        let all = self.report["faults"].as_array().unwrap();
        assert_eq!(all.len(), count, "{all:#?}");
        let of_cell = |fault: &&Value| {
            let is_its = |cell: &&CellRecord| {
                fault["factors"]["server"] == cell.level("server").unwrap().level.as_str()
            };
            let repetition = &self.run.cells.iter().find(is_its).unwrap().repetitions[0];
            counts::agrees(fault, repetition)
        };
        all.iter().filter(of_cell).collect()
    }
}

/// Runs a plan with these faults on these servers.
fn run(faults: &str, servers: &str, duration: &str) -> Told {
    let dir = tempfile::tempdir().unwrap();
    let plan = format!(
        "repetitions = 1\nduration = \"{duration}\"\nwarmup = \"100ms\"\n{faults}\n[server]\nprotocol = \"http\"\n\
         [load]\n{}connections = 8\n[factors]\nserver = [{servers}]\n",
        load(faults)
    );
    std::fs::write(dir.path().join("plan.toml"), plan).unwrap();
    let output = pitot(dir.path(), &["run", "plan.toml", "-o", "run.pitot"]);
    assert!(output.status.success(), "{}", text(&output));
    Told::of(dir)
}

fn pitot(dir: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(PITOT);
    command.args(arguments).current_dir(dir).env("TMPDIR", dir);
    command.env("PITOT_HOST_JOURNAL", dir.join("journal")).output().unwrap()
}

fn seconds(fault: &Value, name: &str) -> f64 {
    fault[name].as_f64().unwrap_or_else(|| panic!("no {name}: {fault:#}"))
}

/// Service is back no earlier than this before a fault is over that lets nobody be served: what was counted is steps, and who
/// tells the fault that it is over reads the clock beside that.
const NEAR_S: f64 = 0.1;

/// Asserts that the outage by a fault that lets nobody be served for so long is told to be no shorter. How much longer it is
/// depends on the machine, which may also have paused so long before that nothing of it is unusual: what was counted is compared
/// with the report in any case.
fn assert_outage(fault: &Value, for_s: f64) {
    if let Some(first_reply_s) = fault["service"]["first_reply_s"].as_f64().filter(|s| *s > 0.0) {
        assert!(first_reply_s >= for_s - NEAR_S, "{fault:#}");
    }
}

const FOUR: &str = "\"fork\", \"thread\", \"loop+epoll-et\", \"prefork\"";

#[test]
fn a_stopped_server_answers_again_when_it_is_continued() {
    let stop = "[[faults]]\nkind = \"stop\"\nprocess = \"all\"\nat = \"800ms\"\nfor = \"700ms\"\n";
    let told = run(stop, FOUR, "2200ms");
    let faults = told.faults(4);
    for fault in &faults {
        assert_outage(fault, 0.7);
        assert!(fault["what"].as_str().unwrap().starts_with("SIGSTOP to "), "{fault:#}");
        let lasted = seconds(fault, "ended_s") - seconds(fault, "began_s");
        assert!(lasted >= 0.7, "{fault:#}");
    }
    assert!(told.run.cells.iter().all(|cell| cell.failures().next().is_none()), "{faults:#?}");
    let shown = pitot(told.dir.path(), &["report", "run.pitot"]);
    assert!(text(&shown).contains("first correct reply"), "{}", text(&shown));
    let page = std::fs::read_to_string(told.dir.path().join("run.html")).unwrap();
    assert!(page.contains("class=\"stretch fault\"") && page.contains("id=\"faults\""));
}

#[test]
fn a_killed_server_is_started_again_and_a_killed_worker_is_replaced_by_its_own() {
    let kill = "[[faults]]\nkind = \"kill\"\nat = \"800ms\"\nfor = \"400ms\"\n";
    for fault in run(kill, FOUR, "2200ms").faults(4) {
        let server = fault["factors"]["server"].as_str().unwrap();
        let is_one_process = ["loop+epoll-et", "thread"].contains(&server);
        assert_eq!(fault["server_died"].as_bool(), Some(is_one_process), "{fault:#}");
        let errors = fault["errors"].as_array().unwrap();
        assert!(!errors.is_empty(), "nobody noticed: {fault:#}");
        if is_one_process {
            assert_outage(fault, 0.4);
        }
    }
}

#[test]
fn faults_on_the_way_and_restarts_meet_every_architecture() {
    let faults = "[[faults]]\nkind = \"reset\"\nat = \"600ms\"\nfor = \"400ms\"\n\
                  [[faults]]\nkind = \"black-hole\"\nat = \"1700ms\"\nfor = \"400ms\"\n\
                  [[faults]]\nkind = \"latency\"\ndelay = \"100ms\"\nat = \"2700ms\"\nfor = \"400ms\"\n\
                  [[faults]]\nkind = \"restart\"\nat = \"3700ms\"\n";
    for fault in run(faults, FOUR, "4500ms").faults(16) {
        let errors = fault["errors"].to_string();
        let service = &fault["service"];
        match fault["kind"].as_str().unwrap() {
            "reset" => {
                assert!(errors.contains("ECONNRESET"), "{fault:#}");
                assert_outage(fault, 0.4);
            }
            "black-hole" => {
                assert_eq!(errors, "[]", "nobody is told: {fault:#}");
                assert_outage(fault, 0.4);
            }
            "latency" => {
                // 8 clients, each of whose replies takes 100 ms.
                assert!(service.is_null() || seconds(service, "during_rps") < 160.0, "{fault:#}");
                assert_eq!(errors, "[]", "{fault:#}");
            }
            "restart" => assert!(fault["what"].as_str().unwrap().contains("restarted"), "{fault:#}"),
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
    let told = run(&faults.concat(), FOUR, "5400ms");
    let mut judged = [0; 4];
    for fault in told.faults(16) {
        assert_eq!((&fault["made"], &fault["server_died"]), (&true.into(), &false.into()), "{fault:#}");
        // It ends when it is due, also where the machine was too busy to begin it in time.
        let lasted = seconds(fault, "ended_s") - seconds(fault, "began_s");
        if lasted < 0.3 {
            continue;
        }
        let service = &fault["service"];
        // Nothing was answered meanwhile but what was under way, and all afterwards: nobody remembers a wrong answer. The lab says
        // when it is over, and it said when it should begin: the resolver may have heard that later. A load that had hardly a CPU
        // before it shows only afterwards what is usual, if it is back early enough before the next one.
        let after = || match service["after_rps"].as_f64() {
            None if seconds(service, "full_rate_s") > 0.0 => 0.0,
            _ => seconds(service, "after_rps"),
        };
        let usual = || seconds(service, "before_rps").max(after());
        assert!(service.is_null() || seconds(service, "during_rps") < usual() / 5.0, "{fault:#}");
        assert_outage(fault, 0.4);
        let number = fault["number"].as_u64().unwrap() as usize;
        let (_, _, error) = kinds[number];
        let errors = fault["errors"].as_array().unwrap();
        // A load that had hardly a CPU has not asked for the name meanwhile.
        if service.is_null() && errors.is_empty() {
            continue;
        }
        judged[number] += 1;
        let is_told = errors.iter().all(|row| error == row["phase"].as_str().zip(row["kind"].as_str()));
        assert!(is_told && errors.is_empty() == error.is_none(), "{fault:#}");
    }
    let are_judged = kinds.iter().zip(judged).all(|((.., error), servers)| error.is_none() || servers > 0);
    assert!(are_judged, "each at one server at least: {judged:?}");
    let page = std::fs::read_to_string(told.dir.path().join("run.html")).unwrap();
    assert!(page.contains("class=\"stretch fault\"") && page.contains("SERVFAIL"));
}

#[test]
fn a_narrow_way_lets_through_what_its_rate_allows() {
    let narrow = "[[faults]]\nkind = \"bandwidth\"\nrate = \"32KiB\"\nat = \"600ms\"\nfor = \"1s\"\n";
    for fault in run(narrow, FOUR, "2200ms").faults(4) {
        // A reply is more than 1 KiB, and those under way may use what had not been used before.
        let service = &fault["service"];
        assert!(service.is_null() || seconds(service, "during_rps") < 64.0, "{fault:#}");
        assert_eq!(fault["errors"].to_string(), "[]", "{fault:#}");
    }
}

/// Runs uploads to these servers, the disk of which is full for a while.
fn run_with_full_disk(servers: &str) -> Told {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("body"), "x".repeat(16 << 10)).unwrap();
    let plan = format!(
        "repetitions = 1\nduration = \"2200ms\"\nwarmup = \"100ms\"\n\
         [[faults]]\nkind = \"disk-full\"\nat = \"800ms\"\nfor = \"700ms\"\n\
         [server]\nprotocol = \"http\"\nroot = \"{{dir}}/up\"\nwritable = true\n\
         [load]\nurl = \"http://{{address}}/{{0..99}}\"\nchoice = \"turn\"\nmethod = \"PUT\"\nconnections = 4\nrate = 500\nbody = \"@{}\"\n\
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
    Told::of(dir)
}

#[needs("root")]
#[test]
fn a_full_disk_is_told_to_those_who_upload_and_has_room_again_afterwards() {
    for fault in run_with_full_disk(FOUR).faults(4) {
        assert_outage(fault, 0.7);
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
    let told = run(&faults.concat(), FOUR, "7300ms");
    for (index, kind) in kinds.iter().enumerate() {
        let felt = |cell: &&CellRecord| has_effect(&cell.repetitions[0], index);
        // What samples show may fall between two of them on a busy machine.
        let unseen = |cell: &&CellRecord| samples_in(&cell.repetitions[0], index) < SAMPLES_MIN;
        let is_seen_by = told.run.cells.iter().any(|cell| felt(&cell) || unseen(&cell));
        // The samples from half a second before it to half a second after it.
        let seen = |cell: &CellRecord| -> Option<(FaultRecord, Vec<_>)> {
            let repetition = &cell.repetitions[0];
            let fault = repetition.faults.iter().find(|fault| fault.number as usize == index)?;
            let around = fault.began_ns.saturating_sub(500_000_000)..fault.ended_ns + 500_000_000;
            let samples = repetition.samples.iter().filter(|sample| around.contains(&sample.at_ns));
            Some((fault.clone(), samples.map(|s| (s.at_ns, s.server.map(|s| s.descriptors))).collect()))
        };
        let seen = || told.run.cells.iter().map(seen).collect::<Vec<_>>();
        assert!(!is_possible(&(*kind).into()) || is_seen_by, "{kind} did nothing to anybody: {:?}", seen());
    }
    // Servers go on afterwards.
    let verdicts: Vec<&Value> =
        told.report["cells"].as_array().unwrap().iter().map(|cell| &cell["verdict"]["kind"]).collect();
    assert!(verdicts.iter().all(|kind| *kind != "failed"), "{verdicts:?}");
    for fault in told.faults(4 * kinds.len()) {
        assert!(is_possible(&fault["kind"]), "{fault:#}");
        assert_eq!(fault["server_died"], false, "{fault:#}");
        assert!(fault["ended_s"].as_f64() > fault["began_s"].as_f64(), "{fault:#}");
    }
}

/// So few samples of a fault, or of the time before it, show nothing.
const SAMPLES_MIN: usize = 3;

/// What is usual before a fault, and after the one before it.
const BEFORE_NS: u64 = 650_000_000;

/// How many samples of a server were taken while a fault lasted.
fn samples_in(repetition: &Repetition, number: usize) -> usize {
    let of = |fault: &&FaultRecord| fault.number as usize == number;
    let Some(fault) = repetition.faults.iter().find(of) else { return 0 };
    let during = fault.began_ns..fault.ended_ns;
    repetition.samples.iter().filter(|s| during.contains(&s.at_ns) && s.server.is_some()).count()
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
            let before = descriptors(from.saturating_sub(BEFORE_NS), from);
            // Not every sample has them: without one on each side nothing is seen.
            before.zip(descriptors(from, to)).is_none_or(|(before, during)| during >= before + 20)
        }
        "garbage" => stats("malformed") + stats("too_large") + stats("replies_4xx") > 0,
        "descriptors" => stats("accept_failed") > 0,
        "memory" => fault.what.ends_with("may use 67108864 more bytes of memory"),
        // Somebody else has computed on the server's CPUs.
        "cpu-hog" => {
            let of_others = |sample: &pitot_record::Sample| {
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
        ("kind = \"stop\"", "add when it begins"),
        ("kind = \"stop\"\nat = \"soon\"", "soon"),
        ("kind = \"stop\"\nat = \"1h\"", "begins after the measured part"),
        ("kind = \"dns-fails\"\nat = \"1s\"", "this plan has none"),
        ("kind = \"dns-fails\"\nat = \"1s\"\nfailure = \"late\"", "servfail, refused or silence"),
        ("kind = \"dns-lies\"\nat = \"1s\"\nlie = \"192.0.2.1\"", "on loopback"),
        ("kind = \"stop\"\nat = \"1s\"\n[load]\nresolver = \"{resolver}\"", "this plan has none"),
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
