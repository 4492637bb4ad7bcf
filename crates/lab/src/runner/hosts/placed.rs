//! A repetition with its server on one host and its load on another.
//!
//! Each side has its own executor, here or at an agent. Their observations are merged in the time of the lab's clock.

use std::cell::RefCell;
use std::time::Duration;

use pitot_meter::Nanos;
use pitot_results::load::Window;
use pitot_sys::spawn::Stop;

use super::samples::join_load;
use super::side::Side;
use crate::monitor::OtherProcessUse;
use crate::runner::executor::{
    Account, AddressChoice, Command, Count, Ending, Executor, Extent, Line, Observed, Output, Place,
    Question, Role,
};
use pitot_plan::{CPUS_APART, FileContent, PlanFile};
use pitot_record::Sample;

/// Private directories of running repetitions, on the server's and on the load's host.
pub(super) type Folders = RefCell<Vec<(String, String)>>;

pub(super) struct Placed<'m> {
    server: Side<'m>,
    load: Side<'m>,
    folders: &'m Folders,
    /// The private directory on the server's host.
    dir: String,
    /// The load itself is measured, on the server's host.
    load_is_server: bool,
}

impl<'m> Placed<'m> {
    pub(super) fn new(server: Side<'m>, load: Side<'m>, folders: &'m Folders) -> Placed<'m> {
        Placed { server, load, folders, dir: String::new(), load_is_server: false }
    }

    fn side(&mut self, role: Role) -> &mut dyn Executor {
        match role {
            Role::Server | Role::Stop | Role::Fault(_) | Role::Proxy | Role::Resolver => {
                &mut *self.server.executor
            }
            Role::Load if self.load_is_server => &mut *self.server.executor,
            Role::Load | Role::WarmUp | Role::Helper(_) => &mut *self.load.executor,
        }
    }

    /// Translates private directories in a text for the load's host.
    fn for_load(&self, text: &str) -> String {
        let folders = self.folders.borrow();
        // Longest first: /7 is a prefix of /70.
        let mut folders: Vec<_> = folders.iter().collect();
        folders.sort_by_key(|(there, _)| std::cmp::Reverse(there.len()));
        folders.into_iter().fold(text.to_owned(), |text, (there, here)| text.replace(there, here))
    }

    fn forget_folder(&mut self) {
        self.folders.borrow_mut().retain(|(dir, _)| *dir != self.dir);
    }
}

impl Executor for Placed<'_> {
    fn now(&mut self) -> Nanos {
        pitot_meter::now()
    }

    fn begin(&mut self, number: usize, address: AddressChoice) -> Result<Place, String> {
        self.forget_folder();
        self.load_is_server = false;
        let place = self.server.executor.begin(number, address)?;
        let of_load = self.load.executor.begin(number, AddressChoice::Server)?;
        self.dir.clone_from(&place.dir);
        self.folders.borrow_mut().push((place.dir.clone(), of_load.dir));
        Ok(place)
    }

    fn write_files(&mut self, files: &[PlanFile]) -> Result<(), String> {
        self.server.executor.write_files(files)?;
        let file = |file: &PlanFile| match &file.content {
            FileContent::Text(text) => {
                PlanFile { path: file.path.clone(), content: FileContent::Text(self.for_load(text)) }
            }
            _ => file.clone(),
        };
        let files: Vec<PlanFile> = files.iter().map(file).collect();
        self.load.executor.write_files(&files)
    }

    fn start(&mut self, command: &Command) -> Result<(), String> {
        let mut command = command.clone();
        match (command.role, command.account) {
            (Role::Load, Account::Server) => self.load_is_server = true,
            (Role::Load, _) => {
                // It is watched on its own host.
                command.account = Account::Server;
                command.argv = command.argv.iter().map(|word| self.for_load(word)).collect();
            }
            (Role::WarmUp | Role::Helper(_), _) => {
                command.argv = command.argv.iter().map(|word| self.for_load(word)).collect();
            }
            // Its CPUs would be those of the load's host; any are fine.
            (Role::Stop | Role::Fault(_) | Role::Proxy | Role::Resolver, _) => command.cpus.clear(),
            (Role::Server, _) => {}
        }
        self.side(command.role).start(&command)
    }

    fn write_line(&mut self, role: Role, line: &str) -> Result<(), String> {
        let line =
            if matches!(role, Role::Load | Role::WarmUp) { self.for_load(line) } else { line.to_owned() };
        self.side(role).write_line(role, &line)
    }

    fn count(&mut self, what: Count) -> Option<u64> {
        match what {
            Count::CpuTime(role) => self.side(role).count(what),
            Count::Sending(_) => self.server.executor.count(what),
            Count::Steal => Some(self.server.executor.count(what)? + self.load.executor.count(what)?),
            // An agent may use all CPUs of its host.
            Count::Busy => None,
        }
    }

    fn wait(&mut self, timeout: Duration) -> Option<Line> {
        // Mostly output of the load; of the server only the line that it is ready.
        if let Some(line) = self.server.executor.wait(Duration::ZERO) {
            return Some(line);
        }
        self.load.executor.wait(timeout)
    }

    fn ending(&mut self, role: Role) -> Option<Ending> {
        self.side(role).ending(role)
    }

    fn is_suspended(&mut self, role: Role) -> bool {
        self.side(role).is_suspended(role)
    }

    fn answers(&mut self, address: &str, question: &Question) -> bool {
        self.server.executor.answers(address, question)
    }

    fn sample(&mut self, extent: Extent) {
        self.server.executor.sample(extent);
        self.load.executor.sample(extent);
    }

    fn stop(&mut self, role: Role, signal: Stop) {
        self.side(role).stop(role, signal);
    }

    fn output(&mut self, role: Role) -> Output {
        self.side(role).output(role)
    }

    fn read_file(&mut self, path: &str) -> Option<String> {
        let path = if self.load_is_server { path.to_owned() } else { self.for_load(path) };
        self.side(Role::Load).read_file(&path)
    }

    fn window(&mut self, of_load: Window) -> Window {
        let side = if self.load_is_server { &self.server } else { &self.load };
        Window { start: side.here(of_load.start), end: side.here(of_load.end) }
    }

    fn lost(&mut self) -> Option<String> {
        self.server.executor.lost().or_else(|| self.load.executor.lost())
    }

    fn finish(&mut self) -> Observed {
        let load = self.load.executor.finish();
        let mut server = self.server.executor.finish();
        for sample in &mut server.samples {
            sample.at_ns = self.server.here(sample.at_ns);
        }
        let of_load: Vec<Sample> =
            load.samples.iter().map(|s| Sample { at_ns: self.load.here(s.at_ns), ..*s }).collect();
        join_load(&mut server.samples, &of_load);
        for other in &mut server.other_processes {
            other.from = Nanos(self.server.here(other.from.0));
            other.to = Nanos(self.server.here(other.to.0));
        }
        server.other_processes.extend(load.other_processes.into_iter().map(|other| OtherProcessUse {
            from: Nanos(self.load.here(other.from.0)),
            to: Nanos(self.load.here(other.to.0)),
            cpu: other.cpu.saturating_add(CPUS_APART),
            ..other
        }));
        server.throttled = server.throttled.saturating_add(load.throttled);
        server.left_behind.extend(load.left_behind);
        self.forget_folder();
        server
    }
}
