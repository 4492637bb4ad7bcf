//! A small process that cleans up after the lab, even if the lab is killed.
//!
//! Programs of the lab die with it (PR_SET_PDEATHSIG), but their children need not: a killed nginx leaves its workers. So the lab
//! first forks a guardian that waits on a pipe. When the lab ends in any way, the pipe closes. Then the guardian kills the
//! remaining processes of the run ([`super::marks`]), restores host settings from the journal, undoes faults, and removes the
//! private directory.

use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Write};
use std::path::{Path, PathBuf};

use pitot_host::journal::{self, Scope};
use pitot_sys::Mark;
use pitot_sys::guardian::fork_guardian;
use pitot_sys::process::SingleThreaded;
use pitot_sys::user::User;

use super::groups::own_groups;
use super::marks::{end_run, group_prefix};
use super::private_dir::PrivateDir;

/// Prefix of a line with a batch of the journal.
const JOURNAL: char = '@';

/// The lab's end of the pipe, and the marks of this run's processes.
#[derive(Debug)]
pub struct Guardian {
    pipe: Option<PipeWriter>,
    cookie: String,
    dir: PrivateDir,
    /// The user of the run's programs, if not this process's.
    user: Option<User>,
}

impl Guardian {
    /// Creates the private directory of a run and forks the guardian. Must be called while the process has one thread;
    /// otherwise there is no guardian, and a killed lab may leave child processes of servers.
    ///
    /// # Errors
    /// If the directory, the pipe or the process cannot be created.
    pub fn start() -> std::io::Result<Guardian> {
        let unique = format!("{}-{:x}", std::process::id(), pitot_meter::now().0);
        let dir = PrivateDir::make(&std::env::temp_dir(), &unique)?;
        let mut guardian = Guardian { pipe: None, cookie: unique, dir, user: None };
        if let Some(proof) = SingleThreaded::check() {
            guardian.pipe = Some(fork_guardian(proof, |pipe| watch(pipe, &guardian))?);
        }
        Ok(guardian)
    }

    /// Starts programs of the run, except faults, as this user. Only root can.
    #[must_use]
    pub fn with_user(mut self, user: Option<User>) -> Guardian {
        self.user = user;
        self
    }

    pub(crate) fn user(&self) -> Option<User> {
        self.user
    }

    /// Whether there is a guardian process.
    pub fn is_there(&self) -> bool {
        self.pipe.is_some()
    }

    /// The run's private directory, which is removed with its content.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// The value of [`COOKIE_NAME`](crate::procfs::COOKIE_NAME) in all processes of the run.
    pub(crate) fn cookie(&self) -> &str {
        &self.cookie
    }

    /// The name of a control group of this run.
    pub(super) fn group_name(&self, number: usize) -> String {
        format!("{}{number}", group_prefix(&self.cookie))
    }

    /// The mark of a program of this run.
    pub(super) fn mark(&self, number: usize) -> Mark {
        Mark::new(&self.cookie, number)
    }

    /// Notes that a program was started that leads this session.
    pub(crate) fn started(&mut self, session: u32) {
        self.send(format_args!("+{session}\n"));
    }

    /// Notes that no process of this session is left.
    pub(crate) fn ended(&mut self, session: u32) {
        self.send(format_args!("-{session}\n"));
    }

    /// Notes the batch of the journal for changed settings; call it before the first change. If the lab ends in any
    /// way, the batch is undone. If the guardian is killed as well, `pitot host undo` does the same.
    pub(super) fn host_changes(&mut self, journal: &Path, batch: u64) {
        self.send(format_args!("{JOURNAL}{batch} {}\n", journal.display()));
    }

    fn send(&mut self, line: std::fmt::Arguments<'_>) {
        if let Some(pipe) = &mut self.pipe {
            // The run continues if the guardian was killed.
            let _ = pipe.write_all(line.to_string().as_bytes());
        }
    }
}

impl Drop for Guardian {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(self.dir.path());
    }
}

/// The guardian's main function: keeps the list of sessions until the pipe closes, then cleans up.
fn watch(pipe: PipeReader, guardian: &Guardian) {
    let mut sessions: Vec<u32> = Vec::new();
    let mut batches: Vec<(u64, PathBuf)> = Vec::new();
    for line in BufReader::new(pipe).lines().map_while(Result::ok) {
        if let Some((batch, journal)) = line.strip_prefix(JOURNAL).and_then(|rest| rest.split_once(' ')) {
            let batch = (batch.parse().unwrap_or_default(), PathBuf::from(journal));
            if !batches.contains(&batch) {
                batches.push(batch);
            }
            continue;
        }
        let (sign, number) = line.split_at(line.len().min(1));
        let Ok(session) = number.parse() else { continue };
        match sign {
            "+" => sessions.push(session),
            _ => sessions.retain(|s| *s != session),
        }
    }
    end_run(&guardian.cookie, &sessions, &own_groups());
    for (batch, journal) in batches {
        // Changes that cannot be undone stay in the journal, and `pitot host status` shows them.
        let _ = journal::undo(&journal, Scope::Later(batch), pitot_fault::take_back);
    }
    // The guardians of faults have been killed too.
    let _ = journal::undo(&journal::place(), Scope::LeftFaults, pitot_fault::take_back);
    let _ = std::fs::remove_dir_all(guardian.dir.path());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_journal_of_the_host_is_undone_when_the_lab_ends() {
        let dir = tempfile::tempdir().unwrap();
        let journal = dir.path().join("journal");
        // A change that another boot has undone: nothing of this machine is touched.
        let lines = "{\"record\":\"journal\",\"version\":1,\"boot_id\":\"earlier\"}\n\
                     {\"record\":\"change\",\"id\":1,\"batch\":1,\"key\":\"vm.swappiness\",\"found\":\"1\",\"set\":\"2\",\
                     \"by\":\"a plan\",\"at\":\"then\"}\n";
        std::fs::write(&journal, lines).unwrap();
        let (reader, writer) = std::io::pipe().unwrap();
        let cookie = format!("test-journal-{}", std::process::id());
        let private = PrivateDir::make(dir.path(), &cookie).unwrap();
        let mut lab = Guardian { pipe: Some(writer), cookie, dir: private, user: None };
        lab.host_changes(&journal, 1);
        lab.pipe = None;
        watch(reader, &lab);
        assert_eq!(std::fs::read_to_string(&journal).unwrap(), "");
    }
}
