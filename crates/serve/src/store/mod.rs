//! Where a server puts what it receives: a message into a Maildir, a file below the root. It is stored one step at a
//! time, each of which may wait for the disk.

use pitot_proto::{StoreError, StoreStep};

mod maildir;
mod pending_file;
mod stored;
mod threads;
mod uploads;

pub use maildir::Maildir;
pub use stored::Stored;
pub use threads::{Outcome, StoreThreads};
pub use uploads::Uploads;

/// One of the destinations.
#[derive(Clone, Debug)]
pub enum Store {
    /// Mail goes here.
    Maildir(Maildir),
    /// Files may be put here.
    Uploads(Uploads),
}

impl Store {
    /// Carries out one step. The first of a file names its path; mail needs none.
    ///
    /// # Errors
    /// Why not; nothing is left of it then.
    pub fn store(&self, path: &[u8], step: &mut StoreStep) -> Result<Stored, StoreError> {
        match self {
            Store::Maildir(maildir) => {
                Ok(maildir.store(step)?.map_or(Stored::Done(Box::default()), Stored::Begun))
            }
            Store::Uploads(uploads) => uploads.store(path, step),
        }
    }
}
