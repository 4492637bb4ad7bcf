//! Files through every disk engine: right bytes, bounded memory, honest failures, nothing left behind.

use std::fs::OpenOptions;
use std::io::Read;
use std::process::Command;
use std::sync::OnceLock;

use pitot_disk::{BufferPool, DiskFile, EngineOptions, FileOptions, PAGE};
use pitot_needs::needs;
use pitot_proto::pattern_at;
use rustix::process::Signal;

use super::client::{check_pattern, connect_narrow, expect_pattern, read_to_end};
use super::http::{Http, get};
use super::pairs::{Cell, Pair, on_these, usable};
use super::procfs::Process;
use super::server::{Server, serve};
use super::site::Site;
use crate::support::{PITOT, stderr, until};

const MIB: u64 = 1 << 20;

/// The pairs that are tested with every engine.
const PAIRS: &[(&str, &str)] =
    &[("loop", "epoll-et"), ("loop", "epoll-lt"), ("hybrid", "epoll-et"), ("relay", "epoll-et")];
/// Those that are tested with some: each loop, and each way to share work.
const MORE_PAIRS: &[(&str, &str)] = &[
    ("loop", "poll"),
    ("loop", "select"),
    ("loop", "sigio"),
    ("loop", "uring"),
    ("loops", "epoll-et"),
    ("handoff", "epoll-lt"),
    ("preloop", "epoll-et"),
    ("hybrid", "epoll-lt"),
    ("relay", "epoll-lt"),
    ("relay", "poll"),
    ("relay", "sigio"),
    ("thread", "blocking"),
    ("pool", "blocking"),
    ("fork", "blocking"),
    ("spawn", "blocking"),
    ("tokio", "epoll-et"),
];

/// An engine as it is asked for on the command line.
#[derive(Clone, Copy, Debug)]
struct Engine(&'static [&'static str]);

const ENGINES: &[Engine] = &[
    // One of each kind, for all pairs.
    Engine(&["pread"]),
    Engine(&["pool"]),
    Engine(&["pool-sendfile"]),
    Engine(&["uring"]),
    // The others.
    Engine(&["mmap"]),
    Engine(&["mmap", "--disk-mincore"]),
    Engine(&["sendfile"]),
    Engine(&["pool", "--disk-notify", "pipe"]),
    Engine(&["nowait"]),
    Engine(&["posix-aio-signal", "--disk-descriptor-per-slot"]),
    Engine(&["posix-aio-thread"]),
    Engine(&["posix-aio-poll"]),
    Engine(&["linux-aio"]),
];
/// How many of them are for all pairs.
const KINDS: usize = 4;

fn args<'a>(root: &'a str, engine: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mut args = vec!["--root", root, "--disk"];
    args.extend(engine.split(' '));
    args.extend(more);
    args
}

/// The cells that the program does not refuse; a refusal has two lines and exit code 2.
fn cells() -> &'static [(&'static Pair, String)] {
    static CELLS: OnceLock<Vec<(&'static Pair, String)>> = OnceLock::new();
    CELLS.get_or_init(|| {
        let site = Site::new();
        let is_refused = |pair: &Pair, engine: &str| {
            // An address that no host has: what gets so far is not refused for its engine.
            let output =
                serve(pair, "http", &args(&site.root(), engine, &["--listen", "192.0.2.1:0"])).output();
            let output = output.expect("the program runs");
            let said = stderr(&output).to_owned();
            assert_eq!((output.status.code(), said.lines().count()), (Some(2), 2), "{pair} {engine}: {said}");
            !said.contains("192.0.2.1")
        };
        let usable_of = |pairs: &[(&str, &str)]| -> Vec<&'static Pair> {
            let is_one = |pair: &&Pair| pairs.contains(&(&pair.model, &pair.mechanism));
            usable().iter().filter(is_one).collect()
        };
        let with = |pairs: Vec<&'static Pair>, engines: &'static [Engine]| {
            let cell = |pair| engines.iter().map(move |Engine(args)| (pair, args.join(" ")));
            pairs.into_iter().flat_map(cell)
        };
        let all = with(usable_of(PAIRS), ENGINES).chain(with(usable_of(MORE_PAIRS), &ENGINES[..KINDS]));
        all.filter(|(pair, engine)| !is_refused(pair, engine) && is_admitted(&site, engine)).collect()
    })
}

/// Whether the engine can read files where the site is. A server starts only then.
fn is_admitted(site: &Site, engine: &str) -> bool {
    let name = engine.split(' ').next().expect("a name");
    let (options, pool) = (EngineOptions::default(), BufferPool::new(1, PAGE).expect("a buffer"));
    let engine = (pitot_disk::find(name).expect("an engine").open)(&options, &pool);
    let file = DiskFile::open(&site.path("small.txt"), &FileOptions::default()).expect("the file");
    engine.is_ok_and(|engine| engine.admit(&file).is_ok())
}

#[needs("nowait-reads")]
#[test]
fn every_engine_is_tried_where_the_file_system_admits_it() {
    let is_tried = |Engine(args): &Engine| cells().iter().any(|(_, engine)| *engine == args.join(" "));
    assert!(ENGINES.iter().all(is_tried), "{:?}", cells());
}

/// Runs a test with every pair and every engine that goes with it.
fn on_every_engine(test: impl Fn(&Pair, &str) + Sync) {
    on_engines_of(Cell::Works, |_| true, test);
}

/// The same with some of the pairs.
fn on_engines_of(cell: Cell, is_one: impl Fn(&Pair) -> bool, test: impl Fn(&Pair, &str) + Sync) {
    let these = cells().iter().filter(|(pair, _)| is_one(pair));
    let names = these.map(|(pair, engine)| (format!("{pair} {engine}"), (*pair, engine.as_str())));
    on_these(cell, names.collect(), |(pair, engine)| test(pair, engine));
}

/// Whether its model has a way of its own to read files for connections. The workers of the others run one of these loops.
fn has_own_loop(pair: &Pair) -> bool {
    matches!(pair.model.as_str(), "loop" | "hybrid" | "relay" | "thread")
}

/// The sizes around every boundary that matters: blocks, pages, nothing.
const SIZES: &[u64] = &[0, 1, 4095, 65_536, 131_073, MIB];

fn sized(site: &Site) {
    for &size in SIZES {
        let bytes: Vec<u8> = (0..size).map(pattern_at).collect();
        std::fs::write(site.path(&format!("{size}.bin")), bytes).expect("a file");
    }
}

fn check_body(body: &[u8], from: u64, len: u64, what: &str) {
    assert_eq!(body.len() as u64, len, "{what}");
    check_pattern(from, body);
}

#[test]
fn every_engine_serves_correct_files_and_leaves_nothing_behind() {
    let site = Site::new();
    sized(&site);
    on_every_engine(|pair, engine| {
        let server = Server::start(pair, "http", &args(&site.root(), engine, &[]));
        let warm = || {
            let mut http = Http::connect(server.addr);
            assert_eq!(http.get("/1.bin").status, 200);
        };
        (0..4).for_each(|_| warm());
        let used = |server: &Server| {
            let processes = server.processes();
            let threads: usize = processes.iter().map(Process::threads).sum();
            let sockets: usize = processes.iter().map(Process::sockets).sum();
            (processes.len(), threads, sockets)
        };
        let mut http = Http::connect(server.addr);
        for &size in SIZES {
            let reply = http.get(&format!("/{size}.bin"));
            assert_eq!(reply.status, 200);
            check_body(&reply.body, 0, size, "whole");
        }
        for (from, to) in [(0, 0), (1, 131_072), (100_000, 1_048_575), (1_048_575, 1_048_575)] {
            http.write(format!(
                "GET /1048576.bin HTTP/1.1\r\nHost: test\r\nRange: bytes={from}-{to}\r\n\r\n"
            ));
            let reply = http.reply();
            assert_eq!(reply.status, 206);
            check_body(&reply.body, from, to - from + 1, "range");
        }
        http.write("HEAD /1048576.bin HTTP/1.1\r\nHost: test\r\n\r\n");
        assert_eq!(http.reply_to_head().field("content-length"), Some("1048576"));
        // Pipelined, with other replies between.
        let names = ["/65536.bin", "/nothing", "/1.bin", "/bytes/70000", "/131073.bin", "/0.bin"];
        http.write(names.repeat(3).iter().map(|name| get(name)).collect::<String>());
        for name in names.repeat(3) {
            let reply = http.reply();
            match name {
                "/nothing" => assert_eq!(reply.status, 404),
                "/bytes/70000" => check_body(&reply.body, 0, 70_000, name),
                _ => check_body(&reply.body, 0, name[1..name.len() - 4].parse().expect("a size"), name),
            }
        }
        drop(http);
        // Several at once, and some that go away in the middle.
        std::thread::scope(|scope| {
            for i in 0..6 {
                let addr = server.addr;
                scope.spawn(move || {
                    let mut http = Http::connect(addr);
                    if i % 3 == 2 {
                        http.ask("/large.bin");
                        http.0.read_exact(&mut [0; 1000]).expect("the start of a reply");
                        return;
                    }
                    for _ in 0..3 {
                        check_body(&http.get("/1048576.bin").body, 0, MIB, "one of several");
                    }
                });
            }
        });
        let ended = {
            // Only helper threads of the library come and go as they like.
            if !engine.starts_with("posix-aio") {
                let before = used(&server);
                until("threads and sockets are what they were", || {
                    let now = used(&server);
                    now.0 <= before.0 && now.1 <= before.1 && now.2 <= before.2
                });
            }
            server.stop()
        };
        ended.check_connections();
        assert_eq!(ended.count("/errors/file_failed") + ended.count("/errors/file_truncated"), 0);
    });
}

#[test]
fn a_slow_reader_of_a_large_file_takes_little_memory_and_delays_no_others() {
    let site = Site::new();
    sized(&site);
    on_engines_of(Cell::Waits, has_own_loop, |pair, engine| {
        // So little memory that slow readers have to give theirs back.
        let server = Server::start(pair, "http", &args(&site.root(), engine, &["--disk-depth", "4"]));
        let mut other = Http::connect(server.addr);
        (0..5).for_each(|_| check_body(&other.get("/1048576.bin").body, 0, MIB, "warm"));
        // A file that an engine has mapped is memory that the kernel may take back.
        let anonymous =
            |server: &Server| server.processes().iter().map(Process::anonymous_bytes).sum::<u64>();
        let before = anonymous(&server);
        let mut slow: Vec<_> = (0..12).map(|_| Http::on(connect_narrow(server.addr))).collect();
        for http in &mut slow {
            http.ask("/large.bin");
            assert_eq!(http.reply_to_head().status, 200);
        }
        (0..5).for_each(|_| check_body(&other.get("/1048576.bin").body, 0, MIB, "beside slow ones"));
        let more = anonymous(&server).saturating_sub(before);
        assert!(more < 12 * MIB, "{} KiB more for 12 slow readers", more >> 10);
        let mut last = slow.pop().expect("a connection");
        expect_pattern(&mut last.0, super::site::LARGE_BYTES, 1 << 16, |_| ());
        drop((slow, last, other));
        server.stop().check_connections();
    });
}

#[test]
fn a_file_truncated_while_it_is_served_ends_the_connection_and_not_the_server() {
    on_engines_of(Cell::Waits, has_own_loop, |pair, engine| {
        let site = Site::new();
        let server = Server::start(pair, "http", &args(&site.root(), engine, &[]));
        let mut http = Http::on(connect_narrow(server.addr));
        http.ask("/large.bin");
        let head = http.reply_to_head();
        let promised: usize = head.field("content-length").expect("a length").parse().expect("a number");
        let mut body = vec![0; 1 << 20];
        http.0.read_exact(&mut body).expect("the start");
        let file = OpenOptions::new().write(true).open(site.path("large.bin")).expect("a file");
        file.set_len(MIB / 2 + 77).expect("a truncation");
        body.extend(read_to_end(&mut http.0));
        assert!(body.len() < promised, "{} bytes of {promised}", body.len());
        // What sendfile(2) has put into the socket are the file's own pages, of which the truncation cuts the last: the
        // client sees zeros there, and that the reply is not whole.
        if !engine.contains("sendfile") {
            check_pattern(0, &body);
        }
        let mut http = Http::connect(server.addr);
        assert_eq!(http.get("/small.txt").status, 200);
        drop(http);
        let ended = server.stop();
        ended.check_connections();
        assert_eq!(ended.count("/errors/file_truncated"), 1, "{}", ended.stats);
    });
}

#[test]
fn a_file_that_is_gone_before_its_reply_starts_is_an_error_and_no_reply_of_a_right_length() {
    let engines = ["pread", "mmap", "nowait", "pool", "uring", "posix-aio-signal", "linux-aio"];
    let site = Site::new();
    let engines = engines.into_iter().filter(|engine| is_admitted(&site, engine));
    let cells = engines.map(|engine| (engine.to_owned(), engine));
    on_these(Cell::Waits, cells.collect(), |engine| {
        let site = Site::new();
        let server = start_with_old_length(&site, engine, 0);
        let mut http = Http::connect(server.addr);
        http.ask("/large.bin");
        let reply = http.reply();
        assert_eq!((reply.status, reply.closes()), (500, true));
    });
}

/// Starts a server that believes a file to have its old length: it is open, and is not looked at again.
fn start_with_old_length(site: &Site, engine: &str, now: u64) -> Server {
    let pair = Pair::named("loop", "epoll-et");
    let server = Server::start(&pair, "http", &args(&site.root(), engine, &["--file-cache-time", "1h"]));
    let file = OpenOptions::new().write(true).open(site.path("large.bin")).expect("a file");
    file.set_len(MIB).expect("a length");
    let mut http = Http::connect(server.addr);
    http.write("HEAD /large.bin HTTP/1.1\r\nHost: test\r\n\r\n");
    assert_eq!(http.reply_to_head().field("content-length"), Some(&*MIB.to_string()));
    file.set_len(now).expect("a truncation");
    server
}

#[test]
fn a_file_that_was_cut_before_its_reply_starts_ends_the_connection_at_once() {
    // The engine sends all that is left of it, which fills no socket: no event would follow.
    let engines = ["sendfile", "pool-sendfile", "pread", "pool", "uring"];
    let cells = engines.map(|engine| (engine.to_owned(), engine));
    on_these(Cell::Waits, cells.to_vec(), |engine| {
        let site = Site::new();
        let server = start_with_old_length(&site, engine, 5000);
        let mut http = Http::connect(server.addr);
        // From here on the loop watches it: to watch it again would report that it takes more.
        assert_eq!(http.get("/small.txt").status, 200);
        http.ask("/large.bin");
        assert_eq!(http.reply_to_head().field("content-length"), Some(&*MIB.to_string()));
        assert_eq!(read_to_end(&mut http.0).len(), 5000);
    });
}

#[test]
fn engines_that_make_no_sense_are_refused() {
    let site = Site::new();
    let root = site.root();
    for (model, mechanism, engine) in [
        ("loop", "uring", "pool"),
        ("thread", "blocking", "pool"),
        ("fork", "blocking", "uring"),
        ("tokio", "epoll-et", "pread"),
        ("loop", "sigio", "uring"),
        ("loop", "sigio", "pool --disk-notify eventfd"),
        ("loop", "epoll-et", "pread --disk-mincore"),
        ("loop", "epoll-et", "nowait --disk-direct"),
        ("loop", "epoll-et", "pool --keep-files 1KiB"),
        ("relay", "epoll-et", "pool-sendfile"),
        ("loop", "epoll-et", "pool --links 2"),
        ("loop", "epoll-et", "pol"),
    ] {
        let mut command = serve(&Pair::named(model, mechanism), "http", &args(&root, engine, &[]));
        let output = command.output().expect("the program runs");
        let said = stderr(&output);
        assert_eq!((output.status.code(), said.lines().count()), (Some(2), 2), "{engine}: {said}");
    }
    let mut command = Command::new(PITOT);
    let output = command.args(["serve", "http", "--disk", "pool"]).output().expect("the program runs");
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}

#[test]
fn a_server_that_is_stopped_while_its_disk_works_ends_cleanly() {
    let site = Site::new();
    let has_loop = |pair: &Pair| matches!(pair.model.as_str(), "loop" | "hybrid");
    on_engines_of(Cell::Waits, has_loop, |pair, engine| {
        let server = Server::start(pair, "http", &args(&site.root(), engine, &["--grace", "300ms"]));
        let mut slow: Vec<_> = (0..4).map(|_| Http::on(connect_narrow(server.addr))).collect();
        slow.iter_mut().for_each(|http| http.ask("/large.bin"));
        slow.iter_mut().for_each(|http| assert_eq!(http.reply_to_head().status, 200));
        server.signal(Signal::TERM);
        let ended = server.end();
        ended.check_connections();
        assert_eq!(ended.count("/errors/cut_at_stop"), 4);
    });
}
