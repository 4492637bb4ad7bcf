use super::redirects::Redirects;
use crate::fields::fields_of;
use crate::http::cookies::Jar;
use crate::http::site::Request;
use crate::outgoing::Outgoing;
use crate::page::Origin;

/// Cookies and redirects, as the connections of a run treat them.
pub(crate) struct Visiting {
    /// The cookies that each user begins with; `None` if cookies are not kept.
    pub(crate) cookies: Option<Jar>,
    /// The most redirects in a row.
    pub(crate) follow: u16,
    /// Redirects to another origin are not followed.
    pub(crate) origin: Origin,
}

/// A user who keeps cookies, follows redirects, or both, with one request at a time.
pub(crate) struct Visitor {
    /// Cookies outlive a connection: the next one belongs to the same user.
    pub(crate) jar: Option<Jar>,
    pub(crate) redirects: Redirects,
}

impl Visitor {
    pub(crate) fn new(visiting: &Visiting) -> Visitor {
        Visitor { jar: visiting.cookies.clone(), redirects: Redirects::default() }
    }

    /// Takes cookies and redirects from the head of a reply.
    pub(crate) fn head(&mut self, visiting: &Visiting, request: &Request, status: u16, bytes: &[u8]) {
        let follows = visiting.follow > 0;
        self.redirects.begin();
        for (name, value) in fields_of(bytes) {
            if let Some(jar) = &mut self.jar
                && name.eq_ignore_ascii_case(b"set-cookie")
            {
                jar.set(value, self.redirects.path(request));
            } else if follows && name.eq_ignore_ascii_case(b"location") {
                self.redirects.located(request, status, value);
            }
        }
    }

    /// Writes the request that follows from a complete reply, if one does, and returns whether it has. `persists` is whether the
    /// connection takes further requests.
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
