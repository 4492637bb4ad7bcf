//! A relay's interface to the data process.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use pitot_meter::Nanos;
use pitot_proto::{OpenError, Outbox, StoreError, StoreStep, Upload};
use pitot_sys::readiness::Interest;
use pitot_sys::{Token, connect};

use super::frame::{self, Failure, Frame, Stat};
use super::peer::{Peer, Received};
use crate::store::Stored;

/// Limit on connections between a relay and its data process.
pub const LINKS_MAX: usize = 64;

/// How a relay connects to its data process.
#[derive(Clone, Copy, Debug)]
pub struct RemotePlan {
    /// The address that the data process listens on.
    pub addr: SocketAddr,
    /// The secret that identifies a relay.
    pub secret: [u8; frame::SECRET_BYTES],
    /// Number of connections to open.
    pub links: usize,
}

/// The window of a stream in bytes, which bounds the memory of a connection in the relay.
const WINDOW_BYTES: u32 = 256 << 10;
/// How long a relay waits before it tries again to connect to a data process that is not running.
pub const RETRY: Duration = Duration::from_millis(20);

/// A file of the data process. Every read names the state of the file, so neither side keeps anything open for the
/// other, and a reply can be continued by a data process that was restarted in the middle of it.
#[derive(Debug)]
pub struct RemoteFile {
    /// Path below the root.
    pub path: Box<[u8]>,
    /// Its state when it was opened.
    pub stat: Stat,
}

/// The connections to the data process.
#[derive(Debug)]
pub struct Remote {
    plan: RemotePlan,
    links: Vec<Link>,
    /// The requests in flight, by the token of the connection: at most one for each.
    streams: HashMap<Token, Stream>,
    retry_at: Nanos,
}

#[derive(Debug, Default)]
struct Link {
    peer: Option<Peer>,
    welcome: bool,
}

#[derive(Debug)]
struct Stream {
    link: usize,
    asked: Asked,
}

#[derive(Debug)]
enum Asked {
    Look(Box<[u8]>),
    Read {
        left: u64,
        arrived: VecDeque<Vec<u8>>,
        taken: u32,
    },
    /// An upload, all of whose steps use the same link.
    Store {
        path: Box<[u8]>,
        is_last: bool,
    },
}

/// The relay's handle of an upload, whose state is in the data process.
#[derive(Debug)]
struct Begun;

/// An answer for a connection.
#[derive(Debug)]
pub enum Event {
    /// The file.
    Known(Box<[u8]>, Stat),
    /// The file cannot be opened.
    NotKnown(OpenError),
    /// Bytes of the requested range have arrived.
    Bytes,
    /// The range cannot be read to its end.
    Failed(Failure),
    /// The outcome of a step of storing.
    Stored(Result<Stored, StoreError>),
}

/// The available part of a range.
#[derive(Debug)]
pub enum Got {
    /// The next bytes.
    Bytes(Vec<u8>),
    /// Nothing yet; an event follows.
    Nothing,
}

impl Remote {
    /// Without connections; [`Remote::connect`] opens them.
    pub fn new(plan: RemotePlan) -> Remote {
        let links = (0..plan.links).map(|_| Link::default()).collect();
        Remote { plan, links, streams: HashMap::new(), retry_at: Nanos::ZERO }
    }

    /// True if a connection is missing, so that [`Remote::connect`] should be called after [`RETRY`].
    pub fn is_short(&self) -> bool {
        self.links.iter().any(|link| link.peer.is_none())
    }

    /// Starts to open the missing connections, unless that was tried less than [`RETRY`] ago. Returns their indices.
    pub fn connect(&mut self) -> Vec<usize> {
        let now = pitot_meter::now();
        if !self.is_short() || now < self.retry_at {
            return Vec::new();
        }
        self.retry_at = now + RETRY.into();
        let mut made = Vec::new();
        for (i, link) in self.links.iter_mut().enumerate().filter(|(_, link)| link.peer.is_none()) {
            let Ok(socket) = connect::open(self.plan.addr, None) else { continue };
            if connect::start(&socket, self.plan.addr).is_ok() {
                let mut peer = Peer::new(socket);
                peer.write(0, &Frame::Hello { secret: self.plan.secret });
                *link = Link { peer: Some(peer), welcome: false };
                made.push(i);
            }
        }
        made
    }

    /// True if any connection is up.
    pub fn is_up(&self) -> bool {
        self.links.iter().any(|link| link.welcome)
    }

    /// The link for a client's connection, one of those that are up.
    fn link_for(&self, token: Token) -> Option<usize> {
        let up: Vec<usize> = (0..self.links.len()).filter(|&i| self.links[i].welcome).collect();
        (!up.is_empty()).then(|| up[token.index() as usize % up.len()])
    }

    /// Requests the state of a file.
    ///
    /// # Errors
    /// The data process is not running.
    pub fn look(&mut self, token: Token, path: Box<[u8]>) -> Result<(), OpenError> {
        let link = self.link_for(token).ok_or(OpenError::Unavailable)?;
        let peer = self.links[link].peer.as_mut().ok_or(OpenError::Unavailable)?;
        peer.write(pack(token), &Frame::Look { path: &path });
        self.streams.insert(token, Stream { link, asked: Asked::Look(path) });
        Ok(())
    }

    /// The next bytes of a range, which is requested if it is new.
    ///
    /// # Errors
    /// The data process is not running.
    pub fn read(&mut self, token: Token, file: &RemoteFile, range: Range<u64>) -> Result<Got, OpenError> {
        if let Some(Stream { link, asked: Asked::Read { left, arrived, taken } }) =
            self.streams.get_mut(&token)
        {
            let Some(bytes) = arrived.pop_front() else { return Ok(Got::Nothing) };
            *taken += bytes.len() as u32;
            if *left == 0 && arrived.is_empty() {
                self.streams.remove(&token);
            } else if *taken >= WINDOW_BYTES / 2
                && let Some(peer) = &mut self.links[*link].peer
            {
                peer.write(pack(token), &Frame::Credit(std::mem::take(taken)));
            }
            return Ok(Got::Bytes(bytes));
        }
        let link = self.link_for(token).ok_or(OpenError::Unavailable)?;
        let peer = self.links[link].peer.as_mut().ok_or(OpenError::Unavailable)?;
        let (offset, len) = (range.start, range.end - range.start);
        let frame = Frame::Read { stat: file.stat, offset, len, window: WINDOW_BYTES, path: &file.path };
        peer.write(pack(token), &frame);
        let asked = Asked::Read { left: len, arrived: VecDeque::new(), taken: 0 };
        self.streams.insert(token, Stream { link, asked });
        Ok(Got::Nothing)
    }

    /// Sends a step of an upload.
    ///
    /// # Errors
    /// The data process is not running, or has been restarted since the upload began.
    pub fn store(&mut self, token: Token, path: &[u8], step: &StoreStep) -> Result<(), StoreError> {
        let begins = step.upload.is_none();
        let is_last = step.is_last;
        let link = match self.streams.get_mut(&token) {
            Some(Stream { link, asked: Asked::Store { is_last: was_last, .. } }) if !begins => {
                *was_last = is_last;
                Some(*link)
            }
            None if begins => self.link_for(token),
            _ => None,
        };
        let peer = link.and_then(|link| self.links[link].peer.as_mut());
        let (Some(link), Some(peer)) = (link, peer) else { return Err(StoreError::Unavailable) };
        let first_path = if begins { path } else { &[] };
        peer.write(pack(token), &Frame::Store { path: first_path, is_last, bytes: &step.bytes });
        if begins {
            self.streams.insert(token, Stream { link, asked: Asked::Store { path: path.into(), is_last } });
        }
        Ok(())
    }

    /// Cancels the request of a connection, which was closed or needs no more.
    pub fn cancel(&mut self, token: Token) {
        if let Some(stream) = self.streams.remove(&token)
            && let Some(peer) = &mut self.links[stream.link].peer
        {
            peer.write(pack(token), &Frame::Cancel);
        }
    }

    /// The socket of a link, if it has one.
    pub fn peer(&mut self, link: usize) -> Option<&mut Peer> {
        self.links.get_mut(link)?.peer.as_mut()
    }

    /// The indices of all links.
    pub fn links(&self) -> Range<usize> {
        0..self.links.len()
    }

    /// Receives from a link. False if the link is broken and has to be dropped.
    pub fn receive(&mut self, link: usize, events: &mut Vec<(Token, Event)>) -> bool {
        let Link { peer: Some(peer), welcome } = &mut self.links[link] else { return true };
        let streams = &mut self.streams;
        loop {
            let received = peer.receive(|stream, frame| {
                if frame == Frame::Welcome {
                    *welcome = true;
                } else {
                    take(streams, unpack(stream), frame, events);
                }
            });
            match received {
                Ok(Received::ShareUsed) => {}
                Ok(Received::All) => return true,
                Err(_) => return false,
            }
        }
    }

    /// Drops a link and fails the requests on it. Returns its socket, so that the caller can stop watching it.
    pub fn give_up(&mut self, link: usize, events: &mut Vec<(Token, Event)>) -> Option<Peer> {
        let lost = std::mem::take(&mut self.links[link]);
        for (token, stream) in self.streams.extract_if(|_, stream| stream.link == link) {
            events.push(match stream.asked {
                Asked::Look(_) => (token, Event::NotKnown(OpenError::Unavailable)),
                Asked::Read { .. } => (token, Event::Failed(Failure::Open(OpenError::Unavailable))),
                Asked::Store { .. } => (token, Event::Stored(Err(StoreError::Unavailable))),
            });
        }
        lost.peer
    }
}

/// Handles a frame of a stream. Frames of unknown streams are ignored, as those were cancelled.
fn take(
    streams: &mut HashMap<Token, Stream>,
    token: Token,
    frame: Frame<'_>,
    events: &mut Vec<(Token, Event)>,
) {
    let Some(stream) = streams.get_mut(&token) else { return };
    match (&mut stream.asked, frame) {
        (Asked::Look(path), Frame::Known(stat)) => {
            events.push((token, Event::Known(std::mem::take(path), stat)));
            streams.remove(&token);
        }
        (Asked::Look(_), Frame::Failed(failure)) => {
            let error = match failure {
                Failure::Open(error) => error,
                Failure::Changed | Failure::Store(_) => OpenError::Failed,
            };
            events.push((token, Event::NotKnown(error)));
            streams.remove(&token);
        }
        (Asked::Read { left, arrived, .. }, Frame::Data(bytes)) if bytes.len() as u64 <= *left => {
            *left -= bytes.len() as u64;
            if arrived.is_empty() {
                events.push((token, Event::Bytes));
            }
            arrived.push_back(bytes.to_vec());
        }
        (Asked::Read { .. }, Frame::Failed(failure)) => {
            events.push((token, Event::Failed(failure)));
            streams.remove(&token);
        }
        (Asked::Store { path, is_last }, Frame::Stored) => {
            if *is_last {
                events.push((token, Event::Stored(Ok(Stored::Done(std::mem::take(path))))));
                streams.remove(&token);
            } else {
                events.push((token, Event::Stored(Ok(Stored::Begun(Upload(Box::new(Begun)))))));
            }
        }
        (Asked::Store { .. }, Frame::Failed(failure)) => {
            let error = match failure {
                Failure::Store(error) => error,
                Failure::Open(_) | Failure::Changed => StoreError::Failed,
            };
            events.push((token, Event::Stored(Err(error))));
            streams.remove(&token);
        }
        // Other frames are not valid here and are ignored.
        _ => {}
    }
}

/// The file and range that the outbox needs next.
pub fn file_to_read(out: &Outbox) -> Option<(Arc<RemoteFile>, Range<u64>)> {
    let (handle, range) = out.file_to_read()?;
    Some((Arc::clone(&handle.0).downcast().ok()?, range))
}

/// Sends what is queued on a connection, and returns the interest to register.
///
/// # Errors
/// The connection is broken.
pub fn flush(peer: &mut Peer) -> io::Result<Interest> {
    peer.flush()?;
    Ok(if peer.unsent() > 0 { Interest::ReadWrite } else { Interest::Read })
}

/// The stream name of a token.
fn pack(token: Token) -> u64 {
    u64::from(token.generation()) << 32 | u64::from(token.index())
}

fn unpack(bits: u64) -> Token {
    Token::new(bits as u32, (bits >> 32) as u32)
}
