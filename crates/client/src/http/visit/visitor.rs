use super::redirects::Redirects;
use crate::http::cookies::Jar;
use crate::http::site::Request;
use crate::outgoing::Outgoing;
use crate::page::Origin;

/// What the connections of a run do beyond requests and replies.
pub(crate) struct Visiting {
    /// The cookies that each user begins with, if cookies are kept.
    pub(crate) cookies: Option<Jar>,
    /// The most redirects in a row that are followed.
    pub(crate) follow: u16,
    /// Where they must lead to.
    pub(crate) origin: Origin,
}

/// A user who keeps cookies, follows redirects, or both, with one request at a time.
pub(crate) struct Visitor {
    /// Cookies outlive the connections that replace each other: they are those of a user who comes back.
    pub(crate) jar: Option<Jar>,
    pub(crate) redirects: Redirects,
}

impl Visitor {
    pub(crate) fn new(visiting: &Visiting) -> Visitor {
        Visitor { jar: visiting.cookies.clone(), redirects: Redirects::default() }
    }

    /// Takes from the head of a reply what is to be kept.
    pub(crate) fn head(&mut self, visiting: &Visiting, request: &Request, status: u16, bytes: &[u8]) {
        let follows = visiting.follow > 0;
        self.redirects.begin();
        for line in bytes.split(|&b| b == b'\n').skip(1) {
            let Some(colon) = memchr::memchr(b':', line) else { continue };
            let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
            if let Some(jar) = &mut self.jar
                && name.eq_ignore_ascii_case(b"set-cookie")
            {
                jar.set(value, self.redirects.path(request));
            } else if follows && name.eq_ignore_ascii_case(b"location") {
                self.redirects.located(request, status, value);
            }
        }
    }

    /// The reply is complete, and the connection takes further requests or does not: writes the request that follows from
    /// it, if one does, and says so.
    pub(crate) fn follow(
        &mut self,
        visiting: &Visiting,
        request: &Request,
        persists: bool,
        out: &mut Outgoing,
    ) -> bool {
        let bounds = (&visiting.origin, visiting.follow, persists);
        self.redirects.follow(request, bounds, self.jar.as_ref(), out)
    }
}
