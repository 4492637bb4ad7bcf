//! Command lines.

use super::path::{self, Path};

/// A command of the protocol, by its verb.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    Ehlo,
    Helo,
    Mail,
    Rcpt,
    Data,
    Rset,
    Noop,
    Vrfy,
    Help,
    Quit,
    StartTls,
    /// Standard, but not supported.
    NotOffered,
}

const VERBS: [(&[u8], Verb); 13] = [
    (b"RCPT", Verb::Rcpt),
    (b"MAIL", Verb::Mail),
    (b"RSET", Verb::Rset),
    (b"DATA", Verb::Data),
    (b"EHLO", Verb::Ehlo),
    (b"QUIT", Verb::Quit),
    (b"HELO", Verb::Helo),
    (b"NOOP", Verb::Noop),
    (b"VRFY", Verb::Vrfy),
    (b"HELP", Verb::Help),
    (b"EXPN", Verb::NotOffered),
    (b"STARTTLS", Verb::StartTls),
    (b"AUTH", Verb::NotOffered),
];

/// Splits a line, without its end, into its verb and what follows; blanks at the end are tolerated (RFC 5321 section
/// 4.1.1). `None` for an unknown verb.
pub(super) fn split(line: &[u8]) -> Option<(Verb, &[u8])> {
    let line = line.trim_ascii_end();
    let end = line.iter().position(|&byte| byte == b' ').unwrap_or(line.len());
    let (word, rest) = line.split_at(end);
    let (_, verb) = VERBS.iter().find(|(name, _)| word.eq_ignore_ascii_case(name))?;
    Some((*verb, rest.trim_ascii_start()))
}

/// The arguments of MAIL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mail<'a> {
    pub(super) reverse_path: Path<'a>,
    /// The declared size in bytes.
    pub(super) size: Option<u64>,
    /// True if addresses and header may be UTF-8.
    pub(super) utf8: bool,
}

/// What is wrong with the arguments of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// Not the form of the command.
    Syntax,
    /// Not an address.
    Path,
    /// An unknown parameter.
    Parameter,
}

/// Reads the arguments of MAIL. Without `extended` (the client said HELO) there are no parameters.
pub(super) fn mail(arguments: &[u8], extended: bool) -> Result<Mail<'_>, Fault> {
    let text = after_word(arguments, b"FROM:").ok_or(Fault::Syntax)?;
    let reverse_path = path::reverse(text).ok_or(Fault::Path)?;
    let mut mail = Mail { reverse_path, size: None, utf8: false };
    let mut body_said = false;
    for parameter in parameters(reverse_path.rest)? {
        if !extended {
            return Err(Fault::Parameter);
        }
        if let Some(number) = after_word(parameter, b"SIZE=") {
            // RFC 1870: up to twenty digits. A number that overflows exceeds any limit.
            let sound = (1..=20).contains(&number.len()) && number.iter().all(u8::is_ascii_digit);
            if !sound || mail.size.is_some() {
                return Err(Fault::Syntax);
            }
            let number = number
                .iter()
                .fold(0_u64, |n, digit| n.saturating_mul(10).saturating_add((digit - b'0').into()));
            mail.size = Some(number);
        } else if let Some(body) = after_word(parameter, b"BODY=") {
            let known = body.eq_ignore_ascii_case(b"7BIT") || body.eq_ignore_ascii_case(b"8BITMIME");
            if !known || body_said {
                return Err(Fault::Syntax);
            }
            body_said = true;
        } else if parameter.eq_ignore_ascii_case(b"SMTPUTF8") {
            mail.utf8 = true;
        } else {
            return Err(Fault::Parameter);
        }
    }
    Ok(mail)
}

/// Reads the arguments of RCPT.
pub(super) fn rcpt(arguments: &[u8]) -> Result<Path<'_>, Fault> {
    let text = after_word(arguments, b"TO:").ok_or(Fault::Syntax)?;
    let path = path::forward(text).ok_or(Fault::Path)?;
    match parameters(path.rest)?.next() {
        Some(_) => Err(Fault::Parameter),
        None => Ok(path),
    }
}

/// True for a valid name of a client: a domain, an address literal, or what clients without either send.
pub(super) fn is_client_name(name: &[u8]) -> bool {
    let is_of_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._:[]".contains(byte);
    (1..=255).contains(&name.len()) && name.iter().all(is_of_name)
}

/// The rest after a case-insensitive word and spaces, which many clients send although they are not allowed.
fn after_word<'a>(text: &'a [u8], word: &[u8]) -> Option<&'a [u8]> {
    let (head, rest) = text.split_at_checked(word.len())?;
    head.eq_ignore_ascii_case(word).then(|| rest.trim_ascii_start())
}

/// The parameters after a path, which must be separated from it by a blank.
fn parameters(rest: &[u8]) -> Result<impl Iterator<Item = &[u8]>, Fault> {
    if !matches!(rest.first(), None | Some(b' ')) {
        return Err(Fault::Path);
    }
    Ok(rest.split(|&byte| byte == b' ').filter(|parameter| !parameter.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verbs_are_known_in_any_case() {
        assert_eq!(split(b"mail FROM:<>"), Some((Verb::Mail, &b"FROM:<>"[..])));
        assert_eq!(split(b"QuIt \t "), Some((Verb::Quit, &b""[..])));
        for unknown in [&b""[..], b" QUIT", b"QUITS", b"MAI", b"MAIL\0", b"GET / HTTP/1.1"] {
            assert_eq!(split(unknown), None);
        }
    }

    #[test]
    fn parameters_of_mail() {
        let read = mail(b"from:<a@b> size=20 body=8bitmime SMTPUTF8", true).unwrap();
        assert_eq!((read.reverse_path.mailbox, read.size, read.utf8), ("a@b", Some(20), true));
        assert_eq!(mail(b"FROM: <a@b>", false).unwrap().size, None);
        assert_eq!(mail(b"FROM:<> SIZE=99999999999999999999", true).unwrap().size, Some(u64::MAX));
        for (arguments, fault) in [
            (&b"<a@b>"[..], Fault::Syntax),
            (b"FROM <a@b>", Fault::Syntax),
            (b"FROM:a@b", Fault::Path),
            (b"FROM:<a@b>SIZE=1", Fault::Path),
            (b"FROM:<a@b> SIZE=", Fault::Syntax),
            (b"FROM:<a@b> SIZE=-1", Fault::Syntax),
            (b"FROM:<a@b> SIZE=1 SIZE=1", Fault::Syntax),
            (b"FROM:<a@b> SIZE=999999999999999999999", Fault::Syntax),
            (b"FROM:<a@b> BODY=BINARYMIME", Fault::Syntax),
            (b"FROM:<a@b> AUTH=<>", Fault::Parameter),
            (b"FROM:<a@b> SMTPUTF8=1", Fault::Parameter),
        ] {
            assert_eq!(mail(arguments, true), Err(fault), "{}", arguments.escape_ascii());
        }
        assert_eq!(mail(b"FROM:<a@b> SIZE=1", false), Err(Fault::Parameter));
        assert_eq!(rcpt(b"TO:<a@b> NOTIFY=NEVER"), Err(Fault::Parameter));
        assert_eq!(rcpt(b"TO:<>"), Err(Fault::Path));
    }
}
