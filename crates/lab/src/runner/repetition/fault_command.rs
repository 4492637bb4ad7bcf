//! The command that makes a fault (`pitot fault`).

use pitot_fault::{Aim, FaultPlan, find};

use super::context::{Context, FirstProcess};

/// The placeholder for the server's first process in commands.
pub(in crate::runner) const SERVER_PID: &str = "{server-pid}";

/// The target of faults, as words of a command.
pub(super) struct Aims {
    pid: String,
    address: String,
    cpus: String,
    dir: String,
    /// The URL of the load.
    path: String,
}

impl Aims {
    /// The server of a repetition.
    pub(super) fn of(context: &Context<'_>) -> Aims {
        let url = context.at.fill(&context.cell.url);
        let path = url.split_once("://").and_then(|(_, rest)| rest.find('/').map(|at| rest[at..].to_owned()));
        Aims {
            pid: match context.first {
                FirstProcess::OfOthers(pid) => pid.to_string(),
                FirstProcess::OfLab | FirstProcess::Gone => SERVER_PID.to_owned(),
            },
            address: context.at.address.clone(),
            cpus: context.at.server_cpus.clone(),
            dir: context.at.dir.clone(),
            path: path.unwrap_or_else(|| "/".to_owned()),
        }
    }

    /// Placeholders for any server.
    pub(super) fn of_reader(context: &Context<'_>) -> Aims {
        let [pid, address, dir] = ["PID", "ADDRESS", "DIR"].map(str::to_owned);
        Aims { pid, address, dir, ..Aims::of(context) }
    }
}

/// The command that makes a fault.
pub(super) fn argv(pitot: &str, fault: &FaultPlan, aims: &Aims) -> Vec<String> {
    let mut argv = vec![pitot.to_owned(), "fault".into()];
    argv.extend(words(fault));
    let entry = find(&fault.kind);
    let aim = match entry.map(|entry| entry.aim) {
        Some(Aim::Process) => Some(("--pid", &aims.pid)),
        Some(Aim::Address) => Some(("--to", &aims.address)),
        Some(Aim::Cpus) => Some(("--cpus", &aims.cpus)),
        Some(Aim::Directory) => Some(("--dir", &aims.dir)),
        Some(Aim::Server | Aim::Path | Aim::Names | Aim::Nothing) | None => None,
    };
    // For a server that the lab did not start, the user has to name its directory.
    let is_given =
        |option: &str| fault.options.iter().any(|(name, _)| option.strip_prefix("--") == Some(name));
    argv.extend(
        aim.filter(|(option, _)| !is_given(option))
            .into_iter()
            .flat_map(|(option, value)| [option.to_owned(), value.clone()]),
    );
    if entry.is_some_and(|entry| entry.takes.contains(&"path"))
        && fault.options.iter().all(|(name, _)| name != "path")
    {
        argv.extend(["--path".into(), aims.path.clone()]);
    }
    argv.extend(["--for".into(), format!("{}ms", (fault.length_s() * 1e3).round())]);
    argv
}

/// A fault and its options, as on a command line.
pub(super) fn words(fault: &FaultPlan) -> Vec<String> {
    let options = fault.options.iter().flat_map(|(name, value)| [format!("--{name}"), value.clone()]);
    std::iter::once(fault.kind.clone()).chain(options).collect()
}
