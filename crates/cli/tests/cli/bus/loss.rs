//! Agents, the bus and the coordinator are killed, and no repetition is lost or doubled.

use std::process::Stdio;

use pitot_needs::needs;
use pitot_record::{Run, RunState};
use rustix::process::{Pid, Signal, kill_process};

use super::counted;
use super::network::Network;
use super::server::Bus;
use crate::support::{Running, stderr, until};

/// Repetitions in the run file.
pub(crate) fn recorded(bus: &Bus) -> usize {
    let run = Run::open(&bus.path("run.pitot"));
    run.map_or(0, |run| run.cells.iter().map(|cell| cell.repetitions.len()).sum())
}

/// Whether an agent works on a job now.
pub(crate) fn is_at_work(bus: &Bus, agent: &str) -> bool {
    let log = bus.log(agent);
    log.matches("begin ").count() > log.matches("end ").count()
}

#[needs("nats-server")]
#[test]
fn nothing_is_lost_or_doubled_when_everything_is_killed_once() {
    everything_is_killed_once(Bus::start_hasty());
}

#[needs("nats-server", "network-namespaces")]
#[test]
fn nothing_is_lost_or_doubled_over_a_network_with_credentials() {
    everything_is_killed_once(Bus::start_on(Network::new(4)));
}

fn everything_is_killed_once(mut bus: Bus) {
    let mut agents = ["a", "b"].map(|name| bus.agent(name));
    let plan = bus.plan("repetitions = 4\nwarmup = \"50ms\"\nduration = \"700ms\"");
    let start = |mut command: std::process::Command| {
        Running::start(command.stdout(Stdio::null()).stderr(Stdio::null()))
    };
    let mut coordinator = start(bus.run(&plan));
    until("something is recorded", || recorded(&bus) > 0);
    // An agent at work: its job is delivered again when it was silent for too long.
    until("an agent is at work", || is_at_work(&bus, "a"));
    agents[0].kill();
    bus.kill_server();
    bus.restart_server();
    let before = recorded(&bus);
    until("it goes on after the restart of the bus", || recorded(&bus) > before);
    coordinator.kill();
    // The others go on without it, and what they have done waits for the next.
    let of_b = || bus.log("b").matches("end ").count();
    let (ended, c) = (of_b(), bus.agent("c"));
    until("work goes on without a coordinator", || of_b() > ended || bus.log("c").contains("end "));
    let output = bus.resume().output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let run = Run::open(&bus.path("run.pitot")).unwrap();
    assert_eq!(run.info.state, RunState::Complete);
    let hosts = counted(&run, 4, 4);
    assert_eq!(hosts.values().sum::<usize>(), 16, "{hosts:?}");
    drop((agents, c));
    bus.assert_nothing_is_left();
}

#[needs("nats-server")]
#[test]
fn an_agent_that_was_suspended_does_not_bring_a_second_result() {
    let bus = Bus::start_hasty();
    let slow = bus.agent("slow");
    let plan = bus.small_plan("repetitions = 1\nwarmup = \"50ms\"\nduration = \"1s\"");
    let mut coordinator = Running::start(bus.run(&plan).stdout(Stdio::null()).stderr(Stdio::null()));
    until("the agent is at work", || is_at_work(&bus, "slow"));
    let signal = |signal| kill_process(Pid::from_child(&slow), signal).unwrap();
    signal(Signal::STOP);
    let other = bus.agent("other");
    let ended = coordinator.wait().unwrap();
    signal(Signal::CONT);
    assert_eq!(ended.code(), Some(0));
    let run = Run::open(&bus.path("run.pitot")).unwrap();
    let hosts = counted(&run, 2, 1);
    assert_eq!(hosts.into_iter().collect::<Vec<_>>(), [("other".to_owned(), 2)]);
    until("its result is refused", || bus.log("slow").contains("does not count"));
    drop((slow, other));
    bus.assert_nothing_is_left();
}
