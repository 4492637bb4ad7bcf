//! Messages to the kernel's family `ethtool` of generic netlink (Documentation/networking/ethtool-netlink.rst).
//!
//! A message names what it changes, and the kernel changes that alone, in one call. A table of the ioctl is read, changed and
//! written as a whole, so that it takes back what somebody else sets in between. And an answer has no attribute for
//! what a driver does not offer, where a table has a zero.

use std::io;

use rustix::fd::OwnedFd;
use rustix::io::retry_on_intr;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketType, netlink, recv, send, socket};

use super::attributes::{attributes, find, nest, number, text};

/// linux/netlink.h and linux/genetlink.h.
const NLMSG_ERROR: u16 = 2;
const NLM_F_REQUEST_ACK: u16 = 0x05;
const NETLINK_HEADER_BYTES: usize = 16;
/// With the header of generic netlink: a command, a version, and two bytes that nobody uses.
const HEADERS_BYTES: usize = NETLINK_HEADER_BYTES + 4;
const VERSION: u8 = 1;
/// Messages begin at multiples of this.
const ALIGNMENT: usize = 4;

/// The family that tells of the others.
const CONTROL: u16 = 0x10;
const CTRL_CMD_GETFAMILY: u8 = 3;
const CTRL_ATTR_FAMILY_ID: u16 = 1;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;
const CTRL_ATTR_OPS: u16 = 6;
const CTRL_ATTR_OP_ID: u16 = 1;

/// linux/ethtool_netlink.h: the last of the messages that are sent here. Linux 5.6 has the family without it.
const COALESCE_SET: u32 = 20;
const HEADER: u16 = 1;
const HEADER_DEV_NAME: u16 = 2;
/// The longest name of an interface with its NUL (`ALTIFNAMSIZ`).
const NAME_BYTES_MAX: usize = 128;

/// More than any answer has: the features of an interface are some 5 KiB.
const ANSWER_BYTES_MAX: usize = 32 * 1024;

/// Sends a message about an interface. Returns the attributes of its answer, or `None` if the kernel has no such family.
pub(super) fn ask(interface: &str, message: u8, content: &[u8]) -> Option<io::Result<Vec<u8>>> {
    let family = Family::ethtool()?;
    if interface.len() >= NAME_BYTES_MAX {
        return Some(Err(io::Error::from_raw_os_error(libc::ENODEV)));
    }
    let header = nest(HEADER, &text(HEADER_DEV_NAME, interface));
    Some(family.ask(message, &[header.as_slice(), content].concat()))
}

/// A family of generic netlink.
struct Family {
    kernel: OwnedFd,
    number: u16,
}

impl Family {
    fn ethtool() -> Option<Family> {
        let kernel = socket(AddressFamily::NETLINK, SocketType::RAW, Some(netlink::GENERIC)).ok()?;
        let control = Family { kernel, number: CONTROL };
        let answer = control.ask(CTRL_CMD_GETFAMILY, &text(CTRL_ATTR_FAMILY_NAME, "ethtool")).ok()?;
        let is_last = |(_, operation): (u16, &[u8])| {
            find(operation, CTRL_ATTR_OP_ID).and_then(number) == Some(COALESCE_SET)
        };
        if !attributes(find(&answer, CTRL_ATTR_OPS)?).any(is_last) {
            return None;
        }
        let number = u16::try_from(find(&answer, CTRL_ATTR_FAMILY_ID).and_then(number)?).ok()?;
        Some(Family { number, ..control })
    }

    /// Sends a message and waits until the kernel has said that it is done, or why not.
    fn ask(&self, command: u8, content: &[u8]) -> io::Result<Vec<u8>> {
        let length = HEADERS_BYTES + content.len();
        let mut request = Vec::with_capacity(length);
        request.extend((length as u32).to_ne_bytes());
        request.extend(self.number.to_ne_bytes());
        request.extend(NLM_F_REQUEST_ACK.to_ne_bytes());
        // Sequence number and port of netlink: a socket asks one thing at a time.
        request.extend([0; 8]);
        request.extend([command, VERSION, 0, 0]);
        request.extend(content);
        retry_on_intr(|| send(&self.kernel, &request, SendFlags::empty()))?;
        let mut answer = Vec::new();
        let mut buffer = vec![0; ANSWER_BYTES_MAX];
        loop {
            let (length, _) = retry_on_intr(|| recv(&self.kernel, &mut buffer[..], RecvFlags::empty()))?;
            let mut rest = &buffer[..length.min(ANSWER_BYTES_MAX)];
            while !rest.is_empty() {
                let message = Message::first(rest).ok_or(io::ErrorKind::InvalidData)?;
                match message.error() {
                    Some(0) => return Ok(answer),
                    Some(code) => return Err(io::Error::from_raw_os_error(-code)),
                    None => answer = message.attributes().to_vec(),
                }
                rest = message.rest;
            }
        }
    }
}

/// A message of the kernel.
struct Message<'a> {
    kind: u16,
    /// Behind the header of netlink.
    content: &'a [u8],
    /// The messages behind it.
    rest: &'a [u8],
}

impl<'a> Message<'a> {
    fn first(bytes: &'a [u8]) -> Option<Message<'a>> {
        let &[a, b, c, d, e, f] = bytes.first_chunk::<6>()?;
        let length = u32::from_ne_bytes([a, b, c, d]) as usize;
        let content = bytes.get(NETLINK_HEADER_BYTES..length)?;
        let rest = bytes.get(length.next_multiple_of(ALIGNMENT)..).unwrap_or_default();
        Some(Message { kind: u16::from_ne_bytes([e, f]), content, rest })
    }

    /// The code of an error, negative, or 0 where all is done.
    fn error(&self) -> Option<i32> {
        let code = || Some(i32::from_ne_bytes(*self.content.first_chunk()?));
        (self.kind == NLMSG_ERROR).then(|| code().unwrap_or(-libc::EPROTO))
    }

    fn attributes(&self) -> &'a [u8] {
        self.content.get(HEADERS_BYTES - NETLINK_HEADER_BYTES..).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `ETHTOOL_MSG_FEATURES_GET`.
    const FEATURES_GET: u8 = 11;

    #[test]
    fn an_interface_that_is_not_there_is_an_error_of_the_kernel() {
        // A kernel may be without the family, and a sandbox without netlink.
        let Some(answer) = ask("lo", FEATURES_GET, &[]) else { return };
        assert!(find(&answer.unwrap(), HEADER).is_some());
        for name in ["no-such-if", &"x".repeat(500)] {
            let error = ask(name, FEATURES_GET, &[]).unwrap().unwrap_err();
            assert_eq!(error.raw_os_error(), Some(libc::ENODEV), "{name}");
        }
    }

    #[test]
    fn a_message_that_is_cut_is_none() {
        let mut bytes = 24u32.to_ne_bytes().to_vec();
        bytes.extend(NLMSG_ERROR.to_ne_bytes());
        bytes.extend([0; 10]);
        bytes.extend((-95i32).to_ne_bytes());
        bytes.extend([0; 4]);
        assert_eq!(Message::first(&bytes).unwrap().error(), Some(-95));
        for end in 0..bytes.len() {
            assert!(Message::first(&bytes[..end]).is_none(), "{end}");
        }
        assert!(Message::first(&[3, 0, 0, 0, 2, 0]).is_none());
    }
}
