//! Runs of the lab within a command: the one place that asks the lab for a run, for `pitot run` and for the commands that run
//! plans of their own.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::time::Instant;

use pitot_lab::{Caller, Event, Guardian, OtherRun, Outcome, Place, Prepared, Request, RunLock, Work};
use pitot_meter::units::span;
use pitot_plan::{Plan, shell_line};
use pitot_record::{CellRecord, Run, RunState};
use pitot_results::{Failure, stderr};
use pitot_sys::signal::{Signal, SignalFd};
use pitot_sys::user::User;

use crate::fault;
use crate::progress::Display;

/// When a run ends before it is whole, as it must on a machine that is slower than foreseen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Seconds after which it ends once there is enough for a decision.
    pub(crate) enough_s: f64,
    /// Seconds after which it ends in any case.
    pub(crate) all_s: f64,
    /// The share of the run that suffices for a decision; none if no part does.
    pub(crate) least_share: Option<f64>,
}

/// A run that is over.
pub(crate) struct Ran {
    pub(crate) path: PathBuf,
    pub(crate) run: Run,
    /// It came to its end, and was not cut short by its limits.
    pub(crate) is_whole: bool,
}

/// What runs need: guardians, and the user's wish to end them.
pub(crate) struct Runs {
    guardians: Vec<Guardian>,
    signals: SignalFd,
    stopped: Cell<bool>,
}

/// How a run is carried out.
#[derive(Clone, Copy)]
pub(crate) struct How<'a> {
    /// Each cell is tried for a moment first.
    pub(crate) trial: bool,
    /// What other runs on this machine know of it; none if it measures nothing here.
    pub(crate) lock: Option<&'a RunLock>,
    /// Whether it ends though the user has not stopped it.
    pub(crate) is_over: &'a dyn Fn() -> bool,
    /// Whether what its cells have decides it, if not the plan's metric.
    pub(crate) decided: &'a dyn Fn(&Plan, &[CellRecord]) -> Option<bool>,
}

impl<'a> How<'a> {
    /// To its end.
    pub(crate) fn to_its_end(trial: bool, lock: Option<&'a RunLock>) -> How<'a> {
        How { trial, lock, is_over: &|| false, decided: &|_, _| None }
    }
}

impl Runs {
    /// For as many runs, whose programs are started as `user`. The process must have one thread: a guardian is a fork of it, and
    /// each run needs its own.
    pub(crate) fn new(count: usize, user: Option<User>) -> Result<Runs, Failure> {
        let guardians =
            (0..count).map(|_| Ok(guardian()?.with_user(user))).collect::<Result<_, Failure>>()?;
        let signals = SignalFd::new(&Signal::that_end()).map_err(|e| {
            Failure::run(format!("signals cannot be received: {e}"), "raise the limit on descriptors")
        })?;
        Ok(Runs { guardians, signals, stopped: Cell::new(false) })
    }

    /// The guardian of the next run.
    ///
    /// # Errors
    /// If there were as many runs before as were foreseen.
    pub(crate) fn guardian(&mut self) -> Result<Guardian, Failure> {
        self.guardians
            .pop()
            .ok_or_else(|| Failure::run("there are more runs than expected", "run the plan alone"))
    }

    /// Whether the user wants everything to end.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.set(self.stopped.get() || self.signals.next().is_some());
        self.stopped.get()
    }

    /// Lets other runs on this machine know of this one, and the user of them. With `waits` it begins when they have ended.
    ///
    /// # Errors
    /// If the user stopped the wait.
    pub(crate) fn lock(&self, plan: &str, waits: bool) -> Result<RunLock, Failure> {
        if waits {
            let mut waited = false;
            let mut say = |other: &OtherRun| {
                waited = true;
                stderr::line(format_args!("{WAITING} another run of Pitot to end ({other})"));
            };
            let lock = RunLock::wait(plan, &|| self.is_stopped(), &mut say).ok_or_else(|| {
                Failure::run("stopped while waiting for another run to end", "start it again")
            })?;
            if waited {
                stderr::line("the other run has ended");
            }
            return Ok(lock);
        }
        let lock = RunLock::take(plan);
        if let Some(other) = lock.other() {
            stderr::line(format_args!(
                "warning: another run of Pitot is in progress on this machine ({other})\n  each disturbs the other: end one of \
                 them; `pitot run --wait` begins when others have ended"
            ));
        }
        Ok(lock)
    }

    /// Carries out some work in some place.
    ///
    /// # Errors
    /// As [`pitot_lab::run`].
    pub(crate) fn carry_out(
        &self,
        work: Work<'_>,
        place: Place<'_>,
        how: How<'_>,
        watch: &mut dyn FnMut(&Event<'_>),
    ) -> Result<Outcome, Failure> {
        let pitot = own_path()?;
        let command_line = shell_line(&std::env::args().collect::<Vec<_>>());
        let caller = Caller {
            pitot: &pitot,
            version: env!("CARGO_PKG_VERSION"),
            command_line: &command_line,
            note: &|| how.lock.and_then(RunLock::note),
            stop: &|| self.is_stopped() || (how.is_over)(),
            decided: how.decided,
        };
        pitot_lab::run(Request { work, place, trial: how.trial, caller }, watch)
    }

    /// Runs a plan of this command into a new file.
    ///
    /// # Errors
    /// As `pitot run`; if the user has stopped it; if there were as many runs before as were foreseen.
    pub(crate) fn run(&mut self, prepared: Prepared, output: &Path) -> Result<Ran, Failure> {
        self.run_plan(prepared, output, true, None)
    }

    /// The same, without trying each cell first.
    pub(crate) fn run_untried(&mut self, prepared: Prepared, output: &Path) -> Result<Ran, Failure> {
        self.run_plan(prepared, output, false, None)
    }

    /// The same with limits to its time. What is whole when one is reached counts.
    pub(crate) fn run_within(
        &mut self,
        prepared: Prepared,
        output: &Path,
        limits: Limits,
    ) -> Result<Ran, Failure> {
        self.run_plan(prepared, output, true, Some(limits))
    }

    fn run_plan(
        &mut self,
        prepared: Prepared,
        output: &Path,
        trial: bool,
        limits: Option<Limits>,
    ) -> Result<Ran, Failure> {
        prepared.plan.needs_no_guests("a run on this machine's own kernel")?;
        let guardian = self.guardian()?;
        let lock = self.lock(&prepared.plan.name, false)?;
        stderr::line(format_args!(
            "{}: {}, about {}",
            prepared.plan.title,
            prepared.times(),
            span(prepared.estimate_s())
        ));
        let begin = Instant::now();
        let is_enough = Cell::new(false);
        let is_over = || {
            limits.is_some_and(|limits| {
                let seconds = begin.elapsed().as_secs_f64();
                seconds > limits.all_s || (is_enough.get() && seconds > limits.enough_s)
            })
        };
        let mut display = Display::new();
        let mut watch = |event: &Event<'_>| {
            if let (Event::Measured { step, .. }, Some(limits)) = (event, limits) {
                // As a number of steps, so that nothing is lost by rounding.
                let steps = limits.least_share.map(|share| (share * step.total as f64).round());
                is_enough.set(is_enough.get() || steps.is_some_and(|steps| step.number as f64 >= steps));
            }
            display.show(event);
        };
        let work = Work::New { prepared: Box::new(prepared), output };
        let how = How { is_over: &is_over, ..How::to_its_end(trial, Some(&lock)) };
        let outcome = self.carry_out(work, Place::Here(guardian), how, &mut watch)?;
        let is_whole = outcome.state == RunState::Complete;
        if !is_whole && (limits.is_none() || self.stopped.get()) {
            return Err(Failure::run(
                "it was stopped early; what was measured is kept",
                format!("read it with: pitot report {}", outcome.path.display()),
            ));
        }
        let run = crate::report::open(&outcome.path)?;
        Ok(Ran { path: outcome.path, run, is_whole })
    }
}

/// A guardian: what is started ends with it, and its private directory is removed.
pub(crate) fn guardian() -> Result<Guardian, Failure> {
    fault::tell_of_left_faults();
    Guardian::start().map_err(|e| {
        Failure::run(
            format!("no private directory or process could be made: {e}"),
            format!(
                "check that {} is a directory with free space (TMPDIR names another), and the limit on processes",
                std::env::temp_dir().display()
            ),
        )
    })
}

/// What begins a line on what is waited for.
pub(crate) const WAITING: &str = "waiting for";

/// How this program can be started again.
pub(crate) fn own_path() -> Result<String, Failure> {
    let path = std::env::current_exe()
        .map_err(|e| Failure::run(format!("the program's own file cannot be found: {e}"), "mount /proc"))?;
    Ok(path.to_string_lossy().into_owned())
}
