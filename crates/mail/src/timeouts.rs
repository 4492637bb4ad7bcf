//! Timeouts of each step of a conversation (RFC 5321 section 4.5.3.2).

use pitot_meter::Nanos;

/// A step that a session waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The connection.
    Connect,
    /// The host's greeting.
    Banner,
    /// The answer to EHLO, and TLS.
    Hello,
    /// The answer to MAIL.
    Mail,
    /// The answer to RCPT.
    Recipient,
    /// The answer to DATA.
    Data,
    /// Room to send the message, and the answer to its end.
    Message,
    /// Work, on a connection without any.
    Idle,
    /// The answer to QUIT.
    Quit,
}

impl Phase {
    /// The time that a host has; the last two are this engine's own.
    pub(crate) const fn limit(self) -> Nanos {
        Nanos::from_secs(match self {
            Phase::Connect => 30,
            Phase::Banner | Phase::Hello | Phase::Mail | Phase::Recipient => 300,
            Phase::Data => 120,
            Phase::Message => 600,
            Phase::Idle => 300,
            Phase::Quit => 5,
        })
    }

    /// For messages: `the host did not ...`.
    pub(crate) const fn missing(self) -> &'static str {
        match self {
            Phase::Connect => "connect",
            Phase::Banner => "greet",
            Phase::Hello => "answer EHLO",
            Phase::Mail => "answer MAIL",
            Phase::Recipient => "answer RCPT",
            Phase::Data => "answer DATA",
            Phase::Message => "answer the message",
            Phase::Idle => "send anything",
            Phase::Quit => "answer QUIT",
        }
    }
}
