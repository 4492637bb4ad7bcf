//! Messages of netlink(7): a header, and a content that belongs to the protocol.

/// `NLM_F_REQUEST`.
pub(crate) const REQUEST: u16 = 0x01;
/// `NLM_F_ACK`: the kernel says when it is done.
pub(crate) const ACK: u16 = 0x04;
/// `NLM_F_DUMP`: all entries of a table.
pub(crate) const DUMP: u16 = 0x300;
/// `NLMSG_ERROR`: an errno, or 0 for what is done.
pub(crate) const ERROR: u16 = 2;
/// `NLMSG_DONE`: the end of a dump.
pub(crate) const DONE: u16 = 3;
/// A buffer for answers: more than the kernel puts into one.
pub(crate) const ANSWER_BYTES_MAX: usize = 32 * 1024;

const HEADER_BYTES: usize = 16;
/// Messages begin at multiples of this (`NLMSG_ALIGNTO`).
const ALIGNMENT: usize = 4;

/// A message to the kernel. Sequence number and port are 0: a socket asks one thing at a time.
pub(crate) fn message(kind: u16, flags: u16, content: &[u8]) -> Vec<u8> {
    let length = HEADER_BYTES + content.len();
    let mut bytes = Vec::with_capacity(length);
    bytes.extend((length as u32).to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(flags.to_ne_bytes());
    bytes.extend([0; 8]);
    bytes.extend(content);
    bytes
}

/// A message of the kernel.
pub(crate) struct Message<'a> {
    pub(crate) kind: u16,
    /// Behind the header.
    pub(crate) content: &'a [u8],
    /// The messages behind it.
    pub(crate) rest: &'a [u8],
}

impl<'a> Message<'a> {
    /// The first one, if it is whole.
    pub(crate) fn first(bytes: &'a [u8]) -> Option<Message<'a>> {
        let &[a, b, c, d, e, f] = bytes.first_chunk::<6>()?;
        let length = u32::from_ne_bytes([a, b, c, d]) as usize;
        let content = bytes.get(HEADER_BYTES..length)?;
        let rest = bytes.get(length.next_multiple_of(ALIGNMENT)..).unwrap_or_default();
        Some(Message { kind: u16::from_ne_bytes([e, f]), content, rest })
    }

    /// The code of an error, negative, or 0 where all is done.
    pub(crate) fn error(&self) -> Option<i32> {
        let code = || Some(i32::from_ne_bytes(*self.content.first_chunk()?));
        (self.kind == ERROR).then(|| code().unwrap_or(-libc::EPROTO))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_is_cut_is_none() {
        let bytes = message(ERROR, 0, &[(-95i32).to_ne_bytes(), [0; 4]].concat());
        assert_eq!(Message::first(&bytes).unwrap().error(), Some(-95));
        for end in 0..bytes.len() {
            assert!(Message::first(&bytes[..end]).is_none(), "{end}");
        }
        assert!(Message::first(&[3, 0, 0, 0, 2, 0]).is_none());
    }

    #[test]
    fn messages_follow_each_other_at_multiples_of_four() {
        let mut bytes = message(7, REQUEST, b"abcde");
        bytes.extend([0; 3]);
        bytes.extend(message(8, REQUEST, b"f"));
        let first = Message::first(&bytes).unwrap();
        assert_eq!((first.kind, first.content, first.error()), (7, &b"abcde"[..], None));
        let second = Message::first(first.rest).unwrap();
        assert_eq!((second.kind, second.content, second.rest), (8, &b"f"[..], &[][..]));
    }
}
