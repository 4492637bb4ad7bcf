//! Plans with hosts: two network namespaces of this machine, with a cable between them.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use pitot_lab::{Run, RunState, VerdictKind};
use pitot_needs::needs;

const PITOT: &str = env!("CARGO_BIN_EXE_pitot");

/// Two namespaces with a network between them.
struct Network {
    names: [String; 2],
}

impl Network {
    fn new(test: &str) -> Network {
        let id = std::process::id();
        let network = Network { names: ["a", "b"].map(|side| format!("pt{test}{side}{id}")) };
        let [a, b] = &network.names;
        for name in &network.names {
            ip(&["netns", "add", name]);
        }
        ip(&["link", "add", "v0", "netns", a, "type", "veth", "peer", "name", "v0", "netns", b]);
        for (name, address) in [(a, "10.19.0.1/24"), (b, "10.19.0.2/24")] {
            ip(&["-n", name, "addr", "add", address, "dev", "v0"]);
            ip(&["-n", name, "link", "set", "v0", "up"]);
            ip(&["-n", name, "link", "set", "lo", "up"]);
        }
        network
    }

    /// The plan's beginning: the server on `a`, the load on `b`.
    fn plan(&self, rest: &str) -> String {
        let host = |host: &str, name: &str, address: &str| {
            format!(
                "[hosts.{host}]\nagent = [\"ip\", \"netns\", \"exec\", \"{name}\", \"{PITOT}\", \"agent\"]\n\
                 address = \"{address}\"\ncpus = \"0\"\n"
            )
        };
        let [a, b] = &self.names;
        let hosts = host("a", a, "10.19.0.1") + &host("b", b, "10.19.0.2");
        format!(
            "{rest}\n{hosts}[server]\nprotocol = \"http\"\nhost = \"a\"\n[load]\nhost = \"b\"\nconnections = 2\n\
             [factors]\nserver.model = [\"loop\", \"thread\"]\n"
        )
    }

    /// Processes on a side: id and command line.
    fn processes(&self, side: usize) -> Vec<(String, String)> {
        let output = Command::new("ip").args(["netns", "pids", &self.names[side]]).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let command = |pid: &str| std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        text.lines().map(|pid| (pid.to_owned(), command(pid).replace('\0', " "))).collect()
    }

    fn assert_nothing_is_left(&self) {
        let deadline = Instant::now() + Duration::from_secs(20);
        while (0..2).any(|side| !self.processes(side).is_empty()) {
            assert!(Instant::now() < deadline, "{:?} {:?}", self.processes(0), self.processes(1));
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for name in &self.names {
            let _ = Command::new("ip").args(["netns", "del", name]).stderr(Stdio::null()).status();
        }
    }
}

fn ip(arguments: &[&str]) {
    assert!(Command::new("ip").args(arguments).status().unwrap().success(), "ip {arguments:?}");
}

fn command(dir: &Path, plan: &str) -> Command {
    std::fs::write(dir.join("plan.toml"), plan).unwrap();
    let mut command = Command::new(PITOT);
    command.args(["run", "plan.toml", "-o", "run.pitot"]).current_dir(dir).env("TMPDIR", dir);
    command
}

#[needs("network-namespaces")]
#[test]
fn a_server_and_its_load_are_measured_on_two_hosts() {
    for (test, measure) in [
        ("f", "repetitions = 1\nwarmup = \"50ms\"\nduration = \"1s\""),
        ("s", "generations = 1\nslices = 2\nslice = \"40ms\"\nwarmup = \"50ms\""),
    ] {
        let (network, dir) = (Network::new(test), tempfile::tempdir().unwrap());
        let output = command(dir.path(), &network.plan(measure)).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{said}");
        network.assert_nothing_is_left();
        let run = Run::open(&dir.path().join("run.pitot")).unwrap();
        assert_eq!(run.info.state, RunState::Complete);
        for repetition in run.cells.iter().flat_map(|cell| &cell.repetitions) {
            assert_ne!(repetition.verdict.kind, VerdictKind::Failed, "{:?}", repetition.verdict);
            assert!(repetition.address.starts_with("10.19.0.1:"), "{}", repetition.address);
            let load = repetition.load.as_ref().unwrap();
            assert!(load.requests.ok > 0 && load.target.starts_with("http://10.19.0.1:"), "{}", load.target);
            let used = repetition.resources.unwrap();
            assert!(used.server_cpu_s > 0.0 && used.load_cpu_s > 0.0, "{used:?}");
        }
        assert!(run.info.warnings.iter().any(|w| w.contains("The load ran on the host `b`")));
    }
}

#[needs("network-namespaces")]
#[test]
fn an_agent_that_is_killed_fails_its_repetition_and_no_other() {
    let (network, dir) = (Network::new("k"), tempfile::tempdir().unwrap());
    let plan = network.plan("repetitions = 2\nwarmup = \"50ms\"\nduration = \"2s\"");
    let mut lab = command(dir.path(), &plan).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    // The file comes after the trial, and the first load after the file.
    loop {
        assert!(Instant::now() < deadline && lab.try_wait().unwrap().is_none(), "no load was seen");
        let there = network.processes(1);
        let of = |word: &str| there.iter().find(|(_, command)| command.contains(word));
        if let (true, Some(_), Some((agent, _))) =
            (dir.path().join("run.pitot").exists(), of(" load http"), of(" agent"))
        {
            let killed = Command::new("kill").args(["-9", agent]).status().unwrap();
            assert!(killed.success());
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    lab.wait().unwrap();
    network.assert_nothing_is_left();
    let run = Run::open(&dir.path().join("run.pitot")).unwrap();
    let all: Vec<_> = run.cells.iter().flat_map(|cell| &cell.repetitions).collect();
    let failed: Vec<&str> = all
        .iter()
        .filter(|r| r.verdict.kind == VerdictKind::Failed)
        .map(|r| r.verdict.reason.as_str())
        .collect();
    assert_eq!((all.len(), failed.len()), (4, 1), "{failed:?}");
    assert!(failed[0].starts_with("the host `b` was lost: "), "{failed:?}");
}

#[test]
fn an_agent_takes_leave_of_what_it_does_not_understand() {
    use std::io::Write;
    for (input, code, said) in [
        ("", 0, ""),
        ("hello\n", 2, "the lab is not understood"),
        ("\"clock\"\n", 2, "no greeting"),
        (
            "{\"hello\":{\"version\":9,\"cpus\":[],\"other-cpus\":[],\"address\":\"::1\"}}\n",
            2,
            "and the lab has 9",
        ),
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
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{stderr}");
        assert!(stderr.contains(said), "{stderr}");
    }
}
