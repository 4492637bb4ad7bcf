//! Users who read pages.

use std::sync::Arc;

use super::*;
use crate::growth::Growth;
use crate::workload::{ConnectAt, Lifecycle, Usage};

fn ms(n: u64) -> Nanos {
    Nanos::from_millis(n)
}

const PAGE: &str = "<img src=/a><img src=/b><img src=/c>";

/// Users with two connections each, none of which is open.
fn reading(users: u64, pace: ThreadPace, change: impl FnOnce(&mut ThreadPlan)) -> Harness {
    let url = Url::parse("http://h/").unwrap();
    let options =
        ClientOptions { requests: vec![RequestSpec::default()], pages: true, ..ClientOptions::default() };
    let protocol = (pitot_client::find("http").unwrap().build)(&url, &options).unwrap();
    let lifecycle = Lifecycle {
        connect_at: ConnectAt::OnDemand,
        requests_max: u64::MAX,
        churn_rate: 0.0,
        usage: Usage::Pages { connections: 2, cache: false },
    };
    let mut harness = Harness::new(users * 2, pace, |plan| {
        plan.protocol = protocol.into();
        plan.groups = vec![(lifecycle, users * 2)];
        change(plan);
    });
    harness.tick(START - ms(1));
    harness.tick(START);
    harness
}

impl Harness {
    fn log(&mut self) -> Vec<Action> {
        std::mem::take(&mut self.wire.log)
    }

    fn opened(&mut self, slot: u32, at: Nanos) {
        self.connections.connected(&mut self.wire, slot, at, Ok(()));
    }

    fn answered(&mut self, slot: u32, at: Nanos, content: &str) {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", content.len());
        self.connections.received(&mut self.wire, slot, at, format!("{head}{content}").as_bytes());
    }

    /// What was counted of pages, at the end.
    fn pages(mut self, at: Nanos) -> crate::pages::PageTally {
        *self.connections.finish(&mut self.wire, at).pages.unwrap()
    }
}

#[test]
fn a_user_reads_a_page_over_its_two_connections_and_then_the_next() {
    let mut harness = reading(1, ThreadPace::Closed { think: Nanos::ZERO }, |_| ());
    assert_eq!(harness.log(), [Action::Connect(0)]);
    harness.opened(0, START + ms(1));
    assert_eq!(harness.log(), [Action::Send(0)]);
    harness.answered(0, START + ms(2), PAGE);
    // The first object goes where the page came from, the second needs a connection, and the third waits.
    assert_eq!(harness.log(), [Action::Send(0), Action::Connect(1)]);
    harness.answered(0, START + ms(3), "a");
    assert_eq!(harness.log(), [Action::Send(0)]);
    harness.answered(0, START + ms(4), "c");
    assert_eq!(harness.log(), []);
    harness.opened(1, START + ms(5));
    harness.answered(1, START + ms(7), "b");
    assert_eq!(harness.log(), [Action::Send(1), Action::Send(0)]);
    let pages = harness.pages(START + ms(8));
    assert_eq!((pages.begun, pages.completed, pages.ok, pages.cut), (2, 1, 1, 1));
    assert_eq!((pages.objects, pages.time.max().0 / ms(1).0), (3, 7));
}

#[test]
fn the_time_to_think_begins_when_all_of_a_page_is_there() {
    let mut harness = reading(1, ThreadPace::Closed { think: ms(10) }, |_| ());
    assert_eq!(harness.log(), []);
    // The first page at a random moment within the time to think.
    harness.tick(START + ms(10));
    assert_eq!(harness.log(), [Action::Connect(0)]);
    harness.opened(0, START + ms(10));
    harness.answered(0, START + ms(11), "<img src=a>");
    harness.answered(0, START + ms(15), "a");
    assert_eq!(harness.log(), [Action::Send(0), Action::Send(0)]);
    harness.tick(START + ms(24));
    assert_eq!(harness.log(), []);
    // Noticed late, due all the same.
    harness.tick(START + ms(27));
    assert_eq!(harness.log(), [Action::Send(0)]);
    harness.answered(0, START + ms(28), "");
    assert_eq!(harness.pages(START + ms(29)).time.count_from(ms(3)), 2);
}

#[test]
fn what_cannot_be_got_fails_its_page_and_the_others_go_on() {
    let mut harness = reading(1, ThreadPace::Closed { think: Nanos::ZERO }, |plan| plan.requests = Some(2));
    harness.opened(0, START);
    harness.answered(0, START, PAGE);
    assert_eq!(harness.log().last(), Some(&Action::Connect(1)));
    let refused = io::Error::from_raw_os_error(111);
    harness.connections.connected(&mut harness.wire, 1, START + ms(1), Err(refused));
    harness.answered(0, START + ms(2), "a");
    harness.log();
    harness.answered(0, START + ms(3), "c");
    // That was all of it, but for the one that failed; the next page is begun at once.
    assert_eq!(harness.log(), [Action::Send(0)]);
    // The second connection is free again after a pause.
    harness.answered(0, START + ms(4), "<img src=a>");
    assert_eq!(harness.log(), [Action::Send(0)]);
    harness.answered(0, START + ms(5), "a");
    assert_eq!(harness.tick(START + ms(6)), Next::Over);
    let pages = harness.pages(START + ms(6));
    assert_eq!((pages.begun, pages.failed, pages.ok), (2, 1, 1));
    assert_eq!(pages.time.count(), 1);
}

#[test]
fn a_page_that_is_given_up_after_a_timeout_has_taken_at_least_that_long() {
    let mut harness = reading(1, ThreadPace::Closed { think: Nanos::ZERO }, |plan| plan.requests = Some(1));
    harness.opened(0, START);
    harness.answered(0, START + ms(1), "<img src=a>");
    harness.tick(START + ms(1) + TIMEOUT);
    harness.tick(START + ms(2) + TIMEOUT);
    let pages = harness.pages(START + ms(3) + TIMEOUT);
    assert_eq!((pages.failed, pages.completed, pages.time.count()), (1, 0, 1));
    assert!(pages.time.max() >= TIMEOUT);
}

#[test]
fn pages_at_a_rate_are_due_whether_or_not_a_user_is_free() {
    let mut harness = reading(1, every(ms(10)), |plan| plan.duration = Some(ms(200)));
    harness.opened(0, START);
    harness.tick(START + ms(25));
    harness.answered(0, START + ms(30), "");
    // The page that was due at 10 ms begins at 30 ms, and no other until it is read.
    assert_eq!(harness.log(), [Action::Connect(0), Action::Send(0), Action::Send(0)]);
    harness.answered(0, START + ms(31), "<img src=a>");
    harness.answered(0, START + ms(32), "");
    let pages = harness.pages(START + ms(100));
    // Due at 0, 10 and 20 ms: two read, one under way; then seven more up to the end.
    assert_eq!((pages.begun, pages.ok, pages.cut, pages.missed), (3, 2, 1, 7));
    assert_eq!(pages.time.max().0 / ms(1).0, 30);
}

#[test]
fn users_come_and_go_with_their_stages() {
    let mut harness = reading(4, ThreadPace::Closed { think: Nanos::ZERO }, |plan| {
        plan.growth = Some(Arc::new(Growth::parse("0:4:80ms,1:1:1s").unwrap()));
    });
    assert_eq!(harness.log(), []);
    harness.tick(START + ms(19));
    assert_eq!(harness.log(), []);
    harness.tick(START + ms(41));
    assert_eq!(harness.log(), [Action::Connect(0), Action::Connect(2)]);
    harness.tick(START + ms(61));
    assert_eq!(harness.log(), [Action::Connect(4)]);
    harness.opened(0, START + ms(62));
    harness.opened(2, START + ms(62));
    harness.log();
    // From now on there is one user: the others read to the end, and no more.
    harness.answered(0, START + ms(90), "");
    harness.answered(2, START + ms(90), "");
    assert_eq!(harness.log(), [Action::Send(0)]);
}
