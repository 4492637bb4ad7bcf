//! The loop.

use std::cmp::Reverse;
use std::time::Duration;

use pitot_meter::{Nanos, now};
use pitot_results::mail::{EngineUse, MailResult};
use pitot_sys::readiness::{Readiness, Ready};

use super::error::RunError;
use super::observer::{Observer, Progress};
use super::state::{DNS_FIRST, Engine, WAKER};
use crate::journal::JournalError;
use crate::plan::MailPlan;
use crate::report::{domain_rows, host_rows};
use crate::route::Route;
use crate::seen::Occurrence;

/// Lines read before the loop polls its sockets again.
const LINES_PER_TURN: usize = 4096;
/// The longest wait: signals and the progress line are handled this often.
const WAIT_MAX: Duration = Duration::from_millis(100);
/// Transactions in progress have this long to end once the run is stopped.
const STOP_GRACE: Nanos = Nanos::from_secs(10);

/// A run that has begun, and ended for whatever reason.
#[derive(Debug)]
pub struct Finished {
    /// What became of the recipients up to its end.
    pub report: MailResult,
    /// The error that ended it early, if one did; the report has it in words.
    pub error: Option<RunError>,
}

/// Carries a plan out.
///
/// # Errors
/// See [`RunError`]: nothing was sent. An error in mid-run is part of the result.
pub fn run(plan: &MailPlan, observer: &mut dyn Observer) -> Result<Finished, RunError> {
    let started = now();
    let mut engine = Engine::new(plan, observer)?;
    match engine.turn_until_done() {
        Err(error @ RunError::EmptyList(_)) => Err(error),
        result => Ok(engine.finish(started, result)),
    }
}

impl Engine<'_> {
    fn turn_until_done(&mut self) -> Result<(), RunError> {
        let (mut ready, mut routes) = (Vec::new(), Vec::new());
        let mut ticker = Ticker { next: self.now + Nanos::from_secs(1), settled: 0 };
        let mut stop_at = Nanos::MAX;
        loop {
            self.read_list()?;
            self.take_routes(&mut routes);
            self.requeue_due();
            self.serve_wanted();
            self.serve_waiting();
            if !self.hand_over() {
                // Whatever is sent from here on would be sent again by the next run.
                return Ok(());
            }
            if self.is_done() {
                self.dismiss_idle();
                if self.slots.len == 0 {
                    return Ok(());
                }
            }
            ready.clear();
            self.epoll.wait(Some(self.wait_time()), &mut ready)?;
            self.now = now();
            for event in &ready {
                self.on_ready(*event);
            }
            self.expire_sessions();
            if let Some(router) = &mut self.router {
                router.tend(self.now);
            }
            ticker.tick(self);
            let requests = self.observer.stop_requests();
            if requests > 0 && !self.stopping {
                self.stop("interrupted");
            }
            if self.stopping && stop_at == Nanos::MAX {
                stop_at = self.now + STOP_GRACE;
            }
            if requests > 1 || self.now >= stop_at {
                return Ok(());
            }
        }
    }

    /// Stops the run: no new transaction is begun.
    pub(super) fn stop(&mut self, why: &str) {
        self.stopping = true;
        self.fatal.get_or_insert_with(|| why.to_owned());
        self.list = None;
    }

    /// True if nothing is left to do but to close connections.
    fn is_done(&self) -> bool {
        self.stopping || self.list.is_none() && self.open == 0
    }

    /// How long the loop may wait for events.
    fn wait_time(&self) -> Duration {
        let may_read = self.list.is_some() && self.open < self.plan.window as u64;
        if may_read || !self.wanted.is_empty() {
            return Duration::ZERO;
        }
        let timer = self.timers.peek().map_or(Nanos::MAX, |Reverse((at, ..))| *at);
        let dns = self.router.as_ref().map_or(Nanos::MAX, |r| r.resolver.deadline());
        let due = self.deferred.peek().map_or(Nanos::MAX, |Reverse(d)| d.due);
        let pause = if self.awaiting_connection.is_empty() { Nanos::MAX } else { self.open_after };
        let next = timer.min(dns).min(due).min(if pause > self.now { pause } else { Nanos::MAX });
        WAIT_MAX.min(next.since(self.now).into())
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
                    let r = &self.report.recipients;
                    if r.read + r.bad_lines == 0 {
                        return Err(RunError::EmptyList(self.plan.list.clone()));
                    }
                    return Ok(());
                }
                Err(error) => return Err(RunError::List { path: self.plan.list.clone(), error }),
            };
            let address = match entry.address {
                Ok(address) => address,
                Err(why) => {
                    self.report.recipients.bad_lines += 1;
                    self.observer.bad_line(entry.line, why);
                    continue;
                }
            };
            self.report.recipients.read += 1;
            domain_name.clear();
            domain_name.push_str(address.domain);
            domain_name.make_ascii_lowercase();
            match self.seen.add_listed(address.local, &domain_name) {
                Occurrence::New => {
                    let local = address.local.into();
                    self.admit(local, &domain_name);
                }
                Occurrence::Duplicate => self.report.recipients.duplicates += 1,
                Occurrence::Settled => self.report.recipients.settled_before += 1,
                Occurrence::Failed => {
                    self.report.recipients.settled_before += 1;
                    self.report.recipients.failed_before += 1;
                }
            }
        }
        Ok(())
    }

    /// Takes the routes found by the DNS.
    fn take_routes(&mut self, routes: &mut Vec<(u32, Route, Nanos)>) {
        let Some(router) = &mut self.router else { return };
        router.take(self.now, routes);
        if router.resolver.is_silent() && !self.stopping {
            let because = router.resolver.silent_because.as_deref().unwrap_or("timeout");
            let why = format!("the DNS server {} does not answer: {because}", router.resolver.names());
            return self.stop(&why);
        }
        for (queue, route, expires) in routes.drain(..) {
            self.routed(queue, route, expires);
        }
    }

    /// Hands the outcomes of this turn to the journal, and sends messages that waited for earlier ones. False if the
    /// journal cannot be written any more; the journal's `finish` returns why.
    fn hand_over(&mut self) -> bool {
        if let Some(journal) = &mut self.journal {
            if journal.hand_over().is_err() {
                return false;
            }
            self.unacknowledged.release(journal.durable());
        }
        self.send_waiting();
        true
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
            settled: self.report.recipients.settled(),
            per_second: 0,
            taken: r.sent + r.accepted,
            deferred: self.deferred_count,
            open: self.open,
            connections: self.slots.len as u64,
            all_read: self.list.is_none(),
        }
    }

    /// Closes the journal and completes the report.
    fn finish(mut self, started: Nanos, result: Result<(), RunError>) -> Finished {
        let mut error = result.err().or(self.error.take());
        if let (Some(journal), Some(path)) = (self.journal.take(), &self.plan.journal) {
            let appended = journal.appended();
            let (durable, closed) = journal.finish();
            if let Some(counts) = &mut self.report.journal {
                counts.appended = if closed.is_ok() { appended } else { durable };
                counts.in_doubt_peak = self.unacknowledged.peak as u64;
            }
            if let Err(e) = closed {
                error = Some(JournalError::Write { path: path.clone(), error: e }.into());
            }
        }
        let mut report = self.report;
        report.duration_s = now().since(started).as_secs_f64();
        report.recipients.unsettled = self.open;
        report.recipients_per_s = report.recipients.settled() as f64 / report.duration_s.max(1e-9);
        report.dns = self.router.map(|r| r.resolver.counts).unwrap_or_default();
        report.outcomes = self.tally.rows();
        report.domains = domain_rows(&self.queues.domains);
        report.hosts = host_rows(&self.hosts.all);
        report.ended_early = error.as_ref().map(ToString::to_string).or(self.fatal);
        let usage = pitot_sys::usage::of_this_process();
        report.engine = EngineUse {
            cpu_user_s: usage.cpu_user.as_secs_f64(),
            cpu_system_s: usage.cpu_system.as_secs_f64(),
            rss_peak_bytes: usage.rss_peak_bytes,
        };
        Finished { report, error }
    }
}

/// Reports the progress each second.
struct Ticker {
    next: Nanos,
    settled: u64,
}

impl Ticker {
    fn tick(&mut self, engine: &mut Engine<'_>) {
        if engine.now < self.next {
            return;
        }
        self.next = engine.now + Nanos::from_secs(1);
        let mut progress = engine.progress();
        progress.per_second = progress.settled - self.settled;
        self.settled = progress.settled;
        engine.observer.progress(&progress);
    }
}
