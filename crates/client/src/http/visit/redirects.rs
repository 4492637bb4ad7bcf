use crate::exchange::{Reply, Verdict};
use crate::http::cookies::Jar;
use crate::http::site::Request;
use crate::outgoing::Outgoing;
use crate::page::{Base, Origin, Place};

/// The redirects of one request after the other.
///
/// A redirect is followed to the same host only, and while the connection takes requests. Any other counts as a plain reply.
/// The last reply ends the request and is judged; the response time is that of all replies together.
#[derive(Default)]
pub(crate) struct Redirects {
    /// How many were followed for the current request.
    followed: u16,
    /// The current path, if it is not the request's.
    base: Base,
    /// It is asked for without the request's body, by GET.
    bare: bool,
    /// What the current reply says of the next request.
    next: Option<Next>,
    /// Where the last redirect led, if to another host.
    elsewhere: Option<Vec<u8>>,
    /// The last reply is one redirect too many.
    is_over_limit: bool,
    counts: Counts,
}

struct Next {
    location: Vec<u8>,
    bare: bool,
}

#[derive(Default)]
struct Counts {
    followed: u64,
    elsewhere: u64,
    over_limit: u64,
    on_closed: u64,
}

impl Redirects {
    pub(crate) fn reset(&mut self) {
        self.followed = 0;
        self.bare = false;
        self.next = None;
    }

    /// The current path.
    pub(crate) fn path<'a>(&'a self, request: &'a Request) -> &'a [u8] {
        if self.followed == 0 { request.path() } else { self.base.target() }
    }

    /// Whether the current request has no body.
    pub(crate) fn is_bare(&self) -> bool {
        self.bare
    }

    /// The server has not processed the request that followed the last redirect: that redirect was not followed.
    pub(crate) fn cut(&mut self) {
        self.counts.followed = self.counts.followed.saturating_sub(1);
        self.counts.on_closed += 1;
        self.reset();
    }

    pub(crate) fn begin(&mut self) {
        self.next = None;
    }

    /// Notes the `Location` of a reply with this status. A redirected POST becomes a GET, as in browsers (RFC 9110 section 15.4).
    pub(crate) fn located(&mut self, request: &Request, status: u16, location: &[u8]) {
        let bare = match status {
            301 | 302 => request.bytes.starts_with(b"POST "),
            303 => !request.head_only,
            307 | 308 => false,
            _ => return,
        };
        self.next = Some(Next { location: location.to_vec(), bare });
    }

    /// Writes the request that follows from a complete reply, if one does, and returns whether it has.
    pub(crate) fn follow(
        &mut self,
        request: &Request,
        (origin, max, persists): (&Origin, u16, bool),
        jar: Option<&Jar>,
        out: &mut Outgoing,
    ) -> bool {
        if let Some(next) = self.next.take() {
            if self.followed == 0 {
                self.base.set(request.path());
            }
            let mut target = Vec::new();
            match self.base.resolve(origin, &next.location, &mut target) {
                Place::Elsewhere | Place::Nowhere => {
                    self.counts.elsewhere += 1;
                    self.elsewhere = Some(next.location);
                }
                Place::Here if !persists => self.counts.on_closed += 1,
                Place::Here if self.followed == max => {
                    self.counts.over_limit += 1;
                    self.is_over_limit = true;
                }
                Place::Here => {
                    self.base.set(&target);
                    self.followed += 1;
                    self.bare |= next.bare;
                    self.counts.followed += 1;
                    self.write(request, jar, out);
                    return true;
                }
            }
        }
        self.followed = 0;
        self.bare = false;
        false
    }

    fn write(&self, request: &Request, jar: Option<&Jar>, out: &mut Outgoing) {
        let (head, body) = request.bytes.split_at(request.head_len as usize);
        let mut lines = head.split_inclusive(|&b| b == b'\n');
        let line = lines.next().unwrap_or_default();
        let method = line.split(|&b| b == b' ').next().unwrap_or_default();
        out.bytes(if self.bare { b"GET" } else { method });
        out.bytes(b" ");
        out.bytes(self.base.target());
        out.bytes(b" HTTP/1.1\r\n");
        // The last line is the empty one.
        for line in lines.filter(|line| line.len() > 2 && !(self.bare && is_of_body(line))) {
            out.bytes(line);
        }
        if let Some(jar) = jar {
            jar.write(self.base.target(), out);
        }
        out.bytes(b"\r\n");
        if !self.bare {
            out.bytes(body);
        }
    }

    /// The reply with the final verdict: one redirect too many is an error.
    pub(crate) fn judged(&mut self, reply: Reply) -> Reply {
        match (std::mem::take(&mut self.is_over_limit), reply.verdict) {
            (true, Verdict::Right) => Reply { verdict: Verdict::Refused("redirect-limit"), ..reply },
            _ => reply,
        }
    }

    /// Where the last redirect led, if to another host.
    pub(crate) fn take_elsewhere(&mut self) -> Option<Vec<u8>> {
        self.elsewhere.take()
    }

    /// Counts of redirects, by what happened to them.
    pub(crate) fn counts(&self) -> Vec<(&'static str, u64)> {
        let counts = &self.counts;
        let all = [
            ("redirects_followed", counts.followed),
            ("redirects_elsewhere", counts.elsewhere),
            ("redirects_over_limit", counts.over_limit),
            ("redirects_on_closed_connections", counts.on_closed),
        ];
        all.into_iter().filter(|(_, count)| *count > 0).collect()
    }
}

/// Whether a header describes the body.
fn is_of_body(line: &[u8]) -> bool {
    let starts = |name: &[u8]| line.get(..name.len()).is_some_and(|head| head.eq_ignore_ascii_case(name));
    starts(b"content-") || starts(b"transfer-encoding:") || starts(b"expect:")
}
