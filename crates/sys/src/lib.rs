//! System calls, as safe functions and types. The only crate of Pitot with unsafe code.
//!
//! Each file wraps one corner of the kernel and nothing of it leaks: callers hold owned descriptors, tokens and
//! buffers. What this kernel or this user may not do is a value, [`Unavailable`], that names the cause and the fix.

pub mod access;
pub mod affinity;
pub mod clock;
pub mod connect;
pub mod control_group;
pub mod disk;
pub mod errno;
pub mod ethtool;
mod eventfd;
pub mod guardian;
pub mod ktls;
pub mod landlock;
pub mod limits;
mod local_ports;
pub mod loop_device;
pub mod loopback;
mod mapping;
mod mark;
pub mod memory;
pub mod names;
mod netlink;
pub mod perf;
pub mod port_group;
pub mod process;
pub mod processes;
mod queued_signal;
pub mod readiness;
pub mod ring;
pub mod safe_open;
pub mod sched;
mod shared;
pub mod signal;
pub mod socket;
pub mod spawn;
pub mod tcp_sockets;
pub mod terminal;
pub mod thread;
mod thread_pool;
mod token;
#[cfg(target_arch = "x86_64")]
pub mod trace;
mod unavailable;
pub mod unix_listener;
pub mod usage;
pub mod user;
pub mod waited;
mod waker;

pub use eventfd::EventFd;
pub use local_ports::local_ports;
pub use mapping::Mapping;
pub use mark::Mark;
pub use queued_signal::QueuedSignal;
pub use shared::SharedMemory;
pub use thread_pool::ThreadPool;
pub use token::Token;
pub use unavailable::Unavailable;
pub use waker::Waker;
