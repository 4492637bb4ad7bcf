//! The executor that runs programs on this machine.

mod files;
mod guardian;
mod process;

use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use pitot_meter::{Nanos, now};
use pitot_sys::spawn::{self, Stop};

pub use guardian::Guardian;
use guardian::{COOKIE_NAME, sweep};
use process::{Event, Process};

use crate::host::{CpuSplit, throttle_count};
use crate::monitor::Monitor;
use crate::plan::PlanFile;
use crate::runner::executor::{
    Account, AddressChoice, Command, Ending, Executor, Extent, LeftBehind, Line, Observed, Output, Place,
    Role,
};

/// How long processes may take to end once their parent has.
const ORPHAN_TIMEOUT: Duration = Duration::from_secs(2);
/// Time between checks whether processes have ended.
const ORPHAN_INTERVAL: Duration = Duration::from_millis(5);
/// How long an attempt to connect may take.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(80);

/// Runs repetitions on this machine, one after the other, each in a directory of its own below the guardian's.
///
/// While it lives, the process itself runs on the load generator's CPUs.
pub(super) struct Local<'a> {
    guardian: Guardian,
    cpus: &'a CpuSplit,
    /// The CPUs that this process had before.
    allowed: Vec<usize>,
    dir: PathBuf,
    programs: Vec<(Role, Process)>,
    monitor: Option<Monitor>,
    /// The program that counts as the server.
    measured: Option<Role>,
    throttled_before: u64,
    events: Sender<Event>,
    receiver: Receiver<Event>,
}

impl<'a> Local<'a> {
    pub(super) fn new(guardian: Guardian, cpus: &'a CpuSplit) -> Local<'a> {
        let allowed = pitot_sys::affinity::allowed().unwrap_or_default();
        let _ = pitot_sys::affinity::pin(&cpus.load);
        let (events, receiver) = channel();
        Local {
            guardian,
            cpus,
            allowed,
            dir: PathBuf::new(),
            programs: Vec::new(),
            monitor: None,
            measured: None,
            throttled_before: 0,
            events,
            receiver,
        }
    }

    fn program(&mut self, role: Role) -> Option<&mut Process> {
        self.programs.iter_mut().find(|(r, _)| *r == role).map(|(_, process)| process)
    }

    fn throttled(&self) -> u64 {
        throttle_count(&self.cpus.server) + throttle_count(&self.cpus.load)
    }

    /// Processes of `sessions` that do not end by themselves in time.
    fn orphans(&self, sessions: &[u32]) -> Vec<LeftBehind> {
        let deadline = Instant::now() + ORPHAN_TIMEOUT;
        loop {
            let left = crate::procfs::find(sessions, &self.guardian.cookie_line());
            if left.is_empty() || Instant::now() > deadline {
                return left.into_iter().map(|(pid, name)| LeftBehind { pid, name }).collect();
            }
            std::thread::sleep(ORPHAN_INTERVAL);
        }
    }
}

impl Drop for Local<'_> {
    fn drop(&mut self) {
        let _ = pitot_sys::affinity::pin(&self.allowed);
    }
}

impl Executor for Local<'_> {
    fn now(&mut self) -> Nanos {
        now()
    }

    fn begin(&mut self, number: usize, address: AddressChoice) -> Result<Place, String> {
        self.programs.clear();
        (self.events, self.receiver) = channel();
        self.throttled_before = self.throttled();
        self.dir = self.guardian.dir().join(number.to_string());
        std::fs::create_dir_all(&self.dir).map_err(|e| cannot_write(&e))?;
        let address = match address {
            AddressChoice::Server => "127.0.0.1:0".to_owned(),
            AddressChoice::Executor => TcpListener::bind("127.0.0.1:0")
                .and_then(|listener| listener.local_addr())
                .map_err(|e| format!("no free port was found: {e}"))?
                .to_string(),
        };
        Ok(Place { dir: self.dir.to_string_lossy().into_owned(), address })
    }

    fn write_files(&mut self, files: &[PlanFile]) -> Result<(), String> {
        files::write(&self.dir, files).map_err(|e| cannot_write(&e))
    }

    fn start(&mut self, command: &Command) -> Result<(), String> {
        let cookie = (COOKIE_NAME, self.guardian.cookie());
        let process = Process::start(command, &self.dir, cookie, &self.events)?;
        let session = process.id();
        self.guardian.started(session);
        match (command.account, &mut self.monitor) {
            (Account::Server, _) => {
                self.monitor = Some(Monitor::new(session, &self.cpus.server, &self.cpus.load));
                self.measured = Some(command.role);
            }
            (Account::Load, Some(monitor)) => monitor.watch_load(session),
            (Account::None, Some(monitor)) => monitor.ignore(session),
            (_, None) => {}
        }
        self.programs.push((command.role, process));
        Ok(())
    }

    fn wait(&mut self, timeout: Duration) -> Option<Line> {
        match self.receiver.recv_timeout(timeout) {
            Ok(Event::Line(line)) => Some(line),
            Ok(Event::Closed) | Err(_) => None,
        }
    }

    fn ending(&mut self, role: Role) -> Option<Ending> {
        self.program(role)?.ending()
    }

    fn is_suspended(&mut self, role: Role) -> bool {
        let id = self.program(role).map(|process| process.id());
        let stat = id.and_then(|id| std::fs::read_to_string(format!("/proc/{id}/stat")).ok());
        // The state follows the name, which is in parentheses and may hold anything (proc_pid_stat(5)).
        let state = stat.as_deref().and_then(|line| line.rsplit_once(')')?.1.trim_start().chars().next());
        state == Some('T')
    }

    fn accepts(&mut self, address: &str) -> bool {
        address.parse().is_ok_and(|a| TcpStream::connect_timeout(&a, CONNECT_TIMEOUT).is_ok())
    }

    fn sample(&mut self, extent: Extent) {
        if let Some(monitor) = &mut self.monitor {
            monitor.sample(extent == Extent::Whole);
        }
    }

    fn stop(&mut self, role: Role, signal: Stop) {
        if let Some(process) = self.program(role)
            && process.ending().is_none()
        {
            spawn::stop(process.id(), signal);
        }
    }

    fn output(&mut self, role: Role) -> Output {
        self.program(role).map(|process| process.output()).unwrap_or_default()
    }

    fn read_file(&mut self, path: &str) -> Option<String> {
        std::fs::read_to_string(path).ok()
    }

    fn finish(&mut self) -> Observed {
        let throttled = self.throttled().saturating_sub(self.throttled_before);
        let (samples, other_processes) = self.monitor.take().map(Monitor::finish).unwrap_or_default();
        let sessions: Vec<u32> = self.programs.iter().map(|(_, process)| process.id()).collect();
        // Where a program had to be killed, what it leaves behind is no fault of its own.
        let all_ended = self.programs.iter_mut().all(|(_, process)| process.ending().is_some());
        let left_behind = if all_ended { self.orphans(&sessions) } else { Vec::new() };
        sweep(&sessions, &self.guardian.cookie_line(), ORPHAN_TIMEOUT);
        for (_, process) in &mut self.programs {
            // Killed or ended: either way it is waited for, so that no zombie stays.
            let deadline = Instant::now() + ORPHAN_TIMEOUT;
            while process.ending().is_none() && Instant::now() < deadline {
                std::thread::sleep(ORPHAN_INTERVAL);
            }
        }
        for session in sessions {
            self.guardian.ended(session);
        }
        let _ = std::fs::remove_dir_all(&self.dir);
        let measured = self.measured.take().and_then(|role| self.program(role));
        let lifetime = measured.and_then(|process| process.lifetime());
        Observed { samples, other_processes, lifetime, throttled, left_behind }
    }
}

fn cannot_write(e: &std::io::Error) -> String {
    format!("the private directory of the server could not be written: {e}")
}
