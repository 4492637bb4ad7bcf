//! The program `pitot`.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    pitot_cli::main()
}
