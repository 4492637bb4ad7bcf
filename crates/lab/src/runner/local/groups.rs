//! Control groups: one for each program that the lab starts.
//!
//! Every process that a program starts stays in its group, whatever it does to its environment, session and parents.
//! So the group shows which processes are left, can be killed as a whole (cgroups(7)), and counts the CPU time of all its
//! members.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use pitot_meter::Nanos;
use pitot_sys::control_group::{self, all_below, is_control_group, members};
use pitot_sys::processes::Process;
use pitot_sys::spawn;

/// The CPU counter of a control group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// `usage_usec` in `cpu.stat`.
    Version2,
    /// Nanoseconds in `cpuacct.usage`.
    Version1,
}

/// The control group of this process, in which groups for programs can be created.
#[derive(Clone, Debug)]
pub(super) struct Hierarchy {
    own: PathBuf,
    kind: Kind,
}

impl Hierarchy {
    /// The first hierarchy in which this process can create a group; `name` is that of a test group.
    pub(super) fn find(name: &str) -> Option<Hierarchy> {
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
        let memberships = std::fs::read_to_string("/proc/self/cgroup").ok()?;
        [Kind::Version2, Kind::Version1].into_iter().find_map(|kind| {
            let hierarchy = Hierarchy { own: own_group(kind, &mounts, &memberships)?, kind };
            let trial = hierarchy.make(name)?;
            // Creating a group can succeed although its counter is missing or its list of members cannot be written.
            let is_usable = trial.members().is_ok_and(spawn::can_enter_cgroup)
                && trial.counter().is_some_and(|counter| counter.cpu_time().is_some());
            is_usable.then_some(hierarchy)
        })
    }

    /// Creates a group.
    pub(super) fn make(&self, name: &str) -> Option<Group> {
        let dir = self.own.join(name);
        std::fs::create_dir(&dir).ok()?;
        Some(Group { dir, kind: self.kind })
    }
}

/// The directories in which this process creates its groups, one for each version.
pub(super) fn own_groups() -> Vec<PathBuf> {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let (mounts, memberships) = (read("/proc/self/mountinfo"), read("/proc/self/cgroup"));
    [Kind::Version2, Kind::Version1].into_iter().filter_map(|k| own_group(k, &mounts, &memberships)).collect()
}

/// Removes the groups directly in `parents` whose names are `prefix` and a number, and kills their members. True if
/// none is left. A group can outlive the processes that /proc shows: while the threads of a killed process end one by one,
/// its first may be a zombie already.
pub(super) fn remove_groups(parents: &[PathBuf], prefix: &str) -> bool {
    let mut all_gone = true;
    let parents = parents.iter().filter(|dir| is_control_group(dir));
    for entry in parents.filter_map(|dir| std::fs::read_dir(dir).ok()).flatten().flatten() {
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix(prefix));
        if number.is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())) {
            let is_gone = remove(&entry.path());
            if !is_gone {
                kill(&entry.path());
            }
            all_gone &= is_gone;
        }
    }
    all_gone
}

/// Removes a group and its subgroups. True if it is gone; a group with members cannot be removed.
fn remove(dir: &Path) -> bool {
    all_below(dir).iter().rev().for_each(|group| drop(std::fs::remove_dir(group)));
    !dir.exists()
}

/// Kills the members of a group and its subgroups. Repeat it until they are gone, since older kernels cannot do it at once.
fn kill(dir: &Path) {
    // Linux 5.14 or later, version 2: atomic, so that nothing can fork meanwhile.
    if std::fs::write(dir.join("cgroup.kill"), "1").is_err() {
        members(dir).iter().for_each(Process::kill);
    }
}

/// The directory of this process's group.
fn own_group(kind: Kind, mounts: &str, memberships: &str) -> Option<PathBuf> {
    let controller = match kind {
        Kind::Version2 => None,
        Kind::Version1 => Some("cpuacct"),
    };
    control_group::of_process(mounts, memberships, controller)
}

/// The control group of one program. Dropping it removes the group, unless it has members.
#[derive(Debug)]
pub(super) struct Group {
    dir: PathBuf,
    kind: Kind,
}

impl Group {
    /// The list of its members, open for writing.
    pub(super) fn members(&self) -> std::io::Result<File> {
        File::options().write(true).open(self.dir.join("cgroup.procs"))
    }

    /// Its running processes.
    pub(super) fn processes(&self) -> Vec<Process> {
        members(&self.dir)
    }

    /// Kills its processes at once, if the kernel can; see [`processes`](Self::processes) for the remaining ones.
    pub(super) fn kill(&self) {
        kill(&self.dir);
    }

    /// The counter of CPU time of all its processes, including ended ones.
    pub(super) fn counter(&self) -> Option<Counter> {
        let name = match self.kind {
            Kind::Version2 => "cpu.stat",
            Kind::Version1 => "cpuacct.usage",
        };
        Some(Counter { file: File::open(self.dir.join(name)).ok()?, kind: self.kind })
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        remove(&self.dir);
    }
}

/// Counts the CPU time of a control group.
#[derive(Debug)]
pub(super) struct Counter {
    file: File,
    kind: Kind,
}

impl Counter {
    pub(super) fn cpu_time(&self) -> Option<Nanos> {
        let mut buffer = [0; 512];
        let length = self.file.read_at(&mut buffer, 0).ok()?;
        let text = std::str::from_utf8(&buffer[..length]).ok()?;
        match self.kind {
            Kind::Version2 => {
                let usage = text.lines().find_map(|line| line.strip_prefix("usage_usec "))?;
                Some(Nanos(usage.parse::<u64>().ok()? * 1000))
            }
            Kind::Version1 => text.trim().parse().ok().map(Nanos),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "24 30 0:22 / /proc rw - proc proc rw\n\
                          31 30 0:27 / /sys/fs/cgroup/cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
                          32 30 0:28 /user.slice /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n";

    #[test]
    fn the_own_group_is_found_below_the_mounted_part_of_the_hierarchy() {
        let memberships = "5:cpu,cpuacct:/lab\n0::/user.slice/session-1.scope\n";
        let of = |kind| own_group(kind, MOUNTS, memberships);
        assert_eq!(of(Kind::Version2).unwrap(), Path::new("/sys/fs/cgroup/session-1.scope"));
        assert_eq!(of(Kind::Version1).unwrap(), Path::new("/sys/fs/cgroup/cpuacct/lab"));
        assert_eq!(own_group(Kind::Version2, MOUNTS, "0::/elsewhere\n"), None);
        assert_eq!(own_group(Kind::Version2, "", memberships), None);
    }

    #[pitot_needs::needs("control-groups")]
    #[test]
    fn a_group_with_a_member_is_removed_when_that_has_ended() {
        let prefix = format!("pitot-test-{}-", std::process::id());
        let hierarchy = Hierarchy::find(&format!("{prefix}0")).unwrap();
        let group = hierarchy.make(&format!("{prefix}1")).unwrap();
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        std::io::Write::write_all(&mut group.members().unwrap(), child.id().to_string().as_bytes()).unwrap();
        assert!(!remove_groups(&own_groups(), &prefix), "its member is alive");
        child.wait().unwrap();
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
        while !remove_groups(&own_groups(), &prefix) {
            assert!(std::time::Instant::now() < deadline, "the group was never removed");
        }
    }

    #[test]
    fn what_looks_like_a_control_group_elsewhere_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let group = dir.path().join("pitot-x-1");
        std::fs::create_dir(&group).unwrap();
        std::fs::write(group.join("cgroup.procs"), child.id().to_string()).unwrap();
        assert!(remove_groups(&[dir.path().to_owned()], "pitot-x-"), "there is none to remove");
        assert!(child.try_wait().unwrap().is_none() && group.exists(), "it was taken for one");
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[pitot_needs::needs("control-groups")]
    #[test]
    fn a_group_is_killed_with_the_groups_below_it() {
        let prefix = format!("pitot-test-kill-{}-", std::process::id());
        let hierarchy = Hierarchy::find(&format!("{prefix}0")).unwrap();
        let group = hierarchy.make(&format!("{prefix}1")).unwrap();
        let below = Hierarchy { own: group.dir.clone(), kind: group.kind }.make("below").unwrap();
        let mut command = std::process::Command::new("env");
        command.args(["-i", "setsid", "--fork", "sleep", "60"]);
        spawn::enter_cgroup(&mut command, below.members().unwrap());
        assert!(command.status().unwrap().success());
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
        while !matches!(&group.processes()[..], [one] if one.name == "sleep") {
            assert!(std::time::Instant::now() < deadline, "{:?}", group.processes());
        }
        while !group.processes().is_empty() {
            assert!(std::time::Instant::now() < deadline, "it was not killed");
            group.kill();
        }
        let dir = group.dir.clone();
        while dir.exists() {
            assert!(std::time::Instant::now() < deadline, "the group was never removed");
            remove(&dir);
        }
    }
}
