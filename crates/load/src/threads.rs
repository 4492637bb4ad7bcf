//! The threads of one process.

use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::{Builder, JoinHandle};

use pitot_sys::{affinity, limits, sched, thread};

use crate::prepared::{DESCRIPTORS_RESERVED, PreparedRun};
use pitot_drive::connections::Connections;
use pitot_drive::gate::Gate;
use pitot_drive::message::Message;
use pitot_drive::pace::Pace;
use pitot_drive::recorder::{Intervals, Recorder};
use pitot_drive::share::Share;
use pitot_drive::tally::Interval;

/// Records of a second that circulate between a thread and the collector.
const INTERVALS_MAX: usize = 2;

/// Threads at work, waiting for the gate at first.
pub(crate) struct Threads {
    pub(crate) gate: Arc<Gate>,
    handles: Vec<JoinHandle<()>>,
    spare: Vec<Sender<Box<Interval>>>,
}

impl Threads {
    /// Starts the threads of one process's share. They report in `messages`, as sources 0, 1 and so on.
    ///
    /// # Errors
    /// One line: a thread cannot be started. Those that were end by themselves.
    pub(crate) fn start(
        run: &PreparedRun,
        pace: &Pace,
        share: Share,
        messages: &Sender<Message>,
    ) -> Result<Threads, String> {
        // Connections that are opened at once would wait for it otherwise.
        limits::reserve_descriptors(run.plan.connections().div_ceil(run.processes) + DESCRIPTORS_RESERVED);
        let gate = Arc::new(Gate::of(run.processes));
        let mut threads = Threads { gate: Arc::clone(&gate), handles: Vec::new(), spare: Vec::new() };
        for index in 0..run.threads {
            let share = share.part(index, run.threads);
            let source = index as usize;
            let (give_back, spare) = channel();
            for _ in 0..INTERVALS_MAX {
                // A receiver that is gone needs no memory.
                let _ = give_back.send(Box::default());
            }
            let thread_plan = run.plan.thread(share, pace);
            let protocol = Arc::clone(&run.plan.protocol);
            let route = run.route(share);
            let engine = run.plan.engine;
            let step = run.plan.step;
            let cpus = &run.plan.cpus;
            let cpu = (!cpus.is_empty()).then(|| cpus[share.index as usize % cpus.len()]);
            let (messages, gate) = (messages.clone(), Arc::clone(&gate));
            let work = move || {
                let run = || {
                    if let Some(cpu) = cpu {
                        affinity::pin(&[cpu])
                            .map_err(|e| format!("the thread cannot be pinned to CPU {cpu}: {e}"))?;
                    }
                    sched::wake_precisely();
                    let requested = thread_plan.groups.iter().map(|(_, count)| count).sum();
                    let intervals = Intervals { source, finished: messages.clone(), spare };
                    let recorder = Recorder::new(requested, intervals).in_steps(step);
                    let mut connections = Connections::new(thread_plan, recorder, gate);
                    let mut ready = |connections: &Connections| {
                        let _ = messages.send(Message::Ready { opened: connections.opened() });
                    };
                    let mut engine = (engine.open)(&connections, route).map_err(|e| e.to_string())?;
                    engine.drive(&mut connections, &mut ready).map_err(|e| e.to_string())?;
                    let mut tally = engine.finish(connections);
                    tally.redirects_to = protocol.redirects_to();
                    tally.server_said = protocol.server_said();
                    Ok(Box::new(tally))
                };
                let result = run();
                let _ = messages.send(Message::Final { source, result });
            };
            match thread::spawn(Builder::new(), thread::STACK_BYTES, work) {
                Ok(handle) => threads.handles.push(handle),
                Err(e) => {
                    threads.gate.stop();
                    return Err(format!("thread {} of {} cannot be started: {e}", index + 1, run.threads));
                }
            }
            threads.spare.push(give_back);
        }
        Ok(threads)
    }

    /// Gives the memory of a second back to the thread that filled it.
    pub(crate) fn give_back(&self, source: usize, interval: Box<Interval>) {
        let _ = self.spare[source].send(interval);
    }

    /// Waits for all threads, after their last message.
    pub(crate) fn join(self) -> Result<(), String> {
        let mut result = Ok(());
        for handle in self.handles {
            if handle.join().is_err() {
                result = Err("a thread of the load generator has failed".to_owned());
            }
        }
        result
    }
}
