//! Rights that commands give up before they parse untrusted files (docs/security.md).

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use pitot_results::Failure;
use pitot_sys::landlock::{self, Allowed, Tcp};
use pitot_sys::process::SingleThreaded;
use rustix::fs::{Mode, OFlags, open};

use crate::output::{is_stdout, job_summary};

/// The files of a command that reads untrusted files. With Landlock it can open nothing else, and make no connection.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    opened: Vec<(OwnedFd, Allowed)>,
}

impl Reader {
    /// For a command that reads databases and writes to `output`, or else `page`, and to the job summary. SQLite creates files next to
    /// a database, in its real directory.
    pub(crate) fn of<'p>(
        databases: impl IntoIterator<Item = &'p Path>,
        output: Option<&Path>,
        page: &Path,
    ) -> Reader {
        let output = output.filter(|path| !is_stdout(path)).unwrap_or(page);
        let summary = job_summary();
        let mut reader = Reader::default();
        for path in databases.into_iter().filter_map(|path| path.canonicalize().ok()) {
            reader = reader.with(directory_of(&path), Allowed::Write);
        }
        for path in std::iter::once(output).chain(summary.as_deref()) {
            // The file, or the directory in which it will be created.
            reader = reader.with(if path.exists() { path } else { directory_of(path) }, Allowed::Write);
        }
        reader
    }

    pub(crate) fn reads(self, path: &Path) -> Reader {
        self.with(path, Allowed::Read)
    }

    pub(crate) fn writes(self, path: &Path) -> Reader {
        self.with(path, Allowed::Write)
    }

    /// A path that cannot be opened needs no right: the command reports it.
    fn with(mut self, path: &Path, allowed: Allowed) -> Reader {
        let opened = open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
        self.opened.extend(opened.ok().map(|place| (place, allowed)));
        self
    }

    fn rules(&self) -> Vec<(BorrowedFd<'_>, Allowed)> {
        self.opened.iter().map(|(place, allowed)| (place.as_fd(), *allowed)).collect()
    }

    /// Gives up all other rights, if the kernel has Landlock. The process must have one thread.
    pub(crate) fn confine(self) {
        if let Some(proof) = SingleThreaded::check() {
            // Without Landlock the command keeps its rights (docs/security.md).
            let _ = landlock::confine(proof, &self.rules(), Tcp::None);
        }
    }
}

fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Confines a load once everything is open: it can only read /proc and connect.
///
/// # Errors
/// What this kernel lacks, with a fix.
pub(crate) fn load() -> Result<(), Failure> {
    pitot_serve::confine_to(&Reader::default().reads(Path::new("/proc")).rules(), Tcp::All)
}
