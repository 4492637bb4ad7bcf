//! Ways to find changes of level in simulated histories, as a Markdown table:
//! `cargo run --release -p pitot-stats --example histories [HISTORIES] [SEED] [--write FOLDER] [--found NAME=FOLDER]`.
//!
//! `--write` writes the histories instead, one file for each kind, length and noise, and one history a line. `--found` adds what
//! another program found in them: files of the same names, with the indexes of the first values after each change, one
//! history a line. `bench/histories.py` does both for Apache Otava.

#[path = "../tests/stats/support/mod.rs"]
#[allow(dead_code, reason = "one of its functions")]
mod support;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Instant;

use pitot_meter::Random;
use pitot_stats::drift::{Kind as Feature, Question, Series, drift};
use pitot_stats::level_changes;
use support::autoregression;

/// The chance of a false alarm that is asked of every method that can be asked.
const LEVEL: f64 = 0.02;
/// The fewest values on either side of a change.
const SIDE_MIN: usize = 3;
/// Permutations of a test.
const ORDERS: usize = 499;

fn main() {
    let options = Options::read();
    if let Some(folder) = &options.write {
        fs::create_dir_all(folder).expect("a folder for the histories");
    }
    for length in [40, 100] {
        for noise in [0.01, 0.02] {
            let cells = KINDS.iter().enumerate().map(|(number, kind)| Cell { kind, number, length, noise });
            match &options.write {
                Some(folder) => cells.for_each(|cell| cell.write(&options, folder)),
                None => table(&cells.collect::<Vec<_>>(), &options),
            }
        }
    }
    if options.write.is_none() {
        chances(&options);
        intervals(&options);
        revisions(&options);
        speed(&options);
    }
}

struct Options {
    histories: usize,
    seed: u64,
    write: Option<PathBuf>,
    /// Other programs, and where their findings are.
    others: Vec<(String, PathBuf)>,
    /// Only what is in production, which is fast.
    only_own: bool,
}

impl Options {
    fn read() -> Options {
        let mut options =
            Options { histories: 200, seed: 7, write: None, others: Vec::new(), only_own: false };
        let mut numbers = Vec::new();
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            match word.as_str() {
                "--write" => options.write = Some(words.next().expect("--write FOLDER").into()),
                "--found" => {
                    let other = words.next().expect("--found NAME=FOLDER");
                    let (name, folder) = other.split_once('=').expect("--found NAME=FOLDER");
                    options.others.push((name.to_owned(), folder.into()));
                }
                "--only-own" => options.only_own = true,
                number => numbers.push(number.parse().expect("a number")),
            }
        }
        if let [histories, ..] = numbers[..] {
            options.histories = histories as usize;
        }
        if let [_, seed, ..] = numbers[..] {
            options.seed = seed;
        }
        options
    }
}

/// What is true of a history.
enum Truth {
    /// The level changes at these places.
    Places(Vec<usize>),
    /// It changes slowly from here to the end.
    From(usize),
}

/// A history, as logarithms, and what is true of it.
type History = (Vec<f64>, Truth);

struct Kind {
    name: &'static str,
    /// A history of a length, with noise of a standard deviation.
    make: fn(usize, f64, &mut Random) -> History,
}

const KINDS: &[Kind] = &[
    Kind { name: "no change", make: |n, noise, random| (normal(n, noise, random), nothing()) },
    Kind { name: "no change, heavy tails", make: |n, noise, random| (heavy(n, noise, random), nothing()) },
    Kind { name: "no change, skewed", make: |n, noise, random| (skewed(n, noise, random), nothing()) },
    Kind {
        name: "no change, autocorrelation 0.3",
        make: |n, noise, random| {
            (autoregression(0.3, n, random).iter().map(|x| noise * x).collect(), nothing())
        },
    },
    Kind {
        name: "no change, the noise triples half way",
        make: |n, noise, random| {
            let mut logs = normal(n, noise, random);
            logs[n / 2..].iter_mut().for_each(|log| *log *= 3.0);
            (logs, nothing())
        },
    },
    Kind { name: "one spike of 20%", make: |n, noise, random| spikes(n, noise, &[0], random) },
    Kind {
        name: "two spikes, one run between them",
        make: |n, noise, random| spikes(n, noise, &[0, 2], random),
    },
    Kind { name: "step of 2%", make: |n, noise, random| step(n, noise, 0.02, random) },
    Kind { name: "step of 5%", make: |n, noise, random| step(n, noise, 0.05, random) },
    Kind { name: "step of 10%", make: |n, noise, random| step(n, noise, 0.1, random) },
    Kind {
        name: "step of 5%, heavy tails",
        make: |n, noise, random| raised(heavy(n, noise, random), &[(n / 4 + random.below(n / 2), 0.05)]),
    },
    Kind {
        name: "step of 5%, 3 runs ago",
        make: |n, noise, random| raised(normal(n, noise, random), &[(n - 3, 0.05)]),
    },
    Kind {
        name: "step of 5%, 4 runs ago",
        make: |n, noise, random| raised(normal(n, noise, random), &[(n - 4, 0.05)]),
    },
    Kind {
        name: "step of 5%, 6 runs ago",
        make: |n, noise, random| raised(normal(n, noise, random), &[(n - 6, 0.05)]),
    },
    Kind {
        name: "5% for 10 runs, then back",
        make: |n, noise, random| {
            let at = 10 + random.below(n - 29);
            raised(normal(n, noise, random), &[(at, 0.05), (at + 10, -0.05)])
        },
    },
    Kind {
        name: "steps of 5% up, up and 10% down",
        make: |n, noise, random| {
            raised(normal(n, noise, random), &[(n / 4, 0.05), (n / 2, 0.05), (3 * n / 4, -0.1)])
        },
    },
    Kind {
        name: "creep of 10% over the second half",
        make: |n, noise, random| {
            let mut logs = normal(n, noise, random);
            let half = n - n / 2;
            for (i, log) in logs[n / 2..].iter_mut().enumerate() {
                *log += 1.1f64.ln() * (i + 1) as f64 / half as f64;
            }
            (logs, Truth::From(n / 2))
        },
    },
    Kind {
        name: "another machine: 25%, twice the noise",
        make: |n, noise, random| {
            let mut logs = normal(n, noise, random);
            let at = n / 4 + random.below(n / 2);
            logs[at..].iter_mut().for_each(|log| *log *= 2.0);
            raised(logs, &[(at, 0.25)])
        },
    },
];

fn nothing() -> Truth {
    Truth::Places(Vec::new())
}

fn normal(n: usize, noise: f64, random: &mut Random) -> Vec<f64> {
    (0..n).map(|_| noise * random.normal()).collect()
}

/// Student's t with three degrees of freedom, of which the variance is 3.
fn heavy(n: usize, noise: f64, random: &mut Random) -> Vec<f64> {
    (0..n)
        .map(|_| {
            let square: f64 = (0..3).map(|_| random.normal().powi(2)).sum();
            noise * random.normal() / square.sqrt()
        })
        .collect()
}

/// An exponential distribution: none is much faster than usual.
fn skewed(n: usize, noise: f64, random: &mut Random) -> Vec<f64> {
    (0..n).map(|_| -noise * (1.0 - random.unit()).ln()).collect()
}

fn spikes(n: usize, noise: f64, places: &[usize], random: &mut Random) -> History {
    let mut logs = normal(n, noise, random);
    let first = random.below(n - places[places.len() - 1]);
    for place in places {
        logs[first + place] += 1.2f64.ln();
    }
    (logs, nothing())
}

/// A step within the middle half.
fn step(n: usize, noise: f64, size: f64, random: &mut Random) -> History {
    let at = n / 4 + random.below(n / 2);
    raised(normal(n, noise, random), &[(at, size)])
}

/// The level from each place on, more by so much of it.
fn raised(mut logs: Vec<f64>, steps: &[(usize, f64)]) -> History {
    for (at, size) in steps {
        // What rises by 5% falls back to where it was.
        let by = size.signum() * size.abs().ln_1p();
        logs[*at..].iter_mut().for_each(|log| *log += by);
    }
    (logs, Truth::Places(steps.iter().map(|step| step.0).collect()))
}

/// Histories of one kind.
struct Cell<'a> {
    kind: &'a Kind,
    number: usize,
    length: usize,
    noise: f64,
}

impl Cell<'_> {
    /// The same ones for every method and program.
    fn histories(&self, options: &Options) -> Vec<(Vec<f64>, Truth)> {
        let seed = options.seed + 1_000_000 * self.number as u64 + 1_000 * self.length as u64;
        let mut random = Random::new(seed + (1_000.0 * self.noise) as u64);
        (0..options.histories)
            .map(|_| {
                let (logs, truth) = (self.kind.make)(self.length, self.noise, &mut random);
                (logs.iter().map(|log| 100.0 * log.exp()).collect(), truth)
            })
            .collect()
    }

    fn file(&self, folder: &Path) -> PathBuf {
        folder.join(format!("{:02}-{}-{}.csv", self.number, self.length, self.noise))
    }

    fn write(&self, options: &Options, folder: &Path) {
        let mut text = String::new();
        for (values, _) in self.histories(options) {
            let values: Vec<String> = values.iter().map(f64::to_string).collect();
            writeln!(text, "{}", values.join(",")).expect("a string");
        }
        fs::write(self.file(folder), text).expect("a file of histories");
    }

    /// What another program found.
    fn read(&self, folder: &Path) -> Vec<Vec<usize>> {
        let text = fs::read_to_string(self.file(folder)).expect("what the program found");
        let places = |line: &str| line.split(',').filter_map(|place| place.parse().ok()).collect();
        text.lines().map(places).collect()
    }
}

/// A method: the first index after each change that it finds.
type Method = (&'static str, fn(&[f64]) -> Vec<usize>);

const METHODS: &[Method] = &[
    ("`level_changes`", |values| level_changes(values).iter().map(|change| change.at).collect()),
    ("`drift`", drift_steps),
    ("E-divisive", |values| segmented(values, energy)),
    ("Pettitt", |values| segmented(values, rank_sum)),
];

/// One row for each kind: changes found of those that are there, histories with a false alarm, and how many runs from its place
/// a change was found.
fn table(cells: &[Cell<'_>], options: &Options) {
    let (length, noise) = (cells[0].length, cells[0].noise);
    println!(
        "\n{length} runs, noise of {:.0}%: found, histories with false alarms, runs from the place\n",
        100.0 * noise
    );
    let own = if options.only_own { &METHODS[..1] } else { METHODS };
    let names = own.iter().map(|method| method.0).chain(options.others.iter().map(|other| &*other.0));
    println!("| history | {} |", names.collect::<Vec<_>>().join(" | "));
    println!("|---|{}", "---|".repeat(own.len() + options.others.len()));
    let row = |cell: &Cell<'_>| {
        let histories = cell.histories(options);
        let own = own.iter().map(|method| histories.iter().map(|(values, _)| method.1(values)).collect());
        let others = options.others.iter().map(|(_, folder)| cell.read(folder));
        let entries: Vec<String> = own.chain(others).map(|found: Vec<_>| score(&histories, &found)).collect();
        format!("| {} | {} |", cell.kind.name, entries.join(" | "))
    };
    thread::scope(|scope| {
        let rows: Vec<_> = cells.iter().map(|cell| scope.spawn(|| row(cell))).collect();
        rows.into_iter().for_each(|row| println!("{}", row.join().expect("a row")));
    });
}

/// An entry of the table.
fn score(histories: &[(Vec<f64>, Truth)], found: &[Vec<usize>]) -> String {
    assert_eq!(histories.len(), found.len());
    let (mut true_changes, mut hits, mut alarms, mut away) = (0, 0, 0, 0);
    for ((values, truth), found) in histories.iter().zip(found) {
        // A change is found if it is put within so many runs of its place.
        let reach = (values.len() / 10).max(5);
        let mut found = found.clone();
        match truth {
            Truth::Places(places) => {
                true_changes += places.len();
                for place in places {
                    let nearest = (0..found.len()).min_by_key(|&i| found[i].abs_diff(*place));
                    if let Some(i) = nearest.filter(|&i| found[i].abs_diff(*place) <= reach) {
                        hits += 1;
                        away += found.swap_remove(i).abs_diff(*place);
                    }
                }
            }
            Truth::From(start) => {
                true_changes += 1;
                let before = found.len();
                found.retain(|place| place + reach < *start);
                hits += usize::from(found.len() < before);
            }
        }
        alarms += usize::from(!found.is_empty());
    }
    let percent = |count: usize, of: usize| format!("{:.0}%", 100.0 * count as f64 / of as f64);
    let alarms = format!("{:.1}%", 100.0 * alarms as f64 / histories.len() as f64);
    match &histories[0].1 {
        Truth::Places(places) if places.is_empty() => format!("{alarms} false"),
        Truth::From(_) => format!("{}, {alarms} false", percent(hits, true_changes)),
        Truth::Places(_) => {
            format!(
                "{}, {alarms} false, {:.1}",
                percent(hits, true_changes),
                away as f64 / hits.max(1) as f64
            )
        }
    }
}

/// How often an even history has a change of at most a p-value.
fn chances(options: &Options) {
    type Noise = fn(usize, f64, &mut Random) -> Vec<f64>;
    const P: [f64; 4] = [0.02, 0.01, 0.003, 0.001];
    let histories = 100 * options.histories;
    println!("\nchanges of at most a p-value in {histories} histories without one\n");
    println!(
        "| runs | noise | {} |\n|---|---|{}",
        P.map(|p| p.to_string()).join(" | "),
        "---|".repeat(P.len())
    );
    let noises: [(&str, Noise); 3] = [("normal", normal), ("heavy tails", heavy), ("skewed", skewed)];
    for n in [12, 15, 40, 100] {
        for (name, noise) in noises {
            let mut random = Random::new(options.seed);
            let mut seen = [0; P.len()];
            for _ in 0..histories {
                let values: Vec<f64> = noise(n, 0.02, &mut random).iter().map(|log| log.exp()).collect();
                let least = level_changes(&values).iter().map(|change| change.p).fold(1.0, f64::min);
                for (seen, p) in seen.iter_mut().zip(P) {
                    *seen += usize::from(least <= p);
                }
            }
            let shares = seen.map(|seen| format!("{:.3}%", 100.0 * seen as f64 / histories as f64));
            println!("| {n} | {name} | {} |", shares.join(" | "));
        }
    }
}

/// How often the intervals of `level_changes` hold the truth.
fn intervals(options: &Options) {
    let mut random = Random::new(options.seed);
    println!(
        "\nintervals of changes that are found\n\n| runs | after | step | found | place within | ratio within | runs wide |\n|---|---|---|---|---|---|---|"
    );
    for (n, after) in [(40, 4), (40, 10), (40, 20), (100, 50)] {
        for size in [0.02, 0.05] {
            let (mut found, mut place, mut ratio, mut wide) = (0usize, 0usize, 0usize, 0usize);
            for _ in 0..options.histories {
                let (logs, _) = raised(normal(n, 0.02, &mut random), &[(n - after, size)]);
                let values: Vec<f64> = logs.iter().map(|log| log.exp()).collect();
                if let [change] = level_changes(&values)[..] {
                    found += 1;
                    let [from, to] = change.between;
                    place += usize::from((from..=to).contains(&(n - after)));
                    wide += to - from + 1;
                    ratio += usize::from(change.interval.contains(1.0 + size));
                }
            }
            let share = |count: usize| 100.0 * count as f64 / found.max(1) as f64;
            println!(
                "| {n} | {after} | {:.0}% | {found} | {:.0}% | {:.0}% | {:.1} |",
                100.0 * size,
                share(place),
                share(ratio),
                wide as f64 / found.max(1) as f64
            );
        }
    }
}

/// How often one more value moves a change that is older than ten runs, adds one or takes one away.
fn revisions(options: &Options) {
    let mut random = Random::new(options.seed);
    let (mut moved, mut asked) = (0, 0);
    for _ in 0..options.histories {
        let n = 100;
        let (logs, _) =
            raised(normal(n, 0.02, &mut random), &[(n / 4, 0.05), (n / 2, 0.05), (3 * n / 4, -0.1)]);
        let values: Vec<f64> = logs.iter().map(|log| log.exp()).collect();
        let of = |until: usize| -> Vec<usize> {
            let changes = level_changes(&values[..until]);
            changes.iter().map(|change| change.at).filter(|at| *at < 80).collect()
        };
        for until in 91..=n {
            asked += 1;
            moved += usize::from(of(until) != of(until - 1));
        }
    }
    println!("\none more value revised the changes older than ten runs in {moved} of {asked} cases");
}

fn speed(options: &Options) {
    println!();
    for (n, steps) in [(40, 0), (100, 0), (300, 0), (300, 4), (10_000, 0), (10_000, 20)] {
        let mut random = Random::new(options.seed);
        let steps: Vec<(usize, f64)> =
            (1..=steps).map(|i| (n * i / (steps + 1), if i % 2 == 0 { -0.05 } else { 0.05 })).collect();
        let (logs, _) = raised(normal(n, 0.02, &mut random), &steps);
        let values: Vec<f64> = logs.iter().map(|log| log.exp()).collect();
        let start = Instant::now();
        let found = level_changes(&values).len();
        println!(
            "{n} values with {} changes: {found} found in {:.1} ms",
            steps.len(),
            1e3 * start.elapsed().as_secs_f64()
        );
    }
}

/// The steps that the analysis of long runs finds.
fn drift_steps(values: &[f64]) -> Vec<usize> {
    let points: Vec<(f64, f64)> =
        values.iter().enumerate().map(|(i, value)| (i as f64, value.ln())).collect();
    let question = Question { resamples: 299, ..Question::default() };
    let Ok(answer) = drift(&Series { figure: "it", points: &points }, &question) else { return Vec::new() };
    let steps = answer.changes.iter().filter(|change| change.kind == Feature::Step);
    steps.map(|change| change.seconds.ceil() as usize).collect()
}

/// Binary segmentation by a statistic and its permutation test.
fn segmented(values: &[f64], statistic: fn(&[f64]) -> (usize, f64)) -> Vec<usize> {
    let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    let mut found = Vec::new();
    let mut stretches: Vec<_> = std::iter::once(0..logs.len()).collect();
    let mut random = Random::new(1);
    let most = (LEVEL * (ORDERS + 1) as f64) as usize;
    while let Some(stretch) = stretches.pop() {
        let mut order = logs[stretch.clone()].to_vec();
        if order.len() < 2 * SIDE_MIN {
            continue;
        }
        let (at, clear) = statistic(&order);
        let mut as_clear = 1;
        for _ in 0..ORDERS {
            random.shuffle(&mut order);
            as_clear += usize::from(statistic(&order).1 >= clear);
            if as_clear > most {
                break;
            }
        }
        if as_clear <= most {
            found.push(stretch.start + at);
            stretches.extend([stretch.start..stretch.start + at, stretch.start + at..stretch.end]);
        }
    }
    found.sort_unstable();
    found
}

/// The largest energy distance of the values before and after a place (Matteson and James 2014, with an exponent of 1).
fn energy(logs: &[f64]) -> (usize, f64) {
    let n = logs.len();
    let apart = |from: &[f64], value: f64| from.iter().map(|other| (other - value).abs()).sum::<f64>();
    let all: f64 = (1..n).map(|i| apart(&logs[..i], logs[i])).sum();
    let (mut before, mut after) = (0.0, all);
    let mut best = (0, f64::MIN);
    for at in 1..=n - SIDE_MIN {
        before += apart(&logs[..at - 1], logs[at - 1]);
        after -= apart(&logs[at..], logs[at - 1]);
        if at >= SIDE_MIN {
            let (a, b) = (at as f64, (n - at) as f64);
            let between = 2.0 * (all - before - after) / (a * b);
            let within = 2.0 * before / (a * (a - 1.0)) + 2.0 * after / (b * (b - 1.0));
            let distance = a * b / (a + b) * (between - within);
            if distance > best.1 {
                best = (at, distance);
            }
        }
    }
    best
}

/// The largest standardised rank sum (Pettitt, "A non-parametric approach to the change-point problem", Applied Statistics 28,
/// 1979), of values without ties.
fn rank_sum(logs: &[f64]) -> (usize, f64) {
    let n = logs.len();
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_unstable_by(|&a, &b| logs[a].total_cmp(&logs[b]));
    let mut ranks = vec![0.0; n];
    for (rank, &i) in order.iter().enumerate() {
        ranks[i] = rank as f64 - (n - 1) as f64 / 2.0;
    }
    let mut sum = 0.0;
    let mut best = (0, f64::MIN);
    for at in 1..=n - SIDE_MIN {
        sum += ranks[at - 1];
        let clear = sum * sum / (at * (n - at)) as f64;
        if at >= SIDE_MIN && clear > best.1 {
            best = (at, clear);
        }
    }
    best
}
