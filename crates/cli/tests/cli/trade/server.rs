//! A server as a child, killed when the test ends.

use std::io::Read;
use std::process::{Command, ExitStatus, Stdio};

use rustix::process::Signal;
use serde_json::Value;

use crate::support::{PITOT, Running};

pub(crate) struct Server {
    child: Running,
    pub(crate) address: String,
}

impl Server {
    pub(crate) fn start(options: &[&str]) -> Server {
        Server::with(options, Stdio::inherit())
    }

    /// One whose standard error goes there.
    pub(crate) fn with(options: &[&str], errors: Stdio) -> Server {
        let mut child = Running::start(
            Command::new(PITOT)
                .args(["serve", "trade", "--stats", "json", "--users", "40", "--quotes", "60"])
                .args(options)
                .stdout(Stdio::piped())
                .stderr(errors),
        );
        let address = child.ready();
        Server { child, address }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Stops it in order: its statistics.
    pub(crate) fn stop(mut self) -> Value {
        self.child.signal(Signal::TERM);
        let text = self.child.printed();
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{status}: {text}");
        serde_json::from_str(text.lines().last().unwrap()).unwrap()
    }

    /// Asks it to stop: how it ended, and what it said on its standard error, which is a pipe.
    pub(crate) fn end(mut self) -> (ExitStatus, String) {
        self.child.signal(Signal::TERM);
        let mut said = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        (self.child.wait().unwrap(), said)
    }

    /// Ends it without a warning.
    pub(crate) fn kill(mut self) {
        self.child.kill();
    }
}
