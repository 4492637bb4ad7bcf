//! The content of a POST, which is counted and dropped or echoed, and of a PUT, which is passed on for storing.

use super::chunked::{ChunkError, Decoder};
use super::head::{Length, Refusal};
use super::reply::{self, Status, TEXT, Terms};
use super::syntax::write_decimal;
use crate::{Context, Exchange, Next, Upload};

/// The content of a request, while it is received.
pub(super) struct Body {
    terms: Terms,
    rest: Rest,
    received: u64,
    bytes_max: u64,
    /// The content to echo.
    echo: Option<Vec<u8>>,
    /// The file to store.
    pub(super) put: Option<Put>,
}

/// A file that is stored by PUT.
#[derive(Default)]
pub(super) struct Put {
    /// The part that the driver has stored so far.
    pub(super) upload: Option<Upload>,
    /// True if it replaces a file.
    pub(super) replaces: bool,
    /// True if the client waits for 100 (Continue) before it sends the content.
    pub(super) waits: bool,
}

enum Rest {
    Exact(u64),
    Chunked(Decoder),
}

/// Limit on the bytes of one step of storing.
const PIECE_BYTES: usize = 64 << 10;

const TOO_LARGE: Refusal = Refusal::new(Status::ContentTooLarge, "the content is too long");

impl From<ChunkError> for Refusal {
    fn from(error: ChunkError) -> Refusal {
        match error {
            ChunkError::Malformed(why) => Refusal::new(Status::BadRequest, why),
            ChunkError::TooLong => Refusal::new(
                Status::HeaderFieldsTooLarge,
                "the chunk extensions and trailer fields are too long",
            ),
        }
    }
}

impl Body {
    /// Prepares for content of the given length, unless it exceeds `bytes_max`.
    pub(super) fn new(length: Length, terms: Terms, bytes_max: u64, echo: bool) -> Result<Body, Refusal> {
        let rest = match length {
            Length::Absent => {
                return Err(Refusal::new(
                    Status::LengthRequired,
                    "a request with content must declare its length",
                ));
            }
            Length::Exact(length) if length > bytes_max => return Err(TOO_LARGE),
            Length::Exact(length) => Rest::Exact(length),
            Length::Chunked => Rest::Chunked(Decoder::default()),
        };
        Ok(Body { terms, rest, received: 0, bytes_max, echo: echo.then(Vec::new), put: None })
    }

    /// Takes the part of `input` that belongs to the content of a PUT, and requests a step of storing.
    pub(super) fn pass_on(
        &mut self,
        input: &[u8],
        exchange: &mut Exchange,
    ) -> Result<(usize, Next), Refusal> {
        let input = &input[..input.len().min(PIECE_BYTES)];
        let Body { rest, received, bytes_max, .. } = self;
        let bytes = &mut exchange.step.bytes;
        let mut keep = |data: &[u8]| {
            *received += data.len() as u64;
            bytes.extend_from_slice(data);
            if *received > *bytes_max { Err(TOO_LARGE) } else { Ok(()) }
        };
        let taken = match rest {
            Rest::Exact(left) => {
                let n = usize::try_from(*left).unwrap_or(usize::MAX).min(input.len());
                *left -= n as u64;
                keep(&input[..n]).map(|()| n)
            }
            Rest::Chunked(decoder) => decoder.decode(input, keep),
        };
        let taken = taken.inspect_err(|_| exchange.step.bytes.clear())?;
        let is_done = self.is_done();
        if !is_done && exchange.step.bytes.is_empty() {
            return Ok((taken, Next::Read));
        }
        let upload = self.put.as_mut().and_then(|put| put.upload.take());
        Ok((taken, exchange.store(upload, is_done)))
    }

    /// The terms of the request.
    pub(super) fn terms(&self) -> Terms {
        self.terms
    }

    /// True once all of it has arrived.
    pub(super) fn is_done(&self) -> bool {
        match &self.rest {
            Rest::Exact(left) => *left == 0,
            Rest::Chunked(decoder) => decoder.is_done(),
        }
    }

    /// Takes the part of `input` that belongs to the content, and returns its length.
    pub(super) fn take(&mut self, input: &[u8]) -> Result<usize, Refusal> {
        let Body { rest, received, bytes_max, echo, .. } = self;
        let mut keep = |data: &[u8]| {
            *received += data.len() as u64;
            if *received > *bytes_max {
                return Err(TOO_LARGE);
            }
            if let Some(echo) = echo {
                echo.extend_from_slice(data);
            }
            Ok(())
        };
        match rest {
            Rest::Exact(left) => {
                let n = usize::try_from(*left).unwrap_or(usize::MAX).min(input.len());
                keep(&input[..n])?;
                *left -= n as u64;
                Ok(n)
            }
            Rest::Chunked(decoder) => decoder.decode(input, keep),
        }
    }

    /// Writes the reply to the request.
    pub(super) fn answer(&self, exchange: &mut Exchange, cx: &Context<'_>) -> Next {
        let terms = self.terms.at(cx);
        match &self.echo {
            // Never a type that a browser would execute: the content comes from the client.
            Some(content) => {
                let fields = [("Content-Type", &b"application/octet-stream"[..])];
                reply::small(exchange, cx, Status::Ok, terms, &fields, content)
            }
            None => {
                let mut content = b"received ".to_vec();
                write_decimal(&mut content, self.received);
                content.extend_from_slice(b" bytes\n");
                reply::small(exchange, cx, Status::Ok, terms, &[TEXT], &content)
            }
        }
    }
}
