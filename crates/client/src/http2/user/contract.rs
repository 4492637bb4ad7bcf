use crate::exchange::{Draw, Reply, Tag};
use crate::http2::site::Site;
use crate::outgoing::Outgoing;
use crate::page::PageConn;
use crate::session::SessionConn;

/// A request in flight: its entry in the table, and the user slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::http2) struct RequestId {
    pub(in crate::http2) tag: Tag,
    pub(in crate::http2) slot: u16,
}

/// The form in which a driver writes a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::http2) enum Wording {
    /// The one encoded before the run, with further header lines.
    Known,
    /// A whole head of HTTP/1.1.
    Whole,
}

/// What follows a complete reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::http2) enum After {
    /// The request is complete.
    Answered(Reply),
    /// The request continues with another exchange.
    Asks(Wording),
}

/// Writes the requests of one connection, and takes from the replies what it needs for that.
pub(in crate::http2) trait Driver: Send {
    /// A new connection is established. Everything in flight has ended, except requests that are repeated now.
    fn open(&mut self);

    /// Writes the next request.
    fn request(&mut self, site: &Site, draw: Draw, text: &mut Outgoing) -> (RequestId, Wording);

    /// Writes a request again that was given back.
    fn repeat(&mut self, tag: Tag, text: &mut Outgoing) -> (RequestId, Wording);

    /// The body of the request that was written last.
    fn upload<'a>(&'a self, site: &'a Site, id: RequestId) -> &'a [u8] {
        &site.requests[id.tag.0 as usize].body
    }

    /// The head of a reply, as text whose first line is meaningless.
    fn head(&mut self, id: RequestId, status: u16, head: &[u8]);

    /// A piece of the body of a reply.
    fn body(&mut self, id: RequestId, piece: &[u8]) {
        let _ = (id, piece);
    }

    /// A reply is complete. `persists` is whether the connection takes further requests.
    fn replied(&mut self, id: RequestId, reply: Reply, persists: bool, text: &mut Outgoing) -> After;

    /// A request has failed; the connection stays usable.
    fn lost(&mut self, id: RequestId);

    /// The server has not processed a request, which will be repeated.
    fn given_back(&mut self, id: RequestId);

    /// The server has not processed the last exchange of a request and takes no other. Returns the reply before it, if there is one.
    fn cut(&mut self, id: RequestId) -> Option<Reply> {
        self.lost(id);
        None
    }

    /// The connection as one of a browser.
    fn pages(&mut self) -> Option<&mut dyn PageConn> {
        None
    }

    /// The connection as one that plays sessions.
    fn session(&mut self) -> Option<&mut dyn SessionConn> {
        None
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
}

/// Makes the drivers of all connections of a run.
pub(in crate::http2) trait DriverPlan: Send + Sync {
    /// A driver for one connection and all that replace it.
    fn driver(&self) -> Box<dyn Driver>;
}
