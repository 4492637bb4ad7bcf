use pitot_meter::{Histogram, Nanos};

use super::*;
use crate::Soak;
use crate::run::{Profile, ProfileEntry};
use crate::soak::{
    Endings, Event, EventKind, Fault, Info, Interval, Kind, Load, Loss, Reading, SECOND_S, State, Subject,
    SubjectProfile, Totals,
};

const INTERVAL_S: f64 = 30.0;
/// Of two days.
const COUNT: u32 = 5760;

fn interval(load: i64, start_s: f64, completed: u64) -> Interval {
    let mut response = Histogram::new();
    (0..completed).for_each(|n| response.record(Nanos::from_micros(20 + n)));
    Interval {
        load,
        start_s,
        length_s: INTERVAL_S,
        completed,
        errors: 1,
        response: response.encode(),
        ..Interval::default()
    }
}

fn reading(start_s: f64, value: f64) -> Reading {
    Reading {
        subject: 1,
        metric: "memory-rss".into(),
        start_s,
        length_s: INTERVAL_S,
        mean: value,
        min: value,
        max: value,
    }
}

fn file(dir: &std::path::Path) -> (std::path::PathBuf, SoakWriter) {
    let path = dir.join("a.pitot");
    let info = Info { title: "t".into(), interval_s: 10, ..Info::default() };
    let mut file = SoakWriter::create(&path, &info).unwrap().unsynchronised();
    file.put_subject(&Subject { id: 1, name: "loop".into(), command: "x".into(), ..Subject::default() })
        .unwrap();
    let load = Load { id: 1, subject: 1, name: "load".into(), ..Load::default() };
    assert_eq!(file.put_load(&load).unwrap(), Totals::default());
    (path, file)
}

#[test]
fn what_was_written_is_read_and_what_is_old_is_put_together() {
    let dir = tempfile::tempdir().unwrap();
    let (path, mut file) = file(dir.path());
    // Two days, every tenth of which the lab did not run.
    let mut completed = 0;
    for n in (0..COUNT).filter(|n| n % (COUNT / 10) >= COUNT / 100) {
        let start_s = f64::from(n) * INTERVAL_S;
        completed += 5;
        let totals = Totals {
            completed,
            kinds: vec![Kind { phase: "receive".into(), kind: "reset".into(), count: completed }],
            ..Totals::default()
        };
        file.write(&Moment {
            now_s: start_s + INTERVAL_S,
            intervals: vec![interval(1, start_s, 5)],
            totals: vec![(1, totals)],
            readings: vec![reading(start_s, f64::from(n))],
            ..Moment::default()
        })
        .unwrap();
    }
    let soak = file.read();
    assert_eq!(soak.loads[0].totals.completed, completed);
    assert_eq!(soak.loads[0].totals.kinds[0].count, completed);
    assert_eq!(soak.intervals.iter().map(|i| i.completed).sum::<u64>(), completed);
    let recorded: u64 = soak.intervals.iter().map(|i| Histogram::decode(&i.response).unwrap().count()).sum();
    assert_eq!(recorded, completed);
    let length_s: f64 = soak.intervals.iter().map(|i| i.length_s).sum();
    assert!((length_s - completed as f64 * INTERVAL_S / 5.0).abs() < 1e-6, "{length_s}");
    assert!(
        soak.intervals.windows(2).all(|pair| pair[0].start_s + pair[0].length_s <= pair[1].start_s + 1e-6)
    );
    // An hour as it was, a day of minutes, and ten minutes before that.
    let lengths = |at: f64| soak.intervals.iter().find(|i| i.start_s >= at).unwrap().length_s;
    assert_eq!((lengths(172_500.0), lengths(150_000.0), lengths(30_000.0)), (INTERVAL_S, 60.0, 600.0));
    assert!(soak.intervals.len() < 2200, "{}", soak.intervals.len());
    let readings: f64 = soak.readings.iter().map(|s| s.mean * s.length_s).sum();
    let expected: f64 =
        (0..COUNT).filter(|n| n % (COUNT / 10) >= COUNT / 100).map(|n| f64::from(n) * INTERVAL_S).sum();
    assert!((readings / expected - 1.0).abs() < 1e-9, "{readings} {expected}");
    file.finish(State::Complete).unwrap();
    assert_eq!(kind(&path).unwrap(), super::Kind::Soak);
    assert_eq!(Soak::open(&path).unwrap().state, State::Complete);
}

#[test]
fn what_is_lost_each_second_is_put_together_and_each_fault_knows_its_own() {
    const MINUTES: u32 = 26 * 60;
    let dir = tempfile::tempdir().unwrap();
    let (_path, mut file) = file(dir.path());
    let loss = |at_s: f64| Loss { load: 1, at_s, length_s: SECOND_S, lost: 2, torn: 1 };
    for minute in 0..MINUTES {
        let start_s = f64::from(minute) * 60.0;
        // Of ten seconds, so that it has what is lost of them, of the second in which it begins, and of the minute after it.
        let fault = Fault {
            subject: 1,
            due_s: start_s,
            at_s: start_s + 0.5,
            until_s: Some(start_s + 10.5),
            was_made: true,
            ..Fault::default()
        };
        file.write(&Moment {
            now_s: start_s + 60.0,
            faults: if minute % 60 == 0 { vec![fault] } else { Vec::new() },
            losses: (0..60).map(|second| loss(start_s + f64::from(second))).collect(),
            ..Moment::default()
        })
        .unwrap();
    }
    let sum = |file: &SoakWriter| {
        let soak = file.read();
        let lost: u64 = soak.losses.iter().map(|loss| loss.lost).sum();
        let torn: u64 = soak.losses.iter().map(|loss| loss.torn).sum();
        (soak, lost, torn)
    };
    let (soak, lost, torn) = sum(&file);
    assert_eq!((lost, torn), (u64::from(MINUTES) * 120, u64::from(MINUTES) * 60));
    assert!(soak.losses.len() <= 3660 + 1440 + 20, "{}", soak.losses.len());
    assert!(soak.losses.is_sorted_by(|a, b| a.at_s <= b.at_s));
    let old: Vec<u64> = soak.faults.iter().rev().skip(1).map(|fault| fault.lost).collect();
    assert_eq!(old, [140; 25]);
    // What turns out to be lost a day later is added to what is known of its time, and a fault that is written again keeps its own.
    let again = Fault { what: "again".into(), ..soak.faults[0].clone() };
    let late = Moment { losses: vec![loss(1.0), loss(7200.0)], faults: vec![again], ..Moment::default() };
    for (minutes, moment) in [(1, late), (20, Moment::default())] {
        let now_s = f64::from(MINUTES + minutes) * 60.0;
        file.write(&Moment { now_s, ..moment }).unwrap();
        let (soak, lost, _) = sum(&file);
        assert_eq!(lost, u64::from(MINUTES) * 120 + 4);
        assert_eq!((soak.faults[0].lost, soak.faults[0].what.as_str()), (142, "again"));
    }
    assert_eq!(sum(&file).0.losses.iter().filter(|loss| loss.at_s <= 7200.0).count(), 13);
}

#[test]
fn a_soak_goes_on_with_its_counts() {
    let dir = tempfile::tempdir().unwrap();
    let (path, mut file) = file(dir.path());
    let totals = Totals { completed: 7, ..Totals::default() };
    let open = Event {
        at_s: 3.0,
        until_s: None,
        subject: Some(1),
        kind: EventKind::HangSilent,
        sentence: "it answers nothing".into(),
        evidence: "state S".into(),
    };
    file.write(&Moment {
        now_s: 10.0,
        intervals: vec![interval(1, 0.0, 7)],
        totals: vec![(1, totals.clone())],
        events: vec![open.clone()],
        ..Moment::default()
    })
    .unwrap();
    drop(file);
    let mut file = SoakWriter::resume(&path, &Info::default()).unwrap();
    let load = Load { id: 1, subject: 1, name: "load".into(), command: "again".into(), ..Load::default() };
    assert_eq!(file.put_load(&load).unwrap(), totals);
    let over = Event { until_s: Some(20.0), sentence: "it answered nothing".into(), ..open.clone() };
    file.write(&Moment { now_s: 30.0, events: vec![over.clone()], ..Moment::default() }).unwrap();
    let dead = Event { at_s: 31.0, kind: EventKind::ServerEnded, ..open.clone() };
    let silent = Event { at_s: 32.0, ..open.clone() };
    let events = vec![dead.clone(), silent.clone()];
    file.write(&Moment { now_s: 40.0, events, ..Moment::default() }).unwrap();
    // The lab is killed while the server hangs.
    file.end_events(35.0).unwrap();
    let soak = file.read();
    assert_eq!(soak.events, [over, dead, Event { until_s: Some(35.0), ..silent }]);
    assert_eq!((soak.loads[0].command.as_str(), soak.state), ("again", State::Running));
}

#[test]
fn other_files_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let (text, missing) = (dir.path().join("text"), dir.path().join("missing"));
    std::fs::write(&text, "no database, but long enough to be taken for one if nobody looked").unwrap();
    assert!(matches!(Soak::open(&text), Err(RecordError::Foreign(_))));
    assert!(Soak::open(&missing).is_err());
    assert!(kind(&text).is_err() && kind(&missing).is_err());
    let (path, _file) = file(dir.path());
    assert!(matches!(SoakWriter::create(&path, &Info::default()), Err(RecordError::Exists(_))));
}

#[test]
fn a_file_has_one_writer_and_a_reader_sees_whether_it_is_there() {
    let dir = tempfile::tempdir().unwrap();
    let (path, mut file) = file(dir.path());
    assert!(matches!(SoakWriter::resume(&path, &Info::default()), Err(RecordError::Locked(_))));
    assert!(is_running(&path));
    let endings = Endings { deaths: 3, restarts: 2 };
    file.write(&Moment { endings: vec![(1, endings)], ..Moment::default() }).unwrap();
    drop(file);
    assert!(!is_running(&path) && !is_running(&dir.path().join("missing")));
    assert_eq!(Soak::look(&path).unwrap().state, State::Killed);
    let mut file = SoakWriter::resume(&path, &Info::default()).unwrap();
    let subject = Subject { id: 1, name: "loop".into(), ..Subject::default() };
    assert_eq!(file.put_subject(&subject).unwrap(), endings);
    assert_eq!(file.read().subjects[0].endings, endings);
    assert!(matches!(Soak::look(&path), Err(RecordError::Locked(_))), "it is not opened beside its writer");
    file.finish(State::Stopped).unwrap();
    assert_eq!(Soak::look(&path).unwrap().state, State::Stopped);
}

#[test]
fn a_time_or_count_that_nothing_can_have_had_is_damage() {
    let damaged = |damage: &str| {
        let dir = tempfile::tempdir().unwrap();
        let (path, mut file) = file(dir.path());
        let fault = Fault { subject: 1, at_s: 1.0, until_s: Some(2.0), was_made: true, ..Fault::default() };
        file.write(&Moment {
            now_s: INTERVAL_S,
            intervals: vec![interval(1, 0.0, 5)],
            totals: vec![(1, Totals { completed: 5, ..Totals::default() })],
            readings: vec![reading(0.0, 1.0)],
            faults: vec![fault],
            losses: vec![Loss { load: 1, at_s: 1.0, length_s: SECOND_S, lost: 1, torn: 0 }],
            ..Moment::default()
        })
        .unwrap();
        file.finish(State::Stopped).unwrap();
        rusqlite::Connection::open(&path).unwrap().execute_batch(damage).unwrap();
        Soak::open(&path).map(|_| ())
    };
    damaged("").unwrap();
    for damage in [
        "UPDATE interval SET completed = -1",
        "UPDATE interval SET errors = 9223372036854775807",
        "UPDATE interval SET start_s = 9e999",
        "UPDATE interval SET length_s = -30.0",
        "UPDATE interval SET length_s = 1e300",
        "UPDATE reading SET mean = 9e999",
        "UPDATE reading SET max = -1e300",
        "UPDATE reading SET start_s = 1e18",
        "UPDATE load SET totals = json_set(totals, '$.completed', -1)",
        "UPDATE load SET totals = json_set(totals, '$.completed', 9223372036854775807)",
        "UPDATE subject SET deaths = -1",
        "UPDATE subject SET restarts = 9223372036854775807",
        "UPDATE subject_fault SET until_s = 9e999",
        "UPDATE loss SET lost = -1",
        "UPDATE loss SET lost = 9223372036854775807",
    ] {
        assert!(damaged(damage).is_err(), "{damage}");
    }
}

#[test]
fn profiles_of_servers_are_read_back() {
    let dir = tempfile::tempdir().unwrap();
    let (_, mut file) = file(dir.path());
    let entries = vec![ProfileEntry { name: "a`main".into(), count: 3, ns: 0 }];
    let profile = Profile { requests: 7, cpu_ns: 9, entries, ..Profile::default() };
    let profiles = vec![SubjectProfile { subject: 1, at_s: 2.5, profile }];
    file.write(&Moment { now_s: 10.0, profiles: profiles.clone(), ..Moment::default() }).unwrap();
    assert_eq!(file.read().profiles, profiles);
}
