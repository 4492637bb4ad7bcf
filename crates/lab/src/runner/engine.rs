//! The one engine that runs plans. A request says what to measure and where. A run measures what its file lacks, and reports it in
//! events.
//!
//! The place decides who runs repetitions: the lab on a machine, or others, job by job ([`Transport`]). Reading, recording and
//! events are the same for both. A soak measures in its own way on a machine that is prepared here.

use std::path::Path;
use std::time::{Instant, SystemTime};

use pitot_host::Fingerprint;
use pitot_results::{Failure, rfc3339};

use super::distributed;
use super::event::{Event, Outcome};
use super::executor::Machine;
use super::fresh;
use super::generations;
use super::hosts;
use super::ledger::Ledger;
use super::long_running::LocalHost;
use super::on_machine::OnMachine;
use super::prepare::{Prepared, Where, prepare};
use super::printed::Asked;
use super::repetition::{GivenUp, Shared};
use super::request::{Caller, Place, Request, Work};
use super::slices::SLICE_S;
use super::soak::Soak;
use super::transport::Transport;
use pitot_plan::{Catalog, Measure, Plan, Program};
use pitot_record::file::{NewCell, NewRun, RunWriter};
use pitot_record::{HostRecord, Run, RunState};

/// Runs a request. A repetition that fails is a verdict, not an error.
///
/// # Errors
/// If the place lacks what the plan needs, or the file cannot be read or written.
pub fn run(request: Request<'_, '_, '_>, watch: &mut dyn FnMut(&Event<'_>)) -> Result<Outcome, Failure> {
    let Request { work, place, trial, caller } = request;
    let (prepared, target) = match work {
        Work::New { prepared, output } => create_for(*prepared, output, &place)?,
        Work::Resume { path, catalog } => reopen(path, catalog, &place)?,
        Work::Soak(soak) => return measure_soak(soak, place, caller, watch),
    };
    match place {
        Place::Here(guardian) => {
            hosts::with_machine(prepared, guardian, caller.pitot, |prepared, machine| {
                measure(prepared, target, machine, trial, caller, watch)
            })
        }
        Place::Jobs(transport) => hand_out(prepared, target, transport, caller, watch),
        #[cfg(test)]
        Place::Scripted(machine) => measure(prepared, target, machine, trial, caller, watch),
    }
}

/// The file that a run writes.
enum OutputFile<'a> {
    New(&'a Path),
    Begun(Box<Run>),
}

/// Checks that the place can run a new plan and that its file can be created, before anything slow.
fn create_for<'a>(
    mut prepared: Prepared,
    output: &'a Path,
    place: &Place<'_>,
) -> Result<(Prepared, OutputFile<'a>), Failure> {
    match place {
        Place::Here(guardian) => {
            prepared.check_needs()?;
            if !guardian.is_there() {
                prepared.warnings.push(
                    "No guardian process could be started: if the run had been killed, child processes of servers could have been left running."
                        .into(),
                );
            }
        }
        Place::Jobs(_) => prepared.can_be_distributed()?,
        #[cfg(test)]
        Place::Scripted(_) => {}
    }
    RunWriter::check(output)?;
    Ok((prepared, OutputFile::New(output)))
}

/// Reopens the file of a run, if the place is the one where it was begun.
fn reopen<'a>(
    path: &Path,
    catalog: &Catalog,
    place: &Place<'_>,
) -> Result<(Prepared, OutputFile<'a>), Failure> {
    let run = Run::open_to_resume(path)?;
    let (at, was_elsewhere) = (path.display(), run.host_before.facts.is_empty());
    let at_place = match place {
        Place::Jobs(_) if !was_elsewhere => {
            return Err(Failure::misuse(
                format!("{at} was begun on one machine, without a bus"),
                "resume it there, without --bus",
            ));
        }
        Place::Jobs(_) => Where::Elsewhere,
        _ if was_elsewhere => {
            return Err(Failure::misuse(
                format!("{at} was begun on a bus"),
                format!("resume it there: pitot run --bus URL --sign FILE --resume {at}"),
            ));
        }
        _ => Where::Here,
    };
    let mut prepared = prepare(run.plan.clone(), run.info.plan_source.clone(), catalog, at_place)?;
    prepared.check_needs()?;
    prepared.narrow_to(&run)?;
    Ok((prepared, OutputFile::Begun(Box::new(run))))
}

/// Runs a soak on this machine.
fn measure_soak(
    soak: &mut dyn Soak,
    place: Place<'_>,
    caller: Caller<'_>,
    watch: &mut dyn FnMut(&Event<'_>),
) -> Result<Outcome, Failure> {
    let Place::Here(guardian) = place else {
        return Err(Failure::misuse(
            "a soak runs only on this machine",
            "start it on the machine to be watched",
        ));
    };
    let cpus = soak.cpus().clone();
    let local_host = LocalHost::new(guardian, &cpus, caller.pitot, caller.stop);
    local_host.set_host(soak.host()).map_err(|reason| {
        Failure::run(
            format!("the plan's host settings cannot be applied: {reason}"),
            "run `pitot host status`",
        )
    })?;
    soak.measure(&local_host, watch)
}

/// Measures what the file lacks, on a machine.
fn measure(
    mut prepared: Prepared,
    target: OutputFile<'_>,
    machine: &dyn Machine,
    trial: bool,
    caller: Caller<'_>,
    watch: &mut dyn FnMut(&Event<'_>),
) -> Result<Outcome, Failure> {
    let begin = Instant::now();
    // Before the smoke test, which changes settings and leaves those of its last cell.
    let found = Fingerprint::collect();
    let (writer, given_up) = match target {
        OutputFile::New(output) => {
            let tried = prepared.try_cells(machine, trial, &|_| true, caller, watch);
            if let Some(failure) = prepared.nothing_left(&tried.given_up) {
                return Err(failure);
            }
            prepared.rise(tried.rises.0);
            prepared.warnings.extend(tried.rises.1);
            prepared.check_time(&tried.ready_s, begin.elapsed().as_secs_f64())?;
            prepared.warnings.extend(about_hosts(&prepared.plan, machine, &found));
            let versions = server_versions(machine, &prepared.plan, caller.version);
            let cpus = (prepared.cpus.server_list(), prepared.cpus.load_list());
            let mut writer = create(output, &mut prepared, &versions, &found, &cpus, caller)?;
            writer.record_hosts(&machine.hosts())?;
            (writer, tried.given_up)
        }
        OutputFile::Begun(run) => {
            // Before the smoke test, so that no other process resumes the file meanwhile.
            let mut writer = resume(&run, caller)?;
            note_changes(&mut writer, &run, &prepared, &found)?;
            let is_left = |cell: usize| {
                let cell = &run.cells[cell];
                cell.repetitions.len() < run.repetitions_of(cell) as usize
            };
            let tried = prepared.try_cells(machine, trial, &is_left, caller, watch);
            prepared.rise(tried.rises.0);
            (writer, tried.given_up)
        }
    };
    let mut ledger = Ledger::open(writer, watch)?;
    let state = on_machine(&mut prepared, machine, &mut ledger, begin, given_up, caller)?;
    if let Err(why) = machine.set_host(&[]) {
        ledger.warn(&format!("{why}."))?;
    }
    end(ledger, state, &machine.hosts(), &Fingerprint::collect(), caller)
}

/// Has others measure what the file lacks.
fn hand_out(
    mut prepared: Prepared,
    target: OutputFile<'_>,
    transport: &mut dyn Transport,
    caller: Caller<'_>,
    watch: &mut dyn FnMut(&Event<'_>),
) -> Result<Outcome, Failure> {
    // Nothing is measured on this machine; the hosts that run jobs are in the table of hosts.
    let nowhere = Fingerprint::default();
    let writer = match target {
        OutputFile::New(output) => {
            let versions = [("pitot".to_owned(), caller.version.to_owned())];
            create(output, &mut prepared, &versions, &nowhere, &Default::default(), caller)?
        }
        OutputFile::Begun(run) => resume(&run, caller)?,
    };
    let mut ledger = Ledger::open(writer, watch)?;
    let state = distributed::run(&mut prepared, &mut ledger, transport, caller.stop)?;
    end(ledger, state, &[], &nowhere, caller)
}

fn end(
    mut ledger: Ledger<'_>,
    state: RunState,
    hosts: &[HostRecord],
    here: &Fingerprint,
    caller: Caller<'_>,
) -> Result<Outcome, Failure> {
    if let Some(note) = (caller.note)() {
        ledger.warn(&note)?;
    }
    ledger.finish(state, hosts, here)
}

/// Creates a file with all that is known before the first repetition, and draws the seed if the plan has none.
fn create(
    output: &Path,
    prepared: &mut Prepared,
    versions: &[(String, String)],
    host: &Fingerprint,
    (server_cpus, load_cpus): &(String, String),
    caller: Caller<'_>,
) -> Result<RunWriter, Failure> {
    let seed = *prepared.plan.seed.get_or_insert_with(draw_seed);
    let new = NewRun {
        command_line: caller.command_line,
        version: caller.version,
        seed,
        started_at: &rfc3339(SystemTime::now()),
        server_cpus,
        load_cpus,
        warnings: &prepared.warnings,
        server_versions: versions,
        plan_source: &prepared.source,
        plan: &prepared.plan,
        host,
        skips: &prepared.skips,
        cells: &new_cells(prepared, caller.pitot),
    };
    Ok(RunWriter::create(output, &new)?)
}

/// Opens the file of a run that was begun.
fn resume(run: &Run, caller: Caller<'_>) -> Result<RunWriter, Failure> {
    let mut writer = RunWriter::resume(&run.path, &run.plan)?;
    let (before, now) = (&run.info.version, caller.version);
    if before != now {
        writer.warn(&format!("The run was resumed with another version of Pitot: {now}, not {before}."))?;
    }
    Ok(writer)
}

/// Records what has changed on this machine since the run began.
fn note_changes(
    writer: &mut RunWriter,
    run: &Run,
    prepared: &Prepared,
    found: &Fingerprint,
) -> Result<(), Failure> {
    for (name, before, now) in [
        ("server CPUs", &run.info.server_cpus, prepared.cpus.server_list()),
        ("load CPUs", &run.info.load_cpus, prepared.cpus.load_list()),
    ] {
        if *before != now {
            writer.warn(&format!("The run was resumed with other {name}: {now}, not {before}."))?;
        }
    }
    for change in run.host_before.changes_to(found) {
        writer.warn(&format!(
            "The run was resumed on a machine that had changed: {} {} was `{}` and is `{}`.",
            change.group,
            change.name,
            change.before.as_deref().unwrap_or(""),
            change.after.as_deref().unwrap_or("")
        ))?;
    }
    Ok(())
}

/// Warnings about the hosts of a run.
fn about_hosts(plan: &Plan, machine: &dyn Machine, here: &Fingerprint) -> Vec<String> {
    let own = plan.side_here().map(|does| HostRecord::own(does, here));
    let shortest_s = match plan.measure {
        Measure::Slices => plan.slice_s.unwrap_or(SLICE_S.0),
        Measure::Fresh => plan.duration_s,
    };
    hosts::sentences(own, &machine.hosts(), shortest_s)
}

/// The cells for a new file: those of the plan, then their controls.
pub(super) fn new_cells(prepared: &Prepared, pitot: &str) -> Vec<NewCell> {
    let shown = prepared.commands(pitot);
    let cell = |index: usize, (measure, reason): &(Measure, String), control_of| NewCell {
        factors: prepared.cells[index].factors.clone(),
        server_command: shown[index].server.clone(),
        load_command: shown[index].load.clone(),
        measure: *measure,
        fresh_reason: reason.clone(),
        control_of,
    };
    let ways = &prepared.ways;
    let cells = ways.cells.iter().enumerate().map(|(index, way)| cell(index, way, None));
    let controls = ways.controls.iter().map(|&twin| cell(twin, &ways.cells[twin], Some(twin)));
    cells.chain(controls).collect()
}

fn draw_seed() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    // It fits into a signed number, so that a plan can name it.
    std::hash::RandomState::new().build_hasher().finish() >> 1
}

/// The version of each server, as it reports it on its host.
fn server_versions(machine: &dyn Machine, plan: &Plan, pitot: &str) -> Vec<(String, String)> {
    let mut versions = vec![("pitot".to_owned(), pitot.to_owned())];
    for server in &plan.servers {
        let Program::External(program) = &server.program else { continue };
        if program.target.as_ref().is_some_and(|target| target.unavailable.is_some())
            || program.version.is_empty()
        {
            continue;
        }
        // Folders and values that depend on the repetition are not known here.
        let is_fixed = |text: &str| !text.contains('{');
        let env = program.env.iter().filter(|(_, value)| is_fixed(value)).cloned();
        let asked = Asked {
            argv: &program.version,
            cwd: program.cwd.as_deref().filter(|cwd| is_fixed(cwd)),
            env: env.collect(),
        };
        let text = machine.printed_by(&asked).unwrap_or_else(|e| e);
        let line = text.lines().find(|l| !l.trim().is_empty()).unwrap_or("nothing");
        versions.push((server.name.clone(), line.trim().to_owned()));
    }
    versions
}

/// Measures what the file lacks. The run began at `begin`.
fn on_machine(
    prepared: &mut Prepared,
    machine: &dyn Machine,
    ledger: &mut Ledger<'_>,
    begin: Instant,
    mut given_up: Vec<Option<GivenUp>>,
    caller: Caller<'_>,
) -> Result<RunState, Failure> {
    let (cpus, plan) = (prepared.cpus.clone(), prepared.plan.clone());
    let shared = Shared {
        plan: &plan,
        pitot: caller.pitot,
        cpus: &cpus,
        stop: caller.stop,
        memory_total_bytes: machine.memory_total_bytes(),
        block: 0,
    };
    // A control that cannot be started is given up with the cell that it repeats.
    let twins = prepared.ways.controls.clone();
    given_up.extend(twins.iter().map(|&twin| given_up[twin].clone()).collect::<Vec<_>>());
    let cells =
        prepared.cells.iter().chain(twins.iter().map(|&twin| &prepared.cells[twin])).cloned().collect();
    let mut run = OnMachine { shared, machine, ledger, begin, decided: caller.decided, cells, given_up };
    match generations::run(prepared, &mut run)? {
        RunState::Complete => fresh::run(prepared, &mut run),
        ended => Ok(ended),
    }
}
