//! A guest: QEMU with a kernel and an initramfs, from its start to its end.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use pitot_results::Failure;
use pitot_sys::spawn;

use crate::cpio;
use crate::image::{OWN, with_job};
use crate::job::{Job, JobOutcome, OUTCOME, RESULT, STDERR, STDOUT, Summary};
use crate::store::Kernel;

/// The program.
pub const QEMU: &str = "qemu-system-x86_64";

/// What every guest's kernel is told: a console, no waiting after a panic (QEMU ends in place of starting the machine anew),
/// no work-arounds for flaws of processors that emulation does not have, no tests of ciphers (they would go on for seconds beside a
/// measurement), and Pitot as the first process. What stands behind
/// `--` are the arguments of that.
const PARAMETERS: &str =
    "console=ttyS0 quiet loglevel=4 panic=-1 mitigations=off cryptomgr.notests rdinit=/usr/bin/pitot";

/// How long a kernel may take under KVM until it finds that it has nothing to start.
const TRIAL: Duration = Duration::from_secs(15);
/// How often QEMU is looked at.
const INTERVAL: Duration = Duration::from_millis(20);
/// Lines of the console that are shown where nothing came back.
const CONSOLE_LINES: usize = 6;

/// What a guest's clock counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// Time: a processor that the hardware virtualises (KVM).
    Time,
    /// Time as well, on a processor that is emulated as fast as it goes: nothing can be measured with it.
    Emulated,
    /// Instructions, of which the emulated processor has one in a nanosecond. While it waits the clock jumps.
    Instructions,
}

impl Clock {
    fn options(self) -> &'static [&'static str] {
        match self {
            Clock::Time => &["-accel", "kvm", "-cpu", "host"],
            Clock::Emulated => &["-accel", "tcg,thread=single", "-cpu", "max"],
            Clock::Instructions => {
                &["-accel", "tcg,thread=single", "-cpu", "max", "-icount", "shift=0,sleep=off"]
            }
        }
    }
}

/// Where QEMU is.
///
/// # Errors
/// If it is not installed, or this is no machine of the architecture of its guests.
pub fn qemu() -> Result<PathBuf, Failure> {
    if std::env::consts::ARCH != "x86_64" {
        return Err(Failure::misuse(
            format!("guests are for x86-64, and this machine is {}", std::env::consts::ARCH),
            "run it on such a machine",
        ));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join(QEMU)).find(|path| path.is_file());
    found.ok_or_else(|| {
        Failure::misuse(
            format!("`{QEMU}` is not installed"),
            "install it: apt-get install --no-install-recommends qemu-system-x86",
        )
    })
}

/// The clock of guests that measure. KVM is tried, as a device that opens does not always run a kernel: one without anything
/// to start ends at once.
pub fn clock_of_this_machine(qemu: &Path, kernel: &Kernel) -> Clock {
    if File::options().read(true).write(true).open("/dev/kvm").is_err() {
        return Clock::Instructions;
    }
    let mut command = Command::new(qemu);
    command.args(COMMON).args(Clock::Time.options()).args(["-m", "256", "-append", "panic=-1", "-kernel"]);
    command.arg(&kernel.image).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    spawn::isolate(&mut command, &[]);
    let Ok(child) = command.spawn() else { return Clock::Instructions };
    match (Running { child }).wait(TRIAL, &|| false) {
        Ok(Some(status)) if status.success() => Clock::Time,
        _ => Clock::Instructions,
    }
}

const COMMON: [&str; 8] =
    ["-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-smp", "1", "-nographic"];

/// A guest that is to be started.
#[derive(Clone, Copy, Debug)]
pub struct Boot<'a> {
    /// QEMU.
    pub qemu: &'a Path,
    /// The kernel.
    pub kernel: &'a Kernel,
    /// Parameters of the kernel besides those that every guest has.
    pub append: &'a str,
    /// The initramfs, as [`Image::write`](crate::Image::write) made it.
    pub initramfs: &'a Path,
    /// What its clock counts.
    pub clock: Clock,
    /// Its memory, MiB.
    pub memory_mib: u32,
    /// The CPUs of this machine that QEMU may use; all if none.
    pub cpus: &'a [usize],
    /// A folder for files of this guest alone.
    pub dir: &'a Path,
    /// It is ended after this time.
    pub timeout: Duration,
}

/// How a guest ended.
#[derive(Debug)]
pub enum Ended {
    /// The job was carried out, whatever came of it.
    Done(JobOutcome),
    /// Nothing came back: why, in a sentence.
    Failed(String),
    /// `stop` was true.
    Stopped,
}

impl Boot<'_> {
    /// Starts the guest, has it carry out the job, and waits for its end. `files` are put into it by their paths. QEMU is killed
    /// with the thread that calls this.
    ///
    /// # Errors
    /// If the guest's files cannot be written or QEMU cannot be started.
    pub fn run(self, job: &Job, files: &[(&str, &[u8])], stop: &dyn Fn() -> bool) -> Result<Ended, Failure> {
        let at = |name: &str| self.dir.join(name);
        let (initramfs, console, line, said) = (at("initramfs"), at("console"), at("line"), at("qemu"));
        let cannot = |e: io::Error| {
            let what = format!("the files of a guest cannot be written: {e}");
            Failure::run(what, "check the free space of TMPDIR")
        };
        fs::create_dir_all(self.dir).map_err(cannot)?;
        with_job(self.initramfs, job, files, &initramfs).map_err(cannot)?;
        let mut command = Command::new(self.qemu);
        command.args(COMMON).args(self.clock.options()).args(["-m", &self.memory_mib.to_string()]);
        command.arg("-kernel").arg(&self.kernel.image).arg("-initrd").arg(&initramfs);
        command.args(["-append", &self.parameters()]);
        for file in [&console, &line] {
            command.arg("-serial").arg(format!("file:{}", file.display()));
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(File::create(&said).map_err(cannot)?);
        spawn::isolate(&mut command, self.cpus);
        let child = command.spawn().map_err(|e| {
            Failure::run(format!("{} cannot be started: {e}", self.qemu.display()), "check its permissions")
        })?;
        let ended = Running { child }.wait(self.timeout, stop).map_err(cannot)?;
        let came = fs::read(&line).unwrap_or_default();
        let outcome = match (outcome(&came), ended) {
            (Some(outcome), _) => Ended::Done(outcome),
            (None, None) if stop() => Ended::Stopped,
            (None, ended) => Ended::Failed(self.why(ended, &said, &console)),
        };
        let _ = fs::remove_dir_all(self.dir);
        Ok(outcome)
    }

    /// What the kernel is told.
    pub fn parameters(&self) -> String {
        debug_assert!(PARAMETERS.ends_with(OWN));
        [PARAMETERS, self.append, "-- guest"]
            .into_iter()
            .filter(|words| !words.is_empty())
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// Why nothing came back: what QEMU said, or else the last that the kernel did.
    fn why(&self, ended: Option<ExitStatus>, said: &Path, console: &Path) -> String {
        let what = match ended {
            None => format!("the guest did not end within {} s", self.timeout.as_secs()),
            Some(status) if status.success() => "the guest ended without an answer".to_owned(),
            Some(status) => format!("QEMU ended with {status}"),
        };
        let read = |path: &Path| String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned();
        let printable = |text: &str| -> String { text.chars().filter(|c| !c.is_control()).collect() };
        let said = read(said);
        let console = read(console);
        let lines: Vec<&str> = match said.trim().is_empty() {
            false => said.lines().filter(|line| !line.contains("warning")).collect(),
            true => console.lines().collect(),
        };
        // A panic says why in its first line.
        let panic = lines.iter().position(|line| line.contains("Kernel panic"));
        let first = panic.unwrap_or(lines.len().saturating_sub(CONSOLE_LINES));
        let last: Vec<String> =
            lines[first..].iter().take(CONSOLE_LINES).map(|line| printable(line.trim())).collect();
        if last.is_empty() { what } else { format!("{what}; the last it said: {}", last.join(" | ")) }
    }
}

/// What came through the line.
fn outcome(came: &[u8]) -> Option<JobOutcome> {
    let mut outcome = JobOutcome::default();
    let mut is_there = false;
    for (name, content) in cpio::read(came)? {
        match name.as_str() {
            OUTCOME => {
                let summary: Summary = serde_json::from_slice(&content).ok()?;
                is_there = true;
                outcome.code = summary.code;
                outcome.reason = summary.reason;
                outcome.elapsed = Duration::from_nanos(summary.elapsed_ns);
                outcome.release = summary.release;
            }
            STDOUT => outcome.stdout = content,
            STDERR => outcome.stderr = content,
            RESULT => outcome.result = Some(content),
            _ => {}
        }
    }
    is_there.then_some(outcome)
}

/// QEMU, which ends with this at the latest.
struct Running {
    child: Child,
}

impl Running {
    /// Waits until it ends; none if it was killed for lack of time or since `stop` was true.
    fn wait(mut self, timeout: Duration, stop: &dyn Fn() -> bool) -> io::Result<Option<ExitStatus>> {
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(Some(status));
            }
            if began.elapsed() > timeout || stop() {
                return Ok(None);
            }
            std::thread::sleep(INTERVAL);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
