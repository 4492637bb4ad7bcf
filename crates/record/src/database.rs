//! Opens records, which are SQLite databases.
//!
//! **Locks.** While a process writes such a file, only its writer has a descriptor of it: when a process closes *any* descriptor of a
//! file, POSIX drops all of the process's locks on it (fcntl(2), SQLite's "How To Corrupt", 2.2). A reader in another process could
//! then delete the write-ahead log. So [`open_to_read`] refuses a file that this process writes; the writer reads it through its own
//! connection.
//!
//! **Trust.** A file may come from anywhere: by mail, over a bus, out of a guest. [`open_to_read`] and [`WriteLock::resume`] follow
//! SQLite's "Defense Against The Dark Arts", and [`Format::check`] checks that tables are tables, since a view in place of one could be
//! an endless query. Every page must be used once (`quick_check`), so that a file cannot yield more than its size, and a statement that
//! does more than a file of this size needs is interrupted.

use std::collections::BTreeSet;
use std::fs::{File, Metadata, Permissions, TryLockError};
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use percent_encoding::{AsciiSet, CONTROLS, percent_encode};
use pitot_results::Failure;
use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

/// Mode of a file: only the owner can read it, since it has commands and outputs.
pub(crate) const MODE: u32 = 0o600;

/// Characters with a meaning in a file's URI (<https://www.sqlite.org/uri.html>).
const NOT_OF_URIS: &AsciiSet = &CONTROLS.add(b'%').add(b'?').add(b'#');

/// Maximum size of a text or row. Results with histograms have some hundred kilobytes, plans the size of their files.
const VALUE_BYTES_MAX: i32 = 64 << 20;
/// Limits for the statements of this crate.
const LIMITS: [(Limit, i32); 9] = [
    (Limit::SQLITE_LIMIT_LENGTH, VALUE_BYTES_MAX),
    (Limit::SQLITE_LIMIT_SQL_LENGTH, 100_000),
    (Limit::SQLITE_LIMIT_COLUMN, 100),
    (Limit::SQLITE_LIMIT_EXPR_DEPTH, 100),
    (Limit::SQLITE_LIMIT_COMPOUND_SELECT, 8),
    (Limit::SQLITE_LIMIT_VDBE_OP, 50_000),
    (Limit::SQLITE_LIMIT_FUNCTION_ARG, 8),
    (Limit::SQLITE_LIMIT_ATTACHED, 0),
    (Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 100),
];

/// Instructions of SQLite's virtual machine between checks of the limit.
const WORK_STEP: i32 = 10_000;
/// Maximum number of instructions to read a file: a fixed number, and one for each byte. Checking and reading takes about
/// three for each byte.
const WORK_BASE: u64 = 20_000_000;
const WORK_PER_BYTE: u64 = 32;
/// However large it is.
const READING_MAX: Duration = Duration::from_secs(120);

/// Device and inode of the files that this process writes.
static WRITTEN: Mutex<BTreeSet<(u64, u64)>> = Mutex::new(BTreeSet::new());

/// Why a file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    /// It does not exist, or the system refuses to open it.
    #[error("{0}")]
    Open(std::io::Error),
    /// It exists already.
    #[error("the file exists")]
    Exists,
    /// It is being written.
    #[error("it is being written")]
    Locked,
    /// It is something else.
    #[error("it is a file of another kind")]
    Foreign,
    /// It has an unknown layout.
    #[error("it has layout {found}, and this version reads layout {known}")]
    Layout {
        /// Its layout.
        found: u32,
        /// The newest known one.
        known: u32,
    },
    /// It is damaged or malicious.
    #[error("{0}")]
    Unsafe(String),
    /// SQLite.
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
}

/// A kind of file.
#[derive(Debug)]
pub struct Format {
    /// `PRAGMA application_id`.
    pub application_id: i64,
    /// `PRAGMA user_version`: the known layout.
    pub layout: u32,
    /// Its tables.
    pub tables: &'static [&'static str],
    /// Its view for people, which is not used here.
    pub view: &'static str,
}

impl Format {
    /// The layout of an open file, after checking that it is of this kind and its tables are tables.
    ///
    /// # Errors
    /// If it is another file, has an unknown layout, or has triggers, views or generated columns.
    pub fn check(&self, connection: &Connection) -> Result<u32, DatabaseError> {
        let pragma = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        let id = pragma("application_id").map_err(|e| match e.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => DatabaseError::Foreign,
            _ => e.into(),
        })?;
        if id != self.application_id {
            return Err(DatabaseError::Foreign);
        }
        let found = pragma("user_version")?.try_into().unwrap_or(u32::MAX);
        if found != self.layout {
            return Err(DatabaseError::Layout { found, known: self.layout });
        }
        self.check_schema(connection)?;
        Ok(found)
    }

    fn check_schema(&self, connection: &Connection) -> Result<(), DatabaseError> {
        let mut tables = BTreeSet::new();
        let mut query = connection.prepare("SELECT type, name, rootpage FROM sqlite_schema")?;
        let mut rows = query.query([])?;
        while let Some(row) = rows.next()? {
            let (kind, name): (String, String) = (row.get(0)?, row.get(1)?);
            match kind.as_str() {
                "table" if row.get::<_, Option<i64>>(2)?.unwrap_or(0) > 0 => tables.insert(name),
                "index" => continue,
                "view" if self.view == name => continue,
                _ => {
                    // A virtual table has no page.
                    let kind = if kind == "table" { "virtual table" } else { &kind };
                    let (kind, name) = (kind.escape_debug(), name.escape_debug());
                    return Err(DatabaseError::Unsafe(format!(
                        "it has the {kind} `{name}`, and only tables are allowed"
                    )));
                }
            };
        }
        for table in self.tables {
            if !tables.contains(*table) {
                return Err(DatabaseError::Unsafe(format!("it has no table `{table}`")));
            }
        }
        let mut computed =
            connection.prepare("SELECT count(*) FROM pragma_table_xinfo(?1) WHERE hidden <> 0")?;
        for table in &tables {
            if computed.query_row([table], |row| row.get::<_, i64>(0))? > 0 {
                return Err(DatabaseError::Unsafe(format!("its table `{table}` has generated columns")));
            }
        }
        Ok(())
    }
}

/// The sentence for an error that a damaged or malicious file causes.
pub(crate) fn damage(error: &rusqlite::Error) -> Option<String> {
    use rusqlite::Error as E;
    match error {
        E::SqliteFailure(cause, _) if cause.code == ErrorCode::OperationInterrupted => {
            Some("reading it takes too much work for its size".into())
        }
        E::SqliteFailure(cause, text) => {
            // A missing column is an error without its own code.
            let codes =
                [ErrorCode::DatabaseCorrupt, ErrorCode::NotADatabase, ErrorCode::TooBig, ErrorCode::Unknown];
            let text = || text.clone().unwrap_or_else(|| cause.to_string());
            codes.contains(&cause.code).then(text)
        }
        E::InvalidColumnType(..)
        | E::InvalidColumnName(_)
        | E::InvalidColumnIndex(_)
        | E::FromSqlConversionFailure(..)
        | E::IntegralValueOutOfRange(..)
        | E::QueryReturnedNoRows
        | E::SqlInputError { .. }
        | E::Utf8Error(..) => Some(error.to_string()),
        _ => None,
    }
}

fn id_of(about: &Metadata) -> (u64, u64) {
    (about.dev(), about.ino())
}

fn written() -> MutexGuard<'static, BTreeSet<(u64, u64)>> {
    WRITTEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether this process writes the file, without opening it.
pub fn is_written_here(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|about| written().contains(&id_of(&about)))
}

/// Refuses to resume a file of another user, whose commands would be run, without `--trust-owner`.
///
/// # Errors
/// If another user owns the file or everybody can write it, and the owner is not trusted.
pub fn check_owner(path: &Path, is_trusted: bool) -> Result<(), Failure> {
    // A missing file is reported when it is opened.
    let Ok(about) = std::fs::metadata(path) else { return Ok(()) };
    let own = rustix::process::geteuid().as_raw();
    let whose = match (about.uid() == own, about.mode() & 0o002 != 0) {
        _ if is_trusted => return Ok(()),
        (true, false) => return Ok(()),
        (true, true) => "can be written by every user".to_owned(),
        (false, _) => format!("belongs to the user with id {}", about.uid()),
    };
    Err(Failure::misuse(
        format!("{} {whose}, and resuming it would run its commands", path.display()),
        "check the commands with `pitot report`, then add --trust-owner",
    ))
}

/// An exclusive lock to write a file: flock(2), which ends with the process. Close connections to the file before dropping
/// it.
#[derive(Debug)]
pub struct WriteLock {
    _file: File,
    id: (u64, u64),
    path: PathBuf,
}

impl WriteLock {
    /// Opens a file to continue it.
    ///
    /// # Errors
    /// If it does not exist, or is being written.
    pub fn resume(path: &Path) -> Result<WriteLock, DatabaseError> {
        if is_written_here(path) {
            return Err(DatabaseError::Locked);
        }
        let file = File::options().read(true).write(true).open(path).map_err(DatabaseError::Open)?;
        WriteLock::of(file, path)
    }

    fn of(file: File, path: &Path) -> Result<WriteLock, DatabaseError> {
        lock(&file)?;
        // SQLite gives the files beside it the same mode.
        let _ = file.set_permissions(Permissions::from_mode(MODE));
        for end in ["-wal", "-shm"] {
            let beside = beside(path, end);
            if std::fs::symlink_metadata(&beside).is_ok_and(|about| about.is_file()) {
                let _ = std::fs::set_permissions(&beside, Permissions::from_mode(MODE));
            }
        }
        let id = id_of(&file.metadata().map_err(DatabaseError::Open)?);
        written().insert(id);
        Ok(WriteLock { _file: file, id, path: path.into() })
    }

    /// Opens the database of an untrusted file, and reads its layout. Commits from now on survive a power cut.
    ///
    /// # Errors
    /// If SQLite cannot, or the file is not one of this format.
    pub fn connect_checked(&self, format: &Format) -> Result<(Connection, u32), DatabaseError> {
        let mut connection = connect(&self.path)?;
        limit_work(&mut connection, &self.path)?;
        let layout = format.check(&connection)?;
        check_pages(&connection)?;
        connection.progress_handler(0, None::<fn() -> bool>)?;
        self.keep_log(&connection)?;
        Ok((connection, layout))
    }

    /// Starts a write-ahead log, which is on the disk with its name when this returns.
    fn keep_log(&self, connection: &Connection) -> Result<(), DatabaseError> {
        // The log of a killed process may not be on the disk, though it can be read: write its pages into the database and
        // begin a new log. Each commit is synchronised.
        connection.execute_batch("PRAGMA synchronous = FULL; PRAGMA wal_checkpoint(TRUNCATE);")?;
        let mode: String = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
        // The first read creates the log. If SQLite could not switch modes, it only continues without a log.
        connection.pragma_query_value(None, "user_version", |_| Ok(()))?;
        if mode != "wal" || !beside(&self.path, "-wal").exists() {
            let why = "SQLite could not create a write-ahead log there";
            return Err(DatabaseError::Open(std::io::Error::other(why)));
        }
        sync_directory(&self.path).map_err(DatabaseError::Open)
    }
}

impl Drop for WriteLock {
    fn drop(&mut self) {
        written().remove(&self.id);
    }
}

/// A new file that nobody else can read. It has a temporary name until its first content is on the disk, so that a killed
/// process leaves no incomplete file.
#[derive(Debug)]
pub struct Draft {
    /// None once it is published. It is moved, not duplicated: closing a duplicate would drop SQLite's locks.
    file: Option<File>,
    /// Its temporary path.
    place: PathBuf,
    /// Its final path.
    path: PathBuf,
}

impl Draft {
    /// Creates an empty one, and removes leftovers of an earlier one.
    ///
    /// # Errors
    /// If the file exists, another process is creating it, or it cannot be created.
    pub fn new(path: &Path) -> Result<Draft, DatabaseError> {
        if std::fs::symlink_metadata(path).is_ok() {
            return Err(DatabaseError::Exists);
        }
        let place = beside(path, ".new");
        let make = || File::options().read(true).write(true).create_new(true).mode(MODE).open(&place);
        let made = match make() {
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {
                lock(&File::open(&place).map_err(DatabaseError::Open)?)?;
                std::fs::remove_file(&place).and_then(|()| make())
            }
            made => made,
        };
        let file = made.map_err(DatabaseError::Open)?;
        lock(&file)?;
        Ok(Draft { file: Some(file), place, path: path.into() })
    }

    /// Opens its database.
    ///
    /// # Errors
    /// If SQLite cannot.
    pub fn connect(&self) -> Result<Connection, DatabaseError> {
        let connection = connect(&self.place)?;
        // It is synchronised as a whole.
        connection.execute_batch("PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF;")?;
        Ok(connection)
    }

    /// Gives the file its name. Commits from now on survive a power cut.
    ///
    /// # Errors
    /// If a file of that name exists, or it cannot be written; then it is removed.
    pub fn publish(mut self, connection: Connection) -> Result<(WriteLock, Connection), DatabaseError> {
        connection.close().map_err(|(_, e)| e)?;
        self.file.as_ref().map_or(Ok(()), File::sync_all).map_err(DatabaseError::Open)?;
        rename_to_new(&self.place, &self.path)?;
        let file = self.file.take().ok_or(DatabaseError::Locked)?;
        let opened = WriteLock::of(file, &self.path).and_then(|lock| {
            let connection = connect(&self.path)?;
            lock.keep_log(&connection)?;
            Ok((lock, connection))
        });
        if opened.is_err() {
            for end in ["", "-wal", "-shm", "-journal"] {
                let _ = std::fs::remove_file(beside(&self.path, end));
            }
            // Synchronised, so that a power cut cannot bring it back without its secrets.
            let _ = sync_directory(&self.path);
        }
        opened
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if self.file.is_some() {
            let _ = std::fs::remove_file(&self.place);
        }
    }
}

/// Renames a file to an unused name.
fn rename_to_new(from: &Path, to: &Path) -> Result<(), DatabaseError> {
    let renamed = match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // Not all file systems support that.
        Err(Errno::INVAL | Errno::NOSYS) => {
            std::fs::hard_link(from, to).and_then(|()| std::fs::remove_file(from))
        }
        renamed => renamed.map_err(Into::into),
    };
    renamed.map_err(|e| match e.kind() {
        ErrorKind::AlreadyExists => DatabaseError::Exists,
        _ => DatabaseError::Open(e),
    })
}

/// Locks a file for writing.
fn lock(file: &File) -> Result<(), DatabaseError> {
    file.try_lock().map_err(|e| match e {
        TryLockError::WouldBlock => DatabaseError::Locked,
        TryLockError::Error(e) => DatabaseError::Open(e),
    })
}

/// Opens a database to write it.
fn connect(path: &Path) -> Result<Connection, DatabaseError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    guard(&connection)?;
    Ok(connection)
}

/// Synchronises the directory of a file.
pub(crate) fn sync_directory(path: &Path) -> std::io::Result<()> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    File::open(directory.unwrap_or(Path::new(".")))?.sync_all()
}

/// The name of a file with a suffix.
pub fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

/// Opens an untrusted file without writing. A file in a read-only folder is read without a log, since nobody can be
/// writing it.
///
/// # Errors
/// If it does not exist, or this process writes it.
pub fn open_to_read(path: &Path) -> Result<Connection, DatabaseError> {
    if is_written_here(path) {
        return Err(DatabaseError::Locked);
    }
    // Its message is better than SQLite's. A FIFO would block forever.
    let about = std::fs::metadata(path).map_err(DatabaseError::Open)?;
    if !about.is_file() {
        return Err(DatabaseError::Foreign);
    }
    File::open(path).map_err(DatabaseError::Open)?;
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    let guarded = |mut connection: Connection| {
        guard(&connection)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
        limit_work(&mut connection, path)?;
        // A confined reader has no directory for temporary files.
        connection.pragma_update(None, "temp_store", "MEMORY")?;
        Ok(connection)
    };
    let connection = guarded(Connection::open_with_flags(path, flags)?);
    let readable =
        |connection: &Connection| connection.pragma_query_value(None, "schema_version", |_| Ok(()));
    let failed = connection.as_ref().ok().and_then(|c| readable(c).err()).and_then(|e| e.sqlite_error_code());
    if !matches!(failed, Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly)) {
        return connection;
    }
    let full = std::path::absolute(path).map_err(DatabaseError::Open)?;
    let escaped = percent_encode(full.as_os_str().as_bytes(), NOT_OF_URIS);
    guarded(Connection::open_with_flags(format!("file:{escaped}?immutable=1"), flags)?)
}

/// Restrictions of every connection, since the schema of a file is code: <https://www.sqlite.org/security.html>.
fn guard(connection: &Connection) -> Result<(), rusqlite::Error> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    for (limit, value) in LIMITS {
        connection.set_limit(limit, value)?;
    }
    Ok(())
}

/// Interrupts statements that do more than a file of this size needs.
fn limit_work(connection: &mut Connection, path: &Path) -> Result<(), rusqlite::Error> {
    let bytes_of = |path: &Path| std::fs::metadata(path).map_or(0, |about| about.len());
    let bytes = bytes_of(path) + bytes_of(&beside(path, "-wal"));
    let most = WORK_BASE.saturating_add(bytes.saturating_mul(WORK_PER_BYTE));
    let began = Instant::now();
    let mut done = 0;
    connection.progress_handler(
        WORK_STEP,
        Some(move || {
            done += WORK_STEP as u64;
            done > most || began.elapsed() > READING_MAX
        }),
    )
}

/// Checks the pages of a file. A page that is used twice could be read forever.
///
/// # Errors
/// The first error.
pub fn check_pages(connection: &Connection) -> Result<(), DatabaseError> {
    let found: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    match found.as_str() {
        "ok" => Ok(()),
        _ => Err(DatabaseError::Unsafe(found.lines().last().unwrap_or_default().to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_that_goes_on_for_ever_is_ended() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        let draft = Draft::new(&path).unwrap();
        let connection = draft.connect().unwrap();
        connection.execute_batch("CREATE TABLE t (x)").unwrap();
        let (lock, connection) = draft.publish(connection).unwrap();
        drop((connection, lock));
        let connection = open_to_read(&path).unwrap();
        let endless =
            "WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
        let error = connection.query_row(endless, [], |_| Ok(())).unwrap_err();
        assert!(damage(&error).unwrap().contains("too much work for its size"), "{error}");
    }

    #[test]
    fn a_file_that_is_written_here_is_not_opened_beside_its_writer() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        let draft = Draft::new(&path).unwrap();
        let connection = draft.connect().unwrap();
        let (lock, connection) = draft.publish(connection).unwrap();
        let link = dir.path().join("b");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        for path in [&path, &link] {
            assert!(matches!(open_to_read(path), Err(DatabaseError::Locked)));
            assert!(matches!(WriteLock::resume(path), Err(DatabaseError::Locked)));
        }
        drop((connection, lock));
        assert!(open_to_read(&link).is_ok() && WriteLock::resume(&path).is_ok());
    }

    #[test]
    fn a_draft_has_no_name_before_it_is_whole_and_what_is_left_of_one_is_in_nobodys_way() {
        let dir = tempfile::tempdir().unwrap();
        let (path, place) = (dir.path().join("a"), dir.path().join("a.new"));
        std::fs::write(&place, "half").unwrap();
        let draft = Draft::new(&path).unwrap();
        assert!(matches!(Draft::new(&path), Err(DatabaseError::Locked)));
        assert!(!path.exists() && place.exists());
        drop(draft);
        assert!(!path.exists() && !place.exists());
        let draft = Draft::new(&path).unwrap();
        let connection = draft.connect().unwrap();
        std::fs::write(&path, "of somebody else").unwrap();
        assert!(matches!(draft.publish(connection), Err(DatabaseError::Exists)));
        assert_eq!(std::fs::read(&path).unwrap(), b"of somebody else");
        assert!(matches!(Draft::new(&path), Err(DatabaseError::Exists)) && !place.exists());
    }

    #[test]
    fn a_fifo_or_folder_is_no_file_of_a_run() {
        let dir = tempfile::tempdir().unwrap();
        let fifo = dir.path().join("fifo");
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        for path in [fifo.as_path(), dir.path()] {
            assert!(matches!(open_to_read(path), Err(DatabaseError::Foreign)));
        }
    }

    #[test]
    fn a_file_of_others_is_resumed_by_those_alone_who_trust_them() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        std::fs::write(&path, "").unwrap();
        let mode = |mode| std::fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        mode(0o644);
        check_owner(&path, false).unwrap();
        mode(0o646);
        let refused = check_owner(&path, false).unwrap_err();
        assert!(refused.exit_code() == 2 && refused.fix.contains("--trust-owner"), "{refused}");
        check_owner(&path, true).unwrap();
        mode(0o600);
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(&path, Some(12_345), None).unwrap();
            assert!(
                check_owner(&path, false).unwrap_err().what.contains("belongs to the user with id 12345")
            );
            check_owner(&path, true).unwrap();
        }
    }
}
