//! gVisor: a kernel in user mode. Server and load both run in its sandbox, as in a guest.
//!
//! runsc(1) starts it with a bundle (OCI runtime specification): the files of a guest's initramfs with changes in memory, a loopback
//! interface of its network stack, and Pitot as the first process. It runs on this machine's processor, so its times are real.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use pitot_results::Failure;
use pitot_sys::spawn;
use serde_json::{Value, json};

use crate::job::{FOLDER, JOB, Job, JobOutcome};
use crate::name::GVISOR;
use crate::running::{Ended, Running, last_lines};
use crate::store::Store;

/// The program.
pub const RUNSC: &str = "runsc";

/// The Go module of one version, with digests of all dependencies, which go verifies.
pub const GVISOR_MODULE: [(&str, &str); 2] =
    [("go.mod", include_str!("../gvisor/go.mod")), ("go.sum", include_str!("../gvisor/go.sum"))];
/// The build command. With cgo it would be dynamically linked, and could not start its sandbox.
pub const GVISOR_BUILD: [&str; 9] = [
    "env",
    "CGO_ENABLED=0",
    "go",
    "build",
    "-trimpath",
    // The date of the version in go.mod, since a build from a module has none.
    "-ldflags=-X gvisor.dev/gvisor/runsc/version.version=20260905.0",
    "-o",
    "bin/runsc",
    "gvisor.dev/gvisor/runsc",
];

/// The path of the job's result.
const ANSWER: &str = "answer";
/// How the sandbox intercepts system calls: without KVM and ptrace(2).
const PLATFORM: &str = "--platform=systrap";
/// Capabilities of the first process, which is root only in the sandbox.
const CAPABILITIES: [&str; 13] = [
    "CAP_CHOWN",
    "CAP_DAC_OVERRIDE",
    "CAP_FOWNER",
    "CAP_FSETID",
    "CAP_KILL",
    "CAP_NET_ADMIN",
    "CAP_NET_BIND_SERVICE",
    "CAP_SETGID",
    "CAP_SETUID",
    "CAP_SYS_ADMIN",
    "CAP_SYS_NICE",
    "CAP_SYS_PTRACE",
    "CAP_SYS_RESOURCE",
];
/// Limit on descriptors of a process in it.
const DESCRIPTORS: u32 = 1 << 20;

/// gVisor on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sandbox {
    runsc: PathBuf,
    version: String,
}

impl Sandbox {
    /// Finds it: installed by Pitot, or else `runsc` in `PATH`.
    pub fn find(store: &Store) -> Option<Sandbox> {
        let own = Sandbox::own(store);
        let path = std::env::var_os("PATH").unwrap_or_default();
        let in_path = || std::env::split_paths(&path).map(|folder| folder.join(RUNSC)).find(|p| p.is_file());
        let runsc = Some(own).filter(|own| own.is_file()).or_else(in_path)?;
        let said = Command::new(&runsc).arg("--version").stdin(Stdio::null()).output().ok()?;
        Some(Sandbox { version: version(&String::from_utf8_lossy(&said.stdout)), runsc })
    }

    /// Finds it.
    ///
    /// # Errors
    /// If it is not installed.
    pub fn get(store: &Store) -> Result<Sandbox, Failure> {
        Sandbox::find(store).ok_or_else(|| {
            Failure::misuse(
                format!("gVisor is not installed: there is no `{RUNSC}` in PATH"),
                format!("install it: pitot kernel install {GVISOR} --yes"),
            )
        })
    }

    /// Its version, in words.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Whether Pitot has installed it.
    pub fn is_installed(store: &Store) -> bool {
        Sandbox::own(store).is_file()
    }

    fn own(store: &Store) -> PathBuf {
        store.folder().join(GVISOR).join("bin").join(RUNSC)
    }

    /// The program.
    pub fn program(&self) -> &Path {
        &self.runsc
    }
}

/// The version in the output of `runsc --version`.
fn version(said: &str) -> String {
    let version = said.lines().next().and_then(|line| line.strip_prefix("runsc version ")).map(str::trim);
    match version {
        None | Some("" | "VERSION_MISSING") => "of an unknown version".to_owned(),
        Some(version) => version.to_owned(),
    }
}

/// A sandbox to start.
#[derive(Clone, Copy, Debug)]
pub struct SandboxRun<'a> {
    /// gVisor.
    pub sandbox: &'a Sandbox,
    /// Its files, as [`Image::unpack`](crate::Image::unpack) made them.
    pub root: &'a Path,
    /// The CPUs of this machine that it may use; all if none.
    pub cpus: &'a [usize],
    /// A folder for files of this sandbox.
    pub dir: &'a Path,
    /// Its timeout.
    pub timeout: Duration,
}

impl SandboxRun<'_> {
    /// Starts the sandbox with `files` in [`FOLDER`], runs the job, and waits for its end. It is killed with the calling
    /// thread.
    ///
    /// # Errors
    /// If its files cannot be written or runsc cannot be started.
    pub fn run(self, job: &Job, files: &[(&str, &[u8])], stop: &dyn Fn() -> bool) -> Result<Ended, Failure> {
        let at = |name: &str| self.dir.join(name);
        let (folder, said) = (at("job"), at("said"));
        let cannot = |e: io::Error| {
            let what = format!("the files of a sandbox cannot be written: {e}");
            Failure::run(what, "check the free space of TMPDIR")
        };
        let prepare = || -> io::Result<()> {
            fs::create_dir_all(&folder)?;
            // Mount points must exist.
            fs::create_dir_all(self.root.join(&FOLDER[1..]))?;
            fs::write(at("config.json"), bundle(self.root, &folder).to_string())?;
            let job = serde_json::to_vec(job)?;
            for (path, content) in [(JOB, &job[..])].iter().chain(files) {
                let name = path.strip_prefix(FOLDER).and_then(|rest| rest.strip_prefix('/'));
                fs::write(folder.join(name.ok_or(io::ErrorKind::InvalidInput)?), content)?;
            }
            Ok(())
        };
        prepare().map_err(cannot)?;
        let mut command = Command::new(&self.sandbox.runsc);
        command.arg("--root").arg(at("state")).args(["--network=none", PLATFORM, "--ignore-cgroups"]);
        // Changes stay in memory.
        command.arg("--overlay2=root:memory");
        let is_root = rustix::process::geteuid().is_root();
        if !is_root {
            command.arg("--rootless");
        }
        command.args(["run", "--bundle"]).arg(self.dir).arg(format!("pitot-{}", std::process::id()));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(File::create(&said).map_err(cannot)?);
        spawn::isolate(&mut command, self.cpus);
        if is_root {
            // It leaves a network namespace mounted in its folder.
            spawn::own_mounts(&mut command);
        }
        let child = command.spawn().map_err(|e| {
            Failure::run(
                format!("{} cannot be started: {e}", self.sandbox.runsc.display()),
                "check its permissions",
            )
        })?;
        let ended = Running { child }.wait(self.timeout, stop).map_err(cannot)?;
        let came = fs::read(folder.join(ANSWER)).unwrap_or_default();
        let outcome = match JobOutcome::read(&came) {
            Some(outcome) => Ended::Done(outcome),
            None if ended.is_none() && stop() => Ended::Stopped,
            None => Ended::Failed(self.why(ended, &said)),
        };
        let _ = fs::remove_dir_all(self.dir);
        Ok(outcome)
    }

    /// Why there is no result.
    fn why(&self, ended: Option<ExitStatus>, said: &Path) -> String {
        let what = match ended {
            None => format!("the sandbox did not end within {} s", self.timeout.as_secs()),
            Some(status) if status.success() => "the sandbox ended without a result".to_owned(),
            Some(status) => format!("{RUNSC} ended with {status}"),
        };
        match last_lines(&String::from_utf8_lossy(&fs::read(said).unwrap_or_default())) {
            last if last.is_empty() => what,
            last => format!("{what}; its last output: {last}"),
        }
    }
}

/// The configuration of a bundle.
fn bundle(root: &Path, folder: &Path) -> Value {
    let mounted = |place: &str, kind: &str| json!({"destination": place, "type": kind, "source": kind});
    let mut mounts: Vec<Value> = [("/proc", "proc"), ("/sys", "sysfs")]
        .into_iter()
        .chain(["/dev", "/dev/shm", "/tmp", "/run"].map(|place| (place, "tmpfs")))
        .map(|(place, kind)| mounted(place, kind))
        .collect();
    mounts.push(json!({"destination": FOLDER, "type": "bind", "source": folder, "options": ["rw"]}));
    let sets = ["bounding", "effective", "permitted", "inheritable"];
    let capabilities: serde_json::Map<String, Value> =
        sets.into_iter().map(|set| (set.to_owned(), json!(CAPABILITIES))).collect();
    let namespaces = ["pid", "network", "ipc", "uts", "mount"].map(|kind| json!({"type": kind}));
    json!({
        "ociVersion": "1.0.2",
        "hostname": "pitot",
        "root": {"path": root, "readonly": false},
        "process": {
            "terminal": false,
            "user": {"uid": 0, "gid": 0},
            "cwd": "/tmp",
            "env": ["PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "TMPDIR=/tmp", "LC_ALL=C"],
            "args": ["/usr/bin/pitot", "guest", "--answer", format!("{FOLDER}/{ANSWER}")],
            "capabilities": capabilities,
            "rlimits": [{"type": "RLIMIT_NOFILE", "soft": DESCRIPTORS, "hard": DESCRIPTORS}],
        },
        "mounts": mounts,
        "linux": {"namespaces": namespaces},
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_read_from_what_runsc_prints() {
        assert_eq!(version("runsc version release-20260105.0\nspec: 1.2.1\n"), "release-20260105.0");
        assert_eq!(version("runsc version VERSION_MISSING\nspec: 1.2.1\n"), "of an unknown version");
        assert_eq!(version(""), "of an unknown version");
    }

    #[test]
    fn the_version_that_is_built_is_that_of_the_module() {
        let build = GVISOR_BUILD.join(" ");
        let date = build.split("version.version=").nth(1).unwrap().split('.').next().unwrap();
        let (_, module) = GVISOR_MODULE[0];
        assert!(module.contains(&format!("gvisor.dev/gvisor v0.0.0-{date}")), "{date}");
    }

    #[test]
    fn a_bundle_has_the_job_mounted_and_pitot_as_its_first_process() {
        let bundle = bundle(Path::new("/a/root"), Path::new("/a/job"));
        assert_eq!(bundle["root"]["path"], "/a/root");
        let mounts = bundle["mounts"].as_array().unwrap();
        assert!(mounts.iter().any(|m| m["destination"] == "/pitot" && m["source"] == "/a/job"));
        assert_eq!(bundle["process"]["args"][1], "guest");
    }
}
