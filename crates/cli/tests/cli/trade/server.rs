//! A server as a child, killed when the test ends.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};

use serde_json::Value;

pub(crate) struct Server {
    child: Child,
    out: BufReader<ChildStdout>,
    pub(crate) address: String,
}

impl Server {
    pub(crate) fn start(options: &[&str]) -> Server {
        Server::with(options, Stdio::inherit())
    }

    /// One whose standard error goes there.
    pub(crate) fn with(options: &[&str], errors: Stdio) -> Server {
        let mut child = Command::new(env!("CARGO_BIN_EXE_pitot"))
            .args(["serve", "trade", "--stats", "json", "--users", "40", "--quotes", "60"])
            .args(options)
            .stdout(Stdio::piped())
            .stderr(errors)
            .spawn()
            .unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        let address =
            line.trim().strip_prefix("ready ").unwrap_or_else(|| panic!("not ready: {line}")).to_owned();
        Server { child, out, address }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Stops it in order: its statistics.
    pub(crate) fn stop(mut self) -> Value {
        signal(self.pid(), rustix::process::Signal::TERM);
        let mut text = String::new();
        self.out.read_to_string(&mut text).unwrap();
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{status}: {text}");
        serde_json::from_str(text.lines().last().unwrap()).unwrap()
    }

    /// Asks it to stop: how it ended, and what it said on its standard error, which is a pipe.
    pub(crate) fn end(mut self) -> (ExitStatus, String) {
        signal(self.pid(), rustix::process::Signal::TERM);
        let mut said = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        (self.child.wait().unwrap(), said)
    }

    /// Ends it without a warning.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn signal(pid: u32, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    rustix::process::kill_process(pid, signal).unwrap();
}
