//! What all connections have in common, whatever they speak: time-outs, failing files, slow peers, ends.

use proptest::collection::vec;
use proptest::prelude::*;

use pitot_proto::http::Http;
use pitot_proto::memcache::{Memcache, MemcacheOptions};
use pitot_proto::smtp::{Smtp, SmtpOptions};
use pitot_proto::{FileFailure, OpenError, Phase, Protocol, ProtocolOptions, Tally, Tick};
use pitot_proto_harness::script::{Event, play};
use pitot_proto_harness::{End, Files, Held, Pump};

fn site() -> (Http, Files) {
    let mut files = Files::new();
    files.add("small.txt", b"small", Held::InMemory);
    files.add("disk.bin", &[b'x'; 9000], Held::OnDisk);
    let options = ProtocolOptions { root: true, writable: true, ..ProtocolOptions::default() };
    (Http::new(&options).unwrap(), files)
}

const GET_SMALL: &[u8] = b"GET /small.txt HTTP/1.1\r\nHost: h\r\n\r\n";
const GET_DISK: &[u8] = b"GET /disk.bin HTTP/1.1\r\nHost: h\r\n\r\n";

fn status(pump: &Pump<'_>) -> String {
    String::from_utf8_lossy(&pump.sent[..pump.sent.len().min(12)]).into_owned()
}

#[test]
fn a_head_that_is_too_slow_is_answered_408_and_counted() {
    let (http, files) = site();
    let mut pump = Pump::new(&http, &files);
    pump.feed(b"GET / HT");
    assert_eq!(pump.phase(), Phase::Head);
    pump.expire();
    assert_eq!((status(&pump).as_str(), pump.end), ("HTTP/1.1 408", Some(End::Closed)));
    assert!(pump.lingers, "more of the head may be on its way");
    assert_eq!(pump.worker.tally.timed_out_request, 1);
}

#[test]
fn the_time_of_a_head_counts_from_its_first_byte_and_that_of_the_next_anew() {
    let (http, files) = site();
    let mut pump = Pump::new(&http, &files);
    pump.feed(b"GET /small");
    let deadline = pump.deadline();
    pump.worker.now = Tick::START.after(std::time::Duration::from_secs(5));
    pump.feed(b".txt HTTP/1.1\r\n");
    assert_eq!(pump.deadline(), deadline, "progress does not buy time");
    pump.feed(b"Host: h\r\n\r\nGET /");
    assert_eq!((pump.replies(), pump.phase()), (1, Phase::Head));
    assert!(pump.deadline() > deadline, "this is another request");
}

#[test]
fn an_idle_connection_expires_without_a_word_and_without_an_error() {
    let (http, files) = site();
    let mut pump = Pump::new(&http, &files);
    pump.feed(GET_SMALL);
    pump.sent.clear();
    assert!(pump.is_idle());
    pump.expire();
    assert_eq!((pump.sent.len(), pump.end), (0, Some(End::Closed)));
    let tally = pump.worker.tally;
    assert_eq!((tally.timed_out_idle, tally.timed_out_request, tally.reset), (1, 0, 0));
}

#[test]
fn a_peer_that_does_not_read_sees_a_reset() {
    let (http, files) = site();
    let mut pump = Pump::new(&http, &files);
    pump.room = 100;
    pump.feed(GET_DISK);
    assert_eq!((pump.phase(), pump.sent_len), (Phase::Reply, 100));
    let deadline = pump.deadline();
    pump.worker.now = Tick::START.after(std::time::Duration::from_secs(9));
    pump.feed(b"more");
    assert_eq!(pump.deadline(), deadline, "to send is not to read");
    pump.make_room(1);
    assert!(pump.deadline() > deadline, "to read is");
    pump.expire();
    assert_eq!((pump.end, pump.worker.tally.timed_out_write), (Some(End::Reset), 1));
}

#[test]
fn a_file_that_cannot_be_read_is_answered_by_an_error_or_a_reset_and_counted_alike() {
    let (http, files) = site();
    for (failure, count, code) in [
        (FileFailure::Truncated, (1, 0), "HTTP/1.1 500"),
        (FileFailure::Unreadable(OpenError::Unavailable), (0, 1), "HTTP/1.1 503"),
    ] {
        // Nothing of the reply is on its way: as with an engine, which reads before the head is sent.
        let mut pump = Pump::new(&http, &files);
        pump.room = 0;
        pump.feed(GET_DISK);
        pump.fail_file(failure);
        pump.make_room(u64::MAX);
        assert_eq!((status(&pump).as_str(), pump.end), (code, Some(End::Closed)));
        let tally = pump.worker.tally;
        assert_eq!((tally.file_truncated, tally.file_failed), count);
        assert_eq!((tally.replies, tally.reset), (1, 0), "the error takes the place of the reply");

        // A part of it is: the peer must not take it for the whole.
        let mut pump = Pump::new(&http, &files);
        pump.file_failure = Some(failure);
        pump.feed(GET_DISK);
        assert_eq!(pump.end, Some(End::Reset));
        let tally = pump.worker.tally;
        assert_eq!((tally.file_truncated, tally.file_failed, tally.reset), (count.0, count.1, 0));
    }
}

#[test]
fn a_peer_that_ends_in_a_request_is_counted_and_one_that_ends_behind_it_is_not() {
    let (http, files) = site();
    let mut pump = Pump::new(&http, &files);
    pump.feed(&GET_SMALL[..10]).end_of_input();
    assert_eq!((pump.end, pump.worker.tally.ended_early), (Some(End::Closed), 1));
    let mut pump = Pump::new(&http, &files);
    pump.room = 0;
    pump.feed(GET_SMALL).end_of_input();
    assert_eq!(pump.end, None, "its reply is still to be sent");
    pump.make_room(u64::MAX);
    assert_eq!((pump.end, pump.worker.tally.ended_early), (Some(End::Closed), 0));
    assert!(pump.sent.ends_with(b"small"));
}

#[test]
fn requests_behind_a_reply_that_is_not_read_wait_and_have_a_limit() {
    let (http, files) = site();
    let mut pump = Pump::new(&http, &files);
    pump.room = 0;
    pump.feed(b"GET /bytes/1000000 HTTP/1.1\r\nHost: h\r\n\r\n");
    for _ in 0..3 {
        pump.feed(GET_SMALL);
    }
    assert_eq!(pump.replies(), 1, "no more is made than the peer takes");
    pump.make_room(u64::MAX);
    assert_eq!(pump.replies(), 4);

    pump.make_room(0);
    pump.feed(b"GET /bytes/1000000 HTTP/1.1\r\nHost: h\r\n\r\n");
    let flood = vec![b'x'; 64 << 10];
    for _ in 0..40 {
        pump.feed(&flood);
    }
    assert_eq!(pump.worker.tally.too_large, 1);
}

#[test]
fn a_broken_socket_ends_everything_at_once() {
    let (http, files) = site();
    let mut pump = Pump::new(&http, &files);
    pump.room = 10;
    pump.feed(GET_DISK);
    pump.break_socket();
    assert_eq!((pump.end, pump.worker.tally.reset), (Some(End::Reset), 1));
    let tally = pump.worker.tally;
    pump.feed(GET_SMALL).end_of_input().expire().dismiss();
    assert_eq!(pump.worker.tally, Tally { ..tally });
}

fn protocol(which: usize) -> Box<dyn Protocol> {
    match which {
        0 => Box::new(site().0),
        1 => Box::new(Memcache::new(&MemcacheOptions::default()).unwrap()),
        _ => Box::new(Smtp::new(&SmtpOptions { store: true, ..SmtpOptions::default() }).unwrap()),
    }
}

const INPUTS: [&[u8]; 3] = [
    b"GET /small.txt HTTP/1.1\r\nHost: h\r\n\r\nPUT /new HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n12345\
      GET /disk.bin HTTP/1.1\r\nHost: h\r\n\r\nGET /bytes/300000 HTTP/1.1\r\nHost: h\r\n\r\n\
      POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc",
    b"set k 0 0 5\r\nhello\r\nget k k k\r\nincr k 1\r\nset l 0 0 9\r\nabc\r\n\r\ndelete k\r\nquit\r\n",
    b"EHLO c\r\nMAIL FROM:<a@b>\r\nRCPT TO:<c@d>\r\nDATA\r\nSubject: x\r\n\r\nline\r\n.\r\nRSET\r\nMAIL FROM:<>\r\nQUIT\r\n",
];

proptest! {
    #[test]
    fn whatever_happens_in_whatever_order_the_machine_keeps_its_promises(
        which in 0..3usize,
        events in vec(any::<(u8, u8)>(), 0..60),
    ) {
        let (_, files) = site();
        let events = events.into_iter().map(|(kind, argument)| Event::from_bytes(kind, argument));
        play(|| protocol(which), &files, INPUTS[which], events);
    }

    #[test]
    fn the_pace_of_a_peer_changes_no_reply(
        which in 0..3usize,
        events in vec((0..10u8, any::<u8>()), 0..80),
    ) {
        let (_, files) = site();
        let events = events.into_iter().map(|(kind, argument)| Event::from_bytes(kind, argument));
        play(|| protocol(which), &files, INPUTS[which], events);
    }
}
