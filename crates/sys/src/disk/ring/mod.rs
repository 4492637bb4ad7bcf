//! io_uring for files: reads, writes and syncs, with buffers and files registered or not, and splices to sockets.
//!
//! One ring serves one thread, the one that made it (SINGLE_ISSUER, DEFER_TASKRUN). A send is two splices through a
//! pipe, file to pipe and pipe to socket, repeated until all is sent or the socket takes no more; then what is left in
//! the pipe is dropped, so that the reported count is what the socket has, and the caller may continue from there.
//!
//! The kernel may report a completion before its worker has released the request, and the last reference is then dropped
//! by this thread's next system call. So only shutdown(2), or dropping the ring, is certain to close a socket.

mod file_table;
mod send;

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use io_uring::{IoUring, opcode, squeue, types};

use super::buffer::BufferPool;
use super::operation::{Finished, Operation, Refused, Transfer, Wait};
use crate::ring::explain;
use crate::{EventFd, Unavailable};
use file_table::FileTable;
use send::{Pipes, Send, Step};

/// The kernel does so many pieces of deferred work in one entry, at least (IO_LOCAL_TW_DEFAULT_MAX).
const WORK_PER_ENTER: usize = 20;

/// What a ring is made with.
#[derive(Clone, Debug, Default)]
pub struct RingOptions {
    /// Operations that may be in flight.
    pub depth: u32,
    /// Buffers to register with the kernel once, so that it need not pin their pages for each read. Operations may
    /// also bring others, which go the ordinary way.
    pub buffers: Option<BufferPool>,
    /// Files to register with the kernel, so that it need not look their descriptors up: at most this many at a time,
    /// 0 for none. A registered file stays open until it is replaced or the ring is dropped.
    pub files: u32,
    /// Notify of completions through an eventfd that an event loop can wait for. (The ring's own descriptor does not serve:
    /// while work is deferred to the ring's thread, waiting for that descriptor wakes no one.)
    pub notify: bool,
}

/// Operations in flight through io_uring. Dropping it cancels what can be cancelled and waits for the rest.
pub struct DiskRing<F> {
    ring: IoUring,
    slots: Box<[Option<InFlight<F>>]>,
    free: Vec<u32>,
    /// Entries pushed and not yet handed to the kernel.
    staged: usize,
    buffers: Option<BufferPool>,
    files: Option<FileTable<F>>,
    pipes: Pipes,
    eventfd: Option<EventFd>,
}

struct InFlight<F> {
    operation: Operation<F>,
    send: Option<Send>,
}

impl<F: AsFd + Clone> DiskRing<F> {
    /// A ring for the calling thread.
    ///
    /// # Errors
    /// [`Unavailable`] if the kernel refuses the ring, or the registration for want of lockable memory.
    pub fn new(options: &RingOptions) -> Result<DiskRing<F>, Unavailable> {
        let depth = options.depth.clamp(1, 16_384);
        let ring = build(depth).map_err(|e| Unavailable {
            fix: "allow it (sysctl kernel.io_uring_disabled=0, or the container's seccomp profile), or take the \
                   engine pool or linux-aio"
                .into(),
            ..explain(&e)
        })?;
        if let Some(pool) = &options.buffers {
            // SAFETY: the pool is kept in the ring, and outlives the kernel's use of it: `drop` waits for all operations.
            unsafe { ring.submitter().register_buffers(&pool.as_iovecs()) }.map_err(|e| Unavailable {
                what: format!("registration of {} buffers with io_uring", pool.count()),
                cause: format!("kernel error: {e}"),
                fix: "raise the limit on locked memory (ulimit -l), or omit fixed buffers".into(),
            })?;
        }
        if options.files > 0 {
            ring.submitter().register_files_sparse(options.files).map_err(|e| Unavailable {
                what: format!("a table of {} files in io_uring", options.files),
                cause: format!("kernel error: {e}"),
                fix: "use Linux 5.19 or later, raise ulimit -n, or omit fixed files".into(),
            })?;
        }
        let mut eventfd = None;
        if options.notify {
            let register_eventfd = |ring: &IoUring| {
                let fd = EventFd::new()?;
                ring.submitter().register_eventfd(fd.as_fd().as_raw_fd())?;
                Ok(fd)
            };
            eventfd = Some(register_eventfd(&ring).map_err(|e: io::Error| Unavailable {
                what: "an eventfd for io_uring".into(),
                cause: format!("kernel error: {e}"),
                fix: "raise the limit on open files (ulimit -n)".into(),
            })?);
        }
        Ok(DiskRing {
            ring,
            slots: (0..depth).map(|_| None).collect(),
            free: (0..depth).rev().collect(),
            staged: 0,
            buffers: options.buffers.clone(),
            files: (options.files > 0).then(|| FileTable::new(options.files)),
            pipes: Pipes::default(),
            eventfd,
        })
    }

    /// Stages an operation for the next [`DiskRing::commit`].
    ///
    /// # Errors
    /// [`Refused::Full`] beyond the depth; failed if a send finds no pipe.
    pub fn queue(&mut self, operation: Operation<F>) -> Result<(), Refused<F>> {
        let Some(slot) = self.free.pop() else {
            return Err(Refused::Full(operation));
        };
        let in_flight = if matches!(operation.transfer, Transfer::Send { .. }) {
            match self.pipes.begin() {
                Ok(send) => InFlight { operation, send: Some(send) },
                Err(error) => {
                    self.free.push(slot);
                    return Err(Refused::Failed(Finished { operation, result: Err(error) }));
                }
            }
        } else {
            InFlight { operation, send: None }
        };
        let entry = self.entry(&in_flight).user_data(slot.into());
        self.slots[slot as usize] = Some(in_flight);
        self.push(entry);
        Ok(())
    }

    /// Hands what is staged to the kernel.
    ///
    /// # Errors
    /// Those of io_uring_enter(2) that do not pass by themselves.
    pub fn commit(&mut self) -> io::Result<()> {
        while self.staged > 0 {
            if !self.enter(0)? {
                // Completions must be taken first.
                return Ok(());
            }
        }
        Ok(())
    }

    /// Appends what has completed.
    ///
    /// # Errors
    /// Those of io_uring_enter(2) that do not pass by themselves.
    pub fn reap(&mut self, wait: Wait, done: &mut Vec<Finished<F>>) -> io::Result<()> {
        let before = done.len();
        // First, so that whatever completes from now on notifies again.
        if let Some(eventfd) = &self.eventfd {
            eventfd.reset();
        }
        self.collect(done);
        match wait {
            Wait::ForOne => {
                while done.len() == before && self.in_flight() > 0 {
                    self.enter(1)?;
                    self.collect(done);
                }
            }
            // The kernel flags deferred work that it has left, without notifying again. But the flag is only a hint: it may be
            // raised just after all of that work is done, and then stays until there is more.
            Wait::No => {
                for _ in 0..=self.in_flight() / WORK_PER_ENTER {
                    if !self.ring.submission().taskrun() {
                        break;
                    }
                    self.enter(0)?;
                    self.collect(done);
                }
            }
        }
        // The next steps of sends that were just collected.
        self.commit()
    }

    /// Operations queued or in the kernel.
    pub fn in_flight(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Becomes readable when there is something to reap, if that was asked for.
    pub fn completion_fd(&self) -> Option<BorrowedFd<'_>> {
        self.eventfd.as_ref().map(AsFd::as_fd)
    }

    /// Takes completions; a send may push its next step.
    fn collect(&mut self, done: &mut Vec<Finished<F>>) {
        loop {
            let Some(completion) = self.ring.completion().next() else {
                return;
            };
            let slot = completion.user_data() as u32;
            let Some(in_flight) = self.slots.get_mut(slot as usize).and_then(Option::take) else {
                unreachable!("a completion names a slot that holds an operation")
            };
            let result = match completion.result() {
                code if code < 0 => Err(io::Error::from_raw_os_error(-code)),
                count => Ok(count as usize),
            };
            let InFlight { operation, send } = in_flight;
            let step = match send {
                Some(send) => self.pipes.advance(send, operation.transfer.len(), result),
                None => Step::Over(result),
            };
            match step {
                Step::Next(send) => {
                    let in_flight = InFlight { operation, send: Some(send) };
                    let entry = self.entry(&in_flight).user_data(slot.into());
                    self.slots[slot as usize] = Some(in_flight);
                    self.push(entry);
                }
                Step::Over(result) => {
                    self.free.push(slot);
                    done.push(Finished { operation, result });
                }
            }
        }
    }

    fn entry(&mut self, in_flight: &InFlight<F>) -> squeue::Entry {
        let Operation { file, offset, transfer, .. } = &in_flight.operation;
        if let (Some(send), Transfer::Send { socket, len }) = (&in_flight.send, transfer) {
            return send.entry(file.as_fd(), *offset, socket, *len);
        }
        let (start, len) = transfer.memory();
        let (len, offset) = (u32::try_from(len).unwrap_or(u32::MAX), *offset);
        let buffer = transfer.buffer().zip(self.buffers.as_ref()).and_then(|(b, pool)| pool.index_of(b));
        let registered = self.registered(file);
        // A registered file is named by its index, and by the flag below.
        let file = types::Fd(registered.map_or(file.as_fd().as_raw_fd(), u32::cast_signed));
        let entry = match (transfer, buffer) {
            (Transfer::Read { .. }, Some(index)) => {
                opcode::ReadFixed::new(file, start, len, index).offset(offset).build()
            }
            (Transfer::Read { .. }, None) => opcode::Read::new(file, start, len).offset(offset).build(),
            (Transfer::Write { .. }, Some(index)) => {
                opcode::WriteFixed::new(file, start, len, index).offset(offset).build()
            }
            (Transfer::Write { .. }, None) => opcode::Write::new(file, start, len).offset(offset).build(),
            (Transfer::Sync { data_only: true }, _) => {
                opcode::Fsync::new(file).flags(types::FsyncFlags::DATASYNC).build()
            }
            (Transfer::Sync { data_only: false } | Transfer::Send { .. }, _) => {
                opcode::Fsync::new(file).build()
            }
        };
        if registered.is_some() { entry.flags(squeue::Flags::FIXED_FILE) } else { entry }
    }

    /// The index of a file in the ring's table, entered if need be; none if there is no table or no room.
    fn registered(&mut self, file: &F) -> Option<u32> {
        if let Some(index) = self.files.as_ref()?.index_of(file) {
            return Some(index);
        }
        // Entries that are staged still name the file that is about to be replaced.
        self.commit().ok()?;
        if self.staged > 0 {
            return None;
        }
        let table = self.files.as_mut()?;
        let index = table.next();
        self.ring.submitter().register_files_update(index, &[file.as_fd().as_raw_fd()]).ok()?;
        table.replace_next(file);
        Some(index)
    }
}

impl<F> DiskRing<F> {
    /// Pushes an entry. There is room: the queue has an entry for every slot, and a slot has one entry at a time.
    fn push(&mut self, entry: squeue::Entry) {
        // SAFETY: whatever the entry points to belongs to an operation that its slot holds until the completion.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        assert!(pushed.is_ok(), "the submission queue has an entry for every slot");
        self.staged += 1;
    }

    /// Enters the kernel, to submit and to wait for `want` completions. False if it has no room for now.
    fn enter(&mut self, want: usize) -> io::Result<bool> {
        match self.ring.submit_and_wait(want) {
            Ok(_) => {
                self.staged = self.ring.submission().len();
                Ok(true)
            }
            Err(error) => match error.raw_os_error() {
                Some(libc::EINTR) => {
                    self.staged = self.ring.submission().len();
                    Ok(true)
                }
                Some(libc::EAGAIN | libc::EBUSY) => Ok(false),
                _ => Err(error),
            },
        }
    }
}

impl<F> std::fmt::Debug for DiskRing<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "DiskRing({} of {} slots free)", self.free.len(), self.slots.len())
    }
}

impl<F> Drop for DiskRing<F> {
    fn drop(&mut self) {
        let mut outstanding = self.slots.len() - self.free.len();
        if outstanding == 0 {
            return;
        }
        // Staged entries are submitted first, so that every slot gets its completion; a cancelled one gets one too.
        let mut trusted = self.staged == 0 || self.enter(0).is_ok_and(|entered| entered && self.staged == 0);
        if trusted {
            let _ = self.ring.submitter().register_sync_cancel(None, types::CancelBuilder::any());
        }
        while trusted && outstanding > 0 {
            outstanding -= self.ring.completion().count().min(outstanding);
            trusted = outstanding == 0 || self.enter(1).is_ok();
        }
        if !trusted {
            // The kernel may still write: its memory must not be reused.
            std::mem::forget(std::mem::take(&mut self.slots));
            std::mem::forget(self.buffers.take());
        }
    }
}

/// A ring with the best flags that the kernel takes.
fn build(depth: u32) -> io::Result<IoUring> {
    let mut common = IoUring::builder();
    common.dontfork().setup_clamp().setup_submit_all();
    let mut deferred = common.clone();
    deferred.setup_single_issuer().setup_defer_taskrun().setup_taskrun_flag();
    match deferred.build(depth) {
        Err(e) if e.raw_os_error() == Some(libc::EINVAL) => {
            common.setup_coop_taskrun().setup_taskrun_flag().build(depth)
        }
        built => built,
    }
}
