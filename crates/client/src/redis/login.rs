//! The first commands of a connection: login and database.

use memchr::memchr;

use super::commands::write_array;
use super::refusal::{self, LINE_BYTES_MAX};
use crate::exchange::{Fault, Opening, Progress, Received};
use crate::outgoing::Outgoing;
use crate::said::Said;
use crate::url::{Url, percent_decoded};

/// `AUTH` and `SELECT`, as the URL asks for them. It contains the password and therefore has no `Debug`.
#[derive(Clone, Copy, Default)]
pub(super) struct Login {
    bytes: &'static [u8],
    replies: u8,
}

impl Login {
    /// The login of a URL, with the number of its database.
    ///
    /// # Errors
    /// A user without a password; an invalid database. Messages do not contain the user or the password.
    pub(super) fn new(url: &Url, database: &str) -> Result<Login, String> {
        let (mut bytes, mut replies) = (Vec::new(), 0);
        let mut add = |words: &[&[u8]]| {
            write_array(words, |piece| bytes.extend_from_slice(piece));
            replies += 1;
        };
        if let Some(account) = &url.user_info {
            let Some((user, password)) = account.split_once(':').filter(|(_, password)| !password.is_empty())
            else {
                return Err("the URL has a user but no password: write redis://USER:PASSWORD@host/, or \
                            redis://:PASSWORD@host/ for the default user"
                    .into());
            };
            let decoded =
                |text| percent_decoded(text).map_err(|why| format!("the user or the password {why}"));
            let (user, password) = (decoded(user)?, decoded(password)?);
            match user.is_empty() {
                true => add(&[b"AUTH", &password]),
                false => add(&[b"AUTH", &user, &password]),
            }
        }
        match database {
            "" => {}
            number if number.len() < 10 && number.bytes().all(|b| b.is_ascii_digit()) => {
                add(&[b"SELECT", number.as_bytes()]);
            }
            other => {
                return Err(format!(
                    "`/{other}` is not a database number: write redis://host/2, and options behind a `?`"
                ));
            }
        }
        Ok(Login { bytes: bytes.leak(), replies })
    }

    pub(super) fn bytes(self) -> &'static [u8] {
        self.bytes
    }

    pub(super) fn replies(self) -> u8 {
        self.replies
    }

    /// Begins a connection, and returns its greeting.
    pub(super) fn open(self, out: &mut Outgoing) -> (Greeting, Opening) {
        out.fixed(self.bytes);
        (Greeting(self.replies), if self.replies == 0 { Opening::Ready } else { Opening::Greeting })
    }
}

/// The login replies still awaited.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Greeting(u8);

impl Greeting {
    pub(super) fn is_over(self) -> bool {
        self.0 == 0
    }

    /// Takes input before the first request.
    ///
    /// # Errors
    /// The server refuses the login, which `said` records, or sends something else.
    pub(super) fn receive(&mut self, input: &[u8], said: &Said) -> Result<Received, Fault> {
        let mut consumed = 0;
        while self.0 > 0 {
            let Some((line, used)) = line(&input[consumed..])? else {
                return Ok(Received { consumed, progress: Progress::More });
            };
            consumed += used;
            match line.split_first() {
                Some((b'+', b"OK")) => self.0 -= 1,
                Some((b'-', words)) => {
                    said.hear(words);
                    return Err(Fault::Named(refusal::name(words)));
                }
                _ => return Err(Fault::Malformed),
            }
        }
        Ok(Received { consumed, progress: Progress::Ready })
    }
}

/// The first line of an input without its end, and its length with it; `None` if it is incomplete.
///
/// # Errors
/// It is too long, or does not end in CR LF.
pub(super) fn line(input: &[u8]) -> Result<Option<(&[u8], usize)>, Fault> {
    let view = &input[..input.len().min(LINE_BYTES_MAX)];
    match memchr(b'\n', view) {
        Some(end) => Ok(Some((view[..end].strip_suffix(b"\r").ok_or(Fault::Malformed)?, end + 1))),
        None if view.len() < LINE_BYTES_MAX => Ok(None),
        None => Err(Fault::TooLarge),
    }
}
