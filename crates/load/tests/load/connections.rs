//! The number and the life of connections, as the server counts them.

use std::io::Read;
use std::net::TcpListener;
use std::sync::atomic::Ordering;
use std::time::Duration;

use pitot_meter::Nanos;

use crate::server::{Script, Server};
use crate::{options, report, with_each_engine};

#[test]
fn each_connection_carries_as_many_requests_as_asked() {
    with_each_engine(|engine| {
        for (per_connection, connections) in [(1, 100), (7, 15), (100, 1)] {
            let server = Server::start(Script::default());
            let mut options = options(server.url(), engine);
            options.workload.connections = 1;
            options.workload.requests_per_connection = Some(per_connection);
            options.requests = Some(100);
            let report = report(&options);
            assert_eq!((server.requests(), server.connections()), (100, connections));
            assert_eq!(report.result.requests.ok, 100);
            assert_eq!(report.result.connections.opened, connections);
            assert_eq!(report.result.latency_ns.connect.count, connections);
        }
    });
}

#[test]
fn a_connection_that_the_server_ends_after_each_reply_is_opened_again() {
    with_each_engine(|engine| {
        let server = Server::start(Script { close_after_answer: true, ..Script::default() });
        let mut options = options(server.url(), engine);
        options.workload.connections = 2;
        options.workload.requests_per_connection = Some(1);
        options.requests = Some(50);
        let report = report(&options);
        assert_eq!(
            (report.result.requests.ok, report.result.error_count(), server.connections()),
            (50, 0, 50)
        );
    });
}

#[test]
fn a_server_that_keeps_no_connection_is_said_to_do_so() {
    let summary = |closes| {
        let server = Server::start(Script { close_after_answer: closes, ..Script::default() });
        let mut options = options(server.url(), "epoll");
        options.requests = Some(30);
        pitot_load::output::summary(&report(&options), pitot_load::output::Detail::default())
    };
    let (closing, keeping) = (summary(true), summary(false));
    assert!(closing.contains("the server closes its connections, after 1."), "{closing}");
    assert!(!keeping.contains("closes its connections"), "{keeping}");
}

#[test]
fn idle_connections_are_open_and_send_nothing() {
    with_each_engine(|engine| {
        let server = Server::start(Script::default());
        let mut options = options(server.url(), engine);
        options.workload.connections = 2;
        options.workload.idle = 30;
        options.threads = Some(2);
        options.pacing.rate = Some(100.0);
        options.duration = Some(Nanos::from_millis(500));
        let report = report(&options);
        assert_eq!(server.seen.open_peak.load(Ordering::SeqCst), 32);
        let c = &report.result.connections;
        assert_eq!((c.requested, c.peak_open, c.trickled), (32, 32, 0));
        assert!((c.mean_open - 32.0).abs() < 0.01, "{}", c.mean_open);
        assert_eq!(server.requests(), 50);
    });
}

#[test]
fn a_trickle_is_sent_and_counted_separately() {
    with_each_engine(|engine| {
        let server = Server::start(Script::default());
        let mut options = options(server.url(), engine);
        options.workload.connections = 0;
        options.workload.idle = 5;
        options.workload.idle_trickle = Some(Nanos::from_millis(50));
        options.duration = Some(Nanos::from_millis(500));
        let report = report(&options);
        assert_eq!(report.result.requests.attempted, 0);
        assert_eq!(report.result.latency_ns.response.count, 0);
        assert!(report.result.connections.trickled >= 5, "{}", report.result.connections.trickled);
        assert_eq!(report.result.connections.trickled, server.requests());
    });
}

#[test]
fn churn_replaces_connections_at_its_rate_while_requests_go_on() {
    with_each_engine(|engine| {
        let server = Server::start(Script { delay: Duration::from_millis(1), ..Script::default() });
        let mut options = options(server.url(), engine);
        // As many as are replaced, so that none is due again while a slow machine still opens it: that replaces nothing.
        options.workload.connections = 40;
        options.workload.churn = Some(80.0);
        options.duration = Some(Nanos::from_millis(500));
        let report = report(&options);
        let reopened = report.result.connections.reopened;
        assert!((30..=40).contains(&reopened), "{reopened}");
        assert_eq!(report.result.error_count(), 0);
        // The server may have accepted the one that the end of the run cut: the load counts what it saw established.
        let accepted = server.connections();
        assert!((40 + reopened..=80).contains(&accepted), "{accepted} accepted, {reopened} reopened");
    });
}

#[test]
fn a_storm_ends_when_all_connections_are_established() {
    with_each_engine(|engine| {
        let server = Server::start(Script::default());
        let mut options = options(server.url(), engine);
        options.workload.connections = 200;
        options.workload.storm = true;
        let report = report(&options);
        let storm = report.result.storm.unwrap();
        assert_eq!((storm.requested, storm.established), (200, 200));
        assert!(storm.established_s > 0.0 && storm.established_s <= report.result.duration_s + 0.001);
        assert_eq!(report.result.latency_ns.connect.count, 200);
        assert_eq!(report.result.connections.peak_open, 200);
        assert!(report.is_success());
    });
}

#[test]
fn thinking_connections_pause_between_requests() {
    with_each_engine(|engine| {
        let server = Server::start(Script::default());
        let mut options = options(server.url(), engine);
        options.workload.connections = 5;
        options.pacing.think = Some(Nanos::from_millis(50));
        options.duration = Some(Nanos::from_millis(500));
        let report = report(&options);
        // Each begins within the first pause and can make ten requests at the most.
        assert!((5..=50).contains(&report.result.requests.attempted), "{}", report.result.requests.attempted);
        assert_eq!(report.result.requests.attempted, server.requests());
    });
}

#[test]
fn pipelined_requests_are_all_answered() {
    with_each_engine(|engine| {
        let server = Server::start(Script::default());
        let mut options = options(server.url(), engine);
        options.workload.connections = 3;
        options.pipeline = 8;
        options.requests = Some(1000);
        let report = report(&options);
        assert_eq!((report.result.requests.ok, server.requests(), server.connections()), (1000, 1000, 3));
    });
}

#[test]
fn weighted_paths_and_bodies_reach_the_server() {
    with_each_engine(|engine| {
        let server = Server::start(Script::default());
        let mut options = options(server.url(), engine);
        options.method = Some("POST".into());
        options.body = Some("hello".into());
        options.paths = vec!["/often=9".into(), "/seldom=1".into()];
        options.requests = Some(500);
        assert_eq!(report(&options).result.requests.ok, 500);
        let lines = server.seen.lines.lock().unwrap();
        let seldom = lines.iter().filter(|l| *l == "POST /seldom HTTP/1.1").count();
        let often = lines.iter().filter(|l| *l == "POST /often HTTP/1.1").count();
        assert_eq!(often + seldom, 500);
        assert!((20..90).contains(&seldom), "{seldom}");
    });
}

#[test]
fn a_large_body_is_sent_whole_to_a_server_that_reads_late() {
    with_each_engine(|engine| {
        let server = Server::start(Script { delay: Duration::from_millis(1), ..Script::default() });
        let mut options = options(server.url(), engine);
        options.method = Some("POST".into());
        options.body = Some("x".repeat(8 << 20));
        options.workload.connections = 2;
        options.requests = Some(6);
        options.timeout = Nanos::from_secs(30);
        let report = report(&options);
        assert_eq!((report.result.requests.ok, server.requests()), (6, 6), "{:?}", report.result.errors);
        assert!(report.result.bytes.sent > 6 * (8 << 20));
    });
}

#[test]
fn a_server_that_accepts_and_closes_is_not_hammered() {
    with_each_engine(|engine| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let accepted = std::sync::Arc::new(std::sync::atomic::AtomicU64::new(0));
        let counter = std::sync::Arc::clone(&accepted);
        let acceptor = std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if counter.fetch_add(1, Ordering::SeqCst) == u64::MAX >> 1 {
                    break;
                }
                drop(stream);
            }
        });
        let mut options = options(format!("http://{address}/"), engine);
        options.workload.connections = 1;
        options.duration = Some(Nanos::from_millis(500));
        let report = report(&options);
        // The pauses double from 10 ms: 10, 20, 40, 80, 160, 320.
        assert!((2..20).contains(&accepted.load(Ordering::SeqCst)), "{accepted:?}");
        assert!(report.result.error_count() > 0);
        accepted.store(u64::MAX >> 1, Ordering::SeqCst);
        let mut last = std::net::TcpStream::connect(address).unwrap();
        let _ = last.read(&mut [0]);
        acceptor.join().unwrap();
    });
}

#[test]
fn connections_come_from_all_sources_in_turn() {
    with_each_engine(|engine| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let acceptor = std::thread::spawn(move || {
            // They are kept open: a storm is over when all are open at the same time.
            (0..6).map(|_| listener.accept().unwrap()).collect::<Vec<_>>()
        });
        let mut options = options(format!("http://{address}/"), engine);
        options.workload.connections = 6;
        options.workload.storm = true;
        options.source = Some("127.0.0.8/30".into());
        report(&options);
        let accepted = acceptor.join().unwrap();
        let of = |source: &str| accepted.iter().filter(|(_, from)| from.ip().to_string() == source).count();
        assert_eq!((of("127.0.0.9"), of("127.0.0.10")), (3, 3));
    });
}
