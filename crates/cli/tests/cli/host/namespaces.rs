//! Namespaces of a test's own, in which it is root and can change nothing but what belongs to them.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::support::{PITOT, stderr, stdout};

/// Set inside the namespaces.
const INSIDE: &str = "PITOT_TEST_INSIDE";
/// Makes everything read-only that belongs to no namespace, then runs what follows. Root of a user namespace that stands for
/// root of the machine still owns those files, so that a namespace alone does not protect them.
const PROTECTED: &str = "for d in /proc/sys/abi /proc/sys/debug /proc/sys/dev /proc/sys/fs /proc/sys/kernel /proc/sys/vm \
                         /proc/irq; do \
                         if [ -d $d ]; then mount --bind $d $d && mount -o remount,bind,ro $d || exit 99; fi; done; \
                         mount -t sysfs -o ro sysfs /sys || exit 99; \
                         mount -t tmpfs tmpfs /run || exit 99; \
                         mkdir /run/etc && { cp -r /etc/. /run/etc 2> /dev/null; mount --bind /run/etc /etc; } || exit 99; \
                         if command -v ip > /dev/null; then ip link set lo up || exit 99; fi; \
                         exec \"$@\"";

/// Runs the test of that name in `host` again, in user, network and mount namespaces, or `test` if this is inside.
pub(crate) fn in_namespaces(name: &str, test: impl FnOnce(&Place)) {
    if std::env::var_os(INSIDE).is_some() {
        for file in [
            "/proc/sys/vm/swappiness",
            "/proc/sys/kernel/pid_max",
            "/sys/kernel/mm/transparent_hugepage/enabled",
        ] {
            assert!(fs::OpenOptions::new().write(true).open(file).is_err(), "{file} could be written");
        }
        let dir = tempfile::tempdir().unwrap();
        return test(&Place { journal: dir.path().join("journal") });
    }
    let output = Command::new("unshare")
        .args(["--user", "--map-root-user", "--net", "--mount", "sh", "-c", PROTECTED, "sh"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", &format!("host::{name}"), "--nocapture"])
        .env(INSIDE, "1")
        .output()
        .unwrap();
    let text = stdout(&output);
    assert!(output.status.success() && text.contains("1 passed"), "{text}{}", stderr(&output));
}

/// Where a test keeps its journal.
pub(crate) struct Place {
    pub(crate) journal: PathBuf,
}

impl Place {
    /// A command of `pitot` that keeps the journal there.
    pub(crate) fn pitot(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(PITOT);
        command.args(arguments).env("PITOT_HOST_JOURNAL", &self.journal);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// `pitot host` with these arguments.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        self.pitot(&[&["host"], arguments].concat())
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Runs it for its JSON and its exit code.
    pub(crate) fn json(&self, arguments: &[&str]) -> (Value, i32) {
        let output = self.run(&[arguments, &["--format", "json"]].concat());
        let json =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", stderr(&output)));
        (json, output.status.code().unwrap())
    }
}

pub(crate) fn sysctl(name: &str) -> String {
    fs::read_to_string(format!("/proc/sys/{}", name.replace('.', "/"))).unwrap().trim().to_owned()
}

pub(crate) fn set_by_hand(name: &str, value: &str) {
    fs::write(format!("/proc/sys/{}", name.replace('.', "/")), value).unwrap();
}
