use super::extensions::Extensions;
use super::reply::{Line, ReplyReader};
use super::transaction::Transaction;
use crate::exchange::{Draw, Fault, Opening, Progress, Received, Reply, Tag, Verdict};
use crate::outgoing::Outgoing;
use crate::protocol::ClientConn;

const EHLO: &[u8] = b"EHLO pitot.invalid\r\n";
const HELO: &[u8] = b"HELO pitot.invalid\r\n";
const RSET: &[u8] = b"RSET\r\n";

/// The server is about to close, whatever the command (RFC 5321 section 3.8).
const CLOSING: u16 = 421;

pub(super) struct SmtpConn {
    transaction: &'static Transaction,
    reader: ReplyReader,
    extensions: Extensions,
    awaited: Awaited,
    /// Requests behind the current one.
    queued: u32,
    verdict: Verdict,
    counts: Counts,
}

/// Of all requests.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    messages: u64,
    recipients: u64,
}

/// The awaited reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Awaited {
    Banner,
    Ehlo {
        /// Its first line has come.
        greeted: bool,
    },
    Helo,
    Idle,
    /// The reply to the command of this number.
    Command(usize),
    Data,
    /// The reply to the RSET that aborts a failed transaction.
    Reset,
}

impl SmtpConn {
    pub(super) fn new(transaction: &'static Transaction) -> SmtpConn {
        SmtpConn {
            transaction,
            reader: ReplyReader::default(),
            extensions: Extensions::default(),
            awaited: Awaited::Banner,
            queued: 0,
            verdict: Verdict::Right,
            counts: Counts::default(),
        }
    }

    fn pipelines(&self) -> bool {
        self.extensions.pipelining && self.transaction.pipelining
    }

    fn begin(&mut self, out: &mut Outgoing) {
        out.fixed(if self.pipelines() { self.transaction.pipelined } else { self.transaction.commands[0] });
        self.awaited = Awaited::Command(0);
    }

    /// Takes a whole reply; `line` is its last line.
    fn reply(&mut self, line: Line<'_>, out: &mut Outgoing) -> Result<Progress, Fault> {
        let done = line.code / 100 == 2;
        if line.code >= 400 && !matches!(self.awaited, Awaited::Ehlo { .. }) {
            let text = String::from_utf8_lossy(line.text);
            self.transaction.said.hear(format!("{} {text}", line.code).as_bytes());
        }
        match self.awaited {
            // No request has been sent yet.
            Awaited::Banner | Awaited::Helo if line.code >= 400 => Err(Fault::Named("refused")),
            Awaited::Banner if line.code != 220 => Err(Fault::Malformed),
            Awaited::Banner => {
                out.fixed(EHLO);
                self.awaited = Awaited::Ehlo { greeted: false };
                Ok(Progress::More)
            }
            Awaited::Ehlo { .. } | Awaited::Helo if done => {
                self.awaited = Awaited::Idle;
                Ok(Progress::Ready)
            }
            Awaited::Ehlo { .. } => {
                self.extensions = Extensions::default();
                out.fixed(HELO);
                self.awaited = Awaited::Helo;
                Ok(Progress::More)
            }
            Awaited::Helo => Err(Fault::Malformed),
            Awaited::Idle => Err(Fault::Unasked),
            _ if line.code == CLOSING => {
                self.worsen(line.code);
                Ok(self.finish(false, out))
            }
            Awaited::Command(n) => Ok(self.command(n, line.code, out)),
            Awaited::Data => {
                if done {
                    self.counts.messages += 1;
                } else {
                    self.worsen(line.code);
                }
                Ok(self.finish(true, out))
            }
            Awaited::Reset => Ok(self.finish(true, out)),
        }
    }

    /// Takes the reply to a command of the transaction.
    fn command(&mut self, n: usize, code: u16, out: &mut Outgoing) -> Progress {
        let last = self.transaction.commands.len() - 1;
        let is_data = n == last && self.transaction.data.is_some();
        let taken = if is_data { code == 354 } else { code / 100 == 2 };
        if !taken {
            self.worsen(code);
        } else if (1..last).contains(&n) {
            self.counts.recipients += 1;
        }
        match self.transaction.data {
            Some(data) if is_data && taken => {
                // A server that asks for the message without an accepted recipient gets an empty one
                // (RFC 2920 section 3.1); the verdict is final by then.
                out.fixed(data);
                self.awaited = Awaited::Data;
            }
            None if n == last => return self.finish(true, out),
            _ if n < last && (taken || self.pipelines()) => {
                if !self.pipelines() {
                    out.fixed(self.transaction.commands[n + 1]);
                }
                self.awaited = Awaited::Command(n + 1);
            }
            _ => {
                out.fixed(RSET);
                self.awaited = Awaited::Reset;
            }
        }
        Progress::More
    }

    /// Only the first error is reported.
    fn worsen(&mut self, code: u16) {
        self.verdict.worsen(Verdict::Status(code));
    }

    fn finish(&mut self, persists: bool, out: &mut Outgoing) -> Progress {
        self.awaited = Awaited::Idle;
        let verdict = self.verdict.take();
        if persists && self.queued > 0 {
            self.queued -= 1;
            self.begin(out);
        }
        Progress::Reply(Reply { verdict, status: 0, persists, content: 0 })
    }
}

impl ClientConn for SmtpConn {
    fn open(&mut self, _: &mut Outgoing) -> Opening {
        let counts = self.counts;
        *self = SmtpConn { counts, ..SmtpConn::new(self.transaction) };
        Opening::Greeting
    }

    fn request(&mut self, _: Draw, out: &mut Outgoing) -> Tag {
        if self.awaited == Awaited::Idle {
            self.begin(out);
        } else {
            self.queued += 1;
        }
        Tag(0)
    }

    fn receive(&mut self, _: Option<Tag>, input: &[u8], out: &mut Outgoing) -> Result<Received, Fault> {
        let mut consumed = 0;
        loop {
            let Some((used, line)) = self.reader.line(&input[consumed..])? else {
                return Ok(Received { consumed, progress: Progress::More });
            };
            consumed += used;
            if let Awaited::Ehlo { greeted } = &mut self.awaited
                && std::mem::replace(greeted, true)
            {
                self.extensions.note(line.text);
            }
            if line.last {
                match self.reply(line, out)? {
                    Progress::More => {}
                    progress => return Ok(Received { consumed, progress }),
                }
            }
        }
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![("messages", self.counts.messages), ("recipients", self.counts.recipients)]
    }
}
