//! The program that is traced: it uses one store in a directory. `pitot-failing STORE DIRECTORY`
#![forbid(unsafe_code)]

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use pitot_failing::store;

/// It takes milliseconds.
const HANGS: Duration = Duration::from_secs(30);

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, root] = &arguments[..] else { return ExitCode::from(2) };
    let Some(store) = store::find(name) else { return ExitCode::from(2) };
    std::thread::spawn(|| {
        std::thread::sleep(HANGS);
        std::process::exit(3);
    });
    (store.work)(Path::new(root), &mut |line| {
        // One call for a line, which the tracer reads.
        let _ = std::io::stdout().write_all(format!("{line}\n").as_bytes());
    });
    ExitCode::SUCCESS
}
