//! The names of functions that a Java virtual machine has compiled: it writes them into /tmp/perf-PID.map if `jcmd` of its JDK asks for
//! them (JDK 17 and later).

use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::memory::Memory;

/// The library of the virtual machine.
const MACHINE: &str = "/libjvm.so";
/// A machine that hangs does not answer.
const ANSWERED_WITHIN: Duration = Duration::from_secs(10);

/// Files that were asked for, which are removed in the end.
#[derive(Debug)]
pub(crate) struct Maps(Vec<PathBuf>);

impl Maps {
    /// Asks all Java virtual machines that have no such file yet.
    pub(crate) fn of(memory: &Memory) -> Maps {
        let without =
            memory.processes_with(MACHINE).map(|pid| (pid, PathBuf::from(format!("/tmp/perf-{pid}.map"))));
        Maps(
            without
                .filter(|(_, path)| !path.exists())
                .filter_map(|(pid, path)| asked(pid, &path).then_some(path))
                .collect(),
        )
    }
}

fn asked(pid: u32, path: &Path) -> bool {
    let mut jcmd = Command::new("jcmd");
    jcmd.args([&pid.to_string(), "Compiler.perfmap"]);
    jcmd.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    let ended = jcmd.spawn().and_then(|child| pitot_sys::waited::wait_at_most(child.id(), ANSWERED_WITHIN));
    ended.is_ok() && path.exists()
}

impl Drop for Maps {
    fn drop(&mut self) {
        for path in &self.0 {
            let _ = std::fs::remove_file(path);
        }
    }
}
