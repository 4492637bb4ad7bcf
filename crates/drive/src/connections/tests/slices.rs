//! Held connections against the same wire and clock.

use super::*;

impl Harness {
    /// Connections that are held and open.
    fn held(connections: u64, pace: ThreadPace, change: impl FnOnce(&mut ThreadPlan)) -> Harness {
        let mut harness = Harness::new(connections, pace, change);
        harness.connections.hold();
        assert_eq!(harness.tick(START - MS), Next::Over);
        harness.prepare(START - MS);
        harness.take();
        harness
    }

    /// Prepares a slice, in which every connect succeeds. Returns what was connected.
    fn prepare(&mut self, at: Nanos) -> Vec<Action> {
        self.connections.prepare(at);
        let mut all = Vec::new();
        while self.tick(at) != Next::Over {
            let actions = self.take();
            assert!(!actions.is_empty(), "it neither ends nor connects");
            for action in &actions {
                let Action::Connect(slot) = *action else { panic!("{action:?}") };
                self.connections.connected(&mut self.wire, slot, at, Ok(()));
            }
            all.extend(actions);
        }
        all
    }

    /// Prepares and begins a slice.
    fn begin(&mut self, at: Nanos, length: Nanos) -> Next {
        self.prepare(at);
        self.connections.begin(at, length);
        self.tick(at)
    }

    fn record(&mut self) -> crate::recorder::SliceRecord {
        self.connections.take_slice(Box::default())
    }
}

const LENGTH: Nanos = Nanos::from_millis(10);

fn ms(n: u64) -> Nanos {
    START + Nanos::from_millis(n)
}

#[test]
fn a_slice_sends_drains_and_rests() {
    let mut harness = Harness::held(2, closed(), |_| ());
    harness.begin(ms(0), LENGTH);
    assert_eq!(harness.take(), [Action::Send(0), Action::Send(1)]);
    harness.reply(0, ms(4));
    assert_eq!(harness.take(), [Action::Send(0)]);
    // What is received after the end begins nothing, also before the loop has noticed the end.
    harness.reply(0, ms(10));
    assert_eq!(harness.take(), []);
    assert!(matches!(harness.tick(ms(11)), Next::Wait(_)));
    harness.reply(1, ms(12));
    assert_eq!(harness.tick(ms(12)), Next::Over);
    assert_eq!(harness.take(), []);
    let times = harness.connections.slice_times();
    assert_eq!((times.first, times.stopped, times.drained), (ms(0), ms(10), ms(12)));
    let record = harness.record();
    assert_eq!((record.requests.attempted, record.requests.ok, record.requests.cut), (3, 3, 0));
    assert_eq!((record.interval.completed, record.interval.response.count()), (3, 3));
    assert_eq!((record.connects, record.reconnects), (0, 0));
    assert!(record.interval.received == 3 * REPLY.len() as u64 && record.interval.sent > 0);
    assert_eq!(record.content, 3 * 2);
    // The next slice counts from nought.
    harness.begin(ms(50), LENGTH);
    assert_eq!(harness.take(), [Action::Send(0), Action::Send(1)]);
    harness.reply(0, ms(60));
    harness.reply(1, ms(60));
    assert_eq!(harness.tick(ms(60)), Next::Over);
    let record = harness.record();
    assert_eq!((record.requests.attempted, record.requests.ok, record.interval.response.count()), (2, 2, 2));
}

#[test]
fn the_schedule_of_an_open_loop_stands_still_between_slices() {
    // Due every 4 ms of the slices' own time: at 0, 4, 8 of the first slice of 10 ms, and at 2, 6 of the second.
    let mut harness = Harness::held(4, every(Nanos::from_millis(4)), |_| ());
    let mut sent = Vec::new();
    for slice in [0, 1000] {
        harness.begin(ms(slice), LENGTH);
        for at in slice..=slice + 10 {
            let next = harness.tick(ms(at));
            for action in harness.take() {
                let Action::Send(slot) = action else { panic!("{action:?}") };
                sent.push(at);
                harness.reply(slot, ms(at));
            }
            assert_eq!(next == Next::Over, at == slice + 10, "{at}");
        }
        let record = harness.record();
        assert_eq!(record.requests.missed, 0);
        assert_eq!(record.interval.response.max(), Nanos::ZERO);
    }
    assert_eq!(sent, [0, 4, 8, 1002, 1006]);
}

#[test]
fn what_no_connection_was_free_for_is_missed_and_not_sent_in_the_next_slice() {
    let mut harness = Harness::held(1, every(MS), |_| ());
    harness.begin(ms(0), LENGTH);
    assert_eq!(harness.take(), [Action::Send(0)]);
    assert!(matches!(harness.tick(ms(10)), Next::Wait(_)));
    harness.reply(0, ms(15));
    assert_eq!(harness.take(), []);
    assert_eq!(harness.tick(ms(15)), Next::Over);
    let record = harness.record();
    assert_eq!((record.requests.attempted, record.requests.ok, record.requests.missed), (1, 1, 9));
    // The next arrival is due at once.
    harness.begin(ms(100), LENGTH);
    assert_eq!(harness.take(), [Action::Send(0)]);
    harness.reply(0, ms(100));
    assert_eq!(harness.take(), []);
    harness.tick(ms(101));
    assert_eq!(harness.take(), [Action::Send(0)]);
}

#[test]
fn what_the_server_closes_between_slices_is_opened_before_the_next_one() {
    let mut harness = Harness::held(3, closed(), |_| ());
    harness.connections.prepare(ms(0));
    // The engine has not looked yet.
    assert_eq!(harness.connections.tick(&mut harness.wire, ms(0), ms(0) - MS), Next::Wait(ms(0)));
    harness.connections.ended(&mut harness.wire, 1, ms(0));
    assert_eq!(harness.take(), [Action::Close(1)]);
    assert!(matches!(harness.tick(ms(0)), Next::Wait(_)));
    assert_eq!(harness.take(), [Action::Connect(1)]);
    harness.connections.connected(&mut harness.wire, 1, ms(1), Ok(()));
    assert_eq!(harness.tick(ms(1)), Next::Over);
    harness.connections.begin(ms(1), LENGTH);
    harness.tick(ms(1));
    assert_eq!(harness.take(), [Action::Send(0), Action::Send(1), Action::Send(2)]);
    (0..3).for_each(|slot| harness.reply(slot, ms(11)));
    assert_eq!(harness.tick(ms(11)), Next::Over);
    let record = harness.record();
    assert_eq!((record.requests.ok, record.connects, record.reconnects), (3, 0, 1));
    assert!(record.errors.is_empty(), "{:?}", record.errors);
}

#[test]
fn a_connection_that_cannot_be_opened_is_tried_once_before_a_slice_and_an_error_of_it() {
    let mut harness = Harness::held(1, closed(), |plan| plan.timeout = Nanos::from_secs(5));
    for slice in 0..3 {
        let at = ms(slice * 100);
        harness.connections.prepare(at);
        if slice == 0 {
            harness.connections.ended(&mut harness.wire, 0, at);
            assert_eq!(harness.take(), [Action::Close(0)]);
        }
        assert!(matches!(harness.tick(at), Next::Wait(_)));
        assert_eq!(harness.take(), [Action::Connect(0)]);
        let refused = io::Error::from_raw_os_error(111);
        harness.connections.connected(&mut harness.wire, 0, at, Err(refused));
        assert_eq!(harness.tick(at), Next::Over);
        harness.take();
        harness.connections.begin(at, MS);
        harness.tick(at);
        assert_eq!(harness.tick(at + MS), Next::Over, "slice {slice}");
        let record = harness.record();
        let errors: Vec<(&str, u64)> = record.errors.iter().map(|e| (e.kind.as_str(), e.count)).collect();
        assert_eq!(errors, [("ECONNREFUSED", 1)], "slice {slice}");
    }
}

#[test]
fn a_drain_ends_with_the_timeout_and_the_connection_is_replaced_before_the_next_slice() {
    let mut harness = Harness::held(2, closed(), |_| ());
    harness.begin(ms(0), LENGTH);
    harness.take();
    harness.reply(0, ms(9));
    assert_eq!(harness.take(), [Action::Send(0)]);
    let mut at = 10;
    while harness.tick(ms(at)) != Next::Over {
        at += 1;
    }
    // The request of the first connection was sent at 9 ms, that of the second at 0.
    assert_eq!(at, 9 + TIMEOUT.0 / MS.0);
    assert_eq!(harness.take(), [Action::Close(1), Action::Close(0)]);
    let record = harness.record();
    assert_eq!((record.requests.ok, record.requests.failed), (1, 2));
    assert_eq!((record.errors[0].phase.as_str(), record.errors[0].kind.as_str()), ("timeout", "reply"));
    assert_eq!(record.interval.response.count(), 3);
    assert_eq!(harness.prepare(ms(at)), [Action::Connect(0), Action::Connect(1)]);
}

#[test]
fn a_connect_that_hangs_does_not_prolong_a_drain_beyond_the_timeout() {
    let mut harness = Harness::held(1, closed(), |plan| plan.groups[0].0 = lifecycle(1));
    harness.begin(ms(0), LENGTH);
    assert_eq!(harness.take(), [Action::Connect(0)]);
    // It is established when its time is nearly over, and the request then sent is not answered either.
    harness.tick(ms(10));
    harness.connections.connected(&mut harness.wire, 0, ms(99), Ok(()));
    assert_eq!(harness.take(), [Action::Send(0)]);
    assert!(matches!(harness.tick(ms(109)), Next::Wait(_)));
    assert_eq!(harness.tick(ms(110)), Next::Over);
    assert_eq!(harness.take(), [Action::Close(0)]);
    assert_eq!(harness.record().requests.failed, 1);
}

#[test]
fn a_connection_that_we_closed_is_opened_in_the_slice_that_needs_it() {
    let two_requests = |plan: &mut ThreadPlan| plan.groups[0].0 = lifecycle(2);
    for pace in [closed(), every(Nanos::from_millis(5))] {
        let mut harness = Harness::held(1, pace, two_requests);
        harness.begin(ms(0), LENGTH);
        harness.reply(0, ms(1));
        harness.tick(ms(5));
        harness.take();
        // The second reply comes in the drain, and the connection is spent.
        harness.tick(ms(10));
        harness.reply(0, ms(11));
        assert_eq!(harness.take(), [Action::Close(0)]);
        assert_eq!(harness.tick(ms(11)), Next::Over);
        harness.record();
        // Not before the next slice but in it, with the first request or when it begins.
        assert_eq!(harness.prepare(ms(50)), []);
        harness.connections.begin(ms(50), LENGTH);
        harness.tick(ms(50));
        assert_eq!(harness.take(), [Action::Connect(0)]);
        harness.connections.connected(&mut harness.wire, 0, ms(51), Ok(()));
        assert_eq!(harness.take(), [Action::Send(0)]);
        harness.tick(ms(60));
        harness.reply(0, ms(60));
        assert_eq!(harness.tick(ms(60)), Next::Over);
        let record = harness.record();
        assert_eq!((record.requests.ok, record.connects, record.reconnects), (1, 1, 0));
    }
}

#[test]
fn a_connection_for_each_request_is_connected_within_the_slice() {
    let mut harness = Harness::held(1, closed(), |plan| plan.groups[0].0 = lifecycle(1));
    for slice in [0, 100] {
        harness.begin(ms(slice), LENGTH);
        assert_eq!(harness.take(), [Action::Connect(0)]);
        for _ in 0..3 {
            harness.connections.connected(&mut harness.wire, 0, ms(slice), Ok(()));
            assert_eq!(harness.take(), [Action::Send(0)]);
            harness.reply(0, ms(slice));
            assert_eq!(harness.take(), [Action::Close(0), Action::Connect(0)]);
        }
        harness.connections.connected(&mut harness.wire, 0, ms(slice), Ok(()));
        harness.tick(ms(slice + 10));
        harness.reply(0, ms(slice + 10));
        assert_eq!(harness.tick(ms(slice + 10)), Next::Over);
        assert_eq!(harness.take(), [Action::Send(0), Action::Close(0)]);
        let record = harness.record();
        assert_eq!((record.requests.ok, record.connects, record.reconnects), (4, 4, 0));
    }
}

#[test]
fn who_thinks_when_a_slice_ends_goes_on_thinking_in_the_next() {
    // Thinks for 15 ms, so that every slice of 10 ms has part of a pause.
    let think = ThreadPace::Closed { think: Nanos::from_millis(15) };
    let mut harness = Harness::held(1, think, |_| ());
    let mut sent = Vec::new();
    for slice in 0..20 {
        let start = slice * 1000;
        harness.begin(ms(start), LENGTH);
        for at in start..=start + 10 {
            harness.tick(ms(at));
            for action in harness.take() {
                let Action::Send(slot) = action else { panic!("{action:?}") };
                sent.push(slice * 10 + at - start);
                harness.reply(slot, ms(at));
            }
        }
        harness.record();
    }
    assert!(sent.len() >= 12, "{sent:?}");
    // Alarms go off up to a millisecond late here, as that is how often the loop looks.
    assert!(sent.windows(2).all(|pair| (15..=16).contains(&(pair[1] - pair[0]))), "{sent:?}");
}

#[test]
fn the_churn_of_many_slices_is_that_of_one_run() {
    let churning = Lifecycle { churn_rate: 40.0, ..lifecycle(u64::MAX) };
    let mut harness = Harness::held(4, every(MS), |plan| plan.groups[0].0 = churning);
    let mut closed = 0;
    for slice in 0..20 {
        let start = slice * 1000;
        harness.begin(ms(start), LENGTH);
        for at in start..=start + 10 {
            harness.tick(ms(at));
            for action in harness.take() {
                match action {
                    Action::Connect(slot) => {
                        harness.connections.connected(&mut harness.wire, slot, ms(at), Ok(()));
                    }
                    Action::Send(slot) => harness.reply(slot, ms(at)),
                    Action::Close(_) => closed += 1,
                }
            }
        }
        harness.tick(ms(start + 10));
        harness.record();
    }
    // 200 ms at 40 a second.
    assert!((7..=8).contains(&closed), "{closed}");
}

#[test]
fn a_slice_that_was_kept_from_running_sends_nothing_and_ends() {
    let mut harness = Harness::held(1, closed(), |_| ());
    harness.prepare(ms(0));
    harness.connections.begin(ms(0), LENGTH);
    assert_eq!(harness.tick(ms(20)), Next::Wait(ms(20)));
    assert_eq!(harness.tick(ms(20)), Next::Over);
    assert_eq!(harness.take(), []);
    assert_eq!(harness.record().requests.attempted, 0);
}

#[test]
fn a_pipeline_is_drained_to_its_last_reply() {
    let mut harness = Harness::held(1, closed(), |plan| plan.pipeline = 3);
    harness.begin(ms(0), LENGTH);
    assert_eq!(harness.take(), [Action::Send(0)]);
    harness.tick(ms(10));
    harness.reply(0, ms(10));
    harness.reply(0, ms(11));
    assert!(matches!(harness.tick(ms(11)), Next::Wait(_)));
    harness.reply(0, ms(12));
    assert_eq!(harness.tick(ms(12)), Next::Over);
    assert_eq!(harness.take(), []);
    assert_eq!(harness.record().requests.ok, 3);
}
