//! Killed in mid-run: no money made or lost, no order lost or doubled, nothing left behind.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use pitot_needs::needs;
use rustix::process::Signal;

use super::client::Client;
use super::server::Server;
use crate::support::{PITOT, signal, until};

/// Buys until the server does not answer any more: the orders that it has confirmed.
fn buy_until_it_dies(mut client: Client) -> Vec<i64> {
    let mut confirmed = Vec::new();
    while let Ok(reply) = client.try_act("buy", &format!("symbol=s:1&quantity=1&key=k{}", confirmed.len())) {
        let Some(order) = reply["orders"][0]["id"].as_i64() else { return confirmed };
        confirmed.push(order);
    }
    confirmed
}

/// Kills a server while users buy, starts it again on the same data, and looks for what was confirmed.
fn kill_and_look(options: &[&str]) {
    let server = Server::start(options);
    let address = server.address.clone();
    let buyers: Vec<_> = (0..3)
        .map(|user| {
            // Logged in before anybody buys: the kill meets users that buy.
            let mut client = Client::new(&address);
            client.act("login", &format!("uid=uid:{user}&passwd=xxx"));
            std::thread::spawn(move || buy_until_it_dies(client))
        })
        .collect();
    let watch = Client::new(&address);
    let before = watch.audit()["closed_orders"].as_i64().unwrap();
    until("the first orders", || {
        let audit = watch.audit();
        audit["closed_orders"].as_i64().unwrap() + audit["open_orders"].as_i64().unwrap() > before + 20
    });
    server.kill();
    let confirmed: Vec<Vec<i64>> = buyers.into_iter().map(|buyer| buyer.join().unwrap()).collect();
    assert!(confirmed.iter().map(Vec::len).sum::<usize>() > 10);

    let server = Server::start(options);
    let mut client = Client::new(&server.address);
    until("the queue", || client.audit()["open_orders"] == 0);
    let audit = client.audit();
    assert_eq!(audit["holds"], true, "{audit}");
    for (user, orders) in confirmed.iter().enumerate() {
        client.act("login", &format!("uid=uid:{user}&passwd=xxx"));
        for (n, order) in orders.iter().enumerate() {
            assert_eq!(client.see(&format!("order&orderID={order}"))["orders"][0]["status"], "closed");
            // Asked for again with its key it is the same order.
            let again = client.act("buy", &format!("symbol=s:1&quantity=1&key=k{n}"));
            assert_eq!(again["orders"][0]["id"], *order);
        }
    }
    assert_eq!(server.stop()["audit"]["holds"], true);
}

#[test]
fn a_killed_server_on_sqlite_loses_and_doubles_nothing() {
    for orders in ["direct", "queued"] {
        let dir = tempfile::tempdir().unwrap();
        let database = format!("sqlite:{}", dir.path().join("trade.db").display());
        kill_and_look(&["--database", &database, "--orders", orders]);
        let status = Command::new(PITOT)
            .args(["serve", "trade", "--audit", "--database", &database])
            .stdout(Stdio::null())
            .status()
            .unwrap();
        assert!(status.success());
    }
}

/// The private directory of a server, by the working directory of its PostgreSQL.
pub(crate) fn postmaster(server: &Server) -> (u32, PathBuf) {
    let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", server.pid())).unwrap();
    let of = |pid: &str| {
        let pid: u32 = pid.parse().ok()?;
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
        let data = fs::read_link(format!("/proc/{pid}/cwd")).ok()?;
        (name.trim() == "postgres").then(|| (pid, data.parent().map(Path::to_owned)))
    };
    let (pid, dir) = children.split_whitespace().find_map(of).expect("a postmaster");
    (pid, dir.unwrap())
}

pub(crate) fn url(dir: &Path) -> String {
    format!("postgres://trade@{}:5432/postgres", dir.to_str().unwrap().replace('/', "%2F"))
}

#[needs("postgres")]
#[test]
fn a_killed_server_on_postgresql_loses_and_doubles_nothing() {
    for orders in ["direct", "queued"] {
        // The cluster of one server is the database of the other.
        let keeper = Server::start(&["--with-postgres"]);
        let (_, dir) = postmaster(&keeper);
        kill_and_look(&["--database", &url(&dir), "--orders", orders, "--pool", "3"]);
        keeper.stop();
        assert!(!dir.exists());
    }
}

#[needs("postgres")]
#[test]
fn a_killed_postgresql_is_started_again_and_has_lost_nothing() {
    let server = Server::start(&["--with-postgres", "--pool", "3"]);
    let (pid, _) = postmaster(&server);
    let mut client = Client::new(&server.address);
    client.act("login", "uid=uid:2&passwd=xxx");
    let buy =
        |client: &mut Client, n: usize| client.try_act("buy", &format!("symbol=s:1&quantity=1&key=k{n}"));
    // It buys on while PostgreSQL dies and comes back; what has failed is asked for again with its key.
    let mut confirmed = Vec::new();
    let mut failed = 0;
    until("purchases before, during and after the kill", || {
        match buy(&mut client, confirmed.len()) {
            Ok(reply) if reply["ok"] == true => confirmed.push(reply["orders"][0]["id"].clone()),
            _ => failed += 1,
        }
        if confirmed.len() == 20 && failed == 0 && !postmaster_is_another(&server, pid) {
            signal(pid, Signal::KILL);
        }
        confirmed.len() >= 40 && postmaster_is_another(&server, pid)
    });
    for (n, order) in confirmed.iter().enumerate() {
        // A connection of the pool whose end is not known yet still fails one action.
        until("an order asked for again", || {
            let Ok(reply) = buy(&mut client, n) else { return false };
            assert!(reply["ok"] != true || &reply["orders"][0]["id"] == order, "{reply}");
            reply["ok"] == true
        });
    }
    until("an audit", || client.audit()["holds"] == true);
    let stats = server.stop();
    assert_eq!((&stats["audit"]["holds"], &stats["database_restarts"]), (&true.into(), &1.into()));
    assert!(stats["database_cpu_s"].as_f64().unwrap() > 0.0, "{stats}");
    let counts = stats["database_counts"].as_object().unwrap();
    assert!(!counts.is_empty() && counts.values().all(|count| count.as_i64().unwrap() >= 0), "{stats}");
}

pub(crate) fn postmaster_is_another(server: &Server, pid: u32) -> bool {
    let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", server.pid())).unwrap();
    children.split_whitespace().all(|child| child != pid.to_string())
}

#[needs("postgres")]
#[test]
fn nothing_is_left_of_a_cluster_whose_server_is_killed() {
    let server = Server::start(&["--with-postgres"]);
    let (pid, dir) = postmaster(&server);
    server.kill();
    until("the end of the cluster", || !dir.exists() && !Path::new(&format!("/proc/{pid}")).exists());
    let left = fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter(|entry| fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(&dir)));
    assert_eq!(left.count(), 0);
}
