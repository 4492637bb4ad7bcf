//! What the server told, added up by what it says of each connection.

use std::collections::HashMap;
use std::io::Read;
use std::ops::Range;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicUsize, Ordering};

use pitot_meter::Nanos;

use super::is_within;

/// What the server does. What begins with `Will` is told before it is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Did {
    Accepted,
    TookRequest,
    WillReply,
    Replied,
    WillRefuse,
    Refused,
    WillClose,
    Closed,
    WillCut,
    Cut,
    WillReset,
    Reset,
    /// The client's side has ended in order.
    SawEnd,
    /// The client's side was reset.
    SawReset,
    /// The connection of the test itself, after all those of the load.
    WasLast,
}

const ALL: [Did; 15] = [
    Did::Accepted,
    Did::TookRequest,
    Did::WillReply,
    Did::Replied,
    Did::WillRefuse,
    Did::Refused,
    Did::WillClose,
    Did::Closed,
    Did::WillCut,
    Did::Cut,
    Did::WillReset,
    Did::Reset,
    Did::SawEnd,
    Did::SawReset,
    Did::WasLast,
];

/// One thing that the server has told.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    pub connection: u32,
    pub did: Did,
    pub at: Nanos,
}

const EVENT_BYTES: usize = 13;

impl Event {
    pub fn bytes(self) -> [u8; EVENT_BYTES] {
        let mut bytes = [0; EVENT_BYTES];
        bytes[..4].copy_from_slice(&self.connection.to_le_bytes());
        bytes[4] = self.did as u8;
        bytes[5..].copy_from_slice(&self.at.0.to_le_bytes());
        bytes
    }

    fn of(bytes: [u8; EVENT_BYTES]) -> Event {
        let (connection, rest) = bytes.split_first_chunk().unwrap();
        let (did, at) = rest.split_first().unwrap();
        Event {
            connection: u32::from_le_bytes(*connection),
            did: ALL[usize::from(*did)],
            at: Nanos(u64::from_le_bytes(at.try_into().unwrap())),
        }
    }
}

/// A connection that has ended, or whose server has.
#[derive(Debug)]
struct Ended {
    /// What was told of it last but for the client's end, and when.
    last: Did,
    at: Nanos,
    /// How the client's side ended, and when, if the server saw that.
    seen: Option<(Did, Nanos)>,
}

/// How far a server is, for those who wait for it.
#[derive(Debug, Default)]
pub struct Live {
    /// Connections of which no end was told.
    pub open: AtomicUsize,
    /// Requests that it has taken.
    pub taken: AtomicUsize,
}

/// What one server did.
#[derive(Debug, Default)]
pub struct Ledger {
    accepted: u64,
    replied: u64,
    refused: u64,
    ended: Vec<Ended>,
}

impl Ledger {
    /// Reads what a server tells until it is dead.
    pub fn read(mut log: UnixStream, live: &Live) -> Ledger {
        let mut ledger = Ledger::default();
        let mut under_way: HashMap<u32, (Did, Nanos)> = HashMap::new();
        let mut bytes = [0; EVENT_BYTES];
        while log.read_exact(&mut bytes).is_ok() {
            let Event { connection, did, at } = Event::of(bytes);
            match did {
                Did::Accepted => ledger.accepted += 1,
                Did::Replied => ledger.replied += 1,
                Did::Refused => ledger.refused += 1,
                Did::WasLast => ledger.accepted -= 1,
                Did::TookRequest => drop(live.taken.fetch_add(1, Ordering::Relaxed)),
                _ => {}
            }
            match did {
                Did::WasLast => drop(under_way.remove(&connection)),
                Did::SawEnd | Did::SawReset | Did::Reset => {
                    let before = under_way.remove(&connection).unwrap();
                    let (last, since) = if did == Did::Reset { (did, at) } else { before };
                    let seen = (did != Did::Reset).then_some((did, at));
                    ledger.ended.push(Ended { last, at: since, seen });
                }
                _ => drop(under_way.insert(connection, (did, at))),
            }
            live.open.store(under_way.len(), Ordering::Relaxed);
        }
        ledger.ended.extend(under_way.into_values().map(|(last, at)| Ended { last, at, seen: None }));
        ledger
    }
}

/// What servers did, by kinds of which the load has its own counts.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Sum {
    pub accepted: u64,
    /// Right replies and refusals (503) that were sent.
    pub replied: u64,
    pub refused: u64,
    /// Of these, with nothing after them by which the server could know that they were read.
    pub replied_last: u64,
    pub refused_last: u64,
    /// Connections closed in order before a reply, cut short inside one, and reset.
    pub closed: u64,
    pub cut: u64,
    pub reset: u64,
    /// Of these, where the way to the client was reset or held up meanwhile, so that it may have seen something else.
    pub closed_unseen: u64,
    pub cut_unseen: u64,
    pub reset_unseen: u64,
    /// Connections that the client's side ended.
    pub ended_by_client: u64,
    /// Of servers that were killed: connections whose request it had taken and not answered.
    pub killed_at_work: u64,
    /// Those that had no request, or one that was not read.
    pub killed_idle: u64,
    /// Those where it is not known whether the last step was still done: by which it was.
    pub killed_replying: u64,
    pub killed_refusing: u64,
    pub killed_cutting: u64,
    pub killed_resetting: u64,
}

impl Sum {
    /// Of several servers, with the stretches in which nothing passed between them and the load.
    pub fn of(ledgers: &[Ledger], holes: &[Range<Nanos>]) -> Sum {
        let mut sum = Sum::default();
        for ledger in ledgers {
            sum.accepted += ledger.accepted;
            sum.replied += ledger.replied;
            sum.refused += ledger.refused;
            for ended in &ledger.ended {
                sum.add(ended, holes);
            }
        }
        sum
    }

    fn add(&mut self, ended: &Ended, holes: &[Range<Nanos>]) {
        let held_up = is_within(ended.at, holes);
        let Some((seen, _)) = ended.seen else {
            return match ended.last {
                Did::Reset => {
                    self.reset += 1;
                    self.reset_unseen += u64::from(held_up);
                }
                // Closed or cut, and killed before it knew that the client had ended too.
                Did::Closed => self.closed += 1,
                Did::Cut => self.cut += 1,
                Did::TookRequest | Did::WillClose => self.killed_at_work += 1,
                Did::WillReply => self.killed_replying += 1,
                Did::WillRefuse => self.killed_refusing += 1,
                Did::WillCut => self.killed_cutting += 1,
                Did::WillReset => self.killed_resetting += 1,
                _ => self.killed_idle += 1,
            };
        };
        let unseen = u64::from(held_up || seen == Did::SawReset);
        match ended.last {
            Did::Closed => {
                self.closed += 1;
                self.closed_unseen += unseen;
                return;
            }
            Did::Cut => {
                self.cut += 1;
                self.cut_unseen += unseen;
                return;
            }
            Did::Replied => self.replied_last += 1,
            Did::Refused => self.refused_last += 1,
            _ => {}
        }
        self.ended_by_client += 1;
    }
}
