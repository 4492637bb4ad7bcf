//! A proxy between load and server, in which their connections are reset, delayed, slowed down or held up.
//!
//! It works without any privilege, on every kernel and for every protocol on TCP. It is one loop on epoll with level trigger.
//! Without a fault bytes go from one socket to the other as they come; a fault is a [`Condition`] under which all connections
//! are for a time. Each command on standard input is answered by a line: `begin NUMBER FAULT OPTIONS` by `began NUMBER NS
//! WHAT`, `end NUMBER` by `ended NUMBER NS`, what is not understood by `refused NUMBER WHY`; `quit` ends the proxy.

mod bucket;
pub(crate) mod condition;
mod link;
mod run;
mod way;

pub use crate::commands::{PROXY_BEGAN, PROXY_ENDED, PROXY_REFUSED};
pub use condition::Condition;
pub use run::serve;
