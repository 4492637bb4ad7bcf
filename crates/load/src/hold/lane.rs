//! The part of a group that one thread has.

use std::sync::Arc;
use std::sync::mpsc::channel;

use pitot_meter::{Nanos, now};
use pitot_results::load::ErrorRow;

use crate::prepared::PreparedRun;
use pitot_drive::connections::{Connections, SliceTimes, ThreadPlan};
use pitot_drive::engine::{Engine, EngineEntry, Route};
use pitot_drive::gate::Gate;
use pitot_drive::recorder::{Intervals, Recorder, SliceRecord};
use pitot_drive::tally::Interval;

/// What a lane needs to be opened, on the thread that will have it.
pub(super) struct LanePlan {
    thread: ThreadPlan,
    route: Route,
    engine: &'static EngineEntry,
    pub(super) cpu: Option<usize>,
}

impl LanePlan {
    /// The part of thread `index`.
    pub(super) fn new(run: &PreparedRun, index: u64) -> LanePlan {
        let share = run.plan.share.part(index, run.threads);
        let cpus = &run.plan.cpus;
        LanePlan {
            thread: run.plan.thread(share, &run.plan.pace),
            route: run.route(share),
            engine: run.plan.engine,
            cpu: (!cpus.is_empty()).then(|| cpus[index as usize % cpus.len()]),
        }
    }
}

/// Connections and the loop that serves them.
pub(super) struct Lane {
    connections: Connections,
    engine: Box<dyn Engine>,
    pub(super) cpu: Option<usize>,
}

/// How the opening of a lane went.
#[derive(Debug, Default)]
pub(super) struct LaneOpened {
    pub(super) open: u64,
    pub(super) errors: Vec<ErrorRow>,
}

/// One slice of a lane.
#[derive(Debug)]
pub(super) struct LaneSlice {
    pub(super) times: SliceTimes,
    pub(super) record: SliceRecord,
}

impl Lane {
    /// Opens all connections, on the calling thread.
    ///
    /// # Errors
    /// One line: the engine cannot work.
    pub(super) fn open(plan: LanePlan) -> Result<(Lane, LaneOpened), String> {
        let requested = plan.thread.groups.iter().map(|(_, count)| count).sum();
        // Nothing is handed over by the second: the record of a slice is one.
        let intervals = Intervals { source: 0, finished: channel().0, spare: channel().1 };
        let recorder = Recorder::new(requested, intervals);
        let mut connections = Connections::new(plan.thread, recorder, Arc::new(Gate::default()));
        connections.hold();
        let engine = (plan.engine.open)(&connections, plan.route).map_err(|e| e.to_string())?;
        let mut lane = Lane { connections, engine, cpu: plan.cpu };
        lane.prepare()?;
        let opened = LaneOpened { open: lane.connections.open(), errors: lane.connections.errors() };
        Ok((lane, opened))
    }

    /// Takes note of what has happened since the last slice, and opens what was lost.
    pub(super) fn prepare(&mut self) -> Result<(), String> {
        self.connections.prepare(now());
        self.drive()
    }

    /// Runs a slice that begins at `at`. The next one is recorded in `next`, which is empty.
    pub(super) fn run(&mut self, at: Nanos, length: Nanos, next: Box<Interval>) -> Result<LaneSlice, String> {
        self.connections.begin(at, length);
        self.drive()?;
        Ok(LaneSlice { times: self.connections.slice_times(), record: self.connections.take_slice(next) })
    }

    /// Closes all connections and returns how many were open.
    pub(super) fn close(mut self) -> u64 {
        let open = self.connections.open();
        self.engine.finish(self.connections);
        open
    }

    fn drive(&mut self) -> Result<(), String> {
        self.engine.drive(&mut self.connections, &mut |_| ()).map_err(|e| e.to_string())
    }
}
