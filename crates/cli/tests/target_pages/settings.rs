//! Whether connections persist, and how many threads there are, as the settings say: read from replies and from `/proc`.

use pitot_needs::needs;

use crate::listed;
use crate::server::{keeps, start};

/// Starts a target with settings under which connections do not persist; it has as many threads of a name as they say.
fn is_as_its_settings_say(target: &str, settings: &str, name: &str, threads: usize) {
    let server = start(target, &format!("keepalive = \"off\"\n{settings}"));
    assert!(!keeps(&server.address), "{target} keeps connections");
    if !name.is_empty() {
        assert_eq!(server.threads(name), threads, "{target} with {settings}");
    }
}

/// The same where `pitot target install` has installed it.
fn if_installed(target: &str, settings: &str, name: &str, threads: usize) {
    if listed().iter().any(|entry| entry["name"] == target && entry["installed"] == true) {
        is_as_its_settings_say(target, settings, name, threads);
    }
}

#[needs("varnishd")]
#[test]
fn varnish_has_the_threads_and_closes_the_connections_that_its_settings_say() {
    is_as_its_settings_say("varnish", "threads = 12", "cache-worker", 12);
}

#[needs("caddy")]
#[test]
fn caddy_closes_the_connections_that_its_settings_say() {
    is_as_its_settings_say("caddy", "", "", 0);
}

#[test]
fn tomcat_has_the_threads_and_closes_the_connections_that_its_settings_say() {
    // Besides those that carry out requests there is one that accepts, and one that waits for events.
    if_installed("tomcat", "threads = 3", "http-nio", 3 + 2);
}

#[test]
fn jetty_has_the_threads_and_closes_the_connections_that_its_settings_say() {
    if_installed("jetty", "threads = 7\naccess-log = \"on\"", "qtp", 7);
}

#[test]
fn undertow_has_the_threads_and_closes_the_connections_that_its_settings_say() {
    if_installed("undertow", "io-threads = 3", "I/O-", 3);
}

#[test]
fn open_liberty_closes_the_connections_that_its_settings_say() {
    if_installed("open-liberty", "", "", 0);
}

#[test]
fn programs_of_rust_and_go_have_the_threads_and_close_the_connections_that_their_settings_say() {
    if_installed("rust-hyper", "threads = 3", "tokio-rt-worker", 3);
    if_installed("rust-actix", "workers = 3", "actix-rt|system", 3);
    if_installed("rust-compio", "", "", 0);
    if_installed("go-http", "", "", 0);
}
