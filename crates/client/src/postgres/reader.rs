//! Reads the messages of a server, wherever they are split.
//!
//! Messages that do not matter (session parameters, notices, notifications) are skipped. Rows are checked as they arrive and
//! never stored: their columns must fill them exactly, and be as many as described.

use crate::exchange::Fault;

/// PostgreSQL sends no longer messages.
const MESSAGE_BYTES_MAX: u32 = 1 << 30;
/// The longest authentication message that is accepted.
const AUTHENTICATION_BYTES_MAX: usize = 4096;
/// The longest command tag (PostgreSQL's have 64 bytes).
const TAG_BYTES_MAX: usize = 256;
/// The part of an error that is read: severity and code come first.
const ERROR_BYTES: usize = 512;
/// The kind of a message and its length.
const HEADER_BYTES: usize = 5;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Message<'a> {
    /// A step of the authentication, and its data.
    Authentication(u32, &'a [u8]),
    /// The end of a reply.
    Ready { in_transaction: bool },
    /// A complete row; `differs` if its first column is not the expected one.
    Row { differs: bool },
    /// A complete command, and the number of rows it reports.
    Complete { rows: Option<u64> },
    /// A query without a command.
    Empty,
    /// A statement is parsed.
    Parsed,
    /// Parameters are bound, or there is nothing to describe.
    Noted,
    /// The server refuses something.
    Error(ErrorMessage<'a>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ErrorMessage<'a> {
    pub(super) code: [u8; 5],
    /// The connection ends with it.
    pub(super) is_fatal: bool,
    /// Its message, as far as it is read.
    pub(super) text: &'a [u8],
}

/// The next part of a message.
#[derive(Clone, Copy, Debug, Default)]
enum ReplyPart {
    #[default]
    Header,
    /// The rest of a message that is not read.
    Skip(u32),
    /// Between the columns of a row: columns and bytes left.
    Columns(u16, u32),
    /// In a column: its bytes left, and the columns and bytes behind it.
    Column(u32, u16, u32),
}

#[derive(Debug, Default)]
pub(super) struct Reader {
    part: ReplyPart,
    /// The columns of a row, once described.
    columns: Option<u16>,
    /// In the first column, of which so many bytes are as expected.
    compared: Option<usize>,
    differs: bool,
}

impl Reader {
    /// The next message that matters, and the number of bytes consumed. `value` is the expected first column of rows.
    ///
    /// # Errors
    /// Input that the protocol does not allow, or that is not supported.
    #[inline]
    pub(super) fn next<'a>(
        &mut self,
        input: &'a [u8],
        value: Option<&[u8]>,
    ) -> Result<(usize, Option<Message<'a>>), Fault> {
        let mut at = 0;
        loop {
            let rest = &input[at..];
            match self.part {
                ReplyPart::Header => {
                    let Some((header, content)) = rest.split_at_checked(HEADER_BYTES) else {
                        return Ok((at, None));
                    };
                    let [kind, length @ ..] = header else { return Ok((at, None)) };
                    let length = u32_of(length)?.checked_sub(4).ok_or(Fault::Malformed)?;
                    if length > MESSAGE_BYTES_MAX {
                        return Err(Fault::TooLarge);
                    }
                    match self.begin(*kind, length, content)? {
                        Begun::More => return Ok((at, None)),
                        Begun::Part(used) => at += HEADER_BYTES + used,
                        Begun::Message(message) => {
                            return Ok((at + HEADER_BYTES + length as usize, Some(message)));
                        }
                        Begun::Error(error) => {
                            return Ok((at + HEADER_BYTES, Some(Message::Error(error))));
                        }
                    }
                }
                ReplyPart::Skip(left) => {
                    let used = rest.len().min(left as usize);
                    at += used;
                    if used < left as usize {
                        self.part = ReplyPart::Skip(left - used as u32);
                        return Ok((at, None));
                    }
                    self.part = ReplyPart::Header;
                }
                ReplyPart::Columns(0, 0) => {
                    self.part = ReplyPart::Header;
                    let differs = std::mem::take(&mut self.differs);
                    return Ok((at, Some(Message::Row { differs })));
                }
                ReplyPart::Columns(0, _) => return Err(Fault::Malformed),
                ReplyPart::Columns(columns, left) => {
                    let left = left.checked_sub(4).ok_or(Fault::Malformed)?;
                    let Some(length) = rest.first_chunk() else { return Ok((at, None)) };
                    at += 4;
                    let length = i32::from_be_bytes(*length);
                    let is_first = self.compared.is_some();
                    // A null has the length -1.
                    if length == -1 {
                        self.differs |= is_first && value.is_some();
                        self.compared = None;
                        self.part = ReplyPart::Columns(columns - 1, left);
                        continue;
                    }
                    let length = u32::try_from(length).map_err(|_| Fault::Malformed)?;
                    let left = left.checked_sub(length).ok_or(Fault::Malformed)?;
                    if is_first && value.is_some_and(|value| value.len() != length as usize) {
                        self.differs = true;
                    }
                    self.part = ReplyPart::Column(length, columns - 1, left);
                }
                ReplyPart::Column(length, columns, left) => {
                    let used = rest.len().min(length as usize);
                    if let (Some(compared), Some(value)) = (&mut self.compared, value) {
                        let wanted = value.get(*compared..*compared + used);
                        self.differs |= wanted != Some(&rest[..used]);
                        *compared += used;
                    }
                    at += used;
                    if used < length as usize {
                        self.part = ReplyPart::Column(length - used as u32, columns, left);
                        return Ok((at, None));
                    }
                    self.compared = None;
                    self.part = ReplyPart::Columns(columns, left);
                }
            }
        }
    }

    /// Begins a message with `length` bytes of content.
    fn begin<'a>(&mut self, kind: u8, length: u32, content: &'a [u8]) -> Result<Begun<'a>, Fault> {
        let whole = |bytes_max: usize| {
            let length = length as usize;
            if length > bytes_max { Err(Fault::TooLarge) } else { Ok(content.get(..length)) }
        };
        let empty = |message| if length == 0 { Ok(Begun::Message(message)) } else { Err(Fault::Malformed) };
        let with_columns = || -> Result<Option<(u16, u32)>, Fault> {
            let left = length.checked_sub(2).ok_or(Fault::Malformed)?;
            Ok(content.first_chunk().map(|columns| (u16::from_be_bytes(*columns), left)))
        };
        match kind {
            b'D' => {
                let Some((columns, left)) = with_columns()? else { return Ok(Begun::More) };
                if self.columns != Some(columns) {
                    return Err(Fault::Malformed);
                }
                self.compared = Some(0);
                self.part = ReplyPart::Columns(columns, left);
                Ok(Begun::Part(2))
            }
            b'T' => {
                let Some((columns, left)) = with_columns()? else { return Ok(Begun::More) };
                self.columns = Some(columns);
                self.part = ReplyPart::Skip(left);
                Ok(Begun::Part(2))
            }
            // The parameters of a session and of a statement, the key of the connection, notices and notifications.
            b'S' | b't' | b'K' | b'N' | b'A' => {
                self.part = ReplyPart::Skip(length);
                Ok(Begun::Part(0))
            }
            b'Z' if length != 1 => Err(Fault::Malformed),
            b'Z' => match content.first() {
                None => Ok(Begun::More),
                Some(state @ (b'I' | b'T' | b'E')) => {
                    self.columns = None;
                    Ok(Begun::Message(Message::Ready { in_transaction: *state != b'I' }))
                }
                Some(_) => Err(Fault::Malformed),
            },
            b'C' => {
                let Some(tag) = whole(TAG_BYTES_MAX)? else { return Ok(Begun::More) };
                let described = self.columns.take().is_some();
                let rows = tag.strip_suffix(b"\0").ok_or(Fault::Malformed).map(rows_of)?;
                Ok(Begun::Message(Message::Complete { rows: rows.filter(|_| described) }))
            }
            b'R' => {
                let Some(content) = whole(AUTHENTICATION_BYTES_MAX)? else { return Ok(Begun::More) };
                let (method, data) = content.split_at_checked(4).ok_or(Fault::Malformed)?;
                Ok(Begun::Message(Message::Authentication(u32_of(method)?, data)))
            }
            b'E' => {
                let seen = (length as usize).min(ERROR_BYTES);
                let Some(fields) = content.get(..seen) else { return Ok(Begun::More) };
                self.part = ReplyPart::Skip(length);
                self.columns = None;
                Ok(Begun::Error(ErrorMessage::of(fields)?))
            }
            b'1' => empty(Message::Parsed),
            b'2' | b'n' => empty(Message::Noted),
            b'I' => empty(Message::Empty),
            b'G' | b'H' | b'W' => Err(Fault::Named("copy")),
            _ => Err(Fault::Malformed),
        }
    }
}

/// The beginning of a message.
enum Begun<'a> {
    More,
    /// So much of its content is consumed; [`Reader::part`] has the next part.
    Part(usize),
    Message(Message<'a>),
    /// An error, the whole content of which is skipped.
    Error(ErrorMessage<'a>),
}

impl ErrorMessage<'_> {
    /// Each field is a kind and a string; kind 0 ends them.
    fn of(fields: &[u8]) -> Result<ErrorMessage<'_>, Fault> {
        let mut code = None;
        let mut message: &[u8] = &[];
        let mut is_fatal = false;
        for field in fields.split(|&b| b == 0) {
            match field {
                [b'C', text @ ..] if code.is_none() => code = <[u8; 5]>::try_from(text).ok(),
                // The severity: S is in the server's language; V is not, and exists since 9.6.
                [b'S' | b'V', text @ ..] => is_fatal |= matches!(text, b"FATAL" | b"PANIC"),
                [b'M', text @ ..] => message = text,
                _ => {}
            }
        }
        Ok(ErrorMessage { code: code.ok_or(Fault::Malformed)?, is_fatal, text: message })
    }
}

fn u32_of(bytes: &[u8]) -> Result<u32, Fault> {
    bytes.try_into().map(u32::from_be_bytes).map_err(|_| Fault::Malformed)
}

/// The number of rows that a command has returned. Other commands report the rows that they changed.
fn rows_of(tag: &[u8]) -> Option<u64> {
    let digits = tag.strip_prefix(b"SELECT ").or_else(|| tag.strip_prefix(b"FETCH "))?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}
