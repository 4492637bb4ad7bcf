//! The lab's end of the stream to one agent.

use std::cell::{Cell, RefCell};
use std::io::{BufReader, Read};
use std::net::IpAddr;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pitot_agent::frame::{self, FrameError};
use pitot_agent::{Ask, Greeting, Hello, PING_INTERVAL, Reply, Request, VERSION};
use pitot_meter::now;
use pitot_results::printable_start;

use super::push::last_complaint;
use pitot_record::HostRecord;

/// Timeout of an agent's greeting; a login may be slow.
const GREETING_TIMEOUT: Duration = Duration::from_secs(30);
/// Timeout of a reply. The end of a repetition takes longest: orphans have two seconds, twice.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);
/// Requests to measure the offset of a clock; the one with the shortest round trip counts.
const CLOCK_QUESTIONS: usize = 9;
/// Maximum length of an agent's error, which becomes a reason in the run file.
const SENTENCE_CHARS: usize = 1000;
/// Maximum length of an agent's version.
const VERSION_CHARS: usize = 60;
/// Maximum length of the tail of an agent's stderr.
const COMPLAINT_BYTES: usize = 2000;
/// Timeout for the end of its stderr after it has ended, since its children may keep it open.
const COMPLAINT_TIMEOUT: Duration = Duration::from_millis(500);
/// Time that an agent has to end before it is killed.
const END_TIMEOUT: Duration = Duration::from_secs(5);

/// A host, the command of its agent, and the connection to it.
pub(super) struct Link {
    pub(super) name: String,
    argv: Vec<String>,
    hello: Hello,
    connection: RefCell<Option<Connection>>,
    /// Why the connection was lost.
    lost: RefCell<String>,
    /// Number of connections so far; an executor belongs to one.
    count: Cell<u32>,
    executors: Cell<u32>,
}

struct Connection {
    child: Child,
    stdin: Arc<Mutex<Option<ChildStdin>>>,
    replies: Receiver<Result<Reply, String>>,
    complaints: Arc<Mutex<Vec<u8>>>,
    /// Sends nothing; it is closed at the end of that stream.
    heard: Receiver<()>,
    greeting: Greeting,
    clock: Clock,
    /// Ends the keep-alive thread.
    _pings: Sender<()>,
}

/// A clock of another machine.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Clock {
    /// How far it is ahead of the lab's.
    pub(super) offset_ns: i64,
    pub(super) round_trip_ns: u64,
}

impl Link {
    pub(super) fn new(name: &str, argv: &[String], address: IpAddr, cpus: [Vec<usize>; 2]) -> Link {
        let [cpus, other_cpus] = cpus;
        Link {
            name: name.to_owned(),
            argv: argv.to_vec(),
            hello: Hello { version: VERSION, cpus, other_cpus, address },
            connection: RefCell::new(None),
            lost: RefCell::new(format!("the host `{name}` could not be reached")),
            count: Cell::new(0),
            executors: Cell::new(0),
        }
    }

    /// The number of the current connection; opens one if there is none. The error is a sentence.
    pub(super) fn connect(&self) -> Result<u32, String> {
        if self.connection.borrow().is_none() {
            let connection =
                self.open().map_err(|why| format!("the host `{}` could not be reached: {why}", self.name))?;
            *self.connection.borrow_mut() = Some(connection);
            self.count.set(self.count.get() + 1);
            self.measure_clock()?;
        }
        Ok(self.count.get())
    }

    /// A number for a new executor.
    pub(super) fn executor(&self) -> u32 {
        self.executors.set(self.executors.get().wrapping_add(1));
        self.executors.get()
    }

    /// Sends a request to an executor of connection `count`. The error is a sentence with the host's name.
    pub(super) fn ask(&self, count: u32, executor: u32, ask: Ask) -> Result<Reply, String> {
        self.call(count, &Request::Call { executor, ask })
    }

    /// Sends a request to the agent of connection `count`.
    pub(super) fn call(&self, count: u32, request: &Request) -> Result<Reply, String> {
        if let Some(lost) = self.lost(count) {
            return Err(lost);
        }
        let answer = match &*self.connection.borrow() {
            Some(connection) => connection.call(request, ANSWER_TIMEOUT),
            None => Err("there is no connection".to_owned()),
        };
        match answer {
            Ok(Reply::Error(what)) => Err(format!("{} (on the host `{}`)", sentence(&what), self.name)),
            Ok(reply) => Ok(reply),
            Err(why) => Err(self.lose(why)),
        }
    }

    /// Why connection `count` was lost.
    pub(super) fn lost(&self, count: u32) -> Option<String> {
        let is_up = self.connection.borrow().is_some() && count == self.count.get();
        (!is_up).then(|| self.lost.borrow().clone())
    }

    pub(super) fn clock(&self) -> Clock {
        self.connection.borrow().as_ref().map(|connection| connection.clock).unwrap_or_default()
    }

    pub(super) fn memory_total_bytes(&self) -> Option<u64> {
        self.connection.borrow().as_ref().map(|connection| connection.greeting.memory_total_bytes)
    }

    /// The host's record.
    pub(super) fn record(&self, does: &str) -> HostRecord {
        // A lost host may be back.
        let _ = self.connect();
        let facts = match self.call(self.count.get(), &Request::Host) {
            Ok(Reply::Host(facts)) => facts,
            _ => pitot_host::Fingerprint::default(),
        };
        let clock = self.clock();
        HostRecord {
            is_own: false,
            name: self.name.clone(),
            does: does.to_owned(),
            clock_offset_ns: clock.offset_ns,
            clock_error_ns: clock.round_trip_ns / 2,
            round_trip_ns: clock.round_trip_ns,
            facts,
            facts_after: None,
        }
    }

    /// Measures how far the agent's clock is ahead of the lab's.
    pub(super) fn measure_clock(&self) -> Result<(), String> {
        let mut best: Option<Clock> = None;
        for _ in 0..CLOCK_QUESTIONS {
            let asked = now();
            let Reply::Nanos(Some(there)) = self.call(self.count.get(), &Request::Clock)? else {
                return Err(self.lose("it does not report its clock".into()));
            };
            let round_trip_ns = now().since(asked).0;
            let here = asked.0 + round_trip_ns / 2;
            if best.is_none_or(|best| round_trip_ns < best.round_trip_ns) {
                best = Some(Clock { offset_ns: there.wrapping_sub(here) as i64, round_trip_ns });
            }
        }
        if let (Some(connection), Some(best)) = (&mut *self.connection.borrow_mut(), best) {
            connection.clock = best;
        }
        Ok(())
    }

    /// Closes the connection. Returns a sentence with the reason.
    fn lose(&self, why: String) -> String {
        let connection = self.connection.borrow_mut().take();
        let why = match connection {
            Some(connection) => connection.close(&why),
            None => why,
        };
        let sentence = format!("the host `{}` was lost: {why}", self.name);
        self.lost.borrow_mut().clone_from(&sentence);
        sentence
    }

    fn open(&self) -> Result<Connection, String> {
        let (program, arguments) = self.argv.split_first().ok_or("its `agent` is empty")?;
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Ctrl-C is for the lab, which ends its agents.
            .process_group(0)
            .spawn()
            .map_err(|e| format!("`{program}` could not be started: {e}"))?;
        let (reply, replies) = channel();
        if let Some(stdout) = child.stdout.take() {
            std::thread::spawn(move || follow(stdout, &reply));
        }
        let complaints = Arc::<Mutex<Vec<u8>>>::default();
        let (hearing, heard) = channel();
        if let Some(stderr) = child.stderr.take() {
            let complaints = Arc::clone(&complaints);
            std::thread::spawn(move || {
                keep(stderr, &complaints);
                drop(hearing);
            });
        }
        let stdin = Arc::new(Mutex::new(child.stdin.take()));
        let (pings, ended) = channel();
        let pinged = Arc::clone(&stdin);
        std::thread::spawn(move || {
            while ended.recv_timeout(PING_INTERVAL) == Err(RecvTimeoutError::Timeout)
                && send(&pinged, &Request::Ping).is_ok()
            {}
        });
        let mut connection = Connection {
            child,
            stdin,
            replies,
            complaints,
            heard,
            greeting: Greeting { version: 0, pitot: String::new(), pid: 0, memory_total_bytes: 0 },
            clock: Clock::default(),
            _pings: pings,
        };
        match connection.call(&Request::Hello(self.hello.clone()), GREETING_TIMEOUT) {
            Ok(Reply::Hello(greeting)) => {
                why_other(&greeting).map_or(Ok(()), Err)?;
                connection.greeting = greeting;
                Ok(connection)
            }
            Ok(Reply::Error(what)) => Err(sentence(&what)),
            Ok(_) => Err("its agent sent no greeting".into()),
            Err(why) => Err(connection.close(&why)),
        }
    }
}

impl Connection {
    fn call(&self, request: &Request, timeout: Duration) -> Result<Reply, String> {
        send(&self.stdin, request).map_err(|_| "its agent has ended".to_owned())?;
        match self.replies.recv_timeout(timeout) {
            Ok(reply) => reply,
            Err(RecvTimeoutError::Timeout) => {
                Err(format!("its agent did not reply within {} s", timeout.as_secs()))
            }
            Err(RecvTimeoutError::Disconnected) => Err("its agent has ended".into()),
        }
    }

    /// Ends it. Returns why, with the tail of its stderr.
    fn close(mut self, why: &str) -> String {
        self.end();
        // Its last output says why.
        let _ = self.heard.recv_timeout(COMPLAINT_TIMEOUT);
        let complaints = self.complaints.lock().unwrap_or_else(PoisonError::into_inner);
        match last_complaint(&String::from_utf8_lossy(&complaints)) {
            Some(last) => format!("{why}: {last}"),
            None => why.to_owned(),
        }
    }

    fn end(&mut self) {
        // An agent ends its programs and exits when its stdin is closed.
        drop(self.stdin.lock().unwrap_or_else(PoisonError::into_inner).take());
        pitot_sys::guardian::wait_until(END_TIMEOUT, || !matches!(self.child.try_wait(), Ok(None)));
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.end();
    }
}

/// An agent's error message.
fn sentence(what: &str) -> String {
    printable_start(what, SENTENCE_CHARS)
}

/// Why an agent does not match this lab, if it does not: the end of a sentence.
fn why_other(greeting: &Greeting) -> Option<String> {
    let (own, other) = (env!("CARGO_PKG_VERSION"), printable_start(&greeting.pitot, VERSION_CHARS));
    if greeting.version != VERSION {
        return Some(format!("its agent speaks version {} of the protocol, not {VERSION}", greeting.version));
    }
    (other != own).then(|| {
        format!(
            "its agent is Pitot {other}, and this is {own}: install the same version there, or copy it with --push"
        )
    })
}

fn send(stdin: &Mutex<Option<ChildStdin>>, request: &Request) -> std::io::Result<()> {
    match &mut *stdin.lock().unwrap_or_else(PoisonError::into_inner) {
        Some(stdin) => frame::write(stdin, request),
        None => Err(std::io::ErrorKind::BrokenPipe.into()),
    }
}

/// Reads an agent's replies to the end of the stream.
fn follow(stdout: impl Read, replies: &Sender<Result<Reply, String>>) {
    let mut stdout = BufReader::new(stdout);
    loop {
        let reply = match frame::read(&mut stdout) {
            Ok(Some(reply)) => Ok(reply),
            Ok(None) | Err(FrameError::CutShort) => return,
            Err(e) => Err(format!("a reply of its agent cannot be read: {e}")),
        };
        let is_last = reply.is_err();
        if replies.send(reply).is_err() || is_last {
            return;
        }
    }
}

/// Keeps the end of a stream.
fn keep(mut stderr: impl Read, kept: &Mutex<Vec<u8>>) {
    let mut part = [0; 512];
    while let Ok(n @ 1..) = stderr.read(&mut part) {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend_from_slice(&part[..n]);
        let surplus = kept.len().saturating_sub(COMPLAINT_BYTES);
        kept.drain(..surplus);
    }
}
