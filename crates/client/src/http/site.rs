use std::ops::RangeInclusive;
use std::sync::OnceLock;

use super::step::{Fixed, Step};
use crate::choice::RequestChoice;
use crate::exchange::Draw;
use crate::expected::Expected;
use crate::fields::field;
use crate::outgoing::Outgoing;
use crate::session::Values;

/// The requests of a run and what is expected of their replies.
pub(super) struct Site {
    pub(super) requests: Vec<Request>,
    pub(super) choice: RequestChoice,
    /// Empty: everything below 400.
    pub(super) statuses: Vec<RangeInclusive<u16>>,
    /// The first redirect that was not followed.
    pub(super) redirects_to: OnceLock<String>,
}

/// Bytes of a `Location` that are kept.
const LOCATION_MAX: usize = 200;

impl Site {
    /// Keeps where a redirect leads, if it is the first.
    #[cold]
    pub(super) fn redirected(&self, head: &[u8]) {
        if self.redirects_to.get().is_none()
            && let Some(location) = field(head, b"location")
        {
            self.led_to(location);
        }
    }

    /// Keeps `location`, if it is the first.
    pub(super) fn led_to(&self, location: &[u8]) {
        self.redirects_to.get_or_init(|| {
            let shown = location.iter().filter(|b| b.is_ascii_graphic()).take(LOCATION_MAX);
            shown.map(|&b| char::from(b)).collect()
        });
    }
}

/// A request of HTTP/1.1.
pub(crate) struct Request {
    pub(crate) bytes: &'static [u8],
    /// The length of its head, with the empty line.
    pub(crate) head_len: u32,
    /// The request is HEAD, whose reply has framing headers and no body.
    pub(crate) head_only: bool,
    pub(crate) expected: Expected,
    /// The template, if numbers are put into it; `bytes` is then a sample.
    pub(crate) varied: Option<Box<Step>>,
}

impl Request {
    /// The request of a step: the fixed one, or what it would be with empty values.
    pub(crate) fn sample(step: &Step) -> Request {
        let (bytes, head_len) = match step.fixed {
            Some(Fixed { bytes, head_len }) => (bytes, head_len),
            None => {
                let mut out = Outgoing::new();
                let mut body = Vec::new();
                step.write(Values::of(Draw { random: 0, index: 0 }), None, &mut body, &mut out);
                let head_len = out.payload().as_slice().len();
                out.bytes(b"\r\n");
                out.bytes(&body);
                (&*out.payload().as_slice().to_vec().leak(), head_len)
            }
        };
        Request {
            bytes,
            head_len: (head_len + 2) as u32,
            head_only: step.head_only,
            expected: Expected::Anything,
            varied: None,
        }
    }

    /// The word between the method and the version.
    pub(crate) fn path(&self) -> &[u8] {
        self.bytes.split(|&b| b == b' ').nth(1).unwrap_or_default()
    }
}
