//! The thread of a data process that stores what clients put: it waits for the disk, so that reads need not.
//!
//! One thread, because files that are synchronised at the same time wait for the same disk. What it holds is bounded by the
//! relays, which send the next piece of a file when the one before is stored.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use pitot_proto::{DeliverError, Delivery, Parcel};
use pitot_sys::{Token, Waker};

use crate::uploads::{Stored, Uploads};

/// The thread, as the data process sees it.
#[derive(Debug)]
pub struct Storing {
    /// `None` when there will be no more.
    jobs: Option<Sender<Job>>,
    outcomes: Arc<Outcomes>,
    thread: Option<JoinHandle<()>>,
}

/// What has become of a step.
#[derive(Debug)]
pub struct Outcome {
    /// The link that it came by.
    pub link: Token,
    /// The name of the stream there.
    pub name: u64,
    /// The path, if a file is in its place with this step.
    pub result: Result<Option<Box<[u8]>>, DeliverError>,
}

#[derive(Debug)]
struct Outcomes {
    list: Mutex<Vec<Outcome>>,
    waker: Waker,
}

#[derive(Debug)]
enum Job {
    Step { link: Token, name: u64, path: Box<[u8]>, bytes: Vec<u8>, is_last: bool },
    GiveUp { link: Token, name: Option<u64> },
}

impl Storing {
    /// Starts the thread.
    ///
    /// # Errors
    /// No descriptor or no thread could be had.
    pub fn start(uploads: Uploads) -> io::Result<Storing> {
        let outcomes = Arc::new(Outcomes { list: Mutex::default(), waker: Waker::new()? });
        let (jobs, to_do) = mpsc::channel();
        let told = Arc::clone(&outcomes);
        let thread =
            thread::Builder::new().name("store".into()).spawn(move || work(&uploads, &to_do, &told))?;
        Ok(Storing { jobs: Some(jobs), outcomes, thread: Some(thread) })
    }

    /// Has the next step of a file done, the first of which names its path. An outcome follows.
    pub fn step(&self, link: Token, name: u64, path: Box<[u8]>, bytes: Vec<u8>, is_last: bool) {
        self.send(Job::Step { link, name, path, bytes, is_last });
    }

    /// Throws away what there is of a file, or of all files of a link.
    pub fn give_up(&self, link: Token, name: Option<u64>) {
        self.send(Job::GiveUp { link, name });
    }

    /// The outcomes since the last call.
    pub fn take(&self) -> Vec<Outcome> {
        self.outcomes.waker.reset();
        std::mem::take(&mut *self.outcomes.list.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn send(&self, job: Job) {
        if let Some(jobs) = &self.jobs {
            // The thread ends after this side only.
            let _ = jobs.send(job);
        }
    }
}

impl AsFd for Storing {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.outcomes.waker.as_fd()
    }
}

impl Drop for Storing {
    fn drop(&mut self) {
        self.jobs = None;
        // It removes what is not finished.
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn work(uploads: &Uploads, jobs: &Receiver<Job>, outcomes: &Outcomes) {
    let mut begun: HashMap<(Token, u64), Parcel> = HashMap::new();
    for job in jobs {
        match job {
            Job::Step { link, name, path, bytes, is_last } => {
                let parcel = begun.remove(&(link, name));
                let result = if parcel.is_none() && path.is_empty() {
                    Err(DeliverError::Failed)
                } else {
                    uploads.store(&path, &mut Delivery { parcel, bytes, is_last })
                };
                let result = result.map(|stored| match stored {
                    Stored::Going(parcel) => {
                        begun.insert((link, name), parcel);
                        None
                    }
                    Stored::Done(path) => Some(path),
                });
                let outcome = Outcome { link, name, result };
                outcomes.list.lock().unwrap_or_else(PoisonError::into_inner).push(outcome);
                outcomes.waker.wake();
            }
            Job::GiveUp { link, name: Some(name) } => drop(begun.remove(&(link, name))),
            Job::GiveUp { link, name: None } => begun.retain(|(of, _), _| *of != link),
        }
    }
}
