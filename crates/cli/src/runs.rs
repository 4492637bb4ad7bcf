//! Runs of the lab within a command: prepared, carried out as `pitot run` does, and read back.

use std::cell::Cell;
use std::path::{Path, PathBuf};

use pitot_lab::{Guardian, Prepared, Run, RunLock, RunState, Setting};
use pitot_results::Failure;
use pitot_sys::signal::{Signal, SignalFd};

use crate::run::progress::Display;
use crate::run::{self, minutes};

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
        self.carry_out(prepared, output, true)
    }

    /// The same, without trying each cell first.
    pub(crate) fn run_untried(
        &mut self,
        prepared: Prepared,
        output: &Path,
    ) -> Result<(PathBuf, Run), Failure> {
        self.carry_out(prepared, output, false)
    }

    fn carry_out(
        &mut self,
        prepared: Prepared,
        output: &Path,
        trial: bool,
    ) -> Result<(PathBuf, Run), Failure> {
        let Some(guardian) = self.guardians.pop() else {
            return Err(Failure::run("there are more runs than were foreseen", "run the plan by itself"));
        };
        let stop = || {
            self.stopped.set(self.stopped.get() || self.signals.next().is_some());
            self.stopped.get()
        };
        let lock = RunLock::take(&prepared.plan.name);
        if let Some(other) = lock.other() {
            eprintln!("warning: another run of Pitot is under way on this machine ({other})");
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
        eprintln!("{}: {}, about {}", prepared.plan.title, prepared.times(), minutes(prepared.estimate_s()));
        let mut display = Display::new();
        let outcome = prepared.run(output, setting, guardian, &mut |news| display.show(news))?;
        display.clear();
        if outcome.state != RunState::Complete {
            return Err(Failure::run(
                "it was stopped before its end; what was measured is kept",
                format!("read it with: pitot report {}", outcome.path.display()),
            ));
        }
        let run = crate::report::open(&outcome.path)?;
        Ok((outcome.path, run))
    }
}
