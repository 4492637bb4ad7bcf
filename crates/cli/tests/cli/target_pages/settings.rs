//! Whether connections persist, whether there is an access log, and how many threads there are, as the settings say: read from
//! replies, from files and from `/proc`.

use std::path::Path;

use super::listed;
use super::server::{ask, keeps, start};
use crate::support::{until, until_ok};

/// Starts a target with these settings, and with an access log and connections that do not persist where it has the settings. It
/// closes them, its log grows, and it has so many threads whose names contain a word.
pub(crate) fn are_so(target: &str, settings: &str, threads: &[(&str, usize)]) {
    let entry = listed().iter().find(|entry| entry["name"] == target).unwrap();
    let has = |name: &str| entry["settings"].as_array().unwrap().iter().any(|s| s["name"] == name);
    let with = |name: &str, value: &str| match has(name) {
        true => format!("{name} = \"{value}\"\n"),
        false => panic!("{target} has no setting {name}"),
    };
    let server = start(
        target,
        "dynamic",
        &format!("{}{}{settings}", with("keepalive", "off"), with("access-log", "on")),
    );
    assert!(!keeps(&server.address), "{target} keeps connections");
    let log = || logged(server.dir.path());
    let before = log();
    until(&format!("{target} writes a log"), || {
        assert_eq!(ask(&server.address, "GET", "/dynamic", b"").map(|reply| reply.0), Some(200));
        log() > before
    });
    for (name, count) in threads {
        until_ok(&format!("{target} with {settings} has {count} threads {name}"), || {
            // Some have their threads once there are requests for them at the same time.
            std::thread::scope(|scope| {
                for _ in 0..16 {
                    scope.spawn(|| ask(&server.address, "GET", "/dynamic", b""));
                }
            });
            let found = server.threads(name);
            if found == *count { Ok(()) } else { Err(found) }
        });
    }
}

/// Bytes of all files below a directory that are access logs by their names, what the server printed included.
pub(crate) fn logged(dir: &Path) -> u64 {
    let is_log = |name: &str| ["access", "request.log", "printed"].iter().any(|word| name.contains(word));
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.path() {
            path if path.is_dir() => logged(&path),
            path if is_log(&entry.file_name().to_string_lossy()) => {
                path.metadata().map_or(0, |meta| meta.len())
            }
            _ => 0,
        })
        .sum()
}
