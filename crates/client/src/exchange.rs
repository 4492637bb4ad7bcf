/// Decides which request comes next.
#[derive(Clone, Copy, Debug)]
pub struct Draw {
    /// Uniform over all values; several choices can be taken from it.
    pub random: u64,
    /// The number of the request in the run, from 0.
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

/// The result of [`ClientConn::receive`](super::protocol::ClientConn::receive) got.
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
    /// The TLS handshake is complete; the greeting of the protocol comes next.
    Secured(Handshake),
    /// The greetings are over.
    Ready,
    /// The reply to the oldest request is complete.
    Reply(Reply),
    /// The first bytes of the reply to this request have come, counted from the oldest unanswered one. Only connections
    /// with [layers](super::protocol::ClientConn::has_layers) report this.
    Began(u16),
    /// The reply to this request, counted from the oldest unanswered one, is complete.
    ReplyTo(u16, Reply),
    /// This request, counted from the oldest unanswered one, has ended without a reply, for this reason. The connection stays
    /// usable.
    Failed(u16, &'static str),
    /// The server allows so many requests in flight on this connection.
    Limit(u16),
    /// The server takes no more requests on this connection. It has not processed so many of the last ones: they are sent again
    /// on the next connection ([`ClientConn::repeat`](super::protocol::ClientConn::repeat)).
    Retiring(u16),
}

/// The result of a TLS handshake. Numbers are those of IANA's registries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handshake {
    /// The version, 0x0304 for TLS 1.3.
    pub version: u16,
    /// The cipher suite.
    pub cipher: u16,
    /// The protocol chosen by ALPN (RFC 7301), if any.
    pub alpn: Option<&'static str>,
    /// The session was resumed: no certificates were sent and no signatures made.
    pub resumed: bool,
}

/// How a protocol that begins in plain text asks for TLS. The server answers with one byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StartTls {
    /// What is sent first.
    pub request: &'static [u8],
    /// The answer behind which the handshake begins.
    pub yes: u8,
    /// The answer of a server without TLS.
    pub no: u8,
    /// Check the server's certificate.
    pub verify: bool,
}

/// The protocol to ask for in the TLS extension ALPN (RFC 7301).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alpn {
    /// The registered name, such as `h2`.
    pub name: &'static str,
    /// A connection is useless if the server has not chosen it.
    pub required: bool,
}

/// A complete reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    /// Whether the reply is right.
    pub verdict: Verdict,
    /// The status; 0 if the protocol has none that is worth counting.
    pub status: u16,
    /// Whether the connection can be used again.
    pub persists: bool,
    /// Bytes of content: the body, without chunks and frames but still compressed; values and rows of protocols without bodies;
    /// 0 for a reply that is only a status.
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
    /// The expected number of bytes, but other bytes.
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
    /// A violation that the protocol has a name for.
    Named(&'static str),
    /// The TLS handshake failed, by this name.
    Handshake(&'static str),
}

impl Verdict {
    /// Keeps the first thing that is wrong with a reply.
    pub(crate) fn worsen(&mut self, verdict: Verdict) {
        if *self == Verdict::Right {
            *self = verdict;
        }
    }

    /// Returns the verdict and begins the next with [`Verdict::Right`].
    pub(crate) fn take(&mut self) -> Verdict {
        std::mem::replace(self, Verdict::Right)
    }
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
