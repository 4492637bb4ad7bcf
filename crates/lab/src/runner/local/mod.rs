//! The executor that runs programs on this machine.

mod answer;
mod cpu_account;
mod files;
mod free_port;
mod groups;
mod guardian;
mod host;
mod marks;
mod private_dir;
mod process;

use std::cell::{Cell, RefCell};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use pitot_host::setting::Change;
use pitot_meter::{Nanos, now};
use pitot_sys::Mark;
use pitot_sys::guardian::kill_all;
use pitot_sys::processes;
use pitot_sys::spawn::{self, Stop};
use pitot_sys::tcp_sockets::{CLOSE_WAIT, ESTABLISHED, any_address, of_address};
use pitot_sys::user::User;

use answer::Pending;
use cpu_account::{Clocks, CpuAccount};
use free_port::free_port;
use groups::{Group, Hierarchy};
pub use guardian::Guardian;
use host::HostChanges;
pub use private_dir::Leftovers;
use process::{Event, Process, Start};

use crate::monitor::{Monitor, Pacer, StealReader};
use crate::procfs::COOKIE_NAME;
use crate::runner::executor::{
    Account, AddressChoice, Command, Count, Ending, Executor, Extent, LeftBehind, Line, Machine, Observed,
    Output, Place, Question, Role,
};
use crate::runner::printed::{self, Asked};
use crate::runner::repetition::SERVER_PID;
use pitot_host::{CpuSplit, throttle_count};
use pitot_plan::PlanFile;

/// Time that processes have to end after their parent.
const ORPHAN_TIMEOUT: Duration = Duration::from_secs(2);
/// Interval of checks whether processes have ended.
const ORPHAN_INTERVAL: Duration = Duration::from_millis(5);

/// The variable that identifies the processes of an executor.
const PLACE_NAME: &str = "PITOT_PLACE";

/// This machine. While it exists, this process runs on the load generator's CPUs.
pub(super) struct ThisMachine<'a> {
    guardian: RefCell<Guardian>,
    cpus: &'a CpuSplit,
    /// The CPUs that this process had before.
    allowed: Vec<usize>,
    /// Where control groups can be created; none if this user may not.
    hierarchy: Option<Hierarchy>,
    host: RefCell<HostChanges>,
    /// The address on which servers listen.
    address: IpAddr,
    executors: Cell<usize>,
    /// How many programs were started.
    programs: Cell<usize>,
}

impl<'a> ThisMachine<'a> {
    pub(super) fn new(guardian: Guardian, cpus: &'a CpuSplit) -> ThisMachine<'a> {
        let allowed = pitot_sys::affinity::allowed().unwrap_or_default();
        let _ = pitot_sys::affinity::pin(&cpus.load);
        let hierarchy = Hierarchy::find(&guardian.group_name(0));
        ThisMachine {
            guardian: RefCell::new(guardian),
            cpus,
            allowed,
            hierarchy,
            host: RefCell::new(HostChanges::none()),
            address: Ipv4Addr::LOCALHOST.into(),
            executors: Cell::new(0),
            programs: Cell::new(0),
        }
    }

    /// Sets the address on which servers listen, instead of 127.0.0.1.
    pub(super) fn listening_on(mut self, address: IpAddr) -> ThisMachine<'a> {
        self.address = address;
        self
    }

    /// The user of the programs, if not this process's.
    fn user(&self) -> Option<User> {
        self.guardian.borrow().user()
    }

    fn throttled(&self) -> u64 {
        throttle_count(&self.cpus.server) + throttle_count(&self.cpus.load)
    }

    /// The mark of a new program, and its control group if one can be created.
    fn marks(&self) -> (Mark, Option<Group>) {
        self.programs.set(self.programs.get() + 1);
        let (guardian, number) = (self.guardian.borrow(), self.programs.get());
        let group =
            self.hierarchy.as_ref().and_then(|hierarchy| hierarchy.make(&guardian.group_name(number)));
        (guardian.mark(number), group)
    }
}

impl Machine for ThisMachine<'_> {
    fn executor(&self) -> Box<dyn Executor + '_> {
        self.executors.set(self.executors.get() + 1);
        let cookie = format!("{}-{}", self.guardian.borrow().cookie(), self.executors.get());
        let (events, receiver) = channel();
        Box::new(Local {
            machine: self,
            cookie,
            dir: PathBuf::new(),
            is_handed_over: false,
            programs: Vec::new(),
            monitor: None,
            measured: None,
            throttled_before: 0,
            steal: StealReader::open(),
            pending: Pending::default(),
            events,
            receiver,
        })
    }

    fn printed_by(&self, command: &Asked<'_>) -> Result<String, String> {
        printed::here(command, self.user())
    }

    fn pacer(&self) -> Option<Pacer> {
        Some(Pacer::start(&self.cpus.server, &self.cpus.load))
    }

    fn set_host(&self, changes: &[Change]) -> Result<(), String> {
        let mut host = self.host.borrow_mut();
        if !host.are(changes) {
            let (journal, batch) = host.place();
            self.guardian.borrow_mut().host_changes(&journal, batch);
        }
        host.set(changes)
    }
}

impl Drop for ThisMachine<'_> {
    fn drop(&mut self) {
        let _ = pitot_sys::affinity::pin(&self.allowed);
    }
}

/// Runs repetitions on this machine, one after the other, each in its own directory within the guardian's.
struct Local<'m> {
    machine: &'m ThisMachine<'m>,
    /// The value of [`PLACE_NAME`] in its processes.
    cookie: String,
    dir: PathBuf,
    /// The directory belongs to the user of the programs, so its content cannot be trusted.
    is_handed_over: bool,
    programs: Vec<Started>,
    monitor: Option<Monitor>,
    /// The measured program.
    measured: Option<Role>,
    throttled_before: u64,
    steal: StealReader,
    /// A pending readiness request.
    pending: Pending,
    events: Sender<Event>,
    receiver: Receiver<Event>,
}

/// A program that was started.
struct Started {
    role: Role,
    process: Process,
    mark: Option<Mark>,
    group: Option<Group>,
    cpu: Option<CpuAccount>,
}

impl Local<'_> {
    fn program(&mut self, role: Role) -> Option<&mut Process> {
        // Of a restarted server the last one counts.
        self.programs.iter_mut().rev().find(|p| p.role == role).map(|p| &mut p.process)
    }

    /// The command with the server's first process in it.
    fn aimed(&mut self, command: &Command) -> Command {
        let server = self.program(Role::Server).map(|server| server.id().to_string());
        let mut command = command.clone();
        for word in command.argv.iter_mut().filter(|word| *word == SERVER_PID) {
            *word = server.clone().unwrap_or_default();
        }
        command
    }

    /// Kills the remaining processes of an earlier server, which would hold the address.
    fn clear_away_server(&self) {
        if self.programs.iter().any(|program| program.role == Role::Server) {
            self.kill(|program| program.role == Role::Server, None);
        }
    }

    /// Forgets earlier instances of a restarted program, since a soak may have a fault every minute. Instances with
    /// processes are kept, so that these are found at the end.
    fn forget_ended(&mut self, role: Role) {
        let programs = self.programs.iter_mut().filter(|program| program.role == role);
        let ended: Vec<u32> =
            programs.filter_map(|p| p.process.ending().is_some().then(|| p.process.id())).collect();
        let has_ended = |program: &Started| ended.contains(&program.process.id());
        if ended.is_empty() || !self.processes(has_ended, None).is_empty() {
            return;
        }
        for program in self.programs.extract_if(.., |program| has_ended(program)) {
            self.machine.guardian.borrow_mut().ended(program.process.id());
        }
    }

    /// The processes of these programs and their descendants, and those whose environment has the line.
    fn processes(&self, of: impl Fn(&Started) -> bool, line: Option<&str>) -> Vec<processes::Process> {
        let programs: Vec<&Started> = self.programs.iter().filter(|program| of(program)).collect();
        let sessions: Vec<u32> = programs.iter().map(|program| program.process.id()).collect();
        let is_theirs = |mark| programs.iter().any(|program| program.mark == Some(mark));
        let mut found = crate::procfs::find(&sessions, line, is_theirs);
        for member in programs.iter().filter_map(|program| program.group.as_ref()).flat_map(Group::processes)
        {
            if found.iter().all(|process| process.pid != member.pid) {
                found.push(member);
            }
        }
        found
    }

    /// Kills them, until none is left.
    fn kill(&self, of: impl Fn(&Started) -> bool, line: Option<&str>) {
        kill_all(ORPHAN_TIMEOUT, || {
            let programs = self.programs.iter().filter(|program| of(program));
            programs.filter_map(|program| program.group.as_ref()).for_each(Group::kill);
            self.processes(&of, line)
        });
    }

    /// The line of the environment that identifies them.
    fn place_line(&self) -> String {
        format!("{PLACE_NAME}={}", self.cookie)
    }

    /// Processes that do not exit in time.
    fn orphans(&self) -> Vec<LeftBehind> {
        let deadline = Instant::now() + ORPHAN_TIMEOUT;
        loop {
            let left = self.processes(|_| true, Some(&self.place_line()));
            if left.is_empty() || Instant::now() > deadline {
                return left.into_iter().map(|p| LeftBehind { pid: p.pid, name: p.name }).collect();
            }
            std::thread::sleep(ORPHAN_INTERVAL);
        }
    }
}

impl Executor for Local<'_> {
    fn now(&mut self) -> Nanos {
        now()
    }

    fn begin(&mut self, number: usize, address: AddressChoice) -> Result<Place, String> {
        self.programs.clear();
        (self.events, self.receiver) = channel();
        self.throttled_before = self.machine.throttled();
        let file_system = self.machine.host.borrow().file_system();
        let dir = file_system.unwrap_or_else(|| self.machine.guardian.borrow().dir().to_owned());
        self.dir = dir.join(number.to_string());
        self.is_handed_over = false;
        std::fs::create_dir_all(&self.dir).map_err(|e| cannot_write(&e))?;
        let port = match address {
            AddressChoice::Server => 0,
            AddressChoice::Executor => {
                free_port(self.machine.address).map_err(|e| format!("no free port was found: {e}"))?
            }
        };
        let address = SocketAddr::new(self.machine.address, port).to_string();
        Ok(Place { dir: self.dir.to_string_lossy().into_owned(), address })
    }

    fn write_files(&mut self, files: &[PlanFile]) -> Result<(), String> {
        if self.is_handed_over {
            return Err(
                "files cannot be written after programs of another user have run in their directory".into()
            );
        }
        files::write(&self.dir, files).map_err(|e| cannot_write(&e))
    }

    fn start(&mut self, command: &Command) -> Result<(), String> {
        // A fault's program has its own guardian, which this run must not kill.
        let is_ours = !matches!(command.role, Role::Fault(_));
        let variables = [(COOKIE_NAME, self.machine.guardian.borrow().cookie().to_owned())];
        let variables = variables.into_iter().chain([(PLACE_NAME, self.cookie.clone())]).filter(|_| is_ours);
        let (mark, group) = is_ours.then(|| self.machine.marks()).unzip();
        let group = group.flatten();
        let members = group.as_ref().and_then(|group| group.members().ok());
        let command = &self.aimed(command);
        if command.role == Role::Server {
            self.clear_away_server();
            // A reply of an earlier server does not count.
            self.pending = Pending::default();
        }
        self.forget_ended(command.role);
        let user = self.machine.user().filter(|_| is_ours);
        if let Some(user) = user.filter(|_| !self.is_handed_over) {
            files::give_to(&self.dir, user).map_err(|e| cannot_write(&e))?;
            self.is_handed_over = true;
        }
        let how = Start { dir: &self.dir, mark, members, user };
        let process = Process::start(command, how, variables, &self.events)?;
        let session = process.id();
        self.machine.guardian.borrow_mut().started(session);
        match (command.account, &mut self.monitor) {
            (Account::Server, Some(monitor)) => monitor.watch_server(session),
            (Account::Server, None) => {
                let cpus = self.machine.cpus;
                let monitor = Monitor::new(session, &cpus.server, &cpus.load);
                self.monitor = Some(monitor.of_run(self.machine.guardian.borrow().cookie()));
                self.measured = Some(command.role);
            }
            (Account::Load, Some(monitor)) => monitor.watch_load(session),
            (Account::None, Some(monitor)) => monitor.ignore(session),
            (_, None) => {}
        }
        let cpu = command.cpu_is_counted.then(|| match group.as_ref().and_then(Group::counter) {
            Some(counter) => CpuAccount::Group(counter),
            None => CpuAccount::Clocks(Box::new(Clocks::new(session))),
        });
        self.programs.push(Started { role: command.role, process, mark, group, cpu });
        Ok(())
    }

    fn write_line(&mut self, role: Role, line: &str) -> Result<(), String> {
        let program = self.program(role).ok_or("it was not started")?;
        program.write_line(line).map_err(|e| format!("its standard input cannot be written: {e}"))
    }

    fn count(&mut self, what: Count) -> Option<u64> {
        let cpus = self.machine.cpus;
        match what {
            Count::CpuTime(role) => {
                // Of a restarted program the last instance counts.
                let program = self.programs.iter_mut().rev().find(|p| p.role == role)?;
                Some(program.cpu.as_mut()?.cpu_time()?.0)
            }
            Count::Steal => Some(self.steal.read(&cpus.server, &cpus.load).0),
            Count::Busy => Some(self.steal.busy(&cpus.server, &cpus.load)?.0),
            Count::Sending(port) => {
                let pid = self.pid(Role::Server)?;
                let states = 1 << ESTABLISHED | 1 << CLOSE_WAIT;
                let sockets = of_address(Some(pid), any_address(port), states)?;
                (!sockets.all.is_empty()).then(|| sockets.sending())
            }
        }
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

    fn pid(&mut self, role: Role) -> Option<u32> {
        self.program(role).map(|process| process.id())
    }

    fn pids(&mut self, role: Role) -> Vec<u32> {
        let processes = self.processes(|started| started.role == role, None);
        processes.iter().map(|process| process.pid).collect()
    }

    fn is_suspended(&mut self, role: Role) -> bool {
        let process = self.program(role).and_then(|program| processes::Process::read(program.id()));
        process.is_some_and(|process| process.stat.state == 'T')
    }

    fn answers(&mut self, address: &str, question: &Question) -> bool {
        self.pending.has_answered(address, question)
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
        match self.machine.user() {
            Some(user) => files::read_of(Path::new(path), user),
            None => std::fs::read_to_string(path).ok(),
        }
    }

    fn printed_by(&mut self, command: &Asked<'_>) -> Result<String, String> {
        self.machine.printed_by(command)
    }

    fn finish(&mut self) -> Observed {
        let throttled = self.machine.throttled().saturating_sub(self.throttled_before);
        let (samples, other_processes) = self.monitor.take().map(Monitor::finish).unwrap_or_default();
        let sessions: Vec<u32> = self.programs.iter().map(|p| p.process.id()).collect();
        // If a program had to be killed, its remaining processes are not its error.
        let all_ended = self.programs.iter_mut().all(|p| p.process.ending().is_some());
        let left_behind = if all_ended { self.orphans() } else { Vec::new() };
        if !all_ended || !left_behind.is_empty() {
            self.kill(|_| true, Some(&self.place_line()));
        }
        for program in &mut self.programs {
            // Killed or ended, wait for it, so that no zombie is left.
            let deadline = Instant::now() + ORPHAN_TIMEOUT;
            while program.process.ending().is_none() && Instant::now() < deadline {
                std::thread::sleep(ORPHAN_INTERVAL);
            }
            // All members have ended, so the control group can be removed.
            program.group = None;
        }
        for session in sessions {
            self.machine.guardian.borrow_mut().ended(session);
        }
        let _ = std::fs::remove_dir_all(&self.dir);
        let measured = self.measured.take().and_then(|role| self.program(role));
        let lifetime = measured.and_then(|process| process.lifetime());
        Observed { samples, other_processes, lifetime, throttled, left_behind }
    }
}

/// Ends the programs of an aborted repetition.
impl Drop for Local<'_> {
    fn drop(&mut self) {
        if self.monitor.is_some() || self.programs.iter_mut().any(|p| p.process.ending().is_none()) {
            self.finish();
        }
    }
}

fn cannot_write(e: &std::io::Error) -> String {
    format!("the private directory of the server could not be written: {e}")
}
