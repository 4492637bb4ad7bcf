//! A server on a system without an agent: a script plays the system.

use std::net::{Ipv4Addr, TcpListener};

use pitot_plan::Measure;
use pitot_record::{Run, RunState};
use pitot_results::VerdictKind;

use super::network::pitot;
use crate::support::{PITOT, stderr};

/// A login: it runs a command, and knows nothing of the lab.
const LOGIN: &str = "#!/bin/sh\nshift\nexec \"$@\"\n";
/// What tells the CPU time: each time it is asked half a second more has been used.
const CPU_TIME: &str =
    "#!/bin/sh\necho >> \"$1\"\nn=$(wc -l < \"$1\")\necho \"9 nginx 0:0$((n / 2)).$((n % 2 * 5))0\"\n";

#[test]
fn a_server_on_a_foreign_system_is_measured_from_the_outside() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).display().to_string();
    for (name, text) in [("login", LOGIN), ("cpu", CPU_TIME)] {
        std::fs::write(path(name), text).unwrap();
    }
    // On an address of its own no other test takes the port between two starts of the server.
    let [high, low] = (std::process::id() as u16).to_be_bytes();
    let address = TcpListener::bind((Ipv4Addr::new(127, 19, high, low), 0)).unwrap().local_addr().unwrap();
    let plan = format!(
        "measure = \"slices\"\nrepetitions = 2\nwarmup = \"50ms\"\nduration = \"500ms\"\n\
         [servers.there]\naddress = \"{address}\"\n\
         command = [\"sh\", \"{login}\", \"bsd\", \"{PITOT}\", \"serve\", \"http\", \"--listen\", \"{{address}}\"]\n\
         version = [\"sh\", \"{login}\", \"bsd\", \"echo\", \"nginx on another system\"]\n\
         cpu-time = [\"sh\", \"{login}\", \"bsd\", \"sh\", \"{cpu}\", \"{asked}\"]\n\
         [load]\nurl = \"http://{{address}}/bytes/64\"\nconnections = 2\n[factors]\nserver = [\"there\"]\n",
        login = path("login"),
        cpu = path("cpu"),
        asked = path("asked"),
    );
    std::fs::write(path("plan.toml"), plan).unwrap();
    let output = pitot(dir.path(), &["run", "plan.toml", "-o", "run.pitot"]).output().unwrap();
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let run = Run::open(&dir.path().join("run.pitot")).unwrap();
    assert_eq!(run.info.state, RunState::Complete);
    assert_eq!(run.info.server_versions[1].1, "nginx on another system");
    let sentence = run.info.warnings.iter().find(|w| w.contains("on a system without an agent")).unwrap();
    assert!(sentence.contains("Not measured were its memory"), "{sentence}");
    let [cell] = &run.cells[..] else { panic!("{:?}", run.cells.len()) };
    assert_eq!(cell.measure, Measure::Fresh);
    for repetition in &cell.repetitions {
        assert_ne!(repetition.verdict.kind, VerdictKind::Failed, "{:?}", repetition.verdict);
        assert_eq!(repetition.address, address.to_string());
        let used = repetition.resources.unwrap();
        // Half a second between the two questions, of which the measured part is a share.
        assert!(used.server_cpu_s > 0.0 && used.server_cpu_s <= 0.5, "{used:?}");
        assert_eq!((used.server_rss_bytes_max, used.server_threads_max), (0, 0));
        assert!(used.load_cpu_s > 0.0 && repetition.load.as_ref().unwrap().requests.ok > 0);
    }
}
