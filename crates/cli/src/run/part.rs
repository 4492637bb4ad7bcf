//! `pitot run --part`: one part of a run, for an agent on a bus.

use std::path::Path;
use std::process::ExitCode;

use pitot_lab::{Job, Place, RunLock, Work, check_job, prepare_job};
use pitot_record::RunState;
use pitot_results::{Failure, printable};

use crate::catalog::catalog;
use crate::runs::{How, Runs};

/// Writes which cells of the part that a file describes cannot be run on this machine: pairs of the number of a cell and the reason, as
/// JSON.
pub(super) fn check(part: &Path, output: &Path) -> Result<ExitCode, Failure> {
    let cannot = check_job(&read(part)?, &catalog()?);
    let text = serde_json::to_vec(&cannot).unwrap_or_default();
    std::fs::write(output, text).map(|()| ExitCode::SUCCESS).map_err(|e| {
        Failure::run(format!("{} cannot be written: {e}", output.display()), "check the free space")
    })
}

fn read(part: &Path) -> Result<Job, Failure> {
    let fix = "use the same version of Pitot on all hosts";
    let wrong =
        |why: String| Failure::misuse(format!("{} is not a part of a run: {why}", part.display()), fix);
    let text = std::fs::read_to_string(part).map_err(|e| wrong(e.to_string()))?;
    let part: Job = serde_json::from_str(&text).map_err(|e| wrong(e.to_string()))?;
    let own = env!("CARGO_PKG_VERSION");
    if part.version != own {
        let what = format!("the part is of a run by Pitot {}, and this is {own}", printable(&part.version));
        return Err(Failure::misuse(what, fix));
    }
    Ok(part)
}

/// Carries out the part that a file describes, into a new run file.
pub(super) fn run(part: &Path, output: &Path, runs: &mut Runs, waits: bool) -> Result<ExitCode, Failure> {
    let part = read(part)?;
    // What is in a guest or a sandbox runs on behalf of a run that has the lock.
    let lock = match waits {
        true => runs.lock(&part.name, true).map_err(|_| stopped())?,
        false => RunLock::take(&part.name),
    };
    let prepared = Box::new(prepare_job(&part, &catalog()?)?);
    let place = Place::Here(runs.guardian()?);
    // Whoever drives the whole run has no other place to learn at once that a server does not start.
    let how = How::to_its_end(false, Some(&lock));
    let outcome = runs.carry_out(Work::New { prepared, output }, place, how, &mut |_| {})?;
    match outcome.state {
        RunState::Complete => Ok(ExitCode::SUCCESS),
        _ => Err(stopped()),
    }
}

fn stopped() -> Failure {
    Failure::run("the part was stopped before its end", "it is carried out again")
}
