//! Limits the server's memory with a control group.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pitot_sys::guardian::wait_until;
use pitot_sys::processes::Process;
use pitot_sys::{Unavailable, control_group};

use crate::entry::{Aim, Begun, Fault, Means};
use crate::options::Options;
use crate::processes::{self, of_server};
use crate::undo::{Note, Undo};

pub(super) static FAULT: Fault = Fault {
    name: "memory",
    summary: "Limit the server's additional memory with a control group.",
    doc: "All its processes are moved to a new control group with a limit, and back afterwards. Memory that they have already is not \
          counted (cgroups(7)). Above the limit the kernel reclaims page cache, and then kills one of them (OOM).",
    aim: Aim::Process,
    takes: &["bytes"],
    lasts_s: 1.0,
    is_moment: false,
    may_end_server: true,
    can_silence: true,
    speaks_http: false,
    probe,
    means: Means::Program { begin, undo },
};

/// Prefix of the groups' names.
const GROUP: &str = "pitot-fault-";
/// Timeout until the group is empty.
const TIMEOUT: Duration = Duration::from_secs(2);

/// A hierarchy of control groups that limits memory.
struct Hierarchy {
    /// The group of this process.
    own: PathBuf,
    /// The file with the limit.
    limit: &'static str,
}

fn hierarchy() -> Option<Hierarchy> {
    let mounts = mounts()?;
    let memberships = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    [true, false].into_iter().find_map(|is_unified| {
        let own = control_group::of_process(&mounts, &memberships, controller(is_unified))?;
        if is_unified && !hands_memory_down(&own) {
            return None;
        }
        let limit = if is_unified { "memory.max" } else { "memory.limit_in_bytes" };
        Some(Hierarchy { own, limit })
    })
}

/// The reachable mounts of this process; another file system may be mounted over one of control groups.
fn mounts() -> Option<String> {
    let all = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
    let can_be_reached = |line: &&str| {
        let mount = line.split(' ').nth(4).unwrap_or_default();
        !line.contains(" - cgroup") || Path::new(mount).join("cgroup.procs").exists()
    };
    Some(all.lines().filter(can_be_reached).collect::<Vec<_>>().join("\n"))
}

/// Whether groups below a unified one can limit memory.
fn hands_memory_down(group: &Path) -> bool {
    let controllers = std::fs::read_to_string(group.join("cgroup.subtree_control")).unwrap_or_default();
    controllers.split_whitespace().any(|controller| controller == "memory")
}

/// The name of the hierarchy; empty for version 2.
fn controller(is_unified: bool) -> Option<&'static str> {
    (!is_unified).then_some("memory")
}

fn probe() -> Result<(), Unavailable> {
    let missing = |cause: &str| Unavailable {
        what: "a limit on memory".into(),
        cause: cause.into(),
        fix: "run as root with a delegated control group, for example by systemd-run --scope -p Delegate=yes"
            .into(),
    };
    let hierarchy =
        hierarchy().ok_or_else(|| missing("no control group here can limit the memory of subgroups"))?;
    let trial = group_of(&hierarchy, "probe");
    std::fs::create_dir(&trial)
        .map_err(|e| missing(&format!("{} cannot be created: {e}", trial.display())))?;
    let limited = trial.join(hierarchy.limit).exists();
    let _ = std::fs::remove_dir(&trial);
    if limited { Ok(()) } else { Err(missing("new control groups have no memory limit here")) }
}

fn group_of(hierarchy: &Hierarchy, name: &str) -> PathBuf {
    hierarchy.own.join(format!("{GROUP}{}-{name}", std::process::id()))
}

fn begin(options: &Options, undo: &mut Undo) -> Result<Begun, String> {
    let hierarchy = hierarchy().ok_or("no control group can limit memory here")?;
    let group = group_of(&hierarchy, "memory");
    let said = |what: &str| {
        let what = what.to_owned();
        move |e: std::io::Error| format!("{what}: {e}")
    };
    let path = group.display();
    undo.note(vec![Note::new(format!("control group {path}"), format!("group {path}"))])?;
    std::fs::create_dir(&group).map_err(said("the control group cannot be created"))?;
    std::fs::write(group.join(hierarchy.limit), options.bytes.to_string())
        .map_err(said("the limit cannot be set"))?;
    let processes = of_server(options.pid);
    if processes.is_empty() {
        return Err(format!("process {} does not exist", options.pid));
    }
    // A worker may have ended since.
    let homes: Vec<(&Process, PathBuf)> =
        processes.iter().filter_map(|process| Some((process, home(process.pid, &hierarchy)?))).collect();
    let note = |(process, home): &(&Process, PathBuf)| {
        Note::of(process, format!("move {} {}", processes::note(process), home.display()))
    };
    undo.note(homes.iter().map(note).collect())?;
    for (process, _) in homes {
        match enter(&group, process.pid) {
            Err(e) if e.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error()) => {}
            moved => moved.map_err(said("a process cannot be moved"))?,
        }
    }
    let name = processes::name(&processes);
    Ok(Begun::done(format!("{name} may use {} more bytes of memory", options.bytes)))
}

/// The group that a process is in.
fn home(pid: u32, hierarchy: &Hierarchy) -> Option<PathBuf> {
    let mounts = mounts()?;
    let memberships = std::fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
    let is_unified = hierarchy.limit == "memory.max";
    control_group::of_process(&mounts, &memberships, controller(is_unified))
        .or_else(|| Some(hierarchy.own.clone()))
}

fn enter(group: &Path, pid: u32) -> std::io::Result<()> {
    std::fs::write(group.join("cgroup.procs"), pid.to_string())
}

fn undo(note: &str) -> Result<bool, String> {
    match note.split_once(' ') {
        Some(("move", rest)) => {
            let mut words = rest.splitn(3, ' ');
            let (pid, started, home) = (words.next(), words.next(), words.next());
            let (Some(pid), Some(started), Some(home)) = (pid, started, home) else { return Ok(false) };
            let process = processes::of_note(&format!("{pid} {started}"));
            // A process that another program has moved stays where it is.
            let Some(pid) = process.filter(|pid| is_in_group(*pid)) else { return Ok(false) };
            match enter(Path::new(home), pid) {
                Ok(()) => Ok(true),
                // It is moved to the parent group.
                Err(e) if e.kind() == ErrorKind::NotFound => Ok(false),
                Err(e) if e.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error()) => Ok(false),
                Err(e) => Err(format!("process {pid} cannot be moved to {home}: {e}")),
            }
        }
        Some(("group", group)) => {
            let group = Path::new(group);
            if !group.exists() {
                return Ok(false);
            }
            let mut why = String::new();
            wait_until(TIMEOUT, || {
                // Children that were forked meanwhile are moved to the parent group.
                let members = std::fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
                for pid in members.lines().filter_map(|pid| pid.parse().ok()) {
                    let _ = group.parent().map(|parent| enter(parent, pid));
                }
                why = std::fs::remove_dir(group).err().map(|e| e.to_string()).unwrap_or_default();
                !group.exists()
            });
            match group.exists() {
                true => Err(format!("the control group {} cannot be removed: {why}", group.display())),
                false => Ok(true),
            }
        }
        _ => Err(format!("`{note}` is not a note of this fault")),
    }
}

/// Whether a process is in a group of this fault.
fn is_in_group(pid: u32) -> bool {
    let memberships = std::fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
    memberships.contains(&format!("/{GROUP}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_group_is_found_in_both_kinds_of_hierarchies() {
        let mounts = "31 30 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
                      32 30 0:28 / /no/such/mount rw,nosuid - cgroup2 cgroup2 rw\n";
        let memberships = "4:memory:/lab/one\n0::/user.slice\n";
        let of = |is_unified| control_group::of_process(mounts, memberships, controller(is_unified)).unwrap();
        assert_eq!(of(false), Path::new("/sys/fs/cgroup/memory/lab/one"));
        assert_eq!(of(true), Path::new("/no/such/mount/user.slice"));
        // A server of a run has such a group; it can be moved back to it all the same.
        assert!(!hands_memory_down(&of(true)), "it hands memory to no group below it");
    }
}
