use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::said::Said;

/// The users of the database. Each is logged in at most once in this process, so that no other session changes a balance.
#[derive(Debug)]
pub(super) struct Users {
    all: Mutex<Vec<Known>>,
    /// Other processes may log in the same users.
    is_shared: AtomicBool,
    /// The first order that was declined.
    pub(super) said: Said,
}

#[derive(Clone, Copy, Debug, Default)]
struct Known {
    taken: bool,
    last: Last,
}

/// What is known of a user from earlier sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Last {
    /// The account of the last page.
    pub(super) account: Option<Account>,
    /// Sales that were not yet seen completed.
    pub(super) open_sales: i64,
    /// Orders are completed later.
    pub(super) queued: bool,
    /// An order of this user had no reply, or the user was in two sessions at once: orders may appear that no page has confirmed.
    pub(super) uncertain: bool,
}

/// An account, as pages show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Account {
    pub(super) balance: i64,
    /// Orders that have changed the balance.
    pub(super) entries: i64,
    pub(super) holdings: i64,
}

impl Users {
    pub(super) fn new(count: u64) -> Users {
        Users {
            all: Mutex::new(vec![Known::default(); count as usize]),
            is_shared: AtomicBool::new(false),
            said: Said::default(),
        }
    }

    fn with<T>(&self, work: impl FnOnce(&mut Vec<Known>) -> T) -> T {
        work(&mut self.all.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The user of a session, by its number in the run, or the next free one, and what is known of it. `None` if all are taken: the
    /// session then shares a user with another.
    pub(super) fn take(&self, session: u64) -> Option<(u64, Last)> {
        let is_shared = self.is_shared.load(Ordering::Relaxed);
        self.with(|all| {
            let count = all.len() as u64;
            let Some(user) = (0..count).map(|n| (session + n) % count).find(|n| !all[*n as usize].taken)
            else {
                all[(session % count) as usize].last.uncertain = true;
                return None;
            };
            let known = &mut all[user as usize];
            known.taken = true;
            Some((user, if is_shared { Last::default() } else { known.last }))
        })
    }

    /// Ends a session, with what is known of its user.
    pub(super) fn give(&self, user: u64, last: Last) {
        self.with(|all| {
            let uncertain = all[user as usize].last.uncertain || last.uncertain;
            all[user as usize] = Known { taken: false, last: Last { uncertain, ..last } };
        });
    }

    /// Whether every order of a user comes from its own session.
    pub(super) fn is_certain(&self, user: u64) -> bool {
        !self.is_shared.load(Ordering::Relaxed) && self.with(|all| !all[user as usize].last.uncertain)
    }

    pub(super) fn shares_server(&self) {
        self.is_shared.store(true, Ordering::Relaxed);
    }
}
