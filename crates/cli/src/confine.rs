//! Rights that commands give up before they parse what strangers wrote (docs/security.md).

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use pitot_results::Failure;
use pitot_sys::landlock::{self, Allowed, Tcp};
use pitot_sys::process::SingleThreaded;
use rustix::fs::{Mode, OFlags, open};

use crate::output::{is_stdout, job_summary};

/// The files of a command that reads what others have measured. Where the kernel has Landlock they are all that it can open, and it
/// can connect to nothing.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    opened: Vec<(OwnedFd, Allowed)>,
}

impl Reader {
    /// Of a command that reads databases and writes to `output`, or else to `page`, and to the summary of its job. SQLite has files
    /// beside a database while it reads, in the directory where that really lies.
    pub(crate) fn of<'p>(
        databases: impl IntoIterator<Item = &'p Path>,
        output: Option<&Path>,
        page: &Path,
    ) -> Reader {
        let output = output.filter(|path| !is_stdout(path)).unwrap_or(page);
        let summary = job_summary();
        let mut reader = Reader::default();
        // The command says of a database that it is not there.
        for path in databases.into_iter().filter_map(|path| path.canonicalize().ok()) {
            reader = reader.with(directory_of(&path), Allowed::Write);
        }
        for path in std::iter::once(output).chain(summary.as_deref()) {
            // One that is there, or else the directory in which it is made.
            reader = reader.with(if path.exists() { path } else { directory_of(path) }, Allowed::Write);
        }
        reader
    }

    /// With a file, or a directory, that is read besides.
    pub(crate) fn reads(self, path: &Path) -> Reader {
        self.with(path, Allowed::Read)
    }

    /// What cannot be opened needs no right: the command itself says why it cannot be used.
    fn with(mut self, path: &Path, allowed: Allowed) -> Reader {
        let opened = open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
        self.opened.extend(opened.ok().map(|place| (place, allowed)));
        self
    }

    fn rules(&self) -> Vec<(BorrowedFd<'_>, Allowed)> {
        self.opened.iter().map(|(place, allowed)| (place.as_fd(), *allowed)).collect()
    }

    /// Gives up all other rights, for good, if the kernel can take them. Must be called while the process has one thread.
    pub(crate) fn confine(self) {
        if let Some(proof) = SingleThreaded::check() {
            // Without Landlock it reads with the rights of its user, as docs/security.md says.
            let _ = landlock::confine(proof, &self.rules(), Tcp::None);
        }
    }
}

fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Confines a load once everything is open: it reads its own counters in /proc, connects, and no more.
///
/// # Errors
/// What this kernel lacks, with a cure.
pub(crate) fn load() -> Result<(), Failure> {
    pitot_serve::confine_to(&Reader::default().reads(Path::new("/proc")).rules(), Tcp::All)
}
