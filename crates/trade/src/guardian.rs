//! A small process that outlives the server and removes its private cluster.
//!
//! It waits on a pipe that closes when the server ends, for any reason. Then it kills the remaining processes of the cluster, known
//! by their working directory, and removes the directory.

use std::fs;
use std::io::{self, PipeReader, PipeWriter, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use pitot_sys::guardian::{fork_guardian, kill_all};
use pitot_sys::process::SingleThreaded;
use pitot_sys::processes::{Process, pids};

/// The timeout for the end of processes.
const SWEEP_TIMEOUT: Duration = Duration::from_secs(5);

/// A private directory that is removed when the process ends, whatever ends it.
#[derive(Debug)]
pub struct Guardian {
    /// It closes with the process.
    _pipe: PipeWriter,
    dir: PathBuf,
}

impl Guardian {
    /// Makes the directory and forks the guardian. Must be called while the process has one thread.
    ///
    /// # Errors
    /// The process has several threads, or the directory, the pipe or the process cannot be made.
    pub fn start() -> io::Result<Guardian> {
        let unique = format!("{}-{:x}", std::process::id(), pitot_meter::now().0);
        let dir = std::env::temp_dir().canonicalize()?.join(format!("pitot-trade-{unique}"));
        fs::create_dir(&dir)?;
        match Guardian::fork(&dir) {
            Ok(guardian) => Ok(guardian),
            Err(e) => {
                let _ = fs::remove_dir(&dir);
                Err(e)
            }
        }
    }

    fn fork(dir: &Path) -> io::Result<Guardian> {
        let proof = SingleThreaded::check()
            .ok_or_else(|| io::Error::other("a process with several threads cannot fork"))?;
        let pipe = fork_guardian(proof, |pipe| watch(pipe, dir))?;
        Ok(Guardian { _pipe: pipe, dir: dir.into() })
    }

    /// The private directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Kills the remaining processes of the cluster.
    pub(crate) fn sweep(&self) {
        sweep(&self.dir);
    }
}

impl Drop for Guardian {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.dir);
    }
}

fn watch(mut pipe: PipeReader, dir: &Path) {
    let _ = pipe.read_to_end(&mut Vec::new());
    sweep(dir);
    let _ = fs::remove_dir_all(dir);
}

fn sweep(dir: &Path) {
    kill_all(SWEEP_TIMEOUT, || processes(dir));
}

/// The processes of the cluster in a directory. PostgreSQL's processes work in their data directory, lead their own sessions and
/// overwrite their environment with their title, so only the directory identifies them.
pub(crate) fn processes(dir: &Path) -> Vec<Process> {
    let is_ours = |process: &Process| {
        let at = fs::read_link(format!("/proc/{}/cwd", process.pid));
        matches!(&*process.name, "postgres" | "initdb") && at.is_ok_and(|at| at.starts_with(dir))
    };
    pids().filter_map(Process::read).filter(is_ours).collect()
}
