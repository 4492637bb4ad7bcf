//! What this build includes: with the feature `full` everything.

use std::ffi::OsString;

use pitot_results::Failure;

/// The version with the commit and the kind of the build: `0.2.0 (abc123def 2026-11-26, full, x86_64-linux-gnu, static)`.
pub(crate) fn version() -> String {
    // The release script says which commit this is; a build by hand may be of anything.
    let commit = option_env!("PITOT_COMMIT").map(|commit| format!("{commit}, ")).unwrap_or_default();
    let size = if cfg!(feature = "full") { "full" } else { "small" };
    let arch = std::env::consts::ARCH;
    let libc = if cfg!(target_env = "musl") { "musl" } else { "gnu" };
    let linked = if cfg!(target_feature = "crt-static") { ", static" } else { "" };
    format!("{} ({commit}{size}, {arch}-linux-{libc}{linked})", env!("CARGO_PKG_VERSION"))
}

/// Commands of a full build only, with the word after them if only that is.
const ONLY_FULL: [(&str, Option<&str>); 9] = [
    ("mail", None),
    ("web", None),
    ("serve", Some("dns")),
    ("serve", Some("trade")),
    ("fault", Some("resolver")),
    ("kernel", None),
    ("guest", None),
    ("bus-key", None),
    ("bus-connect", None),
];

/// Refuses a command that this build does not include. `words`: the command line with the program's name. Help is always available.
///
/// # Errors
/// What is missing, and how to build it.
pub(crate) fn check(words: &[OsString]) -> Result<(), Failure> {
    if cfg!(feature = "full") || words.iter().any(|word| word == "--help" || word == "-h") {
        return Ok(());
    }
    let is_meant = |(command, second): &&(&str, Option<&str>)| {
        let has = |at: usize, name: &str| words.get(at).is_some_and(|word| word == name);
        has(1, command) && second.is_none_or(|second| has(2, second))
    };
    match ONLY_FULL.iter().find(is_meant) {
        None => Ok(()),
        Some((command, None)) => Err(missing(&format!("`pitot {command}`"))),
        Some((command, Some(second))) => Err(missing(&format!("`pitot {command} {second}`"))),
    }
}

/// The failure of what this build does not have.
pub(crate) fn missing(what: &str) -> Failure {
    Failure::misuse(
        format!(
            "{what} is not in this build of Pitot, which has no mail, DNS, brokerage, bus, guests and pages"
        ),
        "build everything: cargo build --release --features full",
    )
}
