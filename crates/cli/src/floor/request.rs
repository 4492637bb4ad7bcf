//! Which floor belongs to a run: the kind of request, and the same machine and kernel.

use std::path::Path;

use clap::builder::ValueParser;
use pitot_host::Fingerprint;
use pitot_record::Run;
use pitot_results::Failure;
use pitot_results::floor::{FloorHost, FloorRequest, FloorResult, SCHEMA};

use crate::choice::{one_of, word};

/// The kinds of request that have a floor, by their names in its file.
pub(crate) fn requests() -> ValueParser {
    let kinds = [
        ("keep-alive", "On an open connection; 64 are ready in one wait"),
        ("keep-alive-alone", "On an open connection, for which the server had to wake up"),
        ("new-connection", "On a new connection"),
    ];
    one_of(kinds.map(|(name, help)| (word(name, help), name)))
}

/// The facts on which a floor depends.
pub(super) fn host_of(print: &Fingerprint) -> FloorHost {
    let fact = |group, name| print.get(group, name).unwrap_or_default().to_owned();
    FloorHost {
        kernel: fact("system", "kernel build"),
        processor: fact("cpu", "model name"),
        cpus: fact("cpu", "online"),
    }
}

/// Refuses a run of another machine or kernel.
pub(super) fn check_host(floor: &FloorHost, run: &Run) -> Result<(), Failure> {
    let refused = |what: String| {
        Err(Failure::misuse(what, "measure the floor on the machine of the run: pitot floor --format json"))
    };
    if *floor == FloorHost::default() {
        return refused("the floor has no facts of its machine".into());
    }
    if !run.hosts.is_empty() || run.plan.is_in_guests() {
        return refused("the servers of this run were on other hosts or kernels than the lab".into());
    }
    let of_run = host_of(&run.host_before);
    let parts = [
        ("kernel", &floor.kernel, &of_run.kernel),
        ("processor", &floor.processor, &of_run.processor),
        ("CPUs", &floor.cpus, &of_run.cpus),
    ];
    match parts.iter().find(|(_, floor, run)| floor != run) {
        Some((what, floor, run)) => refused(format!(
            "the floor is of another machine: its {what} are {floor:?}, those of the run {run:?}"
        )),
        None => Ok(()),
    }
}

/// The floor of the requests of a run, out of a file of `pitot floor --format json`.
///
/// # Errors
/// If it is no such file, or of another machine or kernel, or has no floor of that kind.
pub(crate) fn floor_of_run(path: &Path, request: &str, run: &Run) -> Result<FloorRequest, Failure> {
    let no_floor = |why: &dyn std::fmt::Display| {
        Failure::misuse(
            format!("{} has no floor: {why}", path.display()),
            "name the output of `pitot floor --format json`",
        )
    };
    let bytes = std::fs::read(path).map_err(|e| no_floor(&e))?;
    let result: FloorResult = serde_json::from_slice(&bytes).map_err(|e| no_floor(&e))?;
    if result.schema != SCHEMA {
        return Err(no_floor(&format!("its schema is {:?}", result.schema)));
    }
    check_host(&result.host, run)?;
    let of_kind = result.requests.into_iter().find(|of_kind| of_kind.name == request);
    of_kind.ok_or_else(|| no_floor(&format!("the primitives of {request} were not all measured")))
}
