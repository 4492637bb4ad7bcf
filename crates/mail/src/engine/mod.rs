//! The engine: one loop that reads the list, asks the DNS, talks to hosts, and keeps the journal.
//!
//! One thread is enough: a recipient costs it about a microsecond, a hundredth of what the hosts spend on it, and what
//! can make it wait, the disk, has a thread of its own. [`work`] decides who is written to when, [`wire`] moves bytes.

mod wire;
mod work;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, BufReader};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

use pitot_meter::{Nanos, now};
use pitot_results::Failure;
use pitot_sys::readiness::{EpollEdge, Interest, Readiness, Ready};
use pitot_sys::{Token, Waker};

use crate::address::BadAddress;
use crate::book::{Book, Seen, Sight, Way};
use crate::dns::{Resolver, has_ipv6};
use crate::doubt::Doubt;
use crate::hosts::Hosts;
use crate::journal::{Journal, JournalError};
use crate::list::List;
use crate::outcome::Outcome;
use crate::plan::Plan;
use crate::report::{EngineUse, JournalCounts, Report, Tally, domain_rows};
use crate::route::{Route, Router};
use crate::slots::Slots;
use crate::tls;
use work::Deferred;

/// The tokens of what is no session.
const WAKER: Token = Token::new(u32::MAX, 0);
const DNS_FIRST: u32 = u32::MAX - 64;
/// Lines read before the loop looks at its sockets again.
const LINES_PER_TURN: usize = 4096;
/// The longest wait: signals and the line of progress want to be looked at.
const TURN_MAX: Duration = Duration::from_millis(100);
/// A session without work is kept this long.
const IDLE_KEPT: Nanos = Nanos::from_secs(1);
/// Opening connections pauses for this long when this machine has no port, descriptor or memory left.
const SHORTAGE_PAUSE: Nanos = Nanos::from_millis(50);
/// Hosts whose first failure is told at once; of further ones the result tells.
const HOSTS_TOLD_MAX: u64 = 10;
/// Transactions under way have this long to end once the run is to stop.
const STOP_GRACE: Nanos = Nanos::from_secs(10);

/// Who looks on.
pub trait Watch {
    /// A second is over.
    fn progress(&mut self, progress: &Progress);
    /// A line of the list is no address.
    fn bad_line(&mut self, line: u64, why: BadAddress);
    /// Something that one should know, in a line.
    fn note(&mut self, text: &str);
    /// How often the run has been asked to stop: once ends it in order, twice at once.
    fn stop_requests(&mut self) -> u32;
}

/// How a run is getting on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Recipients with an outcome, of this run.
    pub settled: u64,
    /// In the last second.
    pub per_second: u64,
    /// Sent or accepted, of those with an outcome.
    pub taken: u64,
    /// Waiting for their next attempt.
    pub deferred: u64,
    /// Read from the list and without an outcome, the deferred ones included.
    pub open: u64,
    /// Connections.
    pub connections: u64,
    /// The whole list has been read.
    pub all_read: bool,
}

/// Why a run could not begin or go on.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The journal.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The list cannot be read.
    #[error("the list {} cannot be read: {error}", path.display())]
    List {
        /// The list.
        path: std::path::PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// TLS.
    #[error("certificates cannot be checked: {0}")]
    Tls(String),
    /// DNS.
    #[error("the DNS server cannot be asked: {0}")]
    Dns(io::Error),
    /// Anything else that the kernel refuses.
    #[error("{0}")]
    System(#[from] io::Error),
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Failure {
        let what = error.to_string();
        match error {
            RunError::Journal(JournalError::Foreign(_)) => {
                Failure::misuse(what, "name another journal: this one belongs to another run")
            }
            RunError::Journal(JournalError::Locked(_)) => {
                Failure::misuse(what, "wait for it to end, or name another journal")
            }
            RunError::Journal(JournalError::File { .. }) => {
                Failure::run(what, "check the directory, its permissions and its free space")
            }
            RunError::List { .. } => Failure::misuse(what, "write --list FILE with one address a line"),
            RunError::Tls(_) => Failure::run(what, "install ca-certificates, or use --tls auto"),
            RunError::Dns(_) => Failure::run(what, "name one that can be reached with --dns HOST:PORT"),
            RunError::System(_) => Failure::run(what, "raise the limit on descriptors with ulimit -n"),
        }
    }
}

/// All that the loop owns.
struct Engine<'a> {
    plan: &'a Plan,
    watch: &'a mut dyn Watch,
    epoll: EpollEdge,
    waker: Arc<Waker>,
    tls: Option<tls::Config>,
    list: Option<List<BufReader<File>>>,
    seen: Seen,
    book: Book,
    hosts: Hosts,
    router: Option<Router>,
    slots: Slots,
    alarms: BinaryHeap<Reverse<(Nanos, u32, u32)>>,
    deferred: BinaryHeap<Reverse<Deferred>>,
    deferred_count: u64,
    /// Hosts that want a connection and wait for another to end.
    line: VecDeque<u32>,
    /// No connection is opened before.
    open_after: Nanos,
    journal: Option<Journal>,
    doubt: Doubt,
    tally: Tally,
    report: Report,
    /// Hosts whose failure has been told.
    told: u64,
    /// Recipients read and without an outcome.
    open: u64,
    now: Nanos,
    stopping: bool,
    fatal: Option<String>,
    /// Buffers that all sessions share.
    input: Box<[u8]>,
    plain: Vec<u8>,
    commands: Vec<u8>,
}

/// Does it.
///
/// # Errors
/// See [`RunError`]. Outcomes up to there are in the journal.
pub fn run(plan: &Plan, watch: &mut dyn Watch) -> Result<Report, RunError> {
    let started = now();
    let mut engine = Engine::new(plan, watch)?;
    let result = engine.turn_until_done();
    engine.finish(started, result)
}

impl<'a> Engine<'a> {
    fn new(plan: &'a Plan, watch: &'a mut dyn Watch) -> Result<Engine<'a>, RunError> {
        let unreadable = |error| RunError::List { path: plan.list.clone(), error };
        let list = File::open(&plan.list).map_err(unreadable)?;
        if list.metadata().map_err(unreadable)?.is_dir() {
            return Err(unreadable(io::ErrorKind::IsADirectory.into()));
        }
        let waker = Arc::new(Waker::new()?);
        let mut epoll = EpollEdge::new()?;
        epoll.watch(waker.as_fd(), WAKER, Interest::Read)?;
        let tls = match plan.letter.tls {
            crate::TlsPolicy::Off => None,
            policy => Some(tls::config(policy).map_err(RunError::Tls)?),
        };
        let mut report = Report {
            schema: "pitot-mail/1",
            version: env!("CARGO_PKG_VERSION"),
            mode: plan.header.mode,
            ..Report::default()
        };
        let mut seen = Seen::default();
        let journal = match &plan.journal {
            None => None,
            Some(path) => {
                let settle = |address: &str, _: Outcome| seen.settle(address);
                let (journal, replay) = Journal::open(path, &plan.header, Arc::clone(&waker), settle)?;
                report.journal = Some(JournalCounts {
                    settled_before: replay.settled,
                    damaged: replay.damaged,
                    ..JournalCounts::default()
                });
                if replay.damaged > 0 {
                    watch.note(&format!(
                        "{} lines of the journal are damaged and do not count",
                        replay.damaged
                    ));
                }
                Some(journal)
            }
        };
        let mut hosts = Hosts::default();
        let relay = plan.relay.as_ref().map(|(name, addrs)| {
            // The port is no part of a certificate's name.
            let name = name.rsplit_once(':').map_or(&**name, |(host, _)| host);
            let name: Arc<str> = name.trim_start_matches('[').trim_end_matches(']').into();
            Way::Hosts(addrs.iter().map(|addr| hosts.find(*addr, &name, false)).collect(), Nanos::MAX)
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
            watch,
            epoll,
            waker,
            tls,
            list: Some(List::new(BufReader::with_capacity(1 << 16, list))),
            seen,
            book: Book::new(relay),
            hosts,
            router,
            slots: Slots::default(),
            alarms: BinaryHeap::new(),
            deferred: BinaryHeap::new(),
            deferred_count: 0,
            line: VecDeque::new(),
            open_after: Nanos::ZERO,
            journal,
            doubt: Doubt::new(plan.connections),
            tally: Tally::default(),
            report,
            told: 0,
            open: 0,
            now: now(),
            stopping: false,
            fatal: None,
            input: vec![0; 1 << 16].into(),
            plain: Vec::new(),
            commands: Vec::new(),
        })
    }

    fn turn_until_done(&mut self) -> Result<(), RunError> {
        let (mut ready, mut routes) = (Vec::new(), Vec::new());
        let mut ticker = Ticker { next: self.now + Nanos::from_secs(1), settled: 0 };
        let mut stop_at = Nanos::MAX;
        loop {
            self.read_list()?;
            self.take_routes(&mut routes);
            self.requeue_due();
            self.serve_line();
            self.hand_over();
            if self.is_done() {
                self.dismiss_idle();
                if self.slots.len == 0 {
                    return Ok(());
                }
            }
            ready.clear();
            self.epoll.wait(Some(self.patience()), &mut ready)?;
            self.now = now();
            for event in &ready {
                self.on_ready(*event);
            }
            self.ring_alarms();
            if let Some(router) = &mut self.router {
                router.tend(self.now);
            }
            ticker.look(self);
            let requests = self.watch.stop_requests();
            if requests > 0 && !self.stopping {
                self.stop("it was interrupted");
            }
            if self.stopping && stop_at == Nanos::MAX {
                stop_at = self.now + STOP_GRACE;
            }
            if requests > 1 || self.now >= stop_at {
                return Ok(());
            }
        }
    }

    /// No new transaction is begun from now on.
    fn stop(&mut self, why: &str) {
        self.stopping = true;
        self.fatal.get_or_insert_with(|| why.to_owned());
        self.list = None;
    }

    /// True if nothing is left to be done but to say goodbye.
    fn is_done(&self) -> bool {
        self.stopping || self.list.is_none() && self.open == 0
    }

    /// How long nothing will be to do.
    fn patience(&self) -> Duration {
        let may_read = self.list.is_some() && self.open < self.plan.window as u64;
        if may_read {
            return Duration::ZERO;
        }
        let alarm = self.alarms.peek().map_or(Nanos::MAX, |Reverse((at, ..))| *at);
        let dns = self.router.as_ref().map_or(Nanos::MAX, |r| r.resolver.deadline());
        let due = self.deferred.peek().map_or(Nanos::MAX, |Reverse(d)| d.due);
        let line = if self.line.is_empty() { Nanos::MAX } else { self.open_after };
        let next = alarm.min(dns).min(due).min(if line > self.now { line } else { Nanos::MAX });
        TURN_MAX.min(next.since(self.now).into())
    }

    /// Reads some of the list, if there is room in memory.
    fn read_list(&mut self) -> Result<(), RunError> {
        let mut domain_name = String::new();
        for _ in 0..LINES_PER_TURN {
            if self.open >= self.plan.window as u64 {
                return Ok(());
            }
            let Some(list) = &mut self.list else { return Ok(()) };
            let entry = match list.next_entry() {
                Ok(Some(entry)) => entry,
                Ok(None) => {
                    self.list = None;
                    return Ok(());
                }
                Err(error) => return Err(RunError::List { path: self.plan.list.clone(), error }),
            };
            let address = match entry.address {
                Ok(address) => address,
                Err(why) => {
                    self.report.recipients.bad_lines += 1;
                    self.watch.bad_line(entry.line, why);
                    continue;
                }
            };
            self.report.recipients.read += 1;
            domain_name.clear();
            domain_name.push_str(address.domain);
            domain_name.make_ascii_lowercase();
            match self.seen.list(address.local, &domain_name) {
                Sight::New => {
                    let local = address.local.into();
                    self.admit(local, &domain_name);
                }
                Sight::Duplicate => self.report.recipients.duplicates += 1,
                Sight::Settled => self.report.recipients.settled_before += 1,
            }
        }
        Ok(())
    }

    /// Takes the routes that the DNS has told.
    fn take_routes(&mut self, routes: &mut Vec<(u32, Route, Nanos)>) {
        let Some(router) = &mut self.router else { return };
        router.take(self.now, routes);
        if router.resolver.is_silent() && !self.stopping {
            let because = router.resolver.silent_because.as_deref().unwrap_or("no answer came in time");
            let why = format!("the DNS server {} does not answer: {because}", router.resolver.names());
            return self.stop(&why);
        }
        for (queue, route, expires) in routes.drain(..) {
            self.routed(queue, route, expires);
        }
    }

    /// Gives what the turn has settled to the disk, and sends what has waited for it.
    fn hand_over(&mut self) {
        if let Some(journal) = &mut self.journal {
            if let Err(e) = journal.hand_over()
                && !self.stopping
            {
                self.stop(&format!("the journal cannot be written: {e}"));
            }
            let durable = self.journal.as_ref().map_or(0, Journal::durable);
            self.doubt.durable(durable);
        }
        self.send_held();
    }

    fn on_ready(&mut self, event: Ready) {
        match event.token.index() {
            index if index == WAKER.index() => self.waker.reset(),
            index if index >= DNS_FIRST => {
                if let Some(router) = &mut self.router {
                    router.receive((index - DNS_FIRST) as usize, self.now);
                }
            }
            _ => self.on_session(event),
        }
    }

    fn progress(&self) -> Progress {
        let r = &self.report.recipients;
        Progress {
            settled: self.report.settled(),
            per_second: 0,
            taken: r.sent + r.accepted,
            deferred: self.deferred_count,
            open: self.open,
            connections: self.slots.len as u64,
            all_read: self.list.is_none(),
        }
    }

    /// Closes everything and sums up.
    fn finish(mut self, started: Nanos, result: Result<(), RunError>) -> Result<Report, RunError> {
        let journalled = match self.journal.take() {
            None => Ok(()),
            Some(journal) => {
                if let Some(counts) = &mut self.report.journal {
                    counts.appended = journal.appended();
                    counts.in_doubt_peak = self.doubt.peak as u64;
                }
                journal.finish()
            }
        };
        result?;
        if let (Err(error), Some(path)) = (journalled, &self.plan.journal) {
            return Err(JournalError::File { path: path.clone(), error }.into());
        }
        let mut report = self.report;
        report.duration_s = now().since(started).as_secs_f64();
        report.recipients.unsettled = self.open;
        report.recipients_per_s = report.settled() as f64 / report.duration_s.max(1e-9);
        report.dns = self.router.map(|r| r.resolver.counts).unwrap_or_default();
        report.outcomes = self.tally.rows();
        report.domains = domain_rows(&self.book.domains);
        report.ended_early = self.fatal;
        let usage = pitot_sys::usage::of_this_process();
        report.engine = EngineUse {
            cpu_user_s: usage.cpu_user.as_secs_f64(),
            cpu_system_s: usage.cpu_system.as_secs_f64(),
            rss_peak_bytes: usage.rss_peak_bytes,
        };
        Ok(report)
    }
}

/// Tells of the progress each second.
struct Ticker {
    next: Nanos,
    settled: u64,
}

impl Ticker {
    fn look(&mut self, engine: &mut Engine<'_>) {
        if engine.now < self.next {
            return;
        }
        self.next = engine.now + Nanos::from_secs(1);
        let mut progress = engine.progress();
        progress.per_second = progress.settled - self.settled;
        self.settled = progress.settled;
        engine.watch.progress(&progress);
    }
}
