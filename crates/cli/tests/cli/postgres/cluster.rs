//! A PostgreSQL of the test's own, on a socket in a temporary directory.

use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use crate::support::until;

/// Users of each method of logging in, all with the password `secret`.
const ROLES: &str = "SET password_encryption = 'md5';

CREATE ROLE clear LOGIN PASSWORD 'secret';

CREATE ROLE digest LOGIN PASSWORD 'secret';

SET password_encryption = 'scram-sha-256';

CREATE ROLE scram LOGIN PASSWORD 'secret';

";

const HBA: &str =
    "local all clear password\nlocal all digest md5\nlocal all scram scram-sha-256\nlocal all all trust\n";

pub(crate) struct Cluster {
    child: Child,
    dir: tempfile::TempDir,
}

impl Cluster {
    pub(crate) fn start() -> Cluster {
        Cluster::start_on(None)
    }

    /// One that also listens on this port of loopback, for connections over TLS alone.
    pub(crate) fn start_with_tls(port: u16) -> Cluster {
        Cluster::start_on(Some(port))
    }

    fn start_on(port: Option<u16>) -> Cluster {
        let dir = tempfile::tempdir().unwrap();
        // PostgreSQL refuses root.
        let is_root = rustix::process::geteuid().is_root();
        let owner = is_root.then(|| ["-u", "-g"].map(|option| number(&["id", option, "postgres"])));
        if let Some([user, group]) = owner {
            std::fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o700)).unwrap();
            chown(dir.path(), Some(user), Some(group)).unwrap();
        }
        let command = |program: &str| {
            let mut command = Command::new(programs().join(program));
            command.current_dir(dir.path()).stderr(Stdio::null()).stdout(Stdio::null());
            if let Some([user, group]) = owner {
                command.uid(user).gid(group);
            }
            command
        };
        let made =
            command("initdb").args(["-D", "data", "-U", "postgres", "-A", "trust", "--no-sync"]).status();
        assert!(made.unwrap().success(), "initdb failed");
        let hba = format!("{HBA}hostssl all scram 127.0.0.1/32 scram-sha-256\n");
        std::fs::write(dir.path().join("data/pg_hba.conf"), hba).unwrap();
        if port.is_some() {
            let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
            for (name, text) in
                [("server.crt", made.cert.pem()), ("server.key", made.signing_key.serialize_pem())]
            {
                let file = dir.path().join("data").join(name);
                std::fs::write(&file, text).unwrap();
                std::fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).unwrap();
                if let Some([user, group]) = owner {
                    chown(&file, Some(user), Some(group)).unwrap();
                }
            }
        }
        let roles = dir.path().join("roles.sql");
        std::fs::write(&roles, ROLES).unwrap();
        let mut single = command("postgres");
        single.args(["--single", "-j", "-F", "-D", "data", "postgres"]);
        assert!(single.stdin(std::fs::File::open(roles).unwrap()).status().unwrap().success());
        let mut postgres = command("postgres");
        postgres.args(["-D", "data", "-F", "-c", "max_connections=300"]);
        match port {
            Some(port) => {
                postgres.args(["-c", "listen_addresses=127.0.0.1", "-c", "ssl=on", "-p", &port.to_string()])
            }
            None => postgres.args(["-c", "listen_addresses="]),
        };
        postgres.args(["-c", "dynamic_shared_memory_type=mmap", "-k"]).arg(dir.path());
        let child = postgres.spawn().unwrap();
        let cluster = Cluster { child, dir };
        let file = cluster.dir.path().join("data/postmaster.pid");
        let is_ready = || {
            std::fs::read_to_string(&file)
                .is_ok_and(|s| s.lines().last().is_some_and(|l| l.trim() == "ready"))
        };
        until("PostgreSQL starts", is_ready);
        cluster
    }

    /// The file of its certificate.
    pub(crate) fn certificate(&self) -> String {
        self.dir.path().join("data/server.crt").to_string_lossy().into_owned()
    }

    /// The socket on which it listens.
    pub(crate) fn socket(&self) -> String {
        self.dir.path().join(".s.PGSQL.5432").to_string_lossy().into_owned()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // An immediate shutdown: it ends its other processes, and what it has written is removed anyway.
        let pid = rustix::process::Pid::from_child(&self.child);
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::QUIT);
        let _ = self.child.wait();
    }
}

fn number(words: &[&str]) -> u32 {
    let output = Command::new(words[0]).args(&words[1..]).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().parse().unwrap()
}

/// Where the programs of the newest version are.
fn programs() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let all = pitot_target::versions().chain(std::env::split_paths(&path));
    let found = all.map(|folder| folder.join("postgres")).find(|program| program.is_file());
    // One that is linked from elsewhere has the others beside it.
    std::fs::canonicalize(found.unwrap()).unwrap().parent().unwrap().to_owned()
}
