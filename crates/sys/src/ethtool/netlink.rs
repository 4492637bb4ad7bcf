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
use crate::netlink::{ACK, ANSWER_BYTES_MAX, Message, REQUEST, message};

/// Of a message of generic netlink: a command, a version, and two bytes that nobody uses (linux/genetlink.h).
const GENERIC_HEADER_BYTES: usize = 4;
const VERSION: u8 = 1;

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
        let content = [&[command, VERSION, 0, 0], content].concat();
        let request = message(self.number, REQUEST | ACK, &content);
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
                    None => answer = message.content.get(GENERIC_HEADER_BYTES..).unwrap_or_default().to_vec(),
                }
                rest = message.rest;
            }
        }
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
}
