//! Linux native AIO (io_submit(2)): asynchronous with O_DIRECT; with a buffered file io_submit does the work itself.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use super::operation::{Finished, Operation, Refused, Transfer, Wait};
use crate::{EventFd, Unavailable};

const CMD_PREAD: u16 = 0;
const CMD_PWRITE: u16 = 1;
const CMD_FSYNC: u16 = 2;
const CMD_FDSYNC: u16 = 3;
const FLAG_RESFD: u32 = 1;

/// iocb of the kernel, on a machine with its lowest byte first.
#[repr(C)]
struct ControlBlock {
    data: u64,
    key: u32,
    rw_flags: u32,
    command: u16,
    priority: i16,
    file: u32,
    memory: u64,
    bytes: u64,
    offset: i64,
    reserved: u64,
    flags: u32,
    eventfd: u32,
}

/// io_event of the kernel.
#[derive(Clone, Copy, Default)]
#[repr(C)]
struct Event {
    data: u64,
    control_block: u64,
    result: i64,
    result2: i64,
}

/// Operations in flight through Linux AIO. Dropping it cancels what can be cancelled and waits for the rest.
pub struct LinuxAio<F> {
    context: libc::c_ulong,
    blocks: Box<[ControlBlock]>,
    held: Box<[Option<Operation<F>>]>,
    free: Vec<u32>,
    /// Queued and not submitted yet.
    staged: VecDeque<u32>,
    /// Submitted to the kernel.
    submitted: usize,
    /// What io_submit refused; the next reap returns it.
    refused: Vec<(u32, io::Error)>,
    events: Box<[Event]>,
    eventfd: Option<EventFd>,
}

impl<F: AsFd> LinuxAio<F> {
    /// Room for `depth` operations; `notify` gives it an eventfd that an event loop can wait for.
    ///
    /// # Errors
    /// ENOSYS without CONFIG_AIO, EAGAIN beyond the system's bound, no descriptors.
    pub fn new(depth: u32, notify: bool) -> Result<LinuxAio<F>, Unavailable> {
        let depth = depth.clamp(1, 65_536);
        let mut context: libc::c_ulong = 0;
        // SAFETY: the kernel writes one integer, a zero before, as io_setup(2) wants it.
        let result =
            unsafe { libc::syscall(libc::SYS_io_setup, libc::c_long::from(depth), &raw mut context) };
        if result != 0 {
            return Err(why_unavailable(&io::Error::last_os_error()));
        }
        // SAFETY: zeroes are a valid iocb: it is integers throughout.
        let blocks = (0..depth).map(|_| unsafe { std::mem::zeroed() }).collect();
        let mut aio = LinuxAio {
            context,
            blocks,
            held: (0..depth).map(|_| None).collect(),
            free: (0..depth).rev().collect(),
            staged: VecDeque::with_capacity(depth as usize),
            submitted: 0,
            refused: Vec::new(),
            events: vec![Event::default(); depth.min(256) as usize].into(),
            eventfd: None,
        };
        if notify {
            aio.eventfd = Some(EventFd::new().map_err(|e| Unavailable {
                what: "notice of Linux AIO completions".into(),
                cause: format!("no eventfd: {e}"),
                fix: "raise the limit on descriptors: ulimit -n".into(),
            })?);
        }
        Ok(aio)
    }

    /// Stages an operation for the next [`LinuxAio::commit`].
    ///
    /// # Errors
    /// [`Refused::Full`] beyond the depth; failed for a `Send`.
    pub fn queue(&mut self, operation: Operation<F>) -> Result<(), Refused<F>> {
        let command = match operation.transfer {
            Transfer::Read { .. } => CMD_PREAD,
            Transfer::Write { .. } => CMD_PWRITE,
            Transfer::Sync { data_only: false } => CMD_FSYNC,
            Transfer::Sync { data_only: true } => CMD_FDSYNC,
            Transfer::Send { .. } => {
                let result = Err(io::ErrorKind::Unsupported.into());
                return Err(Refused::Failed(Finished { operation, result }));
            }
        };
        let Some(slot) = self.free.pop() else {
            return Err(Refused::Full(operation));
        };
        let (start, len) = operation.transfer.memory();
        let block = &mut self.blocks[slot as usize];
        block.data = u64::from(slot);
        block.command = command;
        block.file = operation.file.as_fd().as_raw_fd().cast_unsigned();
        block.memory = start as u64;
        block.bytes = len as u64;
        // The kernel wants zero for a sync.
        block.offset = if len == 0 { 0 } else { operation.offset.cast_signed() };
        if let Some(eventfd) = &self.eventfd {
            block.flags = FLAG_RESFD;
            block.eventfd = eventfd.as_fd().as_raw_fd().cast_unsigned();
        }
        self.held[slot as usize] = Some(operation);
        self.staged.push_back(slot);
        Ok(())
    }

    /// Submits what is staged. What the kernel refuses comes back from [`LinuxAio::reap`] as failed; what it has no
    /// room for now stays staged.
    pub fn commit(&mut self) {
        while !self.staged.is_empty() {
            let mut list = [std::ptr::null_mut::<ControlBlock>(); 64];
            let mut count = 0;
            for &slot in self.staged.iter().take(list.len()) {
                list[count] = &raw mut self.blocks[slot as usize];
                count += 1;
            }
            // SAFETY: the list holds `count` pointers to valid control blocks, which the kernel copies. Their memory and
            // descriptors belong to operations that are held until the kernel reports them or the context is destroyed.
            let taken = unsafe {
                libc::syscall(libc::SYS_io_submit, self.context, count as libc::c_long, list.as_mut_ptr())
            };
            if taken >= 0 {
                self.staged.drain(..taken as usize);
                self.submitted += taken as usize;
                if taken == 0 {
                    return;
                }
                continue;
            }
            // The error is about the first in the list.
            let error = io::Error::last_os_error();
            match error.raw_os_error() {
                Some(libc::EINTR) => {}
                Some(libc::EAGAIN) if self.submitted > 0 => return,
                _ => {
                    if let Some(slot) = self.staged.pop_front() {
                        self.refused.push((slot, error));
                    }
                    if let Some(eventfd) = &self.eventfd {
                        eventfd.wake();
                    }
                }
            }
        }
    }

    /// Appends what has completed.
    ///
    /// # Errors
    /// None that is known of io_getevents(2), with EINTR retried.
    pub fn reap(&mut self, wait: Wait, done: &mut Vec<Finished<F>>) -> io::Result<()> {
        if let Some(eventfd) = &self.eventfd {
            eventfd.reset();
        }
        let before = done.len();
        for (slot, error) in std::mem::take(&mut self.refused) {
            done.push(self.finish(slot, Err(error)));
        }
        loop {
            let min = libc::c_long::from(wait == Wait::ForOne && done.len() == before && self.submitted > 0);
            let count = self.get_events(min)?;
            for i in 0..count {
                let Event { data, result, .. } = self.events[i];
                let result = if result < 0 {
                    Err(io::Error::from_raw_os_error((-result) as i32))
                } else {
                    Ok(result as usize)
                };
                self.submitted -= 1;
                done.push(self.finish(data as u32, result));
            }
            // A full answer may not be all; with an eventfd nothing may be left, for it would not ring again.
            if count < self.events.len() {
                return Ok(());
            }
        }
    }

    /// Operations queued or in the kernel.
    pub fn in_flight(&self) -> usize {
        self.held.len() - self.free.len()
    }

    /// Readable when an operation has completed, if that was asked for.
    pub fn completion_fd(&self) -> Option<BorrowedFd<'_>> {
        self.eventfd.as_ref().map(AsFd::as_fd)
    }

    fn get_events(&mut self, min: libc::c_long) -> io::Result<usize> {
        if self.submitted == 0 {
            return Ok(0);
        }
        loop {
            let mut limit = libc::timespec { tv_sec: 0, tv_nsec: 0 };
            let limit = if min == 0 { &raw mut limit } else { std::ptr::null_mut() };
            // SAFETY: the kernel writes at most as many events as the slice has.
            let count = unsafe {
                let (max, events) = (self.events.len() as libc::c_long, self.events.as_mut_ptr());
                libc::syscall(libc::SYS_io_getevents, self.context, min, max, events, limit)
            };
            if count >= 0 {
                return Ok(count as usize);
            }
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
    }

    fn finish(&mut self, slot: u32, result: io::Result<usize>) -> Finished<F> {
        self.free.push(slot);
        match self.held[slot as usize].take() {
            Some(operation) => Finished { operation, result },
            None => unreachable!("an event names a slot that holds an operation"),
        }
    }
}

impl<F> std::fmt::Debug for LinuxAio<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "LinuxAio({} submitted, {} staged)", self.submitted, self.staged.len())
    }
}

impl<F> Drop for LinuxAio<F> {
    fn drop(&mut self) {
        // SAFETY: the context is ours. The call returns when no operation uses our memory any more: it cancels, and
        // waits for what cannot be cancelled.
        unsafe {
            libc::syscall(libc::SYS_io_destroy, self.context);
        }
    }
}

fn why_unavailable(error: &io::Error) -> Unavailable {
    let (cause, fix) = match error.raw_os_error() {
        Some(libc::ENOSYS) => {
            ("the kernel was built without CONFIG_AIO".to_owned(), "use the engine pool or uring".to_owned())
        }
        Some(libc::EAGAIN) => (
            "all events that the system allows (fs.aio-max-nr) are in use".to_owned(),
            "sysctl fs.aio-max-nr=1048576, or use a smaller depth".to_owned(),
        ),
        _ => (error.to_string(), "use the engine pool or uring".to_owned()),
    };
    Unavailable { what: "Linux AIO".into(), cause, fix }
}
