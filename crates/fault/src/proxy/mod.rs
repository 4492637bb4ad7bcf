//! A proxy between load and server that resets, delays, throttles or blocks their connections.
//!
//! It needs no privilege and works on every kernel and for every protocol on TCP. It is one level-triggered epoll loop. Without a fault
//! it forwards bytes at once; a fault is a temporary [`Condition`] of all connections. It replies to each command on stdin with a
//! line: to `begin NUMBER FAULT OPTIONS` with `began NUMBER NS WHAT`, to `end NUMBER` with `ended NUMBER NS`, to an error with `refused
//! NUMBER WHY`; `quit` ends the proxy.

mod bucket;
pub(crate) mod condition;
mod link;
mod run;
mod way;

pub use crate::commands::{PROXY_BEGAN, PROXY_ENDED, PROXY_REFUSED};
pub use condition::Condition;
pub use run::serve;
