//! `mmap`: copies from a mapping of the file, by itself or after mincore(2) was asked.
//!
//! What the mapping says is checked so that a file that shrinks gives a short read and never false bytes. A page that
//! is gone altogether makes the mapping torn, and then pread(2) says what there is. A page that is cut reads as zeros
//! behind the end; so if the last byte copied is a zero the file is asked for its size, *after* the copy. Where that
//! byte is none, the file reached beyond it when it was copied, and the question is saved.

use std::io;
use std::os::fd::BorrowedFd;

use pitot_sys::Unavailable;
use pitot_sys::disk::{BufferPool, Mapping, Transfer, Wait};

use super::execute;
use super::workers::Workers;
use crate::{Completion, DiskFile, DiskOp, Engine, EngineOptions, Queued};

struct Mmap {
    /// For what is not in memory, if mincore is asked.
    workers: Option<Workers>,
    misses: u64,
}

pub(crate) fn open(options: &EngineOptions, _: &BufferPool) -> Result<Box<dyn Engine>, Unavailable> {
    let workers = options.mincore.then(|| Workers::new(options, |operation, _| carry_out(operation)));
    Ok(Box::new(Mmap { workers: workers.transpose()?, misses: 0 }))
}

impl Engine for Mmap {
    fn queue(&mut self, mut operation: DiskOp) -> Queued {
        if let Some(workers) = &mut self.workers
            && !is_quick(&operation)
        {
            let queued = workers.queue(operation, 0);
            self.misses += u64::from(matches!(queued, Queued::InFlight));
            return queued;
        }
        let result = carry_out(&mut operation);
        Queued::Done(Completion { operation, result })
    }

    fn commit(&mut self) -> io::Result<()> {
        if let Some(workers) = &mut self.workers {
            workers.commit();
        }
        Ok(())
    }

    fn reap(&mut self, wait: Wait, done: &mut Vec<Completion>) -> io::Result<()> {
        self.workers.as_mut().map_or(Ok(()), |workers| workers.reap(wait, done))
    }

    fn in_flight(&self) -> usize {
        self.workers.as_ref().map_or(0, Workers::in_flight)
    }

    fn completion_fd(&self) -> Option<BorrowedFd<'_>> {
        self.workers.as_ref().map(Workers::completion_fd)
    }

    fn misses(&self) -> u64 {
        self.misses
    }
}

/// True if the caller would not wait for the disk: mincore says so, or the mapping knows an error already.
fn is_quick(operation: &DiskOp) -> bool {
    let (Transfer::Read { len, .. }, Ok(offset)) = (&operation.transfer, usize::try_from(operation.offset))
    else {
        return false;
    };
    let end = operation.offset.saturating_add(*len as u64);
    match operation.file.file().with_mapping(end, |mapping| mapping.is_resident(offset, *len)) {
        Ok(Some(resident)) => resident,
        Ok(None) | Err(_) => true,
    }
}

fn carry_out(operation: &mut DiskOp) -> io::Result<usize> {
    let Transfer::Read { buffer, len } = &mut operation.transfer else {
        return execute::plainly(operation);
    };
    match copy(operation.file.file(), operation.offset, &mut buffer[..*len])? {
        Some(count) => Ok(count),
        None => {
            operation.file.file().unmap();
            execute::plainly(operation)
        }
    }
}

/// Copies from the mapping; `None` if it is torn.
fn copy(file: &DiskFile, offset: u64, into: &mut [u8]) -> io::Result<Option<usize>> {
    let end = offset.saturating_add(into.len() as u64);
    let copied = file.with_mapping(end, |mapping| {
        let count = (mapping.len() as u64).min(end).saturating_sub(offset) as usize;
        if count == 0 {
            return Some(0);
        }
        mapping.copy(offset as usize, &mut into[..count]).ok().map(|()| count)
    })?;
    match copied {
        // No mapping is made of an empty file.
        None | Some(Some(0)) => Ok(Some(0)),
        Some(None) => Ok(None),
        Some(Some(count)) if Mapping::ends_inside(&into[..count]) => {
            let left = file.len_now()?.saturating_sub(offset);
            Ok(Some(usize::try_from(left).unwrap_or(count).min(count)))
        }
        Some(whole) => Ok(whole),
    }
}
