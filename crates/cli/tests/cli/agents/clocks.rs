//! Hosts whose clocks are far from the lab's.

use pitot_needs::needs;
use pitot_record::{Run, RunState};
use pitot_results::VerdictKind;

use super::network::pitot;
use crate::support::{PITOT, stderr};

/// How far the clock of each host is ahead of the lab's, seconds. A time that is not brought into that of the lab's clock, or in the
/// wrong direction, is an hour or more off.
const AHEAD_S: [(&str, u32); 3] = [("a", 3600), ("b", 7200), ("c", 0)];

fn plan(measure: &str) -> String {
    let host = |(name, ahead_s): &(&str, u32)| {
        let ahead_s = ahead_s.to_string();
        let agent = ["unshare", "--time", "--monotonic", &ahead_s, PITOT, "agent"];
        format!("[hosts.{name}]\nagent = {agent:?}\naddress = \"127.0.0.1\"\ncpus = \"0\"\n")
    };
    let hosts: String = AHEAD_S.iter().map(host).collect();
    format!(
        "{measure}\nwarmup = \"50ms\"\n{hosts}[server]\nprotocol = \"http\"\nhost = \"a\"\n[load]\nhosts = [\"b\", \"c\"]\n\
         connections = 2\n[factors]\nserver.model = [\"loop\"]\n"
    )
}

#[needs("time-namespaces")]
#[test]
fn times_of_hosts_are_brought_into_that_of_the_labs_clock() {
    for measure in [
        "repetitions = 1\nduration = \"2s\"",
        "measure = \"slices\"\ngenerations = 1\nslices = 2\nslice = \"50ms\"",
    ] {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("plan.toml"), plan(measure)).unwrap();
        let output = pitot(dir.path(), &["run", "plan.toml", "-o", "run.pitot"]).output().unwrap();
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(0), "{said}");
        let run = Run::open(&dir.path().join("run.pitot")).unwrap();
        assert_eq!(run.info.state, RunState::Complete);
        for (host, (name, ahead_s)) in run.hosts.iter().zip(AHEAD_S) {
            let off_s = host.clock_offset_ns as f64 / 1e9 - f64::from(ahead_s);
            // A minute: whatever the machine does meanwhile, and far from an hour.
            assert!(host.name == name && off_s.abs() < 60.0, "{}: {off_s}", host.name);
        }
        for repetition in run.cells.iter().flat_map(|cell| &cell.repetitions) {
            assert_ne!(repetition.verdict.kind, VerdictKind::Failed, "{:?}", repetition.verdict);
            let (load, used) = (repetition.load.as_ref().unwrap(), repetition.resources.unwrap());
            // The measured part is that of both load hosts, and the server's host was sampled in it.
            assert!(load.requests.ok > 0 && used.server_cpu_s > 0.0 && used.load_cpu_s > 0.0, "{used:?}");
            let now_ns = pitot_meter::now().0;
            for at_ns in repetition.samples.iter().map(|sample| sample.at_ns) {
                assert!(at_ns.abs_diff(now_ns) < 1_800_000_000_000, "{at_ns} is far from {now_ns}");
            }
            for part in &load.parts {
                assert!(part.clock_ns.start.abs_diff(now_ns) < 1_800_000_000_000, "{part:?}");
            }
        }
    }
}
