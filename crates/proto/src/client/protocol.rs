use super::exchange::{Draw, Fault, Opening, Received, Reply, Tag};
use super::outgoing::Outgoing;

/// A protocol with the requests of one run. All connections of all threads share it.
pub trait ClientProtocol: Send + Sync {
    /// The state of one connection. It serves all connections that follow each other in one place: it is made once
    /// and [`ClientConn::open`] sets it back.
    fn connect(&self) -> Box<dyn ClientConn>;

    /// The bytes that are sent for requests are all known before the run, so that no request is longer than this.
    /// None if requests are made as they are needed.
    fn request_bytes_max(&self) -> Option<usize>;

    /// What is to be done once before the run, on a connection of its own, such as to fill a cache.
    fn preload(&self) -> Option<Box<dyn Preload>>;
}

/// A conversation that comes before a run. It is not measured.
pub trait Preload: Send {
    /// Takes what has arrived since the last call, nothing at first, and appends what is to be sent to `out`; true once
    /// all is done. It wants more input if it is neither done nor has anything to send.
    ///
    /// # Errors
    /// One line, if the server will not have it.
    fn step(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<bool, String>;
}

/// The client's side of one connection.
///
/// The caller counts requests and keeps them in order: `tag` always names the oldest one that is not answered.
pub trait ClientConn: Send {
    /// A new connection is there. What an earlier one left behind is forgotten; a client that speaks first greets.
    fn open(&mut self, out: &mut Outgoing) -> Opening {
        let _ = out;
        Opening::Ready
    }

    /// Writes the next request. A request may take several exchanges; [`ClientConn::receive`] writes the later ones.
    fn request(&mut self, draw: Draw, out: &mut Outgoing) -> Tag;

    /// Takes input, which starts with whatever an earlier call left unconsumed. `tag` is the oldest unanswered request,
    /// or none if nothing is asked.
    ///
    /// It is called again with the rest until it answers [`Progress::More`]; what it has not consumed then is shown to
    /// it again with more behind it. A call consumes no byte beyond the end of a reply.
    ///
    /// # Errors
    /// Bytes that the protocol does not allow here. The connection is of no use any more.
    fn receive(&mut self, tag: Option<Tag>, input: &[u8], out: &mut Outgoing) -> Result<Received, Fault>;

    /// The server has closed the connection in order. A reply that ends with its connection is complete now; to any
    /// other unanswered request there is none.
    fn end_of_input(&mut self, tag: Option<Tag>) -> Option<Reply> {
        let _ = tag;
        None
    }

    /// What the protocol has counted by itself, such as hits and misses, on all connections in this place so far.
    fn counts(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
}

/// One request to be built, as the user wrote it. Protocols without methods and bodies look at the path only.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestSpec {
    /// `GET`.
    pub method: String,
    /// What follows the authority in a URL.
    pub path: String,
    /// How often it is chosen, relative to the others.
    pub weight: f64,
    /// The body; empty for none.
    pub body: Vec<u8>,
}

/// What a user may set for a protocol. Each protocol reads its own fields.
#[derive(Clone, Debug, Default)]
pub struct ClientOptions {
    /// The requests; at least one.
    pub requests: Vec<RequestSpec>,
    /// Take the requests in turn instead of by their weights.
    pub in_turn: bool,
    /// Headers to add to each request, or to replace the standard ones.
    pub headers: Vec<(String, String)>,
    /// Statuses that count as right; empty for the protocol's own choice.
    pub expect_status: Vec<std::ops::RangeInclusive<u16>>,
    /// The content of every right reply.
    pub expect_body: Option<Vec<u8>>,
    /// Compare generated content (blob, and `/bytes/<n>` of http) with what it must be.
    pub verify: bool,
    /// Each connection carries a single request, and the server may know.
    pub single_request: bool,
}
