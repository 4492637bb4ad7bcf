//! The options of `pitot kernel`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::formats::TextOrJson;

/// Kernels that servers can be measured on, in guests or in gVisor's sandbox: list, install and remove them.
///
/// Kernels are kept in the user's cache directory (pitot/kernels below XDG_CACHE_HOME, else ~/.cache); the machine itself
/// is not changed. A plan names them by `kernel = ["6.1", "6.12"]` among its factors.
#[derive(Debug, Args)]
pub(crate) struct KernelCommand {
    #[command(subcommand)]
    pub(crate) command: Action,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// List installed kernels.
    List {
        /// Output format.
        #[arg(long, value_enum, default_value = "text")]
        format: TextOrJson,
    },
    Install(Install),
    Add(Add),
    /// Remove a kernel.
    Remove {
        /// Its name.
        name: String,
    },
    Run(Run),
}

/// Install kernels of Debian: their packages are fetched by apt-get, checked and unpacked. Or gVisor.
///
/// Without --yes it only prints what it would do.
#[derive(Debug, Args)]
pub(crate) struct Install {
    /// The kernels: debian:6.12-cloud is the newest package of that release of Debian's kernels for clouds, which start
    /// quickest; debian:6.12 that of the ordinary ones; gvisor is gVisor, built with go from its module.
    #[arg(required = true, value_name = "ORIGIN")]
    pub(crate) origins: Vec<String>,
    /// Do it.
    #[arg(long)]
    pub(crate) yes: bool,
    /// The name that plans use; for one kernel. [default: the version]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Replace the kernel that has the name.
    #[arg(long)]
    pub(crate) replace: bool,
}

/// Add a kernel from a file: an image (vmlinuz) for x86-64, or a package of Debian that has one.
#[derive(Debug, Args)]
pub(crate) struct Add {
    /// The file.
    #[arg(value_name = "DEB|VMLINUZ")]
    pub(crate) file: PathBuf,
    /// The name that plans use. [default: the first two numbers of its release]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Replace the kernel that has the name.
    #[arg(long)]
    pub(crate) replace: bool,
}

/// Run a command on a kernel in a guest, and exit with its exit code.
///
/// The guest has only Pitot as its first process, the command's program with its libraries and the files of its package,
/// /proc, /sys, /dev and /tmp, a loopback interface and one CPU. The kernel `gvisor` is a sandbox instead of a guest.
#[derive(Debug, Args)]
pub(crate) struct Run {
    /// The kernel.
    #[arg(value_name = "NAME")]
    pub(crate) kernel: String,
    /// Parameters for the kernel.
    #[arg(long, value_name = "WORDS", default_value = "", allow_hyphen_values = true)]
    pub(crate) append: String,
    /// Without KVM: let the guest's clock count instructions, one per nanosecond, so that the nanoseconds that the command
    /// measures are instructions. Slower.
    #[arg(long)]
    pub(crate) instructions: bool,
    /// End the guest after this time.
    #[arg(long, value_name = "TIME", default_value = "2m", value_parser = pitot_meter::units::duration)]
    pub(crate) timeout: pitot_meter::Nanos,
    /// Memory of a guest, MiB.
    #[arg(long, value_name = "MIB", default_value_t = 1024)]
    pub(crate) memory: u32,
    /// The command; `pitot` is this program.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
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
pub(crate) struct Guest {
    /// Of a sandbox: the file for what comes of the job.
    #[arg(long, value_name = "FILE")]
    pub(crate) answer: Option<PathBuf>,
}
