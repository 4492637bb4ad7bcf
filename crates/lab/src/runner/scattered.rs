//! A run whose parts are carried out by other machines, each by itself: this one hands them out, and puts what comes back
//! into one file.
//!
//! The file alone says what is done. A part whose repetitions are in it is not asked for again, and is not recorded again when
//! its result comes a second time, so that whoever carries parts may deliver them more than once, and this process may be
//! killed at any moment.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

use pitot_host::Fingerprint;
use pitot_results::{Failure, VerdictKind, printable, rfc3339};

use crate::catalog::Catalog;
use crate::plan::{Measure, label};
use crate::record::{HostRecord, Repetition, Run, RunState, Verdict};
use crate::runfile::masked::levels;
use crate::runfile::{NewRun, RunWriter};

use super::carry_out::{Finished, Outcome, Progress, Setting, TimeLeft, draw_seed, new_cells};
use super::part::{Belongs, Part, is_same, parts};
use super::prepare::{Prepared, prepare_elsewhere};
use super::resume::note_other_version;

/// Carries parts of a run to other machines, and their results back. It may deliver a part or a result more than once.
pub trait Carrier {
    /// Begins or goes on with the run of this identity.
    ///
    /// # Errors
    /// If parts of it cannot be carried.
    fn begin(&mut self, run: &str) -> Result<(), Failure>;

    /// Takes a part.
    ///
    /// # Errors
    /// If it can never be carried.
    fn offer(&mut self, part: &Part) -> Result<(), Failure>;

    /// What has arrived, within a moment; none if nothing has.
    ///
    /// # Errors
    /// If nothing will arrive any more.
    fn next(&mut self) -> Result<Option<Arrival>, Failure>;

    /// What the carrier knows of a repetition that it has brought, and those who carried it out do not.
    fn complete(&self, _repetition: &mut Repetition) {}

    /// The result of a part is recorded: it may be forgotten.
    fn settle(&mut self, part: &str);

    /// The run has ended, in this state.
    fn end(&mut self, state: RunState);
}

/// What comes back of a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// A run file of the part alone.
    Done {
        /// The part's name.
        part: String,
        /// Who carried it out.
        host: String,
        /// Its run file.
        file: PathBuf,
    },
    /// Nobody carries it out any more.
    Failed {
        /// The part's name.
        part: String,
        /// Who tried last.
        host: String,
        /// Why not: a sentence.
        reason: String,
    },
}

impl Prepared {
    /// Has the plan carried out by others, part by part, into a new file.
    ///
    /// # Errors
    /// If the plan cannot be divided, or the file cannot be written.
    pub fn run_scattered(
        mut self,
        output: &Path,
        setting: Setting<'_>,
        carrier: &mut dyn Carrier,
        progress: &mut dyn FnMut(&Progress<'_>),
    ) -> Result<Outcome, Failure> {
        self.can_be_scattered()?;
        let seed = self.plan.seed.unwrap_or_else(draw_seed);
        self.plan.seed = Some(seed);
        let mut writer = RunWriter::create(
            output,
            &NewRun {
                command_line: setting.command_line,
                version: setting.version,
                seed,
                started_at: &rfc3339(SystemTime::now()),
                server_cpus: "",
                load_cpus: "",
                warnings: &self.warnings,
                server_versions: &[("pitot".to_owned(), setting.version.to_owned())],
                plan_source: &self.source,
                plan: &self.plan,
                // Nothing is measured on this machine; those that carry out parts are in the table of hosts.
                host: &Fingerprint::default(),
                skips: &self.skips,
                cells: &new_cells(&self, setting.pitot),
            },
        )?;
        let run = writer.read()?;
        Scattered { prepared: self, run, writer, failed: 0 }.carry_out(setting, carrier, progress)
    }

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

/// Continues a run that was carried out by others and was interrupted or killed.
///
/// # Errors
/// If the file cannot be read or written, or was not made in this way.
pub fn resume_scattered(
    path: &Path,
    catalog: &Catalog,
    setting: Setting<'_>,
    carrier: &mut dyn Carrier,
    progress: &mut dyn FnMut(&Progress<'_>),
) -> Result<Outcome, Failure> {
    let run = Run::open_to_resume(path)?;
    if !run.host_before.facts.is_empty() {
        return Err(Failure::misuse(
            format!("{} was begun on one machine, without a bus", path.display()),
            "resume it there, without --bus",
        ));
    }
    let mut prepared = prepare_elsewhere(run.plan.clone(), run.info.plan_source.clone(), catalog)?;
    prepared.narrow_to(&run)?;
    let mut writer = RunWriter::resume(path, &run.plan)?;
    note_other_version(&run, setting, &mut writer)?;
    Scattered { prepared, run, writer, failed: 0 }.carry_out(setting, carrier, progress)
}

/// A run under way.
struct Scattered {
    prepared: Prepared,
    /// As the file was when this process began; repetitions since are added, without their samples.
    run: Run,
    writer: RunWriter,
    failed: usize,
}

impl Scattered {
    fn carry_out(
        mut self,
        setting: Setting<'_>,
        carrier: &mut dyn Carrier,
        progress: &mut dyn FnMut(&Progress<'_>),
    ) -> Result<Outcome, Failure> {
        let mut outstanding: BTreeMap<String, (Part, Belongs)> = BTreeMap::new();
        carrier.begin(&self.run.info.id)?;
        for (part, belongs) in parts(&self.prepared, self.run.info.seed, &|cell, block| self.has(cell, block))
        {
            carrier.offer(&part)?;
            outstanding.insert(part.name.clone(), (part, belongs));
        }
        let total = outstanding.len();
        let part_s = self.prepared.estimate_s() / total.max(1) as f64;
        let mut left = TimeLeft::of((0..total).map(|_| part_s));
        let mut last = Instant::now();
        let mut state = RunState::Complete;
        let mut sentences = BTreeSet::new();
        while !outstanding.is_empty() {
            if (setting.stop)() {
                state = RunState::Interrupted;
                break;
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
                Arrival::Done { host, file, .. } => self
                    .take(&part, &belongs, &host, &file, &mut sentences)?
                    .unwrap_or_else(|reason| failed(&belongs, &host, &reason)),
                Arrival::Failed { host, reason, .. } => failed(&belongs, &host, &reason),
            };
            done.iter_mut().for_each(|(_, repetition)| carrier.complete(repetition));
            self.record(&done)?;
            carrier.settle(&name);
            // Several hosts work at a time: what counts is how fast parts come.
            left.passed(part_s, last.elapsed().as_secs_f64());
            last = Instant::now();
            self.tell(&done, &part, total - outstanding.len(), total, left.seconds(), progress);
        }
        carrier.end(state);
        if state == RunState::Complete {
            // The host of a guest is its kernel, which is a level of the plan.
            sentences.extend(self.shares().into_iter().filter(|_| !self.prepared.plan.is_in_guests()));
            sentences.iter().try_for_each(|sentence| self.writer.warn(sentence))?;
        }
        if let Some(note) = (setting.note)() {
            self.writer.warn(&note)?;
        }
        let path = self.writer.path().to_owned();
        self.writer.finish(state, &rfc3339(SystemTime::now()), &Fingerprint::default())?;
        Ok(Outcome { path, state, failed: self.failed })
    }

    fn has(&self, cell: usize, block: u32) -> bool {
        self.run.cells.get(cell).is_some_and(|c| c.repetitions.iter().any(|r| r.block == block))
    }

    /// The repetitions of a result, as they belong into the run, or a sentence on what is wrong with it.
    fn take(
        &mut self,
        part: &Part,
        belongs: &Belongs,
        host: &str,
        file: &Path,
        sentences: &mut BTreeSet<String>,
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
            let wanted = levels(wanted, &secrets);
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
            if let Some(known) = self.run.cells.get_mut(cell)
                && (found.measure, known.measure) == (Measure::Fresh, Measure::Slices)
            {
                known.measure = Measure::Fresh;
                self.writer.measure_fresh(cell, &found.fresh_reason)?;
            }
        }
        for sentence in result.info.warnings.iter().map(|sentence| printable(sentence)) {
            // What differs from part to part stands in brackets: the number of a process and the like.
            let what = sentence.split(" (").next().unwrap_or_default();
            let beginning = format!("On `{host}`: {what}");
            if !sentences.iter().any(|known| known.starts_with(&beginning)) {
                sentences.insert(format!("On `{host}`: {sentence}"));
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
        self.writer.record_host(&as_it_is(result.host_before))?;
        // A guest is started anew for each part.
        if !self.prepared.plan.is_in_guests() {
            self.writer.record_hosts_after(&[as_it_is(after)])?;
        }
        Ok(())
    }

    fn record(&mut self, done: &[(usize, Repetition)]) -> Result<(), Failure> {
        let all = || self.run.cells.iter().chain(&self.run.controls);
        let first = all().flat_map(|c| &c.repetitions).map(|r| r.position + 1).max().unwrap_or(0);
        let placed: Vec<(usize, Repetition)> = (first..)
            .zip(done)
            .map(|(position, (cell, repetition))| (*cell, Repetition { position, ..repetition.clone() }))
            .collect();
        self.writer.record_together(placed.iter().map(|(cell, repetition)| (*cell, repetition)))?;
        let cells = self.run.cells.len();
        for (cell, repetition) in placed {
            self.failed += usize::from(repetition.verdict.kind == VerdictKind::Failed);
            let record = match cell.checked_sub(cells) {
                None => &mut self.run.cells[cell],
                Some(control) => &mut self.run.controls[control],
            };
            record.repetitions.push(Repetition { samples: Vec::new(), slices: Vec::new(), ..repetition });
        }
        Ok(())
    }

    fn tell(
        &self,
        done: &[(usize, Repetition)],
        part: &Part,
        number: usize,
        total: usize,
        left_s: f64,
        progress: &mut dyn FnMut(&Progress<'_>),
    ) {
        let Some((_, first)) = done.first() else { return };
        let what = match &part.cells[..] {
            [cell] => label(&cell.factors),
            cells => format!("{} cells", cells.len()),
        };
        let label = format!("{what}, block {}, on {}", first.block + 1, first.host);
        let finished = Some(match done {
            [(_, one)] => Finished::Repetition(one),
            several => Finished::Generation(several),
        });
        progress(&Progress { trial: false, number, total, label: &label, finished, left_s });
    }

    /// Who carried out how much: a sentence for each host.
    fn shares(&self) -> Vec<String> {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        let all = self.run.cells.iter().flat_map(|cell| &cell.repetitions);
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
    use super::*;
    use crate::runner::tests::{catalog, parse};
    use crate::runner::{Guardian, resume};

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
            let prepared = prepare_elsewhere(part.plan.clone(), String::new(), &catalog())?;
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
        let prepared = prepare_elsewhere(parse(text), text.to_owned(), &catalog()).unwrap();
        let mut carrier = OneTooMany { dir: dir.path().to_owned(), waiting: Vec::new(), tampered };
        let setting = Setting {
            pitot: "pitot",
            version: "0.0.0",
            command_line: "",
            trial: false,
            note: &|| None,
            stop: &|| false,
        };
        let output = dir.path().join("run.pitot");
        let outcome = prepared.run_scattered(&output, setting, &mut carrier, &mut |_| {}).unwrap();
        assert_eq!(outcome.state, RunState::Complete);
        let run = Run::open(&output).unwrap();
        for repetition in run.cells.iter().flat_map(|cell| &cell.repetitions) {
            assert_eq!(repetition.verdict.kind, VerdictKind::Failed);
            assert!(repetition.verdict.reason.contains(why), "{}", repetition.verdict.reason);
        }
        // Nothing of it was measured on this machine, which so cannot go on with it alone.
        let guardian = Guardian::start().unwrap();
        let refused = resume(&output, &catalog(), setting, guardian, &mut |_| {}).unwrap_err();
        assert!(refused.what.contains("begun on a bus"), "{}", refused.what);
    }
}
