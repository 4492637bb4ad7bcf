//! Readiness mechanisms: they report which descriptors can be read or written without blocking.
//!
//! select(2), poll(2), epoll(7) with level trigger, with edge trigger (also spinning) and with EPOLLONESHOT, and realtime signals (fcntl(2), F_SETSIG). Each is
//! one file; all that differs for the user of one is [`Readiness::trigger`].

mod epoll;
mod epoll_busy;
mod epoll_oneshot;
mod interface;
mod poll;
mod select;
mod sigio;

pub use epoll::{EpollEdge, EpollLevel};
pub use epoll_busy::EpollBusy;
pub use epoll_oneshot::EpollOneShot;
pub use interface::{Interest, Readiness, Ready, Trigger};
pub use poll::Poll;
pub use select::Select;
pub use sigio::{SigIo, block_signals as block_sigio};

#[cfg(test)]
mod tests;
