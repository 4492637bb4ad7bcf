//! The extensions that a server announces in its reply to EHLO (RFC 5321 section 4.1.1.1).

/// The extensions that a client here uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extensions {
    /// Commands may be sent without waiting for replies (RFC 2920).
    pub pipelining: bool,
    /// The connection can be encrypted (RFC 3207).
    pub starttls: bool,
    /// Bytes above 127 in a message pass unchanged (RFC 6152).
    pub eight_bit_mime: bool,
    /// Addresses may contain UTF-8 (RFC 6531).
    pub smtputf8: bool,
    /// The client may declare the size of a message (RFC 1870).
    pub size: bool,
    /// The largest message that the server accepts, in bytes; 0 for no limit.
    pub size_max: u64,
    /// The client can log in by PLAIN (RFC 4954, RFC 4616).
    pub auth_plain: bool,
    /// The client can log in by LOGIN.
    pub auth_login: bool,
}

impl Extensions {
    /// Reads one line of the reply without its code. The first line is a greeting without extensions.
    pub fn note(&mut self, text: &[u8]) {
        let mut words = text.split(|&b| b == b' ').filter(|word| !word.is_empty());
        let Some(keyword) = words.next() else { return };
        // `AUTH=PLAIN` is the form from before RFC 2554.
        if keyword.get(..5).is_some_and(|k| k.eq_ignore_ascii_case(b"AUTH=")) {
            return self.note_mechanisms(words.chain([&keyword[5..]]));
        }
        let is = |name: &[u8]| keyword.eq_ignore_ascii_case(name);
        if is(b"PIPELINING") {
            self.pipelining = true;
        } else if is(b"STARTTLS") {
            self.starttls = true;
        } else if is(b"8BITMIME") {
            self.eight_bit_mime = true;
        } else if is(b"SMTPUTF8") {
            self.smtputf8 = true;
        } else if is(b"SIZE") {
            self.size = true;
            self.size_max = words
                .next()
                .and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok())
                .unwrap_or_default();
        } else if is(b"AUTH") {
            self.note_mechanisms(words);
        }
    }

    fn note_mechanisms<'a>(&mut self, words: impl Iterator<Item = &'a [u8]>) {
        for word in words {
            self.auth_plain |= word.eq_ignore_ascii_case(b"PLAIN");
            self.auth_login |= word.eq_ignore_ascii_case(b"LOGIN");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_are_known_in_any_case_and_others_are_passed_over() {
        let mut extensions = Extensions::default();
        for line in ["mx.test at your service", "pipelining", "SIZE 1000", "X-ODD 1", "8BitMime", "", " "] {
            extensions.note(line.as_bytes());
        }
        let expected =
            Extensions { pipelining: true, eight_bit_mime: true, size: true, size_max: 1000, ..extensions };
        assert_eq!(extensions, expected);
        assert!(!extensions.starttls && !extensions.smtputf8);
        extensions.note(b"SIZE");
        assert_eq!((extensions.size, extensions.size_max), (true, 0));
        extensions.note(b"SIZE -1");
        assert_eq!(extensions.size_max, 0);
    }

    #[test]
    fn mechanisms_of_auth_are_known_in_both_spellings() {
        for (line, plain, login) in [
            ("AUTH PLAIN LOGIN", true, true),
            ("auth cram-md5 login", false, true),
            ("AUTH=PLAIN", true, false),
            ("AUTH=CRAM-MD5 LOGIN", false, true),
            ("AUTH", false, false),
            ("AUTHENTICATE PLAIN", false, false),
        ] {
            let mut extensions = Extensions::default();
            extensions.note(line.as_bytes());
            assert_eq!((extensions.auth_plain, extensions.auth_login), (plain, login), "{line}");
        }
    }
}
