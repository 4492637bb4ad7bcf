//! What every host gets: the name of this client, the sender, and the message.

use pitot_client::smtp::{Extensions, data_of};

use crate::login::Login;

/// When connections use TLS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TlsPolicy {
    /// Where the host offers it, with any certificate: this protects against eavesdropping, not against impostors
    /// (RFC 7435).
    #[default]
    Auto,
    /// Always, with a certificate for the host's name that a known authority has signed; no mail otherwise.
    Require,
    /// Never.
    Off,
}

/// The message with its envelope.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub(crate) helo: String,
    /// The sender; empty for none.
    pub(crate) from: String,
    /// The message with its end, as it goes over the wire.
    pub(crate) data: Vec<u8>,
    /// It contains bytes above 127.
    pub(crate) eight_bit: bool,
    /// So does its header, in UTF-8.
    pub(crate) utf8_header: bool,
    /// Take all steps of a delivery except the last.
    pub(crate) test: bool,
    pub(crate) tls: TlsPolicy,
    /// Who logs in before anything is sent.
    pub(crate) login: Option<Login>,
}

/// Why a host cannot take the message at all.
pub(crate) type Misfit = (u16, &'static str);

impl Message {
    pub(crate) fn new(helo: String, from: String, message: &[u8], test: bool, tls: TlsPolicy) -> Message {
        let eight_bit = message.iter().any(|b| *b > 127);
        Message { helo, from, data: data_of(message), eight_bit, utf8_header: false, test, tls, login: None }
    }

    /// The length to declare: without the end mark.
    pub(crate) fn bytes(&self) -> u64 {
        self.data.len() as u64 - 3
    }

    /// Why the message cannot be sent to a host with these extensions.
    pub(crate) fn misfit(&self, host: &Extensions) -> Option<Misfit> {
        if self.eight_bit && !host.eight_bit_mime {
            return Some((554, "5.6.3 the message has bytes above 127 and the host does not offer 8BITMIME"));
        }
        if host.size_max > 0 && self.bytes() > host.size_max {
            return Some((552, "5.3.4 the message is longer than the host accepts"));
        }
        if self.utf8_header && !host.smtputf8 {
            return Some((554, "5.6.7 the header is not ASCII and the host does not offer SMTPUTF8"));
        }
        (!self.from.is_ascii() && !host.smtputf8).then_some(NO_SMTPUTF8)
    }

    /// Appends the MAIL command.
    pub(crate) fn mail(&self, host: &Extensions, utf8: bool, out: &mut Vec<u8>) {
        out.extend_from_slice(b"MAIL FROM:<");
        out.extend_from_slice(self.from.as_bytes());
        out.push(b'>');
        if host.size {
            out.extend_from_slice(format!(" SIZE={}", self.bytes()).as_bytes());
        }
        if self.eight_bit {
            out.extend_from_slice(b" BODY=8BITMIME");
        }
        if utf8 || self.utf8_header || !self.from.is_ascii() {
            out.extend_from_slice(b" SMTPUTF8");
        }
        out.extend_from_slice(b"\r\n");
    }
}

/// An address needs an extension that the host lacks (RFC 6531 section 3.5).
pub(crate) const NO_SMTPUTF8: Misfit =
    (553, "5.6.7 the address is not ASCII and the host does not offer SMTPUTF8");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_declared_as_the_host_supports_it() {
        let message =
            Message::new("me".into(), "a@b".into(), "gr\u{fc}n\n".as_bytes(), false, TlsPolicy::Auto);
        assert_eq!(message.data, "gr\u{fc}n\r\n.\r\n".as_bytes());
        let mut host = Extensions::default();
        assert_eq!(message.misfit(&host).map(|m| m.0), Some(554));
        host.eight_bit_mime = true;
        assert_eq!(message.misfit(&host), None);
        (host.size, host.size_max) = (true, 3);
        assert_eq!(message.misfit(&host).map(|m| m.0), Some(552));
        let mut out = Vec::new();
        message.mail(&host, true, &mut out);
        assert_eq!(out, b"MAIL FROM:<a@b> SIZE=7 BODY=8BITMIME SMTPUTF8\r\n");

        let message = Message { utf8_header: true, ..message };
        host.size_max = 0;
        assert!(message.misfit(&host).is_some_and(|(code, text)| code == 554 && text.starts_with("5.6.7 ")));
        host.smtputf8 = true;
        assert_eq!(message.misfit(&host), None);
        out.clear();
        message.mail(&host, false, &mut out);
        assert!(out.ends_with(b" SMTPUTF8\r\n"));
    }
}
