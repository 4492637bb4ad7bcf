//! What `pitot load` sends over HTTP, and what it makes of the replies, against a server that keeps what it receives.

mod contents;
mod live;
mod reach;
mod repeats;
mod server;
mod visits;

use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::support::{PITOT, stderr};

/// Runs `pitot load` to its end, without the proxies of the environment.
fn load(arguments: &[&str]) -> Output {
    let mut command = Command::new(PITOT);
    for name in
        ["http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "no_proxy"]
    {
        command.env_remove(name);
    }
    command.arg("load").args(arguments).stdin(Stdio::null()).output().unwrap()
}

/// Runs it for its JSON.
fn json(arguments: &[&str]) -> Value {
    let output = load(&[arguments, &["--json", "-"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The one line on what is wrong and the one on how to fix it of options that are refused.
fn refused(arguments: &[&str]) -> String {
    let output = load(arguments);
    let error = stderr(&output).to_owned();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
    assert_eq!(error.lines().count(), 2, "{arguments:?}: {error}");
    error
}
