//! What the loop owns.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io::BufReader;
use std::os::fd::AsFd;
use std::sync::Arc;

use pitot_meter::{Nanos, now};
use pitot_results::mail::{JournalCounts, MailResult, Outcome, SCHEMA};
use pitot_sys::readiness::{EpollEdge, Interest, Readiness};
use pitot_sys::{Token, Waker};

use super::error::RunError;
use super::observer::Observer;
use crate::batch::Recipient;
use crate::dns::{Resolver, has_ipv6};
use crate::hosts::Hosts;
use crate::journal::Journal;
use crate::list::{self, List};
use crate::plan::MailPlan;
use crate::queues::{DomainQueues, RouteState};
use crate::reasons::Tally;
use crate::route::Router;
use crate::seen::Seen;
use crate::slots::Slots;
use crate::unacknowledged::Unacknowledged;

/// The token of the waker.
pub(super) const WAKER: Token = Token::new(u32::MAX, 0);
/// The tokens of the sockets to DNS servers start here; all below are sessions.
pub(super) const DNS_FIRST: u32 = u32::MAX - 64;

/// All that the loop owns.
pub(super) struct Engine<'a> {
    pub(super) plan: &'a MailPlan,
    pub(super) observer: &'a mut dyn Observer,
    pub(super) epoll: EpollEdge,
    pub(super) waker: Arc<Waker>,
    pub(super) list: Option<List<BufReader<File>>>,
    pub(super) seen: Seen,
    pub(super) queues: DomainQueues,
    pub(super) hosts: Hosts,
    pub(super) router: Option<Router>,
    pub(super) slots: Slots,
    /// When to check a session: its slot and generation.
    pub(super) timers: BinaryHeap<Reverse<(Nanos, u32, u32)>>,
    pub(super) deferred: BinaryHeap<Reverse<Deferred>>,
    pub(super) deferred_count: u64,
    /// Hosts with work that need a session.
    pub(super) wanted: VecDeque<u32>,
    /// Hosts that wait for a connection to end, since the limit is reached.
    pub(super) awaiting_connection: VecDeque<u32>,
    /// No connection is opened before.
    pub(super) open_after: Nanos,
    pub(super) journal: Option<Journal>,
    pub(super) unacknowledged: Unacknowledged,
    pub(super) tally: Tally,
    pub(super) report: MailResult,
    /// Hosts whose first failure was reported to the observer.
    pub(super) failures_reported: u64,
    /// Recipients read and without an outcome.
    pub(super) open: u64,
    pub(super) now: Nanos,
    pub(super) stopping: bool,
    /// Why the run ends early, in words and as an error.
    pub(super) fatal: Option<String>,
    pub(super) error: Option<RunError>,
    /// Buffers that all sessions share: input as received, input decrypted, and commands to send.
    pub(super) input: Box<[u8]>,
    pub(super) plain: Vec<u8>,
    pub(super) commands: Vec<u8>,
}

/// Recipients that wait for their next attempt.
#[derive(Debug)]
pub(super) struct Deferred {
    pub(super) due: Nanos,
    pub(super) queue: u32,
    pub(super) recipients: Vec<Recipient>,
}

impl PartialEq for Deferred {
    fn eq(&self, other: &Deferred) -> bool {
        self.due == other.due
    }
}

impl Eq for Deferred {}

impl PartialOrd for Deferred {
    fn partial_cmp(&self, other: &Deferred) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Deferred {
    fn cmp(&self, other: &Deferred) -> std::cmp::Ordering {
        self.due.cmp(&other.due)
    }
}

impl<'a> Engine<'a> {
    pub(super) fn new(plan: &'a MailPlan, observer: &'a mut dyn Observer) -> Result<Engine<'a>, RunError> {
        let list =
            list::open(&plan.list).map_err(|error| RunError::List { path: plan.list.clone(), error })?;
        let waker = Arc::new(Waker::new()?);
        let mut epoll = EpollEdge::new()?;
        epoll.watch(waker.as_fd(), WAKER, Interest::Read)?;
        let mut report = MailResult {
            schema: SCHEMA.into(),
            version: env!("CARGO_PKG_VERSION").into(),
            mode: plan.header.mode.into(),
            ..MailResult::default()
        };
        let mut seen = Seen::default();
        let journal = match &plan.journal {
            None => None,
            Some(path) => {
                let settle = |address: &str, outcome: Outcome| seen.add_settled(address, outcome);
                let (journal, replay) = Journal::open(path, &plan.header, Arc::clone(&waker), settle)?;
                report.journal = Some(JournalCounts {
                    settled_before: replay.settled,
                    damaged: replay.damaged,
                    ..JournalCounts::default()
                });
                if replay.damaged > 0 {
                    observer.note(&format!("{} damaged lines of the journal are ignored", replay.damaged));
                }
                Some(journal)
            }
        };
        let mut hosts = Hosts::default();
        let relay = plan.relay.as_ref().map(|relay| {
            let name = relay.name();
            let hosts = relay.addrs.iter().map(|addr| hosts.find(*addr, &name, false)).collect();
            RouteState::Hosts(hosts, Nanos::MAX)
        });
        let router = match relay {
            Some(_) => None,
            None => {
                let resolver = Resolver::new(&plan.dns, plan.timeout_scale, Arc::clone(&waker));
                let resolver = resolver.map_err(RunError::Dns)?;
                for (n, socket) in resolver.sockets().enumerate() {
                    epoll.watch(socket, Token::new(DNS_FIRST + n as u32, 0), Interest::Read)?;
                }
                Some(Router::new(resolver, has_ipv6(), RandomState::new().hash_one(0)))
            }
        };
        Ok(Engine {
            plan,
            observer,
            epoll,
            waker,
            list: Some(list),
            seen,
            queues: DomainQueues::new(relay),
            hosts,
            router,
            slots: Slots::default(),
            timers: BinaryHeap::new(),
            deferred: BinaryHeap::new(),
            deferred_count: 0,
            wanted: VecDeque::new(),
            awaiting_connection: VecDeque::new(),
            open_after: Nanos::ZERO,
            journal,
            unacknowledged: Unacknowledged::new(plan.connections),
            tally: Tally::default(),
            report,
            failures_reported: 0,
            open: 0,
            now: now(),
            stopping: false,
            fatal: None,
            error: None,
            input: vec![0; 1 << 16].into(),
            plain: Vec::new(),
            commands: Vec::new(),
        })
    }

    /// Connections that the plan allows and nothing forbids at the moment.
    pub(super) fn may_open(&self) -> bool {
        self.slots.len < self.plan.connections && self.now >= self.open_after && !self.stopping
    }

    /// The name and address of a host, for messages.
    pub(super) fn host_name(&self, host: u32) -> (Arc<str>, std::net::SocketAddr) {
        let h = &self.hosts.all[host as usize];
        (Arc::clone(&h.name), h.addr)
    }
}
