//! What the three `posix-aio-*` engines share: everything but how completions are reported.

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Once;

use pitot_sys::Unavailable;
use pitot_sys::disk::{Notification, PosixAio, Refused, Wait, set_helper_threads};

use crate::{Completion, DiskOp, Engine, EngineOptions, FileRef, Queued};

struct Posix {
    aio: PosixAio<FileRef>,
    /// Helper threads and requests to request from the library, before the first request.
    helpers: Option<(u32, u32)>,
    /// Numbers requests, so that those in flight spread over the descriptors of a file.
    turn: usize,
}

pub(super) fn with(
    options: &EngineOptions,
    notification: Notification,
) -> Result<Box<dyn Engine>, Unavailable> {
    let helpers = Some((options.threads, options.depth));
    Ok(Box::new(Posix { aio: PosixAio::new(options.depth, notification)?, helpers, turn: 0 }))
}

impl Engine for Posix {
    fn queue(&mut self, mut operation: DiskOp) -> Queued {
        if let Some((threads, requests)) = self.helpers.take() {
            // The library's threads are one set for the process, fixed by its first request: the first engine decides.
            static FIRST: Once = Once::new();
            FIRST.call_once(|| set_helper_threads(threads, requests));
        }
        self.turn = self.turn.wrapping_add(1);
        operation.file.use_descriptor(self.turn);
        match self.aio.submit(operation) {
            Ok(()) => Queued::InFlight,
            Err(Refused::Full(operation)) => Queued::Full(operation),
            Err(Refused::Failed(completion)) => Queued::Done(completion),
        }
    }

    fn reap(&mut self, wait: Wait, done: &mut Vec<Completion>) -> io::Result<()> {
        self.aio.reap(wait, done)
    }

    fn in_flight(&self) -> usize {
        self.aio.in_flight()
    }

    fn completion_fd(&self) -> Option<BorrowedFd<'_>> {
        self.aio.completion_fd()
    }
}
