//! The hosts that mail goes to, and the work that waits for each.

use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use pitot_meter::Nanos;
use pitot_results::mail::Outcome;
use pitot_sys::Token;

use crate::batch::Reply;
use crate::reasons::Reasons;

/// The longest pause after the first failure of a host; each further failure doubles it.
const DOWN_FIRST_MAX: Nanos = Nanos::from_secs(30);
const DOWN_DOUBLINGS_MAX: u32 = 5;

/// An address that accepts mail. Domains that share it share its connections.
#[derive(Debug)]
pub(crate) struct Host {
    pub(crate) addr: SocketAddr,
    /// The name under which it was found first.
    pub(crate) name: Arc<str>,
    /// Queues with work for it, each once.
    pub(crate) ready: VecDeque<u32>,
    /// The recipients in them.
    pub(crate) backlog: usize,
    /// Connections, of any stage.
    pub(crate) sessions: usize,
    /// Connections on which the host has not greeted yet.
    pub(crate) connecting: usize,
    /// Connections that can take work.
    pub(crate) established: usize,
    /// Idle sessions; some may have got work or ended since.
    pub(crate) idle: Vec<Token>,
    /// The most connections that it is known to accept at once.
    pub(crate) sessions_max: usize,
    /// The most recipients of a transaction that it is known to accept.
    pub(crate) recipients_max: usize,
    /// Its TLS does not work; do without.
    pub(crate) plain_only: bool,
    /// Its first failure was reported.
    pub(crate) failure_reported: bool,
    /// It is in the queue of hosts that need a session.
    pub(crate) wanted: bool,
    /// It is among the hosts that wait for a connection.
    pub(crate) awaits_connection: bool,
    pub(crate) down_until: Nanos,
    /// It has refused its last session for good.
    pub(crate) refuses: bool,
    failures: u32,
    /// Recipients whose last attempt was at this host.
    pub(crate) outcomes: [u64; Outcome::ALL.len()],
    pub(crate) reasons: Reasons,
    /// Connections that broke at a recipient since the last transaction that did not.
    pub(crate) broken_in_a_row: u32,
    /// Connections that were established, that were not, and that broke in a transaction.
    pub(crate) opened: u64,
    pub(crate) failed: u64,
    pub(crate) lost: u64,
    /// Why a connection failed or was lost last.
    pub(crate) last_failure: Option<Reply>,
}

impl Host {
    /// It failed while no other session was established: leave it alone for a while, but not beyond the next attempts.
    pub(crate) fn went_down(&mut self, now: Nanos, retry_delay: Nanos) {
        if self.down_until <= now {
            let first = DOWN_FIRST_MAX.min(Nanos(retry_delay.0 / 2));
            self.down_until = now + Nanos(first.0 << self.failures.min(DOWN_DOUBLINGS_MAX));
            self.failures += 1;
        }
    }

    /// It has accepted a session.
    pub(crate) fn came_up(&mut self) {
        self.failures = 0;
        self.refuses = false;
        self.down_until = Nanos::ZERO;
        self.sessions_max = self.sessions_max.saturating_add(1);
    }
}

/// All hosts seen so far.
#[derive(Debug, Default)]
pub(crate) struct Hosts {
    pub(crate) all: Vec<Host>,
    by_address: HashMap<(IpAddr, Option<Arc<str>>), u32>,
}

impl Hosts {
    /// The host at an address. Where certificates are checked (`by_name`) a name is part of what a host is, as a
    /// connection that was good for one name may not be for another.
    pub(crate) fn find(&mut self, addr: SocketAddr, name: &Arc<str>, by_name: bool) -> u32 {
        let key = (addr.ip(), by_name.then(|| Arc::clone(name)));
        *self.by_address.entry(key).or_insert_with(|| {
            self.all.push(Host {
                addr,
                name: Arc::clone(name),
                ready: VecDeque::new(),
                backlog: 0,
                sessions: 0,
                connecting: 0,
                established: 0,
                idle: Vec::new(),
                sessions_max: usize::MAX,
                recipients_max: usize::MAX,
                plain_only: false,
                wanted: false,
                failure_reported: false,
                awaits_connection: false,
                down_until: Nanos::ZERO,
                refuses: false,
                failures: 0,
                outcomes: [0; Outcome::ALL.len()],
                reasons: Reasons::default(),
                broken_in_a_row: 0,
                opened: 0,
                failed: 0,
                lost: 0,
                last_failure: None,
            });
            self.all.len() as u32 - 1
        })
    }
}
