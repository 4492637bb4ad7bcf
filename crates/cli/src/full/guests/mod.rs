//! `pitot run` of a plan that varies the kernel: each part of the run is carried out on its kernel, in a guest or a sandbox that is
//! started for it.

mod ground;
mod measured_in;
mod possible;

use std::cell::Cell;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use pitot_kernel::{Clock, Image, Sandbox};
use pitot_lab::{Job, JobResult, Outcome, Place as RunPlace, Prepared, Transport, Where, prepare};
use pitot_meter::units::counted;
use pitot_plan::{Catalog, CellServer, External, GVISOR_KERNEL, HOST_KERNEL, KERNEL_FACTOR, KernelUse, Plan};
use pitot_record::{Repetition, RunState};
use pitot_results::{Failure, stderr};

use crate::runs::{How, Runs, own_path};

use crate::full::kernel_store::store;
use crate::run::announce::{announce, extent};
use crate::run::asked::{Asked, Ready};
use crate::run::options::Run;
use crate::watched::Watched;
use ground::{GuestPool, Place, Task, room};
use possible::{as_carried, leave_out_what_is_not};

/// What a guest may take besides its measurement: its start, and that of its programs.
const START: Duration = Duration::from_secs(180);
/// Under emulation a second of the guest's clock takes up to so many of the host's, where the host does other work besides.
const SLOWDOWN_MAX: f64 = 120.0;
/// Seconds of the guest's clock that a cell takes besides warm-up and measurement.
const CELL_OVERHEAD_S: f64 = 3.0;
/// How long [`Transport::next`] waits.
const INTERVAL: Duration = Duration::from_millis(200);

/// What is said wherever figures of emulated processors are shown.
const EMULATED: &str = "so that the guests' processor was emulated, without caches, with one CPU, and a clock that counts \
                        instructions. The figure is INSTRUCTIONS PER REQUEST of server, \
                        load and kernel together. Only ratios between kernels of this run have a meaning: there is no latency and \
no rate, and figures of this or any other machine are not comparable.";
const VIRTUALISED: &str = "The cells were measured in guests (KVM) with one CPU for server and load. Compare kernels of this run with \
each other, not with figures of the host.";
const SANDBOXED: &str =
    "Server and load of each cell shared one CPU, both on the host's kernel and in gVisor's sandbox:";
const SANDBOXED_TIMES: &str = "Requests per second are limited by both together. CPU time in the sandbox is what gVisor accounts for: \
a part of gVisor's own is missing, and other programs of the machine are not seen from inside.";

impl Run {
    /// Runs a plan in guests, or continues it.
    pub(crate) fn in_guests(
        &self,
        asked: Asked,
        catalog: &Catalog,
        runs: &mut Runs,
        watched: &mut Watched,
    ) -> Result<Outcome, Failure> {
        let (prepared, begun) = match self.ready(asked, catalog, Where::Elsewhere)? {
            Ready::New(prepared) => (*prepared, None),
            Ready::Begun(run) => {
                (prepare(run.plan.clone(), String::new(), catalog, Where::Elsewhere)?, Some(run))
            }
        };
        let lock = runs.lock(&prepared.plan.name, self.wait)?;
        let guardian = runs.guardian()?;
        let mut guests = Guests::of(&prepared, &own_path()?, guardian.dir())?;
        let ready = match begun {
            None => Ready::New(Box::new(fitted(prepared, &guests, &|| runs.is_stopped())?)),
            Some(run) => {
                measured_in::check(&run, guests.common.ground.clock())?;
                Ready::Begun(run)
            }
        };
        let how = How::to_its_end(false, Some(&lock));
        self.carry_out(ready, catalog, RunPlace::Jobs(&mut guests), how, runs, watched)
    }

    /// Where gVisor is compared, for plans that compare kernels in guests: its figures are times, and stand beside none of theirs.
    pub(crate) fn where_gvisor_is(plan: &Plan) -> Option<String> {
        let levels =
            plan.factors.iter().filter(|factor| factor.name == KERNEL_FACTOR).flat_map(|f| &f.levels);
        let kernels: Vec<KernelUse> = levels.map(|level| plan.kernel_named(&level.to_string())).collect();
        let is_gvisor = |kernel: &KernelUse| kernel.kernel == GVISOR_KERNEL;
        let is_meant = kernels.iter().any(KernelUse::is_guest) && !kernels.iter().any(is_gvisor);
        is_meant.then(|| match Sandbox::find(&store()) {
            Some(_) => "gVisor: pitot run sandbox".to_owned(),
            None => "gVisor: pitot kernel install gvisor --yes, then pitot run sandbox".to_owned(),
        })
    }

    /// Whether the kernels of a plan are installed here, and what guests need, as a run of it looks for them.
    ///
    /// # Errors
    /// What is not here, with how to install it.
    pub(crate) fn check_kernels(prepared: &Prepared) -> Result<(), Failure> {
        if !prepared.plan.is_in_guests() {
            return Ok(());
        }
        let kernels = kernels_of(prepared)?;
        if kernels.iter().any(|(_, place)| place.is_guest()) {
            pitot_kernel::qemu()?;
        }
        Ok(())
    }
}

/// The plan as its kernels can carry it out and their clock can measure it. What of it that is, is told.
fn fitted(mut prepared: Prepared, guests: &Guests, stop: &dyn Fn() -> bool) -> Result<Prepared, Failure> {
    let Common { ground, kernels, .. } = &*guests.common;
    let note = measured_in::fit(&mut prepared, ground.clock())?;
    prepared.warnings.extend(note);
    stderr::line(format_args!(
        "asking {} which cells can be run there",
        counted(kernels.len() as u64, "kernel", "kernels")
    ));
    leave_out_what_is_not(&mut prepared, ground, kernels, stop)?;
    prepared.warnings.insert(0, guests.sentence.clone());
    announce(&prepared, &extent(&prepared), guests.about());
    Ok(prepared)
}

/// The kernels that the cells of a plan name, and where each is.
fn kernels_of(prepared: &Prepared) -> Result<Vec<(KernelUse, Place)>, Failure> {
    let store = store();
    let mut kernels: Vec<(KernelUse, Place)> = Vec::new();
    for cell in &prepared.cells {
        let Some(kernel) = prepared.plan.kernel_of(&cell.factors) else { continue };
        if !kernels.iter().any(|(known, _)| known.name == kernel.name) {
            let place = Place::find(&kernel, &store)?;
            kernels.push((kernel, place));
        }
    }
    Ok(kernels)
}

/// Words with which a shell begins that are no programs, or that it knows itself.
const OF_SHELLS: [&str; 18] = [
    "exec", "cd", "echo", "export", "set", "trap", "ulimit", "umask", "test", "read", "eval", "if", "for",
    "while", "until", "true", "printf", "kill",
];

/// The programs that a server's commands begin with, and those with which a script of `sh -c` begins.
fn programs_of(server: &External) -> Vec<&str> {
    let mut all = Vec::new();
    for command in [&server.command, &server.version, &server.stop_command] {
        let Some(first) = command.first() else { continue };
        // What lies in the server's own directory is written there, and Pitot itself is in every guest.
        if first != "pitot" && !first.starts_with("{dir}") {
            all.push(first.as_str());
        }
        let is_shell = ["sh", "bash", "dash"].contains(&first.rsplit('/').next().unwrap_or(first));
        if let (true, Some("-c"), Some(script)) =
            (is_shell, command.get(1).map(String::as_str), command.get(2))
        {
            let mut words =
                script.split_whitespace().skip_while(|word| *word == "exec" || word.contains('='));
            all.extend(words.next().filter(|word| is_program(word)));
        }
    }
    all
}

/// Whether a word of a script is the name or path of a program, and neither something that a shell knows itself nor a variable.
fn is_program(word: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
    word.chars().all(is_plain) && !OF_SHELLS.contains(&word) && word != "pitot"
}

/// A part that waits for its place.
struct Waiting {
    name: String,
    text: String,
    kernel: KernelUse,
    timeout: Duration,
}

/// What all places of a run share.
struct Common {
    ground: GuestPool,
    kernels: Vec<(KernelUse, Place)>,
    dir: PathBuf,
    waiting: Mutex<VecDeque<Waiting>>,
    stop: AtomicBool,
}

/// Carries parts to the kernels on which they are carried out.
struct Guests {
    common: Arc<Common>,
    /// What the reader must know about the figures.
    sentence: String,
    arrivals: (Sender<JobResult>, Receiver<JobResult>),
    workers: Vec<JoinHandle<()>>,
    /// How many parts are carried out at the same time.
    at_once: usize,
    begun: Cell<bool>,
}

impl Guests {
    /// Looks for all that the kernels of a plan need, and makes their files.
    fn of(prepared: &Prepared, pitot: &str, dir: &Path) -> Result<Guests, Failure> {
        let kernels = kernels_of(prepared)?;
        let mut image = Image::new(Path::new(pitot));
        for cell in &prepared.cells {
            let Some(kernel) = prepared.plan.kernel_of(&cell.factors) else { continue };
            let is_here = kernel.kernel == HOST_KERNEL;
            if let (CellServer::External(program), false) = (&cell.server, is_here) {
                for name in programs_of(program) {
                    image.program(name)?;
                }
            }
        }
        if kernels.is_empty() {
            return Err(Failure::misuse(
                "the plan has no cell in a guest",
                "name kernels: kernel = [\"6.12\"]",
            ));
        }
        let places: Vec<&Place> = kernels.iter().map(|(_, place)| place).collect();
        let (ground, why) = GuestPool::of(&places, &image, pitot, dir)?;
        let sentence = match (ground.clock(), places.iter().any(|place| place.is_guest())) {
            (Clock::Instructions, _) => format!("EMULATED PROCESSOR: {why}, {EMULATED}"),
            (_, true) => VIRTUALISED.to_owned(),
            (_, false) => {
                let cpu = ground.cpus().first().map_or("one CPU".to_owned(), |cpu| format!("CPU {cpu}"));
                format!("{SANDBOXED} {cpu}. {SANDBOXED_TIMES}")
            }
        };
        let at_once = match ground.clock() {
            // What else runs meanwhile does not change a count.
            Clock::Instructions => pitot_sys::affinity::allowed().map_or(1, |cpus| cpus.len()).min(room()),
            Clock::Time | Clock::Emulated => 1,
        };
        let common = Common {
            ground,
            kernels,
            dir: dir.to_owned(),
            waiting: Mutex::default(),
            stop: AtomicBool::new(false),
        };
        Ok(Guests {
            common: Arc::new(common),
            sentence,
            arrivals: channel(),
            workers: Vec::new(),
            at_once,
            begun: Cell::new(false),
        })
    }

    /// The kernels and what is said of their figures, in lines.
    fn about(&self) -> Vec<String> {
        let kernel = |(kernel, place): &(KernelUse, Place)| {
            let append =
                if kernel.append.is_empty() { String::new() } else { format!(", {}", kernel.append) };
            format!("kernel `{}`: {}{append}", kernel.name, place.about())
        };
        let mut lines: Vec<String> = self.common.kernels.iter().map(kernel).collect();
        lines.push(self.sentence.clone());
        lines
    }

    fn file(&self, part: &str) -> PathBuf {
        self.common.dir.join(format!("{part}.pitot"))
    }

    fn start(&mut self) {
        for _ in 0..self.at_once {
            let (common, arrivals) = (Arc::clone(&self.common), self.arrivals.0.clone());
            self.workers.push(std::thread::spawn(move || common.work(&arrivals)));
        }
    }

    fn stop(&mut self) {
        self.common.stop.store(true, Relaxed);
        for worker in self.workers.drain(..) {
            let _ = worker.join();
        }
    }
}

impl Common {
    /// Carries out parts until none is left. What carries them out dies with this thread.
    fn work(&self, arrivals: &Sender<JobResult>) {
        while !self.stop.load(Relaxed) {
            let next = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            let Some(part) = next else { return };
            let arrival = self.carry_out(&part);
            if !self.stop.load(Relaxed) && arrivals.send(arrival).is_err() {
                return;
            }
        }
    }

    fn carry_out(&self, part: &Waiting) -> JobResult {
        let host = part.kernel.name.clone();
        let failed =
            |reason: String| JobResult::Failed { job: part.name.clone(), host: host.clone(), reason };
        let Some((_, place)) = self.kernels.iter().find(|(known, _)| known.name == part.kernel.name) else {
            return failed("its kernel is not known".to_owned());
        };
        let task = Task {
            name: &part.name,
            text: &part.text,
            append: &part.kernel.append,
            timeout: part.timeout,
            only_check: false,
        };
        let result = match self.ground.carry_out(place, task, &|| self.stop.load(Relaxed)) {
            Ok(result) => result,
            Err(reason) => return failed(reason),
        };
        let file = self.dir.join(format!("{}.pitot", part.name));
        match std::fs::write(&file, result) {
            Ok(()) => JobResult::Done { job: part.name.clone(), host, file },
            Err(e) => {
                let _ = std::fs::remove_file(&file);
                failed(format!("{} cannot be written: {e}", file.display()))
            }
        }
    }
}

impl Transport for Guests {
    fn begin(&mut self, _run: &str) -> Result<(), Failure> {
        Ok(())
    }

    fn offer(&mut self, part: &Job) -> Result<(), Failure> {
        let Some(kernel) = part.cells.first().and_then(|cell| part.plan.kernel_of(&cell.factors)) else {
            return Err(Failure::misuse("a part of the run names no kernel", "add the factor `kernel`"));
        };
        let plan = &part.plan;
        let cell_s = plan.warmup_s + plan.duration_s + CELL_OVERHEAD_S;
        let timeout = START + Duration::from_secs_f64(cell_s * part.cells.len() as f64 * SLOWDOWN_MAX);
        let text = serde_json::to_string(&as_carried(part))
            .map_err(|e| Failure::run(format!("a part cannot be written: {e}"), "simplify the plan"))?;
        let waiting = Waiting { name: part.name.clone(), text, kernel, timeout };
        self.common.waiting.lock().unwrap_or_else(PoisonError::into_inner).push_back(waiting);
        Ok(())
    }

    fn next(&mut self) -> Result<Option<JobResult>, Failure> {
        // All parts are offered before the first is asked for.
        if !self.begun.replace(true) {
            self.start();
        }
        Ok(self.arrivals.1.recv_timeout(INTERVAL).ok())
    }

    fn complete(&self, repetition: &mut Repetition) {
        if self.common.ground.clock() == Clock::Instructions {
            repetition.count_instructions();
        }
    }

    fn settle(&mut self, part: &str) {
        let _ = std::fs::remove_file(self.file(part));
    }

    fn end(&mut self, _state: RunState) {
        self.stop();
    }
}

impl Drop for Guests {
    fn drop(&mut self) {
        self.stop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_of_the_start_of_a_guest_is_what_the_trial_of_kvm_allows() {
        assert_eq!(pitot_kernel::TRIAL.as_secs_f64(), pitot_lab::GUEST_START_MAX_S);
    }

    #[test]
    fn the_programs_of_all_commands_go_into_a_guest() {
        let plan = "[server]\nprotocol = \"http\"\n[servers.x]\ncommand = [\"sh\", \"-c\", \"exec A=1 nginx -g 'daemon off;'\"]\n\
                    stop-command = [\"nginx-ctl\", \"{dir}\"]\nversion = [\"{dir}/x\", \"-v\"]\n[factors]\nserver = [\"x\"]\n";
        let plan = Plan::parse("p.toml", plan, &crate::catalog::catalog().unwrap()).unwrap();
        let pitot_plan::Program::External(server) = &plan.servers[0].program else { panic!("a program") };
        assert_eq!(programs_of(server), ["sh", "nginx", "nginx-ctl"]);
    }
}
