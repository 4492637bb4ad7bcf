//! Engines that are killed or stopped in the middle, and those that go on from there.

use rustix::process::Signal;

use super::host::{Host, Script};
use super::{Files, list, outcomes, recipients};
use crate::support::{Running, stderr, until};

const RECIPIENTS: usize = 4000;
const CONNECTIONS: usize = 8;

/// Starts a run that sends for real and waits until the host has taken so many.
fn begun(files: &Files, host: &Host, taken: usize) -> Running {
    let child = Running::start(&mut files.command(&arguments(&host.name(), &files.journal())));
    until("the host takes mail", || host.seen().taken.len() >= taken);
    child
}

fn arguments<'a>(relay: &'a str, journal: &'a str) -> Vec<&'a str> {
    vec![
        "--really-send",
        "--relay",
        relay,
        "-c",
        "8",
        "--recipients-per-transaction",
        "3",
        "--journal",
        journal,
    ]
}

#[test]
fn a_killed_engine_goes_on_and_sends_twice_to_none_but_those_in_doubt() {
    let host = Host::new(Script::default());
    let files = Files::new(&list(RECIPIENTS, 100));
    let mut kills = 0;
    for share in [RECIPIENTS / 5, RECIPIENTS / 2] {
        let mut engine = begun(&files, &host, share);
        engine.kill();
        kills += usize::from(!engine.wait().unwrap().success());
    }
    let journalled = outcomes(&files.path("journal")).len();
    assert!(kills == 2 && journalled > 0 && journalled < RECIPIENTS, "{journalled}");

    let (report, code) = files.json(&arguments(&host.name(), &files.journal()));
    assert_eq!(code, 0, "{report}");
    assert_eq!(recipients(&report, "settled_before") + recipients(&report, "sent"), RECIPIENTS as u64);
    assert!(report["journal"]["in_doubt_peak"].as_u64().unwrap() <= CONNECTIONS as u64);
    let outcomes = outcomes(&files.path("journal"));
    assert_eq!(outcomes.len(), RECIPIENTS);
    assert!(outcomes.values().all(|o| *o == ["sent"]));
    let seen = host.seen();
    let twice: u32 = seen.taken.values().map(|n| n - 1).sum();
    assert_eq!(seen.taken.len(), RECIPIENTS);
    assert!(twice as usize <= kills * CONNECTIONS, "{twice} were sent to twice in {kills} kills");
}

#[test]
fn a_stopped_engine_ends_in_order_and_the_next_one_sends_to_nobody_twice() {
    let host = Host::new(Script::default());
    let files = Files::new(&list(RECIPIENTS, 100));
    let engine = begun(&files, &host, RECIPIENTS / 4);
    engine.signal(Signal::INT);
    let mut engine = engine;
    assert_eq!(engine.ended().code(), Some(1));
    // Everything that the host has taken is in the journal: nothing was in doubt.
    assert_eq!(outcomes(&files.path("journal")).len(), host.seen().taken.len());

    let (report, code) = files.json(&arguments(&host.name(), &files.journal()));
    assert_eq!(code, 0, "{report}");
    let seen = host.seen();
    assert!(seen.taken.len() == RECIPIENTS && seen.taken.values().all(|n| *n == 1));
}

#[test]
fn a_journal_serves_one_engine_at_a_time_and_one_message() {
    let host = Host::new(Script { mute: true, ..Script::default() });
    let files = Files::new(&list(10, 1));
    let engine = Running::start(&mut files.command(&arguments(&host.name(), &files.journal())));
    until("it connects", || host.seen().connections > 0);
    let output = files.mail(&arguments(&host.name(), &files.journal()));
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("in use by another engine"), "{}", stderr(&output));
    drop(engine);

    std::fs::write(files.path("message"), "Subject: another\n\n").unwrap();
    let output = files.mail(&arguments(&host.name(), &files.journal()));
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("is not a journal of this message"), "{}", stderr(&output));
}

#[test]
fn a_torn_journal_is_mended_and_its_whole_lines_count() {
    let host = Host::new(Script::default());
    let files = Files::new(&list(50, 5));
    assert_eq!(files.json(&arguments(&host.name(), &files.journal())).1, 0);
    let whole = std::fs::read(files.path("journal")).unwrap();
    std::fs::write(files.path("journal"), &whole[..whole.len() - 5]).unwrap();
    let (report, code) = files.json(&arguments(&host.name(), &files.journal()));
    assert_eq!(
        (recipients(&report, "settled_before"), recipients(&report, "sent"), code),
        (49, 1, 0),
        "{report}"
    );
    assert!(outcomes(&files.path("journal")).values().all(|o| o.len() == 1));
}
