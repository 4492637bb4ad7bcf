//! The interface between protocols and servers.

use std::any::Any;
use std::fmt;
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};

use crate::{Exchange, FileHandle, StoreError, Upload};

/// A protocol with the state that all its connections share (a site's options, a cache's items).
pub trait Protocol: Send + Sync {
    /// Creates the state of a new connection. It should be small: an idle connection is little more than this.
    fn connect(&self) -> Box<dyn ServerConn>;

    /// True if connections need the address of their peer, which costs the driver a system call per connection.
    fn wants_peer(&self) -> bool {
        false
    }
}

/// The protocol of the server's side of one connection: bytes in, bytes and requests to its driver out.
///
/// [`Connection`](crate::Connection) is its caller: it lends the input to the core and keeps what was not consumed; the
/// core never copies input that it can see again. `dyn` is deliberate: one indirect call per read costs about a
/// nanosecond, and it keeps a protocol to one file and one registry entry.
pub trait ServerConn: Send {
    /// Sets the address of the peer; called first, if the protocol needs it and it is known.
    fn peer_is(&mut self, peer: IpAddr) {
        let _ = peer;
    }

    /// Called once, before any input. A protocol in which the server speaks first greets here.
    fn open(&mut self, cx: &Context<'_>, exchange: &mut Exchange) -> Next {
        let _ = (cx, exchange);
        Next::Read
    }

    /// Takes input, which starts with whatever an earlier call left unconsumed.
    ///
    /// It is called again with the rest as long as it consumes bytes and returns [`Next::Read`]; when it consumes
    /// nothing it needs more bytes than it was shown. After [`Next::Flush`] it is called with the rest, which may be
    /// empty, once the outbox has drained. On a [`Violation`] what it has put in the outbox (an error reply) is
    /// still sent, and the connection is closed.
    fn receive(&mut self, cx: &Context<'_>, input: &[u8], exchange: &mut Exchange)
    -> Result<Step, Violation>;

    /// The result of a [`Next::Open`]: the file, or why it cannot be opened. No `receive` comes in between.
    ///
    /// The file is lent, so a hit in the open-file cache touches no reference count unless the reply refers to the file.
    fn opened(
        &mut self,
        cx: &Context<'_>,
        answer: Result<&Opened, OpenError>,
        exchange: &mut Exchange,
    ) -> Next {
        let _ = (cx, answer, exchange);
        Next::Close
    }

    /// The result of a [`Next::Store`]: the upload so far, `None` once it is complete, or why it could not be stored. No `receive`
    /// comes in between.
    fn stored(
        &mut self,
        cx: &Context<'_>,
        answer: Result<Option<Upload>, StoreError>,
        exchange: &mut Exchange,
    ) -> Next {
        let _ = (cx, answer, exchange);
        Next::Close
    }

    /// The time of a [`Next::Delay`] has passed. No `receive` comes in between.
    fn delayed(&mut self, cx: &Context<'_>, exchange: &mut Exchange) -> Next {
        let _ = (cx, exchange);
        Next::Close
    }

    /// The peer has finished sending (it may still read). The default closes once everything is sent.
    fn end_of_input(&mut self, cx: &Context<'_>, exchange: &mut Exchange) -> Next {
        let _ = (cx, exchange);
        Next::Close
    }

    /// A timeout of the peer; the core may add a last reply before the connection is closed.
    fn timed_out(&mut self, cx: &Context<'_>, exchange: &mut Exchange) {
        let _ = (cx, exchange);
    }

    /// The connection is about to be closed without an error: it was idle for too long, or the server is stopping. A last reply is
    /// sent as far as the socket accepts it at once.
    fn dismissed(&mut self, cx: &Context<'_>, exchange: &mut Exchange) {
        let _ = (cx, exchange);
    }

    /// The peer used this protocol without the server's layer (TLS). The core may report this before the connection is closed.
    fn unsecured(&mut self, cx: &Context<'_>, exchange: &mut Exchange) {
        let _ = (cx, exchange);
    }

    /// The file of a queued reply cannot be read, and the reply was removed from the outbox with everything after it: the
    /// core may write an error reply instead before the connection is closed.
    fn file_failed(&mut self, cx: &Context<'_>, error: OpenError, exchange: &mut Exchange) {
        let _ = (cx, error, exchange);
    }

    /// True between the first consumed byte of a request and its last, as in a body. (For a request whose bytes are
    /// all still unconsumed it may be false: the caller sees the unconsumed input.)
    fn mid_request(&self) -> bool {
        false
    }
}

/// The context of a call: time and the state of the server.
#[derive(Debug)]
pub struct Context<'a> {
    /// Seconds since 1970-01-01 UTC.
    pub unix_s: u64,
    /// The same time as an IMF-fixdate (RFC 9110 section 5.6.7), formatted once a second.
    pub date: &'a str,
    /// True if the server is stopping: answer the received requests, then close.
    pub stopping: bool,
}

/// How much a core consumed, and what it needs next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Consumed bytes of the input.
    pub consumed: usize,
    /// What to do now.
    pub next: Next,
}

impl Step {
    /// Consumed `consumed` bytes; read on.
    pub const fn read(consumed: usize) -> Step {
        Step { consumed, next: Next::Read }
    }
}

/// What a core needs next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// More input.
    Read,
    /// Send the outbox until it is empty, then call `receive` with the rest of the input. The only back-pressure.
    Flush,
    /// Open the file at [`Exchange::path`], then call `opened`.
    Open,
    /// Carry out [`Exchange::step`], then call `stored`.
    Store,
    /// Send the outbox, let [`Exchange::delay`] pass, then call `delayed`.
    Delay,
    /// Send the outbox, then put the server's layer (TLS) on the connection. It gets all further input,
    /// including input that has already arrived.
    Secure,
    /// Send the outbox, then close.
    Close,
}

/// The peer violated the protocol. The connection is closed once the outbox is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The kind, for the counters.
    pub kind: ViolationKind,
}

/// Kinds of violation, as the server counts them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ViolationKind {
    /// Malformed input.
    Malformed,
    /// Input that exceeds a limit.
    TooLarge,
}

impl From<ViolationKind> for Violation {
    fn from(kind: ViolationKind) -> Violation {
        Violation { kind }
    }
}

/// A file that the server opened for a protocol, under one path: the server's open-file cache keeps one of these for
/// each path and lends it to every connection that asks for that path.
#[derive(Debug)]
pub struct Opened {
    /// For [`Outbox::file`](crate::Outbox::file).
    pub handle: FileHandle,
    /// The file's metadata.
    pub meta: FileMeta,
    /// Values that the protocol has computed from it. A new file starts with `Derived::default()`.
    pub derived: Derived,
}

/// The metadata of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileMeta {
    /// Length in bytes.
    pub size: u64,
    /// Last modification, seconds since 1970-01-01 UTC.
    pub modified_s: u64,
    /// Its nanoseconds.
    pub modified_ns: u32,
    /// The inode number: with size and time it makes a validator.
    pub inode: u64,
    /// The whole content (`size` bytes), if the server has cached it.
    pub content: Option<Arc<[u8]>>,
}

/// A value that a protocol computes once from a file and its path, such as a formatted reply head, and that is kept as
/// long as the server keeps the file open.
#[derive(Default)]
pub struct Derived(OnceLock<Box<dyn Any + Send + Sync>>);

impl Derived {
    /// The value, computed on the first call.
    ///
    /// # Panics
    /// If an earlier call has stored a value of another type: a file store serves one protocol.
    pub fn get_or_make<T: Any + Send + Sync>(&self, make: impl FnOnce() -> T) -> &T {
        let value = self.0.get_or_init(|| Box::new(make()));
        value.downcast_ref().expect("a file store serves one protocol")
    }
}

impl fmt::Debug for Derived {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.get().is_some() { "Derived(made)" } else { "Derived(not made)" })
    }
}

/// Why a file could not be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenError {
    /// No such file (ENOENT, ENOTDIR, ELOOP), or a path that leaves the root.
    NotFound,
    /// Not readable (EACCES, EPERM).
    Forbidden,
    /// It is a directory.
    IsDirectory,
    /// Neither file nor directory: a socket, a device, a fifo.
    NotRegular,
    /// The name is too long for the file system.
    NameTooLong,
    /// Out of descriptors or memory for now (EMFILE, ENFILE, ENOMEM), or the data server is not running.
    Unavailable,
    /// Any other error.
    Failed,
}
