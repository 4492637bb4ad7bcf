//! The journal's file: opened, locked, appended to, emptied.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use pitot_results::Failure;
use rustix::fs::{FlockOperation, OFlags, flock};

use super::place::PLACE_VARIABLE;
use super::record::{Entry, Owner, Record, State, Timer};
use crate::machine::Machine;

/// How long another process may hold the lock: one that changes the queues of a NIC can take seconds.
const LOCK_TIMEOUT: Duration = Duration::from_secs(30);
const LOCK_POLL: Duration = Duration::from_millis(5);

/// A journal that is open and locked.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    state: State,
    boot_id: String,
    /// Changes of an earlier boot, which are gone with it.
    cleared: usize,
}

impl Journal {
    /// Opens a journal; `None` if there is no such file.
    ///
    /// # Errors
    /// If it cannot be read, written or locked.
    pub fn open(machine: &Machine, path: &Path) -> Result<Option<Journal>, Failure> {
        Journal::open_with(machine, path, false)
    }

    /// Opens a journal, or makes one.
    ///
    /// # Errors
    /// If it cannot be read, written or locked.
    pub fn create(machine: &Machine, path: &Path) -> Result<Journal, Failure> {
        let journal = Journal::open_with(machine, path, true)?;
        journal.ok_or_else(|| failure(path, "made", &ErrorKind::NotFound.into()))
    }

    fn open_with(machine: &Machine, path: &Path, create: bool) -> Result<Option<Journal>, Failure> {
        let directory = path.parent().filter(|d| !d.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if create {
            fs::create_dir_all(directory).map_err(|e| failure(path, "made", &e))?;
        }
        let opened = OpenOptions::new()
            .read(true)
            .write(true)
            .create(create)
            .truncate(false)
            .mode(0o644)
            .custom_flags(OFlags::NOFOLLOW.bits() as i32)
            .open(path);
        let file = match opened {
            Ok(file) => file,
            Err(e) if e.kind() == ErrorKind::NotFound && !create => return Ok(None),
            Err(e) => return Err(failure(path, "opened", &e)),
        };
        if !file.metadata().is_ok_and(|meta| meta.is_file()) {
            return Err(no_file(path));
        }
        lock(&file, path)?;
        let mut journal = Journal {
            path: path.to_owned(),
            file,
            state: State::default(),
            boot_id: machine.read("/proc/sys/kernel/random/boot_id").unwrap_or_default(),
            cleared: 0,
        };
        journal.load().map_err(|e| match e {
            Trouble::Io(e) => failure(path, "read", &e),
            Trouble::Content(failure) => failure,
        })?;
        if create {
            // The name of a file is safe when its directory is.
            File::open(directory).and_then(|d| d.sync_all()).map_err(|e| failure(path, "made", &e))?;
        }
        Ok(Some(journal))
    }

    fn load(&mut self) -> Result<(), Trouble> {
        let mut text = String::new();
        self.file.read_to_string(&mut text)?;
        let state = State::parse(&text).map_err(Trouble::Content)?;
        if !state.boot_id.is_empty() && state.boot_id != self.boot_id {
            self.cleared = state.entries.len();
            self.file.set_len(0)?;
            text.clear();
        } else {
            self.state = state;
        }
        // What comes next must not be joined to half a line.
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        self.file.set_len(whole as u64)?;
        self.file.seek(SeekFrom::End(0))?;
        Ok(())
    }

    /// Its place.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How many changes of an earlier boot it held when it was opened. They are gone with that boot, and so is its record
    /// of them.
    pub fn changes_of_earlier_boot(&self) -> usize {
        self.cleared
    }

    /// True if there is nothing to undo.
    pub fn is_empty(&self) -> bool {
        self.state.entries.is_empty()
    }

    pub(super) fn entries(&self) -> &[Entry] {
        &self.state.entries
    }

    pub(super) fn timers(&self) -> &[Timer] {
        &self.state.timers
    }

    pub(super) fn owners(&self) -> &[Owner] {
        &self.state.owners
    }

    pub(super) fn next_id(&self) -> u64 {
        self.state.last_id + 1
    }

    /// Appends a line, which is on the disk when this returns.
    pub(super) fn append(&mut self, record: &Record) -> Result<(), Failure> {
        if self.state.boot_id.is_empty() {
            let header = State::header(&self.boot_id);
            self.write(&header)?;
        }
        self.write(record)
    }

    fn write(&mut self, record: &Record) -> Result<(), Failure> {
        let line = serde_json::to_string(record).expect("a record is plain data") + "\n";
        let written = self.file.write_all(line.as_bytes()).and_then(|()| self.file.sync_data());
        written.map_err(|e| failure(&self.path, "written", &e))?;
        self.state.take(record)
    }

    /// Forgets everything: nothing is left to undo.
    pub(super) fn clear(&mut self) -> Result<(), Failure> {
        let emptied = self.file.set_len(0).and_then(|()| self.file.rewind());
        let cleared = emptied.and_then(|()| self.file.sync_all());
        cleared.map_err(|e| failure(&self.path, "emptied", &e))?;
        self.state = State::default();
        Ok(())
    }
}

enum Trouble {
    Io(std::io::Error),
    Content(Failure),
}

impl From<std::io::Error> for Trouble {
    fn from(e: std::io::Error) -> Trouble {
        Trouble::Io(e)
    }
}

fn lock(file: &File, path: &Path) -> Result<(), Failure> {
    let deadline = Instant::now() + LOCK_TIMEOUT;
    loop {
        match flock(file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(()),
            Err(rustix::io::Errno::WOULDBLOCK) if Instant::now() < deadline => std::thread::sleep(LOCK_POLL),
            Err(rustix::io::Errno::WOULDBLOCK) => {
                return Err(Failure::run(
                    format!("another process has held {} for {} s", path.display(), LOCK_TIMEOUT.as_secs()),
                    format!("wait for it; `fuser {}` tells which it is", path.display()),
                ));
            }
            Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(failure(path, "locked", &e.into())),
        }
    }
}

/// The content of a journal, if there is one.
pub(super) fn content(path: &Path) -> Result<Option<String>, Failure> {
    match fs::metadata(path) {
        Ok(meta) if !meta.is_file() => Err(no_file(path)),
        Ok(_) => fs::read_to_string(path).map(Some).map_err(|e| failure(path, "read", &e)),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
        Err(e) => Err(failure(path, "read", &e)),
    }
}

fn no_file(path: &Path) -> Failure {
    Failure::misuse(
        format!("the journal {} is no file", path.display()),
        "name another place with --journal FILE",
    )
}

pub(super) fn failure(path: &Path, what: &str, e: &std::io::Error) -> Failure {
    let cure = match e.kind() {
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            format!("run it as root, or name a place of your own (--journal FILE or {PLACE_VARIABLE})")
        }
        _ => "name another place with --journal FILE".to_owned(),
    };
    Failure::misuse(format!("the journal {} cannot be {what}: {e}", path.display()), cure)
}
