//! Storing received data: messages into a Maildir, files below the root, in steps that may block on the disk.

mod destination;
mod maildir;
mod pending_file;
mod stored;
mod threads;
mod uploads;

pub use destination::Store;
pub use maildir::Maildir;
pub use pending_file::Acknowledged;
pub use stored::Stored;
pub use threads::{Outcome, StoreThreads};
pub use uploads::Uploads;
