//! The pump: it feeds a protocol core and obeys it. The same for every model and mechanism.

use std::os::fd::BorrowedFd;

use pitot_proto::{
    Context, DeliverError, Next, OpenError, Outbox, Parcel, Protocol, ServerConn, Violation, ViolationKind,
};
use pitot_sys::socket;

use crate::counters::Count;
use crate::disk::ReadFailure;
use crate::files::Answer;
use crate::server::Env;

/// The most input that may wait unconsumed. A core bounds its own appetite well below; this bounds a burst that
/// arrived behind a request whose reply is not yet read, which may fill all buffers of a ring (1 MiB) before its
/// receive is held back.
const TAIL_MAX: usize = 2 << 20;

/// What a session waits for, once its outbox is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// More input.
    Input,
    /// To be resumed.
    Resume,
    /// What another process knows of a file.
    File,
    /// That a piece of a file or of a message is stored, which this worker does not do itself.
    Store,
    /// The end.
    Close,
    /// The end, but input that nobody will read may still arrive: a plain close would answer it with a reset, which
    /// could destroy the reply on its way (RFC 9112 section 9.6).
    CloseGently,
}

/// A protocol core with its unconsumed input.
pub struct Session {
    core: Box<dyn ServerConn>,
    tail: Vec<u8>,
    want: Want,
    input_ended: bool,
}

impl Session {
    /// A session with a new connection's core. The socket is asked for the peer if the protocol wants to know it.
    pub fn new(protocol: &dyn Protocol, socket: Option<BorrowedFd<'_>>) -> Session {
        let mut core = protocol.connect();
        if let Some(socket) = socket.filter(|_| protocol.wants_peer())
            && let Ok(peer) = socket::peer_addr(socket)
        {
            core.peer_is(peer.ip());
        }
        Session { core, tail: Vec::new(), want: Want::Input, input_ended: false }
    }

    /// What it waits for.
    pub fn want(&self) -> Want {
        self.want
    }

    /// In the middle of a request's head.
    pub fn in_head(&self) -> bool {
        self.want == Want::Input && !self.tail.is_empty()
    }

    /// Input waits for the session to be done with what it was given before.
    pub fn holds_input(&self) -> bool {
        !self.tail.is_empty()
    }

    /// In the middle of a request's body.
    pub fn in_body(&self) -> bool {
        self.core.mid_request()
    }

    /// The connection is there.
    pub fn open(&mut self, env: &mut Env, out: &mut Outbox) {
        let next = self.core.open(&env.context(), out);
        self.want = match self.obey(next, env, out) {
            Next::Close => Want::Close,
            Next::Flush => Want::Resume,
            Next::Open => Want::File,
            Next::Deliver => Want::Store,
            Next::Read => Want::Input,
        };
        env.count_replies(out);
    }

    /// Input has arrived. It is taken in any state; what cannot be used yet is kept, up to a bound.
    pub fn input(&mut self, env: &mut Env, input: &[u8], out: &mut Outbox) {
        match self.want {
            Want::Input if self.tail.is_empty() => {
                let consumed = self.run(env, input, out);
                self.keep(env, &input[consumed..]);
            }
            Want::Input => {
                self.keep(env, input);
                self.run_tail(env, out);
            }
            Want::Resume | Want::File | Want::Store => self.keep(env, input),
            Want::Close | Want::CloseGently => {}
        }
    }

    /// The outbox is empty, as was wanted.
    pub fn resume(&mut self, env: &mut Env, out: &mut Outbox) {
        if self.want == Want::Resume {
            self.want = Want::Input;
            self.run_tail(env, out);
            self.end_if_ended(env, out);
        }
    }

    /// The peer has finished sending.
    pub fn end_of_input(&mut self, env: &mut Env, out: &mut Outbox) {
        self.input_ended = true;
        self.end_if_ended(env, out);
    }

    /// The peer took too long over a request: the core may say a last word.
    pub fn timed_out(&mut self, env: &mut Env, out: &mut Outbox) {
        self.core.timed_out(&env.context(), out);
        self.want = Want::CloseGently;
    }

    /// A file of which a reply is being sent cannot be read. True if an error takes the place of the reply, false if
    /// it is too late for that.
    pub fn file_failed(&mut self, env: &mut Env, failure: ReadFailure, out: &mut Outbox) -> bool {
        let error = match failure {
            ReadFailure::Truncated => {
                env.counters.add(Count::FileTruncated, 1);
                OpenError::Failed
            }
            ReadFailure::Failed(error) => {
                env.counters.add(Count::FileFailed, 1);
                error
            }
            ReadFailure::Socket => {
                env.counters.add(Count::Reset, 1);
                return false;
            }
        };
        if !out.revoke() {
            return false;
        }
        self.core.file_failed(&env.context(), error, out);
        // The reply that was revoked has been counted.
        out.take_replies();
        self.want = Want::CloseGently;
        true
    }

    /// The other process has told what it knows of the file that was wanted, and it was learnt, or why there is none.
    pub fn file_known(&mut self, env: &mut Env, answer: Result<(), OpenError>, out: &mut Outbox) {
        if self.want != Want::File {
            return;
        }
        let next = match answer {
            Ok(()) => Next::Open,
            Err(error) => self.core.opened(&env.context(), Err(error), out),
        };
        self.go_on(next, env, out);
    }

    /// What was to be stored is stored, or could not be.
    pub fn stored(&mut self, env: &mut Env, answer: Result<Option<Parcel>, DeliverError>, out: &mut Outbox) {
        if self.want != Want::Store {
            return;
        }
        let next = self.core.delivered(&env.context(), answer, out);
        self.go_on(next, env, out);
        if self.want == Want::Close {
            // What was to be stored may go on behind what has been received: no more was taken meanwhile.
            self.want = Want::CloseGently;
        }
    }

    /// Goes on after what was waited for.
    fn go_on(&mut self, next: Next, env: &mut Env, out: &mut Outbox) {
        let next = self.obey(next, env, out);
        env.count_replies(out);
        self.want = match next {
            Next::Open => Want::File,
            Next::Deliver => Want::Store,
            Next::Flush => Want::Resume,
            Next::Close if self.tail.is_empty() => Want::Close,
            Next::Close => Want::CloseGently,
            Next::Read => {
                self.want = Want::Input;
                if !self.tail.is_empty() {
                    self.run_tail(env, out);
                }
                return self.end_if_ended(env, out);
            }
        };
    }

    /// The connection goes although nothing is wrong with it: the core may say a last word.
    pub fn dismiss(&mut self, env: &mut Env, out: &mut Outbox) {
        self.core.dismissed(&env.context(), out);
        self.want = Want::Close;
    }

    fn end_if_ended(&mut self, env: &mut Env, out: &mut Outbox) {
        if !self.input_ended || self.want != Want::Input {
            return;
        }
        if self.in_head() || self.in_body() {
            env.counters.add(Count::EndedEarly, 1);
        }
        let next = self.core.end_of_input(&env.context(), out);
        self.want = match self.obey(next, env, out) {
            Next::Flush => Want::Resume,
            Next::Open => Want::File,
            Next::Deliver => Want::Store,
            Next::Read | Next::Close => Want::Close,
        };
        env.count_replies(out);
    }

    fn run_tail(&mut self, env: &mut Env, out: &mut Outbox) {
        let mut tail = std::mem::take(&mut self.tail);
        let consumed = self.run(env, &tail, out);
        if consumed < tail.len() {
            tail.drain(..consumed);
            self.tail = tail;
        }
    }

    fn keep(&mut self, env: &Env, input: &[u8]) {
        if input.is_empty() || matches!(self.want, Want::Close | Want::CloseGently) {
            return;
        }
        if self.tail.len() + input.len() > TAIL_MAX {
            env.counters.add(Count::TooLarge, 1);
            self.want = Want::CloseGently;
            return;
        }
        self.tail.reserve_exact(input.len());
        self.tail.extend_from_slice(input);
    }

    /// Feeds the core until it has had enough. Returns how much of the input it consumed.
    fn run(&mut self, env: &mut Env, input: &[u8], out: &mut Outbox) -> usize {
        let mut consumed = 0;
        loop {
            if out.len() >= env.limits.outbox_bytes {
                self.want = Want::Resume;
                break;
            }
            let step = match self.core.receive(&env.context(), &input[consumed..], out) {
                Ok(step) => step,
                Err(violation) => {
                    self.violated(env, violation);
                    break;
                }
            };
            consumed += step.consumed;
            let all_consumed = consumed == input.len();
            match self.obey(step.next, env, out) {
                Next::Read if step.consumed > 0 && !all_consumed => {}
                Next::Read => break,
                Next::Open => {
                    self.want = Want::File;
                    break;
                }
                Next::Deliver => {
                    self.want = Want::Store;
                    break;
                }
                Next::Flush => {
                    self.want = Want::Resume;
                    break;
                }
                Next::Close => {
                    // What follows is not read, and would be answered by a reset.
                    self.want = if all_consumed { Want::Close } else { Want::CloseGently };
                    break;
                }
            }
        }
        env.count_replies(out);
        consumed
    }

    /// Opens files, delivers mail and stores files for as long as the core wants that, and returns what it wants then:
    /// to open or store something only if that is not done here.
    fn obey(&mut self, mut next: Next, env: &mut Env, out: &mut Outbox) -> Next {
        loop {
            next = match next {
                Next::Open => {
                    let Env { files, clock, stopping, .. } = env;
                    let Answer::Is(answer) = files.open(out.wanted_file(), clock) else { return Next::Open };
                    let cx = Context { unix_s: clock.unix_s(), date: clock.date(), stopping: *stopping };
                    self.core.opened(&cx, answer, out)
                }
                Next::Deliver => {
                    let Some(answer) = env.deliver(out) else { return Next::Deliver };
                    self.core.delivered(&env.context(), answer, out)
                }
                next => return next,
            };
        }
    }

    fn violated(&mut self, env: &Env, violation: Violation) {
        env.counters.add(
            match violation.kind {
                ViolationKind::Malformed => Count::Malformed,
                ViolationKind::TooLarge => Count::TooLarge,
            },
            1,
        );
        self.want = Want::CloseGently;
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session")
            .field("want", &self.want)
            .field("tail", &self.tail.len())
            .finish_non_exhaustive()
    }
}
