//! Where control groups are.

use std::path::{Path, PathBuf};

/// The directory of a process's control group, by the text of /proc/PID/mountinfo and of /proc/PID/cgroup: of version 2, or of version 1
/// in the hierarchy of a controller.
pub fn control_group(mounts: &str, memberships: &str, controller: Option<&str>) -> Option<PathBuf> {
    let has = |list: &str| list.split(',').any(|word| Some(word) == controller);
    // proc_pid_mountinfo(5): ID PARENT DEVICE ROOT MOUNTPOINT OPTIONS ... - TYPE SOURCE SUPEROPTIONS
    let (root, mount) = mounts.lines().find_map(|line| {
        let (place, system) = line.split_once(" - ")?;
        let mut system = system.split(' ');
        let fits = match controller {
            None => system.next() == Some("cgroup2"),
            Some(_) => system.next() == Some("cgroup") && has(system.nth(1)?),
        };
        let mut fields = place.split(' ').skip(3);
        fits.then_some((fields.next()?, fields.next()?))
    })?;
    // cgroups(7): ID:CONTROLLERS:PATH
    let path = memberships.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let controllers = fields.next()?;
        let fits = if controller.is_none() { controllers.is_empty() } else { has(controllers) };
        fits.then(|| fields.next()).flatten()
    })?;
    let below = if root == "/" { path } else { path.strip_prefix(root)? };
    Some(Path::new(mount).join(below.trim_start_matches('/')))
}
