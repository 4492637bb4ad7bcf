use std::sync::{Mutex, PoisonError};

/// The users of the database, each of whom is logged in at most once in this process: what one knows of a balance is not
/// changed by another.
#[derive(Debug)]
pub(super) struct Users(Mutex<Vec<bool>>);

impl Users {
    pub(super) fn new(count: u64) -> Users {
        Users(Mutex::new(vec![false; count as usize]))
    }

    /// The user of a session by its number in the run, or the next that is free; none if all are taken.
    pub(super) fn take(&self, session: u64) -> Option<u64> {
        let mut taken = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = taken.len() as u64;
        let user = (0..count).map(|n| (session + n) % count).find(|n| !taken[*n as usize])?;
        taken[user as usize] = true;
        Some(user)
    }

    pub(super) fn give(&self, user: u64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)[user as usize] = false;
    }
}
