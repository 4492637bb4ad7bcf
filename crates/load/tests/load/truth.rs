//! What other load generators get wrong and this one must not, each tested against a server that knows what it did.

use std::net::TcpListener;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use pitot_load::Report;
use pitot_meter::{Histogram, Nanos};
use pitot_results::VerdictKind;

use crate::server::{Act, BODY, Freeze, PAUSE, Script, Server};
use crate::{options, report, with_each_engine};

fn error_rows(report: &Report) -> Vec<(String, String, u64)> {
    let mut rows: Vec<_> =
        report.result.errors.iter().map(|e| (e.phase.clone(), e.kind.clone(), e.count)).collect();
    rows.sort();
    rows
}

fn assert_accounts_balance(report: &Report) {
    let r = &report.result.requests;
    assert_eq!(r.attempted, r.completed + r.failed + r.cut, "{r:?}");
    let per_second: u64 = report.result.series.iter().map(|s| s.completed).sum();
    assert_eq!(per_second as f64, (report.result.throughput_rps * report.result.duration_s).round());
    assert_eq!(report.result.latency_ns.service.count, r.completed);
}

#[test]
fn every_error_is_counted_exactly_by_phase_and_kind() {
    use Act::*;
    let mut body = tempfile::NamedTempFile::new().unwrap();
    std::io::Write::write_all(&mut body, BODY.as_bytes()).unwrap();
    let acts = [
        Answer,
        NotFound,
        Reset,
        Answer,
        WrongBytes,
        Close,
        ShortBody,
        Truncate,
        Excess,
        Garbage,
        Silence,
        Answer,
        NotFound,
        Reset,
        Truncate,
        Truncate,
        Close,
        Silence,
        WrongBytes,
        Answer,
        Unavailable,
    ];
    with_each_engine(|engine| {
        let server = Server::start(Script { acts: acts.to_vec(), ..Script::default() });
        let mut options = options(server.url(), engine);
        options.requests = Some(30);
        options.timeout = Nanos::from_millis(400);
        options.expect_body = Some(body.path().to_owned());
        let report = report(&options);
        let expected = [
            ("content", "bytes", 2),
            ("content", "length", 1),
            ("content", "status-404", 2),
            ("content", "status-503", 1),
            ("protocol", "malformed", 1),
            ("protocol", "unasked-bytes", 1),
            ("receive", "ECONNRESET", 2),
            ("receive", "closed", 2),
            ("receive", "truncated", 3),
            ("timeout", "reply", 2),
        ];
        let expected: Vec<_> =
            expected.into_iter().map(|(phase, kind, n)| (phase.to_owned(), kind.to_owned(), n)).collect();
        assert_eq!(error_rows(&report), expected, "{engine}");
        assert_eq!(server.requests(), 30);
        let r = &report.result.requests;
        assert_eq!((r.attempted, r.ok, r.completed, r.failed), (30, 13, 19, 11));
        assert_eq!(report.result.connections.opened, server.connections());
        // What was lost was replaced: once for each failure.
        assert_eq!(report.result.connections.reopened, 11);
        assert_eq!(report.result.connections.closed_by_peer, 7);
        assert_accounts_balance(&report);
        assert!(
            report
                .result
                .errors
                .iter()
                .all(|e| e.first_at_s >= 0.0 && e.first_at_s <= report.result.duration_s)
        );
    });
}

#[test]
fn a_refused_connect_is_an_error_of_the_connect_and_of_no_other_phase() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    with_each_engine(|engine| {
        let mut options = options(format!("http://{closed}/"), engine);
        options.workload.requests_per_connection = Some(1);
        options.requests = Some(5);
        let report = report(&options);
        assert_eq!(error_rows(&report), [("connect".to_owned(), "ECONNREFUSED".to_owned(), 5)]);
        assert_eq!((report.result.requests.attempted, report.result.requests.failed), (5, 5));
        assert_eq!(report.result.connections.connect_failures, 5);
        assert_eq!((report.result.client.verdict, report.is_success()), (Some(VerdictKind::Failed), false));
        assert!(report.result.client.reason.contains("ECONNREFUSED"));
    });
}

#[test]
fn a_number_of_requests_is_given_up_where_nothing_is_answered() {
    with_each_engine(|engine| {
        let server = Server::start(Script { acts: vec![Act::Close; 100_000], ..Script::default() });
        let mut options = options(server.url(), engine);
        options.requests = Some(100_000);
        let report = report(&options);
        let why = report.result.ended_early.clone().unwrap_or_default();
        assert!(why.starts_with("nothing was answered for 10 s, but receive closed"), "{why}");
        assert!(!report.is_success() && report.result.client.reason.contains("receive closed"));
    });
}

#[test]
fn connections_that_never_have_a_reply_are_counted_and_the_run_is_no_success() {
    with_each_engine(|engine| {
        // The first request of six connections is never answered; the other two get all the rest.
        let server = Server::start(Script { acts: vec![Act::Silence; 6], ..Script::default() });
        let mut options = options(server.url(), engine);
        options.workload.connections = 8;
        options.duration = Some(Nanos::from_millis(800));
        let report = report(&options);
        let c = &report.result.connections;
        assert_eq!((c.asked, c.unanswered, report.result.requests.failed), (8, 6, 0));
        assert_eq!((report.result.client.verdict, report.is_success()), (Some(VerdictKind::Failed), false));
        assert!(report.result.client.reason.starts_with("6 of 8 connections never got a reply"));
        let summary = pitot_load::output::summary(&report, pitot_load::output::Detail::default());
        assert!(summary.contains("6 of 8 connections never got a reply"), "{summary}");
    });
}

#[test]
fn what_the_server_refuses_is_shown_in_its_own_words() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut asked = [0; 4096];
            while matches!(std::io::Read::read(&mut stream, &mut asked), Ok(1..))
                && std::io::Write::write_all(&mut stream, b"-NOAUTH Authentication required.\r\n").is_ok()
            {
            }
        }
    });
    let mut options = options(format!("redis://{address}/?keys=10&fill=no"), "epoll");
    options.requests = Some(3);
    let report = report(&options);
    assert_eq!(report.result.server_said.as_deref(), Some("NOAUTH Authentication required."));
    let summary = pitot_load::output::summary(&report, pitot_load::output::Detail::default());
    assert!(summary.contains("the server said: NOAUTH Authentication required."), "{summary}");
}

#[test]
fn conditions_are_on_first_bytes_gaps_and_statuses_too() {
    let server = Server::start(Script::default());
    let mut options = options(server.url(), "epoll");
    options.requests = Some(10);
    options.fail_if =
        ["status 200 >= 10, status 2xx < 100%", "first-byte min > 1us, first-byte p99 > 1h", "gap max > 1s"]
            .map(Into::into)
            .into();
    let report = report(&options);
    let failed: Vec<(&str, bool)> =
        report.result.gates.iter().map(|gate| (&*gate.fail_if, gate.failed)).collect();
    let wanted = [
        ("status 200 >= 10", true),
        ("status 2xx < 100%", false),
        ("first-byte min > 1us", true),
        ("first-byte p99 > 1h", false),
        // Not known, and so not shown to be kept.
        ("gap max > 1s", true),
    ];
    assert_eq!(failed, wanted, "{:?}", report.result.gates);
    assert_eq!(report.result.gates[0].figure, "status 200 is 10");
    assert!(report.result.gates[4].figure.ends_with("each reply came in one piece"));
    assert!(!report.is_success());
}

#[test]
fn a_server_that_is_not_there_ends_the_run_at_once() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    with_each_engine(|engine| {
        let mut options = options(format!("http://{closed}/"), engine);
        options.workload.connections = 10;
        options.duration = Some(Nanos::from_secs(600));
        let report = report(&options);
        assert_eq!(report.result.client.verdict, Some(VerdictKind::Failed));
        assert!(report.result.error_count() >= 10);
    });
}

#[test]
fn timed_out_requests_stay_in_the_distribution_with_their_time() {
    with_each_engine(|engine| {
        let acts: Vec<Act> = (0..10).map(|n| if n % 5 == 4 { Act::Silence } else { Act::Answer }).collect();
        let server = Server::start(Script { acts, ..Script::default() });
        let mut options = options(server.url(), engine);
        options.requests = Some(10);
        options.timeout = Nanos::from_millis(300);
        let report = report(&options);
        assert_eq!(report.result.requests.failed, 2);
        assert_eq!(report.result.latency_ns.response.count, 10);
        assert_eq!(report.result.latency_ns.service.count, 8);
        assert_eq!(report.recorded.response.count_from(Nanos::from_millis(300)), 2);
        assert!(report.result.latency_ns.response.p90 >= 299_000_000);
    });
}

/// The response times of even arrivals, of which the `n`th was answered at the `n`th of these times.
fn expected_times(rate: u64, start: Instant, answered: &[Instant]) -> Histogram {
    let mut histogram = Histogram::new();
    for (n, answer) in answered.iter().enumerate() {
        let due = start + Duration::from_nanos(n as u64 * 1_000_000_000 / rate);
        histogram.record(answer.saturating_duration_since(due).into());
    }
    histogram
}

/// A server that answers in a fixed time and stands still for a second of each period. The response times of an open
/// loop must be those that follow from the schedule and the moments of the answers, although only few connections are
/// there to wait on.
fn stalls_are_seen(engine: &str, seconds: u64, period_s: u64) {
    // A machine that stands still just before the end leaves no time for the last arrivals.
    let whole = (0..5).any(|_| stalls_are_seen_in_a_whole_run(engine, seconds, period_s));
    assert!(whole, "the machine never lets a run end in time");
}

/// False if the run missed arrivals, so that it proves nothing.
fn stalls_are_seen_in_a_whole_run(engine: &str, seconds: u64, period_s: u64) -> bool {
    let (rate, delay) = (1000, Duration::from_millis(2));
    let freeze = Freeze {
        period: Duration::from_secs(period_s),
        from: Duration::from_millis(period_s * 1000 - 1500),
        to: Duration::from_millis(period_s * 1000 - 500),
    };
    let server = Server::start(Script { delay, freeze: Some(freeze), ..Script::default() });
    let (instant, clock) = (Instant::now(), pitot_meter::now());
    let mut options = options(server.url(), engine);
    options.workload.connections = 20;
    options.pacing.rate = Some(rate as f64);
    options.duration = Some(Nanos::from_secs(seconds));
    let report = report(&options);
    let start = instant + Duration::from(Nanos(report.result.clock_ns.start).since(clock));
    let expected = expected_times(rate, start, &server.seen.answered.lock().unwrap());
    let due = (rate * seconds) as i64;
    let arrivals = report.result.requests.attempted + report.result.requests.missed;
    assert!((arrivals as i64 - due).abs() <= 1, "{:?}", report.result.requests);
    assert_accounts_balance(&report);
    if report.result.requests.missed > 0 {
        return false;
    }
    for quantile in [0.9, 0.95, 0.99, 0.999] {
        let (seen, wanted) = (report.recorded.response.at(quantile), expected.at(quantile));
        let ratio = seen.0 as f64 / wanted.0 as f64;
        assert!((0.95..1.05).contains(&ratio), "{engine} p{}: {seen} instead of {wanted}", quantile * 100.0);
    }
    // Service time forgives the stall: only those few requests that were under way show it.
    let service = report.recorded.service.count_from(Nanos::from_millis(100));
    let response = report.recorded.response.count_from(Nanos::from_millis(100));
    assert!(service <= 25 * (seconds / period_s + 1) && response > 10 * service, "{service} {response}");
    true
}

#[test]
fn a_stall_is_in_the_response_times_of_all_that_should_have_been_sent_in_it() {
    with_each_engine(|engine| stalls_are_seen(engine, 4, 2));
}

#[test]
#[ignore = "takes 20 seconds; the shorter one always runs"]
fn a_stall_each_five_seconds_is_seen_over_twenty() {
    with_each_engine(|engine| stalls_are_seen(engine, 20, 5));
}

#[test]
fn no_connection_is_dropped_by_the_division_among_threads() {
    with_each_engine(|engine| {
        let server = Server::start(Script { delay: Duration::from_millis(1), ..Script::default() });
        let mut options = options(server.url(), engine);
        options.workload.connections = 10;
        options.threads = Some(3);
        options.requests = Some(1001);
        let report = report(&options);
        assert_eq!(server.connections(), 10);
        assert_eq!(server.seen.open_peak.load(Ordering::SeqCst), 10);
        assert_eq!(server.requests(), 1001);
        let c = &report.result.connections;
        assert_eq!((c.requested, c.opened, c.peak_open, c.reopened), (10, 10, 10, 0));
        assert_eq!((report.result.requests.ok, report.result.client.threads.len()), (1001, 3));
        assert_accounts_balance(&report);
    });
}

#[test]
fn arrivals_come_at_the_asked_rate_and_by_the_schedule() {
    with_each_engine(|engine| {
        let server = Server::start(Script::default());
        let mut options = options(server.url(), engine);
        options.workload.connections = 16;
        options.threads = Some(2);
        options.pacing.rate = Some(1000.0);
        options.duration = Some(Nanos::from_secs(1));
        // A machine that is stopped just before the end leaves no time for the last arrivals. They count as missed, and
        // such a run proves nothing about the others.
        let whole = std::iter::repeat_with(|| report(&options)).take(5).find(|report| {
            let requests = &report.result.requests;
            assert_eq!(requests.attempted + requests.missed, 1000);
            requests.missed == 0
        });
        let report = whole.expect("a run in which every arrival was begun");
        assert_eq!(report.result.asked_rps.map(f64::round), Some(1000.0));
        assert_eq!(report.result.latency_ns.schedule_lag.count, report.result.requests.completed);
        assert_accounts_balance(&report);
    });
}

#[test]
fn arrivals_beyond_what_the_server_takes_are_missed_and_not_forgotten() {
    with_each_engine(|engine| {
        // One connection and 20 ms for each reply: 50 a second at the most.
        let server = Server::start(Script { delay: Duration::from_millis(20), ..Script::default() });
        let mut options = options(server.url(), engine);
        options.pacing.rate = Some(400.0);
        options.duration = Some(Nanos::from_secs(1));
        options.timeout = Nanos::from_millis(300);
        let report = report(&options);
        let r = &report.result.requests;
        assert_eq!(r.attempted + r.missed, 400);
        assert!(r.attempted <= 51, "{r:?}");
        assert_ne!(report.result.client.verdict, Some(VerdictKind::Valid));
        assert!(report.result.latency_ns.schedule_lag.max > report.result.latency_ns.service.p50);
    });
}

#[test]
fn a_run_that_ends_cuts_what_is_under_way_and_calls_it_no_error() {
    with_each_engine(|engine| {
        let server = Server::start(Script { acts: vec![Act::Silence; 4], ..Script::default() });
        let mut options = options(server.url(), engine);
        options.workload.connections = 4;
        options.duration = Some(Nanos::from_millis(300));
        let report = report(&options);
        assert_eq!((report.result.requests.cut, report.result.error_count()), (4, 0));
        assert!(report.result.requests.cut_oldest_ns >= 290_000_000);
    });
}

#[test]
fn warm_up_is_counted_separately() {
    with_each_engine(|engine| {
        let server = Server::start(Script { delay: Duration::from_millis(2), ..Script::default() });
        let mut options = options(server.url(), engine);
        options.warmup = Nanos::from_millis(400);
        options.duration = Some(Nanos::from_millis(400));
        let report = report(&options);
        assert!(report.result.warmup.requests > 0 && report.result.requests.attempted > 0);
        assert_eq!(report.result.warmup.requests + report.result.requests.attempted, server.requests());
        assert!((report.result.duration_s - 0.4).abs() < 0.001);
    });
}

#[test]
fn a_reply_that_falters_shows_in_the_smoothness_and_nowhere_else() {
    with_each_engine(|engine| {
        let acts = vec![Act::Answer, Act::Falter, Act::Answer, Act::Falter];
        let server = Server::start(Script { acts, ..Script::default() });
        let mut options = options(server.url(), engine);
        options.requests = Some(4);
        let report = report(&options);
        assert_eq!(report.result.requests.ok, 4, "{engine}");
        let smoothness = report.result.smoothness.unwrap();
        assert_eq!(smoothness.gap_ns.count, 2, "{engine}");
        // The gap begins when the first piece is read, which a busy machine may delay.
        assert!(u128::from(smoothness.gap_ns.min) >= PAUSE.as_nanos() / 2, "{smoothness:?}");
        assert_eq!(smoothness.stalled_share, 1.0);
        let text = pitot_load::output::summary(&report, pitot_load::output::Detail::default());
        assert!(
            text.contains("gaps within replies: p50") && text.contains("100.00% of their time"),
            "{text}"
        );
    });
}

#[test]
fn a_set_of_paths_is_asked_for_by_zipfs_law() {
    let server = Server::start(Script::default());
    let mut options = options(format!("{}files/{{00..99}}", server.url()), "epoll");
    options.requests = Some(2_000);
    options.choice = Some("zipf:1".into());
    assert_eq!(report(&options).result.requests.ok, 2_000);
    let lines = server.seen.lines.lock().unwrap();
    let count = |path: &str| lines.iter().filter(|l| l.contains(path)).count();
    assert_eq!(count("/files/"), 2_000);
    // The first of a hundred has 1 / 5.19 of all requests, the tenth a tenth of that.
    assert!((300..480).contains(&count("/files/00 ")), "{}", count("/files/00 "));
    assert!((15..75).contains(&count("/files/09 ")), "{}", count("/files/09 "));
}

/// A server that greets each connection with bytes, and answers whatever comes with others; then it closes the connection.
fn refuser(greeting: &[u8], answers: &[&[u8]]) -> String {
    let greeting = greeting.to_vec();
    let answers: Vec<Vec<u8>> = answers.iter().map(|answer| answer.to_vec()).collect();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut asked = [0; 4096];
            let mut said = std::io::Write::write_all(&mut stream, &greeting).is_ok();
            for answer in &answers {
                said = said
                    && matches!(std::io::Read::read(&mut stream, &mut asked), Ok(1..))
                    && std::io::Write::write_all(&mut stream, answer).is_ok();
            }
            // What the client says last is taken, so that the connection ends in order.
            while said && matches!(std::io::Read::read(&mut stream, &mut asked), Ok(1..)) {}
        }
    });
    address
}

#[test]
fn an_opening_that_is_refused_is_shown_in_the_servers_words() {
    let wants_password = b"R\0\0\0\x08\0\0\0\x03";
    let failed = b"E\0\0\0\x49SFATAL\0VFATAL\0C28P01\0Mpassword authentication failed for user \"ann\"\0\0";
    let no_database =
        b"R\0\0\0\x08\0\0\0\0E\0\0\0\x3aSFATAL\0VFATAL\0C3D000\0Mdatabase \"shop\" does not exist\0\0";
    for (url, greeting, answers, words) in [
        (
            "postgres://ann:wr0ngpw@ADDRESS/shop",
            &b""[..],
            &[&wants_password[..], &failed[..]][..],
            "password authentication failed for user \"ann\"",
        ),
        ("postgres://ann@ADDRESS/shop", b"", &[&no_database[..]], "database \"shop\" does not exist"),
        (
            "redis://ann:wr0ngpw@ADDRESS/?fill=no",
            b"",
            &[b"-WRONGPASS invalid username-password pair or user is disabled.\r\n"],
            "WRONGPASS invalid username-password pair or user is disabled.",
        ),
        ("smtp://ADDRESS/", b"554 5.7.1 no service for you\r\n", &[], "554 5.7.1 no service for you"),
        (
            "smtp://ADDRESS/",
            b"421-too many\r\n421 4.7.0 connections from you\r\n",
            &[],
            "421 4.7.0 connections from you",
        ),
        (
            "smtp://ADDRESS/",
            b"220 ready\r\n",
            &[b"550 5.7.1 EHLO from you is refused\r\n", b"550 5.7.1 HELO from you is refused\r\n"],
            "HELO from you is refused",
        ),
        (
            "memcache://ADDRESS/?fill=no&keys=10",
            b"",
            &[b"SERVER_ERROR out of memory\r\n"],
            "SERVER_ERROR out of memory",
        ),
    ] {
        let mut options = options(url.replace("ADDRESS", &refuser(greeting, answers)), "epoll");
        options.requests = Some(3);
        options.duration = Some(Nanos::from_secs(20));
        options.timeout = Nanos::from_secs(5);
        let report = report(&options);
        let said = report.result.server_said.clone().unwrap_or_default();
        assert!(said.contains(words), "{url}: {said:?}: {:?}", report.result.errors);
        let shown = pitot_load::output::summary(&report, pitot_load::output::Detail::default());
        assert!(shown.contains(words) && !shown.contains("wr0ngpw"), "{shown}");
        assert!(!serde_json::to_string(&report.result).unwrap().contains("wr0ngpw"), "{url}");
        assert!(!report.is_success(), "{url}");
    }
}
