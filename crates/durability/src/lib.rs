//! Durability: what a server has acknowledged must be stored, complete and once, whatever happened to its processes.
//!
//! The requests of a load have unique names (`pitot load --durability`), which servers store with them: in the path of an upload, in
//! the header of a mail. The load reports which were acknowledged ([`Acknowledged`]). The stored files are checked when the server
//! has ended ([`Found`]), or while it runs ([`DurabilityWatch`]).
//!
//! A killed process loses nothing that it has passed to the kernel: missing requests were acknowledged before they were written.
//! What a power failure would lose is another question, which the order of system calls answers, and not the files.
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
