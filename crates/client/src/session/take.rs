use regex_lite::Regex;

use super::spec::Source;
use crate::fields::field;

/// The longest value, bytes.
const VALUE_MAX: usize = 64 * 1024;

/// Takes a value from a reply.
#[derive(Debug)]
pub(super) enum Taker {
    Status,
    Header(Box<[u8]>),
    Regex(Regex),
    Json(String),
}

impl Taker {
    /// # Errors
    /// An invalid regular expression or JSON pointer.
    pub(super) fn new(source: &Source) -> Result<Taker, String> {
        Ok(match source {
            Source::Status => Taker::Status,
            Source::Header(name) => Taker::Header(name.as_bytes().into()),
            Source::Regex(text) => Taker::Regex(
                Regex::new(text).map_err(|e| format!("`{text}` is not a regular expression: {e}"))?,
            ),
            Source::Json(pointer) if pointer.is_empty() || pointer.starts_with('/') => {
                Taker::Json(pointer.clone())
            }
            Source::Json(pointer) => {
                return Err(format!("`{pointer}` is not a JSON pointer: it must begin with a slash"));
            }
        })
    }

    pub(super) fn needs_body(&self) -> bool {
        matches!(self, Taker::Regex(_) | Taker::Json(_))
    }

    /// The value in the head of a reply, if its place is there and it exists.
    pub(super) fn in_head(&self, status: u16, head: &[u8]) -> Option<Vec<u8>> {
        match self {
            Taker::Status => Some(status.to_string().into_bytes()),
            Taker::Header(wanted) => bounded(field(head, wanted)?),
            Taker::Regex(_) | Taker::Json(_) => None,
        }
    }

    /// The value in the body of a reply, if its place is there and it exists.
    pub(super) fn in_body(&self, body: &[u8]) -> Option<Vec<u8>> {
        match self {
            Taker::Status | Taker::Header(_) => None,
            Taker::Regex(regex) => {
                let text = String::from_utf8_lossy(body);
                let found = regex.captures(&text)?;
                bounded(found.get(1).or_else(|| found.get(0))?.as_str().as_bytes())
            }
            Taker::Json(pointer) => {
                let value: serde_json::Value = serde_json::from_slice(body).ok()?;
                match value.pointer(pointer)? {
                    serde_json::Value::String(text) => bounded(text.as_bytes()),
                    other => bounded(other.to_string().as_bytes()),
                }
            }
        }
    }
}

fn bounded(value: &[u8]) -> Option<Vec<u8>> {
    (value.len() <= VALUE_MAX).then(|| value.to_vec())
}
