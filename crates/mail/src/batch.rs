//! The recipients of one transaction and the host's answer for each.

use std::fmt;

/// A recipient without an outcome.
#[derive(Debug)]
pub(crate) struct Recipient {
    pub(crate) local: Box<str>,
    /// The number of its domain.
    pub(crate) domain: u32,
    /// Attempts that have failed.
    pub(crate) attempts: u8,
    /// The most recipients of a transaction that it may be part of: fewer once it was in one that broke.
    pub(crate) together: u16,
    /// Commands of its transactions wait for their replies: it was in one that broke, and the cause was not to be seen.
    pub(crate) stepwise: bool,
}

/// What a host answered for a recipient.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RecipientState {
    /// No answer yet.
    Open,
    /// Accepted, if the message is accepted too.
    Taken,
    /// Refused, with a code of 400 to 599.
    No(Reply),
    /// Not in this transaction, which has enough recipients (RFC 5321 section 4.5.3.1.10).
    Overflow,
}

/// A reply that decides for recipients. Code 0 is a reason of this engine, in `text`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) code: u16,
    pub(crate) text: Box<[u8]>,
}

impl Reply {
    /// A reason of this engine's own.
    pub(crate) fn own(text: impl Into<String>) -> Reply {
        Reply { code: 0, text: text.into().into_bytes().into() }
    }
}

impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.code > 0 {
            write!(f, "{} ", self.code)?;
        }
        f.write_str(&String::from_utf8_lossy(&self.text).replace(char::is_control, " "))
    }
}

/// Where a transaction was when it was taken from its dialogue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Reached {
    /// The replies to all recipients had come, or the reply that was awaited was about none of them.
    #[default]
    Elsewhere,
    /// The reply about this recipient was awaited, and the commands behind it were not sent.
    Recipient(usize),
    /// All commands were sent in one piece, and some replies are missing. The host may have stopped at any recipient, since it may
    /// hold replies back.
    Somewhere,
}

/// A transaction: its recipients, and the answers so far.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub(crate) recipients: Vec<Recipient>,
    pub(crate) answers: Vec<RecipientState>,
    /// The reply to MAIL, if it was refused, or to the message: it decides for all that are open or taken.
    pub(crate) closing: Option<Reply>,
    /// How many are taken.
    pub(crate) taken: usize,
    /// The message was sent, to at least one recipient.
    pub(crate) message_sent: bool,
    /// The end of the message may have reached the host, and no reply has come.
    pub(crate) in_doubt: bool,
    pub(crate) reached: Reached,
}

impl Batch {
    pub(crate) fn new(recipients: Vec<Recipient>) -> Batch {
        let answers = vec![RecipientState::Open; recipients.len()];
        Batch { recipients, answers, ..Batch::default() }
    }

    /// True if each of its commands waits for the reply to the one before, although the host offers PIPELINING.
    pub(crate) fn is_stepwise(&self) -> bool {
        self.recipients.iter().any(|recipient| recipient.stepwise)
    }
}
