//! Agents on a bus as the hosts of a plan: the server on one, the load on two others.

use std::process::Stdio;

use pitot_needs::needs;
use pitot_record::{Run, RunState};
use pitot_results::VerdictKind;

use super::network::{Network, address};
use super::server::{Bus, said};
use crate::support::{PITOT, Running, until};

/// A plan of four repetitions, of 100 requests each.
fn write_plan(bus: &Bus) {
    let hosts: String = ["a", "b", "c"]
        .iter()
        .enumerate()
        .map(|(at, name)| {
            let mut agent = [PITOT, "bus-connect", name].map(str::to_owned).to_vec();
            agent.extend(bus.words("lab"));
            agent.extend(["--sign", "sign.nk"].map(str::to_owned));
            format!("[hosts.{name}]\nagent = {agent:?}\naddress = \"{}\"\ncpus = \"0\"\n", address(at))
        })
        .collect();
    let plan = format!(
        "repetitions = 2\nwarmup = \"50ms\"\nduration = \"1s\"\n{hosts}[server]\nprotocol = \"http\"\nhost = \"a\"\n\
         [load]\nhosts = [\"b\", \"c\"]\nconnections = 2\nrate = 100\n[factors]\nserver.model = [\"loop\", \"thread\"]\n"
    );
    std::fs::write(bus.path("plan.toml"), plan).unwrap();
}

/// Asserts that each repetition is there once with all that was due of both load hosts.
fn assert_whole(bus: &Bus) {
    let run = Run::open(&bus.path("run.pitot")).unwrap();
    assert_eq!(run.info.state, RunState::Complete);
    for cell in &run.cells {
        let blocks: Vec<u32> = cell.repetitions.iter().map(|r| r.block).collect();
        assert_eq!(blocks, [0, 1], "{}", cell.label());
        for repetition in &cell.repetitions {
            assert_ne!(repetition.verdict.kind, VerdictKind::Failed, "{:?}", repetition.verdict);
            let load = repetition.load.as_ref().unwrap();
            assert_eq!((load.requests.due(), load.errors.len()), (100, 0), "{:?}", load.errors);
            let parts: Vec<&str> = load.parts.iter().map(|part| part.host.as_str()).collect();
            assert_eq!(parts, ["b", "c"]);
            assert!(repetition.address.starts_with(&address(0)), "{}", repetition.address);
        }
    }
}

/// Asserts that each repetition is there once, and has all that was due or has failed because of a host, whose name is in `hosts`.
/// Returned are the whole and the failed ones.
fn whole_and_failed(bus: &Bus, hosts: &[&str]) -> (usize, usize) {
    let run = Run::open(&bus.path("run.pitot")).unwrap();
    assert_eq!(run.info.state, RunState::Complete);
    let (mut whole, mut failed) = (0, 0);
    for cell in &run.cells {
        let blocks: Vec<u32> = cell.repetitions.iter().map(|r| r.block).collect();
        assert_eq!(blocks, [0, 1], "{}", cell.label());
        for repetition in &cell.repetitions {
            if repetition.verdict.kind == VerdictKind::Failed {
                let names =
                    |host: &&str| repetition.verdict.reason.contains(&format!("the host `{host}` was"));
                assert!(hosts.iter().any(names), "{:?}", repetition.verdict);
                failed += 1;
            } else {
                let load = repetition.load.as_ref().unwrap();
                assert_eq!((load.requests.due(), load.errors.len()), (100, 0), "{:?}", load.errors);
                whole += 1;
            }
        }
    }
    (whole, failed)
}

/// A bus in a network with the agents of the three hosts of the plan.
fn bus_with_hosts() -> (Bus, [Running; 3]) {
    let bus = Bus::start_on(Network::new(4));
    let agents = ["a", "b", "c"].map(|name| bus.agent(name));
    write_plan(&bus);
    (bus, agents)
}

/// A run of the plan that has begun to put load on its server.
fn lab_under_load(bus: &Bus) -> Running {
    let mut lab = bus.pitot(&["run", "plan.toml", "-o", "run.pitot"]);
    let mut lab = Running::start(lab.stdout(Stdio::null()).stderr(Stdio::null()));
    until("load is put on the server", || {
        assert!(lab.try_wait().unwrap().is_none(), "the run ended by itself");
        bus.path("run.pitot").exists() && bus.has_load()
    });
    lab
}

#[needs("nats-server", "network-namespaces")]
#[test]
fn a_coordinator_that_is_killed_goes_on_with_agents_that_it_reaches_over_a_bus() {
    let (bus, agents) = bus_with_hosts();
    let idle = bus.processes();
    let mut lab = lab_under_load(&bus);
    lab.kill();
    // An agent that still ends what it had started is busy.
    until("what it had started is gone", || bus.processes() == idle);
    assert_ne!(Run::open(&bus.path("run.pitot")).unwrap().info.state, RunState::Complete);
    let (code, text) = said(&bus.pitot(&["run", "--resume", "run.pitot"]).output().unwrap());
    assert_eq!(code, Some(0), "{text}");
    assert_whole(&bus);
    drop(agents);
    bus.assert_nothing_is_left();
}

#[needs("nats-server", "network-namespaces")]
#[test]
fn a_key_that_an_agent_does_not_trust_reaches_nothing() {
    let (bus, agents) = bus_with_hosts();
    assert!(bus.pitot(&["bus-key", "other.nk"]).output().unwrap().status.success());
    let plan = std::fs::read_to_string(bus.path("plan.toml")).unwrap();
    std::fs::write(bus.path("plan.toml"), plan.replace("sign.nk", "other.nk")).unwrap();
    let (code, text) = said(&bus.pitot(&["run", "plan.toml", "-o", "run.pitot"]).output().unwrap());
    assert_ne!(code, Some(0), "{text}");
    assert!(text.contains("trusted"), "{text}");
    assert!(!bus.has_load());
    drop(agents);
    bus.assert_nothing_is_left();
}

#[needs("nats-server", "network-namespaces")]
#[test]
fn an_agent_of_a_load_host_that_is_killed_fails_repetitions_with_its_name_and_comes_back() {
    let (bus, mut agents) = bus_with_hosts();
    let mut lab = lab_under_load(&bus);
    agents[2].kill();
    // Its name is free when its announcement has lapsed: until then the host is not reached.
    agents[2] = bus.agent("c");
    lab.wait().unwrap();
    let (whole, failed) = whole_and_failed(&bus, &["c"]);
    assert!(failed >= 1 && whole >= 1, "{failed} failed, {whole} are whole");
    drop(agents);
    bus.assert_nothing_is_left();
}

#[needs("nats-server", "network-namespaces")]
#[test]
fn a_bus_that_is_killed_and_comes_back_loses_no_repetition_and_doubles_none() {
    let (mut bus, agents) = bus_with_hosts();
    let mut lab = lab_under_load(&bus);
    bus.kill_server();
    bus.restart_server();
    lab.wait().unwrap();
    // A stream of which no message was lost goes on; one that lost some has cost its repetition.
    let (whole, failed) = whole_and_failed(&bus, &["a", "b", "c"]);
    assert!(whole >= 1, "{failed} failed, {whole} are whole");
    drop(agents);
    bus.assert_nothing_is_left();
}
