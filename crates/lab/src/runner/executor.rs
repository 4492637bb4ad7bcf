//! What a repetition needs of the machine it runs on, as one small interface.
//!
//! The stages of a repetition decide what happens and when; an executor does it: it starts programs, hands back what
//! they print, samples the machine and stops them. Everything that crosses the interface is plain data, so that an
//! executor may be this machine ([`super::local`]), a script for tests ([`super::fake`]), or another machine ([`super::hosts`]).

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
use pitot_plan::PlanFile;
use pitot_record::{HostRecord, Lifetime, Sample};

/// Where repetitions are carried out: each that is under way at the same time has an executor of its own.
pub(super) trait Machine {
    /// An executor. What it starts ends with it.
    fn executor(&self) -> Box<dyn Executor + '_>;

    /// Changes these settings of the host and no others; what was changed before is set back. The error is a sentence. What
    /// is still changed when the machine is dropped, or the lab ends in any way, is set back then.
    fn set_host(&self, changes: &[Change]) -> Result<(), String>;

    /// Physical memory where servers run, bytes.
    fn memory_total_bytes(&self) -> u64 {
        pitot_host::memory_total_bytes()
    }

    /// What a command prints where servers run. The error is a sentence.
    fn printed_by(&self, command: &Asked<'_>) -> Result<String, String> {
        printed::here(command, None)
    }

    /// The other hosts of the run, as they are now.
    fn hosts(&self) -> Vec<HostRecord> {
        Vec::new()
    }
}

/// Carries out one repetition at a time.
pub(super) trait Executor {
    /// `CLOCK_MONOTONIC` of the machine where the programs run, or of the lab where they run on several. All waiting is measured with it.
    fn now(&mut self) -> Nanos;

    /// Begins a repetition: an empty private directory, and an address for a server that cannot choose one itself.
    /// `number` is unique within the run.
    fn begin(&mut self, number: usize, address: AddressChoice) -> Result<Place, String>;

    /// Writes files below the private directory.
    fn write_files(&mut self, files: &[PlanFile]) -> Result<(), String>;

    /// Starts a program. The error is a sentence.
    fn start(&mut self, command: &Command) -> Result<(), String>;

    /// Writes a line to the standard input of a program that was started with one. The error is a sentence.
    fn write_line(&mut self, role: Role, line: &str) -> Result<(), String>;

    /// What is counted of the machine or of a program. `None` if it cannot be said.
    fn count(&mut self, what: Count) -> Option<u64>;

    /// Waits until a program prints a line or closes a stream, for at most `timeout`. `None` for anything but a line.
    fn wait(&mut self, timeout: Duration) -> Option<Line>;

    /// Lets time pass. What programs print meanwhile is kept for [`wait`](Self::wait).
    fn pause(&mut self, time: Duration) {
        std::thread::sleep(time);
    }

    /// How a program ended; `None` while it runs, or if it was not started.
    fn ending(&mut self, role: Role) -> Option<Ending>;

    /// The first process of a program. `None` if it was not started, or runs on another machine.
    fn pid(&mut self, _role: Role) -> Option<u32> {
        None
    }

    /// Whether a signal such as SIGSTOP has suspended a program.
    fn is_suspended(&mut self, role: Role) -> bool;

    /// Whether the server at `address` answers as it should. It is not waited for: false while the answer is under way, and then the
    /// next call looks for the same one.
    fn answers(&mut self, address: &str, question: &Question) -> bool;

    /// Takes a sample of the machine and of the programs.
    fn sample(&mut self, extent: Extent);

    /// Sends a signal to a program. One that has ended is left alone.
    fn stop(&mut self, role: Role, signal: Stop);

    /// The end of what a program has printed so far.
    fn output(&mut self, role: Role) -> Output;

    /// The content of a file that a program wrote.
    fn read_file(&mut self, path: &str) -> Option<String>;

    /// A window of the load generator's clock in that of [`now`](Self::now).
    fn window(&mut self, of_load: Window) -> Window {
        of_load
    }

    /// What a command prints on the lab's own machine. The error is a sentence.
    fn printed_by(&mut self, command: &Asked<'_>) -> Result<String, String> {
        printed::here(command, None)
    }

    /// Why nothing can be asked any more, if a host of the repetition was lost: a sentence.
    fn lost(&mut self) -> Option<String> {
        None
    }

    /// Ends the repetition: kills what still runs, removes the private directory, and reports what was observed.
    fn finish(&mut self) -> Observed;
}

impl dyn Executor + '_ {
    /// CPU time of a program ([`Count::CpuTime`]).
    pub(super) fn cpu_time(&mut self, role: Role) -> Option<Nanos> {
        self.count(Count::CpuTime(role)).map(Nanos)
    }
}

/// What was observed during a repetition.
#[derive(Clone, Debug, Default)]
pub(super) struct Observed {
    /// Oldest first.
    pub(super) samples: Vec<Sample>,
    pub(super) other_processes: Vec<OtherProcessUse>,
    /// What the program that counts as the server used in its whole life. None if it was not seen to end.
    pub(super) lifetime: Option<Lifetime>,
    /// How often the CPUs were throttled, for heat or by a control group's quota.
    pub(super) throttled: u64,
    /// Processes that outlived a server and a load generator that had both ended by themselves.
    pub(super) left_behind: Vec<LeftBehind>,
}
