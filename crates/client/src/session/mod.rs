//! Sessions: what one user does, step by step, with values taken from one reply and put into a later request.
//!
//! Nothing here knows how requests are framed. A script is checked and compiled once ([`Scripts`]); a connection plays one
//! after the other ([`Play`]) and keeps the values of the present one.

pub(super) mod conn;
mod play;
mod scripts;
pub(super) mod spec;
mod take;
mod template;
#[cfg(test)]
mod tests;

pub use conn::{SessionConn, Turn};
pub(crate) use play::{InTurn, IncomingReply, Play};
pub(crate) use scripts::Scripts;
pub use spec::{DrawSpec, SessionSpec, Source, StepSpec, TakeSpec};
pub(crate) use template::{Form, LENGTH, Names, Template, Values, has_numbers};
