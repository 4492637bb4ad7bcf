//! One cell of a generation, whose server is up from the first slice to the last.

use pitot_meter::Nanos;
use pitot_results::{VerdictKind, hold};
use pitot_sys::Unavailable;

use super::figures::Sum;
use super::neighbours::Neighbours;
use crate::monitor::{Pace, Pacer};
use crate::runner::executor::{Executor, Extent, Role};
use crate::runner::held::Held;
use crate::runner::judge::judge_slices;
use crate::runner::profiled::{self, Whom};
use crate::runner::repetition::{
    Abort, Context, Shared, failed, left_behind, most_frequent_error, noted, output_tail, settled, start,
    stop, with_suspension,
};
use crate::runner::under_way::Looks;
use crate::runner::warming::{Until, WarmUp, Warmed, Warming};
use pitot_plan::{Cell, Profiled};
use pitot_record::{Repetition, Sample, Slice};

/// A server that uses more of a CPU than this between its slices gets a warning, since it disturbs the others.
const IDLE_SHARE_TOLD: f64 = 0.02;
/// A server that uses more than this cannot be measured in slices.
const IDLE_SHARE_MAX: f64 = 0.05;

/// Interval of samples of a server's connections.
const LOOKS_APART_S: f64 = 0.005;

/// A running cell.
pub(super) struct Arm<'a> {
    /// Its index among the cells of the run, controls at the end.
    pub(super) index: usize,
    context: Context<'a>,
    sum: Sum,
    connections: u64,
    ready_s: f64,
    server_stats: Option<serde_json::Value>,
    /// Why it is not loaded any more.
    outcome: Result<(), Abort>,
    /// Why it cannot be measured in slices at all.
    impossible: Option<String>,
    /// Samples of its server's connections in slices that do not count.
    looks: Looks,
    warming: Option<Warming>,
    /// CPU time of its server when the next one had been loaded, and the time of that reading.
    left_alone: Option<(Nanos, Nanos)>,
    /// CPU time of its server while others were loaded, and the length of that time.
    idle: (Nanos, Nanos),
}

/// The result of a cell in a generation.
pub(super) enum Left {
    /// It was measured or failed, with these other processes.
    Recorded(Box<Repetition>, Neighbours),
    /// It cannot be measured in slices, for this reason.
    Impossible(String),
}

impl<'a> Arm<'a> {
    pub(super) fn new(
        index: usize,
        cell: &'a Cell,
        shared: Shared<'a>,
        executor: &'a mut dyn Executor,
    ) -> Arm<'a> {
        let context = Context::new(shared, cell, executor);
        Arm {
            index,
            context: Context { counts_cpu: true, ..context },
            sum: Sum::default(),
            connections: 0,
            ready_s: 0.0,
            server_stats: None,
            outcome: Ok(()),
            impossible: None,
            looks: Looks::default(),
            warming: None,
            left_alone: None,
            idle: (Nanos::ZERO, Nanos::ZERO),
        }
    }

    /// Whether it takes part in the next slices.
    pub(super) fn is_up(&self) -> bool {
        self.outcome.is_ok() && self.impossible.is_none()
    }

    /// Whether it is a command that is executed, and no server.
    pub(super) fn is_executed(&self) -> bool {
        self.context.cell.executes
    }

    /// Its row in the run file.
    pub(super) fn row(&self) -> i64 {
        self.index as i64 + 1
    }

    /// Whether the user stopped it.
    pub(super) fn is_interrupted(&self) -> bool {
        self.outcome == Err(Abort::Interrupted)
    }

    /// Why its server could not be started, if so.
    pub(super) fn not_started(&self) -> Option<&String> {
        match &self.outcome {
            Err(Abort::NotStarted(reason)) => Some(reason),
            _ => None,
        }
    }

    /// Sets a failure of all cells, unless it had failed before.
    pub(super) fn fail_with(&mut self, abort: &Abort) {
        if self.outcome.is_ok() {
            self.outcome = Err(abort.clone());
        }
    }

    /// Starts its server, in the private directory of this number.
    pub(super) fn start(&mut self, number: usize) {
        self.outcome = self.try_start(number);
    }

    fn try_start(&mut self, number: usize) -> Result<(), Abort> {
        let context = &mut self.context;
        start::prepare(context, number)?;
        if context.cell.executes {
            return Ok(());
        }
        let begin = context.executor.now();
        start::start_server(context)?;
        self.ready_s = context.executor.now().since(begin).as_secs_f64();
        self.looks = Looks::of(context.cell, context.shared.plan, &context.at.address);
        context.executor.sample(Extent::Whole);
        Ok(())
    }

    /// Opens its connections. Here and below, an error is one of the load generator.
    pub(super) fn open(&mut self, held: &mut Held<'_>, is_first: bool) -> Result<(), Abort> {
        let target = self.context.cell.held_target(&self.context.at);
        match held.open(&self.name(), &target)? {
            Ok(connections) => self.connections = connections,
            Err(what) => self.refused(what, is_first),
        }
        Ok(())
    }

    /// Runs a slice that does not count. None if the load generator refuses it.
    pub(super) fn warm(
        &mut self,
        held: &mut Held<'_>,
        seconds: f64,
        is_first: bool,
    ) -> Result<Option<Box<hold::Slice>>, Abort> {
        self.rested();
        self.load_uncounted(held, seconds, is_first)
    }

    /// The same, after what was used at rest was read.
    fn load_uncounted(
        &mut self,
        held: &mut Held<'_>,
        seconds: f64,
        is_first: bool,
    ) -> Result<Option<Box<hold::Slice>>, Abort> {
        let name = self.name();
        let (looks, executor) = (&mut self.looks, &mut *self.context.executor);
        // If the network limits, its queues are full by the middle.
        let wanted = looks.are_wanted().then_some((seconds / 2.0, LOOKS_APART_S));
        let slice = held.slice_watched(&name, seconds, wanted, &mut || looks.look(executor))?;
        match &slice {
            Ok(slice) => self.sum.add_uncounted(slice.requests),
            Err(what) => self.refused(what.clone(), is_first),
        }
        Ok(slice.ok())
    }

    /// From now on until its next slice, what its server uses counts as idle.
    pub(super) fn leave_alone(&mut self) {
        let executor = &mut self.context.executor;
        self.left_alone = executor.cpu_time(Role::Server).map(|cpu| (cpu, executor.now()));
    }

    /// Runs the next turn of its warm-up, which lasts as long as the plan says, or until its rate has settled if that rises for longer.
    pub(super) fn warm_up(&mut self, held: &mut Held<'_>, is_first: bool) -> Result<(), Abort> {
        let until = Until::Over(self.context.shared.plan.warmup_s);
        let until = self.context.cell.settling().map_or(until, Until::Settled);
        let mut warming = self.warming.take().unwrap_or_else(|| Warming::new(until));
        let before = self.rested();
        match self.load_uncounted(held, warming.turn_s, is_first)? {
            Some(slice) => {
                let used = before.zip(self.context.executor.cpu_time(Role::Server));
                warming.add(Warmed::of(&slice, used.map(|(before, after)| after.since(before).0)));
            }
            None => warming.give_up(),
        }
        self.warming = Some(warming);
        Ok(())
    }

    /// Its warm-up, if that may end.
    pub(super) fn warmed_up(&self) -> Option<&WarmUp> {
        self.warming.as_ref()?.over.as_ref()
    }

    /// The CPU time of its server, of which what was used since it was left alone counts as idle.
    fn rested(&mut self) -> Option<Nanos> {
        let executor = &mut self.context.executor;
        let (cpu, now) = (executor.cpu_time(Role::Server), executor.now());
        if let (Some(cpu), Some((then, since))) = (cpu, self.left_alone.take()) {
            self.idle.0 += cpu.since(then);
            self.idle.1 += now.since(since);
        }
        cpu
    }

    /// Runs a slice that counts.
    pub(super) fn load(
        &mut self,
        held: &mut Held<'_>,
        seconds: f64,
        pacer: Option<&Pacer>,
        place: Slice,
    ) -> Result<(), Abort> {
        let cpu_before = self.rested();
        let (steal_before, busy_before) = (held.steal(), held.busy());
        let pace_before = Pace::of(pacer);
        let answer = match held.slice(&self.name(), seconds)? {
            Ok(answer) => answer,
            Err(what) => {
                self.fail_under_load(what);
                return Ok(());
            }
        };
        let cpu_after = self.context.executor.cpu_time(Role::Server);
        let executed =
            answer.executions.as_ref().map(|used| ((used.user_s + used.system_s) * 1e9).round() as u64);
        let served = cpu_before.zip(cpu_after).map(|(before, after)| after.since(before).0);
        let place = Slice {
            server_cpu_ns: executed.or(served),
            steal_ns: held.steal().since(steal_before).0,
            pace_ns: Pace::of(pacer).since(pace_before),
            ..place
        };
        let busy = busy_before.zip(held.busy()).map(|(before, after)| after.since(before));
        self.sum.add(&answer, place).map_err(Abort::Failed)?;
        self.sum.add_busy(busy);
        // Not a single right reply: the server has ended or hangs.
        if answer.requests == 0 && answer.attempted > 0 {
            self.fail_under_load(format!(
                "no reply was right in a slice{}",
                most_frequent_error(&self.sum.errors())
            ));
        }
        Ok(())
    }

    /// Runs a slice in which the server is recorded, and which does not count. `executing` is the process that executes commands. The
    /// inner error is why it cannot be recorded.
    pub(super) fn profile(
        &mut self,
        held: &mut Held<'_>,
        what: Profiled,
        seconds: f64,
        executing: Option<u32>,
    ) -> Result<Result<(), Unavailable>, Abort> {
        let processes = self.context.executor.pids(Role::Server);
        let whom = executing.map_or(Whom::Processes(&processes), Whom::ChildrenOf);
        let mut recorder = match profiled::recorder(what, whom, self.context.shared.cpus) {
            Ok(recorder) => recorder,
            Err(unavailable) => return Ok(Err(unavailable)),
        };
        let before = self.context.executor.cpu_time(Role::Server);
        match profiled::slice(held, &self.name(), seconds, &mut recorder)? {
            Ok(answer) => {
                let after = self.context.executor.cpu_time(Role::Server);
                let served_ns = before.zip(after).map(|(before, after)| after.since(before).0);
                self.sum.add_uncounted(answer.requests);
                self.sum.profiles.push(profiled::of_slice(what, &answer, served_ns, &mut recorder));
            }
            Err(what) => self.fail_under_load(what),
        }
        Ok(Ok(()))
    }

    /// Samples after the last slice, while the connections and their memory still exist.
    pub(super) fn settle(&mut self) {
        self.context.executor.sample(Extent::Whole);
    }

    /// Checks whether the server uses CPU time while it is idle. Much of it makes slices impossible; for a little it
    /// returns a warning.
    pub(super) fn look_at_idle(&mut self) -> Option<String> {
        let (used, length) = (self.idle.0.0 as f64, self.idle.1.0 as f64);
        let percent = used / length.max(1.0) * 100.0;
        if used > length * IDLE_SHARE_MAX {
            self.impossible = Some(format!(
                "the server of {} uses {percent:.0}% of a CPU while it is not loaded",
                self.label()
            ));
            return None;
        }
        (used > length * IDLE_SHARE_TOLD).then(|| {
            format!(
                "The server of {} used {percent:.1}% of a CPU while the others were loaded: their throughput may be too low by \
                 up to that share; their CPU time per request is not affected.",
                self.label()
            )
        })
    }

    /// The levels of its cell.
    pub(super) fn label(&self) -> String {
        self.context.cell.label()
    }

    /// Why it cannot be measured in slices, if so.
    pub(super) fn why_impossible(&self) -> Option<&String> {
        self.impossible.as_ref()
    }

    /// Excludes it from slices, since a cell compared with it cannot be sliced for this reason.
    pub(super) fn goes_along(&mut self, reason: &str) {
        self.impossible.get_or_insert_with(|| reason.to_owned());
    }

    /// Asks its server to end.
    pub(super) fn ask_to_stop(&mut self) {
        if !self.is_executed() {
            self.outcome = stop::ask(&mut self.context);
        }
    }

    /// Waits until its server has ended.
    pub(super) fn wait_for_stop(&mut self) {
        if self.is_executed() {
            return;
        }
        match stop::wait(&mut self.context) {
            Ok(stats) => self.server_stats = stats,
            Err(abort) => self.outcome = Err(abort),
        }
    }

    /// Ends its remaining programs.
    pub(super) fn leave(mut self) -> Left {
        match self.impossible.take() {
            Some(reason) => {
                self.context.executor.finish();
                Left::Impossible(reason)
            }
            None => {
                let (repetition, neighbours) = self.record();
                Left::Recorded(Box::new(repetition), neighbours)
            }
        }
    }

    /// Its name in commands of the load generator.
    fn name(&self) -> String {
        format!("c{}", self.row())
    }

    /// Handles a refusal of the load generator. In the first generation it means that the load's options do not work with slices.
    fn refused(&mut self, what: String, is_first: bool) {
        match self.context.check_server("before it was loaded") {
            Ok(()) if is_first => self.impossible = Some(what),
            Ok(()) => self.outcome = Err(Abort::Failed(what)),
            Err(abort) => self.outcome = Err(abort),
        }
    }

    /// Fails it: because its server has ended, if it has, else for this reason.
    fn fail_under_load(&mut self, otherwise: String) {
        let ended = self.context.check_server("under load").err();
        self.outcome = Err(ended.unwrap_or(Abort::Failed(otherwise)));
    }

    fn record(&mut self) -> (Repetition, Neighbours) {
        let settles = self.context.cell.settling().is_some();
        let warm_up = self.warmed_up().filter(|_| settles).cloned();
        let context = &mut self.context;
        let suspended = context.executor.is_suspended(Role::Server);
        let observed = context.executor.finish();
        let failure = match &self.outcome {
            Err(Abort::Failed(reason) | Abort::NotStarted(reason)) => {
                let name = suspended.then(|| context.name(Role::Server));
                Some(with_suspension(name, reason.clone()))
            }
            Err(Abort::Interrupted) => Some("it was interrupted".to_owned()),
            Ok(()) => left_behind(&observed),
        };
        let load = self.sum.load_result(&context.at.fill(&context.cell.url), self.connections);
        let used = context.shared.on_machine(self.sum.resources(&observed.samples, observed.lifetime));
        let has_slices = !self.sum.slices.is_empty();
        let at = |sample: Option<&Sample>| Nanos(sample.map_or(0, |sample| sample.at_ns));
        let watched = at(observed.samples.last()).since(at(observed.samples.first()));
        let neighbours = Neighbours::of(&observed.other_processes, watched, context.shared.cpus)
            .with_unseen(self.sum.unaccounted());
        let verdict = match failure {
            Some(reason) => failed(reason),
            None if has_slices => {
                let verdict = judge_slices(
                    &self.sum.slices,
                    &used,
                    context.shared.cpus,
                    neighbours.share(),
                    &self.looks,
                );
                settled(verdict, warm_up.as_ref())
            }
            None => failed("it had no slices".to_owned()),
        };
        let verdict = noted(verdict, &context.note);
        let output_tail =
            if verdict.kind == VerdictKind::Failed { output_tail(context) } else { String::new() };
        let repetition = Repetition {
            address: context.at.address.clone(),
            ready_s: self.ready_s,
            warmup_s: warm_up.map(|warm_up| warm_up.seconds),
            verdict,
            load: has_slices.then_some(load),
            server_stats: self.server_stats.take(),
            resources: has_slices.then_some(used),
            output_tail,
            samples: observed.samples,
            slices: std::mem::take(&mut self.sum.slices),
            profiles: std::mem::take(&mut self.sum.profiles),
            ..Repetition::default()
        };
        (repetition, neighbours)
    }
}
