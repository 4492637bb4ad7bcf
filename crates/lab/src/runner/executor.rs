//! The interface between a repetition and the machine it runs on.
//!
//! The stages of a repetition decide what happens and when; an executor starts programs, returns their output, samples the
//! machine and stops them. The interface is plain data, so that an executor can be this machine ([`super::local`]), a script
//! for tests ([`super::fake`]), or another machine ([`super::hosts`]).

use std::time::Duration;

pub(super) use pitot_agent::{
    Account, AddressChoice, Command, Count, Ending, Extent, LeftBehind, Line, Output, Place, Question, Role,
};
use pitot_host::setting::Change;
use pitot_meter::Nanos;
use pitot_results::load::Window;
use pitot_sys::spawn::Stop;

use super::printed::{self, Asked};
use crate::monitor::OtherProcessUse;
use crate::monitor::Pacer;
use pitot_plan::PlanFile;
use pitot_record::{HostRecord, Lifetime, Sample};

/// Where repetitions run. Each concurrent repetition has its own executor.
pub(super) trait Machine {
    /// A new executor. Its programs end when it is dropped.
    fn executor(&self) -> Box<dyn Executor + '_>;

    /// Applies these settings of the host and restores all others. When the machine is dropped or the lab ends in any
    /// way, all are restored. The error is a sentence.
    fn set_host(&self, changes: &[Change]) -> Result<(), String>;

    /// Physical memory of the servers' host, bytes.
    fn memory_total_bytes(&self) -> u64 {
        pitot_host::memory_total_bytes()
    }

    /// Output of a command on the servers' host. The error is a sentence.
    fn printed_by(&self, command: &Asked<'_>) -> Result<String, String> {
        printed::here(command, None)
    }

    /// Measures the pace of the servers' CPUs for as long as it exists; none if they are on another host.
    fn pacer(&self) -> Option<Pacer> {
        None
    }

    /// The current state of the other hosts of the run.
    fn hosts(&self) -> Vec<HostRecord> {
        Vec::new()
    }
}

/// Runs one repetition at a time.
pub(super) trait Executor {
    /// `CLOCK_MONOTONIC` of the programs' machine, or of the lab if there are several. All waiting uses it.
    fn now(&mut self) -> Nanos;

    /// Begins a repetition: creates an empty private directory and chooses an address for servers that cannot.
    /// `number` is unique within the run.
    fn begin(&mut self, number: usize, address: AddressChoice) -> Result<Place, String>;

    /// Writes files below the private directory.
    fn write_files(&mut self, files: &[PlanFile]) -> Result<(), String>;

    /// Starts a program. The error is a sentence.
    fn start(&mut self, command: &Command) -> Result<(), String>;

    /// Writes a line to the stdin of a program that has one. The error is a sentence.
    fn write_line(&mut self, role: Role, line: &str) -> Result<(), String>;

    /// A counter of the machine or of a program. `None` if unknown.
    fn count(&mut self, what: Count) -> Option<u64>;

    /// Waits up to `timeout` for a program to print a line or close a stream. `None` if there is no line.
    fn wait(&mut self, timeout: Duration) -> Option<Line>;

    /// Sleeps. Output of programs is kept for [`wait`](Self::wait).
    fn pause(&mut self, time: Duration) {
        std::thread::sleep(time);
    }

    /// How a program ended; `None` while it is running or if it was not started.
    fn ending(&mut self, role: Role) -> Option<Ending>;

    /// The first process of a program. `None` if it was not started or is on another machine.
    fn pid(&mut self, _role: Role) -> Option<u32> {
        None
    }

    /// All processes of a program that run. None if it is on another machine.
    fn pids(&mut self, _role: Role) -> Vec<u32> {
        Vec::new()
    }

    /// Whether a program is suspended, for instance by SIGSTOP.
    fn is_suspended(&mut self, role: Role) -> bool;

    /// Whether the server at `address` replies as expected. Does not block: it returns false until the reply has
    /// arrived, and later calls check the same request.
    fn answers(&mut self, address: &str, question: &Question) -> bool;

    /// Takes a sample of the machine and of the programs.
    fn sample(&mut self, extent: Extent);

    /// Sends a signal to a program, unless it has ended.
    fn stop(&mut self, role: Role, signal: Stop);

    /// The output tail of a program so far.
    fn output(&mut self, role: Role) -> Output;

    /// The content of a file that a program wrote.
    fn read_file(&mut self, path: &str) -> Option<String>;

    /// Converts a window of the load generator's clock to that of [`now`](Self::now).
    fn window(&mut self, of_load: Window) -> Window {
        of_load
    }

    /// Output of a command on the lab's machine. The error is a sentence.
    fn printed_by(&mut self, command: &Asked<'_>) -> Result<String, String> {
        printed::here(command, None)
    }

    /// Why a host of the repetition was lost, if one was: a sentence.
    fn lost(&mut self) -> Option<String> {
        None
    }

    /// Ends the repetition: kills remaining processes, removes the private directory, and returns the observations.
    fn finish(&mut self) -> Observed;
}

impl dyn Executor + '_ {
    /// CPU time of a program ([`Count::CpuTime`]).
    pub(super) fn cpu_time(&mut self, role: Role) -> Option<Nanos> {
        self.count(Count::CpuTime(role)).map(Nanos)
    }
}

/// Observations of a repetition.
#[derive(Clone, Debug, Default)]
pub(super) struct Observed {
    /// Oldest first.
    pub(super) samples: Vec<Sample>,
    pub(super) other_processes: Vec<OtherProcessUse>,
    /// What the measured server used in its whole life. None if its end was not seen.
    pub(super) lifetime: Option<Lifetime>,
    /// How often the CPUs were throttled, for heat or by a control group's quota.
    pub(super) throttled: u64,
    /// Processes that were left after server and load generator had both exited.
    pub(super) left_behind: Vec<LeftBehind>,
}
