use std::sync::Arc;

use pitot_durability::{OfConnection, Stored};

use super::exchange::{Alpn, Draw, Fault, Opening, Received, Reply, StartTls, Tag};
use super::outgoing::Outgoing;
use super::page::PageConn;
use super::request::RequestSpec;
use super::session::conn::SessionConn;
use super::session::spec::SessionSpec;
use super::visit::VisitOptions;

/// A protocol with the requests of one run. All connections of all threads share it.
pub trait ClientProtocol: Send + Sync {
    /// The state of one connection. It is made once for all connections that replace each other, and
    /// [`ClientConn::open`] resets it.
    fn connect(&self) -> Box<dyn ClientConn>;

    /// The length of the longest request in bytes, if all requests are built before the run; `None` if they are
    /// built as they are sent.
    fn request_bytes_max(&self) -> Option<usize>;

    /// What there is to know of the run's sessions, if its requests are steps of such.
    fn sessions(&self) -> Option<SessionInfo> {
        None
    }

    /// What must be done once before the run, on its own connection, such as filling a cache.
    fn preload(&self) -> Option<Box<dyn Preload>>;

    /// What a server stores, and its content of each request: the body of an upload, or a mail with its header, to which the server
    /// may add. `None` if there are requests of several kinds, or they have no [names](ClientOptions::receipts).
    fn stored(&self) -> Option<(Stored, &[u8])> {
        None
    }

    /// Other processes drive the same server at the same time: what it has need not be from here.
    fn get_company(&self) {}

    /// Where the first redirect led that was not followed, in the server's words; `None` if there was none, or the protocol
    /// does not look.
    fn redirects_to(&self) -> Option<String> {
        None
    }

    /// The first refusal of the server in its own words; `None` if there was none, or the protocol has no such words.
    fn server_said(&self) -> Option<String> {
        None
    }

    /// How it asks for TLS, if it wants that and its connections begin without.
    fn start_tls(&self) -> Option<StartTls> {
        None
    }

    /// What a TLS layer below asks the server for; `None` if the protocol has no registered name.
    fn alpn(&self) -> Option<Alpn> {
        None
    }
}

/// The sessions of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionInfo {
    /// The names of all steps of all sessions.
    pub steps: Vec<String>,
    /// The numbers of those that only prepare another one: an action of several requests is its last.
    pub parts: Vec<u16>,
    /// The most requests that are sent at once on a connection.
    pub burst_max: u16,
    /// A session goes on with the connection of the one before it, unless the user wants new ones.
    pub keeps_connection: bool,
}

/// An exchange before the run, which is not measured.
pub trait Preload: Send {
    /// Takes what has arrived since the last call, nothing at first, and appends what is to be sent to `out`; true once
    /// all is done. It wants more input if it is neither done nor has anything to send.
    ///
    /// # Errors
    /// One line, if the server refuses it.
    fn step(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<bool, String>;
}

/// The client's side of one connection.
///
/// The caller counts requests and keeps them in order: `tag` always names the oldest one that is not answered.
pub trait ClientConn: Send {
    /// A new connection is established. All state of an earlier one is reset; a client that sends first writes its greeting.
    fn open(&mut self, out: &mut Outgoing) -> Opening {
        let _ = out;
        Opening::Ready
    }

    /// Writes the next request. A request may take several exchanges; [`ClientConn::receive`] writes the later ones.
    fn request(&mut self, draw: Draw, out: &mut Outgoing) -> Tag;

    /// Writes a request again that was written on an earlier connection and not looked at there.
    fn repeat(&mut self, tag: Tag, out: &mut Outgoing) {
        let _ = (tag, out);
    }

    /// Tells a connection with [layers](ClientConn::has_layers) the time in nanoseconds, before requests and input, so
    /// that it can say how long something took.
    fn clock(&mut self, now: u64) {
        let _ = now;
    }

    /// Gives up the `nth` oldest of the unanswered requests, which has not been answered in time, and goes on with the
    /// others; false if the connection has to end for that. So it has also if the server has said nothing at all for
    /// `silence_max` nanoseconds since a request was given up.
    fn cancel(&mut self, nth: u16, silence_max: u64, out: &mut Outgoing) -> bool {
        let _ = (nth, silence_max, out);
        false
    }

    /// The requests that could be written are: a layer that seals what it sends does so now, all of them together.
    fn flush(&mut self, out: &mut Outgoing) {
        let _ = out;
    }

    /// Takes input, which starts with whatever an earlier call left unconsumed. `tag` is the oldest unanswered request,
    /// or none if nothing is asked.
    ///
    /// It is called again with the rest until it answers [`Progress::More`](super::exchange::Progress::More); what it has not consumed then is shown to
    /// it again with more behind it. A call consumes no byte beyond the end of a reply.
    ///
    /// # Errors
    /// Bytes that the protocol does not allow here. The connection cannot be used any more.
    fn receive(&mut self, tag: Option<Tag>, input: &[u8], out: &mut Outgoing) -> Result<Received, Fault>;

    /// True if input has to pass a layer before it is a reply, as with TLS or the frames of HTTP/2, and for as long as the
    /// connection is open. Then arriving bytes need not belong to a reply: the connection reports the beginning of one
    /// by [`Progress::Began`](super::exchange::Progress::Began), it may hold further replies that it has consumed, so that
    /// it is asked until it answers [`Progress::More`](super::exchange::Progress::More), and it tells by itself what was not asked for.
    fn has_layers(&self) -> bool {
        false
    }

    /// True while a layer below the protocol agrees on keys, so that what goes wrong is the handshake's.
    fn is_shaking_hands(&self) -> bool {
        false
    }

    /// The server has closed the connection in order. A reply that ends with its connection is complete now; to any
    /// other unanswered request there is none.
    fn end_of_input(&mut self, tag: Option<Tag>) -> Option<Reply> {
        let _ = tag;
        None
    }

    /// The connection as one of a browser, if [`ClientOptions::pages`] asked for that. A layer hands on that of the
    /// connection inside it.
    fn pages(&mut self) -> Option<&mut dyn PageConn> {
        None
    }

    /// The connection as one that plays sessions, if its requests are steps of such. A layer hands on that of the
    /// connection inside it.
    fn session(&mut self) -> Option<&mut dyn SessionConn> {
        None
    }

    /// Which of its requests the server has acknowledged since it was asked last, if they have
    /// [names](ClientOptions::receipts). A layer hands on that of the connection inside it.
    fn take_acknowledged(&mut self) -> Option<OfConnection> {
        None
    }

    /// What the protocol has counted by itself, such as hits and misses, on all connections so far. A name that begins
    /// with `max-` is that of a maximum, and all others are of sums.
    fn counts(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
}

/// What a user may set for a protocol. Each protocol reads its own fields.
#[derive(Clone, Debug, Default)]
pub struct ClientOptions {
    /// The requests; at least one.
    pub requests: Vec<RequestSpec>,
    /// Sessions, whose steps are sent in place of requests; empty for none.
    pub sessions: Vec<SessionSpec>,
    /// Take the requests in turn instead of by their weights.
    pub in_turn: bool,
    /// Which of the requests is the first of the run, the second and so on, over and over; empty for their own order. It
    /// takes the requests in turn.
    pub order: Arc<[u32]>,
    /// Headers to add to each request, or to replace the standard ones.
    pub headers: Vec<(String, String)>,
    /// Statuses that count as right; empty for the protocol's own choice.
    pub expect_status: Vec<std::ops::RangeInclusive<u16>>,
    /// The content of every right reply.
    pub expect_body: Option<Vec<u8>>,
    /// Compare generated content, where the protocol has some, byte by byte.
    pub verify: bool,
    /// Cookies and redirects, where the protocol has them.
    pub visit: VisitOptions,
    /// Each connection carries a single request, and the server may be told so.
    pub single_request: bool,
    /// The requests are for pages, in whose replies is looked for what belongs to them.
    pub pages: bool,
    /// Requests are to have [names](pitot_durability::BLANK_NAME) of their own. A path has it where the user put it; protocols that have a
    /// place for it write a blank one there.
    pub receipts: bool,
    /// The version of HTTP.
    pub http: HttpVersion,
    /// Streams of each connection of HTTP/2, of which each is a user where cookies are kept; 0 counts as 1.
    pub streams: u16,
}

impl ClientOptions {
    /// The headers of a request: those of all requests that it does not replace, and its own.
    pub fn headers_of<'a>(
        &'a self,
        spec: &'a RequestSpec,
    ) -> impl Iterator<Item = (&'a str, &'a str)> + Clone {
        let own = |name: &str| spec.headers.iter().any(|(n, _)| n.eq_ignore_ascii_case(name));
        let common = self.headers.iter().filter(move |(name, _)| !own(name));
        common.chain(&spec.headers).map(|(name, value)| (name.as_str(), value.trim()))
    }
}

/// A version of HTTP, for the schemes that have several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HttpVersion {
    /// HTTP/1.1 (RFC 9112).
    #[default]
    Http1,
    /// HTTP/2 (RFC 9113): the client begins to speak it without asking.
    Http2,
}

impl HttpVersion {
    /// The number.
    pub const fn name(self) -> &'static str {
        match self {
            HttpVersion::Http1 => "1.1",
            HttpVersion::Http2 => "2",
        }
    }
}
