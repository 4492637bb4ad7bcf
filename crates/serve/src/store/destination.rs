use pitot_proto::{StoreError, StoreStep};

use super::maildir::Maildir;
use super::stored::Stored;
use super::uploads::Uploads;

/// A destination.
#[derive(Clone, Debug)]
pub enum Store {
    /// For mail.
    Maildir(Maildir),
    /// For uploads below the root.
    Uploads(Uploads),
}

impl Store {
    /// Carries out one step. The first of a file names its path; mail needs none.
    ///
    /// # Errors
    /// Why the step failed; the message or upload is removed.
    pub fn store(&self, path: &[u8], step: &mut StoreStep) -> Result<Stored, StoreError> {
        match self {
            Store::Maildir(maildir) => {
                Ok(maildir.store(step)?.map_or(Stored::Done(Box::default()), Stored::Begun))
            }
            Store::Uploads(uploads) => uploads.store(path, step),
        }
    }
}
