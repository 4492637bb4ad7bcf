//! A server without sockets: a pump and a file store in memory. For tests, fuzz targets and benchmarks.
//!
//! It keeps every promise that [`ServerConn`] is given by a caller, and checks those that it gives in return.

pub mod http;
pub mod memcache;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use crate::{
    Context, DeliverError, Derived, FileHandle, FileMeta, Next, OpenError, Opened, Outbox, Parcel, Protocol,
    ServerConn, ViolationKind,
};

/// The time of day in the harness: that of the examples in RFC 9110.
pub const UNIX_S: u64 = 784_111_777;
/// The same as a date.
pub const DATE: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
/// When the files of [`Files::add`] were modified, unless they say otherwise.
pub const MODIFIED_S: u64 = 784_000_000;

/// A core that leaves this much of its input unconsumed and asks for more has no bound.
const TAIL_MAX: usize = 64 * 1024;
/// What was sent is kept up to this length, unless a test sets another; beyond it bytes are only counted.
const KEPT_MAX: usize = 256 * 1024;

/// Files by path, or why they cannot be opened. What is not in it is not found.
#[derive(Debug, Default)]
pub struct Files(BTreeMap<Vec<u8>, Result<Opened, OpenError>>);

/// How a server holds a file's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// In memory, beside the meta data.
    InMemory,
    /// On disk: replies point at it.
    OnDisk,
}

impl Files {
    /// No files.
    pub fn new() -> Files {
        Files::default()
    }

    /// Adds a file.
    pub fn add(&mut self, path: &str, content: &[u8], held: Held) -> &mut Files {
        self.add_modified(path, content, held, MODIFIED_S)
    }

    /// Adds a file that was modified at a given time.
    pub fn add_modified(&mut self, path: &str, content: &[u8], held: Held, modified_s: u64) -> &mut Files {
        let content: Arc<[u8]> = content.into();
        let meta = FileMeta {
            size: content.len() as u64,
            modified_s,
            modified_ns: 5,
            inode: 0x11,
            content: (held == Held::InMemory).then(|| Arc::clone(&content)),
        };
        let handle = FileHandle(Arc::new(content));
        self.0.insert(path.into(), Ok(Opened { handle, meta, derived: Derived::default() }));
        self
    }

    /// Adds a path that cannot be opened.
    pub fn add_error(&mut self, path: &str, error: OpenError) -> &mut Files {
        self.0.insert(path.into(), Err(error));
        self
    }

    /// Opens a file as a server would.
    ///
    /// # Panics
    /// If no core may ask for such a path.
    pub fn open(&self, path: &[u8]) -> Result<&Opened, OpenError> {
        for component in path.split(|&b| b == b'/') {
            let clean = !component.is_empty() && component[0] != b'.' && !component.contains(&0);
            assert!(clean, "a core asked for {:?}", String::from_utf8_lossy(path));
        }
        match self.0.get(path) {
            Some(Ok(opened)) => Ok(opened),
            Some(Err(error)) => Err(*error),
            None => Err(OpenError::NotFound),
        }
    }
}

/// How a connection came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The core closed it.
    Closed,
    /// The peer broke the protocol.
    Violation(ViolationKind),
}

/// One connection and its pump.
pub struct Pump<'a> {
    conn: Box<dyn ServerConn>,
    files: &'a Files,
    out: Outbox,
    tail: Vec<u8>,
    /// What was sent, up to a bound.
    pub sent: Vec<u8>,
    /// The bound.
    pub kept_max: usize,
    /// How much was sent.
    pub sent_len: u64,
    /// The replies that were counted.
    pub replies: u64,
    /// The messages that were delivered.
    pub mail: Vec<Vec<u8>>,
    /// What is to become of deliveries from now on, if they are to fail.
    pub deliver_error: Option<DeliverError>,
    /// How it ended, if it has.
    pub end: Option<End>,
    /// The server is stopping.
    pub stopping: bool,
    /// The time of day; it stands still unless it is set.
    pub unix_s: u64,
}

impl<'a> Pump<'a> {
    /// Opens a connection.
    pub fn new(protocol: &dyn Protocol, files: &'a Files) -> Pump<'a> {
        let mut pump = Pump {
            conn: protocol.connect(),
            files,
            out: Outbox::new(),
            tail: Vec::new(),
            sent: Vec::new(),
            kept_max: KEPT_MAX,
            sent_len: 0,
            replies: 0,
            mail: Vec::new(),
            deliver_error: None,
            end: None,
            stopping: false,
            unix_s: UNIX_S,
        };
        let next = pump.conn.open(&pump.context(), &mut pump.out);
        pump.after(next);
        pump
    }

    /// Tells whom the connection is with.
    pub fn peer_is(&mut self, peer: IpAddr) {
        self.conn.peer_is(peer);
    }

    /// Input arrives. After the end it is dropped.
    pub fn feed(&mut self, input: &[u8]) -> &mut Pump<'a> {
        self.tail.extend_from_slice(input);
        while self.end.is_none() && !self.tail.is_empty() {
            match self.conn.receive(&self.context(), &self.tail, &mut self.out) {
                Ok(step) => {
                    assert!(step.consumed <= self.tail.len(), "more was consumed than was there");
                    self.tail.drain(..step.consumed);
                    self.after(step.next);
                    if step.consumed == 0 && step.next == Next::Read {
                        assert!(self.tail.len() < TAIL_MAX, "the unconsumed input has no bound");
                        break;
                    }
                }
                Err(violation) => {
                    self.send();
                    self.end = Some(End::Violation(violation.kind));
                }
            }
        }
        self
    }

    /// The peer has finished sending.
    pub fn end_of_input(&mut self) -> &mut Pump<'a> {
        if self.end.is_none() {
            let next = self.conn.end_of_input(&self.context(), &mut self.out);
            self.after(next);
        }
        self
    }

    /// The peer has taken too long.
    pub fn time_out(&mut self) -> &mut Pump<'a> {
        if self.end.is_none() {
            self.conn.timed_out(&self.context(), &mut self.out);
            self.after(Next::Close);
        }
        self
    }

    /// The connection is closed although nothing is wrong with it.
    pub fn dismiss(&mut self) -> &mut Pump<'a> {
        if self.end.is_none() {
            self.conn.dismissed(&self.context(), &mut self.out);
            self.after(Next::Close);
        }
        self
    }

    /// True if the core says that it is in a request, or input waits that it has not consumed.
    pub fn mid_request(&self) -> bool {
        self.conn.mid_request() || !self.tail.is_empty()
    }

    fn context(&self) -> Context<'static> {
        Context { unix_s: self.unix_s, date: DATE, stopping: self.stopping }
    }

    fn after(&mut self, mut next: Next) {
        loop {
            next = match next {
                Next::Open => {
                    let answer = self.files.open(self.out.wanted_file());
                    self.conn.opened(&self.context(), answer, &mut self.out)
                }
                Next::Deliver => {
                    let answer = self.deliver();
                    self.conn.delivered(&self.context(), answer, &mut self.out)
                }
                _ => break,
            };
        }
        self.send();
        if next == Next::Close {
            self.end = Some(End::Closed);
        }
    }

    /// Does a step of a delivery, with a message in memory for a parcel.
    fn deliver(&mut self) -> Result<Option<Parcel>, DeliverError> {
        let (_, delivery) = self.out.delivery();
        let mut message = match delivery.parcel.take() {
            Some(parcel) => *parcel.0.downcast::<Vec<u8>>().expect("the harness made this parcel"),
            None => Vec::new(),
        };
        message.append(&mut delivery.bytes);
        if let Some(error) = self.deliver_error {
            return Err(error);
        }
        if !delivery.is_last {
            return Ok(Some(Parcel(Box::new(message))));
        }
        self.mail.push(message);
        Ok(None)
    }

    /// Sends all of the outbox, as a server does: gathered slices and file ranges in turn.
    fn send(&mut self) {
        let (sent, kept_max) = (&mut self.sent, self.kept_max);
        let mut keep = |bytes: &[u8]| {
            let room = kept_max.saturating_sub(sent.len());
            sent.extend_from_slice(&bytes[..bytes.len().min(room)]);
            room > bytes.len()
        };
        let mut has_room = true;
        while !self.out.is_empty() {
            let mut n = 0;
            if let Some((handle, range)) = self.out.front_file() {
                let content: &Arc<[u8]> = handle.0.downcast_ref().expect("the harness opened this file");
                has_room &= keep(&content[range.start as usize..range.end as usize]);
                n = range.end - range.start;
            } else {
                for slice in self.out.gather().slices() {
                    has_room &= keep(slice);
                    n += slice.len() as u64;
                }
            }
            assert!(n > 0, "the outbox holds nothing, but is not empty");
            // What is not kept need not be looked at.
            let n = if has_room { n } else { self.out.len() };
            self.sent_len += n;
            self.out.advance(n);
        }
        self.replies += u64::from(self.out.take_replies());
    }

    /// What came of the connection so far.
    pub fn outcome(&self) -> Outcome {
        Outcome {
            sent: self.sent.clone(),
            sent_len: self.sent_len,
            replies: self.replies,
            mail: self.mail.clone(),
            end: self.end,
            mid_request: self.mid_request(),
        }
    }
}

/// What came of one connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// What was sent, up to a bound.
    pub sent: Vec<u8>,
    /// How much was sent.
    pub sent_len: u64,
    /// The replies that were counted.
    pub replies: u64,
    /// The messages that were delivered.
    pub mail: Vec<Vec<u8>>,
    /// How it ended, if it has.
    pub end: Option<End>,
    /// It is in the middle of a request.
    pub mid_request: bool,
}

/// What comes of a connection on which `pieces` arrive one after the other.
pub fn exchange<'a>(
    protocol: &dyn Protocol,
    files: &Files,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> Outcome {
    let mut pump = Pump::new(protocol, files);
    for piece in pieces {
        pump.feed(piece);
    }
    pump.outcome()
}
