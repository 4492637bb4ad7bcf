//! The data process: it looks at files and reads them for relays, by a disk engine, and stores those that clients put.
//!
//! A stream is a range that a relay has asked for. It reads as long as its relay has given credit for it and the link
//! takes what was read; a link has a bound on what waits to be sent, and streams beyond it wait their turn.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use pitot_disk::{Completion, DiskFile, Transfer};
use pitot_proto::{FileFailure, FileMeta, OpenError, StoreStep, Upload};
use pitot_sys::readiness::{Interest, Readiness, Ready, Trigger};
use pitot_sys::{Token, Waker, socket};

use super::frame::{Failure, Frame, SECRET_BYTES, Stat};
use super::peer::Peer;
use super::remote::flush;
use crate::disk::{Disk, Started};
use crate::send::unreadable;
use crate::server::{Env, Server};
use crate::slots::Slots;
use crate::store::{Outcome, StoreThreads};

/// What may wait to be sent on one link before no more is read for it.
const LINK_BYTES: usize = 2 << 20;
/// How often an engine is asked that tells nobody of its completions.
const ASK: Duration = Duration::from_millis(1);

const LISTENER: Token = Token::new(u32::MAX, 0);
const STOP: Token = Token::new(u32::MAX - 1, 0);
const DISK: Token = Token::new(u32::MAX - 2, 0);
const STORED: Token = Token::new(u32::MAX - 3, 0);

/// What a data process needs.
#[derive(Debug)]
pub struct DataWorker {
    /// What it serves.
    pub server: Arc<Server>,
    /// Its number, for its counters.
    pub index: usize,
    /// Where relays connect.
    pub listener: Arc<OwnedFd>,
    /// What they say first.
    pub secret: [u8; SECRET_BYTES],
    /// How it is stopped: readable from then on.
    pub stop: Arc<Waker>,
}

/// Serves relays until it is told to stop and they have gone.
///
/// # Errors
/// What keeps the mechanism or the engine from working at all.
pub fn run<R: Readiness>(worker: DataWorker) -> io::Result<()> {
    Data::<R>::new(worker)?.serve()
}

struct Link {
    peer: Peer,
    /// It has said the secret.
    is_relay: bool,
    /// Its streams by the names that the relay gave them.
    streams: HashMap<u64, Token>,
    /// Streams that wait for room on it.
    waiting: VecDeque<Token>,
}

/// A file that is being stored: the link that it comes by, and the name of the stream there.
type UploadName = (Token, u64);

struct Stream {
    link: Token,
    name: u64,
    file: Arc<DiskFile>,
    next: u64,
    end: u64,
    credit: u64,
    /// A read is in flight, or waits for room in the engine.
    reading: bool,
    /// It waits for room on its link.
    waiting: bool,
}

struct Data<R> {
    worker: DataWorker,
    env: Env,
    mechanism: R,
    disk: Disk,
    /// Who stores files, if any may be stored.
    store_threads: Option<StoreThreads<UploadName>>,
    /// The files that are being stored. One of which a step is under way has nothing here but its name.
    uploads: HashMap<UploadName, Option<Upload>>,
    links: Slots<Link>,
    streams: Slots<Stream>,
    stopping: bool,
}

/// A frame of a relay, as it is acted on when it is read.
enum Wish {
    Hello([u8; SECRET_BYTES]),
    Look(u64, Box<[u8]>),
    Read { name: u64, stat: Stat, offset: u64, len: u64, window: u32, path: Box<[u8]> },
    Credit(u64, u32),
    Cancel(u64),
    Store { name: u64, path: Box<[u8]>, is_last: bool, bytes: Vec<u8> },
    Nonsense,
}

impl<R: Readiness> Data<R> {
    fn new(worker: DataWorker) -> io::Result<Data<R>> {
        let env = Env::new(&worker.server, worker.index);
        let unavailable = |e| io::Error::new(io::ErrorKind::Unsupported, e);
        let plan = worker.server.engine().ok_or(io::ErrorKind::InvalidInput)?;
        let disk = Disk::open(plan).map_err(unavailable)?;
        let mut mechanism = R::new()?;
        mechanism.watch(worker.listener.as_fd(), LISTENER, Interest::Read)?;
        mechanism.watch(worker.stop.as_fd(), STOP, Interest::Read)?;
        if let Some(fd) = disk.completion_fd() {
            mechanism.watch(fd, DISK, Interest::Read)?;
        }
        let store_threads = worker.server.store.clone().map(StoreThreads::new).transpose()?;
        if let Some(store_threads) = &store_threads {
            mechanism.watch(store_threads.as_fd(), STORED, Interest::Read)?;
        }
        let (links, streams) = (Slots::new(), Slots::new());
        let uploads = HashMap::new();
        Ok(Data { worker, env, mechanism, disk, store_threads, uploads, links, streams, stopping: false })
    }

    fn serve(&mut self) -> io::Result<()> {
        let mut ready: Vec<Ready> = Vec::new();
        // A relay may have connected and spoken before.
        self.accept();
        self.go_on();
        let mut end = None;
        loop {
            if self.stopping {
                let now = self.env.worker.now;
                let end = *end.get_or_insert_with(|| now.after(self.env.limits.grace));
                if self.links.is_empty() || now >= end {
                    return Ok(());
                }
            }
            let must_ask = self.disk.must_be_asked();
            let timeout =
                if must_ask { Some(ASK) } else { self.stopping.then_some(Duration::from_millis(100)) };
            ready.clear();
            self.env.publish_counts();
            self.mechanism.wait(timeout, &mut ready)?;
            self.env.update_time();
            let mut reap = must_ask;
            for ready in &ready {
                match ready.token {
                    LISTENER => self.accept(),
                    STOP => {
                        self.stopping = true;
                        self.mechanism.unwatch(self.worker.stop.as_fd(), false);
                    }
                    DISK => reap = true,
                    STORED => self.have_stored(),
                    link => self.receive(link),
                }
            }
            if reap {
                for (stream, completion) in self.disk.reap()? {
                    self.have_read(stream, completion);
                }
            }
            self.go_on();
            self.disk.commit()?;
        }
    }

    fn accept(&mut self) {
        while let Ok(socket) = socket::accept(&*self.worker.listener, true) {
            let link = Link {
                peer: Peer::new(socket),
                is_relay: false,
                streams: HashMap::new(),
                waiting: VecDeque::new(),
            };
            let token = self.links.insert(|_| link);
            let Some(link) = self.links.get(token) else { continue };
            link.peer.interest = Interest::Read;
            if self.mechanism.watch(link.peer.as_fd(), token, Interest::Read).is_err() {
                self.links.remove(token);
                continue;
            }
            self.receive(token);
        }
    }

    /// Takes what a relay has sent.
    fn receive(&mut self, token: Token) {
        let Some(link) = self.links.get(token) else { return };
        let mut wishes = Vec::new();
        let received = link.peer.receive(|name, frame| {
            wishes.push(match frame {
                Frame::Hello { secret } => Wish::Hello(secret),
                Frame::Look { path } => Wish::Look(name, path.into()),
                Frame::Read { stat, offset, len, window, path } => {
                    Wish::Read { name, stat, offset, len, window, path: path.into() }
                }
                Frame::Credit(bytes) => Wish::Credit(name, bytes),
                Frame::Cancel => Wish::Cancel(name),
                Frame::Store { path, is_last, bytes } => {
                    Wish::Store { name, path: path.into(), is_last, bytes: bytes.into() }
                }
                Frame::Welcome | Frame::Known(_) | Frame::Data(_) | Frame::Failed(_) | Frame::Stored => {
                    Wish::Nonsense
                }
            });
        });
        for wish in wishes {
            if !self.act(token, wish) {
                return self.drop_link(token);
            }
        }
        match received {
            Ok(super::peer::Received::All) => {}
            // A level trigger tells again by itself; an edge trigger does not.
            Ok(super::peer::Received::ShareUsed) if R::TRIGGER == Trigger::Level => {}
            Ok(super::peer::Received::ShareUsed) => self.receive(token),
            Err(_) => self.drop_link(token),
        }
    }

    /// Does what a relay wishes. False if it is none.
    fn act(&mut self, token: Token, wish: Wish) -> bool {
        let Some(link) = self.links.get(token) else { return true };
        match wish {
            Wish::Hello(secret) => {
                if secret != self.worker.secret {
                    return false;
                }
                link.is_relay = true;
                link.peer.write(0, &Frame::Welcome);
            }
            _ if !link.is_relay => return false,
            Wish::Nonsense => return false,
            Wish::Look(name, path) => {
                let answer = match open(&mut self.env, &path) {
                    Ok((_, stat)) => Frame::Known(stat),
                    Err(error) => Frame::Failed(Failure::Open(error)),
                };
                link.peer.write(name, &answer);
            }
            Wish::Read { name, stat, offset, len, window, path } => {
                let file = match open(&mut self.env, &path) {
                    Ok((file, now)) if now == stat => file,
                    Ok(_) => {
                        link.peer.write(name, &Frame::Failed(Failure::Changed));
                        return true;
                    }
                    Err(error) => {
                        link.peer.write(name, &Frame::Failed(Failure::Open(error)));
                        return true;
                    }
                };
                let Some(end) = offset.checked_add(len).filter(|&end| end <= stat.size && len > 0) else {
                    return false;
                };
                let (reading, waiting) = (false, false);
                let credit = window.into();
                let stream = Stream { link: token, name, file, next: offset, end, credit, reading, waiting };
                let stream = self.streams.insert(|_| stream);
                if let Some(before) = link.streams.insert(name, stream) {
                    self.streams.remove(before);
                }
                self.read(stream);
            }
            Wish::Credit(name, bytes) => {
                if let Some(&stream) = link.streams.get(&name) {
                    if let Some(stream) = self.streams.get(stream) {
                        stream.credit += u64::from(bytes);
                    }
                    self.read(stream);
                }
            }
            Wish::Cancel(name) => {
                if let Some(stream) = link.streams.remove(&name) {
                    self.streams.remove(stream);
                }
                self.uploads.remove(&(token, name));
            }
            Wish::Store { name, path, is_last, bytes } => {
                let Some(store_threads) = &mut self.store_threads else { return false };
                let upload = match self.uploads.insert((token, name), None) {
                    Some(Some(upload)) => Some(upload),
                    // The step before is not done, so that this one has no place.
                    Some(None) => return false,
                    None if path.is_empty() => return false,
                    None => {
                        self.env.files.forget(&path);
                        None
                    }
                };
                store_threads.step((token, name), path, StoreStep { upload, bytes, is_last });
            }
        }
        true
    }

    /// Has the engine read for a stream as much as may be.
    fn read(&mut self, token: Token) {
        loop {
            let Some(stream) = self.streams.get(token) else { return };
            if stream.reading || stream.waiting || stream.credit == 0 {
                return;
            }
            let Some(link) = self.links.get(stream.link) else { return };
            if link.peer.unsent() >= LINK_BYTES {
                stream.waiting = true;
                link.waiting.push_back(token);
                return;
            }
            let until = stream.end.min(stream.next + stream.credit);
            let range = stream.next..until;
            stream.reading = true;
            match self.disk.start(token, Arc::clone(&stream.file), range, None) {
                Started::Done(completion) => self.pass_on(token, completion),
                Started::InFlight | Started::Starved => return,
            }
        }
    }

    fn have_read(&mut self, token: Token, completion: Completion) {
        self.pass_on(token, completion);
        self.read(token);
    }

    /// Puts what was read for a stream on its link.
    fn pass_on(&mut self, token: Token, completion: Completion) {
        let Some(stream) = self.streams.get(token) else { return };
        let Some(link) = self.links.get(stream.link) else { return };
        stream.reading = false;
        let Completion { operation, result } = completion;
        let failure = match (result, operation.transfer) {
            (Ok(n), Transfer::Read { buffer, .. }) => {
                let skip = (stream.next - operation.offset) as usize;
                let wanted = stream.credit.min(stream.end - stream.next);
                let usable = (n.saturating_sub(skip) as u64).min(wanted) as usize;
                if usable > 0 {
                    link.peer.write_block(stream.name, buffer, skip..skip + usable);
                    stream.next += usable as u64;
                    stream.credit -= usable as u64;
                    if stream.next == stream.end {
                        link.streams.remove(&stream.name);
                        self.streams.remove(token);
                    }
                    return;
                }
                Failure::Changed
            }
            (Err(e), _) if e.kind() == io::ErrorKind::Interrupted => return,
            (Err(e), _) => match unreadable(&e) {
                FileFailure::Unreadable(error) => Failure::Open(error),
                FileFailure::Truncated => Failure::Changed,
            },
            (Ok(_), _) => Failure::Open(OpenError::Failed),
        };
        link.peer.write(stream.name, &Frame::Failed(failure));
        link.streams.remove(&stream.name);
        self.streams.remove(token);
    }

    /// Tells relays what has become of what they had stored.
    fn have_stored(&mut self) {
        let Some(store_threads) = &self.store_threads else { return };
        for Outcome { of, result } in store_threads.take() {
            let answer = self.env.answer_to_store(result);
            // One that was given up meanwhile is removed again, unless it is in its place already.
            let Some(was_begun) = self.uploads.get_mut(&of) else { continue };
            let (link, name) = of;
            let answer = match answer {
                Ok(Some(upload)) => {
                    *was_begun = Some(upload);
                    Frame::Stored
                }
                Ok(None) => {
                    self.uploads.remove(&of);
                    Frame::Stored
                }
                Err(error) => {
                    self.uploads.remove(&of);
                    Frame::Failed(Failure::Store(error))
                }
            };
            if let Some(link) = self.links.get(link) {
                link.peer.write(name, &answer);
            }
        }
    }

    /// Sends what waits, and lets those go on that waited for room.
    fn go_on(&mut self) {
        loop {
            let mut waiting = Vec::new();
            for token in self.links.tokens() {
                let Some(link) = self.links.get(token) else { continue };
                let Ok(interest) = flush(&mut link.peer) else {
                    self.drop_link(token);
                    continue;
                };
                if R::TRIGGER == Trigger::Level && interest != link.peer.interest {
                    link.peer.interest = interest;
                    let _ = self.mechanism.rewatch(link.peer.as_fd(), token, interest);
                }
                if link.peer.unsent() < LINK_BYTES / 2 {
                    waiting.extend(link.waiting.drain(..));
                }
            }
            while let Some(token) = self.disk.next_starved() {
                if let Some(stream) = self.streams.get(token) {
                    stream.reading = false;
                    stream.waiting = true;
                    waiting.push(token);
                }
            }
            if waiting.is_empty() {
                return;
            }
            for token in waiting {
                if let Some(stream) = self.streams.get(token) {
                    stream.waiting = false;
                }
                self.read(token);
            }
        }
    }

    fn drop_link(&mut self, token: Token) {
        let Some(link) = self.links.remove(token) else { return };
        self.mechanism.unwatch(link.peer.as_fd(), true);
        for stream in link.streams.into_values() {
            self.streams.remove(stream);
        }
        self.uploads.retain(|(link, _), _| *link != token);
    }
}

/// The file at a path, with what tells its state.
fn open(env: &mut Env, path: &[u8]) -> Result<(Arc<DiskFile>, Stat), OpenError> {
    let opened = env.files.open(path, env.worker.now).unwrap_or(Err(OpenError::Failed))?;
    let file = Arc::clone(&opened.handle.0).downcast().map_err(|_| OpenError::Failed)?;
    Ok((file, stat_of(&opened.meta)))
}

fn stat_of(meta: &FileMeta) -> Stat {
    let &FileMeta { size, modified_s, modified_ns, inode, .. } = meta;
    Stat { size, modified_s, modified_ns, inode }
}
