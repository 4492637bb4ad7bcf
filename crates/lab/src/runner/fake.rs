//! A machine for tests: programs are scripts, and time advances only by waiting.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

use pitot_host::setting::Change;
use pitot_meter::Nanos;
use pitot_sys::spawn::Stop;

use crate::monitor::OtherProcessUse;
use pitot_plan::PlanFile;
use pitot_record::{CpuSample, Sample, TreeSample};

use super::executor::{
    AddressChoice, Command, Count, Ending, Executor, Extent, LeftBehind, Line, Machine, Observed, Output,
    Place, Question, Role,
};

/// The answer to a line: after so many milliseconds, these lines.
pub(super) type LineReply = fn(&str) -> (u64, Vec<String>);

/// What a program does. Times are milliseconds from its start.
#[derive(Clone, Debug, Default)]
pub(super) struct Script {
    /// It cannot be started.
    pub(super) start_error: Option<&'static str>,
    /// Lines on stdout.
    pub(super) prints: Vec<(u64, &'static str)>,
    /// Lines on stderr.
    pub(super) complains: Vec<(u64, &'static str)>,
    /// It ends by itself.
    pub(super) ends: Option<(u64, Ending)>,
    /// How it ends when it is asked to; it ignores signals if none.
    pub(super) stops: Option<Ending>,
    /// It accepts connections from then on.
    pub(super) accepts_from: Option<u64>,
    /// The file that it has written by its end.
    pub(super) result: Option<String>,
    /// How it answers a line on its standard input: with lines, after so many milliseconds.
    pub(super) answer: Option<LineReply>,
    /// It ends when it is asked for the answer of this number, from 1.
    pub(super) ends_at_line: Option<(usize, Ending)>,
    /// It ends when it is asked for something that begins with this word.
    pub(super) ends_at_word: Option<&'static str>,
    /// CPU time that it uses, in parts of the time that passes.
    pub(super) cpu_share: f64,
}

struct Program {
    role: Role,
    script: Script,
    started: Nanos,
    ended: Option<(Nanos, Ending)>,
    /// Lines that were handed out, of stdout and of stderr.
    handed_out: [usize; 2],
    /// Answers that are not handed out yet, and when they are due.
    answers: VecDeque<(Nanos, String)>,
    lines_read: usize,
}

/// What all executors of a fake machine share.
#[derive(Debug)]
struct World {
    now: Nanos,
    /// What was asked of them, in order; samples that were due are left out.
    calls: Vec<String>,
    /// Settings of the host that are changed.
    host: Vec<String>,
}

/// The machine, and one of its executors.
pub(super) struct Fake {
    pub(super) server: Script,
    pub(super) load: Script,
    pub(super) helper: Script,
    pub(super) warm_up: Script,
    pub(super) fault: Script,
    /// Servers of which a word of the command says that they do something else.
    pub(super) other_servers: Vec<(&'static str, Script)>,
    /// The host refuses every change, with this sentence.
    pub(super) refuses_host: Option<&'static str>,
    /// A signal has suspended this program.
    pub(super) suspended: Option<Role>,
    /// The process of every program.
    pub(super) pid: Option<u32>,
    /// Connections of every server that have bytes under way.
    pub(super) sending: Option<u64>,
    /// The private directory cannot be made.
    pub(super) begin_error: Option<&'static str>,
    pub(super) left_behind: Vec<LeftBehind>,
    /// What other processes use while a program runs.
    pub(super) other_processes: Vec<OtherProcessUse>,
    /// How busy the CPUs are, with processes that are seen and others; none if nothing says it.
    pub(super) busy_share: Option<f64>,
    world: Rc<RefCell<World>>,
    programs: Vec<Program>,
    samples: Vec<Sample>,
}

impl Fake {
    /// A server, a helper and a load that do what they should.
    pub(super) fn new() -> Fake {
        let serves = Script {
            prints: vec![(3, "ready 127.0.0.1:4321")],
            stops: Some(Ending::Code(0)),
            ..Script::default()
        };
        let result = r#"{"schema": "pitot-load/1", "throughput_rps": 5000.0, "duration_s": 0.2,
                         "requests": {"attempted": 1000, "completed": 1000, "ok": 1000}}"#;
        let load =
            Script { ends: Some((200, Ending::Code(0))), result: Some(result.into()), ..Script::default() };
        Fake {
            server: serves.clone(),
            load,
            helper: serves,
            warm_up: Script::default(),
            fault: Script::default(),
            other_servers: Vec::new(),
            refuses_host: None,
            suspended: None,
            pid: None,
            sending: None,
            begin_error: None,
            left_behind: Vec::new(),
            other_processes: Vec::new(),
            busy_share: None,
            world: Rc::new(RefCell::new(World {
                now: Nanos::from_secs(1),
                calls: Vec::new(),
                host: Vec::new(),
            })),
            programs: Vec::new(),
            samples: Vec::new(),
        }
    }

    /// What was asked of the machine so far.
    pub(super) fn calls(&self) -> Vec<String> {
        self.world.borrow().calls.clone()
    }

    fn log(&self, call: String) {
        self.world.borrow_mut().calls.push(call);
    }

    fn time(&self) -> Nanos {
        self.world.borrow().now
    }

    fn program(&mut self, role: Role) -> Option<&mut Program> {
        // Of a server that was started again the last one counts.
        self.programs.iter_mut().rev().find(|p| p.role == role)
    }
}

impl Machine for Fake {
    fn executor(&self) -> Box<dyn Executor + '_> {
        Box::new(Fake {
            server: self.server.clone(),
            load: self.load.clone(),
            helper: self.helper.clone(),
            warm_up: self.warm_up.clone(),
            fault: self.fault.clone(),
            other_servers: self.other_servers.clone(),
            refuses_host: self.refuses_host,
            suspended: self.suspended,
            pid: self.pid,
            sending: self.sending,
            begin_error: self.begin_error,
            left_behind: self.left_behind.clone(),
            other_processes: self.other_processes.clone(),
            busy_share: self.busy_share,
            world: Rc::clone(&self.world),
            programs: Vec::new(),
            samples: Vec::new(),
        })
    }

    fn set_host(&self, changes: &[Change]) -> Result<(), String> {
        if let Some(reason) = self.refuses_host.filter(|_| !changes.is_empty()) {
            return Err(reason.to_owned());
        }
        let words: Vec<String> = changes.iter().map(|c| format!("{}={}", c.key, c.value)).collect();
        if self.world.borrow().host != words {
            self.world.borrow_mut().calls.push(format!("host {}", words.join(" ")));
        }
        self.world.borrow_mut().host = words;
        Ok(())
    }
}

impl Program {
    fn age_ms(&self, now: Nanos) -> u64 {
        now.since(self.started).0 / 1_000_000
    }

    fn ending(&self, now: Nanos) -> Option<Ending> {
        let by_itself = self.script.ends.filter(|(at, _)| self.age_ms(now) >= *at).map(|(_, how)| how);
        self.ended.filter(|(at, _)| now >= *at).map(|(_, how)| how).or(by_itself)
    }

    fn printed(&self, now: Nanos) -> [Vec<&'static str>; 2] {
        [&self.script.prints, &self.script.complains].map(|lines| {
            lines.iter().filter(|(at, _)| self.age_ms(now) >= *at).map(|(_, line)| *line).collect()
        })
    }

    fn next_line(&mut self, now: Nanos) -> Option<Line> {
        if let Some((_, text)) = self.answers.pop_front_if(|(due, _)| *due <= now) {
            return Some(Line { role: self.role, text, on_stdout: true });
        }
        let printed = self.printed(now);
        let stream = (0..2).find(|&stream| self.handed_out[stream] < printed[stream].len())?;
        let text = printed[stream][self.handed_out[stream]].to_owned();
        self.handed_out[stream] += 1;
        Some(Line { role: self.role, text, on_stdout: stream == 0 })
    }
}

impl Executor for Fake {
    fn now(&mut self) -> Nanos {
        self.time()
    }

    fn begin(&mut self, number: usize, _: AddressChoice) -> Result<Place, String> {
        self.programs.clear();
        self.log(format!("begin {number}"));
        match self.begin_error {
            Some(error) => Err(error.to_owned()),
            None => Ok(Place { dir: "/private".into(), address: "127.0.0.1:80".into() }),
        }
    }

    fn write_files(&mut self, files: &[PlanFile]) -> Result<(), String> {
        files.iter().for_each(|file| self.log(format!("write {}", file.path)));
        Ok(())
    }

    fn start(&mut self, command: &Command) -> Result<(), String> {
        self.log(format!("start {:?} for {:?}", command.role, command.account));
        let script = match command.role {
            Role::Server => {
                let other =
                    self.other_servers.iter().find(|(word, _)| command.argv.iter().any(|w| w == word));
                other.map_or(&self.server, |(_, script)| script)
            }
            Role::Load => &self.load,
            Role::WarmUp => &self.warm_up,
            Role::Fault(_) | Role::Proxy | Role::Resolver => &self.fault,
            Role::Helper(_) | Role::Stop => &self.helper,
        };
        if let Some(error) = script.start_error {
            return Err(error.to_owned());
        }
        self.programs.push(Program {
            role: command.role,
            script: script.clone(),
            started: self.time(),
            ended: None,
            handed_out: [0; 2],
            answers: VecDeque::new(),
            lines_read: 0,
        });
        Ok(())
    }

    fn write_line(&mut self, role: Role, line: &str) -> Result<(), String> {
        self.log(format!("{role:?} reads {line}"));
        let now = self.time();
        let program = self.program(role).ok_or("it was not started")?;
        if program.ending(now).is_some() {
            return Err("it has ended".into());
        }
        program.lines_read += 1;
        if program.script.ends_at_word.is_some_and(|word| line.starts_with(word)) {
            program.ended = Some((now, Ending::Code(0)));
        } else if let Some((number, ending)) = program.script.ends_at_line
            && program.lines_read >= number
        {
            program.ended = Some((now, ending));
        } else if let Some(answer) = program.script.answer {
            let (after_ms, lines) = answer(line);
            let due = now + Nanos::from_millis(after_ms);
            program.answers.extend(lines.into_iter().map(|line| (due, line)));
        }
        Ok(())
    }

    fn count(&mut self, what: Count) -> Option<u64> {
        let now = self.time();
        match what {
            Count::CpuTime(role) => {
                let program = self.program(role)?;
                Some((now.since(program.started).0 as f64 * program.script.cpu_share) as u64)
            }
            Count::Steal => Some(0),
            Count::Busy => Some((now.0 as f64 * self.busy_share?) as u64),
            Count::Sending(_) => self.sending,
        }
    }

    fn wait(&mut self, timeout: Duration) -> Option<Line> {
        let now = self.time();
        if let Some(line) = self.programs.iter_mut().find_map(|p| p.next_line(now)) {
            return Some(line);
        }
        self.world.borrow_mut().now.0 += timeout.as_nanos() as u64;
        None
    }

    fn pause(&mut self, time: Duration) {
        self.world.borrow_mut().now.0 += time.as_nanos() as u64;
    }

    fn ending(&mut self, role: Role) -> Option<Ending> {
        let now = self.time();
        self.program(role)?.ending(now)
    }

    fn pid(&mut self, _: Role) -> Option<u32> {
        self.pid
    }

    fn is_suspended(&mut self, role: Role) -> bool {
        self.suspended == Some(role)
    }

    fn answers(&mut self, _: &str, _: &Question) -> bool {
        let now = self.time();
        let program = self.program(Role::Server);
        program.is_some_and(|p| p.script.accepts_from.is_some_and(|from| p.age_ms(now) >= from))
    }

    fn sample(&mut self, extent: Extent) {
        if extent == Extent::Whole {
            self.log("sample".into());
        }
        // One CPU each, which the server uses in full and the load generator by half.
        let tree = |cpu_ns: u64| TreeSample { processes: 1, threads: 1, cpu_ns, ..TreeSample::default() };
        let at_ns = self.time().0;
        let load = self.program(Role::Load).map(|_| tree(at_ns / 2));
        self.samples.push(Sample {
            at_ns,
            server: Some(tree(at_ns)),
            load,
            server_cpus: CpuSample { user_ns: at_ns, ..CpuSample::default() },
            ..Sample::default()
        });
    }

    fn stop(&mut self, role: Role, signal: Stop) {
        self.log(format!("{signal:?} {role:?}"));
        let now = self.time();
        if let Some(program) = self.program(role)
            && let Some(how) = program.script.stops
        {
            program.ended = Some((now, how));
        }
    }

    fn output(&mut self, role: Role) -> Output {
        let now = self.time();
        let Some(program) = self.program(role) else { return Output::default() };
        let [stdout, stderr] = program.printed(now).map(|lines| lines.join("\n"));
        Output { stdout, stderr, stdout_closed: true }
    }

    fn read_file(&mut self, _: &str) -> Option<String> {
        self.program(Role::Load)?.script.result.clone()
    }

    fn finish(&mut self) -> Observed {
        self.log("finish".into());
        Observed {
            samples: std::mem::take(&mut self.samples),
            left_behind: self.left_behind.clone(),
            other_processes: self.other_processes.clone(),
            ..Observed::default()
        }
    }
}
