//! Who is written to when: queues, hosts, attempts and outcomes.

use std::cmp::Ordering;
use std::net::SocketAddr;
use std::sync::Arc;

use pitot_meter::Nanos;

use super::Engine;
use crate::batch::{Answer, Batch, Recipient, Said};
use crate::book::Way;
use crate::outcome::{Outcome, Settled};
use crate::route::Route;

/// The pause between attempts doubles this often.
const DOUBLINGS_MAX: u8 = 6;

/// Recipients that wait for their next attempt.
#[derive(Debug)]
pub(super) struct Deferred {
    pub(super) due: Nanos,
    queue: u32,
    recipients: Vec<Recipient>,
}

impl PartialEq for Deferred {
    fn eq(&self, other: &Deferred) -> bool {
        self.due == other.due
    }
}

impl Eq for Deferred {}

impl PartialOrd for Deferred {
    fn partial_cmp(&self, other: &Deferred) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Deferred {
    fn cmp(&self, other: &Deferred) -> Ordering {
        self.due.cmp(&other.due)
    }
}

impl Engine<'_> {
    /// Takes a new recipient from the list.
    pub(super) fn admit(&mut self, local: Box<str>, domain_name: &str) {
        let domain = self.book.domain(domain_name);
        let entry = &mut self.book.domains[domain as usize];
        entry.recipients += 1;
        let queue = entry.queue;
        self.open += 1;
        self.enqueue(queue, [Recipient { local, domain, attempts: 0 }]);
    }

    /// Puts recipients into a queue and sees to it that something comes of it.
    fn enqueue(&mut self, id: u32, recipients: impl IntoIterator<Item = Recipient>) {
        let queue = &mut self.book.queues[id as usize];
        let before = queue.waiting.len();
        queue.waiting.extend(recipients);
        let added = queue.waiting.len() - before;
        match &queue.way {
            Way::Asked => {}
            Way::Refused(code, text) => {
                let said = Said { code: *code, text: text.as_bytes().into() };
                self.settle_waiting(id, &said);
            }
            Way::Hosts(hosts, _) if queue.listed => {
                let host = hosts[queue.at];
                self.hosts.all[host as usize].backlog += added;
                self.want_session(host);
            }
            Way::Hosts(_, expires) if *expires > self.now => {
                queue.at = 0;
                self.attach(id, None);
            }
            Way::Hosts(..) | Way::Unknown => {
                queue.way = Way::Asked;
                let name = self.book.queue_name(id);
                if let Some(router) = &mut self.router {
                    router.find(id, name, self.now);
                }
            }
        }
    }

    /// The DNS has spoken.
    pub(super) fn routed(&mut self, id: u32, route: Route, expires: Nanos) {
        let by_name = self.plan.letter.tls == crate::TlsPolicy::Require;
        match route {
            Route::Hosts(targets) => {
                let mut hosts = Vec::with_capacity(targets.len());
                for target in targets {
                    let addr = SocketAddr::new(target.ip, self.plan.port);
                    let host = self.hosts.find(addr, &target.name, by_name);
                    if !hosts.contains(&host) {
                        hosts.push(host);
                    }
                }
                let queue = &mut self.book.queues[id as usize];
                queue.way = Way::Hosts(hosts, expires);
                queue.at = 0;
                self.attach(id, None);
            }
            Route::Refused(code, text) => {
                self.book.queues[id as usize].way = Way::Refused(code, text);
                let said = Said { code, text: text.as_bytes().into() };
                self.settle_waiting(id, &said);
            }
            Route::Failed(why) => {
                self.book.queues[id as usize].way = Way::Unknown;
                let said = Said { code: 0, text: why.as_bytes().into() };
                self.defer_waiting(id, &said);
            }
        }
    }

    /// Puts a queue into the line of the best of its hosts that is not down, from `at` on. Without any its recipients
    /// wait for their next attempt; `why` tells of the last host that was tried.
    fn attach(&mut self, id: u32, why: Option<&Said>) {
        let queue = &mut self.book.queues[id as usize];
        if queue.waiting.is_empty() {
            return;
        }
        let Way::Hosts(hosts, _) = &queue.way else { return };
        while let Some(&host) = hosts.get(queue.at) {
            let h = &mut self.hosts.all[host as usize];
            if h.down_until <= self.now {
                queue.listed = true;
                h.ready.push_back(id);
                h.backlog += queue.waiting.len();
                return self.want_session(host);
            }
            queue.at += 1;
        }
        queue.at = 0;
        let down = Said { code: 0, text: b"the host did not take mail a moment ago".as_slice().into() };
        self.defer_waiting(id, why.unwrap_or(&down));
    }

    /// The host cannot be talked to: what waits for it goes to the next one.
    pub(super) fn host_failed(&mut self, host: u32, why: &Said) {
        let h = &mut self.hosts.all[host as usize];
        h.went_down(self.now, self.plan.retry_delay);
        h.backlog = 0;
        for id in std::mem::take(&mut h.ready) {
            let queue = &mut self.book.queues[id as usize];
            queue.listed = false;
            queue.at += 1;
            self.attach(id, Some(why));
        }
    }

    /// The next transaction for a host.
    pub(super) fn next_batch(&mut self, host: u32) -> Option<Batch> {
        let h = &mut self.hosts.all[host as usize];
        let id = h.ready.pop_front()?;
        let queue = &mut self.book.queues[id as usize];
        let limit = self.plan.recipients_per_transaction.min(h.recipients_max);
        let n = limit.min(queue.waiting.len());
        h.backlog -= n;
        let batch = Batch::new(queue.waiting.drain(..n).collect());
        queue.listed = !queue.waiting.is_empty();
        if queue.listed {
            // Behind the others, so that a large domain does not hold up the small ones.
            h.ready.push_back(id);
        }
        Some(batch)
    }

    /// A transaction is over, or its connection is, for the reason in `lost`.
    pub(super) fn settle_batch(&mut self, host: u32, batch: Batch, lost: Option<&Said>) {
        let Batch { recipients, answers, closing, taken, in_doubt, .. } = batch;
        if recipients.is_empty() {
            return;
        }
        self.report.transactions += 1;
        if in_doubt {
            self.report.recipients.in_doubt += taken as u64;
        }
        let queue = self.book.domains[recipients[0].domain as usize].queue;
        let (mut deferred, mut again) = (Vec::new(), Vec::new());
        let nothing = Said { code: 0, text: b"the host said nothing of it".as_slice().into() };
        for (recipient, answer) in recipients.into_iter().zip(answers) {
            let said = match &answer {
                Answer::Overflow => {
                    again.push(recipient);
                    continue;
                }
                Answer::No(said) => said,
                Answer::Taken if self.plan.letter.test && lost.is_none() => {
                    self.settle(&recipient, Settled { outcome: Outcome::Accepted, code: 250, text: b"" });
                    continue;
                }
                Answer::Taken | Answer::Open => closing.as_ref().or(lost).unwrap_or(&nothing),
            };
            match said.code / 100 {
                2 => {
                    let sent = Settled { outcome: Outcome::Sent, code: said.code, text: &said.text };
                    self.settle(&recipient, sent);
                }
                5 => self.refuse(&recipient, said),
                _ => self.defer(recipient, said, &mut deferred),
            }
        }
        self.put_off(queue, deferred);
        if !again.is_empty() {
            let h = &mut self.hosts.all[host as usize];
            h.recipients_max = taken.max(1);
            self.enqueue(queue, again);
        }
    }

    fn refuse(&mut self, recipient: &Recipient, said: &Said) {
        self.settle(recipient, Settled { outcome: Outcome::Refused, code: said.code, text: &said.text });
    }

    /// An attempt has failed for now: the recipient gives up, or joins those that wait.
    fn defer(&mut self, mut recipient: Recipient, said: &Said, deferred: &mut Vec<Recipient>) {
        self.report.recipients.deferrals += 1;
        if recipient.attempts >= self.plan.retries {
            let gave_up = Settled { outcome: Outcome::GaveUp, code: said.code, text: &said.text };
            return self.settle(&recipient, gave_up);
        }
        recipient.attempts += 1;
        deferred.push(recipient);
    }

    /// Lets recipients wait for their next attempt.
    fn put_off(&mut self, queue: u32, recipients: Vec<Recipient>) {
        let Some(most) = recipients.iter().map(|r| r.attempts).max() else { return };
        let doublings = (most - 1).min(DOUBLINGS_MAX);
        let due = self.now + Nanos(self.plan.retry_delay.0.saturating_mul(1 << doublings));
        self.deferred_count += recipients.len() as u64;
        self.deferred.push(std::cmp::Reverse(Deferred { due, queue, recipients }));
    }

    /// Those whose time has come are tried again.
    pub(super) fn requeue_due(&mut self) {
        while self.deferred.peek().is_some_and(|d| d.0.due <= self.now) && !self.stopping {
            let Some(std::cmp::Reverse(deferred)) = self.deferred.pop() else { break };
            self.deferred_count -= deferred.recipients.len() as u64;
            self.enqueue(deferred.queue, deferred.recipients);
        }
    }

    /// All that wait in a queue are refused.
    fn settle_waiting(&mut self, id: u32, said: &Said) {
        for recipient in std::mem::take(&mut self.book.queues[id as usize].waiting) {
            self.refuse(&recipient, said);
        }
    }

    /// All that wait in a queue wait for their next attempt.
    fn defer_waiting(&mut self, id: u32, said: &Said) {
        let mut deferred = Vec::new();
        for recipient in std::mem::take(&mut self.book.queues[id as usize].waiting) {
            self.defer(recipient, said, &mut deferred);
        }
        self.put_off(id, deferred);
    }

    /// A recipient has its outcome.
    fn settle(&mut self, recipient: &Recipient, settled: Settled<'_>) {
        let domain = &mut self.book.domains[recipient.domain as usize];
        domain.outcomes[settled.outcome as usize] += 1;
        if let Some(journal) = &mut self.journal {
            journal.append(&recipient.local, &domain.name, settled);
        }
        let r = &mut self.report.recipients;
        *match settled.outcome {
            Outcome::Sent => &mut r.sent,
            Outcome::Accepted => &mut r.accepted,
            Outcome::Refused => &mut r.refused,
            Outcome::GaveUp => &mut r.gave_up,
        } += 1;
        self.tally.add(settled);
        self.open -= 1;
    }

    /// A session ended and its place is free, or a pause is over.
    pub(super) fn serve_line(&mut self) {
        while self.slots.len < self.plan.connections && self.now >= self.open_after && !self.stopping {
            let Some(host) = self.line.pop_front() else { return };
            self.hosts.all[host as usize].in_line = false;
            self.want_session(host);
        }
    }

    /// Gets work done for a host: by a session without any, by a new one, or by one that will end.
    pub(super) fn want_session(&mut self, host: u32) {
        if self.stopping {
            return;
        }
        while self.hosts.all[host as usize].backlog > 0
            && let Some(session) = self.hosts.all[host as usize].idle.pop()
        {
            self.give_work(session);
        }
        loop {
            let h = &mut self.hosts.all[host as usize];
            let limit = self.plan.connections_per_host.min(h.sessions_max);
            let per_session = self.plan.recipients_per_transaction.min(h.recipients_max);
            // Sessions at work will come back for more; those that connect have taken nothing yet.
            let coming = h.connecting.saturating_mul(per_session);
            if h.backlog <= coming || h.sessions >= limit {
                return;
            }
            if self.slots.len >= self.plan.connections || self.now < self.open_after {
                if !h.in_line {
                    h.in_line = true;
                    self.line.push_back(host);
                }
                return;
            }
            if !self.open_session(host) {
                return;
            }
        }
    }

    /// A name for messages.
    pub(super) fn host_name(&self, host: u32) -> (Arc<str>, SocketAddr) {
        let h = &self.hosts.all[host as usize];
        (Arc::clone(&h.name), h.addr)
    }
}
