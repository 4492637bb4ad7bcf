//! A run whose parts are carried out by other machines, each by itself: this one hands them out, and puts what comes back
//! into one file.
//!
//! The file alone says what is done. A part whose repetitions are in it is not asked for again, and is not recorded again when
//! its result comes a second time, so that whoever carries parts may deliver them more than once, and this process may be
//! killed at any moment.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Instant, SystemTime};

use pitot_results::{Failure, VerdictKind, printable, rfc3339};

use pitot_plan::masked_levels;
use pitot_plan::{Measure, label};
use pitot_record::{HostRecord, Repetition, Run, RunState, Verdict};

use super::carrier::{Arrival, Carrier};
use super::event::Step;
use super::ledger::Ledger;
use super::part::{Belongs, Part, is_same, parts};
use super::prepare::Prepared;
use super::time_left::TimeLeft;

impl Prepared {
    /// Whether others can carry out its parts, each by itself.
    ///
    /// # Errors
    /// What stands against it.
    pub fn can_be_scattered(&self) -> Result<(), Failure> {
        if let Some(server) = self.plan.foreign_server() {
            return Err(Failure::misuse(
                format!(
                    "the server `{}` has an `address`, and several agents would measure it at the same time",
                    server.name
                ),
                "run it without --bus, or take that server out",
            ));
        }
        if !self.plan.hosts.is_empty() {
            return Err(Failure::misuse(
                "the plan names hosts, and the agents on a bus each carry out their parts by themselves",
                "take [hosts] out of the plan, or run it without --bus",
            ));
        }
        if self.plan.until_decided_s.is_some() {
            return Err(Failure::misuse(
                "a run that goes on until it is decided depends on each generation, and agents on a bus work side by side",
                "give generations or --repetitions in place of until-decided",
            ));
        }
        Ok(())
    }
}

/// Has others carry out what the file lacks.
pub(super) fn carry_out(
    prepared: &mut Prepared,
    ledger: &mut Ledger<'_>,
    carrier: &mut dyn Carrier,
    stop: &dyn Fn() -> bool,
) -> Result<RunState, Failure> {
    let mut outstanding: BTreeMap<String, (Part, Belongs)> = BTreeMap::new();
    carrier.begin(ledger.run())?;
    for (part, belongs) in parts(prepared, ledger.seed(), &|cell, block| ledger.has(cell, block)) {
        carrier.offer(&part)?;
        outstanding.insert(part.name.clone(), (part, belongs));
    }
    let total = outstanding.len();
    let part_s = prepared.estimate_s() / total.max(1) as f64;
    let mut left = TimeLeft::of((0..total).map(|_| part_s));
    let mut last = Instant::now();
    let mut results = Results { prepared, ledger, sentences: BTreeSet::new() };
    while !outstanding.is_empty() {
        if stop() {
            carrier.end(RunState::Interrupted);
            return Ok(RunState::Interrupted);
        }
        let Some(arrival) = carrier.next()? else { continue };
        let (Arrival::Done { part: name, .. } | Arrival::Failed { part: name, .. }) = &arrival;
        let name = name.clone();
        // A second result of a part that is in the file already.
        let Some((part, belongs)) = outstanding.remove(&name) else {
            carrier.settle(&name);
            continue;
        };
        let mut done = match arrival {
            Arrival::Done { host, file, .. } => results
                .take(&part, &belongs, &host, &file)?
                .unwrap_or_else(|reason| failed(&belongs, &host, &reason)),
            Arrival::Failed { host, reason, .. } => failed(&belongs, &host, &reason),
        };
        for (position, (_, repetition)) in (results.ledger.next_position()..).zip(&mut done) {
            carrier.complete(repetition);
            repetition.position = position;
        }
        // Several hosts work at a time: what counts is how fast parts come.
        left.passed(part_s, last.elapsed().as_secs_f64());
        last = Instant::now();
        let label = describe(&part, &done);
        let step = Step { number: total - outstanding.len(), total, label: &label, left_s: left.seconds() };
        results.ledger.measured(step, &done)?;
        carrier.settle(&name);
    }
    carrier.end(RunState::Complete);
    results.conclude()?;
    Ok(RunState::Complete)
}

/// What a part has measured, where, in words.
fn describe(part: &Part, done: &[(usize, Repetition)]) -> String {
    let what = match &part.cells[..] {
        [cell] => label(&cell.factors),
        cells => format!("{} cells", cells.len()),
    };
    match done.first() {
        Some((_, first)) => format!("{what}, block {}, on {}", first.block + 1, first.host),
        None => what,
    }
}

/// Takes results of parts into the file of the run.
struct Results<'a, 'l> {
    prepared: &'a Prepared,
    ledger: &'a mut Ledger<'l>,
    /// What those who carried parts out have to say.
    sentences: BTreeSet<String>,
}

impl Results<'_, '_> {
    /// The repetitions of a result, as they belong into the run, or a sentence on what is wrong with it.
    fn take(
        &mut self,
        part: &Part,
        belongs: &Belongs,
        host: &str,
        file: &Path,
    ) -> Result<Result<Vec<(usize, Repetition)>, String>, Failure> {
        let result = match Run::open(file) {
            Ok(result) => result,
            Err(e) => return Ok(Err(format!("its result cannot be read: {}", Failure::from(e).what))),
        };
        let (found, wanted) = (result.cells.len(), part.cells.len());
        if found != wanted {
            return Ok(Err(format!("its result has {found} cells, and {wanted} were asked for")));
        }
        let all: Vec<_> = result.cells.iter().chain(&result.controls).collect();
        let secrets = part.plan.secrets();
        let mut done = Vec::new();
        for (index, &cell) in belongs.cells.iter().enumerate() {
            // In a run file their secrets are masked.
            let wanted = part.cells.get(index).map_or(&[][..], |cell| &cell.factors);
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
            // What differs from part to part stands in brackets: the number of a process and the like.
            let what = sentence.split(" (").next().unwrap_or_default();
            let beginning = format!("On `{host}`: {what}");
            if !self.sentences.iter().any(|known| known.starts_with(&beginning)) {
                self.sentences.insert(format!("On `{host}`: {sentence}"));
            }
        }
        self.record_host(host, result)?;
        Ok(Ok(done))
    }

    /// Notes what a host was before its first part, and what it is after this one.
    fn record_host(&mut self, name: &str, result: Run) -> Result<(), Failure> {
        let as_it_is = |facts| HostRecord {
            name: name.to_owned(),
            does: "its parts of the run".into(),
            facts,
            ..HostRecord::default()
        };
        let after = result.host_after.unwrap_or_else(|| result.host_before.clone());
        // A guest is started anew for each part.
        let after = (!self.prepared.plan.is_in_guests()).then(|| as_it_is(after));
        self.ledger.record_host(&as_it_is(result.host_before), after)
    }

    /// Notes what is known once all is there.
    fn conclude(mut self) -> Result<(), Failure> {
        // The host of a guest is its kernel, which is a level of the plan.
        if !self.prepared.plan.is_in_guests() {
            self.sentences.extend(self.shares());
        }
        let Results { ledger, sentences, .. } = self;
        sentences.iter().try_for_each(|sentence| ledger.warn(sentence))
    }

    /// Who carried out how much: a sentence for each host.
    fn shares(&self) -> Vec<String> {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        let own = &self.ledger.cells()[..self.prepared.cells.len()];
        let all = own.iter().flat_map(|cell| &cell.repetitions);
        for repetition in all {
            *counts.entry(&repetition.host).or_default() += 1;
        }
        let total: usize = counts.values().sum();
        let sentence = |(host, count): (&str, usize)| {
            format!("The host `{host}` carried out {count} of {total} repetitions.")
        };
        counts.into_iter().map(sentence).collect()
    }
}

/// The repetitions of a part that nobody could carry out.
fn failed(belongs: &Belongs, host: &str, reason: &str) -> Vec<(usize, Repetition)> {
    let repetition = Repetition {
        block: belongs.block,
        host: host.to_owned(),
        started_at: rfc3339(SystemTime::now()),
        verdict: Verdict {
            kind: VerdictKind::Failed,
            reason: format!("the host `{host}` did not carry it out: {reason}"),
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
    use pitot_record::runfile::{NewRun, RunWriter};

    /// Brings results with a cell more than was asked for, as an agent of a bus may that is not ours.
    struct OneTooMany {
        dir: PathBuf,
        waiting: Vec<Part>,
        /// What else was done to the file.
        tampered: &'static str,
    }

    impl Carrier for OneTooMany {
        fn begin(&mut self, _run: &str) -> Result<(), Failure> {
            Ok(())
        }

        fn offer(&mut self, part: &Part) -> Result<(), Failure> {
            self.waiting.push(part.clone());
            Ok(())
        }

        fn next(&mut self) -> Result<Option<Arrival>, Failure> {
            let Some(part) = self.waiting.pop() else { return Ok(None) };
            let prepared = prepare(part.plan.clone(), String::new(), &catalog(), Where::Elsewhere)?;
            let file = self.dir.join(&part.name);
            let cells: Vec<_> = [new_cells(&prepared, "pitot"), new_cells(&prepared, "pitot")].concat();
            let new = NewRun {
                command_line: "",
                version: "",
                seed: 1,
                started_at: "",
                server_cpus: "",
                load_cpus: "",
                warnings: &[],
                server_versions: &[],
                plan_source: "",
                plan: &part.plan,
                host: &Fingerprint::default(),
                skips: &[],
                cells: &cells,
            };
            RunWriter::create(&file, &new)?.finish(RunState::Complete, "", &Fingerprint::default())?;
            rusqlite::Connection::open(&file).unwrap().execute_batch(self.tampered).unwrap();
            Ok(Some(Arrival::Done { part: part.name, host: "x".into(), file }))
        }

        fn settle(&mut self, _part: &str) {}

        fn end(&mut self, _state: RunState) {}
    }

    #[test]
    fn a_result_with_a_cell_too_many_fails_its_part_and_nothing_else() {
        fails_its_part_and_nothing_else("", "were asked for");
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
        let mut carrier = OneTooMany { dir: dir.path().to_owned(), waiting: Vec::new(), tampered };
        let output = dir.path().join("run.pitot");
        let request = |work, place| Request { work, place, trial: false, caller: caller(&|| false) };
        let new = Work::New { prepared: Box::new(prepared), output: &output };
        let outcome = run(request(new, Place::Parts(&mut carrier)), &mut |_| {}).unwrap();
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
