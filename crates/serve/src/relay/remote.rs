//! The data process as a relay's loop sees it.

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

/// Connections between a relay and its data process, at most.
pub const LINKS_MAX: usize = 64;

/// How a relay finds its data process.
#[derive(Clone, Copy, Debug)]
pub struct RemotePlan {
    /// Where the data process listens.
    pub addr: SocketAddr,
    /// What tells a relay from any other program that connects there.
    pub secret: [u8; frame::SECRET_BYTES],
    /// Connections that the relay opens.
    pub links: usize,
}

/// What may come of one file, for one connection, before it is given on: the bound on its memory in the relay.
const WINDOW_BYTES: u32 = 256 << 10;
/// How long a relay waits before it tries again to reach a data process that is away.
pub const RETRY: Duration = Duration::from_millis(20);

/// A file that the data process has looked at. Every read says which state of the file it means, so neither side keeps
/// anything open for the other, and a reply can be read on from a data process that was started in the middle of it.
#[derive(Debug)]
pub struct RemoteFile {
    /// Below the root.
    pub path: Box<[u8]>,
    /// As it was when it was looked at.
    pub stat: Stat,
}

/// The connections to the data process.
#[derive(Debug)]
pub struct Remote {
    plan: RemotePlan,
    links: Vec<Link>,
    /// What is asked for, by the token of the connection that did: one thing at a time.
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
    /// A file is being stored, all of whose steps go the same way.
    Store {
        path: Box<[u8]>,
        is_last: bool,
    },
}

/// What a connection has of a file that the data process has begun to store: nothing but the fact.
#[derive(Debug)]
struct Begun;

/// What has come for a connection.
#[derive(Debug)]
pub enum Event {
    /// A file is known.
    Known(Box<[u8]>, Stat),
    /// It cannot be had.
    NotKnown(OpenError),
    /// Bytes of the range that was asked for.
    Bytes,
    /// The range cannot be read on.
    Failed(Failure),
    /// What a step of storing came to.
    Stored(Result<Stored, StoreError>),
}

/// What is there of a range.
#[derive(Debug)]
pub enum Got {
    /// The next bytes.
    Bytes(Vec<u8>),
    /// Nothing yet; an event will tell.
    Nothing,
}

impl Remote {
    /// No connection yet; [`Remote::connect`] makes them.
    pub fn new(plan: RemotePlan) -> Remote {
        let links = (0..plan.links).map(|_| Link::default()).collect();
        Remote { plan, links, streams: HashMap::new(), retry_at: Nanos::ZERO }
    }

    /// True if a connection is missing, so that [`Remote::connect`] should be called after [`RETRY`].
    pub fn is_short(&self) -> bool {
        self.links.iter().any(|link| link.peer.is_none())
    }

    /// Starts to make the connections that are missing, unless that was tried just now. Returns their numbers.
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

    /// Whether any connection is of use.
    pub fn is_up(&self) -> bool {
        self.links.iter().any(|link| link.welcome)
    }

    /// The link for a connection: one of those that are up.
    fn link_for(&self, token: Token) -> Option<usize> {
        let up: Vec<usize> = (0..self.links.len()).filter(|&i| self.links[i].welcome).collect();
        (!up.is_empty()).then(|| up[token.index() as usize % up.len()])
    }

    /// Asks what is known of a file.
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

    /// The next bytes of the range that is wanted, which is asked for if it is a new one.
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

    /// Has a step of an upload carried out.
    ///
    /// # Errors
    /// The data process is not running, or was not since the upload began.
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

    /// A connection is gone, or wants no more.
    pub fn cancel(&mut self, token: Token) {
        if let Some(stream) = self.streams.remove(&token)
            && let Some(peer) = &mut self.links[stream.link].peer
        {
            peer.write(pack(token), &Frame::Cancel);
        }
    }

    /// A link's connection, if it has one.
    pub fn peer(&mut self, link: usize) -> Option<&mut Peer> {
        self.links.get_mut(link)?.peer.as_mut()
    }

    /// Numbers of all links.
    pub fn links(&self) -> Range<usize> {
        0..self.links.len()
    }

    /// Takes what has come by a link. False if the link is broken and to be dropped.
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

    /// Gives a link up. Whoever waits for something on it is told; returns the connection, to be watched no more.
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

/// Takes a frame for a stream. One that is not known was cancelled.
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
        // A data process that answers what was not asked is of no use, but harms nobody.
        _ => {}
    }
}

/// The file that an outbox wants read next.
pub fn file_to_read(out: &Outbox) -> Option<(Arc<RemoteFile>, Range<u64>)> {
    let (handle, range) = out.file_to_read()?;
    Some((Arc::clone(&handle.0).downcast().ok()?, range))
}

/// Sends what waits on a connection and says what it has to be watched for.
///
/// # Errors
/// It is broken.
pub fn flush(peer: &mut Peer) -> io::Result<Interest> {
    peer.flush()?;
    Ok(if peer.unsent() > 0 { Interest::ReadWrite } else { Interest::Read })
}

/// The name of a token in frames.
fn pack(token: Token) -> u64 {
    u64::from(token.generation()) << 32 | u64::from(token.index())
}

fn unpack(bits: u64) -> Token {
    Token::new(bits as u32, (bits >> 32) as u32)
}
