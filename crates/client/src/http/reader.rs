//! Takes a stream of replies apart: their heads, and their bodies in every framing.

use super::chunked::Chunked;
use super::head::{self, Framing, Head};
use crate::exchange::Fault;
use crate::judgement::has_no_body;

/// What is told of a reply while it comes in.
pub(crate) trait Parts {
    /// Its head, with its bytes; true if no body follows, whatever the head says.
    fn head(&mut self, head: &Head, bytes: &[u8]) -> bool;

    /// The next piece of its body.
    fn body(&mut self, piece: &[u8]);
}

/// How far the replies of one connection have come.
pub(crate) struct Reader {
    part: ReplyPart,
    persists: bool,
    /// Bytes of the present body, or of the last one.
    content: u64,
}

/// Which part of a reply comes next.
enum ReplyPart {
    Head,
    Sized { left: u64 },
    Chunked(Chunked),
    UntilClose,
}

impl Reader {
    /// Before the first reply of a connection.
    pub(crate) fn new() -> Reader {
        Reader { part: ReplyPart::Head, persists: true, content: 0 }
    }

    /// Takes input up to the end of a reply, or all that can be taken: how many bytes, and whether the reply has ended.
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
                        // What follows is no HTTP any more.
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

    /// Starts on a reply whose head is there; true if that is all of it.
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

    /// Whether the reply that has ended leaves its connection usable.
    pub(crate) fn persists(&self) -> bool {
        self.persists
    }

    /// Bytes of the body of the reply that has ended.
    pub(crate) fn content(&self) -> u64 {
        self.content
    }

    /// The connection has ended in order: true if a reply ends with it.
    pub(crate) fn end_of_input(&mut self) -> bool {
        matches!(std::mem::replace(&mut self.part, ReplyPart::Head), ReplyPart::UntilClose)
    }
}
