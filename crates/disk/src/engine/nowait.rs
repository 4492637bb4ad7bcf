//! `nowait`: reads from the page cache if possible, otherwise in a pool of threads.

use std::io::{self, IoSliceMut};
use std::os::fd::BorrowedFd;

use pitot_sys::Unavailable;
use pitot_sys::disk::{BufferPool, Transfer, Wait};
use rustix::io::{Errno, ReadWriteFlags, preadv2};

use super::execute;
use super::helpers::Helpers;
use crate::{Completion, DiskFile, DiskOp, Engine, EngineOptions, Queued};

struct Nowait {
    helpers: Helpers,
    misses: u64,
}

pub(crate) fn open(options: &EngineOptions, _: &BufferPool) -> Result<Box<dyn Engine>, Unavailable> {
    Ok(Box::new(Nowait { helpers: Helpers::new(options, execute::from)?, misses: 0 }))
}

impl Engine for Nowait {
    fn queue(&mut self, mut operation: DiskOp) -> Queued {
        let answer = match &mut operation.transfer {
            Transfer::Read { buffer, len } => {
                let mut into = [IoSliceMut::new(&mut buffer[..*len])];
                preadv2(&operation.file, &mut into, operation.offset, ReadWriteFlags::NOWAIT)
            }
            Transfer::Write { .. } | Transfer::Sync { .. } => return self.helpers.queue(operation, 0),
            Transfer::Send { .. } => Err(Errno::OPNOTSUPP),
        };
        let done = match answer {
            // All of it, or the end of the file.
            Ok(n) if n == operation.transfer.len() || n == 0 => {
                return Queued::Done(Completion { operation, result: Ok(n) });
            }
            // The rest is not in memory, or the file ends there: a helper finds out.
            Ok(n) => n,
            Err(Errno::AGAIN | Errno::INTR) => 0,
            Err(error) => return Queued::Done(Completion { operation, result: Err(error.into()) }),
        };
        let queued = self.helpers.queue(operation, done);
        self.misses += u64::from(matches!(queued, Queued::InFlight));
        queued
    }

    fn commit(&mut self) -> io::Result<()> {
        self.helpers.commit();
        Ok(())
    }

    fn reap(&mut self, wait: Wait, done: &mut Vec<Completion>) -> io::Result<()> {
        self.helpers.reap(wait, done)
    }

    fn in_flight(&self) -> usize {
        self.helpers.in_flight()
    }

    fn completion_fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.helpers.completion_fd())
    }

    fn admit(&self, file: &DiskFile) -> Result<(), Unavailable> {
        let mut byte = [0];
        match preadv2(file, &mut [IoSliceMut::new(&mut byte)], 0, ReadWriteFlags::NOWAIT) {
            Err(error @ (Errno::OPNOTSUPP | Errno::INVAL | Errno::NOSYS)) => Err(Unavailable {
                what: "preadv2 with RWF_NOWAIT on this file".into(),
                cause: format!("its file system or the kernel does not support it ({error})"),
                fix: "put the files on ext4, xfs or btrfs, or use the engine pool or uring".into(),
            }),
            _ => Ok(()),
        }
    }

    fn misses(&self) -> u64 {
        self.misses
    }
}
