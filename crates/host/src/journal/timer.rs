//! A process that undoes a batch later, whether or not whoever asked for it is still there.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

use pitot_meter::Nanos;
use pitot_results::Failure;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use rustix::time::{ClockId, clock_gettime};

use super::record::{Owner, Record, Timer};
use super::store::Journal;
use crate::machine::Machine;

/// How late a timer may be after the machine has slept.
const LOOK_INTERVAL: Duration = Duration::from_secs(60);

/// Starts the process that will undo `batch`: `program host undo` with its arguments, detached from the terminal. It is in
/// the journal before anything is changed.
///
/// # Errors
/// If it cannot be started, or the journal not be written.
pub fn start_timer(
    journal: &mut Journal,
    machine: &Machine,
    program: &Path,
    batch: u64,
    after: Duration,
) -> Result<(), Failure> {
    let mut command = Command::new(program);
    command.args(["host", "undo", "--batch"]).arg(batch.to_string());
    command.arg("--after").arg(format!("{}ms", after.as_millis()));
    command
        .arg("--journal")
        .arg(std::path::absolute(journal.path()).unwrap_or_else(|_| journal.path().to_owned()));
    command.current_dir("/");
    pitot_sys::spawn::detach(&mut command);
    let mut child = command.spawn().map_err(|e| {
        Failure::run(format!("the process for a later undo cannot be started: {e}"), "omit --for")
    })?;
    let until = SystemTime::now() + after;
    let timer = Timer {
        batch,
        pid: child.id(),
        started_ticks: started_ticks(machine, child.id()).unwrap_or(0),
        until_unix_s: until.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs(),
    };
    journal.append(&Record::Timer(timer)).inspect_err(|_| {
        // Nobody would know of it.
        let _ = child.kill();
        let _ = child.wait();
    })
}

/// Writes down that a batch belongs to this process, a run: `undo` leaves it alone while the process lives.
///
/// # Errors
/// If the journal cannot be written.
pub fn claim(journal: &mut Journal, machine: &Machine, batch: u64) -> Result<(), Failure> {
    match claimed(journal, machine, batch) {
        None => Ok(()),
        Some(line) => journal.append(&line),
    }
}

/// The line that says that a batch belongs to this process, unless it is there. Where it cannot be seen when this process was
/// started, nobody can tell whether it lives.
pub(super) fn claimed(journal: &Journal, machine: &Machine, batch: u64) -> Option<Record> {
    let pid = std::process::id();
    let owner = Owner { batch, pid, started_ticks: started_ticks(machine, pid)? };
    (!journal.owners().contains(&owner)).then_some(Record::Run(owner))
}

/// The process of the run that a batch belongs to, if it lives.
pub(super) fn living_owner(machine: &Machine, owners: &[Owner], batch: u64) -> Option<u32> {
    let is_alive = |owner: &&Owner| started_ticks(machine, owner.pid) == Some(owner.started_ticks);
    let mut owners = owners.iter().filter(|owner| owner.batch == batch);
    owners.find(is_alive).map(|owner| owner.pid)
}

/// When a process was started: the 22nd field of its stat (proc_pid_stat(5)).
fn started_ticks(machine: &Machine, pid: u32) -> Option<u64> {
    let stat = machine.read(&format!("/proc/{pid}/stat"))?;
    let mut fields = stat.rsplit_once(") ")?.1.split(' ');
    // A process that has ended and is not waited for is as good as gone.
    if fields.next() == Some("Z") {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

/// Whether the process is there.
pub(super) fn is_alive(machine: &Machine, timer: &Timer) -> bool {
    started_ticks(machine, timer.pid) == Some(timer.started_ticks)
}

/// Ends the processes that have nothing left to undo. This one may be one of them.
pub(super) fn stop_idle(machine: &Machine, journal: &Journal) {
    for timer in journal.timers() {
        let has_work = journal.entries().iter().any(|entry| entry.batch == timer.batch);
        if !has_work && timer.pid != std::process::id() {
            stop(machine, timer);
        }
    }
}

fn stop(machine: &Machine, timer: &Timer) {
    let Some(pid) = i32::try_from(timer.pid).ok().and_then(Pid::from_raw) else { return };
    // Held by its descriptor, the number cannot become that of another process.
    let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) else { return };
    if is_alive(machine, timer) {
        let _ = pidfd_send_signal(process, Signal::TERM);
    }
}

/// Waits as long as a timer has to, the time that the machine sleeps included.
pub fn wait(after: Nanos) {
    let end = boot_time() + Duration::from_nanos(after.0);
    while let Some(rest) = end.checked_sub(boot_time()).filter(|rest| !rest.is_zero()) {
        // The clock of a sleep stands still while the machine sleeps.
        std::thread::sleep(rest.min(LOOK_INTERVAL));
    }
}

fn boot_time() -> Duration {
    let now = clock_gettime(ClockId::Boottime);
    Duration::new(now.tv_sec.try_into().unwrap_or(0), now.tv_nsec.try_into().unwrap_or(0))
}
