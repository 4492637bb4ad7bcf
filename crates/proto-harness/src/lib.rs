//! A server without sockets, for tests, fuzz targets and benchmarks: the same [`Connection`] that serves on a socket,
//! driven in memory, with files and uploads in memory too.
#![forbid(unsafe_code)]

pub mod http;
pub mod http2;
pub mod memcache;
pub mod memcached;
pub mod script;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use pitot_proto::{
    Action, Connection, ConnectionLimits, Derived, FileFailure, FileHandle, FileMeta, KernelKeys, Layers,
    OpenError, Opened, Outbox, Phase, Protocol, StoreError, StoreStep, Tick, Upload, ViolationKind, Worker,
};

/// The time of day in the harness: that of the examples in RFC 9110.
pub const UNIX_S: u64 = 784_111_777;
/// The same as a date.
pub const DATE: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
/// When the files of [`Files::add`] were modified, unless they say otherwise.
pub const MODIFIED_S: u64 = 784_000_000;

/// A core that leaves this much of its input unconsumed and asks for more has no limit.
const UNCONSUMED_MAX: usize = 64 * 1024;
/// At most this much arrives at once, as from a socket.
const RECEIVE_BYTES: usize = 64 * 1024;
/// What was sent is kept up to this length, unless a test sets another; bytes beyond it are only counted.
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
        // A directory that is to be listed has a slash at its end; the root has no name.
        let stem = path.strip_suffix(b"/").unwrap_or(path);
        for (index, component) in stem.split(|&b| b == b'/').enumerate().filter(|_| !stem.is_empty()) {
            let hidden = component.first().is_none_or(|&b| b == b'.');
            let clean = (!hidden || index == 0 && component == b".well-known") && !component.contains(&0);
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
    /// Something was left unsent, and the peer sees a reset.
    Reset,
}

/// One connection and its driver.
pub struct Pump<'a> {
    connection: Connection,
    /// The time, and what was counted. It may be changed between calls.
    pub worker: Worker,
    files: &'a Files,
    /// What was sent, up to a limit.
    pub sent: Vec<u8>,
    /// The limit.
    pub kept_max: usize,
    /// How much was sent.
    pub sent_len: u64,
    /// At most this much is sent in one call.
    pub send_max: u64,
    /// At most this much of a file is read in one call.
    pub read_max: u64,
    /// How much is sent before the socket is full, if it ever is.
    pub room: u64,
    /// The uploads that were stored.
    pub uploads: Vec<Vec<u8>>,
    /// The delays that were asked for.
    pub delays: Vec<Duration>,
    /// Whether they pass at once; else with [`Pump::pass_delay`].
    pub delays_pass: bool,
    /// What becomes of the steps of storing from now on, if they are to fail.
    pub store_error: Option<StoreError>,
    /// What becomes of files that are sent from now on, if they are to fail.
    pub file_failure: Option<FileFailure>,
    /// How it ended, if it has.
    pub end: Option<End>,
    /// The driver was asked to end sending.
    pub lingers: bool,
    /// Whether there is a kernel that would carry on in the place of a layer. What is sent then is what it would encrypt.
    pub has_kernel_tls: bool,
    /// The keys that it was given.
    pub kernel_keys: Option<KernelKeys>,
    /// The alerts that it was to send.
    pub alerts: Vec<[u8; 2]>,
}

impl<'a> Pump<'a> {
    /// Opens a connection.
    pub fn new(protocol: &dyn Protocol, files: &'a Files) -> Pump<'a> {
        Pump::with_peer(protocol, files, None)
    }

    /// Opens a connection with a peer of that address.
    pub fn with_peer(protocol: &dyn Protocol, files: &'a Files, peer: Option<IpAddr>) -> Pump<'a> {
        Pump::with_worker(protocol, files, peer, Worker::new(&ConnectionLimits::default()))
    }

    /// Opens a connection of a server with a layer, which is there from the start or `on_request`.
    pub fn with_layers(
        protocol: &dyn Protocol,
        files: &'a Files,
        layers: Arc<dyn Layers>,
        on_request: bool,
    ) -> Pump<'a> {
        let mut worker = Worker::new(&ConnectionLimits::default());
        worker.layers = Some(layers);
        worker.layers_on_request = on_request;
        Pump::with_worker(protocol, files, None, worker)
    }

    fn with_worker(
        protocol: &dyn Protocol,
        files: &'a Files,
        peer: Option<IpAddr>,
        mut worker: Worker,
    ) -> Pump<'a> {
        worker.unix_s = UNIX_S;
        worker.date = DATE.into();
        let mut pump = Pump {
            connection: Connection::new(protocol, &mut worker, peer),
            worker,
            files,
            sent: Vec::new(),
            kept_max: KEPT_MAX,
            sent_len: 0,
            send_max: u64::MAX,
            read_max: u64::MAX,
            room: u64::MAX,
            uploads: Vec::new(),
            delays: Vec::new(),
            delays_pass: true,
            store_error: None,
            file_failure: None,
            end: None,
            lingers: false,
            has_kernel_tls: false,
            kernel_keys: None,
            alerts: Vec::new(),
        };
        pump.drive();
        pump
    }

    /// Input arrives. After the end it is dropped.
    pub fn feed(&mut self, input: &[u8]) -> &mut Pump<'a> {
        for piece in input.chunks(RECEIVE_BYTES) {
            if self.end.is_some() {
                break;
            }
            self.connection.received(&mut self.worker, piece);
            self.drive();
            assert!(
                self.connection.unconsumed() < UNCONSUMED_MAX || self.room == 0,
                "the unconsumed input has no limit"
            );
        }
        self
    }

    /// A record arrives through the kernel.
    pub fn feed_record(&mut self, content_type: u8, record: &[u8]) -> &mut Pump<'a> {
        assert!(self.connection.is_in_kernel());
        self.connection.received_record(&mut self.worker, content_type, record);
        self.drive()
    }

    /// The kernel refuses a record.
    pub fn refuse_record(&mut self) -> &mut Pump<'a> {
        self.connection.record_refused(&mut self.worker);
        self.drive()
    }

    /// The time that the connection waits for has passed.
    pub fn pass_delay(&mut self) -> &mut Pump<'a> {
        self.connection.delayed(&mut self.worker);
        self.drive()
    }

    /// The peer has finished sending.
    pub fn end_of_input(&mut self) -> &mut Pump<'a> {
        self.connection.ended();
        self.drive()
    }

    /// The time for what the connection is doing is over.
    pub fn expire(&mut self) -> &mut Pump<'a> {
        if self.end.is_none() {
            self.worker.now = self.connection.poll_deadline(&self.worker);
            self.connection.expired(&mut self.worker);
        }
        self.drive()
    }

    /// The connection is closed although nothing is wrong with it.
    pub fn dismiss(&mut self) -> &mut Pump<'a> {
        if self.end.is_none() {
            self.connection.dismiss(&mut self.worker);
        }
        self.drive()
    }

    /// The first file in the outbox cannot be read, as an engine finds before anything of its reply is sent.
    pub fn fail_file(&mut self, failure: FileFailure) -> &mut Pump<'a> {
        self.connection.file_failed(&mut self.worker, failure);
        self.drive()
    }

    /// The peer has reset the connection.
    pub fn break_socket(&mut self) -> &mut Pump<'a> {
        if self.end.is_none() {
            self.connection.broken(&mut self.worker);
        }
        self.drive()
    }

    /// The peer has read, so that there is room for this many bytes.
    pub fn make_room(&mut self, room: u64) -> &mut Pump<'a> {
        self.room = room;
        self.drive()
    }

    /// True if the connection is in a request, or has input that it has not consumed.
    pub fn mid_request(&self) -> bool {
        self.end.is_none() && self.connection.mid_request()
    }

    /// What the connection is doing.
    pub fn phase(&mut self) -> Phase {
        self.connection.poll_deadline(&self.worker);
        self.connection.phase()
    }

    /// When the time for that is over.
    pub fn deadline(&mut self) -> Tick {
        self.connection.poll_deadline(&self.worker)
    }

    /// Nothing is under way.
    pub fn is_idle(&self) -> bool {
        self.connection.is_idle()
    }

    /// Bytes that wait for room in the socket.
    pub fn waiting(&mut self) -> u64 {
        self.connection.to_send().map_or(0, |out| out.len())
    }

    /// Replies that were counted.
    pub fn replies(&self) -> u64 {
        self.worker.tally.replies
    }

    /// Carries out what the connection asks for until it waits for input, for room, or is over.
    pub fn drive(&mut self) -> &mut Pump<'a> {
        while self.end.is_none() {
            let Pump { connection, worker, files, .. } = self;
            match connection.poll(worker) {
                Action::Receive | Action::Wait => break,
                Action::Open(path) => {
                    let answer = files.open(path);
                    connection.opened(worker, answer);
                }
                Action::Store(_, step) => {
                    let answer = match self.store_error {
                        Some(error) => {
                            step.clear();
                            Err(error)
                        }
                        None => store(step, &mut self.uploads),
                    };
                    connection.stored(worker, answer);
                }
                Action::Delay(time) => {
                    self.delays.push(time);
                    if !self.delays_pass {
                        break;
                    }
                    connection.delayed(worker);
                }
                Action::Send(out) => {
                    let failure = self.file_failure.filter(|_| out.front_file().is_some());
                    if let Some(failure) = failure {
                        connection.file_failed(worker, failure);
                        continue;
                    }
                    let n = take(out, self.send_max.min(self.room), &mut self.sent, self.kept_max);
                    if n == 0 {
                        break;
                    }
                    if self.room != u64::MAX {
                        self.room -= n;
                    }
                    self.sent_len += n;
                    connection.sent(worker, n);
                }
                Action::Read(out) => {
                    if let Some(failure) = self.file_failure {
                        connection.file_failed(worker, failure);
                        continue;
                    }
                    let Some((handle, range)) = out.file_to_read() else { break };
                    let content: &Arc<[u8]> = handle.0.downcast_ref().expect("the harness opened this file");
                    let len = (range.end - range.start).min(self.read_max) as usize;
                    let part = range.start as usize..range.start as usize + len;
                    out.fill(Arc::new(Arc::clone(content)), part);
                }
                Action::HandOver if self.has_kernel_tls => {
                    self.kernel_keys = connection.kernel_keys();
                    connection.handed_over(worker, self.kernel_keys.is_some());
                }
                Action::HandOver => connection.keeps_layer(),
                Action::Alert(_) if self.room == 0 => break,
                Action::Alert(alert) => {
                    self.alerts.push(alert);
                    connection.alerted();
                }
                Action::Linger => self.lingers = true,
                Action::Close { reset } => {
                    let tally = &worker.tally;
                    self.end = Some(match (reset, tally.malformed, tally.too_large) {
                        (true, ..) => End::Reset,
                        (false, 1.., _) => End::Violation(ViolationKind::Malformed),
                        (false, _, 1..) => End::Violation(ViolationKind::TooLarge),
                        (false, 0, 0) => End::Closed,
                    });
                }
            }
            if self.lingers {
                self.violation_ends();
            }
        }
        self
    }

    /// A connection that lingers is over as far as tests are concerned: nothing is sent any more.
    fn violation_ends(&mut self) {
        let tally = &self.worker.tally;
        self.end = Some(match (tally.malformed, tally.too_large) {
            (1.., _) => End::Violation(ViolationKind::Malformed),
            (_, 1..) => End::Violation(ViolationKind::TooLarge),
            (0, 0) => End::Closed,
        });
    }

    /// What came of the connection so far.
    pub fn outcome(&self) -> Outcome {
        Outcome {
            sent: self.sent.clone(),
            sent_len: self.sent_len,
            replies: self.replies(),
            uploads: self.uploads.clone(),
            end: self.end,
            mid_request: self.mid_request(),
        }
    }
}

/// Carries out a step of storing in memory.
fn store(step: &mut StoreStep, uploads: &mut Vec<Vec<u8>>) -> Result<Option<Upload>, StoreError> {
    let mut content = match step.upload.take() {
        Some(upload) => *upload.0.downcast::<Vec<u8>>().expect("the harness made this upload"),
        None => Vec::new(),
    };
    content.append(&mut step.bytes);
    if step.is_last {
        uploads.push(content);
        return Ok(None);
    }
    Ok(Some(Upload(Box::new(content))))
}

/// Takes up to `max` bytes from the front of an outbox, as one system call would: gathered slices or a part of a file.
/// Returns how many; `kept` receives those that it has room for.
fn take(out: &Outbox, max: u64, kept: &mut Vec<u8>, kept_max: usize) -> u64 {
    let mut taken = 0;
    let mut keep = |bytes: &[u8]| {
        let n = (bytes.len() as u64).min(max - taken);
        let room = kept_max.saturating_sub(kept.len()).min(n as usize);
        kept.extend_from_slice(&bytes[..room]);
        taken += n;
    };
    if let Some((handle, range)) = out.front_file() {
        let content: &Arc<[u8]> = handle.0.downcast_ref().expect("the harness opened this file");
        keep(&content[range.start as usize..range.end as usize]);
    } else {
        for slice in out.gather().slices() {
            keep(slice);
        }
    }
    taken
}

/// What came of one connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// What was sent, up to a limit.
    pub sent: Vec<u8>,
    /// How much was sent.
    pub sent_len: u64,
    /// The replies that were counted.
    pub replies: u64,
    /// The uploads that were stored.
    pub uploads: Vec<Vec<u8>>,
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
