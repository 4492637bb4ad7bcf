//! How a core has a message stored, which is not its business: piece by piece, by whoever runs it.

use std::any::Any;
use std::fmt;

/// What a core asks for with [`Next::Deliver`](crate::Next::Deliver): append to the message, or begin it, and at its
/// end put it where it belongs, so that it is there even after a loss of power.
///
/// A message is never held in memory: the core hands on what it was shown, and nothing else of the message exists but
/// what the worker has made of it so far, the [`Parcel`].
#[derive(Debug, Default)]
pub struct Delivery {
    /// What the worker has made of the message so far. `None` if it begins with this step.
    pub parcel: Option<Parcel>,
    /// What is to be appended.
    pub bytes: Vec<u8>,
    /// Nothing follows: the message is to be put in its place.
    pub is_last: bool,
}

/// A message in the making; opaque to the core, which only passes it back. To drop it is to throw the message away.
pub struct Parcel(pub Box<dyn Any + Send>);

impl fmt::Debug for Parcel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Parcel")
    }
}

/// Why a message could not be stored. Nothing is left of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliverError {
    /// The disk or the quota is full.
    NoRoom,
    /// The directory is not there.
    NoPlace,
    /// The server may not write there.
    Forbidden,
    /// Anything else the disk said.
    Failed,
    /// Whoever is to store it is away.
    Unavailable,
}
