//! The client's side of the protocols: what a load generator sends and how it judges what comes back.
//!
//! The same rule as on the server's side holds: bytes in, bytes out, and no descriptor, clock or thread. A protocol is
//! one file here and one entry in [`CLIENTS`].
//!
//! Requests are built once, before the run, and live as long as the process ([`Outgoing::fixed`]), so that sending one
//! costs no copy and the kernel may read it at any time. Protocols whose requests differ each time write them into the
//! caller's scratch buffer instead ([`Outgoing::bytes`]).

mod blob;
mod busy;
mod cache;
mod choice;
mod http;
mod memcache;
mod outgoing;
mod redis;
mod registry;
pub mod smtp;
mod url;

pub use choice::RequestChoice;
pub use outgoing::{Outgoing, Payload};
pub use registry::{Build, CLIENTS, ClientEntry, find};
pub use url::{Url, UrlError};

/// A protocol with the requests of one run. All connections of all threads share it.
pub trait ClientProtocol: Send + Sync {
    /// The state of one connection. It serves all connections that follow each other in one place: it is made once
    /// and [`ClientConn::open`] sets it back.
    fn connect(&self) -> Box<dyn ClientConn>;

    /// The most requests that one connection carries, where the protocol sets a limit.
    fn requests_per_connection_max(&self) -> Option<u64> {
        None
    }

    /// The bytes that are sent for requests are all known before the run, so that no request is longer than this.
    /// None if requests are made as they are needed.
    fn request_bytes_max(&self) -> Option<usize> {
        None
    }

    /// What is to be done once before the run, on a connection of its own, such as to fill a cache.
    fn prepare(&self) -> Option<Box<dyn Preparation>> {
        None
    }
}

/// A conversation that comes before a run. It is not measured.
pub trait Preparation: Send {
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

/// What decides which request comes next.
#[derive(Clone, Copy, Debug)]
pub struct Draw {
    /// Evenly distributed over all values; several choices can be cut from it.
    pub random: u64,
    /// Which request of the run this is; each number comes once.
    pub index: u64,
}

/// What a protocol wants to know of a request when its reply arrives, such as its place in a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tag(pub u32);

/// What an opened connection waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// Nothing: requests may be sent.
    Ready,
    /// The end of an exchange of greetings, which [`Progress::Ready`] will tell.
    Greeting,
}

/// How far a call of [`ClientConn::receive`] got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// Bytes of the input that are done with.
    pub consumed: usize,
    /// What they meant.
    pub progress: Progress,
}

/// What input meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Nothing yet; more is needed.
    More,
    /// The greetings are over.
    Ready,
    /// The oldest request is answered.
    Reply(Reply),
}

/// A complete reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    /// Whether it is the right one.
    pub verdict: Verdict,
    /// Whether the connection can be used again.
    pub persists: bool,
}

/// Whether a complete reply is what was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is.
    Right,
    /// A status that is not among the expected ones.
    Status(u16),
    /// More or fewer bytes than expected.
    Length,
    /// As many bytes as expected, but not these.
    Bytes,
    /// The server said that it would not, under a word for the table of errors.
    Refused(&'static str),
}

/// How a server broke the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Bytes that are not the protocol.
    Malformed,
    /// Something is longer than its limit.
    TooLarge,
    /// Bytes that nobody has asked for, such as a reply that goes on after its end.
    Unasked,
}

impl Fault {
    /// The word under which it is counted.
    pub const fn word(self) -> &'static str {
        match self {
            Fault::Malformed => "malformed",
            Fault::TooLarge => "too-large",
            Fault::Unasked => "unasked-bytes",
        }
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
