//! All settings below /proc/sys that matter to a server: net, vm, kernel, fs.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::files::names;
use crate::fingerprint::Fingerprint;

/// Not settings but states: they differ from one moment to the next. A star ends a prefix.
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

/// Keys and seeds: a run file may be mailed.
const SECRETS: &[&str] = &["tcp_fastopen_key", "stable_secret"];

/// A longer value is a table and no setting.
const VALUE_BYTES_MAX: usize = 512;

pub(crate) fn collect(print: &mut Fingerprint) {
    for top in ["net", "vm", "kernel", "fs"] {
        walk(print, &Path::new("/proc/sys").join(top), top);
    }
}

fn walk(print: &mut Fingerprint, dir: &Path, prefix: &str) {
    for name in names(dir) {
        let path = dir.join(&name);
        // A dot in a file's name (an interface such as eth0.5) is written as a slash, as sysctl(8) does.
        let key = format!("{prefix}.{}", name.replace('.', "/"));
        let Ok(meta) = fs::symlink_metadata(&path) else { continue };
        if is_state(&key) || SECRETS.contains(&name.as_str()) {
            continue;
        }
        if meta.is_dir() {
            walk(print, &path, &key);
        } else if meta.permissions().mode() & 0o444 != 0
            && let Ok(text) = fs::read_to_string(&path)
        {
            let value = text.split_whitespace().collect::<Vec<_>>().join(" ");
            if value.len() <= VALUE_BYTES_MAX {
                print.push("sysctl", key, value);
            }
        }
    }
}

fn is_state(key: &str) -> bool {
    STATES.iter().any(|state| match state.strip_suffix('*') {
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
            assert!(is_state(key), "{key}");
        }
        for key in ["fs.file-max", "kernel.random.urandom_min_reseed_secs", "vm.swappiness"] {
            assert!(!is_state(key), "{key}");
        }
    }
}
