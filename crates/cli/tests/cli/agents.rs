//! Plans with hosts: network namespaces of this machine, with cables between them.

mod clocks;
mod foreign;
pub(crate) mod network;
mod root;
mod several;
mod ssh;

use std::process::{Command, Stdio};

use pitot_needs::needs;
use pitot_record::{Run, RunState};
use pitot_results::VerdictKind;

use crate::support::{PITOT, stderr, stdout};
use network::Network;

#[needs("network-namespaces")]
#[test]
fn a_server_and_its_load_are_measured_on_two_hosts() {
    for measure in [
        "repetitions = 1\nwarmup = \"50ms\"\nduration = \"500ms\"",
        "generations = 1\nslices = 2\nslice = \"40ms\"\nwarmup = \"50ms\"",
    ] {
        let (network, dir) = (Network::new(2), tempfile::tempdir().unwrap());
        let plan = network.plan(measure, "host = \"b\"\nconnections = 2");
        let output = network.run(dir.path(), &plan).output().unwrap();
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(0), "{said}");
        network.assert_nothing_is_left();
        let run = Run::open(&dir.path().join("run.pitot")).unwrap();
        assert_eq!(run.info.state, RunState::Complete);
        for repetition in run.cells.iter().flat_map(|cell| &cell.repetitions) {
            assert_ne!(repetition.verdict.kind, VerdictKind::Failed, "{:?}", repetition.verdict);
            assert!(repetition.address.starts_with("10.19.0.1:"), "{}", repetition.address);
            let load = repetition.load.as_ref().unwrap();
            assert!(load.requests.ok > 0 && load.target.starts_with("http://10.19.0.1:"), "{}", load.target);
        }
        // Of one repetition a busy machine may sample one side once.
        let used = || run.cells.iter().flat_map(|cell| &cell.repetitions).map(|r| r.resources.unwrap());
        assert!(used().any(|used| used.server_cpu_s > 0.0) && used().any(|used| used.load_cpu_s > 0.0));
        assert!(
            run.hosts.iter().any(|host| host.name == "b" && host.does == "load" && host.round_trip_ns > 0)
        );
    }
}

#[needs("network-namespaces")]
#[test]
fn a_link_that_limits_is_in_the_verdict_and_the_server_is_not_blamed() {
    for (in_slices, measure) in [
        (false, "repetitions = 1\nwarmup = \"100ms\"\nduration = \"1s\""),
        (true, "generations = 1\nslices = 2\nslice = \"100ms\"\nwarmup = \"200ms\""),
    ] {
        let (network, dir) = (Network::new(2), tempfile::tempdir().unwrap());
        if !network.narrow() {
            eprintln!("skipped: this kernel shapes no link (tc-tbf(8))");
            return;
        }
        let plan =
            network.plan(measure, "host = \"b\"\nurl = \"http://{address}/bytes/1024\"\nconnections = 30");
        let output = network.run(dir.path(), &plan).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        network.assert_nothing_is_left();
        let run = Run::open(&dir.path().join("run.pitot")).unwrap();
        // Lines of a report end where the screen does.
        let said = stdout(&output);
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        for repetition in run.cells.iter().flat_map(|cell| &cell.repetitions) {
            let verdict = &repetition.verdict;
            match verdict.kind {
                VerdictKind::NetworkBound => {
                    assert!(verdict.reason.contains("neither side was busy"), "{}", verdict.reason);
                    assert!(said.contains("limited by the network"), "{said}");
                }
                // Beside other tests, which leave a server no CPU with which it could fill its link.
                VerdictKind::Noisy => {
                    assert!(verdict.reason.contains("other processes used"), "{}", verdict.reason);
                }
                // In slices they are named for the whole run.
                VerdictKind::Valid if in_slices => {
                    let warnings = run.info.warnings.join("\n");
                    assert!(warnings.contains("Other processes used"), "valid, and alone: {warnings}");
                }
                other => panic!("{measure}: {other:?}: {}", verdict.reason),
            }
        }
    }
}

#[needs("network-namespaces")]
#[test]
fn an_agent_that_is_killed_fails_its_repetition_and_no_other() {
    let (network, dir) = (Network::new(2), tempfile::tempdir().unwrap());
    let plan = network
        .plan("repetitions = 2\nwarmup = \"50ms\"\nduration = \"1s\"", "host = \"b\"\nconnections = 2");
    network.assert_one_of_four_fails_with(1, dir.path(), &plan);
}

#[test]
fn an_agent_takes_leave_of_what_it_does_not_understand() {
    use std::io::Write;
    for (input, code, said) in [
        ("", 0, ""),
        ("hello\n", 2, "a message of the lab cannot be read"),
        ("\"clock\"\n", 2, "not a greeting"),
        (
            "{\"hello\":{\"version\":9,\"cpus\":[],\"other-cpus\":[],\"address\":\"::1\"}}\n",
            2,
            "and the lab has protocol version 9",
        ),
        // The greeting of a later version, whatever else it says.
        ("{\"hello\":{\"version\":10,\"since\":[1]}}\n", 2, "and the lab has protocol version 10"),
    ] {
        let mut agent = Command::new(PITOT)
            .arg("agent")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        agent.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let output = agent.wait_with_output().unwrap();
        let stderr = stderr(&output);
        assert_eq!(output.status.code(), Some(code), "{stderr}");
        assert!(stderr.contains(said), "{stderr}");
    }
}

/// Runs a plan with a host whose agent answers the greeting of the lab with this line. What the lab says of it.
fn greeted_with(line: &str) -> String {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("answer"), format!("{line}\n")).unwrap();
    let plan = "repetitions = 1\n[hosts.a]\nagent = [\"sh\", \"-c\", \"read -r hello; cat answer; cat > /dev/null\"]\naddress = \"127.0.0.1\"\n\
                cpus = \"0\"\n[server]\nprotocol = \"http\"\nhost = \"a\"\n[load]\nconnections = 1\n[factors]\n\
                server.model = [\"loop\"]\n";
    std::fs::write(dir.path().join("plan.toml"), plan).unwrap();
    let output = network::pitot(dir.path(), &["run", "plan.toml", "-o", "run.pitot"]).output().unwrap();
    let said = stderr(&output).to_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(!dir.path().join("run.pitot").exists());
    said
}

#[test]
fn an_agent_that_is_another_program_than_the_lab_is_not_used() {
    let greeting = |version: u32, pitot: &str| {
        format!(r#"{{"hello":{{"version":{version},"pitot":"{pitot}","pid":1,"memory-total-bytes":1}}}}"#)
    };
    let own = env!("CARGO_PKG_VERSION");
    let other = format!("the host `a` could not be reached: its agent is Pitot 99.0, and this is {own}");
    for (line, wanted) in [
        (greeting(pitot_agent::VERSION, "99.0"), &*other),
        (
            greeting(99, own),
            &*format!("its agent speaks version 99 of the protocol, not {}", pitot_agent::VERSION),
        ),
        (
            r#"{"error":"its agent has version 9"}"#.to_owned(),
            "could not be reached: its agent has version 9",
        ),
        ("Welcome to a".to_owned(), "`Welcome to a` is not a message"),
    ] {
        let said = greeted_with(&line);
        assert!(said.contains(wanted), "{line}: {said}");
    }
}

#[test]
fn commands_of_a_dry_run_say_where_each_is_typed() {
    let dir = tempfile::tempdir().unwrap();
    let host = |name: &str, address: &str| {
        let agent = format!("[\"ssh\", \"{name}\", \"/opt/{name}/pitot\", \"agent\"]");
        format!("[hosts.{name}]\nagent = {agent}\naddress = \"{address}\"\ncpus = \"0\"\n")
    };
    let this_machine = format!("# on this machine\n{PITOT} load");
    let hosts = host("a", "10.0.0.1") + &host("b", "10.0.0.2") + &host("c", "10.0.0.3");
    for (load, wanted) in [
        (
            "host = \"b\"",
            &[
                "# on a\n/opt/a/pitot serve",
                "--listen 10.0.0.1:18080",
                "# on b\n/opt/b/pitot load http://10.0.0.1:18080/",
            ][..],
        ),
        (
            "hosts = [\"b\", \"c\"]",
            &[
                "# on a\n",
                "| /opt/b/pitot load",
                "--share 1/2 # on b\n",
                "| /opt/c/pitot load",
                "--share 2/2 # on c\n",
            ],
        ),
        ("", &["# on a\n/opt/a/pitot serve", &this_machine]),
    ] {
        let plan = format!(
            "repetitions = 1\n{hosts}[server]\nprotocol = \"http\"\nhost = \"a\"\n[load]\nconnections = 2\n{load}\n\
             [factors]\nserver.model = [\"loop\"]\n"
        );
        std::fs::write(dir.path().join("plan.toml"), plan).unwrap();
        let output = network::pitot(dir.path(), &["run", "plan.toml", "--dry-run"]).output().unwrap();
        let said = stdout(&output);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert!(wanted.iter().all(|line| said.contains(line)) && !said.contains("127.0.0.1:18080"), "{said}");
    }
}
