//! Where a server puts what it receives: a message into a Maildir, a file below the root. One step of it at a time, each
//! of which may wait for the disk.

use pitot_proto::{DeliverError, Delivery, Parcel};

use crate::maildir::Maildir;
use crate::uploads::Uploads;

/// One of the places.
#[derive(Clone, Debug)]
pub enum Depot {
    /// Mail goes here.
    Maildir(Maildir),
    /// Files may be put here.
    Uploads(Uploads),
}

/// What a step came to.
#[derive(Debug)]
pub enum Stored {
    /// More is to come.
    Going(Parcel),
    /// It is in its place. Of a file this is the path, whose content is new; mail has none.
    Done(Box<[u8]>),
}

impl Depot {
    /// Does one step. The first of a file names its path, which is of no account for mail.
    ///
    /// # Errors
    /// Why not; nothing is left of it then.
    pub fn store(&self, path: &[u8], delivery: &mut Delivery) -> Result<Stored, DeliverError> {
        match self {
            Depot::Maildir(maildir) => {
                Ok(maildir.deliver(delivery)?.map_or(Stored::Done(Box::default()), Stored::Going))
            }
            Depot::Uploads(uploads) => uploads.store(path, delivery),
        }
    }
}
