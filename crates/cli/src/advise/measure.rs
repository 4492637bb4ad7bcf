//! The runs behind an answer: prepared, fitted to the time, and carried out as `pitot run` does.

use std::path::{Path, PathBuf};
use std::time::Instant;

use pitot_host::split_cpus;
use pitot_lab::{Guardian, Prepared, Where, prepare};
use pitot_meter::Nanos;
use pitot_plan::{Catalog, Plan};
use pitot_record::Run;
use pitot_results::Failure;
use pitot_stats::generations_needed;
use pitot_study::advise::{Case, Contender, Wanted, plan_text};

use super::files::FileStore;
use crate::catalog::catalog;
use crate::run::check;
use crate::runs::{Limits, Ran, Runs, guardian};
use pitot_meter::units::span;

/// Runs of one answer at most: the description, and the probes.
const RUNS_MAX: usize = 3;
/// Repetitions of fresh runs: the most that the time allows.
const REPETITIONS: [u32; 3] = [10, 8, 6];
/// A fresh run is at least so long, and at most, seconds.
const DURATION_S: (f64, f64) = (0.3, 3.0);

/// What runs need.
pub(super) struct Bench {
    catalog: Catalog,
    /// None if nothing is run.
    runs: Option<Runs>,
    /// Whose directory has the files.
    files: Option<Guardian>,
    begin: Instant,
    /// The hard limit on descriptors of a process.
    pub(super) descriptors: u64,
    /// CPUs of the servers in halves, and all.
    halves: usize,
    all: Vec<usize>,
}

/// A run that is over.
pub(super) struct Measured {
    pub(super) path: PathBuf,
    pub(super) run: Run,
    pub(super) seconds: f64,
    pub(super) times: String,
}

impl Bench {
    /// For runs. The process must have one thread.
    pub(super) fn new(with_files: bool) -> Result<Bench, Failure> {
        let files = with_files.then(guardian).transpose()?;
        Ok(Bench { runs: Some(Runs::new(RUNS_MAX, None)?), files, ..Bench::dry()? })
    }

    /// For plans that are not run.
    pub(super) fn dry() -> Result<Bench, Failure> {
        let split = split_cpus(None, None)?;
        let mut all: Vec<usize> = split.server.iter().chain(&split.load).copied().collect();
        all.sort_unstable();
        all.dedup();
        let descriptors =
            pitot_sys::limits::raise_descriptors().unwrap_or_else(|_| pitot_sys::limits::descriptors());
        Ok(Bench {
            catalog: catalog()?,
            runs: None,
            files: None,
            begin: Instant::now(),
            descriptors,
            halves: split.server.len(),
            all,
        })
    }

    /// Where files go.
    pub(super) fn directory(&self) -> &Path {
        self.files.as_ref().map_or(Path::new("DIR"), |guardian| guardian.dir())
    }

    /// How many CPUs servers have with work of this length.
    pub(super) fn server_cpus(&self, work: Nanos) -> usize {
        if Case::is_long_work(work) { self.all.len() } else { self.halves }
    }

    /// Seconds since the first thing was done.
    pub(super) fn elapsed_s(&self) -> f64 {
        self.begin.elapsed().as_secs_f64()
    }

    /// Why a model, or a model with a mechanism, cannot run here.
    pub(super) fn why_impossible(&self, needs: &str) -> Option<String> {
        let (model, mechanism) = match needs.split_once('+') {
            Some(pair) => pair,
            None => (needs, self.catalog.model(needs)?.default_mechanism.as_str()),
        };
        self.catalog.why_impossible(model, mechanism).map(str::to_owned)
    }

    /// The plan of some contenders for a case.
    pub(super) fn wanted<'c>(
        &self,
        case: &'c Case,
        contenders: Vec<&'static Contender>,
        files: Option<&FileStore>,
    ) -> Wanted<'c> {
        Wanted {
            case,
            contenders,
            axis: None,
            excluded: Vec::new(),
            files: files.map(|files| (files.directory.to_string_lossy().into_owned(), files.count)),
            shared_cpus: Case::is_long_work(case.work).then(|| list(&self.all)),
        }
    }

    /// A plan made ready, of as many generations as the time allows.
    ///
    /// # Errors
    /// If the time is too short for a decision.
    pub(super) fn prepare(&self, wanted: &Wanted<'_>, all_s: f64) -> Result<Prepared, Failure> {
        let count = wanted.contenders.len();
        let text = plan_text(wanted);
        let within_s = all_s.max(1.0) / wanted.overrun();
        let make = || -> Result<Prepared, Failure> {
            let plan = Plan::parse("advice.toml", &text, &self.catalog)?;
            prepare(plan, text.clone(), &self.catalog, Where::Here)
        };
        let mut prepared = make()?;
        check::check(&prepared, None)?;
        if fit(&mut prepared, within_s) {
            return Ok(prepared);
        }
        let enough = |seconds: &f64| make().is_ok_and(|mut prepared| fit(&mut prepared, *seconds));
        let needed = (1..=40).map(|step| within_s * 1.2f64.powi(step)).find(enough);
        let what = format!("{all_s:.0} s are too short for {count} candidates");
        Err(match needed.map(|needed| span(needed * wanted.overrun())) {
            Some(needed) => {
                Failure::misuse(format!("{what}, which need at least {needed}"), "increase --within")
            }
            None => Failure::misuse(what, "describe a load with shorter requests"),
        })
    }

    /// Runs a plan into a new file.
    ///
    /// On a slow machine it ends after `enough_s` seconds if that suffices for a decision, and after `all_s` in any case; completed
    /// repetitions count.
    pub(super) fn run(
        &mut self,
        prepared: Prepared,
        (enough_s, all_s): (f64, f64),
        output: &Path,
    ) -> Result<Measured, Failure> {
        let Some(runs) = &mut self.runs else {
            return Err(Failure::run("nothing is run", "omit --dry-run"));
        };
        let begin = Instant::now();
        let mut times = prepared.times();
        let limits = Limits { enough_s, all_s, least_share: least_share(&prepared) };
        let Ran { path, run, is_whole } = runs.run_within(prepared, output, limits)?;
        if !is_whole {
            times = format!("a part of {times}, since this machine is slower than expected");
        }
        Ok(Measured { path, run, seconds: begin.elapsed().as_secs_f64(), times })
    }
}

/// The share of a run that suffices for a decision; none if parts of it are measured in different ways.
fn least_share(prepared: &Prepared) -> Option<f64> {
    let cells = prepared.cells.len();
    match prepared.ways.sliced() {
        0 => Some(f64::from(REPETITIONS[2]) / f64::from(prepared.plan.repetitions)),
        sliced if sliced == cells => {
            Some(generations_needed(cells, false) as f64 / f64::from(prepared.plan.generations.unwrap_or(1)))
        }
        _ => None,
    }
}

/// Fits a plan to a time. False if that is too short for a decision.
fn fit(prepared: &mut Prepared, within_s: f64) -> bool {
    let has_fresh = prepared.ways.sliced() < prepared.cells.len();
    if !has_fresh {
        return prepared.fit(within_s).is_ok();
    }
    let is_mixed = prepared.ways.sliced() > 0;
    // Half of the time for each way of measuring.
    let fresh_s = if is_mixed { within_s / 2.0 } else { within_s };
    let cells = (prepared.cells.len() - prepared.ways.sliced()) as f64;
    for repetitions in REPETITIONS {
        // The estimate without the measured parts and the slices.
        let mut with = |repetitions: u32, duration_s: f64| {
            (prepared.plan.repetitions, prepared.plan.duration_s) = (repetitions, duration_s);
            prepared.estimate_s()
        };
        let besides_s = with(repetitions, 0.0) - with(0, 0.0);
        let duration_s = (fresh_s - besides_s) / (cells * f64::from(repetitions));
        if duration_s >= DURATION_S.0 {
            with(repetitions, duration_s.min(DURATION_S.1));
            return !is_mixed || prepared.fit(within_s).is_ok();
        }
    }
    false
}

/// `0-3,8`.
fn list(cpus: &[usize]) -> String {
    cpus.iter().map(usize::to_string).collect::<Vec<_>>().join(",")
}

/// The file of a probe: `advice-work.pitot` beside `advice.pitot`.
pub(super) fn beside(output: &Path, word: &str) -> PathBuf {
    let stem = output.file_stem().unwrap_or_default().to_string_lossy();
    output.with_file_name(format!("{stem}-{word}.pitot"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_probes_are_named_after_the_first() {
        assert_eq!(beside(Path::new("/x/a.pitot"), "work"), Path::new("/x/a-work.pitot"));
        assert_eq!(list(&[0, 1, 5]), "0,1,5");
    }
}
