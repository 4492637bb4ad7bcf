//! `cargo test --release -p pitot-failing -- --nocapture` prints a line for each store.
#![cfg(target_arch = "x86_64")]
#![forbid(unsafe_code)]

use std::process::Command;

use pitot_needs::needs;

fn nothing_is_lost(store: &str) {
    let output = Command::new(env!("CARGO_BIN_EXE_pitot-failing")).arg(store).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    print!("{printed}");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{printed}{stderr}");
}

#[needs("tracing")]
#[test]
fn the_host_journal_loses_nothing() {
    nothing_is_lost("host journal");
}

#[needs("tracing")]
#[test]
fn the_mail_journal_loses_nothing() {
    nothing_is_lost("mail journal");
}

#[needs("tracing")]
#[test]
fn the_maildir_loses_nothing() {
    nothing_is_lost("Maildir");
}

#[needs("tracing")]
#[test]
fn uploads_lose_nothing() {
    nothing_is_lost("uploads");
}

#[needs("tracing")]
#[test]
fn the_run_file_loses_nothing() {
    nothing_is_lost("run file");
}

#[needs("tracing")]
#[test]
fn the_soak_file_loses_nothing() {
    nothing_is_lost("soak file");
}
