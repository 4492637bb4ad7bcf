//! Who asks on a connection that does more than to send the same requests again and again: users who keep cookies and
//! follow redirects, a browser, or a user who plays sessions. A connection without such an agent has none of its state.
//!
//! What is asked is worded as HTTP/1.1 has it, by the code of that version, and translated by [`wording`](super::wording); the
//! heads of replies are shown to it as text as well. So the rules are the same ones, whatever the version.

mod browser;
mod seats;
mod session;
mod visit;

use std::collections::VecDeque;
use std::sync::Arc;

use httlib_hpack::Encoder;

use super::site::Site;
use crate::client::exchange::{Draw, Progress, Reply, Tag};
use crate::client::outgoing::Outgoing;
use crate::client::page::PageConn;
use crate::client::session::SessionConn;

pub(super) use browser::BrowserPlan;
pub(super) use session::SessionPlan;
pub(super) use visit::VisitPlan;

/// A request under way: which it is, and the seat of who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Of {
    pub(super) tag: Tag,
    pub(super) seat: u16,
}

/// How a request is worded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wording {
    /// It is the one that was encoded before the run, with further lines of a head.
    Known,
    /// It is a whole head of HTTP/1.1.
    Whole,
}

/// What follows a complete reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum After {
    /// The request is over.
    Answered(Reply),
    /// The request goes on with another exchange.
    Asks(Wording),
}

/// Decides what is asked on one connection, and takes from the replies what it needs for that.
pub(super) trait Agent: Send {
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
pub(super) trait AgentPlan: Send + Sync {
    /// An agent for one connection and all that replace it.
    fn agent(&self) -> Box<dyn Agent>;
}

/// An agent with what its connection needs for it.
pub(super) struct Attended {
    pub(super) agent: Box<dyn Agent>,
    pub(super) scheme: Arc<str>,
    pub(super) encoder: Encoder<'static>,
    /// What is asked, as HTTP/1.1 has it.
    pub(super) text: Outgoing,
    /// The same, encoded.
    pub(super) block: Vec<u8>,
    /// The head of a reply as text.
    pub(super) head: Vec<u8>,
    /// What is to be said next.
    pub(super) due: VecDeque<Progress>,
}

impl Attended {
    pub(super) fn new(plan: &dyn AgentPlan, scheme: &Arc<str>) -> Attended {
        Attended {
            agent: plan.agent(),
            scheme: Arc::clone(scheme),
            encoder: Encoder::default(),
            text: Outgoing::new(),
            block: Vec::new(),
            head: Vec::new(),
            due: VecDeque::new(),
        }
    }
}
