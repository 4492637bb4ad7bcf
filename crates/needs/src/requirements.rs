//! What tests can need of the machine. The build script looks for it; the macro quotes the fix.

#![allow(dead_code, reason = "the build script and the macro each use a part")]

use std::env;
use std::net::TcpListener;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use pitot_sys::perf::{Event, Sampler, Scope, tracepoint};

/// Something that a machine has or lacks.
pub(crate) struct Requirement {
    /// What a test writes in its `#[needs]`. For a program, the name of its file.
    pub(crate) name: &'static str,
    /// What to do where it is missing, in one line.
    pub(crate) fix: &'static str,
    probe: Probe,
}

enum Probe {
    /// A file of the requirement's name in a directory of programs.
    Program,
    /// A file that exists.
    File(&'static str),
    /// What `pitot target install` has made of a target of the requirement's name, all of it.
    Target,
    /// A property of the running kernel, or of what is installed.
    Kernel(fn() -> bool),
}

/// Every requirement that a test may name, by name.
pub(crate) const REQUIREMENTS: &[Requirement] = &[
    program("apache2", "apt-get install apache2-bin"),
    program("bash", "apt-get install bash"),
    Requirement {
        name: "ca-certificates",
        fix: "apt-get install ca-certificates",
        probe: Probe::File("/etc/ssl/certs/ca-certificates.crt"),
    },
    program("caddy", "apt-get install caddy"),
    // The build needs it, too, so that a machine which has it may still be a fresh one.
    Requirement { name: "cc", fix: "apt-get install gcc libc6-dev", probe: Probe::Program },
    Requirement {
        name: "control-groups",
        fix: "run as root where /sys/fs/cgroup can be written",
        probe: Probe::Kernel(has_control_groups),
    },
    program("curl", "apt-get install curl"),
    program("fish", "apt-get install fish"),
    program("git", "apt-get install git"),
    // A compiler of another language is much for one test: where it is missing, nothing is installed.
    Requirement { name: "go", fix: "install Go from go.dev", probe: Probe::Program },
    target("go-http", "pitot target install go-http --yes"),
    program("groff", "apt-get install groff-base"),
    // A kernel and an emulator are much for one test: where they are missing, nothing is installed.
    Requirement {
        name: "guest-kernel",
        fix: "pitot kernel install debian:6.12-cloud --yes; apt-get install qemu-system-x86",
        probe: Probe::Kernel(has_guest_kernel),
    },
    Requirement {
        name: "guest-kernel-tls",
        fix: "pitot kernel install debian:6.12-cloud --yes; apt-get install qemu-system-x86",
        probe: Probe::Kernel(has_guest_kernel_tls),
    },
    program("gzip", "apt-get install gzip"),
    program("h2load", "apt-get install nghttp2-client"),
    program("haproxy", "apt-get install haproxy"),
    program("ip", "apt-get install iproute2"),
    Requirement {
        name: "ipv6",
        fix: "sysctl net.ipv6.conf.lo.disable_ipv6=0",
        probe: Probe::Kernel(has_ipv6),
    },
    target("jetty", "pitot target install jetty --yes"),
    program("jq", "apt-get install jq"),
    program("lighttpd", "apt-get install lighttpd"),
    Requirement {
        name: "lighttpd-magnet",
        fix: "apt-get install lighttpd-modules-lua",
        probe: Probe::Kernel(has_lighttpd_magnet),
    },
    Requirement {
        name: "linux-6.12",
        fix: "use Linux 6.12 or newer",
        probe: Probe::Kernel(|| is_linux_since(6, 12)),
    },
    program("memcached", "apt-get install memcached"),
    target("nats-server", "pitot target install nats-server --yes"),
    // Without it swaks, which only recommends it, does not speak TLS.
    Requirement {
        name: "net-ssleay",
        fix: "apt-get install libnet-ssleay-perl",
        probe: Probe::Kernel(has_net_ssleay),
    },
    Requirement {
        name: "network-namespaces",
        fix: "run as root where they can be made; apt-get install iproute2",
        probe: Probe::Kernel(has_network_namespaces),
    },
    program("nft", "apt-get install nftables"),
    program("nghttpd", "apt-get install nghttp2-server"),
    program("nginx", "apt-get install nginx-light"),
    Requirement {
        name: "nginx-echo",
        fix: "apt-get install libnginx-mod-http-echo",
        probe: Probe::Kernel(has_nginx_echo),
    },
    Requirement { name: "node", fix: "pitot target install node --yes", probe: Probe::Program },
    // Engine `nowait` asks for them where the tests of engines have their files, which is beside what cargo builds.
    Requirement {
        name: "nowait-reads",
        fix: "set CARGO_TARGET_DIR to a directory on ext4, xfs or btrfs",
        probe: Probe::Kernel(has_nowait_reads),
    },
    target("open-liberty", "pitot target install open-liberty --yes"),
    program("openssl", "apt-get install openssl"),
    // Where / is closed to them, no program of theirs finds its libraries.
    Requirement { name: "other-users", fix: "chmod o+x /", probe: Probe::Kernel(has_other_users) },
    Requirement {
        name: "own-sampling",
        fix: "sysctl kernel.perf_event_paranoid=2, where perf_event_open(2) is allowed",
        probe: Probe::Kernel(has_own_sampling),
    },
    Requirement {
        name: "perf-event-paranoid",
        fix: "sysctl kernel.perf_event_paranoid=2, where perf_event_open(2) is allowed",
        probe: Probe::Kernel(is_paranoid),
    },
    program("postfix", "apt-get install postfix"),
    program("postgres", "apt-get install postgresql"),
    program("python3", "apt-get install python3"),
    program("redis-server", "apt-get install redis-server"),
    Requirement { name: "root", fix: "run as root", probe: Probe::Kernel(is_root) },
    // It takes go minutes to build.
    Requirement { name: "runsc", fix: "pitot kernel install gvisor --yes", probe: Probe::Kernel(has_gvisor) },
    target("rust-actix", "pitot target install rust-actix --yes"),
    target("rust-compio", "pitot target install rust-compio --yes"),
    target("rust-hyper", "pitot target install rust-hyper --yes"),
    Requirement {
        name: "sampling",
        fix: "run as root where perf_event_open(2) is allowed, with tracefs in /sys/kernel/tracing",
        probe: Probe::Kernel(has_sampling),
    },
    program("script", "apt-get install bsdutils"),
    program("setpriv", "apt-get install util-linux"),
    program("shellcheck", "apt-get install shellcheck"),
    program("smtp-sink", "apt-get install postfix"),
    program("smtp-source", "apt-get install postfix"),
    program("ssh", "apt-get install openssh-client"),
    program("sshd", "apt-get install openssh-server"),
    program("strace", "apt-get install strace"),
    program("swaks", "apt-get install swaks"),
    Requirement {
        name: "time-namespaces",
        fix: "run as root on Linux 5.6 or newer; apt-get install util-linux",
        probe: Probe::Kernel(has_time_namespaces),
    },
    target("tomcat", "pitot target install tomcat --yes"),
    Requirement {
        name: "tracing",
        fix: "run on x86-64, with Linux 5.3 or newer, where a program may trace its children (ptrace(2))",
        probe: Probe::Kernel(has_tracing),
    },
    target("undertow", "pitot target install undertow --yes"),
    Requirement {
        name: "user-namespaces",
        fix: "apt-get install util-linux; sysctl user.max_user_namespaces=1000",
        probe: Probe::Kernel(has_user_namespaces),
    },
    target("uvicorn", "pitot target install uvicorn --yes"),
    program("varnishd", "apt-get install varnish"),
    target("wildfly", "pitot target install wildfly --yes"),
    program("zsh", "apt-get install zsh"),
    program("zstd", "apt-get install zstd"),
];

const fn program(name: &'static str, fix: &'static str) -> Requirement {
    Requirement { name, fix, probe: Probe::Program }
}

/// Targets are much for tests: where one is missing it is not installed, and nobody is asked to do so.
const fn target(name: &'static str, fix: &'static str) -> Requirement {
    Requirement { name, fix, probe: Probe::Target }
}

impl Requirement {
    /// Whether this machine has it now.
    pub(crate) fn is_met(&self) -> bool {
        match self.probe {
            Probe::Program => program_directories().any(|directory| directory.join(self.name).is_file()),
            Probe::File(path) => Path::new(path).exists(),
            Probe::Target => cache().join("pitot/targets").join(self.name).join(".pitot-installed").is_file(),
            Probe::Kernel(probe) => probe(),
        }
    }

    /// Whether a file appears when it is installed.
    pub(crate) fn is_watchable(&self) -> bool {
        !matches!(self.probe, Probe::Kernel(_) | Probe::Target)
    }
}

/// The user's cache directory.
fn cache() -> PathBuf {
    let home = || PathBuf::from(env::var_os("HOME").unwrap_or_default()).join(".cache");
    env::var_os("XDG_CACHE_HOME").map_or_else(home, PathBuf::from)
}

/// Where programs are looked for: `PATH`, and the directories of daemons, which Debian leaves out of a user's `PATH`.
pub(crate) fn program_directories() -> impl Iterator<Item = PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let directories: Vec<PathBuf> = env::split_paths(&path).filter(|path| path.is_absolute()).collect();
    // Debian has a directory for each version of PostgreSQL.
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let versions = versions.map(|version| version.path().join("bin"));
    directories.into_iter().chain(["/usr/sbin", "/usr/local/sbin"].map(PathBuf::from)).chain(versions)
}

/// Whether guests can be started: QEMU, and a kernel that this user has.
fn has_guest_kernel() -> bool {
    let has_kernel = |entry: std::fs::DirEntry| entry.path().join("vmlinuz").is_file();
    let kernels = std::fs::read_dir(cache().join("pitot/kernels")).into_iter().flatten().flatten();
    program("qemu-system-x86_64", "").is_met() && kernels.into_iter().any(has_kernel)
}

/// Whether one of these kernels has the modules of TLS.
fn has_guest_kernel_tls() -> bool {
    let kernels = std::fs::read_dir(cache().join("pitot/kernels")).into_iter().flatten().flatten();
    let has_tls = |entry: std::fs::DirEntry| {
        ["tls.ko", "tls.ko.xz"].iter().any(|name| entry.path().join("modules").join(name).is_file())
    };
    has_guest_kernel() && kernels.into_iter().any(has_tls)
}

/// Whether gVisor is there, installed by Pitot or in `PATH`.
fn has_gvisor() -> bool {
    cache().join("pitot/kernels/gvisor/bin/runsc").is_file() || program("runsc", "").is_met()
}

fn has_other_users() -> bool {
    Path::new("/").metadata().is_ok_and(|root| root.mode() & 0o001 != 0)
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|metadata| metadata.uid() == 0)
}

fn has_lighttpd_magnet() -> bool {
    Path::new("/usr/lib/lighttpd/mod_magnet.so").is_file()
}

fn has_nginx_echo() -> bool {
    Path::new("/usr/lib/nginx/modules/ngx_http_echo_module.so").is_file()
}

fn has_net_ssleay() -> bool {
    let mut perl = Command::new("perl");
    perl.args(["-MNet::SSLeay", "-e1"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    perl.status().is_ok_and(|status| status.success())
}

/// Whether the file system that cargo builds on is one whose files can be read with RWF_NOWAIT (preadv2(2)).
fn has_nowait_reads() -> bool {
    let directory = env::var_os("OUT_DIR").unwrap_or_default();
    let output = Command::new("stat").args(["--file-system", "--format=%T"]).arg(directory).output();
    let name = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    name.is_ok_and(|name| ["ext2/ext3", "xfs", "btrfs"].contains(&&*name))
}

/// Whether the kernel is of this version or a later one.
fn is_linux_since(major: u32, minor: u32) -> bool {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut numbers = release.split('.').map_while(|number| number.parse::<u32>().ok());
    (numbers.next(), numbers.next()) >= (Some(major), Some(minor))
}

fn has_ipv6() -> bool {
    TcpListener::bind("[::1]:0").is_ok()
}

/// Whether a group can be made below this process's own, in version 2 or among those that count CPU time (cgroups(7)).
fn has_control_groups() -> bool {
    let memberships = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    memberships.lines().any(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { return false };
        let mounts: &[&str] = match controllers {
            "" => &["/sys/fs/cgroup", "/sys/fs/cgroup/unified"],
            _ if controllers.split(',').any(|name| name == "cpuacct") => &["/sys/fs/cgroup/cpuacct"],
            _ => &[],
        };
        mounts.iter().any(|mount| {
            let group = PathBuf::from(format!("{mount}{path}")).join(format!("pitot-{}", std::process::id()));
            std::fs::create_dir(&group).is_ok() && std::fs::remove_dir(&group).is_ok()
        })
    })
}

/// Whether namespaces with clocks of their own can be made.
fn has_time_namespaces() -> bool {
    let made = Command::new("unshare")
        .args(["--time", "--monotonic", "1000", "true"])
        .stderr(Stdio::null())
        .status();
    made.is_ok_and(|status| status.success())
}

/// Whether a program can be traced. Some containers do not allow it.
fn has_tracing() -> bool {
    #[cfg(target_arch = "x86_64")]
    return pitot_sys::trace::is_possible();
    #[cfg(not(target_arch = "x86_64"))]
    return false;
}

/// Whether the whole machine can be sampled: what leaves its CPUs, and system calls.
fn has_sampling() -> bool {
    let cpus = pitot_sys::affinity::allowed().unwrap_or_default();
    let opens = |event: Event| Sampler::open(&[event], Scope::Machine, &cpus).is_ok();
    opens(Event::Switches)
        && tracepoint("raw_syscalls/sys_enter").is_ok_and(|number| opens(Event::Tracepoint(number)))
}

/// Whether this user can sample this process.
fn has_own_sampling() -> bool {
    let cpus = pitot_sys::affinity::allowed().unwrap_or_default();
    Sampler::open(&[Event::Cpu { frequency: 100 }], Scope::Threads(&[std::process::id()]), &cpus).is_ok()
}

/// Whether ordinary users can sample their own programs, and neither the kernel nor others.
fn is_paranoid() -> bool {
    let level = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid");
    level.is_ok_and(|level| level.trim() == "2") && has_own_sampling()
}

/// Whether namespaces with a network of their own can be made.
fn has_network_namespaces() -> bool {
    let name = format!("pitot-probe-{}", std::process::id());
    let ip = |action: &str| {
        let mut command = Command::new("ip");
        command.args(["netns", action, &name]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    ip("add") && ip("del")
}

/// Whether an ordinary user can mount a file system in a namespace of their own.
fn has_user_namespaces() -> bool {
    let mut command = Command::new("unshare");
    command.args(["-rm", "mount", "-t", "tmpfs", "tmpfs", "/tmp"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_and_unique() {
        assert!(REQUIREMENTS.windows(2).all(|pair| pair[0].name < pair[1].name));
    }

    #[test]
    fn a_program_is_found_and_an_unknown_one_is_not() {
        assert!(program("sh", "").is_met());
        assert!(!program("no-such-program-of-pitot", "").is_met());
    }
}
