//! Results that are too large for a message.

use std::process::Stdio;

use pitot_needs::needs;
use pitot_record::{Run, RunState};

use super::counted;
use super::loss::is_at_work;
use super::server::Bus;
use crate::support::{Running, until};

/// Each result has the plan in it, and so its files: more than the 512 KiB that an entry may have.
const FILE_BYTES: usize = 600_000;

#[needs("nats-server")]
#[test]
fn a_large_result_is_an_object_and_arrives_whole_also_from_a_second_agent() {
    let bus = Bus::start_hasty();
    let mut first = bus.agent("first");
    let file = format!("files.page = \"{}\"\n", "x".repeat(FILE_BYTES));
    let plan = bus.small_plan(&format!("repetitions = 1\nwarmup = \"50ms\"\nduration = \"1s\"\n{file}"));
    let mut coordinator = Running::start(bus.run(&plan).stdout(Stdio::null()).stderr(Stdio::null()));
    until("the agent is at work", || is_at_work(&bus, "first"));
    first.kill();
    let second = bus.agent("second");
    until("the result is an object", || bus.has_object());
    assert_eq!(coordinator.wait().unwrap().code(), Some(0));
    let run = Run::open(&bus.path("run.pitot")).unwrap();
    assert_eq!(run.info.state, RunState::Complete);
    let hosts = counted(&run, 2, 1);
    assert_eq!(hosts.keys().collect::<Vec<_>>(), ["second"]);
    for repetition in run.cells.iter().flat_map(|cell| &cell.repetitions) {
        assert_eq!(repetition.load.as_ref().unwrap().requests.due(), 20);
    }
    drop(second);
    bus.assert_nothing_is_left();
}
