//! Who is written to when: queues, hosts, attempts and outcomes.

use std::borrow::Cow;
use std::net::SocketAddr;

use pitot_meter::Nanos;
use pitot_results::mail::Outcome;

use super::error::RunError;
use super::state::{Deferred, Engine};
use crate::batch::{Batch, Reached, Recipient, RecipientState, Reply};
use crate::message::TlsPolicy;
use crate::outcome::Settled;
use crate::queues::RouteState;
use crate::route::Route;

/// A transaction that broke is tried again in so many parts: fifty recipients, seven, one.
const PARTS: usize = 8;
/// After so many connections in a row that broke at a recipient a host is taken to break them all: the others of the
/// transaction wait too.
const BROKEN_IN_A_ROW_MAX: u32 = 8;
/// The reply to MAIL of a host at which clients have to log in (RFC 4954 section 6).
const AUTHENTICATION_REQUIRED: u16 = 530;
/// The pause between attempts doubles this often.
const DOUBLINGS_MAX: u8 = 6;

impl Engine<'_> {
    /// Admits a new recipient from the list.
    pub(super) fn admit(&mut self, local: Box<str>, domain_name: &str) {
        let domain = self.queues.domain(domain_name);
        let entry = &mut self.queues.domains[domain as usize];
        entry.recipients += 1;
        let queue = entry.queue;
        self.open += 1;
        self.enqueue(queue, [Recipient { local, domain, attempts: 0, together: u16::MAX, stepwise: false }]);
    }

    /// Puts recipients into a queue, and looks up its route or requests a session.
    fn enqueue(&mut self, id: u32, recipients: impl IntoIterator<Item = Recipient>) {
        let queue = &mut self.queues.all[id as usize];
        let before = queue.waiting.len();
        queue.waiting.extend(recipients);
        let added = queue.waiting.len() - before;
        match &queue.route {
            RouteState::Pending => {}
            RouteState::Refused(code, text) => {
                let reply = Reply { code: *code, text: text.as_bytes().into() };
                self.refuse_waiting(id, None, &reply);
            }
            RouteState::Hosts(hosts, _) if queue.attached => {
                let host = hosts[queue.host_index];
                self.hosts.all[host as usize].backlog += added;
                self.want_session(host);
            }
            RouteState::Hosts(_, expires) if *expires > self.now => {
                queue.host_index = 0;
                self.attach(id, None);
            }
            RouteState::Hosts(..) | RouteState::Unknown => {
                queue.route = RouteState::Pending;
                let name = self.queues.queue_name(id);
                if let Some(router) = &mut self.router {
                    router.find(id, name, self.now);
                }
            }
        }
    }

    /// The DNS has answered for a queue.
    pub(super) fn routed(&mut self, id: u32, route: Route, expires: Nanos) {
        let by_name = self.plan.message.tls == TlsPolicy::Require;
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
                let queue = &mut self.queues.all[id as usize];
                queue.route = RouteState::Hosts(hosts, expires);
                queue.host_index = 0;
                self.attach(id, None);
            }
            Route::Refused(code, text) => {
                self.queues.all[id as usize].route = RouteState::Refused(code, text);
                let reply = Reply { code, text: text.as_bytes().into() };
                self.refuse_waiting(id, None, &reply);
            }
            Route::Failed(why) => {
                self.queues.all[id as usize].route = RouteState::Unknown;
                self.defer_waiting(id, None, &Reply::own(why));
            }
        }
    }

    /// Attaches a queue to the best of its hosts that is not down, from `host_index` on. If there is none, its recipients wait for their
    /// next attempt, with the reason `why` of the last host, or are refused if all hosts refuse mail permanently.
    fn attach(&mut self, id: u32, why: Option<(u32, &Reply)>) {
        let queue = &mut self.queues.all[id as usize];
        if queue.waiting.is_empty() {
            return;
        }
        let RouteState::Hosts(hosts, _) = &queue.route else { return };
        while let Some(&host) = hosts.get(queue.host_index) {
            let h = &mut self.hosts.all[host as usize];
            if h.down_until <= self.now {
                queue.attached = true;
                h.ready.push_back(id);
                h.backlog += queue.waiting.len();
                return self.want_session(host);
            }
            queue.host_index += 1;
        }
        queue.host_index = 0;
        let all_refuse = hosts.iter().all(|host| self.hosts.all[*host as usize].refuses);
        let last = hosts.last().copied();
        let (host, reply) = match why {
            Some((host, reply)) => (Some(host), reply.clone()),
            None => {
                let known = last.and_then(|host| self.hosts.all[host as usize].last_failure.clone());
                (last, known.unwrap_or_else(|| Reply::own("the host was unavailable a moment ago")))
            }
        };
        match host {
            Some(host) if all_refuse && self.plan.relay.is_some() => self.relay_refuses(host, &reply),
            _ if all_refuse => self.refuse_waiting(id, host, &reply),
            _ => self.defer_waiting(id, host, &reply),
        }
    }

    /// The relay accepts no mail: its address or the credentials are wrong, which must not count against recipients.
    fn relay_refuses(&mut self, host: u32, reply: &Reply) {
        if !self.stopping {
            let why = RunError::Relay(self.at_host(host, &reply.to_string()));
            self.stop(&why.to_string());
            self.error = Some(why);
        }
    }

    /// A host is not available: what waits for it goes to the next one.
    pub(super) fn host_failed(&mut self, host: u32, why: &Reply) {
        let h = &mut self.hosts.all[host as usize];
        h.went_down(self.now, self.plan.retry_delay);
        h.backlog = 0;
        for id in std::mem::take(&mut h.ready) {
            let queue = &mut self.queues.all[id as usize];
            queue.attached = false;
            queue.host_index += 1;
            self.attach(id, Some((host, why)));
        }
    }

    /// The next transaction for a host.
    pub(super) fn next_batch(&mut self, host: u32) -> Option<Batch> {
        let h = &mut self.hosts.all[host as usize];
        let id = h.ready.pop_front()?;
        let queue = &mut self.queues.all[id as usize];
        let limit = self.plan.recipients_per_transaction.min(h.recipients_max);
        let n = fitting(queue.waiting.iter().take(limit));
        h.backlog -= n;
        let batch = Batch::new(queue.waiting.drain(..n).collect());
        queue.attached = !queue.waiting.is_empty();
        if queue.attached {
            // Behind the others, so that a large domain does not delay small ones.
            h.ready.push_back(id);
        }
        Some(batch)
    }

    /// Settles or defers the recipients of a transaction. It is over, or its connection was lost for the reason `lost`.
    pub(super) fn settle_batch(&mut self, host: u32, batch: Batch, lost: Option<&Reply>) {
        let Batch { recipients, answers, closing, taken, in_doubt, reached, .. } = batch;
        if recipients.is_empty() {
            return;
        }
        self.report.transactions += 1;
        if in_doubt {
            self.report.recipients.in_doubt += taken as u64;
        }
        if let (Some(reply), true) = (&closing, self.plan.relay.is_some())
            && reply.code == AUTHENTICATION_REQUIRED
        {
            return self.relay_refuses(host, reply);
        }
        let queue = self.queues.domains[recipients[0].domain as usize].queue;
        let size = recipients.len();
        let others_go_on = self.breaks_at_a_recipient(host, reached, lost);
        let (mut deferred, mut again) = (Vec::new(), Vec::new());
        let nothing = Reply::own("the host did not reply for this recipient");
        for (n, (mut recipient, answer)) in recipients.into_iter().zip(answers).enumerate() {
            if others_go_on && reached != Reached::Recipient(n) && !matches!(answer, RecipientState::No(_)) {
                recipient.stepwise = true;
                again.push(recipient);
                continue;
            }
            let reply = match &answer {
                RecipientState::Overflow => {
                    again.push(recipient);
                    continue;
                }
                RecipientState::No(reply) => reply,
                RecipientState::Taken if self.plan.message.test && lost.is_none() => {
                    let accepted = Settled { outcome: Outcome::Accepted, code: 250, text: b"" };
                    self.settle(&recipient, Some(host), accepted);
                    continue;
                }
                RecipientState::Taken | RecipientState::Open => closing.as_ref().or(lost).unwrap_or(&nothing),
            };
            if lost.is_some() {
                // One of the recipients may be the cause, and must not cost the others all their attempts.
                let is_last = recipient.attempts + 1 >= self.plan.retries;
                let smaller = if is_last || others_go_on { 1 } else { size.div_ceil(PARTS) };
                recipient.together = u16::try_from(smaller).unwrap_or(u16::MAX);
            }
            match reply.code / 100 {
                2 => {
                    let sent = Settled { outcome: Outcome::Sent, code: reply.code, text: &reply.text };
                    self.settle(&recipient, Some(host), sent);
                }
                5 => self.refuse(&recipient, Some(host), reply),
                _ => self.defer(recipient, Some(host), reply, &mut deferred),
            }
        }
        self.put_off(queue, deferred);
        if !again.is_empty() {
            if lost.is_none() {
                self.hosts.all[host as usize].recipients_max = taken.max(1);
            }
            self.enqueue(queue, again);
        }
    }

    /// True if the connection of a transaction broke at a recipient, who may be the cause. The others have cost the host nothing and
    /// continue at once. A host that breaks one connection after the other gets a pause.
    fn breaks_at_a_recipient(&mut self, host: u32, reached: Reached, lost: Option<&Reply>) -> bool {
        let h = &mut self.hosts.all[host as usize];
        let Some(reply) = lost else {
            h.broken_in_a_row = 0;
            return false;
        };
        // 421 means that the host is busy, whoever the recipients are.
        if reply.code != 0 || reached == Reached::Elsewhere {
            return false;
        }
        h.broken_in_a_row += 1;
        h.broken_in_a_row <= BROKEN_IN_A_ROW_MAX
    }

    fn refuse(&mut self, recipient: &Recipient, host: Option<u32>, reply: &Reply) {
        let refused = Settled { outcome: Outcome::Refused, code: reply.code, text: &reply.text };
        self.settle(recipient, host, refused);
    }

    /// An attempt has failed for now: the recipient is given up, or waits for the next attempt.
    fn defer(
        &mut self,
        mut recipient: Recipient,
        host: Option<u32>,
        reply: &Reply,
        deferred: &mut Vec<Recipient>,
    ) {
        self.report.recipients.deferrals += 1;
        if recipient.attempts >= self.plan.retries {
            let gave_up = Settled { outcome: Outcome::GaveUp, code: reply.code, text: &reply.text };
            return self.settle(&recipient, host, gave_up);
        }
        recipient.attempts += 1;
        deferred.push(recipient);
    }

    /// Schedules the next attempt of recipients.
    fn put_off(&mut self, queue: u32, recipients: Vec<Recipient>) {
        let Some(most) = recipients.iter().map(|r| r.attempts).max() else { return };
        let doublings = (most - 1).min(DOUBLINGS_MAX);
        let due = self.now + Nanos(self.plan.retry_delay.0.saturating_mul(1 << doublings));
        self.deferred_count += recipients.len() as u64;
        self.deferred.push(std::cmp::Reverse(Deferred { due, queue, recipients }));
    }

    /// Enqueues the recipients whose next attempt is due.
    pub(super) fn requeue_due(&mut self) {
        while self.deferred.peek().is_some_and(|d| d.0.due <= self.now) && !self.stopping {
            let Some(std::cmp::Reverse(deferred)) = self.deferred.pop() else { break };
            self.deferred_count -= deferred.recipients.len() as u64;
            self.enqueue(deferred.queue, deferred.recipients);
        }
    }

    /// Refuses all recipients in a queue.
    fn refuse_waiting(&mut self, id: u32, host: Option<u32>, reply: &Reply) {
        for recipient in std::mem::take(&mut self.queues.all[id as usize].waiting) {
            self.refuse(&recipient, host, reply);
        }
    }

    /// Defers all recipients in a queue to their next attempt.
    fn defer_waiting(&mut self, id: u32, host: Option<u32>, reply: &Reply) {
        let mut deferred = Vec::new();
        for recipient in std::mem::take(&mut self.queues.all[id as usize].waiting) {
            self.defer(recipient, host, reply, &mut deferred);
        }
        self.put_off(id, deferred);
    }

    /// Records the outcome of a recipient, and the host of its last attempt if there was one.
    fn settle(&mut self, recipient: &Recipient, host: Option<u32>, settled: Settled<'_>) {
        let words = settled.text;
        let text = match host {
            Some(host) if settled.code == 0 => {
                Cow::Owned(self.at_host(host, &String::from_utf8_lossy(words)).into_bytes())
            }
            _ => Cow::Borrowed(words),
        };
        let settled = Settled { text: &text, ..settled };
        let reason = self.tally.add(settled, words);
        let domain = &mut self.queues.domains[recipient.domain as usize];
        domain.outcomes[settled.outcome as usize] += 1;
        if let Some(reason) = &reason {
            domain.reasons.add(reason);
        }
        if let Some(host) = host {
            let h = &mut self.hosts.all[host as usize];
            h.outcomes[settled.outcome as usize] += 1;
            if let Some(reason) = &reason {
                h.reasons.add(reason);
            }
        }
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
        self.open -= 1;
    }

    /// Has a session found or opened for a host, at the latest in the next turn of the loop.
    pub(super) fn want_session(&mut self, host: u32) {
        let h = &mut self.hosts.all[host as usize];
        if !std::mem::replace(&mut h.wanted, true) {
            self.wanted.push_back(host);
        }
    }
}

/// How many of the recipients, from the first one on, may share a transaction.
fn fitting<'a>(waiting: impl Iterator<Item = &'a Recipient>) -> usize {
    let mut most = usize::MAX;
    let fits = |(i, recipient): &(usize, &Recipient)| {
        most = most.min(usize::from(recipient.together));
        *i < most
    };
    waiting.enumerate().take_while(fits).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recipients_of_broken_transactions_share_smaller_ones() {
        let fitting = |together: &[u16]| {
            let of = |together: &u16| Recipient {
                local: "r".into(),
                domain: 0,
                attempts: 0,
                together: *together,
                stepwise: false,
            };
            super::fitting(together.iter().map(of).collect::<Vec<_>>().iter())
        };
        assert_eq!(fitting(&[u16::MAX; 50]), 50);
        assert_eq!(fitting(&[7; 50]), 7);
        assert_eq!(fitting(&[1, u16::MAX]), 1);
        // The third recipient would be one of three.
        assert_eq!(fitting(&[u16::MAX, u16::MAX, 2, 2]), 2);
        assert_eq!(fitting(&[]), 0);
    }
}
