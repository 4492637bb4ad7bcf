//! What the tests of all subjects share.

use std::fmt::Debug;
use std::io::Read;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::ops::{Deref, DerefMut};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output};
use std::thread;
use std::time::{Duration, Instant};

use pitot_record::Run;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, getsockname, socket_with, sockopt};
use rustix::process::{Pid, Signal, kill_process};

pub(crate) const PITOT: &str = env!("CARGO_BIN_EXE_pitot");

/// Longer than anything that a test waits for takes, on however slow a machine.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(300);

/// Checks that a generated file has this text. With `PITOT_WRITE_DOCS=1` in the environment it is written first.
#[track_caller]
pub(crate) fn assert_generated(path: &Path, text: &str) {
    if std::env::var_os("PITOT_WRITE_DOCS").is_some() {
        std::fs::write(path, text).unwrap();
    }
    let found = std::fs::read_to_string(path).unwrap_or_default();
    assert!(found == text, "{} is out of date: run this test with PITOT_WRITE_DOCS=1", path.display());
}

/// Waits until something holds.
#[track_caller]
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    until_some(what, || holds().then_some(()));
}

/// Waits until there is something, and returns it.
#[track_caller]
pub(crate) fn until_some<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    until_ok(what, || look().ok_or("nothing"))
}

/// Waits until `look` succeeds, and returns what it found. A test that waits in vain says what was there instead.
#[track_caller]
pub(crate) fn until_ok<T, E: Debug>(what: &str, mut look: impl FnMut() -> Result<T, E>) -> T {
    let begun = Instant::now();
    loop {
        match (look(), begun.elapsed()) {
            (Ok(found), _) => return found,
            (Err(instead), waited) if waited > TIMEOUT => panic!("waited in vain: {what}: {instead:#?}"),
            // Most of it happens within a fraction of a millisecond; what takes longer is looked for less often.
            (Err(_), waited) => {
                thread::sleep((waited / 8).clamp(Duration::from_micros(50), Duration::from_millis(10)));
            }
        }
    }
}

/// A process that is killed when the test ends, however it ends.
pub(crate) struct Running(Child);

impl Running {
    pub(crate) fn start(command: &mut Command) -> Running {
        Running(command.spawn().unwrap_or_else(|e| panic!("{command:?}: {e}")))
    }

    /// Where a server listens, which is the first that it prints.
    #[track_caller]
    pub(crate) fn ready(&mut self) -> String {
        let (mut line, mut byte) = (String::new(), [0]);
        // Byte by byte, so that nothing of what follows is lost in a buffer.
        while byte != *b"\n" {
            self.0.stdout.as_mut().expect("a pipe").read_exact(&mut byte).expect("a line");
            line.push(byte[0].into());
        }
        let address = line.trim_end().strip_prefix("ready ");
        address.unwrap_or_else(|| panic!("it is not ready: {line}")).to_owned()
    }

    /// Waits until it takes connections.
    #[track_caller]
    pub(crate) fn listens(&mut self, address: SocketAddr) {
        until("the server listens", || {
            let ended = self.0.try_wait().unwrap();
            assert!(ended.is_none(), "it has ended: {ended:?}");
            TcpStream::connect(address).is_ok()
        });
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).unwrap();
    }

    pub(crate) fn kill(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }

    /// The rest of its standard output.
    pub(crate) fn printed(&mut self) -> String {
        let mut text = String::new();
        self.0.stdout.as_mut().expect("a pipe").read_to_string(&mut text).unwrap();
        text
    }

    /// How it ended, once it has.
    #[track_caller]
    pub(crate) fn ended(&mut self) -> ExitStatus {
        until_some("the process ends", || self.0.try_wait().unwrap())
    }
}

impl Deref for Running {
    type Target = Child;

    fn deref(&self) -> &Child {
        &self.0
    }
}

impl DerefMut for Running {
    fn deref_mut(&mut self) -> &mut Child {
        &mut self.0
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A port of 127.0.0.1 that is reserved for one server. A bound socket that does not listen reserves it: the kernel does not give the
/// port to those that bind port 0, and a server that sets SO_REUSEADDR, as all do, can still listen there.
pub(crate) struct Port {
    pub(crate) address: SocketAddr,
    _held: OwnedFd,
}

impl Port {
    pub(crate) fn new() -> Port {
        let held = socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None).unwrap();
        sockopt::set_socket_reuseaddr(&held, true).unwrap();
        bind(&held, &SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).unwrap();
        Port { address: getsockname(&held).unwrap().try_into().unwrap(), _held: held }
    }

    pub(crate) fn number(&self) -> u16 {
        self.address.port()
    }
}

/// A directory with a plan and its run file. Whatever a run of it starts is known by the directory in its environment.
pub(crate) struct Bed {
    pub(crate) dir: tempfile::TempDir,
}

impl Bed {
    pub(crate) fn new(plan: &str) -> Bed {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("plan.toml"), plan).unwrap();
        Bed { dir }
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.dir.path().join("run.pitot")
    }

    pub(crate) fn open(&self) -> Run {
        Run::open(&self.file()).unwrap()
    }

    pub(crate) fn in_place(&self, mut command: Command) -> Command {
        command.current_dir(self.dir.path()).env("TMPDIR", self.dir.path());
        command
    }

    /// `pitot run` with these arguments.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(PITOT);
        command.arg("run").args(arguments);
        self.in_place(command)
    }
}

/// Signals a process that is no child of the test.
pub(crate) fn signal(pid: u32, signal: Signal) {
    kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), signal).unwrap();
}

/// What a command has printed: its standard output, then its standard error.
pub(crate) fn text(output: &Output) -> String {
    [stdout(output), stderr(output)].concat()
}

pub(crate) fn stdout(output: &Output) -> &str {
    str::from_utf8(&output.stdout).unwrap()
}

pub(crate) fn stderr(output: &Output) -> &str {
    str::from_utf8(&output.stderr).unwrap()
}
