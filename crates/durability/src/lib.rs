//! Durability: what a server has acknowledged must be there, whole and once, whatever became of its processes.
//!
//! Requests of a load have names of their own (`pitot load --receipts`), which servers store with them: in the path of an upload, in
//! the header of a mail. The load says which it was acknowledged ([`Acknowledged`]); what is there is looked at when the server has
//! ended ([`Found`]), or while it runs ([`DurabilityWatch`]).
//!
//! Processes that are killed lose nothing that they have given to the kernel: what is missing was acknowledged before it was
//! written. What a loss of power would take is another question, which the order of system calls answers, and no look at
//! the files.
#![forbid(unsafe_code)]

mod acknowledged;
mod copies;
mod found;
mod name;
mod watch;

pub use acknowledged::{Acknowledged, OfConnection, Stored, add_range};
pub use found::{ACKNOWLEDGED, DOUBLED, Found, LOST, TORN};
pub use name::{BLANK_NAME, NAME_PLACE, RequestName, connection_name};
pub use watch::{DurabilityWatch, Looked, Lost};
