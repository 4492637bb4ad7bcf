//! What a repetition needs of the machine it runs on, as one small interface.
//!
//! The stages of a repetition decide what happens and when; an executor does it: it starts programs, hands back what
//! they print, samples the machine and stops them. Everything that crosses the interface is plain data, so that an
//! executor may be this machine ([`super::local`]), a script for tests ([`super::fake`]), or another machine ([`super::hosts`]).

use std::time::Duration;

pub(super) use pitot_agent::{
    Account, AddressChoice, Command, Ending, Extent, LeftBehind, Line, Output, Place, Role,
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

/// What a server is asked over a new connection, to see whether it is ready.
#[derive(Clone, Copy, Debug)]
pub(super) enum Question<'a> {
    /// Whether what it answers to `send` contains `expect`.
    Text {
        /// Nothing is sent to a server that speaks first.
        send: &'a str,
        /// What is looked for.
        expect: &'a str,
    },
    /// Whether a request of HTTP for this path is answered with status 200.
    Page(&'a str),
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

    /// CPU time that a program has used since it was started, with all its descendants, those that have ended included.
    /// It is exact when none of them is running. `None` if this cannot be said.
    fn cpu_time(&mut self, role: Role) -> Option<Nanos>;

    /// How many connections of the server at this port have bytes under way that their other side has not acknowledged. `None`
    /// if that cannot be said, or there are none at all.
    fn sending(&mut self, _port: u16) -> Option<u64> {
        None
    }

    /// Steal time of all CPUs of both sides since the machine was started.
    fn steal(&mut self) -> Nanos;

    /// CPU time that all processes used on the CPUs of both sides since the machine was started, seen or not, without interrupts.
    /// `None` if that cannot be said.
    fn busy(&mut self) -> Option<Nanos> {
        None
    }

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

    /// Whether a connection to `address` can be opened at once.
    fn accepts(&mut self, address: &str) -> bool;

    /// Whether a new connection to `address` gets the answer that is looked for.
    fn answers(&mut self, address: &str, question: Question<'_>) -> bool;

    /// The same without waiting for the answer: false while it is not there, and then the next call asks for the same.
    fn has_answered(&mut self, address: &str, question: Question<'_>) -> bool {
        self.answers(address, question)
    }

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
