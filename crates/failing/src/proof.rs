//! The proof for one store: every fault at every call, and every power cut, each followed by a second start.

use std::collections::{HashMap, HashSet};
use std::fmt::{self, Display, Formatter};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::power::{Cut, each_cut};
use crate::record::{Fault, Kind, Record, Step, record};
use crate::store::{End, Store};

/// Where files need no disk: thousands of disks are looked at.
const MEMORY: &str = "/dev/shm";
/// More failures are not told.
const FAILURES_MAX: usize = 8;

/// What was tried, and what was found.
#[derive(Debug)]
pub struct Proof {
    store: &'static str,
    calls: usize,
    faults: usize,
    cuts: usize,
    orders: usize,
    disks: usize,
    /// What was lost, or does not go on: nothing, where the store is right.
    pub failures: Vec<String>,
}

impl Display for Proof {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Proof { store, calls, faults, cuts, orders, disks, failures } = self;
        write!(
            f,
            "{store}: {calls} calls, {faults} faults, {cuts} cut points, {orders} orders, {disks} distinct disks: "
        )?;
        match failures.len() {
            0 => f.write_str("nothing lost"),
            count => write!(f, "{count} FAILURES\n  {}", failures[..count.min(FAILURES_MAX)].join("\n  ")),
        }
    }
}

/// Tries a store, which `program` uses (`main.rs`).
///
/// # Panics
/// If the store does not work without a fault, or nothing can be tried here.
pub fn prove(program: &Path, store: &'static Store) -> Proof {
    let place = if fs::metadata(MEMORY).is_ok_and(|about| about.is_dir()) {
        MEMORY.into()
    } else {
        std::env::temp_dir()
    };
    let work =
        TempDir::new_in(&place).or_else(|_| TempDir::new()).expect("a directory for the files of the store");
    let root = work.path().canonicalize().expect("the directory that was made");
    let bench = Bench { program: program.to_owned(), root: root.join("work"), store };
    let mut proof =
        Proof { store: store.name, calls: 0, faults: 0, cuts: 0, orders: 0, disks: 0, failures: Vec::new() };

    let whole = bench.run(None);
    assert!(whole.status.success(), "{} without a fault: {}", store.name, whole.status);
    assert_eq!(whole.said().last().map(String::as_str), Some("end"), "{} without a fault", store.name);
    proof.calls = whole.calls.len();
    bench.cut(&whole, 0, "", &mut proof);

    // Until there is no such call; the names of files and the order of threads may make it one more or less.
    for call in 0.. {
        let mut is_met = false;
        let kinds = whole.calls.get(call).map_or(&Kind::ALL[..], |(_, kinds)| kinds);
        for &kind in kinds {
            let record = bench.run(Some(Fault { call, kind }));
            if !record.was_met {
                continue;
            }
            is_met = true;
            proof.faults += 1;
            let name = format!("{kind:?} at call {call} ({})", record.calls[call].0);
            bench.fault(&record, kind, &name, &mut proof);
        }
        if !is_met && call >= whole.calls.len() {
            break;
        }
    }
    proof
}

struct Bench {
    program: PathBuf,
    /// The store's directory is in it, and what else it needs.
    root: PathBuf,
    store: &'static Store,
}

impl Bench {
    fn directory(&self) -> PathBuf {
        self.root.join("store")
    }

    /// An empty directory with what the store needs beside it.
    fn clear(&self, end: Option<End>) {
        let _ = fs::remove_dir_all(&self.root);
        fs::create_dir_all(self.directory()).expect("an empty directory");
        (self.store.prepare)(&self.root, end).expect("what a store needs");
    }

    fn run(&self, fault: Option<Fault>) -> Record {
        self.clear(None);
        let mut command = Command::new(&self.program);
        command.arg(self.store.name).arg(&self.root);
        if fault.is_some() {
            command.stderr(Stdio::null());
        }
        record(command, &self.directory(), fault).expect("a program that can be traced")
    }

    /// Looks at what a run with a fault has left.
    fn fault(&self, record: &Record, kind: Kind, name: &str, proof: &mut Proof) {
        let said = record.said();
        if kind.is_survived() && !record.status.success() {
            proof.failures.push(format!("{name}: it ended with {}", record.status));
        }
        let end = if kind.is_survived() { End::Failure } else { End::Kill };
        if let Err(why) = (self.store.check)(&self.root, &said, end) {
            proof.failures.push(format!("{name}: {why} [said {}]", said.join(", ")));
        }
        // What was to be synchronised may be lost now; what was acknowledged since must not be.
        let failed = record.steps.iter().position(|step| matches!(step, Step::Sync(_, false)));
        if let Some(failed) = failed.filter(|_| kind == Kind::InputOutput) {
            self.cut(record, failed, name, proof);
        }
    }

    /// Looks at what power cuts from a step on may leave of a run. A disk that may be left at several points is looked at once for all
    /// those before which the same was said.
    fn cut(&self, record: &Record, from: usize, name: &str, proof: &mut Proof) {
        let mut last: HashMap<(u64, usize), Cut> = HashMap::new();
        let mut points = HashSet::new();
        each_cut(record, from, &mut |cut, disk| {
            proof.orders += 1;
            points.insert(cut.step);
            last.insert((disk().digest(), said_before(record, cut).count()), cut);
        });
        proof.cuts += points.len();
        proof.disks += last.keys().map(|(digest, _)| digest).collect::<HashSet<_>>().len();
        let wanted: HashSet<Cut> = last.into_values().collect();
        each_cut(record, from, &mut |cut, disk| {
            if !wanted.contains(&cut) {
                return;
            }
            self.clear(Some(End::PowerCut));
            disk().write(&self.directory()).expect("a disk that is written");
            let said: Vec<String> = said_before(record, cut).cloned().collect();
            if let Err(why) = (self.store.check)(&self.root, &said, End::PowerCut) {
                let at = record.steps.get(cut.step).map_or("the end".to_owned(), brief);
                proof.failures.push(format!(
                    "{name} power cut before step {} ({at}), {:?}: {why} [said {}]",
                    cut.step,
                    cut.order,
                    said.join(", ")
                ));
            }
        });
    }
}

/// What was said before the power was cut.
fn said_before(record: &Record, cut: Cut) -> impl Iterator<Item = &String> {
    record.steps[..cut.step].iter().filter_map(|step| match step {
        Step::Said(line) => Some(line),
        _ => None,
    })
}

fn brief(step: &Step) -> String {
    let mut text = format!("{step:?}");
    text.truncate(60);
    text
}
