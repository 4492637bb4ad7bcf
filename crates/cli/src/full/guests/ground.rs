//! Where parts are carried out: a guest, gVisor's sandbox, or the kernel of this machine.

use std::path::{Path, PathBuf};
use std::time::Duration;

use pitot_kernel::{
    Boot, Clock, Direct, Ended, FOLDER, GVISOR, Image, Job, Kernel, Sandbox, SandboxRun, Store,
};
use pitot_plan::{GVISOR_KERNEL, HOST_KERNEL, KernelUse};
use pitot_results::Failure;

use crate::full::complaint::complaint;

/// Memory of a guest, MiB: the initramfs twice, the programs, and what connections take.
const MEMORY_MIB: u32 = 1536;

/// How many guests have room in the memory of this machine at the same time: one, however small it is.
pub(super) fn room() -> usize {
    let guests = pitot_host::memory_total_bytes() / (u64::from(MEMORY_MIB) << 20);
    usize::try_from(guests).unwrap_or(usize::MAX).max(1)
}

/// The files of a task and of what comes back.
const PART: &str = "part.json";
const RESULT: &str = "result.pitot";

/// Where a kernel is.
pub(super) enum Place {
    /// In a guest.
    Guest(Kernel),
    /// In a sandbox.
    Sandbox(Sandbox),
    /// It is that of this machine.
    Host,
}

impl Place {
    /// Looks for the kernel that a plan names.
    pub(super) fn find(kernel: &KernelUse, store: &Store) -> Result<Place, Failure> {
        Ok(match kernel.kernel.as_str() {
            HOST_KERNEL => Place::Host,
            GVISOR_KERNEL => Place::Sandbox(Sandbox::get(store)?),
            name => Place::Guest(store.get(name)?),
        })
    }

    pub(super) fn is_guest(&self) -> bool {
        matches!(self, Place::Guest(_))
    }

    /// The name that `pitot kernel` has for it.
    pub(super) fn name(&self) -> &str {
        match self {
            Place::Guest(kernel) => &kernel.name,
            Place::Sandbox(_) => GVISOR,
            Place::Host => HOST_KERNEL,
        }
    }

    /// The kernel in words.
    pub(super) fn about(&self) -> String {
        match self {
            Place::Guest(kernel) => format!("Linux {} ({})", kernel.release, kernel.from),
            Place::Sandbox(sandbox) => {
                format!("gVisor {} ({})", sandbox.version(), sandbox.program().display())
            }
            Place::Host => "this machine's kernel".to_owned(),
        }
    }
}

/// What is to be done on a kernel.
#[derive(Clone, Copy)]
pub(super) struct Task<'a> {
    pub(super) name: &'a str,
    /// The part.
    pub(super) text: &'a str,
    /// Parameters of the kernel.
    pub(super) append: &'a str,
    pub(super) timeout: Duration,
    /// Ask only which of its cells can be run.
    pub(super) only_check: bool,
}

/// What the places of a run share.
pub(super) struct GuestPool {
    pitot: String,
    /// QEMU; none if no place is a guest.
    qemu: Option<PathBuf>,
    initramfs: PathBuf,
    root: PathBuf,
    clock: Clock,
    dir: PathBuf,
    /// The CPU of what is in no guest: server and load have one, as in a guest.
    cpus: Vec<usize>,
}

impl GuestPool {
    /// Makes the files that the places need. Returned besides is why guests count instructions, if they do.
    pub(super) fn of(
        places: &[&Place],
        image: &Image,
        pitot: &str,
        dir: &Path,
    ) -> Result<(GuestPool, String), Failure> {
        let first = places.iter().find_map(|place| match place {
            Place::Guest(kernel) => Some(kernel),
            Place::Sandbox(_) | Place::Host => None,
        });
        let mut ground = GuestPool {
            pitot: pitot.to_owned(),
            qemu: None,
            initramfs: dir.join("initramfs"),
            root: dir.join("root"),
            clock: Clock::Time,
            dir: dir.to_owned(),
            cpus: pitot_sys::affinity::allowed().unwrap_or_default().into_iter().rev().take(1).collect(),
        };
        let mut why = String::new();
        if let Some(kernel) = first {
            let qemu = pitot_kernel::qemu()?;
            (ground.clock, why) = pitot_kernel::clock_of_this_machine(&qemu, kernel);
            ground.qemu = Some(qemu);
            image.write(&ground.initramfs)?;
        }
        if places.iter().any(|place| matches!(place, Place::Sandbox(_))) {
            image.unpack(&ground.root)?;
        }
        Ok((ground, why))
    }

    pub(super) fn clock(&self) -> Clock {
        self.clock
    }

    pub(super) fn cpus(&self) -> &[usize] {
        &self.cpus
    }

    /// Carries a task out; returned is the file that it has written, or why there is none.
    pub(super) fn carry_out(
        &self,
        place: &Place,
        task: Task<'_>,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Vec<u8>, String> {
        let dir = self.dir.join(task.name);
        let job = |program: &str, folder: &str| {
            let (part, result) = (format!("{folder}/{PART}"), format!("{folder}/{RESULT}"));
            let mut argv: Vec<String> =
                [program, "run", "--part", &part, "--output", &result].map(str::to_owned).to_vec();
            if task.only_check {
                argv.push("--check-part".to_owned());
            }
            Job { argv, result: Some(result) }
        };
        let in_own_root = job("/usr/bin/pitot", FOLDER);
        let part = format!("{FOLDER}/{PART}");
        let files = [(part.as_str(), task.text.as_bytes())];
        let ended = match (place, &self.qemu) {
            (Place::Guest(kernel), Some(qemu)) => Boot {
                qemu,
                kernel,
                append: task.append,
                initramfs: &self.initramfs,
                clock: self.clock,
                memory_mib: MEMORY_MIB,
                cpus: &[],
                dir: &dir,
                timeout: task.timeout,
            }
            .run(&in_own_root, &files, stop),
            (Place::Guest(_), None) => return Err("there is no QEMU".to_owned()),
            (Place::Sandbox(sandbox), _) => {
                SandboxRun { sandbox, root: &self.root, cpus: &self.cpus, dir: &dir, timeout: task.timeout }
                    .run(&in_own_root, &files, stop)
            }
            (Place::Host, _) => {
                let job = job(&self.pitot, &dir.to_string_lossy());
                let written =
                    std::fs::create_dir_all(&dir).and_then(|()| std::fs::write(dir.join(PART), task.text));
                written.map_err(|e| format!("{} cannot be written: {e}", dir.display()))?;
                Direct { cpus: &self.cpus, dir: &dir, timeout: task.timeout }.run(&job, stop)
            }
        };
        let _ = std::fs::remove_dir_all(&dir);
        let outcome = match ended.map_err(|failure| failure.what)? {
            Ended::Done(outcome) => outcome,
            Ended::Failed(why) => return Err(why),
            Ended::Stopped => return Err("it was stopped".to_owned()),
        };
        match (outcome.code, outcome.result) {
            (Some(0), Some(result)) => Ok(result),
            (code, _) => Err(match (complaint(&outcome.stderr), code) {
                (Some(line), _) => line,
                (None, Some(code)) => format!("pitot run ended with exit code {code} there"),
                (None, None) => format!("pitot run could not be started there: {}", outcome.reason),
            }),
        }
    }
}
