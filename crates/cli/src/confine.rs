//! Rights that commands give up before they parse what strangers wrote (docs/security.md).

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use pitot_results::{Failure, stderr};
use pitot_sys::Unavailable;
use pitot_sys::landlock::{self, Allowed, Tcp};
use pitot_sys::process::SingleThreaded;
use rustix::fs::{Mode, OFlags, open};

/// The files of a command that reads what others have measured. Where the kernel has Landlock they are all that it can open, and it
/// can connect to nothing.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    opened: Vec<(OwnedFd, Allowed)>,
}

impl Reader {
    /// A file, or a directory, that is read.
    pub(crate) fn reads(self, path: &Path) -> Reader {
        self.with(path, Allowed::Read)
    }

    /// A database. SQLite has files beside it while it reads, in the directory where it really lies.
    pub(crate) fn reads_database(self, path: &Path) -> Reader {
        match path.canonicalize() {
            Ok(path) => self.with(directory_of(&path), Allowed::Write),
            // The command says that it is not there.
            Err(_) => self,
        }
    }

    /// An output: one that is there, or else the directory in which it is made.
    pub(crate) fn writes(self, path: &Path) -> Reader {
        if path.exists() {
            self.with(path, Allowed::Write)
        } else {
            self.with(directory_of(path), Allowed::Write)
        }
    }

    /// What cannot be opened needs no right: the command itself says why it cannot be used.
    fn with(mut self, path: &Path, allowed: Allowed) -> Reader {
        let opened = open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
        self.opened.extend(opened.ok().map(|place| (place, allowed)));
        self
    }

    /// Gives up all other rights, for good, if the kernel can take them. Must be called while the process has one thread.
    pub(crate) fn confine(self) {
        if let Some(proof) = SingleThreaded::check() {
            // Without Landlock it reads with the rights of its user, as docs/security.md says.
            let _ = self.restrict(proof, Tcp::None);
        }
    }

    fn restrict(&self, proof: SingleThreaded, tcp: Tcp) -> Result<u32, Unavailable> {
        let rules: Vec<_> = self.opened.iter().map(|(place, allowed)| (place.as_fd(), *allowed)).collect();
        landlock::confine(proof, &rules, tcp)
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
    let several =
        || Failure::run("rights must be given up before any thread is started", "please report this");
    let proof = SingleThreaded::check().ok_or_else(several)?;
    let version = Reader::default()
        .reads(Path::new("/proc"))
        .restrict(proof, Tcp::All)
        .map_err(|missing| Failure::misuse(missing.to_string(), missing.cure))?;
    stderr::line(format_args!(
        "pitot: confined by Landlock, version {version} (docs/security.md says what that forbids)"
    ));
    Ok(())
}
