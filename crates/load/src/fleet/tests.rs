//! The fleet against a wire that is only noted down and a clock that is only an argument.

use std::sync::mpsc::{Receiver, channel};

use pitot_proto::client::{ClientOptions, RequestSpec, Url};

use super::*;
use crate::message::Message;
use crate::recorder::Intervals;
use crate::tally::Interval;

const MS: Nanos = Nanos::from_millis(1);
const TIMEOUT: Nanos = Nanos::from_millis(100);
const START: Nanos = Nanos::from_secs(100);
/// A whole reply to the requests of these tests.
const REPLY: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// What the fleet wanted.
#[derive(Debug, PartialEq, Eq)]
enum Did {
    Connect(u32),
    Send(u32),
    Close(u32),
}

#[derive(Default)]
struct Notes {
    did: Vec<Did>,
    refuse_sends: bool,
}

impl Wire for Notes {
    fn connect(&mut self, slot: u32) -> io::Result<()> {
        self.did.push(Did::Connect(slot));
        Ok(())
    }

    fn send(&mut self, slot: u32, payload: Payload<'_>) -> io::Result<()> {
        assert!(payload.as_slice().ends_with(b"\r\n\r\n"));
        self.did.push(Did::Send(slot));
        if self.refuse_sends { Err(io::ErrorKind::BrokenPipe.into()) } else { Ok(()) }
    }

    fn close(&mut self, slot: u32) -> u32 {
        self.did.push(Did::Close(slot));
        0
    }
}

/// A fleet at work with everything around it.
struct Bench {
    fleet: Fleet,
    wire: Notes,
    messages: Receiver<Message>,
}

fn lifecycle(requests_max: u64) -> Lifecycle {
    let opening = if requests_max == 1 { Opening::OnDemand } else { Opening::BeforeStart };
    Lifecycle { opening, requests_max, churn_rate: 0.0, usage: Usage::Requests }
}

fn every(gap: Nanos) -> ThreadPace {
    ThreadPace::Open(Box::new((0..).map(move |n| Nanos(n * gap.0))))
}

impl Bench {
    fn new(connections: u64, pace: ThreadPace, change: impl FnOnce(&mut FleetPlan)) -> Bench {
        let url = Url::parse("http://h/").unwrap();
        let request = RequestSpec { method: "GET".into(), path: "/".into(), weight: 1.0, body: Vec::new() };
        let options = ClientOptions { requests: vec![request], ..ClientOptions::default() };
        let protocol = (pitot_proto::client::find("http").unwrap().build)(&url, &options).unwrap();
        let mut plan = FleetPlan {
            protocol: protocol.into(),
            groups: vec![(lifecycle(u64::MAX), connections)],
            pace,
            pipeline: 1,
            timeout: TIMEOUT,
            requests: None,
            warmup: Nanos::ZERO,
            duration: Some(Nanos::from_secs(10)),
            share: Share::WHOLE,
            seed: 1,
        };
        change(&mut plan);
        let (finished, messages) = channel();
        let intervals = Intervals { source: 0, finished, spare: channel().1 };
        let gate = Arc::new(Gate::default());
        gate.open(START);
        let fleet = Fleet::new(plan, Recorder::new(connections, intervals), gate);
        Bench { fleet, wire: Notes::default(), messages }
    }

    /// A fleet whose connections are open and which has just started.
    fn started(connections: u64, pace: ThreadPace, change: impl FnOnce(&mut FleetPlan)) -> Bench {
        let mut bench = Bench::new(connections, pace, change);
        let early = START - MS;
        bench.tick(early);
        for did in std::mem::take(&mut bench.wire.did) {
            let Did::Connect(slot) = did else { panic!("{did:?}") };
            bench.fleet.connected(&mut bench.wire, slot, early, Ok(()));
        }
        bench.tick(early);
        assert!(bench.fleet.is_ready());
        bench.tick(START);
        bench
    }

    fn tick(&mut self, at: Nanos) -> Next {
        self.fleet.tick(&mut self.wire, at, at)
    }

    fn reply(&mut self, slot: u32, at: Nanos) {
        self.fleet.received(&mut self.wire, slot, at, REPLY);
    }

    fn take(&mut self) -> Vec<Did> {
        std::mem::take(&mut self.wire.did)
    }

    fn finish(mut self, at: Nanos) -> (Tally, Vec<Interval>) {
        let tally = self.fleet.finish(&mut self.wire, at);
        let intervals = self.messages.try_iter().map(|message| match message {
            Message::Interval { interval, .. } => *interval,
            other => panic!("{other:?}"),
        });
        (tally, intervals.collect())
    }
}

const fn closed() -> ThreadPace {
    ThreadPace::Closed { think: Nanos::ZERO }
}

#[test]
fn a_closed_loop_sends_the_next_request_with_the_reply_to_the_last() {
    let mut bench = Bench::started(2, closed(), |_| ());
    assert_eq!(bench.take(), [Did::Send(0), Did::Send(1)]);
    bench.reply(1, START + MS);
    assert_eq!(bench.take(), [Did::Send(1)]);
    let (tally, intervals) = bench.finish(START + MS + MS);
    assert_eq!((tally.requests.attempted, tally.requests.ok, tally.requests.cut), (3, 1, 2));
    assert_eq!(tally.requests.cut_oldest_ns, 2 * MS.0);
    assert_eq!((intervals.len(), intervals[0].completed, intervals[0].response.count()), (1, 1, 1));
    assert_eq!(intervals[0].open_ns, 2 * 2 * MS.0);
}

#[test]
fn a_reply_in_pieces_is_one_reply() {
    let mut bench = Bench::started(1, closed(), |_| ());
    for (n, byte) in REPLY.iter().enumerate() {
        bench.fleet.received(&mut bench.wire, 0, START + Nanos(n as u64 * MS.0), &[*byte]);
    }
    assert_eq!(bench.take(), [Did::Send(0), Did::Send(0)]);
    let (tally, _) = bench.finish(START + TIMEOUT);
    assert_eq!(tally.requests.ok, 1);
    assert_eq!(tally.first_byte.max(), Nanos::ZERO);
    assert!(tally.service.max() >= Nanos((REPLY.len() as u64 - 1) * MS.0));
}

#[test]
fn gaps_within_a_reply_are_recorded_and_long_ones_are_stalls() {
    let mut bench = Bench::started(1, closed(), |plan| plan.timeout = Nanos::from_secs(5));
    let mut feed = |at_ms: u64, bytes: &[u8]| {
        bench.fleet.received(&mut bench.wire, 0, START + Nanos(at_ms * MS.0), bytes);
    };
    // The wait of 40 ms for the first byte is no gap; one of 10 ms and one of 150 ms follow.
    feed(40, &REPLY[..5]);
    feed(50, &REPLY[5..10]);
    feed(200, &REPLY[10..]);
    // The next reply comes in one piece.
    feed(230, REPLY);
    let (tally, _) = bench.finish(START + Nanos(231 * MS.0));
    assert_eq!(tally.requests.ok, 2);
    assert_eq!(tally.gaps.count(), 2);
    assert!(tally.gaps.min() >= Nanos(9 * MS.0) && tally.gaps.max() >= Nanos(149 * MS.0));
    assert_eq!((tally.flow_ns, tally.stalled_ns), (160 * MS.0, 150 * MS.0));
}

#[test]
fn gaps_of_the_warm_up_are_not_recorded() {
    let mut bench = Bench::started(1, closed(), |plan| plan.warmup = Nanos(30 * MS.0));
    for (at_ms, piece) in [(10, &REPLY[..5]), (20, &REPLY[5..10]), (40, &REPLY[10..])] {
        bench.fleet.received(&mut bench.wire, 0, START + Nanos(at_ms * MS.0), piece);
    }
    let (tally, _) = bench.finish(START + Nanos(41 * MS.0));
    assert_eq!(tally.gaps.count(), 1);
}

#[test]
fn the_lateness_of_the_generator_itself_is_recorded_and_told_apart() {
    // Due at 0, 10, 20 ... ms; the loop looks again only after 55 ms although connections are free.
    let mut bench = Bench::started(10, every(Nanos(10 * MS.0)), |_| ());
    assert_eq!(bench.take(), [Did::Send(0)]);
    bench.tick(START + Nanos(55 * MS.0));
    assert_eq!(bench.take().len(), 5);
    let (tally, _) = bench.finish(START + Nanos(56 * MS.0));
    assert_eq!(tally.requests.started_late, 5);
    assert_eq!(tally.threads[0].late_max_ns, 45 * MS.0);
}

#[test]
fn waiting_for_a_free_connection_is_not_the_generators_lateness_but_response_time() {
    let mut bench = Bench::started(1, every(Nanos(10 * MS.0)), |_| ());
    bench.tick(START + Nanos(10 * MS.0));
    bench.tick(START + Nanos(20 * MS.0));
    assert_eq!(bench.take(), [Did::Send(0)]);
    bench.reply(0, START + Nanos(50 * MS.0));
    assert_eq!(bench.take(), [Did::Send(0)]);
    bench.reply(0, START + Nanos(52 * MS.0));
    let (tally, intervals) = bench.finish(START + Nanos(53 * MS.0));
    assert_eq!(tally.requests.started_late, 0);
    // The second was due at 10 ms, sent at 50 and answered at 52.
    assert!(tally.service.min() < Nanos(3 * MS.0));
    assert_eq!(intervals[0].response.count_from(Nanos(41 * MS.0)), 2);
    assert_eq!(tally.schedule_lag.count_from(Nanos(39 * MS.0)), 1);
    // Due at 20, 30, 40 and 50 ms: one of them is under way, the others were never sent.
    assert_eq!((tally.requests.cut, tally.requests.missed), (1, 3));
}

#[test]
fn what_waits_longer_than_the_time_out_is_missed() {
    let mut bench = Bench::started(1, every(Nanos(10 * MS.0)), |plan| plan.requests = Some(100));
    bench.tick(START + Nanos(99 * MS.0));
    bench.take();
    // The first request times out; of those due since, the ones older than the time-out have gone.
    bench.tick(START + Nanos(155 * MS.0));
    let (tally, _) = bench.finish(START + Nanos(155 * MS.0));
    assert_eq!(tally.requests.failed, 1);
    assert_eq!(tally.requests.attempted + tally.requests.missed, 16);
}

#[test]
fn a_time_out_closes_and_counts_with_its_time() {
    let mut bench = Bench::started(1, closed(), |_| ());
    bench.take();
    bench.tick(START + TIMEOUT - Nanos(1));
    assert_eq!(bench.take(), []);
    bench.tick(START + TIMEOUT);
    assert_eq!(bench.take(), [Did::Close(0)]);
    // It lived for a tenth of a second and served nothing: a pause comes before the next.
    bench.tick(START + TIMEOUT + Nanos(10 * MS.0));
    assert_eq!(bench.take(), [Did::Connect(0)]);
    let (tally, intervals) = bench.finish(START + TIMEOUT + Nanos(11 * MS.0));
    assert_eq!(tally.errors[0].kind, "reply");
    assert_eq!(intervals[0].response.count_from(TIMEOUT), 1);
    assert_eq!(tally.service.count(), 0);
}

#[test]
fn a_loop_that_was_stopped_does_not_take_a_reply_that_waits_for_a_time_out() {
    let mut bench = Bench::started(1, closed(), |_| ());
    bench.take();
    // It slept for a second; what had come by then is not yet told.
    let late = START + Nanos::from_secs(1);
    bench.fleet.tick(&mut bench.wire, late, START + MS);
    assert_eq!(bench.take(), []);
    bench.reply(0, late);
    let (tally, _) = bench.finish(late + MS);
    assert_eq!((tally.requests.completed, tally.requests.ok, tally.requests.failed), (1, 0, 0));
    assert_eq!((&*tally.errors[0].phase, &*tally.errors[0].kind), ("timeout", "late"));
}

#[test]
fn a_connect_that_does_not_end_times_out() {
    let mut bench = Bench::new(1, closed(), |_| ());
    bench.tick(START - TIMEOUT - TIMEOUT);
    assert_eq!(bench.take(), [Did::Connect(0)]);
    bench.tick(START - TIMEOUT);
    assert_eq!(bench.take(), [Did::Close(0)]);
    bench.tick(START - TIMEOUT);
    assert!(bench.fleet.is_ready());
    assert_eq!(bench.fleet.opened(), 0);
    let (tally, _) = bench.finish(START - MS);
    assert_eq!((&*tally.errors[0].phase, &*tally.errors[0].kind), ("timeout", "connect"));
}

#[test]
fn pauses_between_failed_connects_double_up_to_a_second() {
    let mut bench = Bench::new(1, closed(), |plan| plan.duration = Some(Nanos::from_secs(1000)));
    let mut at = START - Nanos::from_secs(60);
    let mut tried = Vec::new();
    for _ in 0..30_000 {
        bench.tick(at);
        for did in bench.take() {
            if did == Did::Connect(0) {
                tried.push(at);
                bench.fleet.connected(&mut bench.wire, 0, at, Err(io::ErrorKind::ConnectionRefused.into()));
            }
        }
        at += MS;
    }
    let gaps: Vec<u64> = tried.windows(2).map(|pair| pair[1].since(pair[0]).0 / MS.0).collect();
    assert_eq!(gaps[..9], [10, 20, 40, 80, 160, 320, 640, 1000, 1000]);
}

#[test]
fn a_request_of_its_own_connection_counts_from_before_the_connect() {
    let mut bench = Bench::started(1, closed(), |plan| plan.groups[0].0 = lifecycle(1));
    assert_eq!(bench.take(), [Did::Connect(0)]);
    bench.fleet.connected(&mut bench.wire, 0, START + Nanos(30 * MS.0), Ok(()));
    assert_eq!(bench.take(), [Did::Send(0)]);
    bench.reply(0, START + Nanos(32 * MS.0));
    assert_eq!(bench.take(), [Did::Close(0), Did::Connect(0)]);
    let (tally, intervals) = bench.finish(START + Nanos(33 * MS.0));
    assert!(intervals[0].response.min() >= Nanos(31 * MS.0));
    assert!(tally.service.max() <= Nanos(3 * MS.0) && tally.connect.min() >= Nanos(29 * MS.0));
}

#[test]
fn a_pipeline_fills_up_and_keeps_its_order() {
    let mut bench = Bench::started(1, closed(), |plan| plan.pipeline = 4);
    // Four requests in one send.
    assert_eq!(bench.take(), [Did::Send(0)]);
    bench.fleet.received(&mut bench.wire, 0, START + MS, &REPLY.repeat(3));
    assert_eq!(bench.take(), [Did::Send(0)]);
    let (tally, _) = bench.finish(START + MS + MS);
    assert_eq!((tally.requests.attempted, tally.requests.ok, tally.requests.cut), (7, 3, 4));
}

#[test]
fn a_reply_that_goes_on_behind_its_end_is_a_fault() {
    let mut bench = Bench::started(1, closed(), |_| ());
    bench.take();
    bench.fleet.received(&mut bench.wire, 0, START + MS, &[REPLY, b"!"].concat());
    assert_eq!(bench.take(), [Did::Close(0)]);
    let (tally, _) = bench.finish(START + MS + MS);
    assert_eq!((tally.requests.completed, tally.requests.failed), (0, 1));
    assert_eq!(tally.errors[0].kind, "unasked-bytes");
}

#[test]
fn a_send_that_fails_is_an_error_of_the_send() {
    let mut bench = Bench::started(1, closed(), |_| ());
    bench.take();
    bench.wire.refuse_sends = true;
    bench.reply(0, START + MS);
    let (tally, _) = bench.finish(START + MS + MS);
    assert_eq!(&*tally.errors[0].phase, "send");
    // It had served a request, so that another is opened at once.
    assert_eq!((tally.requests.ok, tally.requests.failed), (1, 1));
}

#[test]
fn the_end_comes_with_the_last_reply() {
    let mut bench = Bench::started(2, closed(), |plan| {
        plan.requests = Some(3);
        plan.duration = None;
    });
    bench.reply(0, START + MS);
    assert_eq!(bench.take(), [Did::Send(0), Did::Send(1), Did::Send(0)]);
    bench.reply(0, START + MS + MS);
    assert!(matches!(bench.tick(START + MS + MS), Next::Wait(_)));
    bench.reply(1, START + MS + MS);
    assert_eq!(bench.take(), []);
    assert_eq!(bench.tick(START + MS + MS), Next::Over);
    let (tally, _) = bench.finish(START + MS + MS);
    assert_eq!((tally.requests.attempted, tally.requests.ok), (3, 3));
}

#[test]
fn a_loop_waits_no_longer_than_until_the_next_arrival() {
    let gap = Nanos(7 * MS.0 + 123);
    let mut bench = Bench::started(1, every(gap), |_| ());
    bench.reply(0, START + MS);
    assert_eq!(bench.tick(START + MS), Next::Wait(START + gap));
}

#[test]
fn arrivals_after_the_end_are_not_begun_however_late_the_loop_notices() {
    let mut bench = Bench::started(1, every(MS), |plan| plan.duration = Some(Nanos(10 * MS.0)));
    let late = START + Nanos(30 * MS.0);
    loop {
        let sends = bench.take();
        if sends.is_empty() {
            break;
        }
        for did in sends {
            match did {
                Did::Send(slot) => bench.reply(slot, late),
                other => panic!("{other:?}"),
            }
        }
    }
    assert_eq!(bench.tick(late), Next::Over);
    let (tally, _) = bench.finish(late);
    assert_eq!((tally.requests.attempted, tally.requests.missed), (10, 0));
}

#[test]
fn samples_before_the_measured_part_are_counted_apart() {
    let mut bench = Bench::started(1, closed(), |plan| plan.warmup = Nanos::from_secs(1));
    let half = Nanos::from_millis(500);
    bench.reply(0, START + half);
    bench.reply(0, START + half + half);
    bench.reply(0, START + half + half + half);
    let (tally, intervals) = bench.finish(START + Nanos::from_secs(2));
    assert_eq!((tally.warmup.requests, tally.requests.attempted), (2, 2));
    // Two were answered in the measured part; one of them was begun in it.
    assert_eq!((intervals[0].completed, intervals[0].response.count()), (2, 1));
}

#[test]
fn the_whole_way_of_a_request_allocates_no_more_connections_than_asked() {
    let mut bench = Bench::started(3, every(MS), |_| ());
    for n in 1..1000 {
        let at = START + Nanos(n * MS.0);
        bench.tick(at);
        for did in bench.take() {
            match did {
                Did::Send(slot) => bench.reply(slot, at),
                other => panic!("{other:?}"),
            }
        }
    }
    let (tally, intervals) = bench.finish(START + Nanos::from_secs(1));
    assert_eq!((tally.requests.ok, tally.connections.opened), (1000, 3));
    assert_eq!(intervals.len(), 2);
    assert_eq!(tally.schedule_lag.max(), Nanos::ZERO);
}
