//! `pitot load --requests`, `--replay` and sessions, against a server that checks what it receives.

mod formats;
mod numbers;
mod replay;
mod server;
mod sessions;
mod table;

use std::fs;
use std::io::Write as _;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::support::{PITOT, stderr};

/// Runs `pitot load` with this on its standard input.
fn load_with_input(arguments: &[&str], input: &str) -> Output {
    let mut child = Command::new(PITOT)
        .arg("load")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // It may end without reading it.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

/// Runs `pitot load` for its JSON and its exit code.
fn load(arguments: &[&str]) -> (Value, i32) {
    let output = load_with_input(&[arguments, &["--json", "-"]].concat(), "");
    let value = serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", stderr(&output)));
    (value, output.status.code().unwrap())
}

/// Runs `pitot load` and expects that it is refused: what standard error says.
fn refused(arguments: &[&str]) -> String {
    let output = load_with_input(arguments, "");
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    said
}

/// A file that is gone with its directory when the test ends.
struct File {
    _directory: tempfile::TempDir,
    path: String,
}

fn file(content: &str) -> File {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("requests");
    fs::write(&path, content).unwrap();
    File { path: path.to_str().unwrap().to_owned(), _directory: directory }
}
