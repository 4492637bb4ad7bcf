//! Splits a stream of replies into heads and bodies, in every framing.

use super::chunked::Chunked;
use super::head::{self, Framing, Head};
use crate::exchange::Fault;
use crate::judgement::has_no_body;

/// Receives the parts of a reply as they arrive.
pub(crate) trait Parts {
    /// The head and its bytes. Returns true if no body follows, whatever the head says.
    fn head(&mut self, head: &Head, bytes: &[u8]) -> bool;

    /// The next piece of the body.
    fn body(&mut self, piece: &[u8]);
}

/// The state of the replies of one connection.
pub(crate) struct Reader {
    part: ReplyPart,
    persists: bool,
    /// Bytes of the current body, or of the last one.
    content: u64,
}

/// The next part of a reply.
enum ReplyPart {
    Head,
    Sized { left: u64 },
    Chunked(Chunked),
    UntilClose,
}

impl Reader {
    pub(crate) fn new() -> Reader {
        Reader { part: ReplyPart::Head, persists: true, content: 0 }
    }

    /// Takes input up to the end of a reply, or as much as possible. Returns the number of bytes and whether the reply has ended.
    #[inline]
    pub(crate) fn receive(&mut self, input: &[u8], parts: &mut impl Parts) -> Result<(usize, bool), Fault> {
        let mut consumed = 0;
        loop {
            let rest = &input[consumed..];
            let (taken, ended) = match &mut self.part {
                ReplyPart::Head => match head::parse(rest)? {
                    None => (0, false),
                    Some(head) => {
                        consumed += head.len;
                        // Another protocol follows.
                        if head.status == 101 {
                            return Err(Fault::Named("switched-protocol"));
                        }
                        // Interim replies (RFC 9110 section 15.2) come before the one that counts.
                        if !(100..200).contains(&head.status) && self.begin(&head, rest, parts) {
                            return Ok((consumed, true));
                        }
                        continue;
                    }
                },
                ReplyPart::Sized { left } => {
                    let taken = (*left).min(rest.len() as u64) as usize;
                    *left -= taken as u64;
                    self.content += taken as u64;
                    parts.body(&rest[..taken]);
                    (taken, *left == 0)
                }
                ReplyPart::Chunked(chunked) => {
                    let step = chunked.step(rest)?;
                    self.content += step.data.len() as u64;
                    parts.body(&rest[step.data]);
                    if step.consumed > 0 && !step.ended {
                        consumed += step.consumed;
                        continue;
                    }
                    (step.consumed, step.ended)
                }
                ReplyPart::UntilClose => {
                    self.content += rest.len() as u64;
                    parts.body(rest);
                    (rest.len(), false)
                }
            };
            if ended {
                self.part = ReplyPart::Head;
            }
            return Ok((consumed + taken, ended));
        }
    }

    /// Begins a reply with a complete head; true if nothing follows it.
    fn begin(&mut self, head: &Head, bytes: &[u8], parts: &mut impl Parts) -> bool {
        self.persists = head.persists;
        self.content = 0;
        let bodiless = has_no_body(head.status, parts.head(head, &bytes[..head.len]));
        match head.framing {
            _ if bodiless => return true,
            Framing::Sized(0) => return true,
            Framing::Sized(left) => self.part = ReplyPart::Sized { left },
            Framing::Chunked => self.part = ReplyPart::Chunked(Chunked::new()),
            Framing::UntilClose => {
                self.persists = false;
                self.part = ReplyPart::UntilClose;
            }
        }
        false
    }

    /// Whether the connection can be used after the reply.
    pub(crate) fn persists(&self) -> bool {
        self.persists
    }

    /// Bytes of the last body.
    pub(crate) fn content(&self) -> u64 {
        self.content
    }

    /// The connection has ended; true if this completes a reply.
    pub(crate) fn end_of_input(&mut self) -> bool {
        matches!(std::mem::replace(&mut self.part, ReplyPart::Head), ReplyPart::UntilClose)
    }
}
