//! `mmap`: copies from a mapping of the file, directly or after a check with mincore(2).
//!
//! A file that shrinks must give a short read and never false bytes. A page past the new end makes the mapping torn, and pread(2)
//! then reads the rest. The last page reads as zeros past the end. So if the last byte copied is zero, the file's size is checked
//! *after* the copy. If that byte is not zero, the file reached beyond it during the copy, and the check is unnecessary.

use std::io;
use std::os::fd::BorrowedFd;

use pitot_sys::Unavailable;
use pitot_sys::disk::{BufferPool, Mapping, Transfer, Wait};

use super::execute;
use super::helpers::Helpers;
use crate::{Completion, DiskFile, DiskOp, Engine, EngineOptions, Queued};

struct Mmap {
    /// For pages that are not in memory, with mincore.
    helpers: Option<Helpers>,
    misses: u64,
}

pub(crate) fn open(options: &EngineOptions, _: &BufferPool) -> Result<Box<dyn Engine>, Unavailable> {
    let helpers = options.mincore.then(|| Helpers::new(options, |operation, _| map_or_read(operation)));
    Ok(Box::new(Mmap { helpers: helpers.transpose()?, misses: 0 }))
}

impl Engine for Mmap {
    fn queue(&mut self, mut operation: DiskOp) -> Queued {
        if let Some(helpers) = &mut self.helpers
            && !is_quick(&operation)
        {
            let queued = helpers.queue(operation, 0);
            self.misses += u64::from(matches!(queued, Queued::InFlight));
            return queued;
        }
        let result = map_or_read(&mut operation);
        Queued::Done(Completion { operation, result })
    }

    fn commit(&mut self) -> io::Result<()> {
        if let Some(helpers) = &mut self.helpers {
            helpers.commit();
        }
        Ok(())
    }

    fn reap(&mut self, wait: Wait, done: &mut Vec<Completion>) -> io::Result<()> {
        self.helpers.as_mut().map_or(Ok(()), |helpers| helpers.reap(wait, done))
    }

    fn in_flight(&self) -> usize {
        self.helpers.as_ref().map_or(0, Helpers::in_flight)
    }

    fn completion_fd(&self) -> Option<BorrowedFd<'_>> {
        self.helpers.as_ref().map(Helpers::completion_fd)
    }

    fn misses(&self) -> u64 {
        self.misses
    }
}

/// True if the caller would not wait for the disk: by mincore, or since the mapping has already failed.
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

fn map_or_read(operation: &mut DiskOp) -> io::Result<usize> {
    let Transfer::Read { buffer, len } = &mut operation.transfer else {
        return execute::whole(operation);
    };
    match copy(operation.file.file(), operation.offset, &mut buffer[..*len])? {
        Some(count) => Ok(count),
        None => {
            operation.file.file().unmap();
            execute::whole(operation)
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
        // An empty file cannot be mapped.
        None | Some(Some(0)) => Ok(Some(0)),
        Some(None) => Ok(None),
        Some(Some(count)) if Mapping::ends_inside(&into[..count]) => {
            let left = file.len_now()?.saturating_sub(offset);
            Ok(Some(usize::try_from(left).unwrap_or(count).min(count)))
        }
        Some(whole) => Ok(whole),
    }
}
