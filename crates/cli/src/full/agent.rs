//! `pitot agent --bus`: takes parts of runs from a bus, and carries each out as `pitot run` would.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, Stdio};

use pitot_bus::{Agent, Running, Trouble, TrustedKey, Work, is_name};
use pitot_host::{Fingerprint, digest};
use pitot_lab::Guardian;
use pitot_results::{Failure, stderr};
use pitot_serve::pairs;
use pitot_sys::signal::{Signal, SignalFd};
use pitot_sys::spawn;

use super::bus::tell;
use super::complaint::complaint;
use crate::agent::OnBus;
use crate::runs::{WAITING, own_path};

impl OnBus {
    pub(crate) fn run(&self, guardian: &Guardian) -> Result<ExitCode, Failure> {
        let trusted = self.trust.iter().map(|key| TrustedKey::parse(key)).collect::<Result<Vec<_>, _>>()?;
        if trusted.is_empty() {
            return Err(Failure::misuse(
                "an agent on a bus runs commands of others, and no key is trusted",
                "name the key whose jobs it accepts: --trust KEY (pitot bus-key FILE makes one)",
            ));
        }
        let host = Fingerprint::collect();
        let name = self.name.clone().unwrap_or_else(|| {
            // The part before the first dot.
            let full = host.facts.iter().find(|fact| fact.name == "host name").map(|fact| &*fact.value);
            full.and_then(|full| full.split('.').next()).unwrap_or_default().to_owned()
        });
        if !is_name(&name) {
            return Err(Failure::misuse(
                format!("`{name}` is not a valid name for an agent"),
                "use letters, digits, - and _: --name NAME",
            ));
        }
        let signals = SignalFd::new(&[Signal::Interrupt, Signal::Terminate]).map_err(|e| {
            Failure::run(format!("signals cannot be received: {e}"), "raise the limit on descriptors")
        })?;
        let stopped = std::cell::Cell::new(false);
        let stop = || {
            stopped.set(stopped.get() || signals.next().is_some());
            stopped.get()
        };
        let Some(connection) = self.options.connect()? else { return Ok(ExitCode::SUCCESS) };
        let about = serde_json::json!({
            "version": env!("CARGO_PKG_VERSION"),
            "cpus": pitot_sys::affinity::allowed().map(|cpus| cpus.len()).unwrap_or(0),
            "memory-bytes": pitot_host::memory_total_bytes(),
            "lacks": lacking(),
            "holds": held(),
            "fingerprint": digest(&host),
        });
        let agent = Agent { connection: &connection, name: &name, about, trusted: &trusted, tell };
        stderr::line(format_args!("the agent `{name}` waits for jobs"));
        let mut parts =
            Parts { pitot: own_path()?, dir: guardian.dir().to_owned(), number: 0, waits: !self.no_wait };
        agent.serve(&mut parts, &stop)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Names of the mechanisms that this host's kernel does not have.
fn lacking() -> Vec<&'static str> {
    let mut names: Vec<&str> =
        pairs().iter().filter(|pair| pair.unavailable.is_some()).map(|pair| pair.mechanism.name).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Names of the targets that this host has.
fn held() -> Vec<String> {
    let Ok(registry) = crate::targets::registry() else { return Vec::new() };
    let places = pitot_target::Places::of_this_machine();
    let is_there = |known: &&pitot_target::Known| places.find(&known.target).is_ok();
    registry.targets.iter().filter(is_there).map(|known| known.target.name.clone()).collect()
}

/// Carries out parts, each in a process of its own.
struct Parts {
    pitot: String,
    dir: PathBuf,
    number: usize,
    /// Whether a part waits until no other run is under way here.
    waits: bool,
}

impl Work for Parts {
    fn start(&mut self, text: &str) -> Result<Box<dyn Running>, String> {
        self.number += 1;
        let at = |ending: &str| self.dir.join(format!("part-{}.{ending}", self.number));
        let files = Files([at("json"), at("pitot"), at("log")]);
        let Files([part, result, said]) = &files;
        let cannot = |e: std::io::Error| format!("its files cannot be written: {e}");
        fs::write(part, text).map_err(cannot)?;
        let mut command = Command::new(&self.pitot);
        command.args(["run", "--part"]).arg(part).arg("--output").arg(result);
        command.args(self.waits.then_some("--wait"));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(File::create(said).map_err(cannot)?);
        // It dies with this process, and its guardian ends what it has started.
        spawn::isolate(&mut command, &[]);
        let child = command.spawn().map_err(|e| format!("pitot run cannot be started: {e}"))?;
        Ok(Box::new(UnderWay { child, files }))
    }

    fn open(&mut self) -> Result<Child, String> {
        let mut command = Command::new(&self.pitot);
        command.arg("agent").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        spawn::isolate(&mut command, &[]);
        command.spawn().map_err(|e| format!("pitot agent cannot be started: {e}"))
    }
}

struct UnderWay {
    child: Child,
    files: Files,
}

/// The part, its result, and what the process says. They are removed with it, also where the process cannot be started.
struct Files([PathBuf; 3]);

impl Drop for Files {
    fn drop(&mut self) {
        for file in &self.0 {
            let _ = fs::remove_file(file);
        }
    }
}

impl Running for UnderWay {
    fn poll(&mut self) -> Option<Result<Vec<u8>, Trouble>> {
        let status = match self.child.try_wait() {
            Ok(None) => return None,
            Ok(Some(status)) => status,
            Err(e) => return Some(Err(Trouble::Failed(format!("pitot run cannot be waited for: {e}")))),
        };
        let Files([_, result, said]) = &self.files;
        if status.success() {
            let unread = |e: std::io::Error| Trouble::Failed(format!("its result cannot be read: {e}"));
            return Some(fs::read(result).map_err(unread));
        }
        let said = complaint(&fs::read(said).unwrap_or_default());
        let why = said.unwrap_or_else(|| format!("pitot run ended with {status}"));
        // It was refused before anything was measured: a program is missing here, or the kernel lacks something.
        Some(Err(if status.code() == Some(2) { Trouble::Lacks(why) } else { Trouble::Failed(why) }))
    }

    fn waits_for(&mut self) -> Option<String> {
        let Files([.., said]) = &self.files;
        waiting(&fs::read_to_string(said).unwrap_or_default())
    }
}

/// What a process waits for, if that is the last that it has said.
fn waiting(said: &str) -> Option<String> {
    said.lines().last().filter(|line| line.starts_with(WAITING)).map(str::to_owned)
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_part_waits_for_is_what_it_has_said_last() {
        let waits = format!("{WAITING} another run of Pitot to end (process 7, `quick`)");
        assert_eq!(waiting(&format!("a warning\n{waits}\n")), Some(waits.clone()));
        assert_eq!(waiting(&format!("{waits}\nthe other run has ended\n")), None);
        assert_eq!(waiting(""), None);
    }

    #[test]
    fn a_part_that_cannot_be_started_leaves_no_files() {
        let dir = tempfile::tempdir().unwrap();
        let pitot = dir.path().join("none").to_string_lossy().into_owned();
        let mut parts = Parts { pitot, dir: dir.path().to_owned(), number: 0, waits: false };
        assert!(parts.start("{}").is_err_and(|why| why.contains("cannot be started")));
        // Its log cannot be made.
        fs::create_dir(dir.path().join("part-2.log")).unwrap();
        assert!(parts.start("{}").is_err_and(|why| why.contains("cannot be written")));
        fs::remove_dir(dir.path().join("part-2.log")).unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
