//! `pitot run --part`: one part of a run, for an agent on a bus.

use std::path::Path;
use std::process::ExitCode;

use pitot_lab::{Guardian, OtherRun, Part, RunLock, RunState, Setting, check_part, run_part};
use pitot_results::{Failure, printable, stderr};

use crate::catalog::catalog;

use super::{own_path, say_waiting};

/// Writes which cells of the part that a file describes cannot be run on this machine: pairs of the number of a cell and the reason, as
/// JSON.
pub(super) fn check(part: &Path, output: &Path) -> Result<ExitCode, Failure> {
    let cannot = check_part(&read(part)?, &catalog()?);
    let text = serde_json::to_vec(&cannot).unwrap_or_default();
    std::fs::write(output, text).map(|()| ExitCode::SUCCESS).map_err(|e| {
        Failure::run(format!("{} cannot be written: {e}", output.display()), "check the free space")
    })
}

fn read(part: &Path) -> Result<Part, Failure> {
    let cure = "use the same version of Pitot on all hosts";
    let wrong = |why: String| Failure::misuse(format!("{} is no part of a run: {why}", part.display()), cure);
    let text = std::fs::read_to_string(part).map_err(|e| wrong(e.to_string()))?;
    let part: Part = serde_json::from_str(&text).map_err(|e| wrong(e.to_string()))?;
    let own = env!("CARGO_PKG_VERSION");
    if part.version != own {
        let what = format!("the part is of a run by Pitot {}, and this is {own}", printable(&part.version));
        return Err(Failure::misuse(what, cure));
    }
    Ok(part)
}

/// Carries out the part that a file describes, into a new run file.
pub(super) fn run(
    part: &Path,
    output: &Path,
    guardian: Guardian,
    waits: bool,
    stop: &dyn Fn() -> bool,
) -> Result<ExitCode, Failure> {
    let part = read(part)?;
    // What is in a guest or a sandbox runs on behalf of a run that has the lock.
    let lock = match waits {
        true => {
            let mut waited = false;
            let mut say = |other: &OtherRun| {
                waited = true;
                say_waiting(other);
            };
            let lock = RunLock::wait(&part.name, stop, &mut say).ok_or_else(stopped)?;
            if waited {
                stderr::line("the other run has ended");
            }
            lock
        }
        false => RunLock::take(&part.name),
    };
    let setting = Setting {
        pitot: &own_path()?,
        version: env!("CARGO_PKG_VERSION"),
        command_line: "a part of a run",
        trial: false,
        note: &|| lock.note(),
        stop,
    };
    let outcome = run_part(&part, output, &catalog()?, setting, guardian, &mut |_| {})?;
    match outcome.state {
        RunState::Complete => Ok(ExitCode::SUCCESS),
        _ => Err(stopped()),
    }
}

fn stopped() -> Failure {
    Failure::run("the part was stopped before its end", "it is carried out again")
}
