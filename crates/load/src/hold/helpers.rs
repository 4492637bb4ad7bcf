//! The threads of groups with more than one.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};

use pitot_meter::{Nanos, now};
use pitot_sys::{sched, thread};

use super::lane::{Lane, LaneOpened, LanePlan, LaneSlice};
use super::seat::Seat;
use pitot_drive::tally::Interval;

/// Where the threads of a slice wait for each other, so that they begin at the same moment.
pub(super) struct Start {
    lanes: usize,
    state: Mutex<Arrived>,
    all: Condvar,
}

#[derive(Default)]
struct Arrived {
    lanes: usize,
    begin: Option<Nanos>,
}

impl Start {
    pub(super) fn new(lanes: usize) -> Start {
        Start { lanes, state: Mutex::default(), all: Condvar::new() }
    }

    /// Waits until all lanes are prepared, and returns when the slice begins. Each lane must come, also one that failed.
    pub(super) fn arrive(&self) -> Nanos {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.lanes += 1;
        if state.lanes == self.lanes {
            state.begin = Some(now());
            self.all.notify_all();
        }
        loop {
            if let Some(begin) = state.begin {
                return begin;
            }
            state = self.all.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// What a helper is to do for a group.
enum Job {
    Open(u64, Box<LanePlan>),
    Run { group: u64, length: Nanos, start: Arc<Start>, next: Box<Interval> },
    Close(u64),
}

/// What has come of it.
pub(super) enum Done {
    Opened(Result<LaneOpened, String>),
    Slice(Result<Box<LaneSlice>, String>),
    /// So many connections were open.
    Closed(u64),
}

/// A thread beside the one that reads the commands. It sleeps while there is nothing to do.
struct Helper {
    jobs: Sender<Job>,
    done: Receiver<Done>,
    handle: JoinHandle<()>,
}

/// All threads beside the one that reads the commands.
#[derive(Default)]
pub(super) struct Helpers(Vec<Helper>);

const FAILED: &str = "a thread of the load generator has failed";

impl Helpers {
    /// Lets the first `plans.len()` helpers open their lanes of a group; they are started if they are not there yet.
    ///
    /// # Errors
    /// One line: a thread cannot be started, and nothing is opened.
    pub(super) fn open(&mut self, group: u64, plans: Vec<LanePlan>) -> Result<(), String> {
        while self.0.len() < plans.len() {
            let (jobs, to_do) = channel();
            let (report, done) = channel();
            let handle = thread::spawn(Builder::new(), thread::STACK_BYTES, move || work(&to_do, &report))
                .map_err(|e| format!("cannot start a thread: {e}"))?;
            self.0.push(Helper { jobs, done, handle });
        }
        for (helper, plan) in self.0.iter().zip(plans) {
            helper.order(Job::Open(group, Box::new(plan)));
        }
        Ok(())
    }

    #[expect(clippy::vec_box, reason = "the box of a record is what changes hands")]
    /// Lets a helper for each of `records` run a slice of the group.
    pub(super) fn run(&self, group: u64, length: Nanos, start: &Arc<Start>, records: Vec<Box<Interval>>) {
        for (helper, next) in self.0.iter().zip(records) {
            helper.order(Job::Run { group, length, start: Arc::clone(start), next });
        }
    }

    /// Lets the first `count` helpers close their lanes of a group.
    pub(super) fn close(&self, group: u64, count: usize) {
        for helper in self.0.iter().take(count) {
            helper.order(Job::Close(group));
        }
    }

    /// Waits for the first `count` helpers to be done with what they were told last.
    ///
    /// # Errors
    /// One line: a thread has ended.
    pub(super) fn done(&self, count: usize) -> Result<Vec<Done>, String> {
        self.0.iter().take(count).map(|helper| helper.done.recv().map_err(|_| FAILED.to_owned())).collect()
    }
}

impl Drop for Helpers {
    fn drop(&mut self) {
        for Helper { jobs, done, handle } in self.0.drain(..) {
            drop((jobs, done));
            let _ = handle.join();
        }
    }
}

impl Helper {
    fn order(&self, job: Job) {
        // A helper that is gone is noticed when it is waited for.
        let _ = self.jobs.send(job);
    }
}

/// What a helper does until there are no more jobs.
fn work(jobs: &Receiver<Job>, report: &Sender<Done>) {
    sched::wake_precisely();
    let mut seat = Seat::here();
    let mut lanes: HashMap<u64, Lane> = HashMap::new();
    for job in jobs {
        let done = match job {
            Job::Open(group, plan) => {
                let opened = seat.take(plan.cpu).and_then(|()| Lane::open(*plan));
                Done::Opened(opened.map(|(lane, opened)| {
                    lanes.insert(group, lane);
                    opened
                }))
            }
            Job::Run { group, length, start, next } => {
                let prepared = match lanes.get_mut(&group) {
                    Some(lane) => seat.take(lane.cpu).and_then(|()| lane.prepare()).map(|()| lane),
                    None => Err(FAILED.to_owned()),
                };
                let at = start.arrive();
                Done::Slice(prepared.and_then(|lane| lane.run(at, length, next)).map(Box::new))
            }
            Job::Close(group) => Done::Closed(lanes.remove(&group).map_or(0, Lane::close)),
        };
        if report.send(done).is_err() {
            return;
        }
    }
}
