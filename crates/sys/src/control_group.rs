//! Where control groups are, and which processes are their members.

use std::path::{Path, PathBuf};

use rustix::fs::statfs;

use crate::processes::Process;

/// The file systems of control groups: CGROUP_SUPER_MAGIC and CGROUP2_SUPER_MAGIC of linux/magic.h.
const FILE_SYSTEMS: [u32; 2] = [0x0027_e0eb, 0x6367_7270];
/// A program that makes groups below its own makes no deeper ones.
const DEPTH_MAX: usize = 8;

/// Whether the kernel has made a directory for a control group: in another file system anybody can make one that looks so.
pub fn is_control_group(dir: &Path) -> bool {
    statfs(dir).is_ok_and(|system| FILE_SYSTEMS.contains(&(system.f_type as u32)))
}

/// The members of a group and of those below it that have not ended.
pub fn members(dir: &Path) -> Vec<Process> {
    let lists = all_below(dir).into_iter().map(|group| std::fs::read_to_string(group.join("cgroup.procs")));
    let lists: Vec<String> = lists.flatten().collect();
    let pids = lists.iter().flat_map(|list| list.lines()).filter_map(|pid| pid.parse().ok());
    pids.filter_map(Process::read).collect()
}

/// A group and those below it, each after the one that it is in.
pub fn all_below(dir: &Path) -> Vec<PathBuf> {
    let mut found = vec![dir.to_owned()];
    let mut begin = 0;
    for _ in 0..DEPTH_MAX {
        let level = begin..found.len();
        begin = level.end;
        for at in level {
            let entries = std::fs::read_dir(&found[at]).into_iter().flatten().flatten();
            let groups = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
            found.extend(groups.map(|group| group.path()).collect::<Vec<_>>());
        }
    }
    found
}

/// A hierarchy of control groups, or a part of one, that is mounted.
struct Hierarchy<'m> {
    /// The options of version 1, which name its controllers; none of version 2.
    controllers: Option<&'m str>,
    /// The group that is mounted, and where.
    root: &'m str,
    place: &'m str,
}

/// Those that the text of /proc/PID/mountinfo names.
fn hierarchies(mounts: &str) -> impl Iterator<Item = Hierarchy<'_>> {
    mounts.lines().filter_map(|line| {
        // proc_pid_mountinfo(5): ID PARENT DEVICE ROOT MOUNTPOINT OPTIONS ... - TYPE SOURCE SUPEROPTIONS
        let (place, system) = line.split_once(" - ")?;
        let mut system = system.split(' ');
        let controllers = match system.next()? {
            "cgroup2" => None,
            "cgroup" => Some(system.nth(1)?),
            _ => return None,
        };
        let mut fields = place.split(' ').skip(3);
        Some(Hierarchy { controllers, root: fields.next()?, place: fields.next()? })
    })
}

/// The directories of the groups that have this name, such as `nginx.service`, in all hierarchies that the text of
/// /proc/PID/mountinfo names, those of version 2 first.
pub fn groups_named(mounts: &str, name: &str) -> Vec<PathBuf> {
    let mut roots: Vec<(bool, &str)> =
        hierarchies(mounts).map(|of| (of.controllers.is_some(), of.place)).collect();
    roots.sort();
    let all = roots.iter().flat_map(|(_, root)| all_below(Path::new(root)));
    all.filter(|dir| dir.file_name().is_some_and(|last| last == name)).collect()
}

/// The directory of a process's control group, by the text of /proc/PID/mountinfo and of /proc/PID/cgroup: of version 2, or of version 1
/// in the hierarchy of a controller.
pub fn of_process(mounts: &str, memberships: &str, controller: Option<&str>) -> Option<PathBuf> {
    let has = |list: &str| list.split(',').any(|word| Some(word) == controller);
    let fits = |of: &Hierarchy<'_>| match controller {
        None => of.controllers.is_none(),
        Some(_) => of.controllers.is_some_and(has),
    };
    let Hierarchy { root, place, .. } = hierarchies(mounts).find(fits)?;
    // cgroups(7): ID:CONTROLLERS:PATH
    let path = memberships.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let controllers = fields.next()?;
        let fits = if controller.is_none() { controllers.is_empty() } else { has(controllers) };
        fits.then(|| fields.next()).flatten()
    })?;
    let below = if root == "/" { path } else { path.strip_prefix(root)? };
    Some(Path::new(place).join(below.trim_start_matches('/')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_found_in_every_hierarchy_and_version_2_comes_first() {
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &str| dir.path().join(path);
        for path in [
            "old/system.slice/a.service",
            "new/system.slice/a.service/below",
            "new/a.service.d",
            "other/a.service",
        ] {
            std::fs::create_dir_all(at(path)).unwrap();
        }
        let root = dir.path().display();
        let mounts = format!(
            "31 30 0:27 / {root}/old rw - cgroup cgroup rw,cpu\n32 30 0:28 / {root}/new rw,nosuid - cgroup2 cgroup2 rw\n\
             33 30 0:29 / {root}/other rw - tmpfs tmpfs rw\n"
        );
        let found = [at("new/system.slice/a.service"), at("old/system.slice/a.service")];
        assert_eq!(groups_named(&mounts, "a.service"), found);
        assert!(groups_named(&mounts, "b.service").is_empty() && !is_control_group(dir.path()));
    }
}
