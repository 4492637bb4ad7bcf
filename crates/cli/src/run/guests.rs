//! `pitot run` of a plan that varies the kernel: each part of the run is carried out in a guest, which is started for it.

use std::cell::Cell;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use pitot_kernel::{Boot, Clock, Ended, Image, Job, Kernel};
use pitot_lab::{
    Arrival, Carrier, CellServer, Guardian, KernelUse, Outcome, Part, Plan, Prepared, Repetition,
    Run as RunFile, RunState, Setting, resume_scattered,
};
use pitot_results::Failure;

use crate::catalog::catalog;
use crate::kernel_store::store;

use super::progress::Display;
use super::{PlanText, Run, announce_in_guests, own_path};

/// Memory of a guest, MiB: the initramfs twice, the programs, and what connections take.
const MEMORY_MIB: u32 = 1536;
/// What a guest may take besides its measurement: its start, and that of its programs.
const START: Duration = Duration::from_secs(180);
/// Under emulation a second of the guest's clock takes up to so many of the host's, where the host does other work besides.
const SLOWDOWN_MAX: f64 = 120.0;
/// Seconds of the guest's clock that a cell takes besides warm-up and measurement.
const CELL_OVERHEAD_S: f64 = 3.0;
/// How long [`Carrier::next`] waits.
const INTERVAL: Duration = Duration::from_millis(200);

/// Where the part and its result are in a guest.
const PART: &str = "/pitot/part.json";
const RESULT: &str = "/tmp/result.pitot";

/// What is said wherever figures of emulated processors are shown.
const EMULATED: &str = "EMULATED PROCESSOR: no KVM can be used here, so that the guests' processor was emulated, without caches, \
                        with one CPU, and a clock that counts instructions. The figure is INSTRUCTIONS PER REQUEST of server, \
                        load and kernel together. Only ratios between kernels of this run mean something: there is no latency and \
                        no rate, and nothing here compares with figures of this or any other machine.";
const VIRTUALISED: &str = "The cells were measured in guests (KVM) with one CPU for server and load. Compare kernels of this run with \
                           each other, not with figures of the host.";

impl Run {
    /// Whether the plan or the run to be resumed varies the kernel.
    pub(super) fn is_in_guests(&self) -> Result<bool, Failure> {
        if let Some(path) = &self.resume {
            // A file that cannot be read is told of by whoever resumes it.
            return Ok(RunFile::open(path).is_ok_and(|run| run.plan.is_in_guests()));
        }
        let Some(name) = &self.plan else { return Ok(false) };
        let PlanText { name, text, .. } = PlanText::of(name)?;
        Ok(text.contains("kernel") && Plan::parse(&name, &text, &catalog()?)?.is_in_guests())
    }

    /// Runs a plan in guests, or continues such a run.
    pub(super) fn in_guests(&self, guardian: &Guardian, stop: &dyn Fn() -> bool) -> Result<Outcome, Failure> {
        let prepared = match &self.resume {
            Some(_) => None,
            None => Some(self.prepared_elsewhere()?),
        };
        let plan = match (&prepared, &self.resume) {
            (Some(prepared), _) => prepared.plan.clone(),
            (None, path) => RunFile::open(path.as_deref().unwrap_or(Path::new("")))?.plan,
        };
        let lock = self.lock(&plan.name, stop)?;
        let pitot = own_path()?;
        let catalog = catalog()?;
        let mut guests = match &prepared {
            Some(prepared) => Guests::of(prepared, &pitot, guardian.dir())?,
            None => Guests::of(
                &pitot_lab::prepare_elsewhere(plan, String::new(), &catalog)?,
                &pitot,
                guardian.dir(),
            )?,
        };
        let command_line = std::env::args().collect::<Vec<_>>().join(" ");
        let setting = Setting {
            pitot: &pitot,
            version: env!("CARGO_PKG_VERSION"),
            command_line: &command_line,
            trial: false,
            note: &|| lock.note(),
            stop,
        };
        let mut display = Display::new();
        let mut show = |news: &pitot_lab::Progress<'_>| display.show(news);
        let outcome = match (prepared, &self.resume) {
            (Some(mut prepared), _) => {
                prepared.warnings.insert(0, guests.sentence().to_owned());
                announce_in_guests(&prepared, &guests.about());
                let output = self.output_of(&prepared.plan);
                prepared.run_scattered(&output, setting, &mut guests, &mut show)?
            }
            (None, path) => {
                let path = path.as_deref().unwrap_or(Path::new(""));
                resume_scattered(path, &catalog, setting, &mut guests, &mut show)?
            }
        };
        display.clear();
        Ok(outcome)
    }
}

/// A part that waits for a guest.
struct Waiting {
    name: String,
    text: String,
    kernel: KernelUse,
    installed: Kernel,
    timeout: Duration,
}

/// What all guests of a run share.
struct Common {
    qemu: PathBuf,
    initramfs: PathBuf,
    clock: Clock,
    dir: PathBuf,
    waiting: Mutex<VecDeque<Waiting>>,
    stop: AtomicBool,
}

/// Carries parts into guests.
struct Guests {
    common: Arc<Common>,
    kernels: Vec<(KernelUse, Kernel)>,
    arrivals: (Sender<Arrival>, Receiver<Arrival>),
    workers: Vec<JoinHandle<()>>,
    /// How many guests are up at the same time.
    at_once: usize,
    begun: Cell<bool>,
}

impl Guests {
    /// Looks for all that the guests of a plan need, and makes their initramfs.
    fn of(prepared: &Prepared, pitot: &str, dir: &Path) -> Result<Guests, Failure> {
        let store = store();
        let qemu = pitot_kernel::qemu()?;
        let mut kernels: Vec<(KernelUse, Kernel)> = Vec::new();
        let mut image = Image::new(Path::new(pitot));
        for cell in &prepared.cells {
            let Some(kernel) = prepared.plan.kernel_of(&cell.factors) else { continue };
            if !kernels.iter().any(|(known, _)| known.name == kernel.name) {
                let installed = store.get(&kernel.kernel)?;
                kernels.push((kernel, installed));
            }
            if let CellServer::External(program) = &cell.server {
                for command in [&program.command, &program.version] {
                    command.first().map_or(Ok(String::new()), |program| image.program(program))?;
                }
            }
        }
        let Some((_, first)) = kernels.first() else {
            return Err(Failure::misuse(
                "the plan has no cell in a guest",
                "name kernels: kernel = [\"6.12\"]",
            ));
        };
        let clock = pitot_kernel::clock_of_this_machine(&qemu, first);
        let at_once = match clock {
            // What else runs meanwhile does not change a count.
            Clock::Instructions => pitot_sys::affinity::allowed().map_or(1, |cpus| cpus.len()),
            Clock::Time | Clock::Emulated => 1,
        };
        let initramfs = dir.join("initramfs");
        image.write(&initramfs)?;
        let common = Common {
            qemu,
            initramfs,
            clock,
            dir: dir.to_owned(),
            waiting: Mutex::default(),
            stop: AtomicBool::new(false),
        };
        let common = Arc::new(common);
        Ok(Guests {
            common,
            kernels,
            arrivals: channel(),
            workers: Vec::new(),
            at_once,
            begun: Cell::new(false),
        })
    }

    /// What the reader must know of the figures.
    fn sentence(&self) -> &'static str {
        if self.common.clock == Clock::Instructions { EMULATED } else { VIRTUALISED }
    }

    /// The kernels and what is said of their figures, in lines.
    fn about(&self) -> Vec<String> {
        let kernel = |(kernel, installed): &(KernelUse, Kernel)| {
            let append =
                if kernel.append.is_empty() { String::new() } else { format!(", {}", kernel.append) };
            format!("kernel `{}`: Linux {} ({}){append}", kernel.name, installed.release, installed.from)
        };
        let mut lines: Vec<String> = self.kernels.iter().map(kernel).collect();
        lines.push(self.sentence().to_owned());
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
    /// Carries out parts until none is left. A guest dies with this thread.
    fn work(&self, arrivals: &Sender<Arrival>) {
        while !self.stop.load(Relaxed) {
            let next = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            let Some(part) = next else { return };
            let arrival = self.carry_out(&part);
            if !self.stop.load(Relaxed) && arrivals.send(arrival).is_err() {
                return;
            }
        }
    }

    fn carry_out(&self, part: &Waiting) -> Arrival {
        let host = part.kernel.name.clone();
        match self.result(part) {
            Ok(result) => {
                let file = self.dir.join(format!("{}.pitot", part.name));
                match std::fs::write(&file, result) {
                    Ok(()) => Arrival::Done { part: part.name.clone(), host, file },
                    Err(e) => {
                        let reason = format!("{} cannot be written: {e}", file.display());
                        Arrival::Failed { part: part.name.clone(), host, reason }
                    }
                }
            }
            Err(reason) => Arrival::Failed { part: part.name.clone(), host, reason },
        }
    }

    /// The run file of a part, or why there is none.
    fn result(&self, part: &Waiting) -> Result<Vec<u8>, String> {
        let words = ["/usr/bin/pitot", "run", "--part", PART, "--output", RESULT];
        let job = Job { argv: words.map(str::to_owned).to_vec(), result: Some(RESULT.to_owned()) };
        let boot = Boot {
            qemu: &self.qemu,
            kernel: &part.installed,
            append: &part.kernel.append,
            initramfs: &self.initramfs,
            clock: self.clock,
            memory_mib: MEMORY_MIB,
            cpus: &[],
            dir: &self.dir.join(&part.name),
            timeout: part.timeout,
        };
        let ended = boot.run(&job, &[(PART, part.text.as_bytes())], &|| self.stop.load(Relaxed));
        let outcome = match ended.map_err(|failure| failure.what)? {
            Ended::Done(outcome) => outcome,
            Ended::Failed(why) => return Err(why),
            Ended::Stopped => return Err("it was stopped".to_owned()),
        };
        match (outcome.code, outcome.result) {
            (Some(0), Some(result)) => Ok(result),
            (code, _) => {
                let said = String::from_utf8_lossy(&outcome.stderr).into_owned();
                let line =
                    said.lines().find(|line| line.starts_with("error")).or_else(|| said.lines().last());
                Err(match (line, code) {
                    (Some(line), _) => line.to_owned(),
                    (None, Some(code)) => format!("pitot run ended with exit code {code} in the guest"),
                    (None, None) => {
                        format!("pitot run could not be started in the guest: {}", outcome.reason)
                    }
                })
            }
        }
    }
}

impl Carrier for Guests {
    fn begin(&mut self, _run: &str) -> Result<(), Failure> {
        Ok(())
    }

    fn offer(&mut self, part: &Part) -> Result<(), Failure> {
        let Some(kernel) = part.cells.first().and_then(|cell| part.plan.kernel_of(&cell.factors)) else {
            return Err(Failure::misuse("a part of the run names no kernel", "add the factor `kernel`"));
        };
        let Some((_, installed)) = self.kernels.iter().find(|(known, _)| known.name == kernel.name) else {
            return Err(Failure::misuse(
                format!("there is no kernel `{}`", kernel.kernel),
                "see pitot kernel list",
            ));
        };
        let plan = &part.plan;
        let cell_s = plan.warmup_s + plan.duration_s + CELL_OVERHEAD_S;
        let timeout = START + Duration::from_secs_f64(cell_s * part.cells.len() as f64 * SLOWDOWN_MAX);
        // The guest has CPUs of its own, and what the host must have does not apply to it.
        let plan = Plan { server_cpus: None, load_cpus: None, needs: None, ..plan.clone() };
        let text = serde_json::to_string(&Part { plan, ..part.clone() })
            .map_err(|e| Failure::run(format!("a part cannot be written: {e}"), "simplify the plan"))?;
        let waiting =
            Waiting { name: part.name.clone(), text, kernel, installed: installed.clone(), timeout };
        self.common.waiting.lock().unwrap_or_else(PoisonError::into_inner).push_back(waiting);
        Ok(())
    }

    fn next(&mut self) -> Result<Option<Arrival>, Failure> {
        // All parts are offered before the first is asked for.
        if !self.begun.replace(true) {
            self.start();
        }
        Ok(self.arrivals.1.recv_timeout(INTERVAL).ok())
    }

    fn complete(&self, repetition: &mut Repetition) {
        if self.common.clock == Clock::Instructions {
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
