//! `pitot run --bus` and `pitot agent --bus`, with a private nats-server.

mod far;
mod fixed;
mod large;
mod loss;
mod permissions;
mod placed;
mod server;
mod trust;

use std::collections::BTreeMap;

use pitot_needs::needs;
use pitot_record::{Run, RunState};
use pitot_results::VerdictKind;

use crate::agents::network;
use crate::support::stderr;
use server::Bus;

/// Asserts that a run file has each repetition of each cell once, and returns how many each host carried out.
fn counted(run: &Run, cells: usize, repetitions: u32) -> BTreeMap<String, usize> {
    let mut hosts = BTreeMap::new();
    assert_eq!(run.cells.len(), cells);
    for cell in run.cells.iter().chain(&run.controls) {
        let blocks: Vec<u32> = cell.repetitions.iter().map(|r| r.block).collect();
        assert_eq!(blocks, (0..repetitions).collect::<Vec<_>>(), "{}", cell.label());
        for repetition in &cell.repetitions {
            assert_ne!(repetition.verdict.kind, VerdictKind::Failed, "{:?}", repetition.verdict);
            assert!(!repetition.host.is_empty());
            *hosts.entry(repetition.host.clone()).or_default() += 1;
        }
    }
    let mut positions: Vec<u32> =
        run.cells.iter().chain(&run.controls).flat_map(|c| &c.repetitions).map(|r| r.position).collect();
    positions.sort_unstable();
    positions.dedup();
    assert_eq!(positions.len(), hosts.values().sum::<usize>(), "each has a position of its own");
    hosts
}

#[needs("nats-server")]
#[test]
fn each_repetition_is_carried_out_once_and_names_its_host() {
    for measure in [
        "repetitions = 2\nwarmup = \"50ms\"\nduration = \"200ms\"",
        "measure = \"slices\"\ngenerations = 2\nslices = 2\nslice = \"40ms\"\nwarmup = \"50ms\"",
    ] {
        let bus = Bus::start("");
        let agents = ["a", "b"].map(|name| bus.agent(name));
        let output = bus.run(&bus.plan(measure)).output().unwrap();
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(0), "{said}");
        let run = Run::open(&bus.path("run.pitot")).unwrap();
        assert_eq!(run.info.state, RunState::Complete);
        // Two servers are compared at each of two rates: what is compared stays on one host.
        let hosts = counted(&run, 4, 2);
        for block in 0..2 {
            for rate in ["20", "40"] {
                let of = |c: &&pitot_record::CellRecord| c.factors.iter().any(|f| f.level == rate);
                let hosts: Vec<&str> = run
                    .cells
                    .iter()
                    .filter(of)
                    .flat_map(|c| &c.repetitions)
                    .filter(|r| r.block == block)
                    .map(|r| &*r.host)
                    .collect();
                assert!(hosts.len() == 2 && hosts[0] == hosts[1], "{hosts:?}");
            }
        }
        for (host, count) in hosts {
            let told = format!("The host `{host}` ran");
            assert!(run.info.warnings.iter().any(|w| w.starts_with(&told)), "{told} {count}");
        }
        drop(agents);
        bus.assert_nothing_is_left();
    }
}
