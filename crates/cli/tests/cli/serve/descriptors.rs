//! When no descriptor is left: those who are served are served on, the others wait or are closed, and no CPU time is
//! spent on them.

use std::io::Write;
use std::thread;
use std::time::Duration;

use super::client::{Fate, fate};
use super::http::{Http, get};
use super::pairs::{Cell, Pair, on_every_pair, on_these};
use super::server::{Server, serve, with_address_space};
use super::site::Site;
use crate::support::until;

const DESCRIPTORS: u32 = 40;
const CLIENTS: usize = 80;
/// Enough to show that a server does not give up at its limit.
const SERVED_MIN: usize = 8;

/// How long the server is watched, and the CPU time that it may take meanwhile. One that spins takes all of it.
const WATCHED: Duration = Duration::from_millis(250);
const CPU_MAX: Duration = Duration::from_millis(70);

#[test]
fn without_descriptors_the_server_serves_on_without_spinning_and_recovers() {
    on_every_pair(Cell::Waits, |pair| {
        let server = Server::start_with_descriptors(pair, "http", DESCRIPTORS, &[]);
        let mut clients: Vec<Http> = (0..CLIENTS).map(|_| Http::connect(server.addr)).collect();
        clients.iter_mut().for_each(|client| client.ask("/bytes/100"));
        let answered = |client: &Http| fate(client.stream()) == Fate::Answered;
        until("some are served", || clients.iter().filter(|client| answered(client)).count() >= SERVED_MIN);

        let before = server.cpu();
        thread::sleep(WATCHED);
        let spent = server.cpu().saturating_sub(before);
        assert!(spent < CPU_MAX, "{spent:?} of CPU time in {WATCHED:?}");

        // A connection that is served stays so; but a worker for one connection may let go of an idle one for those who wait.
        let (mut served, mut waiting): (Vec<_>, Vec<_>) = clients.into_iter().partition(answered);
        for client in &mut served {
            assert_eq!(client.reply().body.len(), 100);
            if !pair.serves_one_connection_per_worker() {
                assert_eq!(client.get("/bytes/200").body.len(), 200);
            }
        }
        // When connections are closed the others are served, unless they were closed too.
        drop(served);
        until("everybody is served or closed", || {
            waiting.retain_mut(|client| match fate(client.stream()) {
                Fate::Waiting => true,
                Fate::Closed => false,
                Fate::Answered => {
                    assert_eq!(client.reply().body.len(), 100);
                    false
                }
            });
            waiting.is_empty()
        });
        assert_eq!(Http::connect(server.addr).get("/bytes/300").body.len(), 300);
        let ended = server.stop();
        ended.check_connections();
        // It is said once, and neither by each process nor for each accept.
        let said =
            ended.warnings.iter().filter(|line| line.contains("wait in the listen queue")).count() as u64;
        let failed = ended.count("/errors/accept_failed");
        assert_eq!(said, failed.min(1), "{failed} failed: {:?}", ended.warnings);
    });
}

#[test]
fn where_no_more_threads_can_be_started_connections_are_closed_and_the_server_goes_on() {
    let pair = Pair::named("thread", "blocking");
    let server = Server::run(with_address_space(400_000, &serve(&pair, "http", &[])));
    let mut clients: Vec<Http> = Vec::new();
    let is_closed = |client: &Http| fate(client.stream()) == Fate::Closed;
    until("one is closed", || {
        clients.extend((0..50).map(|_| Http::connect(server.addr)));
        clients.iter().any(is_closed)
    });
    let mut served = clients.into_iter().find(|client| !is_closed(client)).expect("some are served");
    assert_eq!(served.get("/bytes/100").body.len(), 100);
    drop(served);
    let ended = server.stop();
    ended.check_connections();
    assert!(ended.count("/errors/shed") > 0);
    let said = ended.warnings.iter().filter(|line| line.contains("cannot start a thread")).count();
    assert_eq!(said, 1, "{:?}", ended.warnings);
}

#[test]
fn files_have_descriptors_when_connections_have_taken_the_rest() {
    let pairs = [("loop", "epoll-et"), ("hybrid", "epoll-lt"), ("thread", "blocking"), ("tokio", "epoll-et")];
    let pairs = pairs.map(|(model, mechanism)| Pair::named(model, mechanism));
    on_these(Cell::Works, pairs.iter().map(|pair| (pair.to_string(), pair)).collect(), |pair| {
        let site = Site::new();
        // Nothing is kept in memory, so that every file needs a descriptor of its own.
        let args = ["--root", &site.root(), "--keep-files", "0"];
        let server = Server::start_with_descriptors(pair, "http", 100, &args);
        let mut clients: Vec<Http> = (0..150).map(|_| Http::connect(server.addr)).collect();
        // What is sent to one that is closed is answered by a reset.
        clients.iter_mut().for_each(|client| {
            let _ = client.stream().write_all(get("/large.bin").as_bytes());
        });
        until("everybody is answered or sent away", || {
            clients.iter().all(|client| fate(client.stream()) != Fate::Waiting)
        });
        let answered: Vec<_> =
            clients.iter_mut().filter(|client| fate(client.stream()) == Fate::Answered).collect();
        // Where half of the descriptors are for files, half of the rest may go to files too: those of connections that are
        // served while others still arrive.
        assert!((20..100).contains(&answered.len()), "{} were answered", answered.len());
        for client in answered {
            assert_eq!(client.reply_to_head().status, 200);
        }
        drop(clients);
        let ended = server.stop();
        assert_eq!((ended.count("/errors/replies_5xx"), ended.count("/errors/accept_failed")), (0, 0));
        assert!(ended.count("/errors/shed") >= 50, "{}", ended.stats);
        assert!(ended.warnings.concat().contains("ulimit -n"), "{:?}", ended.warnings);
    });
}
