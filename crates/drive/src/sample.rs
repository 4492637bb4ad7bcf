//! One request as it is recorded, and the errors it may end with.

use std::io;

use pitot_meter::Nanos;

/// A request that has ended, with every time that matters on the monotonic clock.
///
/// Response time is `done - intended`, service time `done - sent`, schedule lag `sent - intended`. They are kept apart
/// because a generator that starts its clock at the send forgives a stalled server (and itself) the time in which
/// requests should have been sent and were not.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// When it should have started.
    pub intended: Nanos,
    /// When its bytes were given to the kernel.
    pub sent: Nanos,
    /// When the first byte of its reply was seen.
    pub first_byte: Nanos,
    /// When its reply was complete.
    pub done: Nanos,
    /// How it ended.
    pub outcome: Outcome,
    /// The status of its reply; 0 if the protocol has none.
    pub status: u16,
    /// The bytes of its content.
    pub content: u64,
}

/// How a completed request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// With the right reply.
    Right,
    /// With a complete reply that was wrong or late.
    Wrong(ErrorPhase, ErrorKind),
}

/// In which phase of a request or connection an error occurred.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ErrorPhase {
    /// While the target's name was looked up.
    Resolve,
    /// Before the connection was established.
    Connect,
    /// In the TLS handshake of a connection.
    Handshake,
    /// While the request was sent.
    Send,
    /// While the reply was awaited or received.
    Receive,
    /// The timeout expired first.
    Timeout,
    /// The server broke the protocol.
    Protocol,
    /// The reply was complete and not the expected one.
    Content,
}

impl ErrorPhase {
    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            ErrorPhase::Resolve => "resolve",
            ErrorPhase::Connect => "connect",
            ErrorPhase::Handshake => "handshake",
            ErrorPhase::Send => "send",
            ErrorPhase::Receive => "receive",
            ErrorPhase::Timeout => "timeout",
            ErrorPhase::Protocol => "protocol",
            ErrorPhase::Content => "content",
        }
    }
}

/// What went wrong, within its phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// An error number of the kernel.
    Errno(i32),
    /// A status of the reply.
    Status(u16),
    /// A name that Pitot or the protocol gives the error.
    Word(&'static str),
}

impl ErrorKind {
    /// The server closed the connection in order before the first byte of a reply.
    pub const CLOSED: ErrorKind = ErrorKind::Word("closed");
    /// The server closed the connection in order inside a reply.
    pub const TRUNCATED: ErrorKind = ErrorKind::Word("truncated");
    /// No connection in time.
    pub const NO_CONNECTION: ErrorKind = ErrorKind::Word("connect");
    /// No end of a TLS handshake in time.
    pub const NO_HANDSHAKE: ErrorKind = ErrorKind::Word("handshake");
    /// No complete reply in time.
    pub const NO_REPLY: ErrorKind = ErrorKind::Word("reply");
    /// A reply that was complete and in the kernel, but read after its time.
    pub const LATE: ErrorKind = ErrorKind::Word("late");

    /// The name in reports: `ECONNRESET`, `status-503`, `truncated`.
    pub fn name(self) -> String {
        match self {
            ErrorKind::Errno(number) => match pitot_sys::errno::name(number) {
                "errno" => format!("errno-{number}"),
                name => name.to_owned(),
            },
            ErrorKind::Status(status) => format!("status-{status}"),
            ErrorKind::Word(word) => word.to_owned(),
        }
    }
}

impl From<&io::Error> for ErrorKind {
    fn from(e: &io::Error) -> ErrorKind {
        ErrorKind::Errno(e.raw_os_error().unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_have_names_that_a_script_can_match() {
        let refused = io::Error::from_raw_os_error(111);
        assert_eq!(ErrorKind::from(&refused).name(), "ECONNREFUSED");
        assert_eq!(ErrorKind::Errno(4095).name(), "errno-4095");
        assert_eq!(ErrorKind::Status(503).name(), "status-503");
        assert_eq!(ErrorKind::TRUNCATED.name(), "truncated");
    }
}
