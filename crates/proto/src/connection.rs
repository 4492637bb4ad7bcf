//! One connection as a machine without I/O: it knows no socket, no clock and no disk.
//!
//! A driver reports what has happened ([`Connection::received`], [`Connection::sent`], [`Connection::ended`],
//! [`Connection::opened`], [`Connection::stored`], [`Connection::expired`] ...) and carries out what
//! [`Connection::poll`] asks for. All that servers of every architecture have in common stands here once: feeding the
//! protocol core, back-pressure, what is done when a request arrives too slowly, when a file cannot be read on, when
//! the peer has gone, and the order in which a connection ends. The drivers (blocking calls, readiness, io_uring, an
//! async runtime, and the in-memory one of the tests and fuzz targets) add nothing but the system calls.
//!
//! A connection between requests is this struct, the core, and no heap memory besides. What is under way lives in an
//! [`Exchange`], which goes back to the worker afterwards.

use std::net::IpAddr;

use crate::{
    Exchange, Next, OpenError, Opened, Outbox, Phase, Protocol, ServerConn, StoreError, StoreStep, Tick,
    Upload, Worker,
};

/// The most input that may wait unconsumed. A core bounds its own appetite well below; this bounds a burst that
/// arrived behind a request whose reply is not yet read, which may fill all buffers of a ring (1 MiB) before its
/// receive is held back.
const UNCONSUMED_MAX: usize = 2 << 20;

/// What a connection wants of its driver.
#[derive(Debug)]
pub enum Action<'a> {
    /// Receive, and report what came: `received`, `ended` or `broken`.
    Receive,
    /// Send from the front of the outbox, and report it: `sent`, `file_failed` or `broken`.
    Send(&'a mut Outbox),
    /// Look the file up and report it: `opened`.
    Open(&'a [u8]),
    /// Carry the step out and report it: `stored`. The path is that of the file if one is begun.
    Store(&'a [u8], &'a mut StoreStep),
    /// Nothing, until an answer or the end of a send under way is reported.
    Wait,
    /// Everything is sent: end sending (shutdown(2)), and go on polling.
    Linger,
    /// Close the socket and drop the connection. With `reset` something was left unsent, and the peer is to see that.
    Close {
        /// Close it with a reset (SO_LINGER with a time of 0).
        reset: bool,
    },
}

/// Whether a driver that receives unasked should go on with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Intake {
    /// Receive.
    Open,
    /// What has been received has to be worked off first: receive no more.
    Held,
    /// A receive under way may go on, none need be started.
    Unchanged,
}

/// Why a file that is being sent cannot be sent to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileFailure {
    /// It is shorter than it was said to be.
    Truncated,
    /// It cannot be read: the disk says so, or there is no memory for it at present.
    Unreadable(OpenError),
}

/// Where a connection is between its first byte and its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The core takes input as it comes.
    Reading,
    /// The core is called again once everything is sent. The only back-pressure.
    Flushing,
    /// The core needs a file, which has not been asked for yet.
    Opening,
    /// The file has been asked for.
    AwaitingFile,
    /// The core needs something stored, which has not been asked for yet.
    Storing,
    /// The step of storing has been asked for.
    AwaitingStore,
    /// What is queued is sent, then the connection is closed.
    Closing,
    /// The same, but input that nobody will read may still arrive: a plain close would answer it with a reset, which
    /// could destroy the reply on its way (RFC 9112 section 9.6).
    ClosingGently,
    /// Everything is sent and sending has ended; input is discarded until the peer ends it too.
    Lingering,
    /// It is over; what is still queued will not be sent.
    Closed,
}

/// What to do next, without what it is done with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Receive,
    Send,
    Open,
    Store,
    Wait,
    Linger,
    Close,
}

/// A connection: a protocol core, its unconsumed input, and how far the connection has come.
pub struct Connection {
    core: Box<dyn ServerConn>,
    exchange: Option<Box<Exchange>>,
    unconsumed: Vec<u8>,
    /// How much of `unconsumed` is done with.
    consumed: u32,
    deadline: Tick,
    state: State,
    phase: Phase,
    /// Something has moved since the deadline was set.
    progressed: bool,
    input_ended: bool,
}

const _: () = assert!(size_of::<Connection>() <= 64, "an idle connection has grown");

impl Connection {
    /// A connection that was just accepted. `peer` is its address where the protocol wants it and it is known.
    pub fn new(protocol: &dyn Protocol, worker: &mut Worker, peer: Option<IpAddr>) -> Connection {
        let mut core = protocol.connect();
        if let Some(peer) = peer {
            core.peer_is(peer);
        }
        let mut exchange = worker.exchange();
        let next = core.open(&worker.context(), &mut exchange);
        worker.tally.collect(&mut exchange);
        let mut connection = Connection {
            core,
            exchange: Some(exchange),
            unconsumed: Vec::new(),
            consumed: 0,
            deadline: Tick::NEVER,
            state: State::Reading,
            phase: Phase::Idle,
            progressed: true,
            input_ended: false,
        };
        connection.state = connection.after(next);
        connection
    }

    /// What the connection wants. After [`Action::Close`] it wants nothing else.
    pub fn poll<'a>(&'a mut self, worker: &mut Worker) -> Action<'a> {
        let step = self.advance(worker);
        let reset = step == Step::Close && self.release(worker);
        match (step, &mut self.exchange) {
            (Step::Receive, _) => Action::Receive,
            (Step::Send, Some(exchange)) => Action::Send(&mut exchange.out),
            (Step::Open, Some(exchange)) => Action::Open(&exchange.path),
            (Step::Store, Some(exchange)) => Action::Store(&exchange.path, &mut exchange.step),
            (Step::Linger, _) => Action::Linger,
            (Step::Close, _) => Action::Close { reset },
            (Step::Wait | Step::Send | Step::Open | Step::Store, _) => Action::Wait,
        }
    }

    /// Input has arrived. It is taken in any state; what cannot be used yet is kept, up to a limit.
    pub fn received(&mut self, worker: &mut Worker, input: &[u8]) {
        worker.tally.bytes_received += input.len() as u64;
        // A peer that sends does not prove by it that it reads.
        self.progressed |= self.phase != Phase::Reply;
        match self.state {
            State::Reading if self.unconsumed.is_empty() => {
                let consumed = self.run(worker, input);
                self.keep(worker, &input[consumed..]);
            }
            State::Reading => {
                self.keep(worker, input);
                self.run_unconsumed(worker);
            }
            State::Flushing
            | State::Opening
            | State::AwaitingFile
            | State::Storing
            | State::AwaitingStore => self.keep(worker, input),
            State::Closing | State::ClosingGently | State::Lingering | State::Closed => {}
        }
    }

    /// The peer has finished sending. It may still read.
    pub fn ended(&mut self) {
        self.input_ended = true;
        if self.state == State::Lingering {
            self.state = State::Closed;
        }
    }

    /// `n` bytes were sent: the first of those that are lent to the kernel if any are, else the first that are queued.
    pub fn sent(&mut self, worker: &mut Worker, n: u64) {
        worker.tally.bytes_sent += n;
        self.progressed = true;
        // What arrives behind a reply is another request, whose time begins anew.
        self.phase = Phase::Reply;
        if let Some(exchange) = &mut self.exchange {
            if exchange.out.lent() > 0 {
                exchange.out.return_lent(n);
            } else {
                exchange.out.advance(n);
            }
        }
    }

    /// The answer to [`Action::Open`]. The file is lent, so that a hit in an open-file cache touches no reference count
    /// unless the reply has to point at the file.
    pub fn opened(&mut self, worker: &mut Worker, answer: Result<&Opened, OpenError>) {
        if self.state != State::AwaitingFile {
            return;
        }
        self.progressed = true;
        let exchange = self.exchange.get_or_insert_with(|| worker.exchange());
        let next = self.core.opened(&worker.context(), answer, exchange);
        self.proceed(worker, next);
    }

    /// The answer to [`Action::Store`]: the upload so far, nothing once it is in its place, or why it could not be
    /// stored.
    pub fn stored(&mut self, worker: &mut Worker, answer: Result<Option<Upload>, StoreError>) {
        if self.state != State::AwaitingStore {
            return;
        }
        self.progressed = true;
        let exchange = self.exchange.get_or_insert_with(|| worker.exchange());
        let next = self.core.stored(&worker.context(), answer, exchange);
        self.proceed(worker, next);
        if self.state == State::Closing {
            // More of the upload may follow than has been received so far: none was taken meanwhile.
            self.state = State::ClosingGently;
        }
    }

    /// The file in front of the outbox, or the first in it, cannot be sent to its end. If nothing of its reply is on its
    /// way yet an error takes its place; else the connection is over.
    pub fn file_failed(&mut self, worker: &mut Worker, failure: FileFailure) {
        let error = match failure {
            FileFailure::Truncated => {
                worker.tally.file_truncated += 1;
                OpenError::Failed
            }
            FileFailure::Unreadable(error) => {
                worker.tally.file_failed += 1;
                error
            }
        };
        self.state = State::Closed;
        if let Some(exchange) = &mut self.exchange
            && exchange.out.revoke()
        {
            self.core.file_failed(&worker.context(), error, exchange);
            // The reply that was revoked has been counted.
            exchange.counts.replies = 0;
            worker.tally.collect(exchange);
            self.progressed = true;
            self.state = State::ClosingGently;
        }
    }

    /// The socket is broken or was reset by the peer.
    pub fn broken(&mut self, worker: &mut Worker) {
        worker.tally.reset += 1;
        self.state = State::Closed;
    }

    /// The time for what the connection is doing is over (see [`Connection::poll_deadline`]).
    pub fn expired(&mut self, worker: &mut Worker) {
        match self.phase_now() {
            Phase::Idle => {
                worker.tally.timed_out_idle += 1;
                self.dismiss(worker);
            }
            Phase::Head | Phase::Body => {
                worker.tally.timed_out_request += 1;
                let exchange = self.exchange.get_or_insert_with(|| worker.exchange());
                self.core.timed_out(&worker.context(), exchange);
                worker.tally.collect(exchange);
                self.progressed = true;
                self.state = State::ClosingGently;
            }
            Phase::Reply => {
                worker.tally.timed_out_write += 1;
                self.state = State::Closed;
            }
            Phase::Linger => self.state = State::Closed,
        }
    }

    /// The connection is to end although nothing is wrong with it, as when the server stops: the core may add a last
    /// reply, which is sent before the end.
    pub fn dismiss(&mut self, worker: &mut Worker) {
        let exchange = self.exchange.get_or_insert_with(|| worker.exchange());
        self.core.dismissed(&worker.context(), exchange);
        worker.tally.collect(exchange);
        self.progressed = true;
        self.state = State::Closing;
    }

    /// The connection is to end now, whatever is under way.
    pub fn cut(&mut self) {
        self.state = State::Closed;
    }

    /// It is over, and [`Action::Close`] is all that it wants.
    pub fn is_over(&self) -> bool {
        self.state == State::Closed
    }

    /// Nothing is under way: the connection may be closed without loss.
    pub fn is_idle(&self) -> bool {
        self.state == State::Reading && self.phase_now() == Phase::Idle
    }

    /// Whether to receive without being asked to, for a driver whose receives go on by themselves.
    pub fn intake(&self) -> Intake {
        match self.state {
            State::Reading | State::ClosingGently | State::Lingering if !self.input_ended => Intake::Open,
            State::Flushing => Intake::Held,
            // What has arrived behind an upload is kept, and no more is taken.
            State::Storing | State::AwaitingStore if !self.unconsumed.is_empty() => Intake::Held,
            _ => Intake::Unchanged,
        }
    }

    /// The time at which [`Connection::expired`] is to be called, if nothing happens until then. To be asked after
    /// polling.
    pub fn poll_deadline(&mut self, worker: &Worker) -> Tick {
        let phase = self.phase_now();
        let progressed = std::mem::take(&mut self.progressed) && !phase.counts_from_start();
        if progressed || phase != self.phase || self.deadline == Tick::NEVER {
            self.deadline = worker.deadline(phase);
            self.phase = phase;
        }
        self.deadline
    }

    /// What the connection was doing when its deadline was last asked for.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// What is to be sent, if there is something.
    pub fn outbox(&mut self) -> Option<&mut Outbox> {
        self.exchange.as_mut().map(|exchange| &mut exchange.out)
    }

    /// Bytes of input that the core has not consumed.
    pub fn unconsumed(&self) -> usize {
        self.unconsumed.len() - self.consumed as usize
    }

    /// In the middle of a request: the core says so, or input is there that it has not consumed.
    pub fn mid_request(&self) -> bool {
        !self.unconsumed.is_empty() || self.core.mid_request()
    }

    fn phase_now(&self) -> Phase {
        let replying = self.exchange.as_ref().is_some_and(|exchange| !exchange.out.is_empty());
        match self.state {
            State::Lingering => Phase::Linger,
            State::Opening | State::AwaitingFile | State::Storing | State::AwaitingStore => Phase::Reply,
            _ if replying => Phase::Reply,
            State::Reading | State::Flushing if !self.unconsumed.is_empty() => Phase::Head,
            _ if self.core.mid_request() => Phase::Body,
            _ => Phase::Idle,
        }
    }

    /// Moves on as far as that is possible without the driver.
    fn advance(&mut self, worker: &mut Worker) -> Step {
        loop {
            if self.state == State::Reading && self.input_ended {
                self.end_input(worker);
            }
            let out = self.exchange.as_ref().map(|exchange| &exchange.out);
            let is_sent = out.is_none_or(Outbox::is_empty);
            let in_flight = out.is_some_and(|out| out.lent() > 0);
            match self.state {
                State::Closed => return Step::Close,
                State::Opening if is_sent || !worker.opens_when_sent => {
                    self.state = State::AwaitingFile;
                    return Step::Open;
                }
                _ if in_flight => return Step::Wait,
                _ if !is_sent => return Step::Send,
                State::Reading | State::Lingering => {
                    self.release(worker);
                    return Step::Receive;
                }
                State::Flushing => {
                    self.state = State::Reading;
                    self.run_unconsumed(worker);
                }
                State::Opening | State::AwaitingFile | State::AwaitingStore => return Step::Wait,
                State::Storing => {
                    self.state = State::AwaitingStore;
                    return Step::Store;
                }
                State::ClosingGently if !self.input_ended => {
                    self.state = State::Lingering;
                    return Step::Linger;
                }
                State::Closing | State::ClosingGently => self.state = State::Closed,
            }
        }
    }

    /// Gives the exchange back to the worker. True if something in it was still to be sent.
    fn release(&mut self, worker: &mut Worker) -> bool {
        let Some(exchange) = self.exchange.take() else { return false };
        let left = !exchange.out.is_empty();
        worker.recycle(exchange);
        left
    }

    /// Acts on what the core wants after an answer to it.
    fn proceed(&mut self, worker: &mut Worker, next: Next) {
        if let Some(exchange) = &mut self.exchange {
            worker.tally.collect(exchange);
        }
        self.state = self.after(next);
        if self.state == State::Reading && !self.unconsumed.is_empty() {
            self.run_unconsumed(worker);
        }
    }

    /// The state that a wish of the core leads to when all that it was shown is consumed or kept.
    fn after(&self, next: Next) -> State {
        match next {
            Next::Read => State::Reading,
            Next::Flush => State::Flushing,
            Next::Open => State::Opening,
            Next::Store => State::Storing,
            Next::Close if self.unconsumed.is_empty() => State::Closing,
            // What follows is not read, and would be answered by a reset.
            Next::Close => State::ClosingGently,
        }
    }

    /// Tells the core that no more input will come.
    fn end_input(&mut self, worker: &mut Worker) {
        if self.mid_request() {
            worker.tally.ended_early += 1;
        }
        let exchange = self.exchange.get_or_insert_with(|| worker.exchange());
        let next = self.core.end_of_input(&worker.context(), exchange);
        worker.tally.collect(exchange);
        self.state = match next {
            Next::Read | Next::Close => State::Closing,
            next => self.after(next),
        };
    }

    fn run_unconsumed(&mut self, worker: &mut Worker) {
        let input = std::mem::take(&mut self.unconsumed);
        self.consumed += self.run(worker, &input[self.consumed as usize..]) as u32;
        if self.consumed as usize == input.len() {
            self.consumed = 0;
        } else {
            self.unconsumed = input;
        }
    }

    fn keep(&mut self, worker: &mut Worker, input: &[u8]) {
        if input.is_empty()
            || matches!(self.state, State::Closing | State::ClosingGently | State::Lingering | State::Closed)
        {
            return;
        }
        if self.unconsumed() + input.len() > UNCONSUMED_MAX {
            worker.tally.too_large += 1;
            self.state = State::ClosingGently;
            return;
        }
        self.unconsumed.drain(..self.consumed as usize);
        self.consumed = 0;
        self.unconsumed.reserve_exact(input.len());
        self.unconsumed.extend_from_slice(input);
    }

    /// Feeds the core until it has had enough. Returns how much of the input it consumed.
    fn run(&mut self, worker: &mut Worker, input: &[u8]) -> usize {
        let exchange = self.exchange.get_or_insert_with(|| worker.exchange());
        let mut consumed = 0;
        self.state = loop {
            if exchange.out.len() >= worker.outbox_bytes {
                break State::Flushing;
            }
            let step = match self.core.receive(&worker.context(), &input[consumed..], exchange) {
                Ok(step) => step,
                Err(violation) => {
                    worker.tally.violation(violation);
                    break State::ClosingGently;
                }
            };
            consumed += step.consumed;
            let is_all = consumed == input.len();
            match step.next {
                Next::Read if step.consumed > 0 && !is_all => {}
                Next::Read => break State::Reading,
                Next::Flush => break State::Flushing,
                Next::Open => break State::Opening,
                Next::Store => break State::Storing,
                Next::Close if is_all => break State::Closing,
                Next::Close => break State::ClosingGently,
            }
        };
        worker.tally.collect(exchange);
        consumed
    }
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection")
            .field("state", &self.state)
            .field("phase", &self.phase)
            .field("unconsumed", &self.unconsumed())
            .finish_non_exhaustive()
    }
}
