//! Where the files of the machine are.

use std::path::{Path, PathBuf};

use crate::files;

/// The machine as files below a root: `/`, or in tests a directory that looks like one.
#[derive(Clone, Debug)]
pub struct Machine {
    root: PathBuf,
}

impl Machine {
    /// This machine.
    pub fn here() -> Machine {
        Machine { root: PathBuf::from("/") }
    }

    /// A machine whose /proc and /sys are below `root`. Network interfaces are still those of this one.
    pub fn at(root: &Path) -> Machine {
        Machine { root: root.to_owned() }
    }

    /// The place of a file, which is named from the root.
    pub fn path(&self, file: &str) -> PathBuf {
        self.root.join(file.trim_start_matches('/'))
    }

    /// The trimmed content of a file; `None` if it is empty or cannot be read.
    pub fn read(&self, file: &str) -> Option<String> {
        files::read(self.path(file))
    }

    /// The names in a directory, sorted.
    pub fn names(&self, directory: &str) -> Vec<String> {
        files::names(self.path(directory))
    }

    /// Network interfaces that have a device behind them: not the loopback, bridges and the like.
    pub fn nics(&self) -> Vec<String> {
        let has_device = |name: &String| self.path(&format!("/sys/class/net/{name}/device")).exists();
        self.names("/sys/class/net").into_iter().filter(has_device).collect()
    }

    /// The network namespace of this process, as the kernel names it: `net:[4026531840]`.
    pub fn network_namespace(&self) -> Option<String> {
        let link = std::fs::read_link(self.path("/proc/self/ns/net")).ok()?;
        Some(link.to_string_lossy().into_owned())
    }

    /// What names this boot of the machine; empty if it has no such name.
    pub fn boot_id(&self) -> String {
        self.read("/proc/sys/kernel/random/boot_id").unwrap_or_default()
    }

    /// The CPUs that are online.
    pub fn cpus(&self) -> Vec<usize> {
        let online = self.read("/sys/devices/system/cpu/online");
        online.and_then(|list| crate::parse_cpu_list(&list)).unwrap_or_default()
    }

    /// Disks: block devices that have hardware, or a host of a virtual machine, behind them.
    pub fn disks(&self) -> Vec<String> {
        let has_device = |name: &String| self.path(&format!("/sys/block/{name}/device")).exists();
        self.names("/sys/block").into_iter().filter(has_device).collect()
    }
}
