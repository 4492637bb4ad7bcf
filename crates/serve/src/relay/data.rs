//! The data process: opens files and reads them for relays with a disk engine, and stores uploads.
//!
//! A stream is a range that a relay has requested. It is read as long as the relay has granted credit and the link
//! has room: the unsent data of a link is bounded, and streams wait while the bound is reached.

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

/// Limit on the unsent data of one link; beyond it no more is read for the link.
const LINK_BYTES: usize = 2 << 20;
/// How often an engine is polled that does not notify of its completions.
const ENGINE_POLL_INTERVAL: Duration = Duration::from_millis(1);

const LISTENER: Token = Token::new(u32::MAX, 0);
const STOP: Token = Token::new(u32::MAX - 1, 0);
const DISK: Token = Token::new(u32::MAX - 2, 0);
const STORED: Token = Token::new(u32::MAX - 3, 0);

/// What a data process is started with.
#[derive(Debug)]
pub struct DataWorker {
    /// What all workers share.
    pub server: Arc<Server>,
    /// Its index, which selects its counters.
    pub index: usize,
    /// The listener that relays connect to.
    pub listener: Arc<OwnedFd>,
    /// The secret that a relay must send first.
    pub secret: [u8; SECRET_BYTES],
    /// Readable once the process has to stop.
    pub stop: Arc<Waker>,
}

/// Serves relays until it is stopped and they have disconnected.
///
/// # Errors
/// Failures of the mechanism or the engine.
pub fn run<R: Readiness + 'static>(worker: DataWorker) -> io::Result<()> {
    Data::new(worker, Box::new(R::new()?))?.serve()
}

struct Link {
    peer: Peer,
    /// The peer has sent the secret.
    is_relay: bool,
    /// Its streams, by the names that the relay chose.
    streams: HashMap<u64, Token>,
    /// Streams that wait for room on the link.
    waiting: VecDeque<Token>,
}

/// Identifies an upload: its link, and the name of its stream there.
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

struct Data {
    worker: DataWorker,
    env: Env,
    mechanism: Box<dyn Readiness>,
    trigger: Trigger,
    disk: Disk,
    /// The threads that store uploads, if the root is writable.
    store_threads: Option<StoreThreads<UploadName>>,
    /// The uploads; `None` while a step of the upload is under way.
    uploads: HashMap<UploadName, Option<Upload>>,
    links: Slots<Link>,
    streams: Slots<Stream>,
    stopping: bool,
}

/// A request of a relay: its frame with the payload copied, so that it can be handled after the receive.
enum Request {
    Hello([u8; SECRET_BYTES]),
    Look(u64, Box<[u8]>),
    Read { name: u64, stat: Stat, offset: u64, len: u64, window: u32, path: Box<[u8]> },
    Credit(u64, u32),
    Cancel(u64),
    Store { name: u64, path: Box<[u8]>, is_last: bool, bytes: Vec<u8> },
    Invalid,
}

impl Data {
    fn new(worker: DataWorker, mut mechanism: Box<dyn Readiness>) -> io::Result<Data> {
        let env = Env::new(&worker.server, worker.index);
        let unavailable = |e| io::Error::new(io::ErrorKind::Unsupported, e);
        let plan = worker.server.engine().ok_or(io::ErrorKind::InvalidInput)?;
        let disk = Disk::open(plan).map_err(unavailable)?;
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
        Ok(Data {
            worker,
            env,
            trigger: mechanism.trigger(),
            mechanism,
            disk,
            store_threads,
            uploads,
            links,
            streams,
            stopping: false,
        })
    }

    fn serve(&mut self) -> io::Result<()> {
        let mut ready: Vec<Ready> = Vec::new();
        // A relay may have connected and sent requests already.
        self.accept();
        self.flush_and_resume();
        let mut end = None;
        loop {
            if self.stopping {
                let now = self.env.worker.now;
                let end = *end.get_or_insert_with(|| now.after(self.env.limits.grace));
                if self.links.is_empty() || now >= end {
                    return Ok(());
                }
            }
            let must_poll = self.disk.needs_polling();
            let timeout = if must_poll {
                Some(ENGINE_POLL_INTERVAL)
            } else {
                self.stopping.then_some(Duration::from_millis(100))
            };
            ready.clear();
            self.env.publish_counts();
            self.mechanism.wait(timeout, &mut ready)?;
            self.env.update_time();
            let mut reap = must_poll;
            for ready in &ready {
                match ready.token {
                    LISTENER => self.accept(),
                    STOP => {
                        self.stopping = true;
                        self.mechanism.unwatch(self.worker.stop.as_fd(), false);
                    }
                    DISK => reap = true,
                    STORED => self.on_stored(),
                    link => self.receive(link),
                }
            }
            if reap {
                for (stream, completion) in self.disk.reap()? {
                    self.on_read(stream, completion);
                }
            }
            self.flush_and_resume();
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

    /// Receives from a relay and handles its requests.
    fn receive(&mut self, token: Token) {
        let Some(link) = self.links.get(token) else { return };
        let mut requests = Vec::new();
        let received = link.peer.receive(|name, frame| {
            requests.push(match frame {
                Frame::Hello { secret } => Request::Hello(secret),
                Frame::Look { path } => Request::Look(name, path.into()),
                Frame::Read { stat, offset, len, window, path } => {
                    Request::Read { name, stat, offset, len, window, path: path.into() }
                }
                Frame::Credit(bytes) => Request::Credit(name, bytes),
                Frame::Cancel => Request::Cancel(name),
                Frame::Store { path, is_last, bytes } => {
                    Request::Store { name, path: path.into(), is_last, bytes: bytes.into() }
                }
                Frame::Welcome | Frame::Known(_) | Frame::Data(_) | Frame::Failed(_) | Frame::Stored => {
                    Request::Invalid
                }
            });
        });
        for request in requests {
            if !self.handle(token, request) {
                return self.drop_link(token);
            }
        }
        match received {
            Ok(super::peer::Received::All) => {}
            // A level-triggered mechanism reports the link again; an edge-triggered one does not.
            Ok(super::peer::Received::ShareUsed) if self.trigger == Trigger::Level => {}
            Ok(super::peer::Received::ShareUsed) => self.receive(token),
            Err(_) => self.drop_link(token),
        }
    }

    /// Handles a request. False if it is invalid or the peer is no relay, so that the link has to be closed.
    fn handle(&mut self, token: Token, request: Request) -> bool {
        let Some(link) = self.links.get(token) else { return true };
        match request {
            Request::Hello(secret) => {
                if secret != self.worker.secret {
                    return false;
                }
                link.is_relay = true;
                link.peer.write(0, &Frame::Welcome);
            }
            _ if !link.is_relay => return false,
            Request::Invalid => return false,
            Request::Look(name, path) => {
                let answer = match open(&mut self.env, &path) {
                    Ok((_, stat)) => Frame::Known(stat),
                    Err(error) => Frame::Failed(Failure::Open(error)),
                };
                link.peer.write(name, &answer);
            }
            Request::Read { name, stat, offset, len, window, path } => {
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
            Request::Credit(name, bytes) => {
                if let Some(&stream) = link.streams.get(&name) {
                    if let Some(stream) = self.streams.get(stream) {
                        stream.credit += u64::from(bytes);
                    }
                    self.read(stream);
                }
            }
            Request::Cancel(name) => {
                if let Some(stream) = link.streams.remove(&name) {
                    self.streams.remove(stream);
                }
                self.uploads.remove(&(token, name));
            }
            Request::Store { name, path, is_last, bytes } => {
                let Some(store_threads) = &mut self.store_threads else { return false };
                let upload = match self.uploads.insert((token, name), None) {
                    Some(Some(upload)) => Some(upload),
                    // The previous step is not complete: a violation of the framing.
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

    /// Starts the next read of a stream, if credit and the link allow it.
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

    fn on_read(&mut self, token: Token, completion: Completion) {
        self.pass_on(token, completion);
        self.read(token);
    }

    /// Queues the data of a completed read on the stream's link.
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

    /// Reports completed steps of uploads to their relays.
    fn on_stored(&mut self) {
        let Some(store_threads) = &self.store_threads else { return };
        for Outcome { of, result } in store_threads.take() {
            let answer = self.env.answer_to_store(result);
            // A cancelled upload is dropped, which removes its file unless it is complete.
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

    /// Sends what is queued, and resumes streams that waited for room.
    fn flush_and_resume(&mut self) {
        loop {
            let mut waiting = Vec::new();
            for token in self.links.tokens() {
                let Some(link) = self.links.get(token) else { continue };
                let Ok(interest) = flush(&mut link.peer) else {
                    self.drop_link(token);
                    continue;
                };
                if self.trigger == Trigger::Level && interest != link.peer.interest {
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

/// Opens the file at a path, and returns it with its state.
fn open(env: &mut Env, path: &[u8]) -> Result<(Arc<DiskFile>, Stat), OpenError> {
    let opened = env.files.open(path, env.worker.now).unwrap_or(Err(OpenError::Failed))?;
    let file = Arc::clone(&opened.handle.0).downcast().map_err(|_| OpenError::Failed)?;
    Ok((file, stat_of(&opened.meta)))
}

fn stat_of(meta: &FileMeta) -> Stat {
    let &FileMeta { size, modified_s, modified_ns, inode, .. } = meta;
    Stat { size, modified_s, modified_ns, inode }
}
