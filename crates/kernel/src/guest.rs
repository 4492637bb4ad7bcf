//! A guest: QEMU with a kernel and an initramfs, from its start to its end.

use std::cell::RefCell;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

use pitot_results::Failure;
use pitot_sys::spawn;

use crate::image::{OWN, with_job};
use crate::job::{Job, JobOutcome};
use crate::modules;
use crate::running::{Ended, Running, last_lines};
use crate::store::Kernel;

/// The program.
pub const QEMU: &str = "qemu-system-x86_64";

/// Boot parameters of every guest: a console, immediate reboot after a panic (which ends QEMU), no mitigations for flaws
/// that an emulated processor does not have, no cipher self-tests (they would take seconds during a measurement), and
/// Pitot as the first process, with arguments after `--`.
const PARAMETERS: &str =
    "console=ttyS0 quiet loglevel=4 panic=-1 mitigations=off cryptomgr.notests rdinit=/usr/bin/pitot";

/// The device of KVM.
const KVM: &str = "/dev/kvm";
/// Timeout of a kernel with KVM that has nothing to start.
pub const TRIAL: Duration = Duration::from_secs(15);

/// What a guest's clock counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// Time, on a virtualised processor (KVM).
    Time,
    /// Time, on an emulated processor at full speed, which cannot be used for measurements.
    Emulated,
    /// Instructions: the emulated processor runs one in each nanosecond of its clock, which skips idle time.
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

/// The path of QEMU.
///
/// # Errors
/// If it is not installed, or this machine has another architecture.
pub fn qemu() -> Result<PathBuf, Failure> {
    if std::env::consts::ARCH != "x86_64" {
        return Err(Failure::misuse(
            format!("guests are for x86-64, and this machine is {}", std::env::consts::ARCH),
            "run it on an x86-64 machine",
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

/// The clock of guests, and why it does not count time, if so: the beginning of a sentence. KVM is tested with a kernel
/// that has nothing to start and ends at once, since a device that can be opened does not always work.
pub fn clock_of_this_machine(qemu: &Path, kernel: &Kernel) -> (Clock, String) {
    match try_kvm(qemu, kernel) {
        Ok(()) => (Clock::Time, String::new()),
        Err(why) => (Clock::Instructions, why),
    }
}

fn try_kvm(qemu: &Path, kernel: &Kernel) -> Result<(), String> {
    if let Err(e) = File::options().read(true).write(true).open(KVM) {
        return Err(match e.kind() {
            io::ErrorKind::NotFound => format!("there is no KVM here ({KVM})"),
            _ => format!("KVM cannot be used here ({KVM}: {e})"),
        });
    }
    start_with_kvm(qemu, kernel, TRIAL)
}

fn start_with_kvm(qemu: &Path, kernel: &Kernel, trial: Duration) -> Result<(), String> {
    let mut command = Command::new(qemu);
    command.args(COMMON).args(Clock::Time.options()).args(["-m", "256", "-append", "panic=-1", "-kernel"]);
    command.arg(&kernel.image).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    spawn::isolate(&mut command, &[]);
    let mut child = command.spawn().map_err(|e| format!("{QEMU} cannot be started with KVM ({e})"))?;
    // After an error of KVM, QEMU stops the machine but does not exit.
    let (sender, refused) = channel();
    let said = child.stderr.take().map(BufReader::new);
    let reader = std::thread::spawn(move || {
        let lines = said.into_iter().flat_map(|said| said.lines().map_while(Result::ok));
        for line in lines.filter(|line| line.contains("KVM")) {
            let _ = sender.send(line);
        }
    });
    let first = RefCell::new(None);
    let is_refused = || {
        let mut first = first.borrow_mut();
        if first.is_none() {
            *first = refused.try_recv().ok();
        }
        first.is_some()
    };
    let ended = Running { child }.wait(trial, &is_refused);
    let _ = reader.join();
    let release = &kernel.release;
    match (ended, first.into_inner().or_else(|| refused.try_recv().ok())) {
        (Ok(Some(status)), _) if status.success() => Ok(()),
        (_, Some(said)) => Err(format!("KVM cannot run Linux {release} here (QEMU: {said})")),
        (Ok(None), None) => {
            Err(format!("KVM did not start Linux {release} here within {} s", trial.as_secs()))
        }
        (Ok(Some(status)), None) => {
            Err(format!("KVM cannot run Linux {release} here (QEMU ended with {status})"))
        }
        (Err(e), None) => Err(format!("KVM cannot be tested here ({e})")),
    }
}

const COMMON: [&str; 8] =
    ["-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-smp", "1", "-nographic"];

/// A guest to start.
#[derive(Clone, Copy, Debug)]
pub struct Boot<'a> {
    /// QEMU.
    pub qemu: &'a Path,
    /// The kernel.
    pub kernel: &'a Kernel,
    /// Additional boot parameters.
    pub append: &'a str,
    /// The initramfs, as [`Image::write`](crate::Image::write) made it.
    pub initramfs: &'a Path,
    /// What its clock counts.
    pub clock: Clock,
    /// Its memory, MiB.
    pub memory_mib: u32,
    /// The CPUs of this machine that QEMU may use; all if none.
    pub cpus: &'a [usize],
    /// A folder for files of this guest.
    pub dir: &'a Path,
    /// Its timeout.
    pub timeout: Duration,
}

impl Boot<'_> {
    /// Starts the guest with `files` at their paths, runs the job, and waits for its end. QEMU is killed with the calling
    /// thread.
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
        let modules = modules::for_guest(&self.kernel.modules()).map_err(cannot)?;
        let files: Vec<(&str, &[u8])> = files
            .iter()
            .copied()
            .chain(modules.iter().map(|(path, content)| (path.as_str(), content.as_slice())))
            .collect();
        with_job(self.initramfs, job, &files, &initramfs).map_err(cannot)?;
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
        let outcome = match (JobOutcome::read(&came), ended) {
            (Some(outcome), _) => Ended::Done(outcome),
            (None, None) if stop() => Ended::Stopped,
            (None, ended) => Ended::Failed(self.why(ended, &said, &console)),
        };
        let _ = fs::remove_dir_all(self.dir);
        Ok(outcome)
    }

    /// The kernel's command line.
    pub fn parameters(&self) -> String {
        debug_assert!(PARAMETERS.ends_with(OWN));
        [PARAMETERS, self.append, "-- guest"]
            .into_iter()
            .filter(|words| !words.is_empty())
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// Why there is no result: the output of QEMU, or the last of the kernel.
    fn why(&self, ended: Option<ExitStatus>, said: &Path, console: &Path) -> String {
        let what = match ended {
            None => format!("the guest did not end within {} s", self.timeout.as_secs()),
            Some(status) if status.success() => "the guest ended without a result".to_owned(),
            Some(status) => format!("QEMU ended with {status}"),
        };
        let read = |path: &Path| String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned();
        let said = read(said);
        let lines = match said.trim().is_empty() {
            false => said.lines().filter(|line| !line.contains("warning")).collect::<Vec<_>>().join("\n"),
            true => read(console),
        };
        match last_lines(&lines) {
            last if last.is_empty() => what,
            last => format!("{what}; its last output: {last}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// What is said of KVM where QEMU is a script.
    fn tried(script: &str, trial: Duration) -> Result<(), String> {
        let folder = tempfile::tempdir().unwrap();
        let qemu = folder.path().join("qemu");
        fs::write(&qemu, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&qemu, fs::Permissions::from_mode(0o755)).unwrap();
        let kernel = Kernel {
            name: "x".into(),
            release: "6.1.0-x".into(),
            from: String::new(),
            sha256: String::new(),
            image: folder.path().join("vmlinuz"),
        };
        loop {
            // A process that another test has just forked may still hold the script open (ETXTBSY of execve(2)).
            match start_with_kvm(&qemu, &kernel, trial) {
                Err(why) if why.contains("Text file busy") => std::thread::yield_now(),
                outcome => return outcome,
            }
        }
    }

    #[test]
    fn kvm_is_used_only_where_a_kernel_starts_and_else_it_is_said_why() {
        let long = Duration::from_secs(60);
        assert_eq!(tried("exit 0", long), Ok(()));
        let error = "echo 'KVM internal error. Suberror: 1' >&2; exec sleep 60";
        let said = tried(error, long).unwrap_err();
        assert_eq!(said, "KVM cannot run Linux 6.1.0-x here (QEMU: KVM internal error. Suberror: 1)");
        assert!(tried("exit 3", long).unwrap_err().contains("QEMU ended with exit status: 3"));
        let said = tried("exec sleep 60", Duration::from_secs(1)).unwrap_err();
        assert_eq!(said, "KVM did not start Linux 6.1.0-x here within 1 s");
    }
}
