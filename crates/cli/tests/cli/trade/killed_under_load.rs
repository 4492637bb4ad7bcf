//! Killed while the scenario runs, whose users check at each page, and at the login after the kill, that nothing is lost or doubled.

use std::path::Path;
use std::process::{Command, Stdio};

use pitot_needs::needs;
use rustix::process::Signal;
use serde_json::Value;

use super::client::Client;
use super::kill::{postmaster, postmaster_is_another, url};
use super::server::Server;
use crate::support::{PITOT, Running, signal, until};

/// More sessions than there are users, so that each of them logs in.
const SESSIONS: i64 = 60;
/// What the errors of a load must not say: those are what a kill makes, connections that end and statuses of errors.
const WRONG: [&str; 8] =
    ["order-", "wrong-", "no-account", "no-order", "missing", "unchanged", "declined", "too-long"];

/// A load, killed when the test ends.
struct Load(Running);

impl Load {
    fn start(address: &str) -> Load {
        let url = format!("trade://{address}/?users=40&quotes=60");
        Load(Running::start(
            Command::new(PITOT)
                .args(["load", &url, "-c", "6", "-d", "600s", "--json", "-"])
                .stdout(Stdio::piped())
                .stderr(Stdio::null()),
        ))
    }

    /// Ends it: its result.
    fn stop(mut self) -> Value {
        self.0.signal(Signal::INT);
        let text = self.0.printed();
        serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"))
    }
}

/// How many sessions have begun since the server was started.
fn sessions(client: &Client) -> i64 {
    let stats: Value = serde_json::from_str(&client.get("/stats").1).unwrap();
    stats["actions"]["login"]["count"].as_i64().unwrap_or(0)
}

/// Loads a server, has it or its database killed and started again, and looks at what the users and the tables say.
fn loaded(options: &[&str], kill: impl FnOnce(Server) -> Server) {
    let server = Server::start(options);
    let load = Load::start(&server.address);
    let client = Client::new(&server.address);
    until("sessions before the kill", || sessions(&client) > SESSIONS);
    let server = kill(server);
    let begun = sessions(&client);
    until("sessions after the kill", || sessions(&client) > begun + SESSIONS);
    let result = load.stop();
    let errors = result["errors"].to_string();
    assert!(WRONG.iter().all(|word| !errors.contains(word)), "{options:?}: {errors}");
    assert!(errors != "[]", "the kill was not noticed: {result}");
    until("the queue", || client.audit()["open_orders"] == 0);
    let audit = client.audit();
    assert_eq!(audit["holds"], true, "{options:?}: {audit}");
    assert_eq!(server.stop()["audit"]["holds"], true);
}

/// Kills the server, and starts it again at the same address.
fn kill_server(server: Server, options: &[&str]) -> Server {
    let address = server.address.clone();
    server.kill();
    Server::start(&[options, &["--listen", &address]].concat())
}

#[test]
fn a_server_on_sqlite_that_is_killed_under_load_loses_and_doubles_nothing() {
    for orders in ["direct", "queued"] {
        let dir = tempfile::tempdir().unwrap();
        let database = format!("sqlite:{}", dir.path().join("trade.db").display());
        let options = ["--database", &database, "--orders", orders];
        loaded(&options, |server| kill_server(server, &options));
    }
}

#[needs("postgres")]
#[test]
fn a_server_on_postgresql_that_is_killed_under_load_loses_and_doubles_nothing() {
    for orders in ["direct", "queued"] {
        // The cluster of one server is the database of the other.
        let keeper = Server::start(&["--with-postgres"]);
        let database = url(&postmaster(&keeper).1);
        let options = ["--database", &database, "--orders", orders];
        loaded(&options, |server| kill_server(server, &options));
        keeper.stop();
    }
}

#[needs("postgres")]
#[test]
fn a_postgresql_that_is_killed_under_load_is_started_again_and_nothing_is_lost_or_doubled() {
    for orders in ["direct", "queued"] {
        loaded(&["--with-postgres", "--orders", orders], |server| {
            let (pid, _) = postmaster(&server);
            signal(pid, Signal::KILL);
            until("the restart", || postmaster_is_another(&server, pid));
            server
        });
    }
}

#[needs("postgres")]
#[test]
fn an_audit_that_cannot_be_made_is_no_success() {
    let keeper = Server::start(&["--with-postgres"]);
    let (pid, dir) = postmaster(&keeper);
    let server = Server::with(&["--database", &url(&dir)], Stdio::piped());
    keeper.kill();
    until("the end of the database", || !Path::new(&format!("/proc/{pid}")).exists());
    let (status, said) = server.end();
    assert_eq!(status.code(), Some(1), "{said}");
    assert!(said.contains("the audit at the end failed: "), "{said}");
}
