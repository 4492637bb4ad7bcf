//! An executor for several load hosts, which a repetition sees as one.
//!
//! Each runs a part of the load (`pitot load --share`), and all start at the same time, each by its own clock. Their output, files
//! and resources are merged here.

use std::cell::RefCell;
use std::time::Duration;

use pitot_meter::Nanos;
use pitot_results::load::{LoadResult, Window};
use pitot_results::merge;
use pitot_sys::spawn::Stop;

use super::answers;
use super::samples::add_samples;
use super::side::Side;
use crate::runner::executor::{
    AddressChoice, Command, Count, Ending, Executor, Extent, Line, Observed, Output, Place, Question, Role,
};
use pitot_plan::{CPUS_APART, FileContent, PlanFile};
use pitot_record::Sample;

/// Private directories of running repetitions on each host, in their order.
pub(super) type Copies = RefCell<Vec<Vec<String>>>;

/// A part of a load prints this when its connections are open.
const READY: &str = "ready";
/// The command that ends a held load.
const QUIT: &str = "quit";
/// The exit code of a load generator that refuses its options.
const MISUSE: i32 = 2;
/// Time from the decision to the start, besides the transmission.
const NOTICE: Nanos = Nanos::from_millis(2);
/// The same before a slice; shorter, since there are many.
const SLICE_NOTICE: Nanos = Nanos::from_micros(500);

pub(super) struct Several<'m> {
    hosts: Vec<Host<'m>>,
    copies: &'m Copies,
    /// The private directory on the first of them.
    dir: String,
    talk: Talk,
    /// Why the load failed although its hosts are reachable.
    failed: Option<String>,
}

/// One host.
struct Host<'m> {
    side: Side<'m>,
    cpus: Vec<usize>,
    /// A reply that waits for those of the other hosts.
    said: Option<String>,
}

/// The state of the conversation with the load generators.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Talk {
    /// Nothing was started.
    None,
    /// Waiting until each is ready.
    Readiness(Role),
    /// The start time has been sent.
    Started(Role),
    /// Each replies to every line.
    Answers(Role),
}

impl Talk {
    fn role(self) -> Option<Role> {
        match self {
            Talk::None => None,
            Talk::Readiness(role) | Talk::Started(role) | Talk::Answers(role) => Some(role),
        }
    }
}

impl<'m> Several<'m> {
    /// For hosts with the CPUs of the load generator on each.
    pub(super) fn new(sides: Vec<(Side<'m>, Vec<usize>)>, copies: &'m Copies) -> Several<'m> {
        let hosts = sides.into_iter().map(|(side, cpus)| Host { side, cpus, said: None }).collect();
        Several { hosts, copies, dir: String::new(), talk: Talk::None, failed: None }
    }

    /// Translates a text of the first host for host `at`.
    fn copied(&self, text: &str, at: usize) -> String {
        let copies = self.copies.borrow();
        // The longest first: /7 begins /70 as well.
        let mut rows: Vec<&Vec<String>> = copies.iter().collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row[0].len()));
        rows.into_iter().fold(text.to_owned(), |text, row| text.replace(&row[0], &row[at]))
    }

    fn forget(&mut self) {
        self.copies.borrow_mut().retain(|row| row[0] != self.dir);
    }

    fn share(&self, at: usize) -> String {
        format!("{}/{}", at + 1, self.hosts.len())
    }

    /// The command for the part of host `at`.
    fn part(&self, command: &Command, at: usize) -> Command {
        let mut command = command.clone();
        command.cpus.clone_from(&self.hosts[at].cpus);
        command.argv = command.argv.iter().map(|word| self.copied(word, at)).collect();
        if let Some(after) = command.argv.iter().position(|word| word == "--cpus") {
            let list: Vec<String> = command.cpus.iter().map(ToString::to_string).collect();
            command.argv[after + 1] = list.join(",");
        }
        if command.role == Role::Load && !command.converses {
            command.argv.extend(["--share".to_owned(), self.share(at)]);
            command.converses = true;
        }
        command
    }

    /// A time at which all hosts will know of it.
    fn soon(&self, notice: Nanos) -> Nanos {
        let trips: u64 = self.hosts.iter().map(|host| host.side.clock().round_trip_ns).sum();
        pitot_meter::now() + notice + Nanos(2 * trips)
    }

    /// Sends the start time to all, each by its own clock.
    fn start_all(&mut self, role: Role) {
        let at = self.soon(NOTICE);
        for host in &mut self.hosts {
            let there = host.side.there(at.0);
            // A write to one that has ended fails, and its end is noticed elsewhere.
            let _ = host.side.executor.write_line(role, &format!("start {there}"));
        }
        self.talk = Talk::Started(role);
    }

    /// Handles a line of host `at`. Returns what is for the repetition.
    fn take(&mut self, at: usize, line: Line) -> Option<Line> {
        if !line.on_stdout || Some(line.role) != self.talk.role() {
            return Some(line);
        }
        match self.talk {
            Talk::Readiness(_) if line.text == READY => self.hosts[at].said = Some(line.text),
            Talk::Answers(_) => self.hosts[at].said = Some(line.text),
            Talk::None | Talk::Readiness(_) | Talk::Started(_) => {}
        }
        None
    }

    /// The next step once all hosts have replied.
    fn conclude(&mut self) -> Option<Line> {
        match self.talk {
            // Do not wait for one that has ended without output: its result says why.
            Talk::Readiness(role) => {
                let (mut refused, mut waits) = (None, false);
                for host in self.hosts.iter_mut().filter(|host| host.said.is_none()) {
                    match host.side.executor.ending(role) {
                        Some(Ending::Code(MISUSE)) => refused = Some(host.side.name().to_owned()),
                        Some(_) => {}
                        None => waits = true,
                    }
                }
                if let Some(name) = refused {
                    self.failed =
                        Some(format!("the load generator on the host `{name}` refused its options"));
                } else if !waits {
                    self.start_all(role);
                }
                None
            }
            Talk::Answers(role) => {
                if self.hosts.iter().any(|host| host.said.is_none()) {
                    return None;
                }
                let said = self.hosts.iter_mut().filter_map(|host| {
                    let answer = host.said.take()?;
                    Some((host.side.name().to_owned(), host.side.clock().offset_ns, answer))
                });
                let text = answers::merge(said.collect());
                Some(Line { role, text, on_stdout: true })
            }
            Talk::None | Talk::Started(_) => None,
        }
    }

    /// The merged result of all hosts.
    fn result(&mut self, path: &str) -> Option<String> {
        let mut results = Vec::new();
        for at in 0..self.hosts.len() {
            let path = self.copied(path, at);
            let side = &mut self.hosts[at].side;
            let name = side.name().to_owned();
            let Some(text) = side.executor.read_file(&path) else {
                self.failed = Some(format!("the load generator on the host `{name}` wrote no result"));
                return None;
            };
            let read = LoadResult::parse(&text).map(|result| {
                let Window { start, end } = result.clock_ns;
                // A run that never began has no window.
                let here = |at_ns| if at_ns == 0 { 0 } else { side.here(at_ns) };
                LoadResult { clock_ns: Window { start: here(start), end: here(end) }, ..result }
            });
            match read {
                Ok(result) => results.push((name, result)),
                Err(e) => {
                    self.failed = Some(format!("the result of the host `{name}` cannot be read: {e}"));
                    return None;
                }
            }
        }
        match merge::loads(results) {
            Ok(result) => serde_json::to_string(&result).ok(),
            Err(why) => {
                self.failed = Some(why);
                None
            }
        }
    }
}

impl Executor for Several<'_> {
    fn now(&mut self) -> Nanos {
        pitot_meter::now()
    }

    fn begin(&mut self, number: usize, address: AddressChoice) -> Result<Place, String> {
        self.forget();
        (self.talk, self.failed) = (Talk::None, None);
        let mut places = Vec::new();
        for host in &mut self.hosts {
            host.said = None;
            places.push(host.side.executor.begin(number, address)?);
        }
        self.copies.borrow_mut().push(places.iter().map(|place| place.dir.clone()).collect());
        let first = places.into_iter().next().ok_or("there is no load host")?;
        self.dir.clone_from(&first.dir);
        Ok(first)
    }

    fn write_files(&mut self, files: &[PlanFile]) -> Result<(), String> {
        for at in 0..self.hosts.len() {
            let file = |file: &PlanFile| match &file.content {
                FileContent::Text(text) => {
                    PlanFile { path: file.path.clone(), content: FileContent::Text(self.copied(text, at)) }
                }
                _ => file.clone(),
            };
            let files: Vec<PlanFile> = files.iter().map(file).collect();
            self.hosts[at].side.executor.write_files(&files)?;
        }
        Ok(())
    }

    fn start(&mut self, command: &Command) -> Result<(), String> {
        self.talk = match command.converses {
            true => Talk::Answers(command.role),
            false => Talk::Readiness(command.role),
        };
        for at in 0..self.hosts.len() {
            let part = self.part(command, at);
            self.hosts[at].side.executor.start(&part)?;
        }
        Ok(())
    }

    fn write_line(&mut self, role: Role, line: &str) -> Result<(), String> {
        let at_ns = self.soon(SLICE_NOTICE).0;
        for at in 0..self.hosts.len() {
            let line = self.copied(line, at);
            let line = match line.split_once(' ') {
                Some(("open", _)) => format!("{line} --share {}", self.share(at)),
                Some(("run", _)) => format!("{line} at {}", self.hosts[at].side.there(at_ns)),
                _ => line,
            };
            self.hosts[at].side.executor.write_line(role, &line)?;
        }
        if line == QUIT {
            self.talk = Talk::Started(role);
        }
        Ok(())
    }

    fn count(&mut self, what: Count) -> Option<u64> {
        match what {
            Count::CpuTime(_) | Count::Steal => {
                self.hosts.iter_mut().map(|host| host.side.executor.count(what)).sum()
            }
            Count::Busy | Count::Sending(_) => None,
        }
    }

    fn wait(&mut self, timeout: Duration) -> Option<Line> {
        let deadline = pitot_meter::now() + Nanos::from(timeout);
        for at in 0..self.hosts.len() {
            if self.hosts[at].said.is_some() {
                continue;
            }
            let left = deadline.since(pitot_meter::now());
            if let Some(line) = self.hosts[at].side.executor.wait(left.into())
                && let Some(line) = self.take(at, line)
            {
                return Some(line);
            }
        }
        self.conclude()
    }

    fn ending(&mut self, role: Role) -> Option<Ending> {
        let mut all = Some(Ending::Code(0));
        for at in 0..self.hosts.len() {
            let side = &mut self.hosts[at].side;
            match side.executor.ending(role) {
                // If only one ended badly, report it with the host's name.
                Some(ending) if matches!(ending, Ending::Signal(_)) || self.talk == Talk::Answers(role) => {
                    let name = side.name();
                    self.failed = Some(format!("the load generator on the host `{name}` ended {ending}"));
                    all = None;
                }
                Some(Ending::Code(0)) => {}
                Some(ending) => all = all.map(|_| ending),
                None => all = None,
            }
        }
        all
    }

    fn is_suspended(&mut self, role: Role) -> bool {
        self.hosts.iter_mut().any(|host| host.side.executor.is_suspended(role))
    }

    fn answers(&mut self, address: &str, question: &Question) -> bool {
        self.hosts.iter_mut().all(|host| host.side.executor.answers(address, question))
    }

    fn sample(&mut self, extent: Extent) {
        self.hosts.iter_mut().for_each(|host| host.side.executor.sample(extent));
    }

    fn stop(&mut self, role: Role, signal: Stop) {
        self.hosts.iter_mut().for_each(|host| host.side.executor.stop(role, signal));
    }

    fn output(&mut self, role: Role) -> Output {
        let mut all = Output { stdout_closed: true, ..Output::default() };
        for host in &mut self.hosts {
            let one = host.side.executor.output(role);
            all.stdout_closed &= one.stdout_closed;
            for (sum, text) in [(&mut all.stdout, one.stdout), (&mut all.stderr, one.stderr)] {
                text.lines().for_each(|line| sum.push_str(&format!("{}: {line}\n", host.side.name())));
            }
        }
        all
    }

    fn read_file(&mut self, path: &str) -> Option<String> {
        self.result(path)
    }

    fn lost(&mut self) -> Option<String> {
        let lost = self.hosts.iter_mut().find_map(|host| host.side.executor.lost());
        lost.or_else(|| self.failed.clone())
    }

    fn finish(&mut self) -> Observed {
        let mut all: Option<Observed> = None;
        for (at, host) in self.hosts.iter_mut().enumerate() {
            let mut one = host.side.executor.finish();
            for other in &mut one.other_processes {
                other.from = Nanos(host.side.here(other.from.0));
                other.to = Nanos(host.side.here(other.to.0));
                other.cpu = other.cpu.saturating_add(at * CPUS_APART);
            }
            let of_host: Vec<Sample> =
                one.samples.iter().map(|s| Sample { at_ns: host.side.here(s.at_ns), ..*s }).collect();
            match &mut all {
                None => {
                    one.samples = of_host;
                    all = Some(one);
                }
                Some(all) => {
                    add_samples(&mut all.samples, &of_host);
                    all.other_processes.extend(one.other_processes);
                    all.throttled = all.throttled.saturating_add(one.throttled);
                    all.left_behind.extend(one.left_behind);
                }
            }
        }
        self.forget();
        self.talk = Talk::None;
        all.unwrap_or_default()
    }
}
