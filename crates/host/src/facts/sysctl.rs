//! All settings below /proc/sys that matter to a server: net, vm, kernel, fs.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::Facts;
use crate::machine::Machine;

/// Not settings but states: they differ from one moment to the next, and are for rules alone. A star ends a prefix, of which nothing
/// is read.
const STATES: &[&str] = &[
    "fs.aio-nr",
    "fs.binfmt_misc.*",
    "fs.dentry-state",
    "fs.file-nr",
    "fs.inode-nr",
    "fs.inode-state",
    "fs.quota.*",
    "kernel.ns_last_pid",
    "kernel.perf_event_max_sample_rate",
    "kernel.pty.nr",
    "kernel.random.boot_id",
    "kernel.random.entropy_avail",
    "kernel.random.uuid",
    "kernel.sched_domain.*",
    "net.netfilter.nf_conntrack_count",
    "vm.stat_refresh",
];

/// Reading these makes something happen, or something new.
const UNREAD: &[&str] = &["kernel.random.uuid", "vm.stat_refresh"];

/// Keys and seeds: a run file may be mailed.
const SECRETS: &[&str] = &["tcp_fastopen_key", "stable_secret"];

/// A longer value is a table and no setting.
const VALUE_BYTES_MAX: usize = 512;

/// Reads all of them: adds those that are states, and returns the settings in order.
pub(super) fn read(facts: &mut Facts, machine: &Machine) -> Vec<(String, String)> {
    let mut settings = Vec::new();
    for top in ["net", "vm", "kernel", "fs"] {
        walk(facts, &mut settings, machine, &format!("/proc/sys/{top}"), top);
    }
    for (name, value) in &settings {
        facts.add(name.clone(), Some(value.clone()));
    }
    settings
}

fn walk(facts: &mut Facts, settings: &mut Vec<(String, String)>, machine: &Machine, dir: &str, prefix: &str) {
    for name in machine.names(dir) {
        let file = format!("{dir}/{name}");
        let path = machine.path(&file);
        // A dot in a file's name (an interface such as eth0.5) is written as a slash, as sysctl(8) does.
        let key = format!("{prefix}.{}", name.replace('.', "/"));
        let state = state(&key);
        if state.is_some_and(|state| state.ends_with('*') || UNREAD.contains(&state))
            || SECRETS.contains(&name.as_str())
        {
            continue;
        }
        let Ok(meta) = fs::symlink_metadata(&path) else { continue };
        if meta.is_dir() {
            walk(facts, settings, machine, &file, &key);
        } else if meta.permissions().mode() & 0o444 != 0
            && let Ok(text) = fs::read_to_string(&path)
        {
            let value = text.split_whitespace().collect::<Vec<_>>().join(" ");
            if state.is_some() {
                facts.add(key, Some(value));
            } else if value.len() <= VALUE_BYTES_MAX {
                settings.push((key, value));
            }
        }
    }
}

/// The entry of [`STATES`] that a key belongs to.
fn state(key: &str) -> Option<&'static str> {
    STATES.iter().copied().find(|state| match state.strip_suffix('*') {
        Some(prefix) => key.starts_with(prefix) || key == prefix.trim_end_matches('.'),
        None => key == *state,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_told_from_settings() {
        for key in ["fs.file-nr", "fs.quota", "fs.quota.reads", "kernel.random.uuid"] {
            assert!(state(key).is_some(), "{key}");
        }
        for key in ["fs.file-max", "kernel.random.urandom_min_reseed_secs", "vm.swappiness"] {
            assert_eq!(state(key), None, "{key}");
        }
    }
}
