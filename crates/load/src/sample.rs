//! One request as it is recorded, and the errors it may end with.

use std::io;

use pitot_meter::Nanos;

/// A request that has ended, with every time that matters on the monotonic clock.
///
/// Response time is `done - intended`, service time `done - sent`, schedule lag `sent - intended`. They are kept apart
/// because a generator that starts its clock at the send forgives a stalled server (and itself) the time in which
/// requests should have been sent and were not.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    /// When it should have started.
    pub(crate) intended: Nanos,
    /// When its bytes were given to the kernel.
    pub(crate) sent: Nanos,
    /// When the first byte of its reply was seen.
    pub(crate) first_byte: Nanos,
    /// When its reply was complete.
    pub(crate) done: Nanos,
    /// How it ended.
    pub(crate) outcome: Outcome,
}

/// How a completed request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// With the right reply.
    Right,
    /// With a complete reply that was wrong or late.
    Wrong(Phase, Kind),
}

/// In which phase of a request or connection an error came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Before the connection was there.
    Connect,
    /// While the request was sent.
    Send,
    /// While the reply was awaited or received.
    Receive,
    /// The time-out came first.
    Timeout,
    /// The server broke the protocol.
    Protocol,
    /// The reply was complete and not the expected one.
    Content,
}

impl Phase {
    /// The word in reports.
    pub const fn word(self) -> &'static str {
        match self {
            Phase::Connect => "connect",
            Phase::Send => "send",
            Phase::Receive => "receive",
            Phase::Timeout => "timeout",
            Phase::Protocol => "protocol",
            Phase::Content => "content",
        }
    }
}

/// What went wrong, within its phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// What the kernel said.
    Errno(i32),
    /// What the reply said.
    Status(u16),
    /// A word of ours or of the protocol.
    Word(&'static str),
}

impl Kind {
    /// The server closed in order before the first byte of a reply.
    pub(crate) const CLOSED: Kind = Kind::Word("closed");
    /// The server closed in order inside a reply.
    pub(crate) const TRUNCATED: Kind = Kind::Word("truncated");
    /// No connection in time.
    pub(crate) const NO_CONNECTION: Kind = Kind::Word("connect");
    /// No complete reply in time.
    pub(crate) const NO_REPLY: Kind = Kind::Word("reply");
    /// A reply that was complete and in the kernel, but read after its time.
    pub(crate) const LATE: Kind = Kind::Word("late");

    /// The name in reports: `ECONNRESET`, `status-503`, `truncated`.
    pub fn name(self) -> String {
        match self {
            Kind::Errno(number) => match pitot_sys::errno::name(number) {
                "errno" => format!("errno-{number}"),
                name => name.to_owned(),
            },
            Kind::Status(status) => format!("status-{status}"),
            Kind::Word(word) => word.to_owned(),
        }
    }
}

impl From<&io::Error> for Kind {
    fn from(e: &io::Error) -> Kind {
        Kind::Errno(e.raw_os_error().unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_have_names_that_a_script_can_match() {
        let refused = io::Error::from_raw_os_error(111);
        assert_eq!(Kind::from(&refused).name(), "ECONNREFUSED");
        assert_eq!(Kind::Errno(4095).name(), "errno-4095");
        assert_eq!(Kind::Status(503).name(), "status-503");
        assert_eq!(Kind::TRUNCATED.name(), "truncated");
    }
}
