//! What the bus loses is made again, what a host lacks others do, and a machine carries out one job at a time.

use std::io::Write;
use std::process::Stdio;

use pitot_needs::needs;
use pitot_record::{Run, RunState};

use super::counted;
use super::loss::{is_at_work, recorded};
use super::server::{Bus, said};
use crate::support::{PITOT, Running, until};

#[needs("nats-server")]
#[test]
fn a_bus_whose_disk_was_wiped_is_furnished_again_and_the_run_goes_on() {
    let mut bus = Bus::start("");
    let agent = bus.agent("a");
    let plan = bus.plan("repetitions = 3\nwarmup = \"50ms\"\nduration = \"500ms\"");
    let log = std::fs::File::create(bus.path("lab.log")).unwrap();
    let mut lab = Running::start(bus.run(&plan).stdout(Stdio::null()).stderr(log));
    until("something is recorded", || recorded(&bus) > 0);
    bus.kill_server();
    std::fs::remove_dir_all(bus.path("js")).unwrap();
    bus.restart_server();
    assert_eq!(lab.wait().unwrap().code(), Some(0), "{}", bus.log("lab"));
    let told = "the bus had lost its streams and buckets";
    assert!(
        bus.log("lab").contains(told) || bus.log("a").contains(told),
        "{}{}",
        bus.log("lab"),
        bus.log("a")
    );
    let run = Run::open(&bus.path("run.pitot")).unwrap();
    assert_eq!(run.info.state, RunState::Complete);
    assert_eq!(counted(&run, 4, 3).values().sum::<usize>(), 12);
    drop(agent);
    bus.assert_nothing_is_left();
}

/// A plan whose server is a program that some hosts have, in a folder of their own.
fn plan_of_a_program(bus: &Bus) -> std::path::PathBuf {
    let plan = "repetitions = 2\nwarmup = \"50ms\"\nduration = \"200ms\"\n[servers.x]\n\
                command = [\"some-server\", \"serve\", \"http\", \"--listen\", \"{address}\"]\n[load]\nconnections = 1\n\
                url = \"http://{address}/bytes/64\"\n[factors]\nserver = [\"x\"]\n";
    std::fs::write(bus.path("plan.toml"), plan).unwrap();
    bus.path("plan.toml")
}

#[needs("nats-server")]
#[test]
fn a_job_for_which_a_host_lacks_a_program_is_done_by_another_and_the_coordinator_says_so() {
    let bus = Bus::start_hasty();
    let poor = bus.agent("poor");
    let plan = plan_of_a_program(&bus);
    let log = std::fs::File::create(bus.path("lab.log")).unwrap();
    let mut lab = Running::start(bus.run(&plan).stdout(Stdio::null()).stderr(log));
    until("it is left to others", || bus.log("poor").contains("left "));
    let folder = bus.path("bin");
    std::fs::create_dir(&folder).unwrap();
    std::os::unix::fs::symlink(PITOT, folder.join("some-server")).unwrap();
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    let rich = bus.agent_in("rich", &["--trust", &bus.key], &[("PATH", path.as_str())]);
    assert_eq!(lab.wait().unwrap().code(), Some(0), "{}{}", bus.log("lab"), bus.log("poor"));
    assert!(
        bus.log("lab").contains("the agent `poor` leaves") && bus.log("lab").contains("some-server"),
        "{}",
        bus.log("lab")
    );
    let run = Run::open(&bus.path("run.pitot")).unwrap();
    assert_eq!(counted(&run, 1, 2).into_iter().collect::<Vec<_>>(), [("rich".to_owned(), 2)]);
    drop((poor, rich));
    bus.assert_nothing_is_left();
}

#[test]
fn a_part_of_a_run_by_another_version_is_left_to_others() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    let part = r#"{"name":"f0-b0","version":"99.0","plan":{},"cells":[],"controls":[]}"#;
    std::fs::write(path("part.json"), part).unwrap();
    let mut run = std::process::Command::new(PITOT);
    run.args(["run", "--part", "part.json", "--output", "run.pitot"])
        .current_dir(dir.path())
        .env("TMPDIR", dir.path());
    let (code, text) = said(&run.output().unwrap());
    // The code by which an agent knows that its host lacks something.
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("the part is of a run by Pitot 99.0, and this is"), "{text}");
    assert!(!path("run.pitot").exists());
}

#[needs("nats-server")]
#[test]
fn a_job_for_which_every_host_lacks_something_fails_with_what_is_missing() {
    let bus = Bus::start_hasty();
    let agents = ["a", "b"].map(|name| bus.agent(name));
    let (code, text) = said(&bus.run(&plan_of_a_program(&bus)).output().unwrap());
    assert_eq!(code, Some(1), "{text}");
    let run = Run::open(&bus.path("run.pitot")).unwrap();
    for repetition in run.cells.iter().flat_map(|cell| &cell.repetitions) {
        let reason = &repetition.verdict.reason;
        assert!(
            reason.contains("every agent on the bus lacks") && reason.contains("some-server"),
            "{reason}"
        );
    }
    drop(agents);
    bus.assert_nothing_is_left();
}

#[needs("nats-server")]
#[test]
fn two_agents_of_one_machine_carry_out_one_job_at_a_time() {
    let bus = Bus::start("");
    // Of other names, and both wait, as agents do that are not told otherwise.
    let agents = ["x", "y"].map(|name| bus.waiting_agent(name));
    let plan = bus.plan("repetitions = 2\nwarmup = \"50ms\"\nduration = \"500ms\"");
    let mut lab = Running::start(bus.run(&plan).stdout(Stdio::null()).stderr(Stdio::null()));
    until("both have a job", || {
        assert!(lab.try_wait().unwrap().is_none(), "no job was waited with");
        is_at_work(&bus, "x") && is_at_work(&bus, "y")
    });
    assert_eq!(lab.wait().unwrap().code(), Some(0));
    let run = Run::open(&bus.path("run.pitot")).unwrap();
    assert_eq!(run.info.state, RunState::Complete);
    // No measured part lies in that of a job of the other.
    let of = |host: &str| -> Vec<_> {
        let all = run.cells.iter().flat_map(|cell| &cell.repetitions);
        all.filter(|r| r.host == host).map(|r| r.load.as_ref().unwrap().clock_ns).collect()
    };
    let (of_x, of_y) = (of("x"), of("y"));
    assert_eq!(of_x.len() + of_y.len(), 8);
    for (one, other) in of_x.iter().flat_map(|one| of_y.iter().map(move |other| (one, other))) {
        assert!(one.end <= other.start || other.end <= one.start, "{one:?} {other:?}");
    }
    drop(agents);
    bus.assert_nothing_is_left();
}

#[needs("nats-server")]
#[test]
fn an_agent_that_waits_for_another_run_says_so_and_so_does_the_lab() {
    let bus = Bus::start("");
    // The lock of another run, which this test holds.
    let mut other = std::fs::File::create(bus.path("pitot.run-lock")).unwrap();
    writeln!(other, "{} another-plan", std::process::id()).unwrap();
    other.lock().unwrap();
    let agent = bus.waiting_agent("x");
    let plan = bus.small_plan("repetitions = 1\nwarmup = \"50ms\"\nduration = \"100ms\"");
    let said = std::fs::File::create(bus.path("lab.log")).unwrap();
    let mut lab = Running::start(bus.run(&plan).stdout(Stdio::null()).stderr(said));
    let waits =
        format!("waiting for another run of Pitot to end (process {}, `another-plan`)", std::process::id());
    for log in ["x", "lab"] {
        until("it says what it waits for", || {
            assert!(lab.try_wait().unwrap().is_none(), "{}", bus.log("lab"));
            bus.log(log).contains(&waits)
        });
    }
    assert!(bus.log("lab").contains("the agent `x` has "), "{}", bus.log("lab"));
    drop(other);
    assert_eq!(lab.wait().unwrap().code(), Some(0), "{}", bus.log("lab"));
    assert!(bus.log("x").contains(" continues"), "{}", bus.log("x"));
    drop(agent);
    bus.assert_nothing_is_left();
}
