/// What decides which request comes next.
#[derive(Clone, Copy, Debug)]
pub struct Draw {
    /// Evenly distributed over all values; several choices can be cut from it.
    pub random: u64,
    /// Which request of the run this is; each number comes once.
    pub index: u64,
}

/// What a protocol needs to know about a request when its reply arrives, such as its index in a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tag(pub u32);

/// What an opened connection waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// Nothing: requests may be sent.
    Ready,
    /// The end of an exchange of greetings, which [`Progress::Ready`] reports.
    Greeting,
}

/// How far a call of [`ClientConn::receive`](super::protocol::ClientConn::receive) got.
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
    /// A layer below the protocol has agreed on keys with the server; the greetings of the protocol come next.
    Secured(Handshake),
    /// The greetings are over.
    Ready,
    /// The oldest request is answered.
    Reply(Reply),
    /// The first bytes of the reply to this request have come, counted from the oldest unanswered one. Only a connection
    /// with [layers](super::protocol::ClientConn::has_layers) says so.
    Began(u16),
    /// This request is answered, counted from the oldest unanswered one; those before it are not.
    ReplyTo(u16, Reply),
    /// This request, counted from the oldest unanswered one, has ended without a reply, for this reason; the connection
    /// goes on.
    Failed(u16, &'static str),
    /// The server allows no more than so many requests under way on this connection.
    Limit(u16),
    /// The server takes no more requests on this connection. So many of the last ones were not looked at: they are sent
    /// again on the next connection ([`ClientConn::repeat`](super::protocol::ClientConn::repeat)).
    Retiring(u16),
}

/// What the two ends of a TLS connection agreed on. Numbers are those of IANA's registries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handshake {
    /// The version, 0x0304 for TLS 1.3.
    pub version: u16,
    /// The cipher suite.
    pub cipher: u16,
    /// The protocol that was chosen by ALPN (RFC 7301), if any.
    pub alpn: Option<&'static str>,
    /// An earlier session went on, so that neither certificates were sent nor signatures made.
    pub resumed: bool,
}

/// How a protocol that begins without TLS asks for it. The server answers with one byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StartTls {
    /// What is sent first.
    pub request: &'static [u8],
    /// The answer behind which the handshake begins.
    pub yes: u8,
    /// The answer of a server without TLS.
    pub no: u8,
    /// The server's certificate is looked at.
    pub verify: bool,
}

/// What a protocol asks for in the TLS extension ALPN (RFC 7301).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alpn {
    /// The registered name, such as `h2`.
    pub name: &'static str,
    /// A connection on which the server has not chosen it is no use.
    pub required: bool,
}

/// A complete reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    /// Whether it is the right one.
    pub verdict: Verdict,
    /// Its status, right or wrong; 0 if the protocol has none that is worth counting.
    pub status: u16,
    /// Whether the connection can be used again.
    pub persists: bool,
    /// The bytes that were asked for: the body, decoded from chunks and frames and not from a compression; values and rows of
    /// protocols without bodies; 0 where a reply has nothing but words.
    pub content: u64,
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
    /// The server refused the request; the name goes into the table of errors.
    Refused(&'static str),
}

/// How a server broke the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Bytes that violate the protocol.
    Malformed,
    /// Something is longer than its limit.
    TooLarge,
    /// Bytes that were not requested, such as more after the end of a reply.
    Unasked,
    /// One that the protocol has a name for.
    Named(&'static str),
    /// A layer below the protocol could not begin: its name for what went wrong.
    Handshake(&'static str),
}

impl Fault {
    /// The name under which it is counted.
    pub const fn word(self) -> &'static str {
        match self {
            Fault::Malformed => "malformed",
            Fault::TooLarge => "too-large",
            Fault::Unasked => "unasked-bytes",
            Fault::Named(word) | Fault::Handshake(word) => word,
        }
    }
}
