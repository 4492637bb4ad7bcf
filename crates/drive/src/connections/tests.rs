//! The connections against a wire that only keeps a log and a clock that is only an argument.

mod pages;
mod slices;

use std::sync::mpsc::{Receiver, channel};

use pitot_client::{ClientOptions, RequestSpec, Url};

use std::io;
use std::sync::Arc;

use pitot_client::Payload;
use pitot_meter::Nanos;

use super::*;
use crate::gate::Gate;
use crate::message::Message;
use crate::recorder::{Intervals, Recorder};
use crate::share::Share;
use crate::tally::{Interval, Tally};
use crate::workload::{ConnectAt, Lifecycle, Usage};

const MS: Nanos = Nanos::from_millis(1);
const TIMEOUT: Nanos = Nanos::from_millis(100);
const START: Nanos = Nanos::from_secs(100);
/// A whole reply to the requests of these tests.
const REPLY: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// What the connections wanted done.
#[derive(Debug, PartialEq, Eq)]
enum Action {
    Connect(u32),
    Send(u32),
    Close(u32),
}

#[derive(Default)]
struct LogWire {
    log: Vec<Action>,
    refuse_sends: bool,
}

impl Wire for LogWire {
    fn connect(&mut self, slot: u32) -> io::Result<()> {
        self.log.push(Action::Connect(slot));
        Ok(())
    }

    fn send(&mut self, slot: u32, payload: Payload<'_>) -> io::Result<()> {
        assert!(payload.as_slice().ends_with(b"\r\n\r\n"));
        self.log.push(Action::Send(slot));
        if self.refuse_sends { Err(io::ErrorKind::BrokenPipe.into()) } else { Ok(()) }
    }

    fn close(&mut self, slot: u32) -> u32 {
        self.log.push(Action::Close(slot));
        0
    }
}

/// Connections at work with everything around them.
struct Harness {
    connections: Connections,
    wire: LogWire,
    messages: Receiver<Message>,
}

fn lifecycle(requests_max: u64) -> Lifecycle {
    let connect_at = if requests_max == 1 { ConnectAt::OnDemand } else { ConnectAt::BeforeStart };
    Lifecycle { connect_at, requests_max, churn_rate: 0.0, usage: Usage::Requests }
}

fn every(gap: Nanos) -> ThreadPace {
    ThreadPace::Open(Box::new((0..).map(move |n| Nanos(n * gap.0))))
}

impl Harness {
    fn new(connections: u64, pace: ThreadPace, change: impl FnOnce(&mut ThreadPlan)) -> Harness {
        let url = Url::parse("http://h/").unwrap();
        let request = RequestSpec::default();
        let options = ClientOptions { requests: vec![request], ..ClientOptions::default() };
        let protocol = (pitot_client::find("http").unwrap().build)(&url, &options).unwrap();
        let mut plan = ThreadPlan {
            back_off_max: Nanos::from_secs(1),
            protocol: protocol.into(),
            groups: vec![(lifecycle(u64::MAX), connections)],
            pace,
            pipeline: 1,
            timeout: TIMEOUT,
            sessions: None,
            requests: None,
            warmup: Nanos::ZERO,
            duration: Some(Nanos::from_secs(10)),
            share: Share::WHOLE,
            think_times: crate::think::ThinkTimes::Constant,
            seed: 1,
            growth: None,
        };
        change(&mut plan);
        let (finished, messages) = channel();
        let intervals = Intervals { source: 0, finished, spare: channel().1 };
        let gate = Arc::new(Gate::default());
        gate.open(START);
        let connections = Connections::new(plan, Recorder::new(connections, intervals), gate);
        Harness { connections, wire: LogWire::default(), messages }
    }

    /// Connections that are open in a run that has just started.
    fn started(connections: u64, pace: ThreadPace, change: impl FnOnce(&mut ThreadPlan)) -> Harness {
        let mut harness = Harness::new(connections, pace, change);
        let early = START - MS;
        harness.tick(early);
        for action in std::mem::take(&mut harness.wire.log) {
            let Action::Connect(slot) = action else { panic!("{action:?}") };
            harness.connections.connected(&mut harness.wire, slot, early, Ok(()));
        }
        harness.tick(early);
        assert!(harness.connections.is_ready());
        harness.tick(START);
        harness
    }

    fn tick(&mut self, at: Nanos) -> Next {
        self.connections.tick(&mut self.wire, at, at)
    }

    fn reply(&mut self, slot: u32, at: Nanos) {
        self.connections.received(&mut self.wire, slot, at, REPLY);
    }

    fn take(&mut self) -> Vec<Action> {
        std::mem::take(&mut self.wire.log)
    }

    fn finish(mut self, at: Nanos) -> (Tally, Vec<Interval>) {
        let tally = self.connections.finish(&mut self.wire, at);
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
    let mut harness = Harness::started(2, closed(), |_| ());
    assert_eq!(harness.take(), [Action::Send(0), Action::Send(1)]);
    harness.reply(1, START + MS);
    assert_eq!(harness.take(), [Action::Send(1)]);
    let (tally, intervals) = harness.finish(START + MS + MS);
    assert_eq!((tally.requests.attempted, tally.requests.ok, tally.requests.cut), (3, 1, 2));
    assert_eq!(tally.requests.cut_oldest_ns, 2 * MS.0);
    assert_eq!((intervals.len(), intervals[0].completed, intervals[0].response.count()), (1, 1, 1));
    assert_eq!(intervals[0].open_ns, 2 * 2 * MS.0);
}

#[test]
fn a_reply_in_pieces_is_one_reply() {
    let mut harness = Harness::started(1, closed(), |_| ());
    for (n, byte) in REPLY.iter().enumerate() {
        harness.connections.received(&mut harness.wire, 0, START + Nanos(n as u64 * MS.0), &[*byte]);
    }
    assert_eq!(harness.take(), [Action::Send(0), Action::Send(0)]);
    let (tally, _) = harness.finish(START + TIMEOUT);
    assert_eq!(tally.requests.ok, 1);
    assert_eq!(tally.first_byte.max(), Nanos::ZERO);
    assert!(tally.service.max() >= Nanos((REPLY.len() as u64 - 1) * MS.0));
}

#[test]
fn gaps_within_a_reply_are_recorded_and_long_ones_are_stalls() {
    let mut harness = Harness::started(1, closed(), |plan| plan.timeout = Nanos::from_secs(5));
    let mut feed = |at_ms: u64, bytes: &[u8]| {
        harness.connections.received(&mut harness.wire, 0, START + Nanos(at_ms * MS.0), bytes);
    };
    // The wait of 40 ms for the first byte is no gap; one of 10 ms and one of 150 ms follow.
    feed(40, &REPLY[..5]);
    feed(50, &REPLY[5..10]);
    feed(200, &REPLY[10..]);
    // The next reply comes in one piece.
    feed(230, REPLY);
    let (tally, _) = harness.finish(START + Nanos(231 * MS.0));
    assert_eq!(tally.requests.ok, 2);
    assert_eq!(tally.gaps.count(), 2);
    assert!(tally.gaps.min() >= Nanos(9 * MS.0) && tally.gaps.max() >= Nanos(149 * MS.0));
    assert_eq!((tally.flow_ns, tally.stalled_ns), (160 * MS.0, 150 * MS.0));
}

#[test]
fn gaps_of_the_warm_up_are_not_recorded() {
    let mut harness = Harness::started(1, closed(), |plan| plan.warmup = Nanos(30 * MS.0));
    for (at_ms, piece) in [(10, &REPLY[..5]), (20, &REPLY[5..10]), (40, &REPLY[10..])] {
        harness.connections.received(&mut harness.wire, 0, START + Nanos(at_ms * MS.0), piece);
    }
    let (tally, _) = harness.finish(START + Nanos(41 * MS.0));
    assert_eq!(tally.gaps.count(), 1);
}

#[test]
fn the_lateness_of_the_generator_itself_is_recorded_separately() {
    // Due at 0, 10, 20 ... ms; the loop looks again only after 55 ms although connections are free.
    let mut harness = Harness::started(10, every(Nanos(10 * MS.0)), |_| ());
    assert_eq!(harness.take(), [Action::Send(0)]);
    harness.tick(START + Nanos(55 * MS.0));
    assert_eq!(harness.take().len(), 5);
    let (tally, _) = harness.finish(START + Nanos(56 * MS.0));
    assert_eq!(tally.requests.started_late, 5);
    assert_eq!(tally.threads[0].late_max_ns, 45 * MS.0);
}

#[test]
fn waiting_for_a_free_connection_is_not_the_generators_lateness_but_response_time() {
    let mut harness = Harness::started(1, every(Nanos(10 * MS.0)), |_| ());
    harness.tick(START + Nanos(10 * MS.0));
    harness.tick(START + Nanos(20 * MS.0));
    assert_eq!(harness.take(), [Action::Send(0)]);
    harness.reply(0, START + Nanos(50 * MS.0));
    assert_eq!(harness.take(), [Action::Send(0)]);
    harness.reply(0, START + Nanos(52 * MS.0));
    let (tally, intervals) = harness.finish(START + Nanos(53 * MS.0));
    assert_eq!(tally.requests.started_late, 0);
    // The second was due at 10 ms, sent at 50 and answered at 52.
    assert!(tally.service.min() < Nanos(3 * MS.0));
    assert_eq!(intervals[0].response.count_from(Nanos(41 * MS.0)), 2);
    assert_eq!(tally.schedule_lag.count_from(Nanos(39 * MS.0)), 1);
    // Due at 20, 30, 40 and 50 ms: one of them is under way, the others were never sent.
    assert_eq!((tally.requests.cut, tally.requests.missed), (1, 3));
}

#[test]
fn what_waits_longer_than_the_timeout_is_missed() {
    let mut harness = Harness::started(1, every(Nanos(10 * MS.0)), |plan| plan.requests = Some(100));
    harness.tick(START + Nanos(99 * MS.0));
    harness.take();
    // The first request times out; of those due since, the ones older than the timeout are missed.
    harness.tick(START + Nanos(155 * MS.0));
    let (tally, _) = harness.finish(START + Nanos(155 * MS.0));
    assert_eq!(tally.requests.failed, 1);
    assert_eq!(tally.requests.attempted + tally.requests.missed, 16);
}

#[test]
fn a_timeout_closes_and_counts_with_its_time() {
    let mut harness = Harness::started(1, closed(), |_| ());
    harness.take();
    harness.tick(START + TIMEOUT - Nanos(1));
    assert_eq!(harness.take(), []);
    harness.tick(START + TIMEOUT);
    assert_eq!(harness.take(), [Action::Close(0)]);
    // It lived for a tenth of a second and served nothing: a pause comes before the next.
    harness.tick(START + TIMEOUT + Nanos(10 * MS.0));
    assert_eq!(harness.take(), [Action::Connect(0)]);
    let (tally, intervals) = harness.finish(START + TIMEOUT + Nanos(11 * MS.0));
    assert_eq!(tally.errors[0].kind, "reply");
    assert_eq!(intervals[0].response.count_from(TIMEOUT), 1);
    assert_eq!(tally.service.count(), 0);
}

#[test]
fn a_loop_that_was_stopped_does_not_take_a_waiting_reply_for_a_timeout() {
    let mut harness = Harness::started(1, closed(), |_| ());
    harness.take();
    // It slept for a second; what had come by then is not yet reported.
    let late = START + Nanos::from_secs(1);
    harness.connections.tick(&mut harness.wire, late, START + MS);
    assert_eq!(harness.take(), []);
    harness.reply(0, late);
    let (tally, _) = harness.finish(late + MS);
    assert_eq!((tally.requests.completed, tally.requests.ok, tally.requests.failed), (1, 0, 0));
    assert_eq!((&*tally.errors[0].phase, &*tally.errors[0].kind), ("timeout", "late"));
}

#[test]
fn a_connect_that_does_not_end_times_out() {
    let mut harness = Harness::new(1, closed(), |_| ());
    harness.tick(START - TIMEOUT - TIMEOUT);
    assert_eq!(harness.take(), [Action::Connect(0)]);
    harness.tick(START - TIMEOUT);
    assert_eq!(harness.take(), [Action::Close(0)]);
    harness.tick(START - TIMEOUT);
    assert!(harness.connections.is_ready());
    assert_eq!(harness.connections.opened(), 0);
    let (tally, _) = harness.finish(START - MS);
    assert_eq!((&*tally.errors[0].phase, &*tally.errors[0].kind), ("timeout", "connect"));
}

#[test]
fn a_server_that_drops_one_connection_for_each_new_one_does_not_hold_up_the_start() {
    let idle = Lifecycle { usage: Usage::Idle { trickle: None }, ..lifecycle(u64::MAX) };
    let mut harness = Harness::new(400, closed(), |plan| plan.groups = vec![(idle, 400)]);
    // The first hundred are kept for longer than a failure to open one is.
    let late = START - MS;
    let mut now = START - Nanos::from_secs(10);
    let mut held = std::collections::VecDeque::new();
    let mut opened = 0;
    while !harness.connections.is_ready() {
        harness.tick(now);
        for action in harness.take() {
            let Action::Connect(slot) = action else { continue };
            harness.connections.connected(&mut harness.wire, slot, now, Ok(()));
            held.push_back(slot);
            opened += 1;
            assert!(opened <= 400, "each is opened once before the start");
        }
        now = (now + Nanos::from_secs(2)).min(late);
        while held.len() > 100 {
            let slot = held.pop_front().unwrap();
            harness.connections.ended(&mut harness.wire, slot, now);
        }
    }
    // Those that were lost are opened at the start.
    harness.tick(START);
    let again = harness.take().iter().filter(|action| matches!(action, Action::Connect(_))).count();
    assert!(again >= 200, "{again}");
}

#[test]
fn a_server_that_takes_no_connection_holds_up_the_start_for_a_bounded_time() {
    let timeout = Nanos::from_secs(1);
    let mut harness = Harness::new(10_000, closed(), |plan| plan.timeout = timeout);
    let begin = START - Nanos::from_secs(60);
    let bound = Nanos(timeout.0 * 2) + Nanos(tick::OPENING_EACH.0 * 10_000);
    let (mut now, mut connects) = (begin, 0);
    while !harness.connections.is_ready() {
        assert!(now <= begin + bound + MS, "it waits for more than a hundred time-outs");
        harness.tick(now);
        connects += harness.take().iter().filter(|action| matches!(action, Action::Connect(_))).count();
        now += MS;
    }
    assert!(connects < 10_000, "{connects}");
    // What was not tried is opened when requests begin.
    harness.tick(START);
    let more = harness.take().iter().filter(|action| matches!(action, Action::Connect(_))).count();
    assert!(more > 0 && connects + more >= 10_000, "{connects} and {more}");
}

#[test]
fn pauses_between_failed_connects_double_up_to_a_second() {
    let mut harness = Harness::new(1, closed(), |plan| plan.duration = Some(Nanos::from_secs(1000)));
    let mut at = START - Nanos::from_secs(60);
    let mut tried = Vec::new();
    for _ in 0..30_000 {
        harness.tick(at);
        for action in harness.take() {
            if action == Action::Connect(0) {
                tried.push(at);
                harness.connections.connected(
                    &mut harness.wire,
                    0,
                    at,
                    Err(io::ErrorKind::ConnectionRefused.into()),
                );
            }
        }
        at += MS;
    }
    let gaps: Vec<u64> = tried.windows(2).map(|pair| pair[1].since(pair[0]).0 / MS.0).collect();
    assert_eq!(gaps[..9], [10, 20, 40, 80, 160, 320, 640, 1000, 1000]);
}

#[test]
fn a_request_of_its_own_connection_counts_from_before_the_connect() {
    let mut harness = Harness::started(1, closed(), |plan| plan.groups[0].0 = lifecycle(1));
    assert_eq!(harness.take(), [Action::Connect(0)]);
    harness.connections.connected(&mut harness.wire, 0, START + Nanos(30 * MS.0), Ok(()));
    assert_eq!(harness.take(), [Action::Send(0)]);
    harness.reply(0, START + Nanos(32 * MS.0));
    assert_eq!(harness.take(), [Action::Close(0), Action::Connect(0)]);
    let (tally, intervals) = harness.finish(START + Nanos(33 * MS.0));
    assert!(intervals[0].response.min() >= Nanos(31 * MS.0));
    assert!(tally.service.max() <= Nanos(3 * MS.0) && tally.connect.min() >= Nanos(29 * MS.0));
}

#[test]
fn a_pipeline_fills_up_and_keeps_its_order() {
    let mut harness = Harness::started(1, closed(), |plan| plan.pipeline = 4);
    // Four requests in one send.
    assert_eq!(harness.take(), [Action::Send(0)]);
    harness.connections.received(&mut harness.wire, 0, START + MS, &REPLY.repeat(3));
    assert_eq!(harness.take(), [Action::Send(0)]);
    let (tally, _) = harness.finish(START + MS + MS);
    assert_eq!((tally.requests.attempted, tally.requests.ok, tally.requests.cut), (7, 3, 4));
}

#[test]
fn a_reply_that_goes_on_behind_its_end_is_a_fault() {
    let mut harness = Harness::started(1, closed(), |_| ());
    harness.take();
    harness.connections.received(&mut harness.wire, 0, START + MS, &[REPLY, b"!"].concat());
    assert_eq!(harness.take(), [Action::Close(0)]);
    let (tally, _) = harness.finish(START + MS + MS);
    assert_eq!((tally.requests.completed, tally.requests.failed), (0, 1));
    assert_eq!(tally.errors[0].kind, "unasked-bytes");
}

#[test]
fn a_send_that_fails_is_an_error_of_the_send() {
    let mut harness = Harness::started(1, closed(), |_| ());
    harness.take();
    harness.wire.refuse_sends = true;
    harness.reply(0, START + MS);
    let (tally, _) = harness.finish(START + MS + MS);
    assert_eq!(&*tally.errors[0].phase, "send");
    // It had served a request, so that another is opened at once.
    assert_eq!((tally.requests.ok, tally.requests.failed), (1, 1));
}

#[test]
fn the_end_comes_with_the_last_reply() {
    let mut harness = Harness::started(2, closed(), |plan| {
        plan.requests = Some(3);
        plan.duration = None;
    });
    harness.reply(0, START + MS);
    assert_eq!(harness.take(), [Action::Send(0), Action::Send(1), Action::Send(0)]);
    harness.reply(0, START + MS + MS);
    assert!(matches!(harness.tick(START + MS + MS), Next::Wait(_)));
    harness.reply(1, START + MS + MS);
    assert_eq!(harness.take(), []);
    assert_eq!(harness.tick(START + MS + MS), Next::Over);
    let (tally, _) = harness.finish(START + MS + MS);
    assert_eq!((tally.requests.attempted, tally.requests.ok), (3, 3));
}

#[test]
fn a_loop_waits_no_longer_than_until_the_next_arrival() {
    let gap = Nanos(7 * MS.0 + 123);
    let mut harness = Harness::started(1, every(gap), |_| ());
    harness.reply(0, START + MS);
    assert_eq!(harness.tick(START + MS), Next::Wait(START + gap));
}

#[test]
fn arrivals_after_the_end_are_not_begun_however_late_the_loop_notices() {
    let mut harness = Harness::started(1, every(MS), |plan| plan.duration = Some(Nanos(10 * MS.0)));
    let late = START + Nanos(30 * MS.0);
    loop {
        let sends = harness.take();
        if sends.is_empty() {
            break;
        }
        for action in sends {
            match action {
                Action::Send(slot) => harness.reply(slot, late),
                other => panic!("{other:?}"),
            }
        }
    }
    assert_eq!(harness.tick(late), Next::Over);
    let (tally, _) = harness.finish(late);
    assert_eq!((tally.requests.attempted, tally.requests.missed), (10, 0));
}

#[test]
fn samples_before_the_measured_part_are_counted_apart() {
    let mut harness = Harness::started(1, closed(), |plan| plan.warmup = Nanos::from_secs(1));
    let half = Nanos::from_millis(500);
    harness.reply(0, START + half);
    harness.reply(0, START + half + half);
    harness.reply(0, START + half + half + half);
    let (tally, intervals) = harness.finish(START + Nanos::from_secs(2));
    assert_eq!((tally.warmup.requests, tally.requests.attempted), (2, 2));
    // Two were answered in the measured part; one of them was begun in it.
    assert_eq!((intervals[0].completed, intervals[0].response.count()), (2, 1));
}

#[test]
fn the_whole_way_of_a_request_allocates_no_more_connections_than_asked() {
    let mut harness = Harness::started(3, every(MS), |_| ());
    for n in 1..1000 {
        let at = START + Nanos(n * MS.0);
        harness.tick(at);
        for action in harness.take() {
            match action {
                Action::Send(slot) => harness.reply(slot, at),
                other => panic!("{other:?}"),
            }
        }
    }
    let (tally, intervals) = harness.finish(START + Nanos::from_secs(1));
    assert_eq!((tally.requests.ok, tally.connections.opened), (1000, 3));
    assert_eq!(intervals.len(), 1, "the run ended as the second did");
    assert_eq!(tally.schedule_lag.max(), Nanos::ZERO);
}

#[test]
fn a_run_of_whole_seconds_has_no_second_more() {
    let mut harness = Harness::started(1, closed(), |plan| plan.duration = Some(Nanos::from_secs(2)));
    let end = START + Nanos::from_secs(2);
    harness.reply(0, START + Nanos::from_millis(1500));
    // The loop notices the end a moment late, as all loops do.
    harness.reply(0, end + MS);
    assert_eq!(harness.tick(end + MS), Next::Over);
    let (_, intervals) = harness.finish(end + MS + MS);
    let completed: Vec<(u64, u64)> = intervals.iter().map(|i| (i.second, i.completed)).collect();
    assert_eq!(completed, [(0, 0), (1, 2)]);
}

#[test]
fn arrivals_missed_are_counted_in_the_second_in_which_they_were_due() {
    let mut harness = Harness::started(1, every(Nanos::from_millis(250)), |plan| {
        plan.duration = Some(Nanos::from_secs(3));
        plan.timeout = Nanos::from_secs(10);
    });
    harness.take();
    let end = START + Nanos::from_secs(3);
    harness.tick(end);
    let (tally, _) = harness.finish(end);
    // The first is under way to the end, and holds up all others.
    assert_eq!((tally.requests.cut, tally.requests.missed), (1, 11));
    assert_eq!(tally.missed_by_second, [3, 4, 4]);
}

#[test]
fn the_number_of_requests_is_that_of_the_measured_part() {
    let mut harness = Harness::started(1, closed(), |plan| {
        plan.warmup = Nanos(10 * MS.0);
        plan.requests = Some(3);
        plan.duration = None;
    });
    let mut at = START;
    while harness.tick(at) != Next::Over {
        at += MS;
        if harness.take().contains(&Action::Send(0)) {
            harness.reply(0, at);
        }
        assert!(at < START + Nanos::from_secs(1));
    }
    let (tally, _) = harness.finish(at);
    assert_eq!((tally.warmup.requests, tally.requests.attempted, tally.requests.ok), (10, 3, 3));
}

#[test]
fn a_connection_that_the_server_announces_to_close_is_closed_by_it() {
    let reply = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";
    for (requests_max, by_peer) in [(u64::MAX, 1), (2, 1), (1, 0)] {
        let mut harness = Harness::started(1, closed(), |plan| plan.groups[0].0 = lifecycle(requests_max));
        if requests_max == 1 {
            harness.connections.connected(&mut harness.wire, 0, START, Ok(()));
        }
        harness.connections.received(&mut harness.wire, 0, START + MS, reply);
        let (tally, _) = harness.finish(START + MS);
        assert_eq!((tally.requests.ok, tally.connections.closed_by_peer), (1, by_peer), "{requests_max}");
    }
}

#[test]
fn idle_connections_send_on_ticks_within_their_time_and_their_replies_are_proof() {
    let trickle = Nanos::from_millis(1600);
    let mut harness = Harness::started(0, closed(), |plan| {
        let usage = Usage::Idle { trickle: Some(trickle) };
        plan.groups = vec![(Lifecycle { usage, ..lifecycle(u64::MAX) }, 90)];
        plan.timeout = Nanos::from_secs(5);
    });
    let (mut last, mut wakes) = (vec![START; 90], 0);
    let end = START + Nanos::from_secs(8);
    let mut now = START;
    while now < end {
        let Next::Wait(until) = harness.tick(now) else { panic!("it is over at {now}") };
        let sent = harness.take();
        wakes += u32::from(!sent.is_empty());
        for action in sent {
            let Action::Send(slot) = action else { panic!("{action:?}") };
            let before = std::mem::replace(&mut last[slot as usize], now);
            assert!(now.since(before) <= trickle, "{slot} waits for {}", now.since(before));
            harness.reply(slot, now);
        }
        now = until;
    }
    assert!(wakes <= 8_000 / 62 + 1, "{wakes} moments for 450 requests");
    let (tally, _) = harness.finish(end);
    let idle = tally.idle.unwrap();
    assert_eq!((idle.connections, idle.replies), (90, tally.connections.trickled));
    assert!(idle.replies_min >= 5 && idle.gap_max_s <= trickle.as_secs_f64(), "{idle:?}");
}
