//! Fourteen days of a soak in some minutes: how large its file becomes, and how much memory the lab needs.
//!
//! `cargo run --release -p pitot-soak --example fourteen_days [FILE]`: three servers with two loads each, all figures every ten
//! seconds, response times of eight recorded shapes, a fault of each server every hour, a request of each load that is lost every second,
//! and as many events of four kinds as a soak lets through, with as much evidence as it keeps. The clock is simulated; the file is the real one. Each interval is synchronised as in
//! a real soak: a file in /dev/shm is written faster. The exit code is 1 if the file is larger than 200 MB.

use std::path::PathBuf;
use std::process::ExitCode;

use pitot_meter::{Histogram, Nanos, Random};
use pitot_record::file::Moment;
use pitot_record::soak::{
    Event, EventKind, Fault, Info, Interval, Load, Loss, Reading, SECOND_S, State, Subject, Totals,
};
use pitot_record::{METRICS, Soak, SoakWriter};
use pitot_soak::events::{EVIDENCE_BYTES, REFILL_S};

const DAYS: u32 = 14;
const INTERVAL_S: u32 = 10;
const SUBJECTS: i64 = 3;
const LOADS: i64 = 6;
/// Replies of a load in an interval.
const REPLIES: u64 = 4000;
const SHAPES: u64 = 8;
/// Kinds of events that come without end.
const KINDS: [EventKind; 4] =
    [EventKind::ServerEnded, EventKind::ServerRestarted, EventKind::LoadEnded, EventKind::HangSilent];
const FAULT_INTERVAL_S: u32 = 3600;
/// Requests that are lost of those acknowledged in a fault, which is over at once: one a second of each load, for a minute.
const LOST_IN_FAULT: u64 = 60 * LOADS as u64 / SUBJECTS as u64;
/// What it must fit into.
const LIMIT_BYTES: u64 = 200_000_000;

/// Response times as a busy server has them: a narrow middle, and a tail over three decades.
fn recorded(seed: u64) -> String {
    let (mut random, mut times) = (Random::new(seed), Histogram::new());
    for _ in 0..REPLIES {
        let tail = 0.3 / (random.unit() + 1e-4).sqrt();
        times.record(Nanos((80_000.0 * (1.0 + tail + 0.2 * random.unit())) as u64));
    }
    times.encode()
}

/// What is lost of each load in the seconds of an interval.
fn losses(second: u32) -> Vec<Loss> {
    let lost =
        |load: i64, second: u32| Loss { load, at_s: f64::from(second), length_s: SECOND_S, lost: 1, torn: 0 };
    (second..second + INTERVAL_S).flat_map(|second| (1..=LOADS).map(move |load| lost(load, second))).collect()
}

/// `VmHWM` and `VmRSS`: the most that this process has held, and what it holds, MiB.
fn memory() -> (f64, f64) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let of = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
        line.split_ascii_whitespace().next().and_then(|kib| kib.parse::<f64>().ok()).unwrap_or_default()
            / 1024.0
    };
    (of("VmHWM:"), of("VmRSS:"))
}

/// One event of each kind, whose evidence is as long as any.
fn events(at_s: f64) -> Vec<Event> {
    let event = |kind: EventKind| Event {
        at_s,
        until_s: None,
        subject: Some(1),
        kind,
        sentence: format!("the server at {at_s} s"),
        evidence: "thread 4711 sleeps in ep_poll\n".repeat(EVIDENCE_BYTES / 30),
    };
    KINDS.map(event).into()
}

/// A fault of each server.
fn faults(at_s: f64) -> Vec<Fault> {
    let fault = |subject: i64| Fault {
        subject,
        kind: "kill".into(),
        due_s: at_s,
        at_s,
        until_s: Some(at_s),
        what: "SIGKILL to process 4711 (pitot)".into(),
        command: "pitot fault kill --pid PID --for 500ms".into(),
        was_made: true,
        effect: Some(Default::default()),
        ..Fault::default()
    };
    (1..=SUBJECTS).map(fault).collect()
}

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let path =
        std::env::args_os().nth(1).map_or_else(|| std::env::temp_dir().join("14d.pitot"), PathBuf::from);
    let mut file = SoakWriter::create(&path, &Info { title: "14 days".into(), ..Info::default() })?;
    for id in 1..=SUBJECTS {
        file.put_subject(&Subject { id, name: format!("server {id}"), ..Subject::default() })?;
    }
    for id in 1..=LOADS {
        let load =
            Load { id, subject: (id - 1) % SUBJECTS + 1, name: format!("load {id}"), ..Load::default() };
        file.put_load(&load)?;
    }
    let shapes: Vec<String> = (0..SHAPES).map(recorded).collect();
    let length_s = f64::from(INTERVAL_S);
    for n in 0..DAYS * 86_400 / INTERVAL_S {
        let start_s = f64::from(n) * length_s;
        let intervals = (1..=LOADS).map(|load| Interval {
            load,
            start_s,
            length_s,
            completed: REPLIES,
            received: REPLIES * 1200,
            open: 8,
            response: shapes[(n as usize * 5 + load as usize) % shapes.len()].clone(),
            ..Interval::default()
        });
        let totals = Totals { completed: REPLIES * u64::from(n + 1), ..Totals::default() };
        let reading = |subject: i64, metric: &str| {
            let value = f64::from(n % 977) * 4096.0;
            let metric = metric.to_owned();
            Reading { subject, metric, start_s, length_s, mean: value, min: value, max: value }
        };
        let figures = || METRICS.iter().filter(|metric| metric.in_soak.is_some()).map(|metric| metric.name);
        let second = n * INTERVAL_S;
        let is_time = |interval_s: u32| second.is_multiple_of(interval_s);
        file.write(&Moment {
            now_s: start_s + length_s,
            events: if is_time(REFILL_S as u32) { events(start_s) } else { Vec::new() },
            losses: losses(second),
            faults: if is_time(FAULT_INTERVAL_S) { faults(start_s) } else { Vec::new() },
            intervals: intervals.collect(),
            totals: (1..=LOADS).map(|load| (load, totals.clone())).collect(),
            readings: (0..=SUBJECTS)
                .flat_map(|subject| figures().map(move |name| reading(subject, name)))
                .collect(),
            ..Moment::default()
        })?;
        if (n + 1) % (86_400 / INTERVAL_S) == 0 {
            let (most, now) = memory();
            let size = std::fs::metadata(&path)?.len() as f64 / 1_048_576.0;
            println!(
                "day {:>2}: file {size:.1} MiB, memory {now:.1} MiB, at most {most:.1} MiB",
                (n + 1) * INTERVAL_S / 86_400
            );
        }
    }
    file.finish(State::Complete)?;
    let soak = Soak::open(&path)?;
    let counted: u64 = soak.intervals.iter().map(|interval| interval.completed).sum();
    let expected = LOADS as u64 * REPLIES * u64::from(DAYS * 86_400 / INTERVAL_S);
    println!("{} intervals; {counted} replies of {expected} in them", soak.intervals.len());
    let lost: u64 = soak.losses.iter().map(|loss| loss.lost).sum();
    let all_lost = LOADS as u64 * u64::from(DAYS * 86_400);
    // Of the last hour the report counts them itself.
    let mut old = soak.faults.iter().filter(|fault| fault.at_s < f64::from(DAYS * 86_400) - 7200.0);
    let is_known = old.all(|fault| fault.lost == LOST_IN_FAULT);
    println!("{} stretches in which something was lost; {lost} lost of {all_lost}", soak.losses.len());
    let size = std::fs::metadata(&path)?.len();
    println!(
        "{}: {:.1} MB, {} events, {} faults",
        path.display(),
        size as f64 / 1e6,
        soak.events.len(),
        soak.faults.len()
    );
    if size > LIMIT_BYTES || counted != expected || lost != all_lost || !is_known {
        eprintln!("it must be at most {} MB, and hold every reply and loss", LIMIT_BYTES / 1_000_000);
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}
