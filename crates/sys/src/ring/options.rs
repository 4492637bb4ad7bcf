//! How a ring is set up, and what of io_uring(7) it uses.

use std::time::Duration;

/// How a ring is set up, and what of io_uring(7) it uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Submissions that fit before they must be handed to the kernel; a power of two.
    pub submissions: u32,
    /// Completions that fit; a power of two.
    pub completions: u32,
    /// Buffers for receives; a power of two up to 32768.
    pub buffers: u16,
    /// Bytes in each of these buffers.
    pub buffer_bytes: u32,
    /// Slots for descriptors that exist only in the ring (direct descriptors); 0 for none.
    pub direct: u32,
    /// The kernel completes operations when the thread asks for completions, and does not interrupt it for that (SINGLE_ISSUER and
    /// DEFER_TASKRUN, Linux 6.1).
    pub deferred: bool,
    /// Accepts and receives complete again and again without a new submission.
    pub multishot: bool,
    /// Sends of at least so many bytes are sent from where they are (SEND_ZC, SENDMSG_ZC); none are without it.
    pub zero_copy_min: Option<u32>,
    /// A receive takes as many buffers as there are bytes for, and reports them at once, if the kernel can (RECVSEND_BUNDLE, Linux 6.10).
    pub bundles: bool,
    /// A wait polls the queues of network cards for this time before it sleeps (IORING_REGISTER_NAPI, Linux 6.9); zero does not.
    pub busy_poll: Duration,
    /// A wait that has a completion goes on for this time to collect more (Linux 6.12); zero returns at once.
    pub gather: Duration,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            submissions: 512,
            completions: 4096,
            buffers: 256,
            buffer_bytes: 4096,
            direct: 0,
            deferred: true,
            multishot: true,
            zero_copy_min: None,
            bundles: true,
            busy_poll: Duration::ZERO,
            gather: Duration::ZERO,
        }
    }
}
