//! A private PostgreSQL cluster: created in a private directory, started without root's privileges, removed at the end.
//!
//! It listens only on a socket in its directory. It dies with the process that started it (PR_SET_PDEATHSIG); a guardian ends the
//! remaining processes and removes the directory. A cluster that dies is restarted: committed data is still there, since it
//! syncs its log as usual (only initdb does not).

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use pitot_results::Failure;
use pitot_sys::processes::{Process, TICK_NS};
use pitot_sys::spawn::{self, Stop};

pub use crate::guardian::Guardian;
use crate::guardian::processes;

/// The timeout of a start.
const START_TIMEOUT: Duration = Duration::from_secs(60);
/// The timeout of a stop, after which it is forced.
const STOP_TIMEOUT: Duration = Duration::from_secs(20);
const POLL: Duration = Duration::from_millis(10);
/// The interval between two readings of CPU time; a killed cluster loses at most so much.
const CPU_LOOK: Duration = Duration::from_secs(1);
/// Who runs it if this process is root, which PostgreSQL refuses.
const USER: &str = "postgres";
/// The port, which names the socket too; nothing listens on it.
const PORT: u16 = 5432;

/// A cluster that runs.
#[derive(Debug)]
pub struct Cluster {
    postgres: PathBuf,
    guardian: Guardian,
    user: Option<User>,
    child: Child,
    connections: usize,
    cpu: CpuAccount,
    /// How often it was started again.
    pub restarts: u64,
}

/// CPU time that never falls, whatever ends between two readings.
#[derive(Debug)]
struct CpuAccount {
    /// Of the cluster that runs, the most that was read.
    current: Duration,
    /// Of those before it, as last read.
    earlier: Duration,
    read_at: Instant,
}

impl CpuAccount {
    fn new() -> CpuAccount {
        CpuAccount { current: Duration::ZERO, earlier: Duration::ZERO, read_at: Instant::now() }
    }

    /// Takes a reading. The processes of one are no lower bound for the next: what has ended and is not waited for is in
    /// neither, and what is waited for is rounded to clock ticks.
    fn read(&mut self, now: Duration) {
        self.current = self.current.max(now);
        self.read_at = Instant::now();
    }

    /// The cluster has died; the next begins at nothing.
    fn begin_another(&mut self) {
        self.earlier += std::mem::take(&mut self.current);
    }

    fn total(&self) -> Duration {
        self.earlier + self.current
    }
}

#[derive(Clone, Copy, Debug)]
struct User {
    id: u32,
    group: u32,
}

impl Cluster {
    /// Creates and starts a cluster for `connections` connections.
    ///
    /// # Errors
    /// PostgreSQL is missing or does not start; with its output.
    pub fn start(guardian: Guardian, connections: usize) -> Result<Cluster, Failure> {
        let bin = programs().ok_or_else(|| {
            Failure::misuse(
                "PostgreSQL is not installed: neither /usr/lib/postgresql/*/bin nor PATH has initdb and postgres",
                "apt-get install postgresql, or remove --with-postgres to use SQLite",
            )
        })?;
        let cannot = |what: &str, e: io::Error| {
            Failure::run(
                format!("{what}: {e}"),
                "check the free space in the directory for temporary files (TMPDIR)",
            )
        };
        let user = if pitot_sys::process::is_root() { Some(user()?) } else { None };
        let dir = guardian.dir().to_owned();
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o700))
            .and_then(|()| user.map_or(Ok(()), |user| chown(&dir, Some(user.id), Some(user.group))))
            .map_err(|e| cannot("cannot prepare the private directory", e))?;
        let mut initdb = Command::new(bin.join("initdb"));
        initdb
            .args(["-A", "trust", "--no-sync", "-U", "trade", "-E", "UTF8", "--locale=C", "-D"])
            .arg(dir.join("data"));
        run_as(&mut initdb, user, &guardian);
        spawn::isolate(&mut initdb, &[]);
        let made = initdb.stdin(Stdio::null()).output().map_err(|e| cannot("cannot start initdb", e))?;
        if !made.status.success() {
            let said = String::from_utf8_lossy(&made.stderr);
            let said = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("no word");
            return Err(Failure::run(format!("initdb failed: {said}"), "run it manually: initdb -D DIR"));
        }
        let postgres = bin.join("postgres");
        let child = postmaster(&postgres, &guardian, user, connections)
            .map_err(|e| cannot("cannot start postgres", e))?;
        let cpu = CpuAccount::new();
        let mut cluster = Cluster { postgres, guardian, user, child, connections, cpu, restarts: 0 };
        cluster.wait_until_ready()?;
        Ok(cluster)
    }

    /// The URL for clients.
    pub fn url(&self) -> String {
        let dir = self.guardian.dir().to_string_lossy().replace('/', "%2F");
        format!("postgres://trade@{dir}:{PORT}/postgres")
    }

    /// The number of its first process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Starts it again if it has died. True if it had.
    ///
    /// # Errors
    /// It does not start again.
    pub fn revive(&mut self) -> Result<bool, Failure> {
        if !matches!(self.child.try_wait(), Ok(Some(_))) {
            if self.cpu.read_at.elapsed() >= CPU_LOOK {
                self.cpu_time();
            }
            return Ok(false);
        }
        // Those that it left would keep a new one from its memory.
        self.guardian.sweep();
        self.child = postmaster(&self.postgres, &self.guardian, self.user, self.connections)
            .map_err(|e| Failure::run(format!("cannot restart postgres: {e}"), "check its log above"))?;
        self.restarts += 1;
        self.cpu.begin_another();
        self.wait_until_ready()?;
        Ok(true)
    }

    /// CPU time of its processes since it was made: of those that live, of those that they have waited for, and of clusters
    /// that died, up to a second before their end.
    pub fn cpu_time(&mut self) -> Duration {
        let all = processes(self.guardian.dir());
        self.cpu.read(all.iter().map(|process| cpu_time(process.pid).unwrap_or_default()).sum());
        self.cpu.total()
    }

    /// It writes its postmaster.pid, whose last line is `ready` once it takes connections.
    fn wait_until_ready(&mut self) -> Result<(), Failure> {
        let deadline = Instant::now() + START_TIMEOUT;
        let file = self.guardian.dir().join("data/postmaster.pid");
        let id = self.child.id().to_string();
        loop {
            let text = fs::read_to_string(&file).unwrap_or_default();
            if text.lines().next() == Some(&id)
                && text.lines().last().is_some_and(|line| line.trim() == "ready")
            {
                return Ok(());
            }
            let ended = matches!(self.child.try_wait(), Ok(Some(_)));
            if ended || Instant::now() > deadline {
                let log = fs::read_to_string(self.guardian.dir().join("log")).unwrap_or_default();
                let said = log.lines().last().unwrap_or("no word").to_owned();
                return Err(Failure::run(
                    format!("postgres does not start: {said}"),
                    "check the free memory and the free space in TMPDIR, or remove --with-postgres to use SQLite",
                ));
            }
            std::thread::sleep(POLL);
        }
    }

    /// Stops it and ends its connections. Committed data is kept until the directory is removed.
    pub fn stop(mut self) {
        // A fast shutdown.
        spawn::stop(self.child.id(), Stop::Interrupt);
        let deadline = Instant::now() + STOP_TIMEOUT;
        while matches!(self.child.try_wait(), Ok(None)) {
            if Instant::now() > deadline {
                spawn::stop(self.child.id(), Stop::Kill);
            }
            std::thread::sleep(POLL);
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        spawn::stop(self.child.id(), Stop::Quit);
        let _ = self.child.wait();
        self.guardian.sweep();
    }
}

fn postmaster(
    postgres: &Path,
    guardian: &Guardian,
    user: Option<User>,
    connections: usize,
) -> io::Result<Child> {
    let dir = guardian.dir();
    let log = File::options().create(true).append(true).open(dir.join("log"))?;
    let mut command = Command::new(postgres);
    command.arg("-D").arg(dir.join("data")).arg("-k").arg(dir);
    // Room for the pool, for those who watch, and for another server on the same data.
    let most = connections * 2 + 10;
    for setting in [
        "listen_addresses=".to_owned(),
        format!("port={PORT}"),
        format!("max_connections={most}"),
        // A scan of a whole table locks all of it under serializable (PostgreSQL documentation, 13.2.3).
        "max_pred_locks_per_transaction=256".to_owned(),
        // Shared memory that it makes as it goes is files in its own directory: what a killed one leaves in /dev/shm stays there.
        "dynamic_shared_memory_type=mmap".to_owned(),
        "random_page_cost=1.0".to_owned(),
        "cpu_tuple_cost=0.1".to_owned(),
    ] {
        command.args(["-c", &setting]);
    }
    command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
    run_as(&mut command, user, guardian);
    spawn::isolate(&mut command, &[]);
    command.spawn()
}

fn run_as(command: &mut Command, user: Option<User>, guardian: &Guardian) {
    command.current_dir(guardian.dir());
    for variable in ["PGDATA", "PGHOST", "PGPORT", "PGUSER", "PGOPTIONS"] {
        command.env_remove(variable);
    }
    if let Some(user) = user {
        command.uid(user.id).gid(user.group);
    }
}

/// Where initdb and postgres are: the newest version of Debian's, or a directory of `PATH`.
fn programs() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let of_path = std::env::split_paths(&path).collect::<Vec<_>>();
    let all = pitot_target::versions().chain([PathBuf::from("/usr/local/bin")]).chain(of_path);
    // What is linked from elsewhere finds its other files beside the link's target.
    all.map(|dir| {
        fs::canonicalize(dir.join("postgres"))
            .ok()
            .and_then(|p| p.parent().map(Path::to_owned))
            .unwrap_or(dir)
    })
    .find(|dir| dir.join("initdb").is_file() && dir.join("postgres").is_file())
}

/// The user `postgres`, from /etc/passwd (passwd(5)).
fn user() -> Result<User, Failure> {
    let all = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let find = |name: &str| {
        let line = all.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        let mut fields = line.split(':').skip(1);
        Some(User { id: fields.next()?.parse().ok()?, group: fields.next()?.parse().ok()? })
    };
    find(USER).or_else(|| find("nobody")).ok_or_else(|| {
        Failure::misuse(
            "PostgreSQL refuses root, and there is no user `postgres` or `nobody` to run it as",
            "apt-get install postgresql, or run pitot as an ordinary user",
        )
    })
}

/// User and system time of a process and of its children that it has waited for.
fn cpu_time(pid: u32) -> Option<Duration> {
    let stat = Process::read(pid)?.stat;
    let ticks = |n: u64| Duration::from_nanos(n * TICK_NS);
    let own = spawn::cpu_time_ns(pid).map(Duration::from_nanos);
    Some(
        own.unwrap_or_else(|| ticks(stat.user + stat.system))
            + ticks(stat.children_user + stat.children_system),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_never_falls() {
        let ms = Duration::from_millis;
        let mut account = CpuAccount::new();
        account.read(ms(30));
        // A process has ended since, and its parent has not waited for it yet.
        account.read(ms(20));
        assert_eq!(account.total(), ms(30));
        account.begin_another();
        account.read(ms(5));
        assert_eq!(account.total(), ms(35));
    }
}
