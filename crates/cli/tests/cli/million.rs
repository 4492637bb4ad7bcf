//! Connections that no single process may have: what the suite `million` does, with as many as a test may take.

use std::process::{Command, Output, Stdio};

use rustix::process::Signal;
use serde_json::Value;

use crate::support::{PITOT, Running, stderr, stdout};

/// So many descriptors for each process, ...
const DESCRIPTORS: u32 = 1000;
/// ... and more idle connections than three of them could have.
const IDLE: u64 = 3600;

/// `pitot` in a shell that lets each process have [`DESCRIPTORS`].
fn pitot(arguments: &[&str]) -> Command {
    let mut command = Command::new("sh");
    let limited = format!("ulimit -n {DESCRIPTORS} && exec \"$0\" \"$@\"");
    command.args(["-c", &limited, PITOT]).args(arguments);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A server that is stopped when the test ends, however it ends.
struct Server {
    child: Running,
    address: String,
}

impl Server {
    fn start(mechanism: &str) -> Server {
        let words = "serve http --model preloop --workers 6 --idle-timeout 5m --stats json --mechanism";
        let arguments: Vec<&str> = words.split(' ').chain([mechanism]).collect();
        let mut child = Running::start(pitot(&arguments).stderr(Stdio::inherit()));
        let address = child.ready();
        Server { child, address }
    }

    /// Ends it; returns what it counted.
    fn stop(mut self) -> Value {
        self.child.signal(Signal::TERM);
        let text = self.child.printed();
        assert!(self.child.wait().unwrap().success());
        serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"))
    }
}

fn run(arguments: &[&str]) -> Output {
    pitot(arguments).output().unwrap()
}

/// Containers often forbid it.
fn io_uring_is_allowed() -> bool {
    std::fs::read_to_string("/proc/sys/kernel/io_uring_disabled").is_ok_and(|text| text.trim() == "0")
}

#[test]
fn connections_of_several_processes_a_side_are_all_held_and_all_answered() {
    for (mechanism, engine) in [("epoll-et", "epoll"), ("epoll-lt", "epoll"), ("uring", "uring")] {
        if mechanism == "uring" && !io_uring_is_allowed() {
            continue;
        }
        let server = Server::start(mechanism);
        let url = format!("http://{}/bytes/64", server.address);
        let idle = IDLE.to_string();
        let load = run(&[
            "load",
            &url,
            "--idle",
            &idle,
            "--idle-trickle",
            "1s",
            "-c",
            "8",
            "-R",
            "200",
            "-d",
            "3s",
            "--timeout",
            "60s",
            "--source",
            "127.0.0.0/28",
            "--engine",
            engine,
            "--json",
            "-",
        ]);
        assert!(load.status.success(), "{}", stderr(&load));
        let result: Value = serde_json::from_slice(&load.stdout).unwrap();
        let number = |pointer: &str| result.pointer(pointer).and_then(Value::as_f64).unwrap_or(f64::NAN);
        let idle = IDLE as f64;
        assert!(number("/options/processes") >= 4.0, "{}", result["options"]);
        assert_eq!(number("/connections/peak_open"), idle + 8.0);
        assert_eq!((number("/connections/opened"), number("/connections/reopened")), (idle + 8.0, 0.0));
        assert!(number("/connections/opening_s") > 0.0);
        assert_eq!(result["errors"], serde_json::json!([]));
        // Each was answered, unless the machine stood still for seconds.
        assert_eq!(number("/idle/connections"), idle);
        assert!(number("/idle/replies") >= number("/idle/replies_min") * idle, "{}", result["idle"]);
        assert!(number("/idle/gap_max_s") < 3.0 || number("/idle/replies_min") == 0.0, "{}", result["idle"]);
        assert!(number("/requests/ok") > 0.0);
        let stats = server.stop();
        assert_eq!(
            (&stats["connections"]["open_peak"], &stats["connections"]["open"]),
            (&(IDLE + 8).into(), &0.into())
        );
        assert_eq!((&stats["errors"]["shed"], &stats["forced"]), (&0.into(), &false.into()));
    }
}

#[test]
fn a_machine_that_cannot_hold_a_million_is_told_what_to_fix_and_nothing_is_run() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("million.pitot");
    let refused = run(&["run", "million", "-o", file.to_str().unwrap()]);
    let text = stderr(&refused).to_owned();
    assert_eq!(refused.status.code(), Some(2), "{text}");
    assert!(text.contains("the hard limit on descriptors is 1,000, and 18,"), "{text}");
    assert!(text.contains("`ulimit -Hn 18"), "{text}");
    assert!(!file.exists());
    // A dry run says it too, rule by rule, and shows the commands all the same.
    let dry = run(&["run", "million", "--dry-run"]);
    let text = stdout(&dry).to_owned();
    assert_eq!(dry.status.code(), Some(0), "{text}");
    assert!(text.contains("# needs, NOT MET: the hard limit on descriptors is 1,000"), "{text}");
    assert!(text.contains("to fix it: `ulimit -Hn") && text.contains("--idle 1M"), "{text}");
}
