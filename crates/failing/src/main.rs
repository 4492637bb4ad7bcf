//! `pitot-failing STORE` tries a store and prints what came of it. It is one process for each store: a file that one of them
//! has locked would stay locked for a moment in the children that another one starts.
//!
//! `pitot-failing STORE DIRECTORY` is what it traces: it uses the store.
#![forbid(unsafe_code)]

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use pitot_failing::store::{self, Store};

/// It takes milliseconds.
const HANGS: Duration = Duration::from_secs(30);

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let names: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let Some(store) = names.first().and_then(|name| store::find(name)) else { return ExitCode::from(2) };
    match names[1..] {
        [] => prove(store),
        [root] => work(store, Path::new(root)),
        _ => ExitCode::from(2),
    }
}

#[cfg(target_arch = "x86_64")]
fn prove(store: &'static Store) -> ExitCode {
    let program = std::env::current_exe().expect("the path of this program");
    let proof = pitot_failing::proof::prove(&program, store);
    let _ = writeln!(std::io::stdout(), "{proof}");
    ExitCode::from(u8::from(!proof.failures.is_empty()))
}

#[cfg(not(target_arch = "x86_64"))]
fn prove(_: &'static Store) -> ExitCode {
    ExitCode::from(2)
}

fn work(store: &Store, root: &Path) -> ExitCode {
    std::thread::spawn(|| {
        std::thread::sleep(HANGS);
        std::process::exit(3);
    });
    (store.work)(root, &mut |line| {
        // One call for a line, which the tracer reads.
        let _ = std::io::stdout().write_all(format!("{line}\n").as_bytes());
    });
    ExitCode::SUCCESS
}
