//! The event mechanisms, as data: how one worker waits.
//!
//! A mechanism is one file with one entry in [`MECHANISMS`]. The entry selects a worker loop; no other code depends on
//! which mechanism is in use.

mod blocking;
mod contract;
mod epoll_busy;
mod epoll_et;
mod epoll_lt;
mod epoll_oneshot;
mod poll;
mod select;
mod sigio;
mod uring;

pub use contract::{Kind, Mechanism, Run};

/// All mechanisms, in the order in which they came into use.
pub static MECHANISMS: &[&Mechanism] = &[
    &blocking::BLOCKING,
    &select::SELECT,
    &poll::POLL,
    &sigio::SIGIO,
    &epoll_lt::EPOLL_LT,
    &epoll_oneshot::EPOLL_ONESHOT,
    &epoll_et::EPOLL_ET,
    &epoll_busy::EPOLL_BUSY,
    &uring::URING,
];

/// The mechanism of that name.
pub fn find(name: &str) -> Option<&'static Mechanism> {
    MECHANISMS.iter().copied().find(|m| m.name == name)
}
