//! A run whose jobs run on other machines: this one sends them and merges the results into one file.
//!
//! The file alone says what is done. A job whose repetitions are in it is not sent again, and a second result is ignored, so that a
//! transport may deliver twice, and this process may be killed at any time.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Instant, SystemTime};

use pitot_results::{Failure, VerdictKind, printable, rfc3339};

use pitot_plan::masked_levels;
use pitot_plan::{Measure, label};
use pitot_record::{HostRecord, Repetition, Run, RunState, Verdict};

use super::event::Step;
use super::job::{Belongs, Job, is_same, jobs};
use super::ledger::Ledger;
use super::prepare::Prepared;
use super::time_left::TimeLeft;
use super::transport::{JobResult, Transport};

impl Prepared {
    /// Checks that its jobs can run on other machines.
    ///
    /// # Errors
    /// Why they cannot.
    pub fn can_be_distributed(&self) -> Result<(), Failure> {
        if let Some(server) = self.plan.foreign_server() {
            return Err(Failure::misuse(
                format!(
                    "several agents would measure the server `{}` at the same time, since it has an `address`",
                    server.name
                ),
                "run it without --bus, or remove that server",
            ));
        }
        if !self.plan.hosts.is_empty() {
            return Err(Failure::misuse(
                "a plan with [hosts] cannot run on a bus, where each agent runs its jobs alone",
                "remove [hosts] from the plan, or run it without --bus",
            ));
        }
        if self.plan.until_decided_s.is_some() {
            return Err(Failure::misuse(
                "`until-decided` needs each generation before the next, and agents on a bus work in parallel",
                "use generations or --repetitions instead of until-decided",
            ));
        }
        Ok(())
    }
}

/// Has other machines measure what the file lacks.
pub(super) fn run(
    prepared: &mut Prepared,
    ledger: &mut Ledger<'_>,
    transport: &mut dyn Transport,
    stop: &dyn Fn() -> bool,
) -> Result<RunState, Failure> {
    let mut outstanding: BTreeMap<String, (Job, Belongs)> = BTreeMap::new();
    transport.begin(ledger.run())?;
    for (job, belongs) in jobs(prepared, ledger.seed(), &|cell, block| ledger.has(cell, block)) {
        transport.offer(&job)?;
        outstanding.insert(job.name.clone(), (job, belongs));
    }
    let total = outstanding.len();
    let job_s = prepared.estimate_s() / total.max(1) as f64;
    let mut left = TimeLeft::of((0..total).map(|_| job_s));
    let mut last = Instant::now();
    let mut results = Results { prepared, ledger, sentences: BTreeSet::new() };
    while !outstanding.is_empty() {
        if stop() {
            transport.end(RunState::Interrupted);
            return Ok(RunState::Interrupted);
        }
        let Some(result) = transport.next()? else { continue };
        let (JobResult::Done { job: name, .. } | JobResult::Failed { job: name, .. }) = &result;
        let name = name.clone();
        // A second result of a job that is in the file already.
        let Some((job, belongs)) = outstanding.remove(&name) else {
            transport.settle(&name);
            continue;
        };
        let mut done = match result {
            JobResult::Done { host, file, .. } => results
                .take(&job, &belongs, &host, &file)?
                .unwrap_or_else(|reason| failed(&belongs, &host, &reason)),
            JobResult::Failed { host, reason, .. } => failed(&belongs, &host, &reason),
        };
        for (position, (_, repetition)) in (results.ledger.next_position()..).zip(&mut done) {
            transport.complete(repetition);
            repetition.position = position;
        }
        // Several hosts work in parallel, so the rate of results counts.
        left.passed(job_s, last.elapsed().as_secs_f64());
        last = Instant::now();
        let label = describe(&job, &done);
        let step = Step { number: total - outstanding.len(), total, label: &label, left_s: left.seconds() };
        results.ledger.measured(step, &done)?;
        transport.settle(&name);
    }
    transport.end(RunState::Complete);
    results.conclude()?;
    Ok(RunState::Complete)
}

/// A job's cells, block and host, in words.
fn describe(job: &Job, done: &[(usize, Repetition)]) -> String {
    let what = match &job.cells[..] {
        [cell] => label(&cell.factors),
        cells => format!("{} cells", cells.len()),
    };
    match done.first() {
        Some((_, first)) => format!("{what}, block {}, on {}", first.block + 1, first.host),
        None => what,
    }
}

/// Merges results of jobs into the file of the run.
struct Results<'a, 'l> {
    prepared: &'a Prepared,
    ledger: &'a mut Ledger<'l>,
    /// Warnings of the jobs.
    sentences: BTreeSet<String>,
}

impl Results<'_, '_> {
    /// The repetitions of a result with their cells in the run. The inner error is a sentence on what is wrong with the result.
    fn take(
        &mut self,
        job: &Job,
        belongs: &Belongs,
        host: &str,
        file: &Path,
    ) -> Result<Result<Vec<(usize, Repetition)>, String>, Failure> {
        let result = match Run::open(file) {
            Ok(result) => result,
            Err(e) => return Ok(Err(format!("its result cannot be read: {}", Failure::from(e).what))),
        };
        let (found, wanted) = (result.cells.len(), job.cells.len());
        if found != wanted {
            return Ok(Err(format!("its result has {found} cells instead of {wanted}")));
        }
        let all: Vec<_> = result.cells.iter().chain(&result.controls).collect();
        let secrets = job.plan.secrets();
        let mut done = Vec::new();
        for (index, &cell) in belongs.cells.iter().enumerate() {
            // In a run file their secrets are masked.
            let wanted = job.cells.get(index).map_or(&[][..], |cell| &cell.factors);
            let wanted = masked_levels(wanted, &secrets);
            let Some(found) =
                all.get(index).filter(|found| wanted.is_empty() || is_same(&found.factors, &wanted))
            else {
                return Ok(Err(format!("its result lacks the cell `{}`", label(&wanted))));
            };
            match &found.repetitions[..] {
                [one] => {
                    let reason = printable(&one.verdict.reason);
                    let verdict = Verdict { reason, ..one.verdict.clone() };
                    let (block, host) = (belongs.block, host.to_owned());
                    done.push((cell, Repetition { block, host, verdict, ..one.clone() }));
                }
                // A control of a cell that could not be measured in slices.
                [] if wanted.is_empty() => {}
                several => {
                    let (cell, count) = (label(&found.factors), several.len());
                    return Ok(Err(format!("its result has {count} repetitions of the cell `{cell}`")));
                }
            }
        }
        for (found, &cell) in result.cells.iter().zip(&belongs.cells) {
            if (found.measure, self.ledger.cells()[cell].measure) == (Measure::Fresh, Measure::Slices) {
                self.ledger.measure_fresh(cell, &found.fresh_reason)?;
            }
        }
        for sentence in result.info.warnings.iter().map(|sentence| printable(sentence)) {
            // Details that differ between jobs, such as process ids, are in parentheses.
            let what = sentence.split(" (").next().unwrap_or_default();
            let beginning = format!("On `{host}`: {what}");
            if !self.sentences.iter().any(|known| known.starts_with(&beginning)) {
                self.sentences.insert(format!("On `{host}`: {sentence}"));
            }
        }
        self.record_host(host, result)?;
        Ok(Ok(done))
    }

    /// Records a host before its first job and after this one.
    fn record_host(&mut self, name: &str, result: Run) -> Result<(), Failure> {
        let as_it_is = |facts| HostRecord {
            name: name.to_owned(),
            does: "its jobs of the run".into(),
            facts,
            ..HostRecord::default()
        };
        let after = result.host_after.unwrap_or_else(|| result.host_before.clone());
        // Each job starts a new guest.
        let after = (!self.prepared.plan.is_in_guests()).then(|| as_it_is(after));
        self.ledger.record_host(&as_it_is(result.host_before), after)
    }

    /// Records the warnings at the end.
    fn conclude(mut self) -> Result<(), Failure> {
        // The host of a guest is its kernel, which is a level of the plan.
        if !self.prepared.plan.is_in_guests() {
            self.sentences.extend(self.shares());
        }
        let Results { ledger, sentences, .. } = self;
        sentences.iter().try_for_each(|sentence| ledger.warn(sentence))
    }

    /// The share of each host: a sentence each.
    fn shares(&self) -> Vec<String> {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        let own = &self.ledger.cells()[..self.prepared.cells.len()];
        let all = own.iter().flat_map(|cell| &cell.repetitions);
        for repetition in all {
            *counts.entry(&repetition.host).or_default() += 1;
        }
        let total: usize = counts.values().sum();
        let sentence =
            |(host, count): (&str, usize)| format!("The host `{host}` ran {count} of {total} repetitions.");
        counts.into_iter().map(sentence).collect()
    }
}

/// The repetitions of a failed job.
fn failed(belongs: &Belongs, host: &str, reason: &str) -> Vec<(usize, Repetition)> {
    let repetition = Repetition {
        block: belongs.block,
        host: host.to_owned(),
        started_at: rfc3339(SystemTime::now()),
        verdict: Verdict {
            kind: VerdictKind::Failed,
            reason: format!("the host `{host}` did not run it: {reason}"),
            figures: Vec::new(),
        },
        ..Repetition::default()
    };
    belongs.cells.iter().map(|&cell| (cell, repetition.clone())).collect()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use pitot_host::Fingerprint;

    use super::*;
    use crate::runner::engine::new_cells;
    use crate::runner::tests::{caller, catalog, parse};
    use crate::runner::{Guardian, Place, Request, Where, Work, prepare, run};
    use pitot_record::file::{NewRun, RunWriter};

    /// Brings results with a cell more than was asked for, as an agent of a bus may that is not ours.
    struct OneTooMany {
        dir: PathBuf,
        waiting: Vec<Job>,
        /// What else was done to the file.
        tampered: &'static str,
    }

    impl Transport for OneTooMany {
        fn begin(&mut self, _run: &str) -> Result<(), Failure> {
            Ok(())
        }

        fn offer(&mut self, job: &Job) -> Result<(), Failure> {
            self.waiting.push(job.clone());
            Ok(())
        }

        fn next(&mut self) -> Result<Option<JobResult>, Failure> {
            let Some(job) = self.waiting.pop() else { return Ok(None) };
            let prepared = prepare(job.plan.clone(), String::new(), &catalog(), Where::Elsewhere)?;
            let file = self.dir.join(&job.name);
            let cells: Vec<_> = [new_cells(&prepared, "pitot"), new_cells(&prepared, "pitot")].concat();
            let host = Fingerprint::default();
            let new = NewRun::of(&job.plan, &host, &cells);
            RunWriter::create(&file, &new)?.finish(RunState::Complete, "", &host)?;
            rusqlite::Connection::open(&file).unwrap().execute_batch(self.tampered).unwrap();
            Ok(Some(JobResult::Done { job: job.name, host: "x".into(), file }))
        }

        fn settle(&mut self, _job: &str) {}

        fn end(&mut self, _state: RunState) {}
    }

    #[test]
    fn a_result_with_a_cell_too_many_fails_its_part_and_nothing_else() {
        fails_its_part_and_nothing_else("", "cells instead of");
    }

    #[test]
    fn a_result_that_would_be_read_for_ever_fails_its_part_and_nothing_else() {
        let view = "DROP VIEW result; DROP TABLE fact;
                    CREATE VIEW fact AS WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n)
                    SELECT '' AS moment, i AS position, '' AS topic, '' AS name, '' AS value FROM n WHERE i < 0";
        fails_its_part_and_nothing_else(
            view,
            "its result cannot be read: the run file is damaged: it has the view `fact`",
        );
    }

    fn fails_its_part_and_nothing_else(tampered: &'static str, why: &str) {
        let dir = tempfile::tempdir().unwrap();
        let text = "measure = \"slices\"\ngenerations = 2\n[server]\nprotocol = \"busy\"\n[load]\nconnections = 2\n\
                    [factors]\nserver.model = [\"good\", \"hang\"]\n";
        let prepared = prepare(parse(text), text.to_owned(), &catalog(), Where::Elsewhere).unwrap();
        let mut transport = OneTooMany { dir: dir.path().to_owned(), waiting: Vec::new(), tampered };
        let output = dir.path().join("run.pitot");
        let request = |work, place| Request { work, place, trial: false, caller: caller(&|| false) };
        let new = Work::New { prepared: Box::new(prepared), output: &output };
        let outcome = run(request(new, Place::Jobs(&mut transport)), &mut |_| {}).unwrap();
        assert_eq!(outcome.state, RunState::Complete);
        let file = Run::open(&output).unwrap();
        for repetition in file.cells.iter().flat_map(|cell| &cell.repetitions) {
            assert_eq!(repetition.verdict.kind, VerdictKind::Failed);
            assert!(repetition.verdict.reason.contains(why), "{}", repetition.verdict.reason);
        }
        // Nothing of it was measured on this machine, which so cannot go on with it alone.
        let guardian = Guardian::start().unwrap();
        let catalog = catalog();
        let again = Work::Resume { path: &output, catalog: &catalog };
        let refused = run(request(again, Place::Here(guardian)), &mut |_| {}).unwrap_err();
        assert!(refused.what.contains("begun on a bus"), "{}", refused.what);
    }
}
