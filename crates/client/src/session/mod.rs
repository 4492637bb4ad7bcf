//! Sessions: the steps of one user, with values taken from one reply and put into a later request.
//!
//! Nothing here depends on the framing of requests. A script is checked and compiled once ([`Scripts`]); a connection plays one
//! after the other ([`Play`]) and keeps the values of the current one.

pub(super) mod conn;
mod play;
mod scripts;
pub(super) mod spec;
mod take;
mod template;
#[cfg(test)]
mod tests;

pub use conn::{SessionConn, Turn};
pub(crate) use play::{InTurn, IncomingReply, Play, write_integer};
pub(crate) use scripts::Scripts;
pub use spec::{DrawSpec, SessionSpec, Source, StepSpec, TakeSpec};
pub(crate) use template::{Form, LENGTH, Template, Values, has_numbers};
