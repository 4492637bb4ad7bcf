//! A request with placeholders: a step of a session, or a request with random or counted numbers.

use super::cookies::Jar;
use crate::exchange::Draw;
use crate::outgoing::Outgoing;
use crate::session::{Template, Values};

#[derive(Clone, Debug)]
pub(crate) struct Step {
    /// The whole request, if it is always the same.
    pub(crate) fixed: Option<Fixed>,
    pub(super) line: Template,
    /// The head behind the first line, without the empty line.
    pub(super) fields: Template,
    pub(super) body: Template,
    pub(crate) head_only: bool,
    /// It has a `Cookie` header.
    pub(crate) own_cookies: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Fixed {
    pub(crate) bytes: &'static [u8],
    /// Without the empty line.
    pub(crate) head_len: usize,
}

impl Step {
    /// Replaces `body` by the body and appends the head, without the empty line, with these values.
    pub(crate) fn write(
        &self,
        values: Values<'_>,
        jar: Option<&Jar>,
        body: &mut Vec<u8>,
        out: &mut Outgoing,
    ) {
        body.clear();
        self.body.write(values, &mut values.draws_of_body(), 0, body);
        let (mut draws, head) = (values.draws(), out.buffer());
        let line_from = head.len();
        self.line.write(values, &mut draws, body.len(), head);
        let line_to = head.len();
        self.fields.write(values, &mut draws, body.len(), head);
        if let Some(jar) = jar {
            let line = head[line_from..line_to].to_vec();
            jar.write(path(&line), out);
        }
    }

    /// Writes the whole request of a step outside sessions.
    pub(super) fn write_whole(&self, draw: Draw, body: &mut Vec<u8>, out: &mut Outgoing) {
        self.write(Values::of(draw), None, body, out);
        out.bytes(b"\r\n");
        out.bytes(body);
    }

    /// Whether it has placeholders.
    pub(super) fn is_varied(&self) -> bool {
        self.fixed.is_none()
    }

    /// The whole request, if it has no placeholder.
    pub(super) fn fixed(&self) -> Option<Fixed> {
        let body = self.body.fixed()?;
        let line = self.line.fixed()?;
        let mut bytes = line.to_vec();
        if !self.fields.takes_values() {
            let none = Values::of(Draw { random: 0, index: 0 });
            self.fields.write(none, &mut none.draws(), body.len(), &mut bytes);
            let head_len = bytes.len();
            bytes.extend_from_slice(b"\r\n");
            bytes.extend_from_slice(body);
            return Some(Fixed { bytes: bytes.leak(), head_len });
        }
        None
    }
}

/// The path in a request line.
pub(crate) fn path(request: &[u8]) -> &[u8] {
    request.split(|&b| b == b' ').nth(1).unwrap_or_default()
}
