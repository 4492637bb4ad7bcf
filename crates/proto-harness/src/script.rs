//! A connection under any sequence of events, for property tests and the fuzz target `connection`.

use pitot_proto::{FileFailure, OpenError, Phase, Protocol, StoreError, Tick};

use crate::{End, Files, Pump, exchange};

/// Something that happens to a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The next bytes of the input arrive.
    Input(usize),
    /// The peer reads, so that this much can be sent.
    Room(u64),
    /// From now on at most this much is sent in one call.
    SendMax(u64),
    /// The peer has finished sending.
    EndOfInput,
    /// The time for what the connection is doing is over.
    Expire,
    /// The server dismisses the connection.
    Dismiss,
    /// The server is stopping.
    Stop,
    /// The peer resets it.
    Break,
    /// Files cannot be sent any more.
    FailFiles(FileFailure),
    /// Nothing can be stored any more.
    FailStores(StoreError),
}

impl Event {
    /// The event that two bytes stand for.
    pub fn from_bytes(kind: u8, argument: u8) -> Event {
        match kind % 16 {
            0..=4 => Event::Input(usize::from(argument) + 1),
            5 => Event::Input(usize::from(argument) * 64),
            6 | 7 => Event::Room(u64::from(argument)),
            8 => Event::Room(u64::from(argument) << 10),
            9 => Event::SendMax(u64::from(argument) + 1),
            10 => Event::EndOfInput,
            11 => Event::Expire,
            12 => match argument % 3 {
                0 => Event::Dismiss,
                1 => Event::Stop,
                _ => Event::Break,
            },
            13 if argument.is_multiple_of(2) => Event::FailFiles(FileFailure::Truncated),
            13 => Event::FailFiles(FileFailure::Unreadable(OpenError::Unavailable)),
            14 => Event::FailStores(StoreError::NoSpace),
            _ => Event::Room(u64::MAX),
        }
    }

    /// It changes nothing of what is sent in the end, only when.
    fn is_harmless(self) -> bool {
        matches!(self, Event::Input(_) | Event::Room(_) | Event::SendMax(_))
    }
}

/// Lets the events happen to a connection of the protocol that `make` makes, on which `input` arrives, and checks after each that the machine keeps its
/// promises: nothing is sent after the end, what is counted as sent was sent, deadlines lie ahead, an idle connection
/// has nothing under way, and where nothing went wrong what was sent is what a peer with unlimited room gets.
///
/// # Panics
/// If a promise is broken.
pub fn play(
    make: impl Fn() -> Box<dyn Protocol>,
    files: &Files,
    input: &[u8],
    events: impl IntoIterator<Item = Event>,
) {
    let protocol = make();
    let mut pump = Pump::new(&*protocol, files);
    pump.room = 0;
    let (mut fed, mut harmless) = (0, true);
    for event in events {
        let ended = pump.end;
        let sent_before = pump.sent_len;
        harmless &= event.is_harmless();
        match event {
            Event::Input(n) => {
                let piece = &input[fed..(fed + n).min(input.len())];
                fed += piece.len();
                pump.feed(piece);
            }
            Event::Room(room) => {
                pump.make_room(room);
            }
            Event::SendMax(n) => pump.send_max = n,
            Event::EndOfInput => {
                pump.end_of_input();
            }
            Event::Expire => {
                pump.expire();
            }
            Event::Dismiss => {
                pump.dismiss();
            }
            Event::Stop => pump.worker.stopping = true,
            Event::Break => {
                pump.break_socket();
            }
            Event::FailFiles(failure) => pump.file_failure = Some(failure),
            Event::FailStores(error) => pump.store_error = Some(error),
        }
        check(&mut pump, ended, sent_before);
    }
    if harmless {
        pump.make_room(u64::MAX);
        // A server of its own, since earlier requests to a cache change its replies.
        let plain = exchange(&*make(), files, [&input[..fed]]);
        assert_eq!(
            (pump.sent_len, pump.end),
            (plain.sent_len, plain.end),
            "the pace of the peer changed the replies"
        );
        assert!(pump.sent == plain.sent, "the pace of the peer changed the bytes of the replies");
    }
}

fn check(pump: &mut Pump<'_>, ended: Option<End>, sent_before: u64) {
    if ended.is_some() {
        assert_eq!((pump.end, pump.sent_len), (ended, sent_before), "something happened after the end");
        return;
    }
    assert_eq!(pump.worker.tally.bytes_sent, pump.sent_len, "bytes sent are counted wrongly");
    if pump.end.is_none() {
        let (now, deadline) = (pump.worker.now, pump.deadline());
        assert!(deadline > now && deadline < Tick::NEVER, "the deadline does not lie ahead");
        let is_idle = pump.is_idle();
        assert!(
            !is_idle || (pump.phase() == Phase::Idle && !pump.mid_request()),
            "an idle connection has a request under way"
        );
    }
}
