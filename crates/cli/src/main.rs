//! The `pitot` command.
#![forbid(unsafe_code)]

fn main() {}
