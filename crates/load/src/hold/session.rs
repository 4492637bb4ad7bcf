use std::sync::Arc;

use pitot_meter::{Nanos, now};
use pitot_results::Failure;
use pitot_results::hold::{Closed, Opened, Slice};
use pitot_results::load::ErrorRow;
use pitot_sys::{limits, memory, sched};

use super::check::check;
use super::helpers::{Done, Helpers, Start};
use super::lane::{Lane, LaneOpened, LanePlan, LaneSlice};
use super::seat::Seat;
use super::sum;
use crate::options::Options;
use crate::plan::LoadPlan;
use crate::preload::preload;
use crate::prepared::DESCRIPTORS_RESERVED;
use crate::watch::Watch;
use pitot_drive::tally::Interval;

/// A slice may not be longer than this: response times beyond it are not distinguished either.
const LENGTH_MAX: Nanos = Nanos::from_secs(3600);
/// A slice that is to begin later than this begins after it: the clock that was meant is another one.
const NOTICE_MAX: Nanos = Nanos::from_secs(1);

/// Groups of connections that are held, on the calling thread and its helpers.
pub struct Session {
    groups: Vec<Group>,
    /// The number of the next group.
    next: u64,
    helpers: Helpers,
    seat: Seat,
    #[expect(clippy::vec_box, reason = "the box of a record is what changes hands")]
    /// Records of a slice whose answer is given, to be cleared and used again.
    used: Vec<Box<Interval>>,
    #[expect(clippy::vec_box, reason = "the box of a record is what changes hands")]
    /// Records that are empty.
    empty: Vec<Box<Interval>>,
}

struct Group {
    name: String,
    number: u64,
    /// Connections asked for.
    requested: u64,
    /// Helpers that have a part of it.
    helpers: usize,
    lane: Lane,
}

impl Session {
    /// A session without a group. From now on the calling thread's sleeps end at their time, and the process keeps the
    /// memory that it frees: to encode a histogram takes a third of a megabyte for a moment, after every slice.
    pub fn new() -> Session {
        sched::wake_precisely();
        memory::keep_freed();
        Session {
            groups: Vec::new(),
            next: 0,
            helpers: Helpers::default(),
            seat: Seat::here(),
            used: Vec::new(),
            empty: Vec::new(),
        }
    }

    /// Opens a group with the connections of a load with these options. Nothing is sent but greetings, and what a protocol
    /// needs to have done once before a load.
    ///
    /// # Errors
    /// The options are wrong or have no meaning for a held load, a group of that name is open, the machine cannot do what
    /// they ask for, or not one of the connections can be opened.
    pub fn open(&mut self, name: &str, options: &Options, read_at: Nanos) -> Result<Opened, Failure> {
        if self.groups.iter().any(|group| group.name == name) {
            return Err(Failure::misuse(
                format!("a group `{name}` is open already"),
                format!("write `close {name}` first, or choose another name"),
            ));
        }
        check(options)?;
        let plan = LoadPlan::new(options)?;
        if plan.sessions.is_some() {
            return Err(Failure::misuse(
                "sessions do not apply to a held load: they last longer than its slices",
                "run them without --hold",
            ));
        }
        let run = plan.prepare()?;
        let requested = run.plan.connections();
        if run.processes > 1 {
            return Err(Failure::misuse(
                format!("{requested} connections are more than one process can hold"),
                "raise the limit on descriptors with ulimit -n, or ask for fewer connections",
            ));
        }
        self.check_descriptors(requested)?;
        if !preload(&run, &mut Unwatched)? {
            return Err(failed("the server was not prepared"));
        }
        let helpers = run.threads as usize - 1;
        let number = self.next;
        self.next += 1;
        let plans = (1..run.threads).map(|index| LanePlan::new(&run, index)).collect();
        self.helpers.open(number, plans).map_err(failed)?;
        let plan = LanePlan::new(&run, 0);
        let own = self.seat.take(plan.cpu).and_then(|()| Lane::open(plan));
        let done = self.helpers.done(helpers).map_err(failed)?;
        let mut lanes = vec![];
        let lane = own.map(|(lane, opened)| {
            lanes.push(opened);
            lane
        });
        let mut whole = Ok(());
        for done in done {
            match done {
                Done::Opened(Ok(opened)) => lanes.push(opened),
                Done::Opened(Err(why)) => whole = Err(failed(why)),
                Done::Slice(_) | Done::Closed(_) => {}
            }
        }
        let open: u64 = lanes.iter().map(|lane| lane.open).sum();
        let wanted = run.plan.opened_before_start();
        if wanted > 0 && open == 0 {
            whole = whole.and(Err(none_opened(&options.url, &lanes)));
        }
        let lane = match (lane, whole) {
            (Ok(lane), Ok(())) => lane,
            (lane, whole) => {
                if let Ok(lane) = lane {
                    lane.close();
                }
                self.helpers.close(number, helpers);
                self.helpers.done(helpers).map_err(failed)?;
                return Err(whole.err().unwrap_or_else(|| failed("the engine could not be set up")));
            }
        };
        self.empty.resize_with(self.empty.len().max(helpers + 1), Box::default);
        self.groups.push(Group { name: name.to_owned(), number, requested, helpers, lane });
        Ok(Opened {
            group: name.to_owned(),
            connections: open,
            failed: wanted.saturating_sub(open),
            connect_ms: now().since(read_at).0 as f64 / 1e6,
        })
    }

    /// Runs a slice of a group: requests begin for as long as `length`, and then those under way are answered. `read_at` is
    /// when the command was read; `at` when the slice is to begin, if that is agreed on.
    ///
    /// # Errors
    /// There is no such group, or the load generator itself could not go on; the group is closed then. A server that does
    /// not answer is no such error: that is in the slice.
    pub fn run(
        &mut self,
        name: &str,
        length: Nanos,
        read_at: Nanos,
        at: Option<Nanos>,
    ) -> Result<Slice, Failure> {
        if length == Nanos::ZERO || length > LENGTH_MAX {
            return Err(Failure::misuse(
                format!("a slice of {length}"),
                "write a time from 1us to 1h: run 50ms",
            ));
        }
        let found = self.find(name)?;
        let group = &mut self.groups[found];
        let helpers = group.helpers;
        let mut records = self.empty.split_off(self.empty.len() - (helpers + 1));
        let next = records.pop().unwrap_or_default();
        let start = Arc::new(Start::new(helpers + 1));
        self.helpers.run(group.number, length, &start, records);
        let prepared = self.seat.take(group.lane.cpu).and_then(|()| group.lane.prepare());
        // The helpers wait for this thread.
        let wait = at.map_or(Nanos::ZERO, |at| at.since(now())).min(NOTICE_MAX);
        std::thread::sleep(wait.into());
        let begin = start.arrive();
        let own = prepared.and_then(|()| group.lane.run(begin, length, next)).map(Box::new);
        let others = self.helpers.done(helpers);
        let lanes = own.and_then(|own| {
            let others = others?.into_iter().map(|done| match done {
                Done::Slice(slice) => slice,
                Done::Opened(_) | Done::Closed(_) => {
                    Err("a thread replied to a different command".to_owned())
                }
            });
            std::iter::once(Ok(own)).chain(others).collect::<Result<Vec<Box<LaneSlice>>, String>>()
        });
        match lanes {
            Ok(lanes) => {
                let slice = sum::slice(name, at.map_or(read_at, |at| at.max(read_at)), &lanes);
                self.used.extend(lanes.into_iter().map(|lane| lane.record.interval));
                Ok(slice)
            }
            Err(why) => {
                self.close(name)?;
                self.empty.resize_with(self.empty.len() + helpers + 1, Box::default);
                Err(failed(why))
            }
        }
    }

    /// Clears the records of the last slice. To be called when its answer is out.
    pub fn clear(&mut self) {
        for mut record in self.used.drain(..) {
            record.begin(0, 0);
            self.empty.push(record);
        }
    }

    /// Closes the connections of a group.
    ///
    /// # Errors
    /// There is no such group, or a thread has failed.
    pub fn close(&mut self, name: &str) -> Result<Closed, Failure> {
        let at = self.find(name)?;
        let group = self.groups.remove(at);
        self.helpers.close(group.number, group.helpers);
        let mut closed = Closed { group: group.name, connections: group.lane.close() };
        for done in self.helpers.done(group.helpers).map_err(failed)? {
            if let Done::Closed(connections) = done {
                closed.connections += connections;
            }
        }
        Ok(closed)
    }

    fn find(&self, name: &str) -> Result<usize, Failure> {
        self.groups.iter().position(|group| group.name == name).ok_or_else(|| {
            let names: Vec<&str> = self.groups.iter().map(|group| group.name.as_str()).collect();
            let fix = match names.as_slice() {
                [] => "open one first: open NAME URL".to_owned(),
                names => format!("name one of {}", names.join(", ")),
            };
            Failure::misuse(format!("there is no group `{name}`"), fix)
        })
    }

    /// The limit on descriptors is that of all groups together.
    fn check_descriptors(&self, more: u64) -> Result<(), Failure> {
        let held: u64 = self.groups.iter().map(|group| group.requested).sum();
        let limit = limits::descriptors().saturating_sub(DESCRIPTORS_RESERVED);
        if held + more <= limit {
            return Ok(());
        }
        Err(Failure::misuse(
            format!(
                "{more} more connections than the {held} already held exceed the limit of {limit} for one process"
            ),
            "close a group, raise the limit on descriptors with ulimit -n, or ask for fewer connections",
        ))
    }
}

impl Default for Session {
    fn default() -> Session {
        Session::new()
    }
}

/// Nobody ends the preparation of a server before its time.
struct Unwatched;

impl Watch for Unwatched {}

fn failed(why: impl Into<String>) -> Failure {
    Failure::run(why, "check the limits on descriptors, threads and memory (ulimit -a)")
}

fn none_opened(url: &str, lanes: &[LaneOpened]) -> Failure {
    let most: Option<&ErrorRow> = lanes.iter().flat_map(|lane| &lane.errors).max_by_key(|row| row.count);
    let why = most.map_or(String::new(), |row| format!(": {} {}", row.phase, row.kind));
    Failure::run(
        format!("not one connection could be opened{why}"),
        format!("is the server running, and is {url} its address?"),
    )
}
