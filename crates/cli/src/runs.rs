//! Runs of the lab within a command: prepared, carried out as `pitot run` does, and read back.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::time::Instant;

use pitot_lab::{Guardian, Prepared, Run, RunLock, RunState, Setting};
use pitot_results::{Failure, stderr};
use pitot_sys::signal::{Signal, SignalFd};

use crate::run::progress::Display;
use crate::run::{self, minutes};

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

/// What runs need.
pub(crate) struct Runs {
    guardians: Vec<Guardian>,
    signals: SignalFd,
    stopped: Cell<bool>,
}

impl Runs {
    /// For as many runs. The process must have one thread.
    pub(crate) fn new(count: usize) -> Result<Runs, Failure> {
        let guardians = (0..count).map(|_| run::guardian()).collect::<Result<_, _>>()?;
        let signals = SignalFd::new(&[Signal::Interrupt, Signal::Terminate]).map_err(|e| {
            Failure::run(format!("signals cannot be received: {e}"), "raise the limit on descriptors")
        })?;
        Ok(Runs { guardians, signals, stopped: Cell::new(false) })
    }

    /// Runs a plan into a new file.
    ///
    /// # Errors
    /// As `pitot run`; if the user has stopped it; if there were as many runs before as were foreseen.
    pub(crate) fn run(&mut self, prepared: Prepared, output: &Path) -> Result<(PathBuf, Run), Failure> {
        self.carry_out(prepared, output, true, None).map(|ran| (ran.path, ran.run))
    }

    /// The same, without trying each cell first.
    pub(crate) fn run_untried(
        &mut self,
        prepared: Prepared,
        output: &Path,
    ) -> Result<(PathBuf, Run), Failure> {
        self.carry_out(prepared, output, false, None).map(|ran| (ran.path, ran.run))
    }

    /// The same with limits to its time. What is whole when one is reached counts.
    pub(crate) fn run_within(
        &mut self,
        prepared: Prepared,
        output: &Path,
        limits: Limits,
    ) -> Result<Ran, Failure> {
        self.carry_out(prepared, output, true, Some(limits))
    }

    fn carry_out(
        &mut self,
        prepared: Prepared,
        output: &Path,
        trial: bool,
        limits: Option<Limits>,
    ) -> Result<Ran, Failure> {
        let Some(guardian) = self.guardians.pop() else {
            return Err(Failure::run("there are more runs than were foreseen", "run the plan by itself"));
        };
        let begin = Instant::now();
        let is_enough = Cell::new(false);
        let stop = || {
            self.stopped.set(self.stopped.get() || self.signals.next().is_some());
            let is_over = |limits: Limits| {
                let seconds = begin.elapsed().as_secs_f64();
                seconds > limits.all_s || (is_enough.get() && seconds > limits.enough_s)
            };
            self.stopped.get() || limits.is_some_and(is_over)
        };
        let lock = RunLock::take(&prepared.plan.name);
        if let Some(other) = lock.other() {
            stderr::line(format_args!(
                "warning: another run of Pitot is under way on this machine ({other})"
            ));
        }
        let pitot = run::own_path()?;
        let command_line = std::env::args().collect::<Vec<_>>().join(" ");
        let setting = Setting {
            pitot: &pitot,
            version: env!("CARGO_PKG_VERSION"),
            command_line: &command_line,
            trial,
            note: &|| lock.note(),
            stop: &stop,
        };
        stderr::line(format_args!(
            "{}: {}, about {}",
            prepared.plan.title,
            prepared.times(),
            minutes(prepared.estimate_s())
        ));
        let mut display = Display::new();
        let outcome = prepared.run(output, setting, guardian, &mut |news| {
            let is_over = !news.trial && news.finished.is_some();
            // As a number of steps, so that nothing is lost by rounding.
            let steps =
                limits.and_then(|limits| limits.least_share).map(|share| (share * news.total as f64).round());
            let suffices = is_over && steps.is_some_and(|steps| news.number as f64 >= steps);
            is_enough.set(is_enough.get() || suffices);
            display.show(news);
        })?;
        display.clear();
        let is_whole = outcome.state == RunState::Complete;
        if !is_whole && (limits.is_none() || self.stopped.get()) {
            return Err(Failure::run(
                "it was stopped before its end; what was measured is kept",
                format!("read it with: pitot report {}", outcome.path.display()),
            ));
        }
        let run = crate::report::open(&outcome.path)?;
        Ok(Ran { path: outcome.path, run, is_whole })
    }
}
