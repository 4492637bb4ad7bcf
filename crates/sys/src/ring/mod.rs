//! io_uring(7) for sockets, as a safe type.
//!
//! Two rules make it safe. A buffer that the kernel reads or writes belongs to the ring until the completion gives it
//! back: sends and file reads move their bytes in, receives land in buffers that the ring provides (a buffer ring,
//! `IORING_REGISTER_PBUF_RING`) and lends out. And a ring that is dropped cancels what is in flight before it frees
//! a byte, or leaks the bytes where the kernel will not say that it is done.
//!
//! Accepts and receives are multishot, unless a ring is to do without: armed once, they complete again and again
//! without a new submission. A completion that is the last of its operation says so (`last`), and no buffer, slot or
//! descriptor may be counted as free before that.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::time::Duration;

use io_uring::{IoUring, cqueue, opcode, squeue, types};

use crate::connect::Peer;
use crate::{Token, Unavailable};

mod address;
mod buffers;
mod completion;
mod in_flight;
mod nops;
mod options;
mod payload;
mod probe;
mod socket;
mod user_data;

use address::{Address, socket_address};
use buffers::Buffers;
pub use buffers::Chunk;
pub use completion::Completion;
use in_flight::{InFlight, Owned};
pub use nops::Nops;
pub use options::Options;
pub use payload::Payload;
pub(crate) use probe::explain;
pub use probe::{Offered, probe};
pub use socket::RingFd;
use socket::{RingSocket, number, target};
use user_data::{Kind, taken_apart, user_data};

/// The same for both kinds of sockets, whose types are different ones for the library.
macro_rules! of_socket {
    ($fd:ident => $made:expr) => {
        match target($fd) {
            RingSocket::Fd($fd) => $made,
            RingSocket::Fixed($fd) => $made,
        }
    };
}

/// The group of the one buffer ring.
const BUFFER_GROUP: u16 = 0;

/// An io_uring with its receive buffers. One thread uses it.
pub struct Ring {
    ring: IoUring,
    options: Options,
    buffers: Buffers,
    in_flight: InFlight,
    /// Receives whose last completion has not come: the kernel may still write into the buffers.
    receives: usize,
    /// Sockets whose shutdown is in flight, by number, and those of them that are to be closed then. The kernel shuts
    /// down on a thread of its own, which looks the socket up by its number only then: had it been closed before, the
    /// number might already be the next connection's.
    shutting_down: HashMap<u64, Option<RingFd>>,
    /// Completions taken from the kernel: user data, result and flags.
    arrived: Vec<(u64, i32, u32)>,
    /// How many of them have been returned.
    returned: usize,
    #[expect(
        clippy::vec_box,
        reason = "a payload must not move while it is in flight, so it is boxed from the start"
    )]
    spare_payloads: Vec<Box<Payload>>,
    #[expect(clippy::vec_box, reason = "the same is true of an address")]
    spare_addresses: Vec<Box<Address>>,
}

/// Take completions (IORING_ENTER_GETEVENTS), also where none is waited for.
const ENTER_GETEVENTS: u32 = 1;
/// Completions with which a wait that gathers them ends early.
const GATHERED_MAX: usize = 256;
/// Above the flags of a completion is the number of its buffer (IORING_CQE_BUFFER_SHIFT).
const BUFFER_SHIFT: u32 = 16;
/// Payloads kept for reuse.
const SPARE_PAYLOADS_MAX: usize = 256;
/// Addresses kept for reuse.
const SPARE_ADDRESSES_MAX: usize = 256;

impl Ring {
    /// A ring for the calling thread, which must be the one that uses it (IORING_SETUP_SINGLE_ISSUER).
    ///
    /// # Errors
    /// [`Unavailable`] if the kernel refuses, with the cause.
    pub fn new(mut options: Options) -> Result<Ring, Unavailable> {
        let ring = probe::build(&options).map_err(|e| explain(&e))?;
        options.bundles &= ring.params().is_feature_recvsend_bundle();
        let limited = |what: &str, e: &io::Error| Unavailable {
            what: "io_uring".into(),
            cause: format!("{what} could not be set up: {e}"),
            fix: "use Linux 6.1 or later, or raise the memory and descriptor limits (ulimit -l, ulimit -n)"
                .into(),
        };
        let buffers = Buffers::new(&ring, BUFFER_GROUP, options.buffers, options.buffer_bytes)
            .map_err(|e| limited("the buffer ring", &e))?;
        if options.direct > 0 {
            ring.submitter()
                .register_files_sparse(options.direct)
                .map_err(|e| limited("direct descriptors", &e))?;
        }
        if !options.busy_poll.is_zero() {
            probe::poll_busily(&ring, options.busy_poll).map_err(|e| limited("busy polling", &e))?;
        }
        let ring = Ring {
            ring,
            options,
            buffers,
            in_flight: InFlight::new(),
            receives: 0,
            shutting_down: HashMap::new(),
            arrived: Vec::with_capacity(options.completions as usize),
            returned: 0,
            spare_payloads: Vec::new(),
            spare_addresses: Vec::new(),
        };
        Ok(ring)
    }

    /// Accepts connections from now on, as direct descriptors if `direct`; without multishot one.
    pub fn accept(&mut self, token: Token, listener: BorrowedFd<'_>, direct: bool) {
        let kind = if direct { Kind::AcceptDirect } else { Kind::Accept };
        let listener = types::Fd(listener.as_raw_fd());
        let flags = if direct { 0 } else { libc::SOCK_CLOEXEC };
        let entry = if self.options.multishot {
            opcode::AcceptMulti::new(listener).allocate_file_index(direct).flags(flags).build()
        } else {
            opcode::Accept::new(listener, std::ptr::null_mut(), std::ptr::null_mut())
                .file_index(direct.then(types::DestinationSlot::auto_target))
                .flags(flags)
                .build()
        };
        self.push(entry, user_data(kind, token.bits()));
    }

    /// Receives from now on, into the ring's buffers; without multishot once.
    pub fn receive(&mut self, token: Token, fd: &RingFd) {
        // One of the buffers is taken, whatever its length.
        let (nowhere, any, chosen) = (std::ptr::null_mut(), 0, squeue::Flags::BUFFER_SELECT);
        let entry = match (self.options.multishot, self.options.bundles) {
            (true, true) => of_socket!(fd => opcode::RecvMultiBundle::new(fd, BUFFER_GROUP).build()),
            (true, false) => of_socket!(fd => opcode::RecvMulti::new(fd, BUFFER_GROUP).build()),
            (false, true) => of_socket!(fd => opcode::RecvBundle::new(fd, BUFFER_GROUP).build()),
            (false, false) => {
                of_socket!(fd => opcode::Recv::new(fd, nowhere, any).buf_group(BUFFER_GROUP).build())
                    .flags(chosen)
            }
        };
        self.receives += 1;
        self.push(entry, user_data(Kind::Receive, token.bits()));
    }

    /// Ends an accept or a receive; its last completion says ECANCELED. It may already have ended.
    pub fn cancel(&mut self, token: Token) {
        for kind in [Kind::Receive, Kind::Accept, Kind::AcceptDirect] {
            self.cancel_kind(kind, token);
        }
    }

    /// Ends a receive; its last completion says ECANCELED. It may already have ended.
    pub fn cancel_receive(&mut self, token: Token) {
        self.cancel_kind(Kind::Receive, token);
    }

    /// Ends everything that is in flight on a socket; each operation's last completion says ECANCELED.
    pub fn cancel_all(&mut self, fd: &RingFd) {
        let builder = of_socket!(fd => types::CancelBuilder::fd(fd));
        self.push_forget(opcode::AsyncCancel2::new(builder.all()).build());
    }

    fn cancel_kind(&mut self, kind: Kind, token: Token) {
        self.push_forget(opcode::AsyncCancel::new(user_data(kind, token.bits())).build());
    }

    /// An empty payload, to be filled and sent.
    pub fn payload(&mut self) -> Box<Payload> {
        self.spare_payloads.pop().unwrap_or_default()
    }

    /// Keeps an emptied payload for reuse.
    pub fn recycle_payload(&mut self, payload: Box<Payload>) {
        debug_assert!(payload.is_empty());
        if self.spare_payloads.len() < SPARE_PAYLOADS_MAX {
            self.spare_payloads.push(payload);
        }
    }

    /// Sends a payload, or the first part of it. At most one send of a connection should be in flight, since two may
    /// be carried out in any order.
    ///
    /// # Panics
    /// If the payload is empty.
    pub fn send(&mut self, token: Token, fd: &RingFd, mut payload: Box<Payload>, more: bool) {
        assert!(!payload.is_empty(), "nothing to send");
        let flags = libc::MSG_NOSIGNAL | if more { libc::MSG_MORE } else { 0 };
        let copies = self.options.zero_copy_min.is_none_or(|min| payload.len() < min as usize);
        let entry = match (payload.single(), copies) {
            (Some((start, len)), true) => {
                of_socket!(fd => opcode::Send::new(fd, start, len).flags(flags).build())
            }
            (Some((start, len)), false) => {
                of_socket!(fd => opcode::SendZc::new(fd, start, len).flags(flags).build())
            }
            (None, true) => {
                of_socket!(fd => opcode::SendMsg::new(fd, payload.header()).flags(flags as u32).build())
            }
            (None, false) => {
                of_socket!(fd => opcode::SendMsgZc::new(fd, payload.header()).flags(flags as u32).build())
            }
        };
        let slot = self.in_flight.insert(Owned::Send { token, payload, taken: 0 });
        self.push(entry, user_data(Kind::Send, slot.into()));
    }

    /// Sends static bytes, and reports a completion only if that fails: a [`Completion::Sent`] with an empty payload. This
    /// is the cheapest send there is. For bytes that fit in the socket's send buffer; the next
    /// send of the connection must not come before the peer has answered this one.
    pub fn send_static(&mut self, token: Token, fd: &RingFd, bytes: &'static [u8]) {
        let (start, len) = (bytes.as_ptr(), u32::try_from(bytes.len()).unwrap_or(u32::MAX));
        // MSG_WAITALL: the kernel goes on by itself after a short send.
        let flags = libc::MSG_NOSIGNAL | libc::MSG_WAITALL;
        let entry = of_socket!(fd => opcode::Send::new(fd, start, len).flags(flags).build());
        self.push(entry.flags(squeue::Flags::SKIP_SUCCESS), user_data(Kind::SendStatic, token.bits()));
    }

    /// Reads up to `len` bytes of a file at `offset` into `buffer`, whose content is dropped and which grows if need be.
    pub fn read(&mut self, token: Token, file: &Arc<OwnedFd>, offset: u64, len: u32, mut buffer: Vec<u8>) {
        buffer.clear();
        buffer.reserve(len as usize);
        let entry =
            opcode::Read::new(types::Fd(file.as_raw_fd()), buffer.as_mut_ptr(), len).offset(offset).build();
        let slot = self.in_flight.insert(Owned::Read { token, buffer, _file: Arc::clone(file) });
        self.push(entry, user_data(Kind::Read, slot.into()));
    }

    /// Starts to connect a socket; [`Completion::Connected`] has the result.
    pub fn connect(&mut self, token: Token, fd: &RingFd, to: impl Into<Peer>) {
        let to = to.into();
        let address = match self.spare_addresses.pop() {
            Some(mut spare) => {
                *spare = socket_address(&to);
                spare
            }
            None => Box::new(socket_address(&to)),
        };
        let (pointer, length) = (std::ptr::from_ref(&address.storage).cast(), address.length);
        let entry = of_socket!(fd => opcode::Connect::new(fd, pointer, length).build());
        let slot = self.in_flight.insert(Owned::Connect { token, address });
        self.push(entry, user_data(Kind::Connect, slot.into()));
    }

    /// Reports once when a descriptor is readable.
    pub fn poll(&mut self, token: Token, fd: BorrowedFd<'_>) {
        let entry = opcode::PollAdd::new(types::Fd(fd.as_raw_fd()), libc::POLLIN as u32).build();
        self.push(entry, user_data(Kind::Poll, token.bits()));
    }

    /// Shuts the sending side of a connection down; once for each connection.
    pub fn finish_sending(&mut self, fd: &RingFd) {
        let entry = of_socket!(fd => opcode::Shutdown::new(fd, libc::SHUT_WR).build());
        self.shutting_down.insert(number(fd), None);
        self.push(entry, user_data(Kind::Shutdown, number(fd)));
    }

    /// Resets a connection and drops what was not sent yet. The socket must still be closed.
    pub fn reset(&mut self, fd: &RingFd) {
        // To connect to no address is to disconnect (connect(2)), which needs no socket option and so works for a
        // direct descriptor too.
        static NOWHERE: libc::sockaddr =
            libc::sockaddr { sa_family: libc::AF_UNSPEC as u16, sa_data: [0; 14] };
        let (address, length) = (&raw const NOWHERE, size_of::<libc::sockaddr>() as libc::socklen_t);
        let entry = of_socket!(fd => opcode::Connect::new(fd, address, length).build());
        self.push_forget(entry);
    }

    /// Closes a socket. What is in flight must be cancelled first: until its last completion it keeps the connection
    /// open.
    pub fn close(&mut self, fd: RingFd) {
        if let Some(then_close) = self.shutting_down.get_mut(&number(&fd)) {
            *then_close = Some(fd);
            return;
        }
        let entry = match fd {
            RingFd::Plain(fd) => opcode::Close::new(types::Fd(fd.into_raw_fd())).build(),
            RingFd::Direct(slot) => opcode::Close::new(types::Fixed(slot)).build(),
        };
        self.push_forget(entry);
    }

    /// Hands everything submitted so far to the kernel and does not wait. What the kernel does not take now goes with the
    /// next wait.
    pub fn submit(&mut self) {
        let _ = self.ring.submit();
    }

    /// Hands everything submitted so far to the kernel and waits for a completion, at most until the timeout. A
    /// signal ends the wait early.
    ///
    /// # Errors
    /// EBADF, EFAULT, EINVAL and the like, which would be a defect of this module.
    pub fn wait(&mut self, timeout: Option<Duration>) -> io::Result<()> {
        if self.returned < self.arrived.len() {
            return Ok(());
        }
        let to_submit = self.ring.submission().len() as u32;
        let submitter = self.ring.submitter();
        let gather = self.options.gather.as_micros() as u32;
        let entered = match timeout {
            None if gather > 0 => {
                submitter.submit_with_args(GATHERED_MAX, &types::SubmitArgs::new().min_wait_usec(gather))
            }
            None => submitter.submit_and_wait(1),
            // A wait of no time at all would still put the thread to sleep for as long as a timer takes.
            //
            // SAFETY: there is no argument, and what the queue holds is owned as `push` says.
            Some(Duration::ZERO) => unsafe {
                submitter.enter::<libc::sigset_t>(to_submit, 0, ENTER_GETEVENTS, None)
            },
            Some(timeout) => {
                let time = types::Timespec::from(timeout);
                let arguments = types::SubmitArgs::new().timespec(&time).min_wait_usec(gather);
                submitter.submit_with_args(if gather > 0 { GATHERED_MAX } else { 1 }, &arguments)
            }
        };
        match entered.map_err(|e| e.raw_os_error()) {
            // EBUSY: completions overflowed their ring; taking them makes room.
            Ok(_) | Err(Some(libc::ETIME | libc::EINTR | libc::EBUSY | libc::EAGAIN)) => {}
            Err(code) => return Err(io::Error::from_raw_os_error(code.unwrap_or(libc::EIO))),
        }
        self.arrived.clear();
        self.returned = 0;
        self.arrived.extend(self.ring.completion().map(|c| (c.user_data(), c.result(), c.flags())));
        Ok(())
    }

    /// The next completion that the last wait brought, or `None` after the last one.
    pub fn next_completion(&mut self) -> Option<Completion> {
        while let Some(&(data, result, flags)) = self.arrived.get(self.returned) {
            self.returned += 1;
            if let Some(completion) = self.translate(data, result, flags) {
                return Some(completion);
            }
        }
        None
    }

    /// The bytes of a chunk.
    pub fn chunk(&self, chunk: &Chunk) -> &[u8] {
        self.buffers.bytes(chunk)
    }

    /// Gives the buffer of a chunk back, for the next receive.
    pub fn recycle(&mut self, chunk: Chunk) {
        self.buffers.recycle(chunk);
    }

    fn translate(&mut self, data: u64, result: i32, flags: u32) -> Option<Completion> {
        let (kind, bits) = taken_apart(data);
        // Of operations that own memory this is the number of their slot.
        let token = Token::from_bits(data);
        let last = !cqueue::more(flags);
        match kind {
            Kind::Receive => Some(self.received(data, result, flags)),
            Kind::SendStatic => {
                Some(Completion::Sent { token, result: check(result), payload: Box::default() })
            }
            Kind::AcceptDirect => {
                let result = check(result).map(|slot| RingFd::Direct(slot as u32));
                Some(Completion::Accepted { token, result, last })
            }
            Kind::Accept => {
                // SAFETY: a successful accept gives a descriptor that nobody else owns.
                let own = |fd: usize| RingFd::Plain(unsafe { OwnedFd::from_raw_fd(fd as RawFd) });
                Some(Completion::Accepted { token, result: check(result).map(own), last })
            }
            // The bytes are still in use; another completion tells their end.
            Kind::Send if !last => {
                self.in_flight.taken(token.index(), result);
                None
            }
            Kind::Send | Kind::Read | Kind::Connect => {
                let result = if cqueue::notif(flags) { None } else { Some(result) };
                Some(self.done_with(token.index(), result))
            }
            Kind::Shutdown => {
                if let Some(Some(fd)) = self.shutting_down.remove(&bits) {
                    self.close(fd);
                }
                None
            }
            Kind::Poll => Some(Completion::Readable { token }),
            Kind::Forget => None,
        }
    }

    fn received(&mut self, data: u64, result: i32, flags: u32) -> Completion {
        let mut last = !cqueue::more(flags);
        let taken = cqueue::buffer_select(flags).map(|id| self.buffers.chunk(id, result.max(0) as u32));
        // What a bundle has in buffers elsewhere comes as a completion of its own.
        if let Some((chunk, Some(elsewhere))) = &taken {
            self.returned -= 1;
            self.arrived[self.returned] = (
                data,
                result - chunk.len() as i32,
                flags & ((1 << BUFFER_SHIFT) - 1) | u32::from(*elsewhere) << BUFFER_SHIFT,
            );
            last = false;
        }
        self.receives -= usize::from(last);
        let (token, chunk) = (Token::from_bits(data), taken.map(|(chunk, _)| chunk));
        let result = match (check(result), chunk) {
            (Ok(0) | Err(_), Some(empty)) => {
                self.buffers.recycle(empty);
                check(result).map(|_| None)
            }
            (Ok(_), chunk) => Ok(chunk),
            (Err(e), None) => Err(e),
        };
        Completion::Received { token, result, last }
    }

    /// The completion of an operation that owns memory. Without a result it has come before.
    fn done_with(&mut self, slot: u32, result: Option<i32>) -> Completion {
        let owned = self.in_flight.remove(slot);
        let result = check(match (result, &owned) {
            (None, Owned::Send { taken, .. }) => *taken,
            (result, _) => result.unwrap_or_default(),
        });
        match owned {
            Owned::Send { token, payload, .. } => Completion::Sent { token, result, payload },
            Owned::Read { token, mut buffer, .. } => {
                if let Ok(n) = result {
                    // SAFETY: the kernel has written the first `n` bytes, and was given no more than the capacity.
                    unsafe { buffer.set_len(n) };
                }
                Completion::Read { token, result, buffer }
            }
            Owned::Connect { token, address } => {
                if self.spare_addresses.len() < SPARE_ADDRESSES_MAX {
                    self.spare_addresses.push(address);
                }
                Completion::Connected { token, result: result.map(|_| ()) }
            }
        }
    }

    fn push_forget(&mut self, entry: squeue::Entry) {
        self.push(entry.flags(squeue::Flags::SKIP_SUCCESS), user_data(Kind::Forget, 0));
    }

    fn push(&mut self, entry: squeue::Entry, user_data: u64) {
        let entry = entry.user_data(user_data);
        // SAFETY: whatever the entry points at is owned by `in_flight` until its completion, in memory that does not
        // move, or by `buffers`; descriptors that are gone make the operation fail with EBADF.
        while unsafe { self.ring.submission().push(&entry) }.is_err() {
            // The queue is full: hand it over without waiting. EBUSY and EAGAIN pass as completions are taken.
            if self.ring.submit().is_err() {
                self.arrived.extend(self.ring.completion().map(|c| (c.user_data(), c.result(), c.flags())));
            }
        }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        let _ = self.ring.submit();
        let timeout = types::Timespec::new().sec(1);
        let _ = self.ring.submitter().register_sync_cancel(Some(timeout), types::CancelBuilder::any());
        loop {
            while let Some(completion) = self.next_completion() {
                if let Completion::Received { result: Ok(Some(chunk)), .. } = completion {
                    self.recycle(chunk);
                }
            }
            // The kernel hands over what was cancelled only to a thread that asks for completions.
            if self.wait(Some(Duration::ZERO)).is_err() || self.arrived.is_empty() {
                break;
            }
        }
        // The kernel did not report that it is done with these.
        if self.in_flight.count() > 0 {
            self.in_flight.leak();
        }
        if self.receives > 0 {
            self.buffers.leak();
        }
    }
}

impl std::fmt::Debug for Ring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ring").field("in_flight", &self.in_flight.count()).finish_non_exhaustive()
    }
}

fn check(result: i32) -> io::Result<usize> {
    if result < 0 { Err(io::Error::from_raw_os_error(-result)) } else { Ok(result as usize) }
}

#[cfg(test)]
mod tests;
