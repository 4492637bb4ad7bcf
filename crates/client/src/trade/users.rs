use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::said::Said;

/// The users of the database, each of whom is logged in at most once in this process: what one knows of a balance is not
/// changed by another.
#[derive(Debug)]
pub(super) struct Users {
    all: Mutex<Vec<Known>>,
    /// Other processes may log in the same users.
    has_company: AtomicBool,
    /// What was declined first.
    pub(super) said: Said,
}

/// A user of the database.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    taken: bool,
    last: Last,
}

/// What is known of a user from the sessions so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Last {
    /// What the last page said.
    pub(super) account: Option<Account>,
    /// Sales that were placed and not seen completed.
    pub(super) open_sales: i64,
    /// Orders are completed later.
    pub(super) queued: bool,
    /// An order of this user had no answer, or the user was in two sessions at a time: orders may come that no page has
    /// confirmed.
    pub(super) uncertain: bool,
}

/// What the pages of an account say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Account {
    pub(super) balance: i64,
    /// How many orders have changed the balance.
    pub(super) entries: i64,
    pub(super) holdings: i64,
}

impl Users {
    pub(super) fn new(count: u64) -> Users {
        Users {
            all: Mutex::new(vec![Known::default(); count as usize]),
            has_company: AtomicBool::new(false),
            said: Said::default(),
        }
    }

    fn with<T>(&self, work: impl FnOnce(&mut Vec<Known>) -> T) -> T {
        work(&mut self.all.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The user of a session by its number in the run, or the next that is free, and what is known of it; none if all are
    /// taken. Then the session is of one that another has.
    pub(super) fn take(&self, session: u64) -> Option<(u64, Last)> {
        let has_company = self.has_company.load(Ordering::Relaxed);
        self.with(|all| {
            let count = all.len() as u64;
            let Some(user) = (0..count).map(|n| (session + n) % count).find(|n| !all[*n as usize].taken)
            else {
                all[(session % count) as usize].last.uncertain = true;
                return None;
            };
            let known = &mut all[user as usize];
            known.taken = true;
            Some((user, if has_company { Last::default() } else { known.last }))
        })
    }

    /// A session is over, with what is known of its user.
    pub(super) fn give(&self, user: u64, last: Last) {
        self.with(|all| {
            let uncertain = all[user as usize].last.uncertain || last.uncertain;
            all[user as usize] = Known { taken: false, last: Last { uncertain, ..last } };
        });
    }

    /// Whether every order of a user is one of its own session.
    pub(super) fn is_certain(&self, user: u64) -> bool {
        !self.has_company.load(Ordering::Relaxed) && self.with(|all| !all[user as usize].last.uncertain)
    }

    /// Other processes have the same users.
    pub(super) fn get_company(&self) {
        self.has_company.store(true, Ordering::Relaxed);
    }
}
