//! Sessions are resumed, whatever process has the connection.

use std::process::{Command, Stdio};

use pitot_needs::needs;
use rustix::process::Signal;

use super::client::{Certificate, Tls, VERSIONS};
use crate::serve::pairs::{Cell, Pair, on_covering_pairs, on_every_process_model};
use crate::serve::server::send;
use crate::support::until;

#[test]
fn every_process_of_a_server_resumes_the_sessions_of_the_others() {
    let certificate = Certificate::new();
    on_covering_pairs(Cell::Works, |pair| {
        let server = certificate.serve(pair, "http", &[]);
        for version in VERSIONS {
            let config = certificate.config(version);
            for _ in 0..6 {
                assert_eq!(Tls::connect(&config, server.addr).get("/bytes/10", 10).len(), 10);
            }
        }
        let ended = server.stop();
        assert_eq!(
            (ended.count("/tls/handshakes"), ended.count("/tls/resumed")),
            (12, 10),
            "{}",
            ended.stats
        );
        ended.check_connections();
    });
}

#[test]
fn a_worker_that_replaces_one_that_was_killed_resumes_its_sessions() {
    let certificate = Certificate::new();
    on_every_process_model(Cell::Works, |pair| {
        if pair.has_process_per_connection() {
            return;
        }
        let server = certificate.serve(pair, "http", &["--workers", "1"]);
        let config = certificate.config(VERSIONS[1]);
        Tls::connect(&config, server.addr).get("/bytes/10", 10);
        let root = server.pid();
        let workers = || {
            server.processes().into_iter().filter(|process| process.parent == root && process.state != 'Z')
        };
        let killed: Vec<i32> = workers().map(|worker| worker.pid).collect();
        killed.iter().for_each(|&worker| send(worker, Signal::KILL));
        until("they are replaced", || {
            workers().filter(|new| !killed.contains(&new.pid)).count() == killed.len()
        });
        let mut tls = Tls::connect(&config, server.addr);
        tls.get("/bytes/10", 10);
        assert_eq!(tls.0.conn.handshake_kind(), Some(rustls::HandshakeKind::Resumed));
        drop(tls);
        server.stop();
    });
}

/// What `openssl s_client` says about itself when it is given these lines.
fn s_client(addr: std::net::SocketAddr, args: &[&str], input: &str) -> String {
    use std::io::Write;
    let mut command = Command::new("openssl");
    command.args(["s_client", "-connect", &addr.to_string()]).args(args);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("openssl runs");
    // It may end before it has read all.
    let _ = child.stdin.take().expect("a pipe").write_all(input.as_bytes());
    let output = child.wait_with_output().expect("openssl ends");
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}

#[needs("openssl")]
#[test]
fn openssl_reconnects_with_its_session_and_may_not_renegotiate() {
    let certificate = Certificate::new();
    for (model, mechanism) in [("loop", "epoll-et"), ("loop", "uring"), ("prefork", "blocking")] {
        let server = certificate.serve(&Pair::named(model, mechanism), "http", &[]);
        let said = s_client(server.addr, &["-reconnect", "-tls1_2"], "");
        assert_eq!(said.matches("Reused, TLSv1.2").count(), 5, "{said}");
        let said = s_client(server.addr, &["-tls1_2"], "R\nGET / HTTP/1.0\r\n\r\n");
        assert!(said.contains("RENEGOTIATING") && said.contains("no renegotiation"), "{said}");
        let mut tls = Tls::connect(&certificate.config(VERSIONS[0]), server.addr);
        assert_eq!(tls.get("/bytes/10", 10).len(), 10);
        drop(tls);
        server.stop().check_connections();
    }
}
