//! Processes: those of a server end with it, and one that dies is no loss but to its own connections.

use std::os::unix::process::CommandExt;

use rustix::process::{Pid, Signal, kill_process_group};

use super::client::{connect_narrow, expect_pattern, read_to_end, until_read};
use super::http::{Http, get_and_close};
use super::pairs::{Cell, on_every_pair, on_every_process_model};
use super::server::{Server, send, serve};
use crate::support::until;

/// A connection between requests, one in a request and one in a reply.
fn connections(server: &Server) -> Vec<Http> {
    let mut idle = Http::connect(server.addr);
    assert_eq!(idle.get("/bytes/10").status, 200);
    let mut in_head = Http::connect(server.addr);
    in_head.write("GET / HT");
    // Until then it might wait to be accepted, and be the connection of whoever comes after a worker that is killed.
    until_read(server.addr, [in_head.stream()]);
    let mut in_reply = Http::on(connect_narrow(server.addr));
    in_reply.ask("/bytes/1073741824");
    assert_eq!(in_reply.reply_to_head().status, 200);
    vec![idle, in_head, in_reply]
}

#[test]
fn no_process_outlives_the_one_that_was_started() {
    on_every_pair(Cell::Works, |pair| {
        let server = Server::start(pair, "http", &[]);
        let connections = connections(&server);
        let (processes, addr) = (server.processes(), server.addr);
        server.signal(Signal::KILL);
        server.until_gone();
        until("all processes have ended", || processes.iter().all(|process| process.has_ended()));
        for connection in connections {
            // Cut, with or without a reset.
            let mut stream = connection.0.into_inner();
            read_to_end(&mut stream);
        }
        let listen = addr.to_string();
        let again = Server::start(pair, "http", &["--listen", &listen]);
        assert_eq!(Http::connect(addr).get("/bytes/10").status, 200);
        again.stop().check_connections();
    });
}

#[test]
fn processes_that_have_served_leave_no_zombies() {
    on_every_process_model(Cell::Works, |pair| {
        let server = Server::start(pair, "http", &[]);
        for _ in 0..40 {
            let mut http = Http::connect(server.addr);
            http.write(get_and_close("/bytes/10"));
            assert_eq!(http.reply().status, 200);
        }
        until("no zombie is left", || server.processes().iter().all(|process| process.state != 'Z'));
        server.stop().check_connections();
    });
}

#[test]
fn a_worker_that_is_killed_is_replaced() {
    on_every_process_model(Cell::Works, |pair| {
        let args: &[&str] = if pair.has_process_per_connection() { &[] } else { &["--workers", "4"] };
        let server = Server::start(pair, "http", args);
        let mut connections = connections(&server);
        let workers = |server: &Server| {
            let root = server.processes().first().map_or(0, |process| process.pid);
            server
                .processes()
                .into_iter()
                .filter(move |process| process.parent == root && process.state != 'Z')
        };
        let killed: Vec<_> = workers(&server).collect();
        assert!(!killed.is_empty());
        killed.iter().for_each(|worker| send(worker.pid, Signal::KILL));
        until("they are replaced", || {
            workers(&server).filter(|new| killed.iter().all(|old| old.pid != new.pid)).count() == killed.len()
        });
        for _ in 0..10 {
            assert_eq!(Http::connect(server.addr).get("/bytes/1000").body.len(), 1000);
        }
        connections.iter_mut().for_each(|connection| {
            read_to_end(&mut connection.0);
        });
        until("no zombie is left", || server.processes().iter().all(|process| process.state != 'Z'));
        // Those that were killed took their connections along, which counts as closed.
        server.stop().check_connections();
    });
}

#[test]
fn a_connection_whose_process_is_killed_is_counted_as_closed() {
    on_every_process_model(Cell::Works, |pair| {
        if !matches!(pair.model.as_str(), "fork" | "spawn") {
            return;
        }
        let server = Server::start(pair, "http", &["--max-connections", "2"]);
        for _ in 0..5 {
            let mut http = Http::connect(server.addr);
            assert_eq!(http.get("/bytes/10").status, 200);
            let leaf = server.processes().pop().expect("a process");
            send(leaf.pid, Signal::KILL);
            assert_eq!(read_to_end(&mut http.0), b"");
            until("it leaves no zombie", || leaf.is_gone());
        }
        server.stop().check_connections();
    });
}

#[test]
fn ctrl_c_reaches_all_processes_and_still_finishes_what_is_in_flight() {
    on_every_pair(Cell::Works, |pair| {
        let mut command = serve(pair, "blob", &[]);
        command.process_group(0);
        let server = Server::run(command);
        let mut stream = connect_narrow(server.addr);
        std::io::Write::write_all(&mut stream, b"GET 16777216\n").expect("the server reads");
        expect_pattern(&mut stream, 1, 1, |_| ());
        let group = Pid::from_raw(server.processes()[0].pid).expect("a process number");
        kill_process_group(group, Signal::INT).expect("the group is there");
        assert_eq!(read_to_end(&mut stream).len(), (16 << 20) - 1);
        let ended = server.end();
        assert_eq!((ended.stats["forced"].as_bool(), ended.count("/requests")), (Some(false), 1));
        ended.check_connections();
    });
}
