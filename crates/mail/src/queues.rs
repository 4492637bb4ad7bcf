//! The domains of a list, and the queues of their waiting recipients.

use std::collections::{HashMap, VecDeque};

use pitot_meter::Nanos;
use pitot_results::mail::Outcome;

use crate::batch::Recipient;
use crate::reasons::Reasons;

/// A domain of the list.
#[derive(Debug)]
pub(crate) struct Domain {
    pub(crate) name: Box<str>,
    /// Where its recipients wait.
    pub(crate) queue: u32,
    pub(crate) recipients: u64,
    pub(crate) outcomes: [u64; Outcome::ALL.len()],
    pub(crate) reasons: Reasons,
}

/// The hosts of a queue.
#[derive(Debug)]
pub(crate) enum RouteState {
    /// Not looked up yet.
    Unknown,
    /// Being looked up.
    Pending,
    /// The numbers of the hosts, best first, and when that information expires.
    Hosts(Vec<u32>, Nanos),
    /// No host accepts this mail; the code and the reason.
    Refused(u16, &'static str),
}

/// Recipients with the same route: those of a domain, or all if there is a relay.
#[derive(Debug)]
pub(crate) struct Queue {
    pub(crate) waiting: VecDeque<Recipient>,
    pub(crate) route: RouteState,
    /// Which host of the route is tried.
    pub(crate) host_index: usize,
    /// It is among the queues with work for that host.
    pub(crate) attached: bool,
}

/// All domains and queues.
#[derive(Debug, Default)]
pub(crate) struct DomainQueues {
    pub(crate) domains: Vec<Domain>,
    pub(crate) all: Vec<Queue>,
    by_name: HashMap<Box<str>, u32>,
    /// All domains share one queue.
    shared: bool,
}

impl DomainQueues {
    /// A queues where all domains share one queue on a known way, or each has its own.
    pub(crate) fn new(relay: Option<RouteState>) -> DomainQueues {
        let shared = relay.is_some();
        let all = relay.map(Queue::new).into_iter().collect();
        DomainQueues { shared, all, ..DomainQueues::default() }
    }

    /// The number of a domain, in lower case.
    pub(crate) fn domain(&mut self, name: &str) -> u32 {
        if let Some(&id) = self.by_name.get(name) {
            return id;
        }
        let id = self.domains.len() as u32;
        let queue = if self.shared {
            0
        } else {
            self.all.push(Queue::new(RouteState::Unknown));
            self.all.len() as u32 - 1
        };
        let outcomes = [0; Outcome::ALL.len()];
        self.domains.push(Domain {
            name: name.into(),
            queue,
            recipients: 0,
            outcomes,
            reasons: Reasons::default(),
        });
        self.by_name.insert(name.into(), id);
        id
    }

    /// The name of a queue's domain; the queue is not shared.
    pub(crate) fn queue_name(&self, queue: u32) -> &str {
        // Queues and domains are made in pairs, so that their numbers agree.
        &self.domains[queue as usize].name
    }
}

impl Queue {
    fn new(route: RouteState) -> Queue {
        Queue { waiting: VecDeque::new(), route, host_index: 0, attached: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn domains_have_their_own_queue_unless_there_is_a_relay() {
        let mut queues = DomainQueues::new(None);
        assert_eq!((queues.domain("a"), queues.domain("b"), queues.domain("a")), (0, 1, 0));
        assert_eq!((queues.all.len(), queues.queue_name(1)), (2, "b"));
        let mut queues = DomainQueues::new(Some(RouteState::Hosts(vec![0], Nanos::MAX)));
        queues.domain("a");
        queues.domain("b");
        assert_eq!((queues.all.len(), queues.domains[1].queue), (1, 0));
    }
}
