//! Files of soaks that are damaged or made to do harm: each is read or refused, never with a panic; one that is read makes a report in
//! every format, in bounded time, that a terminal shows.
#![no_main]

mod damage;

use std::sync::LazyLock;

use damage::{Input, damage};
use libfuzzer_sys::fuzz_target;
use pitot_fault::Effect;
use pitot_meter::{Histogram, Nanos};
use pitot_record::file::Moment;
use pitot_record::file::kind;
use pitot_record::soak::{
    Event, EventKind, Fault, Info, Interval, Kind, Load, Loss, Reading, SECOND_S, State, Subject, Totals,
};
use pitot_record::{Soak, SoakWriter};
use pitot_report::{Format, Reported, Screen, soak};
use pitot_results::visible;

const FORMATS: [Format; 4] = [Format::Terminal, Format::Html, Format::Markdown, Format::Json];

static SOUND: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let path = damage::path("sound.pitot");
    let info = Info {
        title: "A soak".into(),
        version: "0.1.0".into(),
        arguments: vec!["soak".into(), "http://127.0.0.1:1/".into()],
        started_unix_s: 1.7e9,
        asked_s: 3600.0,
        interval_s: 10,
        notes: vec!["a note".into()],
        published: vec!["a figure".into()],
        ..Info::default()
    };
    let mut file = SoakWriter::create(&path, &info).expect("a file");
    for id in 1..=2 {
        let subject =
            Subject { id, name: format!("s{id}"), command: "pitot serve".into(), ..Subject::default() };
        file.put_subject(&subject).expect("a subject");
        let load =
            Load { id, subject: id, name: "load".into(), command: "pitot load".into(), ..Load::default() };
        file.put_load(&load).expect("a load");
    }
    for n in 0..24_u32 {
        let start_s = f64::from(n) * 10.0;
        let mut response = Histogram::new();
        (0..20).for_each(|i| response.record(Nanos::from_micros(20 + i * u64::from(n + 1))));
        let interval = |load: i64| Interval {
            load,
            start_s,
            length_s: 10.0,
            completed: 20,
            errors: u64::from(n % 7 == 0),
            missed: 1,
            received: 1000,
            open: 5,
            response: response.encode(),
        };
        let sample = |subject: i64, metric: &str, value: f64| Reading {
            subject,
            metric: metric.into(),
            start_s,
            length_s: 10.0,
            mean: value,
            min: value - 1.0,
            max: value + 1.0,
        };
        let event = |kind: EventKind, subject: Option<i64>| Event {
            at_s: start_s,
            until_s: (n % 2 == 0).then_some(start_s + 5.0),
            subject,
            kind,
            sentence: "it happened".into(),
            evidence: "a line\nanother".into(),
        };
        let kinds = [
            EventKind::Gap,
            EventKind::ServerEnded,
            EventKind::HangSilent,
            EventKind::Kernel,
            EventKind::Lost,
        ];
        let fault = Fault {
            subject: 1,
            number: 0,
            kind: "stop".into(),
            due_s: start_s,
            at_s: start_s + 1.0,
            until_s: (n != 10).then_some(start_s + 2.0),
            what: "SIGSTOP".into(),
            command: "pitot fault stop".into(),
            was_made: true,
            effect: (n == 20).then(|| Effect {
                lasted_s: 1.0,
                service: None,
                errors: vec![("receive".into(), "x".into(), 3)],
                errors_before: 1,
            }),
            ..Fault::default()
        };
        let totals = Totals {
            completed: 20 * u64::from(n + 1),
            errors: 3,
            kinds: vec![Kind { phase: "receive".into(), kind: "reset".into(), count: 3 }],
            loaded_s: start_s + 10.0,
            ..Totals::default()
        };
        file.write(&Moment {
            now_s: start_s + 10.0,
            intervals: vec![interval(1), interval(2)],
            totals: vec![(1, totals.clone()), (2, totals)],
            readings: vec![
                sample(1, "memory-rss", 1e6 + 1e4 * f64::from(n)),
                sample(2, "memory-rss", 1e6),
                sample(1, "cpu", 0.5),
                sample(0, "memory-available", 1e9),
            ],
            events: if n % 5 == 0 { vec![event(kinds[n as usize / 5], Some(1))] } else { Vec::new() },
            faults: if n % 10 == 0 { vec![fault] } else { Vec::new() },
            losses: if n % 10 == 1 {
                vec![Loss { load: 1, at_s: start_s, length_s: SECOND_S, lost: 2, torn: 1 }]
            } else {
                Vec::new()
            },
            ..Moment::default()
        })
        .expect("an interval");
    }
    file.finish(State::Stopped).expect("it can be ended");
    let bytes = std::fs::read(&path).expect("it was written");
    Soak::open(&path).expect("it is sound");
    std::fs::remove_file(&path).expect("it can be removed");
    bytes
});

fuzz_target!(|data: &[u8]| {
    let path = damage::path("a.pitot");
    let mut input = Input(data);
    let how = input.byte();
    damage(&path, &SOUND, &mut input);
    let read = match Soak::look(&path) {
        Ok(read) => read,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    assert!(kind(&path).is_ok());
    match how % 8 {
        4 => assert!(soak::status(&read, Screen::PLAIN).to_string().len() < 1 << 24),
        5 => drop(soak::declared(&read)),
        // To go on with it: an interval more.
        6 => {
            let Ok(mut file) = SoakWriter::resume(&path, &read.info) else { return };
            let _ = file.end_faults(read.reached_s());
            let _ = file.end_events(read.reached_s());
            let _ = file.write(&Moment { now_s: read.reached_s() + 10.0, ..Moment::default() });
        }
        how => {
            let Some(text) = read.report(FORMATS[usize::from(how) % FORMATS.len()]) else { return };
            assert_eq!(visible(&text), text);
            assert!(text.len() < 64 << 20, "{} bytes", text.len());
        }
    }
});
