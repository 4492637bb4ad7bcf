use crate::exchange::{Draw, Reply, Tag};
use crate::http2::site::Site;
use crate::outgoing::Outgoing;
use crate::page::PageConn;
use crate::session::SessionConn;

/// A request under way: which it is, and the seat of who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::http2) struct Of {
    pub(in crate::http2) tag: Tag,
    pub(in crate::http2) seat: u16,
}

/// How a request is worded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::http2) enum Wording {
    /// It is the one that was encoded before the run, with further lines of a head.
    Known,
    /// It is a whole head of HTTP/1.1.
    Whole,
}

/// What follows a complete reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::http2) enum After {
    /// The request is over.
    Answered(Reply),
    /// The request goes on with another exchange.
    Asks(Wording),
}

/// Decides what is asked on one connection, and takes from the replies what it needs for that.
pub(in crate::http2) trait Driver: Send {
    /// A new connection is established: whatever was under way has ended, but for what is repeated now.
    fn open(&mut self);

    /// Words the next request.
    fn request(&mut self, site: &Site, draw: Draw, text: &mut Outgoing) -> (Of, Wording);

    /// Words a request again that was given back.
    fn repeat(&mut self, tag: Tag, text: &mut Outgoing) -> (Of, Wording);

    /// The body of a request that was worded last.
    fn upload<'a>(&'a self, site: &'a Site, of: Of) -> &'a [u8] {
        &site.requests[of.tag.0 as usize].body
    }

    /// The head of a reply has come, as text whose first line means nothing.
    fn head(&mut self, of: Of, status: u16, head: &[u8]);

    /// A piece of the body of a reply has come.
    fn body(&mut self, of: Of, piece: &[u8]) {
        let _ = (of, piece);
    }

    /// A reply is complete, and the connection takes further requests or does not.
    fn replied(&mut self, of: Of, reply: Reply, persists: bool, text: &mut Outgoing) -> After;

    /// A request has come to nothing; the connection goes on.
    fn lost(&mut self, of: Of);

    /// The server has not looked at a request, which will be repeated.
    fn given_back(&mut self, of: Of);

    /// The server has not looked at the last exchange of a request, and the connection takes no other: the reply before
    /// it, if there is one, is that to the request.
    fn cut(&mut self, of: Of) -> Option<Reply> {
        self.lost(of);
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

    /// What was counted, by name.
    fn counts(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
}

/// What makes the agents of all connections of a run.
pub(in crate::http2) trait AgentPlan: Send + Sync {
    /// An agent for one connection and all that replace it.
    fn agent(&self) -> Box<dyn Driver>;
}
