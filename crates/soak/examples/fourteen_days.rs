//! Fourteen days of a soak in some minutes: how large its file becomes, and how much memory the lab needs.
//!
//! `cargo run --release -p pitot-soak --example fourteen_days [FILE]`: three servers with two loads each, all figures every ten
//! seconds, response times of eight recorded shapes. The clock is simulated; the file is the real one. Each interval is
//! synchronised as in a real soak: a file in /dev/shm is written faster.

use std::path::PathBuf;

use pitot_meter::{Histogram, Nanos, Random};
use pitot_soak::figure::FIGURES;
use pitot_soak::file::Moment;
use pitot_soak::record::{Info, Interval, Load, Sample, State, Subject, Totals};
use pitot_soak::{Soak, SoakFile};

const DAYS: u32 = 14;
const INTERVAL_S: u32 = 10;
const SUBJECTS: i64 = 3;
const LOADS: i64 = 6;
/// Replies of a load in an interval.
const REPLIES: u64 = 4000;
const SHAPES: u64 = 8;

/// Response times as a busy server has them: a narrow middle, and a tail over three decades.
fn recorded(seed: u64) -> String {
    let (mut random, mut times) = (Random::new(seed), Histogram::new());
    for _ in 0..REPLIES {
        let tail = 0.3 / (random.unit() + 1e-4).sqrt();
        times.record(Nanos((80_000.0 * (1.0 + tail + 0.2 * random.unit())) as u64));
    }
    times.encode()
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

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path =
        std::env::args_os().nth(1).map_or_else(|| std::env::temp_dir().join("14d.pitot"), PathBuf::from);
    let mut file = SoakFile::create(&path, &Info { title: "14 days".into(), ..Info::default() })?;
    for id in 1..=SUBJECTS {
        file.put_subject(&Subject { id, name: format!("server {id}"), command: String::new() })?;
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
        let sample = |subject: i64, figure: &str| {
            let value = f64::from(n % 977) * 4096.0;
            let figure = figure.to_owned();
            Sample { subject, figure, start_s, length_s, mean: value, min: value, max: value }
        };
        let figures = || FIGURES.iter().map(|figure| figure.name);
        file.write(&Moment {
            now_s: start_s + length_s,
            intervals: intervals.collect(),
            totals: (1..=LOADS).map(|load| (load, totals.clone())).collect(),
            samples: (0..=SUBJECTS)
                .flat_map(|subject| figures().map(move |name| sample(subject, name)))
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
    let size = std::fs::metadata(&path)?.len() as f64 / 1_048_576.0;
    println!("{}: {size:.1} MiB", path.display());
    Ok(())
}
