//! `pitot kernel`.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use pitot_kernel::{Boot, Clock, Ended, Image, InstallPlan, Job, Kernel, Origin};
use pitot_results::Failure;

use crate::kernel_store::store;
use crate::run::{guardian, own_path};

/// Kernels that servers can be measured on in guests: list, install and remove them.
///
/// Kernels are kept in the user's cache directory (pitot/kernels below XDG_CACHE_HOME, else ~/.cache); nothing is installed on
/// the machine itself. A plan names them by `kernel = ["6.1", "6.12"]` among its factors.
#[derive(Debug, Args)]
pub(crate) struct KernelCommand {
    #[command(subcommand)]
    command: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// The kernels that are there.
    List,
    Install(Install),
    Add(Add),
    /// Remove a kernel.
    Remove {
        /// Its name.
        name: String,
    },
    Run(Run),
}

/// Install kernels of Debian: their packages are fetched by apt-get, checked and unpacked.
///
/// Without --yes it is only said what would be done.
#[derive(Debug, Args)]
struct Install {
    /// The kernels: debian:6.12-cloud is the newest package of that release of Debian's kernels for clouds, which start
    /// quickest; debian:6.12 that of the ordinary ones.
    #[arg(required = true, value_name = "ORIGIN")]
    origins: Vec<String>,
    /// Do it.
    #[arg(long)]
    yes: bool,
    /// The name that plans use; for one kernel. [default: the version]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
}

/// Add a kernel from a file: an image (vmlinuz) for x86-64, or a package of Debian that has one.
#[derive(Debug, Args)]
struct Add {
    /// The file.
    #[arg(value_name = "DEB|VMLINUZ")]
    file: PathBuf,
    /// The name that plans use. [default: the first two numbers of its release]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
}

/// Start a kernel in a guest, run a command in it, and end with the exit code of that.
///
/// The guest has Pitot as its first process, the command's program with its libraries and the files of its package, and
/// nothing else: /proc, /sys, /dev and /tmp, a loopback interface, one CPU.
#[derive(Debug, Args)]
struct Run {
    /// The kernel.
    #[arg(value_name = "NAME")]
    kernel: String,
    /// Parameters for the kernel.
    #[arg(long, value_name = "WORDS", default_value = "", allow_hyphen_values = true)]
    append: String,
    /// End the guest after this time.
    #[arg(long, value_name = "TIME", default_value = "2m", value_parser = pitot_meter::units::duration)]
    timeout: pitot_meter::Nanos,
    /// Memory, MiB.
    #[arg(long, value_name = "MIB", default_value_t = 1024)]
    memory: u32,
    /// The command; `pitot` is this program.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// The words of the command line. To its first process a kernel hands on also those of its own parameters that it does not know,
/// `nokaslr` for one, before what is meant for that (bootparam(7)).
pub(crate) fn words() -> Vec<OsString> {
    let mut words: Vec<OsString> = std::env::args_os().collect();
    if std::process::id() == 1 && words.len() > 2 && words.last().is_some_and(|word| word == "guest") {
        words.drain(1..words.len() - 1);
    }
    words
}

/// The first process of a guest: for the kernel that starts there.
#[derive(Debug, Args)]
pub(crate) struct Guest {}

impl Guest {
    pub(crate) fn run(&self) -> Result<ExitCode, Failure> {
        pitot_kernel::first_process()
            .map_err(|e| Failure::misuse(e.to_string(), "use pitot kernel run"))
            .map(|()| ExitCode::SUCCESS)
    }
}

impl KernelCommand {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        match self.command {
            Action::List => list(),
            Action::Install(install) => install.run(),
            Action::Add(add) => add.run(),
            Action::Remove { name } => {
                let removed = store().remove(&name)?;
                println!("removed {}", shown(&removed));
                Ok(ExitCode::SUCCESS)
            }
            Action::Run(run) => run.run(),
        }
    }
}

fn shown(kernel: &Kernel) -> String {
    format!("{}: Linux {} ({})", kernel.name, kernel.release, kernel.from)
}

fn list() -> Result<ExitCode, Failure> {
    let kernels = store().list();
    for kernel in &kernels {
        println!("{}", shown(kernel));
    }
    if kernels.is_empty() {
        println!("no kernel is there; to install one: pitot kernel install debian:6.12-cloud --yes");
    }
    Ok(ExitCode::SUCCESS)
}

impl Install {
    fn run(&self) -> Result<ExitCode, Failure> {
        if self.name.is_some() && self.origins.len() > 1 {
            return Err(Failure::misuse(
                "one name cannot be that of several kernels",
                "install them one by one",
            ));
        }
        let store = store();
        let origins = self.origins.iter().map(|text| Origin::parse(text)).collect::<Result<Vec<_>, _>>()?;
        for origin in &origins {
            let plan = InstallPlan::of(origin, self.name.as_deref())?;
            println!("{}:", plan.name);
            for line in plan.lines(&store) {
                println!("  {line}");
            }
            if self.yes {
                let guardian = guardian()?;
                println!("installed {}", shown(&plan.carry_out(&store, guardian.dir())?));
            }
        }
        if !self.yes {
            println!("nothing was done; to do it: pitot kernel install {} --yes", self.origins.join(" "));
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl Add {
    fn run(&self) -> Result<ExitCode, Failure> {
        let guardian = guardian()?;
        let added = store().add_file(&self.file, self.name.as_deref(), guardian.dir())?;
        println!("added {}", shown(&added));
        Ok(ExitCode::SUCCESS)
    }
}

impl Run {
    fn run(self) -> Result<ExitCode, Failure> {
        let kernel = store().get(&self.kernel)?;
        let qemu = pitot_kernel::qemu()?;
        let guardian = guardian()?;
        let mut image = Image::new(Path::new(&own_path()?));
        let mut argv = self.command.clone();
        if argv[0] != "pitot" {
            argv[0] = image.program(&argv[0])?;
        }
        let initramfs = guardian.dir().join("initramfs");
        image.write(&initramfs)?;
        let clock = match pitot_kernel::clock_of_this_machine(&qemu, &kernel) {
            Clock::Time => Clock::Time,
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
            dir: &guardian.dir().join("guest"),
            timeout: self.timeout.into(),
        };
        let outcome = match boot.run(&Job { argv, result: None }, &[], &|| false)? {
            Ended::Done(outcome) => outcome,
            Ended::Failed(why) => {
                return Err(Failure::run(why, "check the parameters, or give it more --timeout"));
            }
            Ended::Stopped => return Err(Failure::run("stopped", "start it again when you like")),
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
}
