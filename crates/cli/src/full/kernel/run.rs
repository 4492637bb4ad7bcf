//! `pitot kernel run`.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use pitot_kernel::{Boot, Clock, Ended, GVISOR, Image, Job, Sandbox, SandboxRun};
use pitot_results::Failure;

use crate::full::kernel_store::store;
use crate::kernel::Run;
use crate::runs::{guardian, own_path};

impl Run {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let guardian = guardian()?;
        let mut image = Image::new(Path::new(&own_path()?));
        let mut argv = self.command.clone();
        if argv[0] != "pitot" {
            argv[0] = image.program(&argv[0])?;
        }
        let job = Job { argv, result: None };
        let ended = match self.kernel == GVISOR {
            true => self.in_sandbox(&job, &image, guardian.dir())?,
            false => self.in_guest(&job, &image, guardian.dir())?,
        };
        let outcome = match ended {
            Ended::Done(outcome) => outcome,
            Ended::Failed(why) => {
                return Err(Failure::run(why, "check the parameters, or use a longer --timeout"));
            }
            Ended::Stopped => return Err(Failure::run("stopped", "start it again")),
        };
        let _ = io::stdout().write_all(&outcome.stdout);
        let _ = io::stderr().write_all(&outcome.stderr);
        match outcome.code {
            Some(code) => Ok(ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX))),
            None => Err(Failure::run(
                format!("`{}` could not be started in the guest: {}", self.command[0], outcome.reason),
                "check the command",
            )),
        }
    }

    fn in_guest(&self, job: &Job, image: &Image, dir: &Path) -> Result<Ended, Failure> {
        let kernel = store().get(&self.kernel)?;
        let qemu = pitot_kernel::qemu()?;
        let initramfs = dir.join("initramfs");
        image.write(&initramfs)?;
        let clock = match pitot_kernel::clock_of_this_machine(&qemu, &kernel).0 {
            Clock::Time => Clock::Time,
            Clock::Emulated | Clock::Instructions if self.instructions => Clock::Instructions,
            Clock::Emulated | Clock::Instructions => Clock::Emulated,
        };
        let boot = Boot {
            qemu: &qemu,
            kernel: &kernel,
            append: &self.append,
            initramfs: &initramfs,
            clock,
            memory_mib: self.memory,
            cpus: &[],
            dir: &dir.join("guest"),
            timeout: self.timeout.into(),
        };
        boot.run(job, &[], &|| false)
    }

    fn in_sandbox(&self, job: &Job, image: &Image, dir: &Path) -> Result<Ended, Failure> {
        let sandbox = Sandbox::get(&store())?;
        if !self.append.is_empty() {
            return Err(Failure::misuse(format!("`{GVISOR}` has no boot parameters"), "omit --append"));
        }
        let root = dir.join("root");
        image.unpack(&root)?;
        let run = SandboxRun {
            sandbox: &sandbox,
            root: &root,
            cpus: &[],
            dir: &dir.join("sandbox"),
            timeout: self.timeout.into(),
        };
        run.run(job, &[], &|| false)
    }
}
