//! One connection as a state machine without I/O: no socket, no clock, no disk.
//!
//! A driver reports events ([`Connection::received`], [`Connection::sent`], [`Connection::ended`],
//! [`Connection::opened`], [`Connection::stored`], [`Connection::delayed`], [`Connection::expired`] ...) and carries out the
//! actions that [`Connection::poll`] returns. Everything that servers of all architectures share is here: feeding the protocol
//! core, back-pressure, slow requests, unreadable files, closed peers, and the order in which a connection is closed. The
//! drivers (blocking calls, readiness, io_uring, an async runtime, and the in-memory one of tests and fuzz targets) only add
//! the system calls.
//!
//! Between requests a connection is this struct and the core, without further heap memory. The state of a request in
//! progress is in an [`Exchange`], which is returned to the worker afterwards.

mod action;
mod kept;
mod kernel;
mod layered;

use std::net::IpAddr;

pub use action::{Action, FileFailure, Intake};
use kept::Unconsumed;
use kernel::{BAD_RECORD_MAC, CLOSE_NOTIFY, KernelLayer, Record};
use layered::{Carrier, Layered};

use crate::log::WAITING_MAX;
use crate::{
    Exchange, KernelKeys, LayerFailure, Next, OpenError, Opened, Outbox, Phase, Protocol, ServerConn,
    StoreError, Tick, Upload, Worker,
};

/// Limit on unconsumed input. The limits of the cores are well below it; it bounds a burst that arrives after a request
/// whose reply is not yet read, which may fill all buffers of a ring (1 MiB) before the receive is stopped.
const UNCONSUMED_MAX: usize = 2 << 20;

/// A layer produces no more output while this much waits for the socket: four records of TLS.
const WIRE_MAX: u64 = 64 << 10;

/// The state of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The core takes input as it arrives.
    Reading,
    /// The core is called again once everything is sent. The only back-pressure.
    Flushing,
    /// The core needs a file, which has not been requested yet.
    Opening,
    /// The file has been requested.
    AwaitingFile,
    /// The core needs a step of storing, which has not been requested yet.
    Storing,
    /// The step of storing has been requested.
    AwaitingStore,
    /// The core delays its reply; the delay has not been requested yet.
    Delaying,
    /// The delay has been requested.
    AwaitingDelay,
    /// The queued output is sent, then the connection gets its layer.
    Securing,
    /// The queued output is sent, then the connection is closed.
    Closing,
    /// The same, but more input may still arrive, which will not be read. A plain close would answer it with a reset,
    /// which could destroy the reply in flight (RFC 9112 section 9.6).
    ClosingGently,
    /// Everything is sent and sending has ended; input is discarded until the peer ends it.
    Lingering,
    /// The connection is over; output that is still queued will not be sent.
    Closed,
}

/// The next action, without its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Receive,
    Send,
    Read,
    Open,
    Store,
    Delay,
    Wait,
    HandOver,
    Alert([u8; 2]),
    Linger,
    Close,
}

/// A connection: a protocol core, its unconsumed input, and the state.
pub struct Connection {
    core: Box<dyn ServerConn>,
    exchange: Option<Box<Exchange>>,
    /// Boxed, since most connections have none.
    layer: Option<Box<Layered>>,
    unconsumed: Unconsumed,
    deadline: Tick,
    state: State,
    phase: Phase,
    /// True if there was progress since the deadline was set.
    progressed: bool,
    input_ended: bool,
}

const _: () = assert!(size_of::<Connection>() <= 48, "an idle connection has grown");

impl Connection {
    /// A newly accepted connection. `peer` is its address, if the protocol needs it and it is known.
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
            layer: worker.layer().filter(|_| !worker.layers_on_request).map(Layered::new),
            unconsumed: Unconsumed::default(),
            deadline: Tick::NEVER,
            state: State::Reading,
            phase: Phase::Idle,
            progressed: true,
            input_ended: false,
        };
        connection.state = connection.after(next);
        connection
    }

    /// The next action. After [`Action::Close`] there is no other.
    pub fn poll<'a>(&'a mut self, worker: &mut Worker) -> Action<'a> {
        let step = self.advance(worker);
        let reset = step == Step::Close && self.release(worker);
        match (step, &mut self.exchange) {
            (Step::Receive, _) => Action::Receive,
            (Step::Send, Some(exchange)) => Action::Send(exchange.sending()),
            (Step::Read, Some(exchange)) => Action::Read(&mut exchange.out),
            (Step::Open, Some(exchange)) => Action::Open(&exchange.path),
            (Step::Store, Some(exchange)) => Action::Store(&exchange.path, &mut exchange.step),
            (Step::Delay, Some(exchange)) => Action::Delay(exchange.delay),
            (Step::HandOver, _) => Action::HandOver,
            (Step::Alert(alert), _) => Action::Alert(alert),
            (Step::Linger, _) => Action::Linger,
            (Step::Close, _) => Action::Close { reset },
            (Step::Wait | Step::Send | Step::Read | Step::Open | Step::Store | Step::Delay, _) => {
                Action::Wait
            }
        }
    }

    /// Input has arrived. It is accepted in any state; input that cannot be used yet is kept, up to a limit.
    pub fn received(&mut self, worker: &mut Worker, input: &[u8]) {
        worker.tally.bytes_received += input.len() as u64;
        // Input does not prove that the peer reads.
        self.progressed |= self.phase != Phase::Reply;
        if self.has_layer() {
            self.receive_layered(worker, input);
        } else {
            self.receive_plain(worker, input);
        }
    }

    /// Input for the protocol.
    fn receive_plain(&mut self, worker: &mut Worker, input: &[u8]) {
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
            | State::AwaitingStore
            | State::Delaying
            | State::AwaitingDelay
            | State::Securing => self.keep(worker, input),
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

    /// `n` bytes were sent: the first of those lent to the kernel, if any, else the first of those queued.
    pub fn sent(&mut self, worker: &mut Worker, n: u64) {
        worker.tally.bytes_sent += n;
        self.count_records(n);
        self.progressed = true;
        // Input after a reply is another request with its own deadline. A handshake has one deadline.
        if !self.is_opening() {
            self.phase = Phase::Reply;
        }
        if let Some(exchange) = &mut self.exchange {
            let out = exchange.sending();
            if out.lent() > 0 {
                out.return_lent(n);
            } else {
                out.advance(n);
            }
        }
    }

    /// The result of [`Action::Open`]. The file is lent, so a hit in an open-file cache touches no reference count unless the reply
    /// refers to the file.
    pub fn opened(&mut self, worker: &mut Worker, answer: Result<&Opened, OpenError>) {
        if self.state != State::AwaitingFile {
            return;
        }
        self.progressed = true;
        let exchange = self.exchange.get_or_insert_with(|| worker.exchange());
        let next = self.core.opened(&worker.context(), answer, exchange);
        self.proceed(worker, next);
    }

    /// The result of [`Action::Store`]: the upload so far, `None` once it is complete, or why it could not be stored.
    pub fn stored(&mut self, worker: &mut Worker, answer: Result<Option<Upload>, StoreError>) {
        if self.state != State::AwaitingStore {
            return;
        }
        self.progressed = true;
        let exchange = self.exchange.get_or_insert_with(|| worker.exchange());
        let next = self.core.stored(&worker.context(), answer, exchange);
        self.proceed(worker, next);
        if self.state == State::Closing {
            // More of the upload may have arrived: nothing was received meanwhile.
            self.state = State::ClosingGently;
        }
    }

    /// The time of [`Action::Delay`] has passed.
    pub fn delayed(&mut self, worker: &mut Worker) {
        if self.state != State::AwaitingDelay {
            return;
        }
        self.progressed = true;
        let exchange = self.exchange.get_or_insert_with(|| worker.exchange());
        let next = self.core.delayed(&worker.context(), exchange);
        self.proceed(worker, next);
    }

    /// The first file in the outbox cannot be sent to its end. If nothing of its reply has been sent yet, the reply is
    /// replaced by an error; otherwise the connection is over.
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
        let queued = self.exchange.as_ref().map_or(0, |exchange| exchange.out.len());
        if let Some(exchange) = &mut self.exchange
            && exchange.out.revoke()
        {
            exchange.log.revoke(queued - exchange.out.len());
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

    /// The deadline has passed (see [`Connection::poll_deadline`]).
    pub fn expired(&mut self, worker: &mut Worker) {
        match self.phase_now() {
            Phase::Head if self.is_opening() => {
                worker.tally.handshake_timed_out += 1;
                self.state = State::Closed;
            }
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

    /// The server closes the connection without an error, as when it stops: the core may add a last reply, which is sent
    /// before the close.
    pub fn dismiss(&mut self, worker: &mut Worker) {
        if self.is_opening() {
            self.state = State::Closed;
            return;
        }
        let exchange = self.exchange.get_or_insert_with(|| worker.exchange());
        self.core.dismissed(&worker.context(), exchange);
        worker.tally.collect(exchange);
        self.progressed = true;
        self.state = State::Closing;
    }

    /// Closes the connection now, regardless of requests in progress.
    pub fn cut(&mut self) {
        self.state = State::Closed;
    }

    /// True if the connection is over, so that [`Action::Close`] is the only action left.
    pub fn is_over(&self) -> bool {
        self.state == State::Closed
    }

    /// True if no request is in progress, so the connection can be closed without loss.
    pub fn is_idle(&self) -> bool {
        self.state == State::Reading && self.phase_now() == Phase::Idle
    }

    /// Whether to receive, for a driver that receives continuously.
    pub fn intake(&self) -> Intake {
        match self.state {
            _ if !self.input_ended && self.is_opening() => Intake::Open,
            State::Reading | State::ClosingGently | State::Lingering if !self.input_ended => Intake::Open,
            State::Flushing => Intake::Held,
            // Input behind such a request is kept, but no more is received.
            State::Storing | State::AwaitingStore | State::Delaying | State::AwaitingDelay
                if !self.unconsumed.is_empty() =>
            {
                Intake::Held
            }
            _ => Intake::Unchanged,
        }
    }

    /// The deadline for [`Connection::expired`] if nothing happens before. Call it after polling.
    pub fn poll_deadline(&mut self, worker: &Worker) -> Tick {
        if self.state == State::AwaitingDelay {
            // The delay is the server's.
            return Tick::NEVER;
        }
        let phase = self.phase_now();
        let progressed = std::mem::take(&mut self.progressed) && !phase.counts_from_start();
        if progressed || phase != self.phase || self.deadline == Tick::NEVER {
            self.deadline = worker.deadline(phase);
            self.phase = phase;
        }
        self.deadline
    }

    /// The phase in which the deadline was last computed.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// The output of the protocol, if there is any; files are read into it.
    pub fn outbox(&mut self) -> Option<&mut Outbox> {
        self.exchange.as_mut().map(|exchange| &mut exchange.out)
    }

    /// The output for the socket, if there is any: that of the protocol, or of its layer.
    pub fn to_send(&mut self) -> Option<&mut Outbox> {
        self.exchange.as_mut().map(|exchange| exchange.sending())
    }

    /// Keeps a sent buffer for further output.
    pub fn recycle(&mut self, buffer: Vec<u8>) {
        if let Some(exchange) = &mut self.exchange {
            let is_layered = self.layer.as_ref().is_some_and(|layered| layered.is_here());
            let out = if is_layered { &mut exchange.wire } else { &mut exchange.out };
            out.recycle(buffer);
        }
    }

    /// True if this process runs a layer between the connection and its protocol.
    pub fn has_layer(&self) -> bool {
        self.layer.as_ref().is_some_and(|layered| layered.is_here())
    }

    /// Bytes of input that the core has not consumed.
    pub fn unconsumed(&self) -> usize {
        self.unconsumed.len()
    }

    /// True in the middle of a request: the core reports it, or there is unconsumed input.
    pub fn mid_request(&self) -> bool {
        !self.unconsumed.is_empty() || self.core.mid_request() || self.is_midway()
    }

    /// True if no further input is processed.
    fn is_closing(&self) -> bool {
        matches!(self.state, State::Closing | State::ClosingGently | State::Lingering | State::Closed)
    }

    fn phase_now(&self) -> Phase {
        let exchange = self.exchange.as_ref();
        let replying = exchange.is_some_and(|exchange| !exchange.out.is_empty() || !exchange.wire.is_empty())
            || self.alert_due().is_some();
        match self.state {
            State::Lingering => Phase::Linger,
            // From the first byte of the handshake to its last, in both directions.
            _ if self.is_opening() => {
                if self.is_midway() {
                    Phase::Head
                } else {
                    Phase::Idle
                }
            }
            State::Opening
            | State::AwaitingFile
            | State::Storing
            | State::AwaitingStore
            | State::Delaying
            | State::AwaitingDelay => Phase::Reply,
            _ if replying => Phase::Reply,
            State::Reading | State::Flushing if !self.unconsumed.is_empty() => Phase::Head,
            _ if self.core.mid_request() => Phase::Body,
            _ if self.is_midway() => Phase::Head,
            _ => Phase::Idle,
        }
    }

    /// Advances as far as possible without the driver.
    fn advance(&mut self, worker: &mut Worker) -> Step {
        loop {
            if self.input_ended && (self.state == State::Reading || self.is_opening() && !self.is_deaf()) {
                self.end_input(worker);
            }
            if self.hands_over_now() {
                return Step::HandOver;
            }
            let (is_sent, in_flight) = match (&self.layer, &self.exchange) {
                (_, None) => (true, false),
                (None, Some(exchange)) => (exchange.out.is_empty(), exchange.out.lent() > 0),
                (Some(_), Some(_)) => self.advance_layer(worker),
            };
            match self.state {
                State::Closed => return Step::Close,
                State::Opening if is_sent || !worker.opens_when_sent => {
                    self.state = State::AwaitingFile;
                    return Step::Open;
                }
                _ if in_flight => return Step::Wait,
                _ if !is_sent => return self.sending_step(),
                State::Reading if self.has_worn_key() => self.dismiss(worker),
                State::Reading | State::Lingering => {
                    self.release(worker);
                    return Step::Receive;
                }
                State::Flushing => {
                    self.log_sent(worker);
                    self.state = State::Reading;
                    self.run_unconsumed(worker);
                }
                State::Opening | State::AwaitingFile | State::AwaitingStore | State::AwaitingDelay => {
                    return Step::Wait;
                }
                State::Securing => self.secure(worker),
                State::Closing | State::ClosingGently if let Some(alert) = self.alert_due() => {
                    return Step::Alert(alert);
                }
                State::Closing | State::ClosingGently if self.has_layer_to_end() => self.end_layer(worker),
                State::Storing => {
                    self.state = State::AwaitingStore;
                    return Step::Store;
                }
                State::Delaying => {
                    self.state = State::AwaitingDelay;
                    return Step::Delay;
                }
                State::ClosingGently if !self.input_ended => {
                    self.log_sent(worker);
                    self.state = State::Lingering;
                    return Step::Linger;
                }
                State::Closing | State::ClosingGently => self.state = State::Closed,
            }
        }
    }

    /// Returns the exchange to the worker. True if it had unsent output.
    fn release(&mut self, worker: &mut Worker) -> bool {
        let Some(mut exchange) = self.exchange.take() else { return false };
        let left = !exchange.out.is_empty() || !exchange.wire.is_empty();
        if !exchange.log.is_empty() {
            // Encrypted output counts with its encrypted length.
            let unsent = [&exchange.out, &exchange.wire].map(|out| out.len() + out.lent());
            exchange.log.finish(unsent.iter().sum(), worker.log.as_mut());
        }
        worker.recycle(exchange);
        left
    }

    /// Passes on the log lines of replies that are completely sent.
    fn log_sent(&mut self, worker: &mut Worker) {
        if let Some(exchange) = self.exchange.as_mut().filter(|exchange| !exchange.log.is_empty()) {
            exchange.log.finish(0, worker.log.as_mut());
        }
    }

    /// Handles the next step of the core after an answer.
    fn proceed(&mut self, worker: &mut Worker, next: Next) {
        if let Some(exchange) = &mut self.exchange {
            worker.tally.collect(exchange);
        }
        self.state = self.after(next);
        if self.state == State::Reading && !self.unconsumed.is_empty() {
            self.run_unconsumed(worker);
        }
    }

    /// The state for the next step of the core, when all its input is consumed or kept.
    fn after(&self, next: Next) -> State {
        match next {
            Next::Read => State::Reading,
            Next::Flush => State::Flushing,
            Next::Open => State::Opening,
            Next::Store => State::Storing,
            Next::Delay => State::Delaying,
            Next::Secure => State::Securing,
            Next::Close if self.unconsumed.is_empty() => State::Closing,
            // Further input is not read, and would be answered with a reset.
            Next::Close => State::ClosingGently,
        }
    }

    /// Reports the end of input to the core.
    fn end_input(&mut self, worker: &mut Worker) {
        if self.is_opening() {
            worker.tally.handshake_ended += u64::from(self.is_midway());
            self.state = State::Closed;
            return;
        }
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
        if let Some(kept) = self.unconsumed.take() {
            let consumed = self.run(worker, kept.bytes());
            self.unconsumed.put_back(kept, consumed);
        }
    }

    fn keep(&mut self, worker: &mut Worker, input: &[u8]) {
        if input.is_empty() || self.is_closing() {
            return;
        }
        if self.unconsumed() + input.len() > UNCONSUMED_MAX {
            worker.tally.too_large += 1;
            self.state = State::ClosingGently;
            return;
        }
        self.unconsumed.keep(input);
    }

    /// Feeds the core until it needs more input or something else. Returns how much of the input it consumed.
    fn run(&mut self, worker: &mut Worker, input: &[u8]) -> usize {
        let exchange = self.exchange.get_or_insert_with(|| worker.exchange());
        let mut consumed = 0;
        self.state = loop {
            if exchange.out.len() >= worker.outbox_bytes || exchange.log.waiting() >= WAITING_MAX {
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
                Next::Delay => break State::Delaying,
                Next::Secure => break State::Securing,
                Next::Close if is_all => break State::Closing,
                Next::Close => break State::ClosingGently,
            }
        };
        worker.tally.collect(exchange);
        consumed
    }
}

/// Connections with a layer between socket and protocol.
impl Connection {
    /// True until the handshake is complete.
    fn is_opening(&self) -> bool {
        self.layer.as_ref().is_some_and(|layered| !layered.is_open())
    }

    /// True if the layer's input is ignored too. A protocol that closes before the handshake is complete waits for its end.
    fn is_deaf(&self) -> bool {
        self.is_closing() && !(self.state == State::Closing && self.is_opening())
    }

    /// True in the middle of a handshake or a record.
    fn is_midway(&self) -> bool {
        self.layer.as_ref().is_some_and(|layered| layered.is_midway())
    }

    /// Input for the layer.
    fn receive_layered(&mut self, worker: &mut Worker, input: &[u8]) {
        if self.is_deaf() {
            return;
        }
        let Some(layer) = self.layer.as_mut().and_then(|layered| layered.here()) else { return };
        let mut scratch = std::mem::take(&mut worker.scratch);
        let exchange = self.exchange.get_or_insert_with(|| worker.exchange());
        let result = layer.receive(input, &mut scratch, &mut exchange.wire);
        if let Ok(received) = &result
            && let Some(handshake) = received.opened
        {
            worker.tally.handshake(handshake);
            self.progressed = true;
        }
        if !scratch.plain.is_empty() {
            self.receive_plain(worker, &scratch.plain);
            scratch.plain.clear();
        }
        worker.scratch = scratch;
        match result {
            Ok(received) if received.ended => self.ended(),
            Ok(_) => {}
            Err(failure) => self.layer_failed(worker, failure),
        }
    }

    /// Nothing more can be received, and only the layer's reason is sent.
    fn layer_failed(&mut self, worker: &mut Worker, failure: LayerFailure) {
        worker.tally.layer_failed(failure);
        if let Some(exchange) = &mut self.exchange {
            exchange.out.clear();
        }
        match &mut self.layer {
            Some(_) if failure == LayerFailure::Absent => {
                self.layer = None;
                let exchange = self.exchange.get_or_insert_with(|| worker.exchange());
                self.core.unsecured(&worker.context(), exchange);
                worker.tally.collect(exchange);
            }
            Some(layered) => layered.ended = true,
            None => {}
        }
        self.state = State::ClosingGently;
    }

    /// Lets the layer take the protocol's output. Returns whether everything is sent, and whether some is in flight.
    fn advance_layer(&mut self, worker: &mut Worker) -> (bool, bool) {
        let hands_over = self.will_hand_over();
        let (Some(layered), Some(exchange)) = (&mut self.layer, &mut self.exchange) else {
            return (true, false);
        };
        let Exchange { out, wire, .. } = &mut **exchange;
        let Carrier::Layer(layer) = &mut layered.carrier else {
            return (out.is_empty(), out.lent() > 0);
        };
        if out.is_empty() || self.state == State::Closed {
            return (wire.is_empty(), wire.lent() > 0);
        }
        if layered.ended {
            out.clear();
        } else if hands_over {
            // The kernel encrypts it after the rest of the handshake.
        } else if layer.is_open() && !wire.is_begun() && wire.len() < WIRE_MAX {
            // A reply is sent with the first part of its file: one send takes both, and an error can still be reported.
            let must_read = wire.is_empty() && out.file_to_read().is_some();
            if !must_read && let Err(failure) = layer.send(out, &mut worker.scratch, wire) {
                worker.tally.layer_failed(failure);
                self.state = State::Closed;
            }
        }
        (out.is_empty() && wire.is_empty(), wire.lent() > 0)
    }

    /// The next step of sending.
    fn sending_step(&self) -> Step {
        match (&self.layer, &self.exchange) {
            (Some(layered), Some(exchange)) if layered.is_here() && exchange.wire.is_empty() => {
                // The first output waits for the handshake; later only files wait.
                if layered.is_open() { Step::Read } else { Step::Receive }
            }
            _ => Step::Send,
        }
    }

    /// Puts the layer under the protocol, at its request.
    fn secure(&mut self, worker: &mut Worker) {
        let Some(layer) = worker.layer() else {
            self.state = State::Closed;
            return;
        };
        self.layer = Some(Layered::new(layer));
        self.state = State::Reading;
        if let Some(kept) = self.unconsumed.take() {
            self.receive_layered(worker, kept.bytes());
        }
    }

    /// True if the end has to be announced to the peer.
    fn has_layer_to_end(&self) -> bool {
        self.layer.as_ref().is_some_and(|layered| !layered.ended)
    }

    /// Announces the end to the peer.
    fn end_layer(&mut self, worker: &mut Worker) {
        let Some(layered) = &mut self.layer else { return };
        layered.ended = true;
        match &mut layered.carrier {
            Carrier::Layer(layer) if layer.is_open() => {
                let exchange = self.exchange.get_or_insert_with(|| worker.exchange());
                layer.end(&mut exchange.wire);
            }
            Carrier::Layer(_) => {}
            Carrier::Kernel(kernel) => kernel.say(CLOSE_NOTIFY),
        }
    }
}

/// Connections whose layer runs in the kernel.
impl Connection {
    /// The keys for the kernel, which is ready for them. `None` if there are none; then the connection is over.
    pub fn kernel_keys(&mut self) -> Option<KernelKeys> {
        let layered = self.layer.as_mut().filter(|layered| layered.is_here())?;
        let keys = layered.hand_over();
        if keys.is_none() {
            self.state = State::Closed;
        }
        keys
    }

    /// The kernel has taken the keys, or refused them. Then nothing more can be sent on this connection.
    pub fn handed_over(&mut self, worker: &mut Worker, is_taken: bool) {
        if is_taken {
            worker.tally.layers_in_kernel += 1;
        } else {
            worker.tally.layer_failed(LayerFailure::Malformed);
            self.state = State::Closed;
        }
    }

    /// The kernel cannot take over: the layer stays in this process.
    pub fn keeps_layer(&mut self) {
        if let Some(layered) = &mut self.layer {
            layered.offers = false;
        }
    }

    /// True if the layer runs in the kernel. Each receive then ends with a record. Records without data of the protocol fail the
    /// receive with EIO, after which they can be received with their type.
    pub fn is_in_kernel(&self) -> bool {
        self.layer.as_ref().is_some_and(|layered| !layered.is_here())
    }

    /// A record has arrived through the kernel, of this content type.
    pub fn received_record(&mut self, worker: &mut Worker, content_type: u8, record: &[u8]) {
        match Record::of(content_type, record) {
            Record::Data => self.received(worker, record),
            Record::End => self.ended(),
            Record::Nothing => {}
            Record::Failure(failure, alert) => self.record_failed(worker, failure, alert),
        }
    }

    /// The kernel has refused a record.
    pub fn record_refused(&mut self, worker: &mut Worker) {
        self.record_failed(worker, LayerFailure::Malformed, Some(BAD_RECORD_MAC));
    }

    /// The alert is sent.
    pub fn alerted(&mut self) {
        self.progressed = true;
        if let Some(kernel) = self.kernel() {
            kernel.alerted();
        }
    }

    fn record_failed(&mut self, worker: &mut Worker, failure: LayerFailure, alert: Option<[u8; 2]>) {
        if self.is_closing() {
            // It would be reported again and again while waiting for the end.
            self.state = State::Closed;
            return;
        }
        self.layer_failed(worker, failure);
        if let (Some(kernel), Some(alert)) = (self.kernel(), alert) {
            kernel.say(alert);
        }
    }

    fn kernel(&mut self) -> Option<&mut KernelLayer> {
        self.layer.as_mut()?.kernel()
    }

    /// True if the kernel takes over for the protocol's next output.
    fn will_hand_over(&self) -> bool {
        let Some(layered) = &self.layer else { return false };
        let has_work = match self.state {
            State::Closed | State::Lingering => false,
            // A layer that is about to end does not need the kernel.
            State::Closing | State::ClosingGently => {
                self.exchange.as_ref().is_some_and(|exchange| !exchange.out.is_empty())
            }
            _ => true,
        };
        has_work && layered.can_hand_over()
    }

    /// The same, and all output of the layer is sent.
    fn hands_over_now(&self) -> bool {
        let is_sent = |exchange: &Exchange| exchange.wire.is_empty() && exchange.wire.lent() == 0;
        self.layer.is_some()
            && self.exchange.as_ref().is_none_or(|exchange| is_sent(exchange))
            && self.will_hand_over()
    }

    /// The alert to send through the kernel.
    fn alert_due(&self) -> Option<[u8; 2]> {
        self.layer.as_ref()?.alert_due()
    }

    /// Counts sent records.
    fn count_records(&mut self, bytes: u64) {
        if let Some(kernel) = self.kernel() {
            kernel.count_records(bytes);
        }
    }

    /// True if the connection's key must not be used for further requests.
    fn has_worn_key(&self) -> bool {
        self.layer.as_ref().is_some_and(|layered| layered.has_worn_key()) && !self.mid_request()
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
