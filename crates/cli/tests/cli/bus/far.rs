//! Agents on hosts of their own, which reach the bus over a network and with credentials.

use std::collections::BTreeMap;

use pitot_needs::needs;
use pitot_record::{Run, RunState};

use super::counted;
use super::network::Network;
use super::server::{Bus, said};

/// Requests that were due in each repetition, by cell.
fn due(run: &Run) -> BTreeMap<String, Vec<u64>> {
    let of = |cell: &pitot_record::CellRecord| {
        cell.repetitions.iter().map(|r| r.load.as_ref().unwrap().requests.due()).collect()
    };
    run.cells.iter().map(|cell| (cell.label(), of(cell))).collect()
}

#[needs("nats-server", "network-namespaces")]
#[test]
fn a_run_on_three_hosts_has_what_one_on_this_machine_has() {
    let bus = Bus::start_on(Network::new(4));
    let without = bus.refused_agent(&bus.url, &["--trust", &bus.key]);
    assert_eq!(without.0, Some(2), "{}", without.1);
    assert!(without.1.contains("is not a loopback address"), "{}", without.1);
    let agents = ["a", "b", "c"].map(|name| bus.agent(name));
    let plan = bus.plan("repetitions = 3\nwarmup = \"50ms\"\nduration = \"300ms\"");
    let (code, text) = said(&bus.run(&plan).output().unwrap());
    assert_eq!(code, Some(0), "{text}");
    drop(agents);
    bus.assert_nothing_is_left();
    let run = Run::open(&bus.path("run.pitot")).unwrap();
    assert_eq!(run.info.state, RunState::Complete);
    let hosts = counted(&run, 4, 3);
    assert_eq!(hosts.values().sum::<usize>(), 12, "{hosts:?}");

    let alone = bus.pitot(&["run", "plan.toml", "-o", "alone.pitot"]).output().unwrap();
    let (code, text) = said(&alone);
    assert_eq!(code, Some(0), "{text}");
    let alone = Run::open(&bus.path("alone.pitot")).unwrap();
    assert_eq!(due(&run), due(&alone));
    bus.assert_nothing_is_left();
}
