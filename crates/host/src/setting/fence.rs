//! CPUs that are set apart: a partition of the cpuset controller (Documentation/admin-guide/cgroup-v2.rst).
//!
//! `fence=2-3` makes a control group that has these CPUs for itself: nothing else runs on them, and the scheduler leaves
//! what runs there where it is. A process enters by writing its number to the group's cgroup.procs. It takes four steps,
//! each of which is a setting of its own, so that each can be undone by itself.

use std::fs;
use std::io;
use std::path::Path;

use super::entry::{Change, Expanded, Setting};
use super::{file, value};
use crate::machine::Machine;

pub(super) const SETTING: Setting = Setting {
    name: "fence",
    keys: "fence",
    summary: "CPUs that nothing else may run on, for the processes of the control group pitot-fence",
    right: "root (CAP_SYS_ADMIN)",
    of_network: false,
    is_exact: |_| true,
    refuses: |_, _, _, _| None,
    owns: |key| place(key).is_some(),
    expand,
    read,
    write,
    may_write,
    file_at_boot: |_| None,
};

const KEY: &str = "fence";
const CONTROLLER: &str = "cgroup.cpuset";
const GROUP: &str = "cgroup.pitot-fence";
const CPUS: &str = "cgroup.pitot-fence.cpus";
const PARTITION: &str = "cgroup.pitot-fence.partition";

/// Where version 2 of control groups is mounted.
const MOUNTS: &[&str] = &["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];

enum Place {
    Controller,
    Group,
    Cpus,
    Partition,
}

fn place(key: &str) -> Option<Place> {
    match key {
        CONTROLLER => Some(Place::Controller),
        GROUP => Some(Place::Group),
        CPUS => Some(Place::Cpus),
        PARTITION => Some(Place::Partition),
        _ => None,
    }
}

/// The root of the hierarchy that has the cpuset controller.
fn root(machine: &Machine) -> Option<&'static str> {
    let has_cpusets = |mount: &&&str| {
        let controllers = machine.read(&format!("{mount}/cgroup.controllers")).unwrap_or_default();
        controllers.split_whitespace().any(|name| name == "cpuset")
    };
    MOUNTS.iter().copied().find(|mount| has_cpusets(&mount))
}

fn path(machine: &Machine, key: &str) -> io::Result<String> {
    let root = root(machine).ok_or(io::ErrorKind::NotFound)?;
    let group = format!("{root}/pitot-fence");
    Ok(match place(key).ok_or(io::ErrorKind::NotFound)? {
        Place::Controller => format!("{root}/cgroup.subtree_control"),
        Place::Group => group,
        Place::Cpus => format!("{group}/cpuset.cpus"),
        Place::Partition => format!("{group}/cpuset.cpus.partition"),
    })
}

fn expand(machine: &Machine, key: &str, value: &str) -> Option<Expanded> {
    if key != KEY {
        return None;
    }
    let cpus = match value::cpus(value) {
        Ok(cpus) if cpus != "none" => cpus,
        Ok(_) => return Some(Err("a fence needs CPUs; `pitot host undo` removes one".into())),
        Err(why) => return Some(Err(why)),
    };
    if root(machine).is_none() {
        return Some(Err(
            "no hierarchy of version 2 here has the cpuset controller (it may be in use by version 1)".into(),
        ));
    }
    Some(Ok(vec![
        Change::new(CONTROLLER, "on"),
        Change::new(GROUP, "there"),
        Change::new(CPUS, cpus),
        Change::new(PARTITION, "isolated"),
    ]))
}

fn read(machine: &Machine, key: &str) -> io::Result<String> {
    let path = path(machine, key)?;
    match place(key).ok_or(io::ErrorKind::NotFound)? {
        Place::Controller => {
            let on = file::read(machine, &path)?.split_whitespace().any(|name| name == "cpuset");
            Ok(if on { "on" } else { "off" }.into())
        }
        Place::Group => Ok(if machine.path(&path).is_dir() { "there" } else { "absent" }.into()),
        // What has no group yet is as in one that was just made.
        Place::Cpus | Place::Partition if !machine.path(&path).exists() => Ok(new_value(key).into()),
        Place::Cpus => file::read(machine, &path)
            .and_then(|text| value::cpus(text.trim()).map_err(|_| io::ErrorKind::InvalidData.into())),
        Place::Partition => file::read(machine, &path),
    }
}

fn new_value(key: &str) -> &'static str {
    if key == CPUS { "none" } else { "member" }
}

fn write(machine: &Machine, key: &str, value: &str) -> io::Result<()> {
    let path = path(machine, key)?;
    match place(key).ok_or(io::ErrorKind::NotFound)? {
        Place::Controller => file::write(machine, &path, if value == "on" { "+cpuset" } else { "-cpuset" }),
        Place::Group if value == "there" => fs::create_dir(machine.path(&path)),
        Place::Group => {
            // A group with processes cannot be removed: they go to the one above.
            let above = path.replace("pitot-fence", "cgroup.procs");
            let members = file::read(machine, &format!("{path}/cgroup.procs")).unwrap_or_default();
            for process in members.lines() {
                file::write(machine, &above, process)?;
            }
            fs::remove_dir(machine.path(&path))
        }
        Place::Cpus if value == "none" => file::write(machine, &path, ""),
        Place::Cpus | Place::Partition => file::write(machine, &path, value),
    }
}

fn may_write(machine: &Machine, key: &str) -> io::Result<()> {
    let path = path(machine, key)?;
    match place(key) {
        Some(Place::Controller) => file::may_write(machine, &path),
        _ => {
            let places = Path::new(&path).ancestors().filter_map(Path::to_str);
            let place = places.into_iter().find(|place| machine.path(place).is_dir());
            file::may_write(machine, place.unwrap_or(&path))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_is_made_in_four_steps_that_can_each_be_undone() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("sys/fs/cgroup");
        fs::create_dir_all(&root).unwrap();
        let machine = Machine::at(dir.path());
        assert!(expand(&machine, "fence", "2-3").unwrap().unwrap_err().contains("cpuset"));
        fs::write(root.join("cgroup.controllers"), "cpuset cpu\n").unwrap();
        fs::write(root.join("cgroup.subtree_control"), "cpu\n").unwrap();
        let changes = expand(&machine, "fence", "2-3").unwrap().unwrap();
        let found: Vec<_> = changes.iter().map(|c| read(&machine, &c.key).unwrap()).collect();
        assert_eq!(found, ["off", "absent", "none", "member"]);
        write(&machine, GROUP, "there").unwrap();
        assert_eq!(read(&machine, GROUP).unwrap(), "there");
        write(&machine, GROUP, "absent").unwrap();
        assert_eq!(read(&machine, GROUP).unwrap(), "absent");
        assert!(expand(&machine, "fence", "none").unwrap().is_err());
    }
}
