//! A server on one host, and its load on two.

use pitot_needs::needs;
use pitot_record::{Repetition, Run, RunState};
use pitot_results::VerdictKind;

use super::network::{Network, pitot};
use crate::support::stderr;

/// Loads of which it is known beforehand how many requests they have: the sums over all hosts.
const EXACT: [(&str, u64); 2] = [
    ("requests-total = 101\nconnections = 5", 101),
    // Half a second at this rate: whose arrivals are whose does not change how many there are.
    ("rate = 200\nconnections = 5", 100),
];

const FRESH: &str = "repetitions = 1\nwarmup = \"50ms\"\nduration = \"500ms\"";

/// The repetitions of a run that succeeded.
fn repetitions(network: &Network, top: &str, load: &str) -> Vec<Repetition> {
    let dir = tempfile::tempdir().unwrap();
    let output = network.run(dir.path(), &network.plan(top, load)).output().unwrap();
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    network.assert_nothing_is_left();
    let run = Run::open(&dir.path().join("run.pitot")).unwrap();
    assert_eq!(run.info.state, RunState::Complete);
    let all: Vec<Repetition> = run.cells.into_iter().flat_map(|cell| cell.repetitions).collect();
    for repetition in &all {
        assert_ne!(repetition.verdict.kind, VerdictKind::Failed, "{:?}", repetition.verdict);
        assert!(repetition.address.starts_with("10.19.0.1:"), "{}", repetition.address);
    }
    all
}

#[needs("network-namespaces")]
#[test]
fn two_load_hosts_do_what_one_does() {
    let network = Network::new(3);
    for (load, requests) in EXACT {
        for (hosts, names) in [("hosts = [\"b\"]", vec![]), ("hosts = [\"b\", \"c\"]", vec!["b", "c"])] {
            for repetition in repetitions(&network, FRESH, &format!("{hosts}\n{load}")) {
                let load = repetition.load.unwrap();
                let shown = (&load.requests, &load.errors);
                assert_eq!(load.requests.due(), requests, "{shown:?}");
                assert_eq!((load.requests.ok, load.errors.len()), (load.requests.completed, 0), "{shown:?}");
                assert_eq!(load.statuses.get(&200), Some(&load.requests.completed));
                assert_eq!(load.connections.requested, 5);
                assert_eq!(load.latency_ns.response.count, load.requests.completed, "{shown:?}");
                let parts: Vec<&str> = load.parts.iter().map(|part| part.host.as_str()).collect();
                assert_eq!(parts, names);
                if !names.is_empty() {
                    assert_eq!(load.parts.iter().map(|part| part.requests_ok).sum::<u64>(), load.requests.ok);
                    assert!(load.parts.iter().all(|part| part.requests_ok > 0), "{:?}", load.parts);
                }
                if let Some(asked) = load.asked_rps {
                    assert!((asked - 200.0).abs() < 1.0, "{asked}");
                }
            }
        }
    }
}

#[needs("network-namespaces")]
#[test]
fn slices_of_two_load_hosts_are_slices_of_one_load() {
    let network = Network::new(3);
    let slices = "generations = 2\nslices = 2\nslice = \"40ms\"\nwarmup = \"50ms\"";
    let all = repetitions(&network, slices, "hosts = [\"b\", \"c\"]\nconnections = 3");
    assert_eq!(all.len(), 4);
    for repetition in all {
        let (load, used) = (repetition.load.unwrap(), repetition.resources.unwrap());
        assert_eq!((load.connections.requested, load.errors.len()), (3, 0), "{:?}", load.errors);
        assert_eq!(repetition.slices.len(), 2);
        assert!(repetition.slices.iter().all(|slice| slice.requests > 0), "{:?}", repetition.slices);
        assert!(used.server_cpu_s > 0.0 && used.load_cpus == 2, "{used:?}");
    }
}

#[needs("network-namespaces")]
#[test]
fn a_load_host_that_dies_fails_the_repetition_with_its_name() {
    let (network, dir) = (Network::new(3), tempfile::tempdir().unwrap());
    let plan = network.plan(
        "repetitions = 2\nwarmup = \"50ms\"\nduration = \"1s\"",
        "hosts = [\"b\", \"c\"]\nconnections = 2",
    );
    network.assert_one_of_four_fails_with(2, dir.path(), &plan);
}

#[needs("network-namespaces")]
#[test]
fn a_load_host_that_dies_between_slices_fails_its_generation_with_its_name_and_no_other() {
    let (network, dir) = (Network::new(3), tempfile::tempdir().unwrap());
    let plan = network.plan(
        "generations = 2\nslices = 4\nslice = \"500ms\"\nwarmup = \"50ms\"",
        "hosts = [\"b\", \"c\"]\nconnections = 3",
    );
    let (mut lab, file) = network.begin(dir.path(), &plan);
    network.kill_agent_under_load(2, &file, &mut lab);
    lab.wait().unwrap();
    network.assert_nothing_is_left();
    let run = Run::open(&file).unwrap();
    assert_eq!(run.info.state, RunState::Complete);
    for cell in run.cells.iter().chain(&run.controls) {
        let blocks: Vec<u32> = cell.repetitions.iter().map(|r| r.block).collect();
        assert_eq!(blocks, [0, 1], "{}", cell.label());
        for repetition in &cell.repetitions {
            let (kind, reason) = (repetition.verdict.kind, &repetition.verdict.reason);
            let is_lost = reason.starts_with("the host `c` was lost: ");
            assert_eq!(
                (kind == VerdictKind::Failed, is_lost),
                (repetition.block == 0, repetition.block == 0),
                "{reason}"
            );
        }
    }
}

#[needs("network-namespaces")]
#[test]
fn a_coordinator_that_is_killed_and_resumed_loses_and_doubles_nothing() {
    let (network, dir) = (Network::new(3), tempfile::tempdir().unwrap());
    let plan = network.plan(
        "repetitions = 2\nwarmup = \"50ms\"\nduration = \"1s\"",
        "hosts = [\"b\", \"c\"]\nconnections = 2\nrate = 100",
    );
    let (mut lab, file) = network.begin(dir.path(), &plan);
    network.wait_for_load(1, &file, &mut lab);
    lab.kill().unwrap();
    lab.wait().unwrap();
    network.assert_nothing_is_left();
    assert_ne!(Run::open(&file).unwrap().info.state, RunState::Complete);
    let output = pitot(dir.path(), &["run", "--resume", "run.pitot"]).output().unwrap();
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    network.assert_nothing_is_left();
    let run = Run::open(&file).unwrap();
    assert_eq!(run.info.state, RunState::Complete);
    for cell in &run.cells {
        let blocks: Vec<u32> = cell.repetitions.iter().map(|r| r.block).collect();
        assert_eq!(blocks, [0, 1], "{}", cell.label());
        for repetition in &cell.repetitions {
            assert_ne!(repetition.verdict.kind, VerdictKind::Failed, "{:?}", repetition.verdict);
            assert_eq!(repetition.load.as_ref().unwrap().requests.due(), 100);
        }
    }
}
