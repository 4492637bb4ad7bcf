//! `pitot load --http 2` against real servers and one that misbehaves as the test says.

mod refusals;
mod scripted;
mod servers;
mod users;
mod with_servers;

use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::support::{PITOT, stderr};

/// Runs `pitot load --http 2` to its end.
fn load(arguments: &[&str]) -> Output {
    let mut command = Command::new(PITOT);
    command.args(["load", "--http", "2"]).args(arguments).stdin(Stdio::null()).output().unwrap()
}

/// Its JSON, whether it succeeds or not.
fn json(arguments: &[&str]) -> Value {
    let output = load(&[arguments, &["--json", "-"]].concat());
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| {
        panic!("{arguments:?}: {e}: {}", stderr(&output));
    })
}

/// Requests that were answered right, and all errors as `phase kind`.
fn outcome(result: &Value) -> (u64, Vec<String>) {
    let errors = result["errors"].as_array().unwrap().iter();
    let errors = errors.map(|e| format!("{} {}", e["phase"].as_str().unwrap(), e["kind"].as_str().unwrap()));
    (result["requests"]["ok"].as_u64().unwrap(), errors.collect())
}

/// What the protocol has counted.
fn count(result: &Value, name: &str) -> u64 {
    result["protocol"][name].as_u64().unwrap_or(0)
}
