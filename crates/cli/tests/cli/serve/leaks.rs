//! After a storm the server is what it was before.

use std::io::{Read, Write};

use super::client::{connect, reset};
use super::http::{Http, get, get_and_close};
use super::many_connections::misbehaving;
use super::pairs::{Cell, Pair, on_every_pair};
use super::procfs::Process;
use super::server::Server;
use super::site::Site;
use crate::support::until_ok;

/// Storms at most: what is kept for reuse and what each worker opens once is there after a few of them.
const STORMS: usize = 20;
/// What one of them may leave in memory, which is less than a few KiB of each of its connections.
const GROWTH_BYTES: u64 = 64 << 10;

fn args<'a>(pair: &Pair, root: &'a str) -> Vec<&'a str> {
    let mut args = vec!["--root", root];
    // Few workers, so that a storm reaches each.
    if pair.serves_one_connection_per_worker() {
        args.extend(["--workers", "16"]);
    }
    // One thread from the start: others would be started by a storm and stay.
    if pair.model == "relay" {
        args.extend(["--disk", "pool", "--disk-threads", "1"]);
    }
    args
}

/// Every kind of client that there is.
fn storm(server: &Server) {
    let misbehaving = misbehaving(server);
    let mut clients: Vec<Http> = (0..64).map(|_| Http::connect(server.addr)).collect();
    for (i, client) in clients.iter_mut().enumerate() {
        client.write(match i % 4 {
            0 => get_and_close("/small.txt"),
            1 => get_and_close("/bytes/300000"),
            2 => get_and_close("/large.bin"),
            _ => "nonsense\r\n\r\n".to_owned(),
        });
    }
    for (i, mut client) in clients.into_iter().enumerate() {
        match i % 4 {
            // Goes away in the middle of the reply.
            2 => {
                client.0.read_exact(&mut [0; 100]).expect("a part of a reply");
                reset(client.0.into_inner());
            }
            _ => assert_eq!(client.reply().status, if i % 4 == 3 { 400 } else { 200 }),
        }
    }
    for _ in 0..16 {
        let mut stream = connect(server.addr);
        stream.write_all(get("/small.txt").as_bytes()).expect("the server reads");
        reset(stream);
    }
    misbehaving.into_iter().for_each(reset);
}

#[test]
fn storms_leave_neither_descriptors_nor_processes_nor_memory() {
    let site = Site::new();
    on_every_pair(Cell::Works, |pair| {
        let root = site.root();
        let server = Server::start(pair, "http", &args(pair, &root));
        let before = Used::by(&server);
        let files_before = descriptors(&server);
        let mut memory = vec![0];
        let grows = |memory: &[u64]| memory.windows(2).all(|two| two[1] > two[0] + GROWTH_BYTES);
        while grows(&memory) {
            assert!(memory.len() <= STORMS, "memory grows with every storm: {memory:?}");
            storm(&server);
            until_ok("the server uses as little as before", || Used::by(&server).at_most(&before));
            memory.push(server.memory_bytes());
        }
        // The files that a worker has opened stay open.
        let files = descriptors(&server) - files_before;
        assert!(files <= 64, "{files} descriptors more");
        server.stop().check_connections();
    });
}

/// What a server at rest uses.
#[derive(Debug)]
struct Used {
    processes: usize,
    threads: usize,
    sockets: usize,
}

impl Used {
    /// Itself, if it is more than before.
    fn at_most(self, before: &Used) -> Result<(), Used> {
        let at_most = self.processes <= before.processes
            && self.threads <= before.threads
            && self.sockets <= before.sockets;
        if at_most { Ok(()) } else { Err(self) }
    }

    fn by(server: &Server) -> Used {
        let processes = server.processes();
        Used {
            processes: processes.len(),
            threads: processes.iter().map(Process::threads).sum(),
            sockets: processes.iter().map(Process::sockets).sum(),
        }
    }
}

fn descriptors(server: &Server) -> usize {
    server.processes().iter().map(Process::descriptors).sum()
}
