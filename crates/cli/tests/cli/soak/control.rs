//! The control of a soak: it is there, goes on when it is killed and after the soak was, and nobody takes it for one of the servers.

use pitot_record::Soak;
use pitot_record::soak::{Endings, State};
use rustix::process::Signal;

use super::{children, silent, with_control};
use crate::support::{PITOT, signal, text, until_some};

#[test]
fn a_soak_has_a_control_that_lives_on_and_is_none_of_its_servers() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.pitot");
    let arguments = [
        "--server",
        "thread",
        "--url",
        "http://{address}/",
        "-R",
        "50",
        "--for",
        "1h",
        "--interval",
        "1s",
        "-o",
        "a.pitot",
    ];
    let mut lab = silent(with_control(dir.path(), &arguments));
    let when = |what: &str, holds: &dyn Fn(&Soak) -> bool| {
        until_some(what, || Soak::open(&path).ok().filter(|soak| holds(soak)))
    };
    let answered = |soak: &Soak| soak.control.as_ref().map_or(0, |control| control.load.totals.completed);
    when("the control is answered", &|soak| answered(soak) > 20);
    // Its death does not end the soak, as that of a server would.
    signal(children(lab.id(), "loop")[0], Signal::KILL);
    let now = when("the control is back", &|soak| {
        soak.control.as_ref().is_some_and(|control| control.subject.endings.restarts == 1)
    });
    let known = answered(&now);
    when("it is answered again", &|soak| answered(soak) > known + 20);
    signal(lab.id(), Signal::KILL);
    lab.wait().unwrap();

    let mut lab = silent(with_control(dir.path(), &["--resume", "a.pitot"]));
    let known = answered(&Soak::open(&path).unwrap());
    when("it goes on with the soak", &|soak| answered(soak) > known + 20);
    signal(lab.id(), Signal::INT);
    lab.wait().unwrap();

    let soak = Soak::open(&path).unwrap();
    assert_eq!((soak.state, soak.subjects.len(), soak.loads.len()), (State::Stopped, 1, 1));
    assert!(
        soak.subjects[0].endings == Endings::default()
            && soak.events.iter().all(|event| event.subject != Some(2))
    );
    let control = soak.control.unwrap();
    assert!(
        control.intervals.len() > 3
            && control.readings.iter().any(|reading| reading.metric == "cpu-per-request")
    );
    let report = std::process::Command::new(PITOT)
        .args(["report", "a.pitot", "--format", "json", "-o", "-"])
        .current_dir(dir.path())
        .output()
        .unwrap();
    let json: serde_json::Value =
        serde_json::from_slice(&report.stdout).unwrap_or_else(|e| panic!("{e}: {}", text(&report)));
    assert_eq!(json["servers"].as_array().unwrap().len(), 1);
    assert!(json["control"].as_array().unwrap().iter().any(|series| series["figure"] == "latency-p50"));
}
