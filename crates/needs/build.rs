//! Looks at the machine once for each build of the tests, and again whenever an answer of "missing" could have changed.
#![forbid(unsafe_code)]

#[path = "src/requirements.rs"]
mod requirements;

use requirements::{REQUIREMENTS, Requirement, program_directories};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/requirements.rs");
    println!("cargo::rerun-if-env-changed=PATH");
    let missing: Vec<&Requirement> =
        REQUIREMENTS.iter().filter(|requirement| !requirement.is_met()).collect();
    let names: Vec<&str> = missing.iter().map(|requirement| requirement.name).collect();
    println!("cargo::rustc-env=PITOT_MISSING={}", names.join(","));

    // What is there needs no watching: if it goes, the test fails, which is loud enough. What is missing appears in one
    // of these directories, whose time of change cargo compares.
    if missing.iter().any(|requirement| requirement.is_watchable()) {
        for directory in program_directories().filter(|directory| directory.is_dir()) {
            println!("cargo::rerun-if-changed={}", directory.display());
        }
        println!("cargo::rerun-if-changed=/etc/ssl/certs");
    }
    // A property of the kernel changes without a trace in any file: cargo asks again at every build where a file that it
    // should watch does not exist.
    if missing.iter().any(|requirement| !requirement.is_watchable()) {
        println!("cargo::rerun-if-changed=ask-at-every-build");
    }
}
