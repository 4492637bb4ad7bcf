//! A server that takes long to start again keeps nobody waiting.

use std::path::Path;
use std::process::Stdio;

use pitot_record::Soak;
use pitot_record::soak::{Endings, EventKind, State};
use rustix::process::Signal;

use super::{children, soak};
use crate::support::{PITOT, Running, signal, until_some};

/// The two servers, in the order of the plan.
const SLOW: i64 = 1;
const BESIDE: i64 = 2;

/// Two servers that a fault starts again. Each start of the slow one but its first takes until the test makes the file `go`.
fn plan(dir: &Path) {
    let script = format!(
        "if [ -e started ]; then until [ -e go ]; do sleep 0.05; done; fi; : > started; \
         exec {PITOT} serve http --model loop --listen {{address}}"
    );
    let text = format!(
        "title = \"A slow start\"\nready-timeout = \"10m\"\n[[faults]]\nkind = \"restart\"\nat = \"1s\"\n\
         [load]\nurl = \"http://{{address}}/bytes/100\"\nconnections = 2\nrate = \"100\"\n\
         [servers.slow]\ncommand = [\"sh\", \"-c\", {script:?}]\ncwd = \"{{plan}}\"\nready = {{ get = \"/bytes/1\" }}\n\
         [servers.beside]\ncommand = [\"pitot\", \"serve\", \"http\", \"--model\", \"thread\", \"--listen\", \"{{address}}\"]\n\
         [factors]\nserver = [\"slow\", \"beside\"]\n[soak]\nfor = \"1h\"\nrestart = \"yes\"\n"
    );
    std::fs::write(dir.join("p.toml"), text).unwrap();
}

/// Intervals in which a server has replied.
fn answered(soak: &Soak, subject: i64) -> usize {
    let load = soak.loads_of(subject).next().map(|load| load.id);
    soak.intervals.iter().filter(|i| Some(i.load) == load && i.completed > 0).count()
}

fn has_event(soak: &Soak, subject: i64, kind: EventKind) -> bool {
    soak.events.iter().any(|event| event.subject == Some(subject) && event.kind == kind)
}

fn is_over(soak: &Soak, subject: i64) -> bool {
    soak.faults.iter().any(|fault| fault.subject == subject && fault.until_s.is_some())
}

#[test]
fn a_server_that_is_slow_to_start_again_keeps_no_other_waiting() {
    let dir = tempfile::tempdir().unwrap();
    let (path, go) = (dir.path().join("a.pitot"), dir.path().join("go"));
    plan(dir.path());
    let mut command = soak(dir.path(), &["p.toml", "--interval", "1s", "-o", "a.pitot"]);
    let mut lab = Running::start(command.stdout(Stdio::null()).stderr(Stdio::null()));
    let when = |what: &str, holds: &dyn Fn(&Soak) -> bool| {
        until_some(what, || Soak::open(&path).ok().filter(|soak| holds(soak)))
    };

    // A fault starts both again, and the one is back at once.
    let now = when("the server beside is back", &|soak| is_over(soak, BESIDE));
    let known = answered(&now, BESIDE);
    let now = when("its intervals go on", &|soak| answered(soak, BESIDE) >= known + 3);
    assert!(!is_over(&now, SLOW), "{:#?}", now.faults);
    std::fs::write(&go, "").unwrap();
    let now = when("the slow server is back", &|soak| is_over(soak, SLOW));
    assert!(now.faults.iter().all(|fault| fault.was_made), "{:#?}", now.faults);

    // One that dies is started again as well, and meanwhile a hang of the other is noticed.
    std::fs::remove_file(&go).unwrap();
    signal(children(lab.id(), "loop")[0], Signal::KILL);
    when("its death is told", &|soak| has_event(soak, SLOW, EventKind::ServerEnded));
    let beside = children(lab.id(), "thread")[0];
    signal(beside, Signal::STOP);
    when("the hang of the other is told", &|soak| has_event(soak, BESIDE, EventKind::HangStopped));
    signal(beside, Signal::CONT);
    let known = answered(&Soak::open(&path).unwrap(), BESIDE);
    let now = when("it goes on", &|soak| answered(soak, BESIDE) >= known + 2);
    assert!(!has_event(&now, SLOW, EventKind::ServerRestarted), "{:#?}", now.events);
    std::fs::write(&go, "").unwrap();
    let now =
        when("the slow server is back once more", &|soak| has_event(soak, SLOW, EventKind::ServerRestarted));
    let known = answered(&now, SLOW);
    when("it is asked again", &|soak| answered(soak, SLOW) >= known + 4);

    signal(lab.id(), Signal::INT);
    assert_eq!(lab.wait().unwrap().code(), Some(1));
    let whole = Soak::open(&path).unwrap();
    assert_eq!(whole.state, State::Stopped);
    let endings: Vec<Endings> = whole.subjects.iter().map(|subject| subject.endings).collect();
    assert_eq!(endings, [Endings { deaths: 1, restarts: 1 }, Endings::default()], "{:#?}", whole.events);
    // That it could not answer while it was away is no hang.
    let of_slow = whole.events.iter().filter(|event| event.subject == Some(SLOW)).map(|event| event.kind);
    let of_slow: Vec<EventKind> = of_slow.collect();
    assert_eq!(of_slow, [EventKind::ServerEnded, EventKind::ServerRestarted], "{:#?}", whole.events);
}
