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
    /// The state of one connection and all that replace it; [`ClientConn::open`] resets it.
    fn connect(&self) -> Box<dyn ClientConn>;

    /// The length of the longest request in bytes; `None` if requests are built as they are sent.
    fn request_bytes_max(&self) -> Option<usize> {
        None
    }

    /// The sessions of the run, if it has any.
    fn sessions(&self) -> Option<SessionInfo> {
        None
    }

    /// An exchange before the run, on a separate connection, such as filling a cache.
    fn preload(&self) -> Option<Box<dyn Preload>> {
        None
    }

    /// What a server stores, and the content of each request: the body of an upload, or a mail with its header, which the server may
    /// extend. `None` if there are several kinds of requests, or they have no [names](ClientOptions::durability).
    fn stored(&self) -> Option<(Stored, &[u8])> {
        None
    }

    /// Other processes load the same server at the same time, so its state need not come from this one.
    fn shares_server(&self) {}

    /// The target of the first redirect that was not followed, in the server's words.
    fn redirects_to(&self) -> Option<String> {
        None
    }

    /// The first refusal in the server's words.
    fn server_said(&self) -> Option<String> {
        None
    }

    /// How its connections, which begin without TLS, ask for it.
    fn start_tls(&self) -> Option<StartTls> {
        None
    }

    /// What to ask for by ALPN; `None` if the protocol has no registered name.
    fn alpn(&self) -> Option<Alpn> {
        None
    }
}

/// The sessions of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionInfo {
    /// The names of all steps.
    pub steps: Vec<String>,
    /// Steps that only prepare another one: the last request of an action names it.
    pub parts: Vec<u16>,
    /// The most requests sent at once on a connection.
    pub burst_max: u16,
    /// A session continues on the connection of the session before it, unless the user wants new ones.
    pub keeps_connection: bool,
}

/// An exchange before the run, which is not measured.
pub trait Preload: Send {
    /// Takes the input since the last call, none at first, and appends what to send to `out`. Returns true once all is done. It
    /// waits for input if it is not done and has nothing to send.
    ///
    /// # Errors
    /// One line, if the server refuses.
    fn step(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<bool, String>;
}

/// The client side of one connection.
///
/// The caller counts requests and keeps them in order: `tag` is always the oldest unanswered one.
pub trait ClientConn: Send {
    /// A new connection is established. Resets the state of an earlier one; a client that speaks first writes its greeting.
    fn open(&mut self, out: &mut Outgoing) -> Opening {
        let _ = out;
        Opening::Ready
    }

    /// Writes the next request. A request may take several exchanges; [`ClientConn::receive`] writes the later ones.
    fn request(&mut self, draw: Draw, out: &mut Outgoing) -> Tag;

    /// Writes a request again that the server has not processed on an earlier connection.
    fn repeat(&mut self, tag: Tag, out: &mut Outgoing) {
        let _ = (tag, out);
    }

    /// Gives a connection with [layers](ClientConn::has_layers) the time in nanoseconds, before requests and input, for
    /// durations.
    fn clock(&mut self, now: u64) {
        let _ = now;
    }

    /// Cancels the `nth` oldest unanswered request, which has timed out, and continues with the others. False if the connection has
    /// to end: always if the server has sent nothing for `silence_max` ns since the first cancellation.
    fn cancel(&mut self, nth: u16, silence_max: u64, out: &mut Outgoing) -> bool {
        let _ = (nth, silence_max, out);
        false
    }

    /// All requests that could be written are written: a layer encrypts them now, all at once.
    fn flush(&mut self, out: &mut Outgoing) {
        let _ = out;
    }

    /// Takes input, which begins with what an earlier call left unconsumed. `tag` is the oldest unanswered request, if any.
    ///
    /// It is called again with the rest until it returns [`Progress::More`](super::exchange::Progress::More); unconsumed input is
    /// then presented again with more behind it. A call consumes no byte beyond the end of a reply.
    ///
    /// # Errors
    /// Bytes that the protocol does not allow. The connection is unusable afterwards.
    fn receive(&mut self, tag: Option<Tag>, input: &[u8], out: &mut Outgoing) -> Result<Received, Fault>;

    /// True, for as long as the connection is open, if input passes a layer such as TLS or the frames of HTTP/2. Then input need
    /// not belong to a reply: the connection reports the beginning of one by
    /// [`Progress::Began`](super::exchange::Progress::Began) and detects unrequested bytes. It may hold further replies that it
    /// has consumed, so it is called until it returns [`Progress::More`](super::exchange::Progress::More).
    fn has_layers(&self) -> bool {
        false
    }

    /// True during a TLS handshake, to which errors then belong.
    fn is_shaking_hands(&self) -> bool {
        false
    }

    /// The server has closed the connection in order. Returns the reply that ends with the connection; other unanswered requests
    /// have none.
    fn end_of_input(&mut self, tag: Option<Tag>) -> Option<Reply> {
        let _ = tag;
        None
    }

    /// The connection of a browser, if [`ClientOptions::pages`] is set. A layer returns that of its inner connection.
    fn pages(&mut self) -> Option<&mut dyn PageConn> {
        None
    }

    /// The connection of a session player, if requests are steps of sessions. A layer returns that of its inner connection.
    fn session(&mut self) -> Option<&mut dyn SessionConn> {
        None
    }

    /// The requests that the server has acknowledged since the last call, if they have [names](ClientOptions::durability). A layer
    /// returns those of its inner connection.
    fn take_acknowledged(&mut self) -> Option<OfConnection> {
        None
    }

    /// Counts of the protocol, such as hits and misses, on all connections so far. Names that begin with `max-` are maxima, others
    /// are sums.
    fn counts(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
}

/// Options of a protocol. Each protocol reads the ones it has.
#[derive(Clone, Debug, Default)]
pub struct ClientOptions {
    /// The requests; at least one.
    pub requests: Vec<RequestSpec>,
    /// Sessions, whose steps are sent in place of requests; empty for none.
    pub sessions: Vec<SessionSpec>,
    /// Send the requests in turn instead of by weight.
    pub in_turn: bool,
    /// The indices of the first request, the second and so on, repeated; empty for their natural order. Requests are then sent in
    /// turn.
    pub order: Arc<[u32]>,
    /// Headers that each request gets, in addition or in place of standard ones.
    pub headers: Vec<(String, String)>,
    /// The statuses of right replies; empty for the protocol's default.
    pub expect_status: Vec<std::ops::RangeInclusive<u16>>,
    /// The content of every right reply.
    pub expect_body: Option<Vec<u8>>,
    /// Compare generated content byte by byte, where the protocol has some.
    pub verify: bool,
    /// Cookies and redirects, where the protocol has them.
    pub visit: VisitOptions,
    /// Each connection carries a single request, and the server may be informed.
    pub single_request: bool,
    /// Requests are for pages, and the replies are searched for further parts.
    pub pages: bool,
    /// Give each request a unique [name](pitot_durability::BLANK_NAME). The user puts it into a path; protocols with a place for it
    /// write a blank one there.
    pub durability: bool,
    /// The version of HTTP.
    pub http: HttpVersion,
    /// Streams per HTTP/2 connection; where cookies are kept, each is a user. 0 counts as 1.
    pub streams: u16,
}

impl ClientOptions {
    /// The headers of a request: its own, and those of all requests that it does not replace.
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
    /// HTTP/2 (RFC 9113), with prior knowledge.
    Http2,
}

impl HttpVersion {
    /// As in `--http`.
    pub const fn name(self) -> &'static str {
        match self {
            HttpVersion::Http1 => "1.1",
            HttpVersion::Http2 => "2",
        }
    }
}
