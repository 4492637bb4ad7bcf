//! CPU time of a program and all its descendants, to the microsecond.
//!
//! /proc counts what ended children have used in clock ticks, which are as long as a whole slice of a measurement. A control
//! group counts every process that was ever its member in nanoseconds (cgroups(7)): `cpu.stat` of version 2, which needs
//! no controller, or `cpuacct.usage` of version 1. A user who may not make control groups has the CPU clocks of
//! the processes instead (clock_getcpuclockid(3)), which are as exact while no process ends.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use pitot_meter::Nanos;
use pitot_sys::spawn::{self, Stop};
use rustix::fs::statfs;

use crate::procfs::{Reader, Sessions};

/// The file systems of control groups: CGROUP_SUPER_MAGIC and CGROUP2_SUPER_MAGIC of linux/magic.h.
const CONTROL_GROUPS: [u32; 2] = [0x0027_e0eb, 0x6367_7270];

/// Where a counter of a control group stands, and how it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// `usage_usec` in `cpu.stat`.
    Version2,
    /// Nanoseconds in `cpuacct.usage`.
    Version1,
}

/// The control group of this process, below which groups for programs can be made.
#[derive(Clone, Debug)]
pub(super) struct Hierarchy {
    own: PathBuf,
    kind: Kind,
}

impl Hierarchy {
    /// The first hierarchy in which this process may make groups. `name` is the name of one that is tried.
    pub(super) fn find(name: &str) -> Option<Hierarchy> {
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
        let memberships = std::fs::read_to_string("/proc/self/cgroup").ok()?;
        [Kind::Version2, Kind::Version1].into_iter().find_map(|kind| {
            let hierarchy = Hierarchy { own: own_group(kind, &mounts, &memberships)?, kind };
            let trial = hierarchy.make(name)?;
            // A group may be made where its counter is missing or its list of members belongs to somebody else.
            (trial.members().is_ok() && trial.cpu_time().is_some()).then_some(hierarchy)
        })
    }

    /// Makes a group.
    pub(super) fn make(&self, name: &str) -> Option<Group> {
        let dir = self.own.join(name);
        std::fs::create_dir(&dir).ok()?;
        let counter = match self.kind {
            Kind::Version2 => "cpu.stat",
            Kind::Version1 => "cpuacct.usage",
        };
        let counter = File::open(dir.join(counter)).ok();
        Some(Group { dir, counter, kind: self.kind })
    }
}

/// The directories below which this process makes its groups, one for each version.
pub(super) fn own_groups() -> Vec<PathBuf> {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let (mounts, memberships) = (read("/proc/self/mountinfo"), read("/proc/self/cgroup"));
    [Kind::Version2, Kind::Version1].into_iter().filter_map(|k| own_group(k, &mounts, &memberships)).collect()
}

/// Removes the groups right below `parents` whose names are `prefix` and a number, and kills what is still a member of one.
/// True if none is left. A group can outlive the processes that /proc shows: while the threads of a killed
/// process end one by one, its first may be a zombie already.
pub(super) fn remove_groups(parents: &[PathBuf], prefix: &str) -> bool {
    let mut all_gone = true;
    let parents = parents.iter().filter(|dir| is_control_group(dir));
    for entry in parents.filter_map(|dir| std::fs::read_dir(dir).ok()).flatten().flatten() {
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix(prefix));
        if number.is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())) {
            all_gone &= remove_group(&entry.path());
        }
    }
    all_gone
}

/// Whether the kernel has made a directory for a control group: in another file system anybody can make one that looks so.
fn is_control_group(dir: &Path) -> bool {
    statfs(dir).is_ok_and(|system| CONTROL_GROUPS.contains(&(system.f_type as u32)))
}

/// Removes a group, or kills its members. True if it is gone.
fn remove_group(dir: &Path) -> bool {
    let gone = std::fs::remove_dir(dir).is_ok() || !dir.exists();
    if !gone {
        let members = std::fs::read_to_string(dir.join("cgroup.procs")).unwrap_or_default();
        members.lines().filter_map(|pid| pid.parse().ok()).for_each(|pid| spawn::stop(pid, Stop::Kill));
    }
    gone
}

/// The directory of this process's own group.
fn own_group(kind: Kind, mounts: &str, memberships: &str) -> Option<PathBuf> {
    // proc_pid_mountinfo(5): ID PARENT DEVICE ROOT MOUNTPOINT OPTIONS ... - TYPE SOURCE SUPEROPTIONS
    let (root, mount) = mounts.lines().find_map(|line| {
        let (place, system) = line.split_once(" - ")?;
        let mut system = system.split(' ');
        let fits = match kind {
            Kind::Version2 => system.next() == Some("cgroup2"),
            Kind::Version1 => {
                system.next() == Some("cgroup") && system.nth(1)?.split(',').any(|o| o == "cpuacct")
            }
        };
        let mut fields = place.split(' ').skip(3);
        fits.then_some((fields.next()?, fields.next()?))
    })?;
    // cgroups(7): ID:CONTROLLERS:PATH
    let path = memberships.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let controllers = fields.next()?;
        let fits = match kind {
            Kind::Version2 => controllers.is_empty(),
            Kind::Version1 => controllers.split(',').any(|c| c == "cpuacct"),
        };
        fits.then(|| fields.next()).flatten()
    })?;
    let below = if root == "/" { path } else { path.strip_prefix(root)? };
    Some(Path::new(mount).join(below.trim_start_matches('/')))
}

/// A control group. It is removed when it is dropped, unless it still has members.
#[derive(Debug)]
pub(super) struct Group {
    dir: PathBuf,
    counter: Option<File>,
    kind: Kind,
}

impl Group {
    /// The list of its members, open for writing.
    pub(super) fn members(&self) -> std::io::Result<File> {
        File::options().write(true).open(self.dir.join("cgroup.procs"))
    }

    fn cpu_time(&self) -> Option<Nanos> {
        let mut buffer = [0; 512];
        let length = self.counter.as_ref()?.read_at(&mut buffer, 0).ok()?;
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

impl Drop for Group {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.dir);
    }
}

/// Counts the CPU time of one program.
#[derive(Debug)]
pub(super) enum CpuAccount {
    /// By its control group.
    Group(Group),
    /// By the clocks of its processes.
    Clocks(Box<Clocks>),
}

impl CpuAccount {
    /// What was used so far; `None` if that cannot be said.
    pub(super) fn cpu_time(&mut self) -> Option<Nanos> {
        match self {
            CpuAccount::Group(group) => group.cpu_time(),
            CpuAccount::Clocks(clocks) => clocks.cpu_time(),
        }
    }
}

/// The CPU clocks of the processes of a session.
#[derive(Debug)]
pub(super) struct Clocks {
    session: u32,
    reader: Reader,
    sessions: Sessions,
    /// The processes of the last reading, in ascending order.
    known: Vec<u32>,
    /// A process has ended, and what it used after the last reading is not known.
    lost: bool,
}

impl Clocks {
    pub(super) fn new(session: u32) -> Clocks {
        Clocks {
            session,
            reader: Reader::default(),
            sessions: Sessions::default(),
            known: Vec::new(),
            lost: false,
        }
    }

    fn cpu_time(&mut self) -> Option<Nanos> {
        let mut members = Vec::new();
        self.sessions.walk(&mut self.reader, &[self.session], |pid, stat| {
            if !stat.is_over() {
                members.push(pid);
            }
        });
        members.sort_unstable();
        self.lost |= self.known.iter().any(|pid| members.binary_search(pid).is_err());
        self.known = members;
        if self.lost {
            return None;
        }
        let all: Option<u64> = self.known.iter().map(|pid| spawn::cpu_time_ns(*pid)).sum();
        self.lost = all.is_none();
        all.map(Nanos)
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

    #[test]
    fn clocks_of_processes_are_lost_when_one_ends() {
        let mut command = std::process::Command::new("sh");
        command.args(["-c", "sleep 60 & read line; kill $!; wait; read line"]);
        command.stdin(std::process::Stdio::piped());
        spawn::isolate(&mut command, &[]);
        let mut child = command.spawn().unwrap();
        let mut clocks = Clocks::new(child.id());
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
        while clocks.known.len() < 2 {
            assert!(std::time::Instant::now() < deadline, "the shell never had a child");
            assert!(clocks.cpu_time().is_some());
        }
        std::io::Write::write_all(child.stdin.as_mut().unwrap(), b"\n").unwrap();
        while clocks.cpu_time().is_some() {
            assert!(std::time::Instant::now() < deadline, "the child never ended");
        }
        assert!(clocks.lost);
        drop(child.stdin.take());
        child.wait().unwrap();
    }
}
