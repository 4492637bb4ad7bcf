//! What targets serve is the same for all of them, byte by byte, and what the report says of their settings is so. Each is
//! started by the commands that `--dry-run` shows, so that these are tried as well.

mod server;
mod settings;

use std::process::Command;
use std::sync::OnceLock;

use pitot_needs::needs;

use server::{Server, ask, keeps, says_that_its_port_is_taken, start};

use crate::support::PITOT;

/// All targets, as the list has them. It is made once: each of those that are installed is asked for its version.
fn listed() -> &'static [serde_json::Value] {
    static LIST: OnceLock<Vec<serde_json::Value>> = OnceLock::new();
    LIST.get_or_init(|| {
        let output = Command::new(PITOT).args(["list", "targets", "--format", "json"]).output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap()
    })
}

fn entry(target: &str) -> &'static serde_json::Value {
    listed().iter().find(|entry| entry["name"] == target).unwrap()
}

/// Whether a target serves a page whatever it is asked for.
fn always_has(target: &str, page: &str) -> bool {
    let is_in = |key: &str| entry(target)[key].to_string().contains(&format!("\"{page}\""));
    !is_in("cannot") && !is_in("on_demand")
}

/// Every page of a target is what all serve, but for those that its entry says it cannot serve, or only where it is asked for.
fn conforms(target: &str) {
    let server = start(target, "dynamic", "");
    assert!(keeps(&server.address), "{target}");
    serves(&server, target, |page| always_has(target, page));
}

/// A page that a target has only where it is asked for is what all serve, and so are the others then.
fn serves_on_demand(target: &str, page: &str) {
    let on_demand = entry(target)["on_demand"].as_array().unwrap();
    assert!(on_demand.iter().any(|name| name == page), "{target}: {on_demand:?}");
    let server = start(target, page, "");
    assert!(keeps(&server.address), "{target}");
    serves(&server, target, |name| name == page || always_has(target, name));
}

/// The pages of a server that has these are what all serve.
fn serves(server: &Server, target: &str, has: impl Fn(&str) -> bool) {
    for (page, bytes) in [("1k", 1 << 10), ("16k", 16 << 10), ("1m", 1 << 20)] {
        let has_file = server.dir.path().join("html").join(page).is_file();
        if has(page) && has_file {
            let reply = ask(&server.address, "GET", &format!("/{page}"), b"").unwrap();
            assert!(reply == (200, vec![b'x'; bytes]), "{target} /{page}: {} {}", reply.0, reply.1.len());
        }
    }
    let (status, page) = ask(&server.address, "GET", "/dynamic", b"").unwrap();
    let page = String::from_utf8(page).unwrap();
    let time = page.strip_prefix("<!DOCTYPE html>\n<title>A page made for this request</title>\n<p>");
    let time =
        time.and_then(|rest| rest.strip_suffix("</p>\n")).unwrap_or_else(|| panic!("{target}: {page:?}"));
    assert_eq!(
        (status, time.len(), &time[10..11], &time[19..]),
        (200, 25, "T", "+00:00"),
        "{target}: {page}"
    );
    if has("echo") {
        // All bytes, more than fits into one segment or buffer, and little, so that nothing of what was before is left.
        let all = (0..=255).collect::<Vec<u8>>();
        for sent in [all.clone(), all.iter().copied().cycle().take(100_000).collect(), b"again".to_vec()] {
            let (status, content) = ask(&server.address, "POST", "/echo", &sent).unwrap();
            assert_eq!((status, content.len()), (200, sent.len()), "{target} /echo");
            assert!(content == sent, "{target} /echo: other bytes than were sent");
        }
    }
}

/// A test for each target: what it serves with its own settings, and then what it does with others.
macro_rules! targets {
    ($($test:ident: $need:literal, $target:literal, $settings:literal, $threads:expr;)*) => {
        /// The targets that have a test.
        const TESTED: &[&str] = &[$($target),*];
        $(
            #[needs($need)]
            #[test]
            fn $test() {
                conforms($target);
                settings::are_so($target, $settings, $threads);
            }
        )*
    };
}

targets! {
    nginx_serves_what_all_serve_and_is_as_its_settings_say: "nginx", "nginx", "workers = 3", &[("nginx", 4)];
    lighttpd_serves_what_all_serve_and_is_as_its_settings_say: "lighttpd", "lighttpd", "workers = 2", &[("lighttpd", 3)];
    haproxy_serves_what_all_serve_and_is_as_its_settings_say: "haproxy", "haproxy", "threads = 3", &[("haproxy", 3)];
    caddy_serves_what_all_serve_and_is_as_its_settings_say: "caddy", "caddy", "", &[];
    varnish_serves_what_all_serve_and_is_as_its_settings_say:
        "varnishd", "varnish", "threads = 12", &[("cache-worker", 12)];
    // A process that starts others; each of those has a thread that listens and one that started the others.
    apache_event_serves_what_all_serve_and_is_as_its_settings_say:
        "apache2", "apache-event", "workers = 2\nthreads = 5", &[("apache2", 1 + 2 * (5 + 2))];
    apache_worker_serves_what_all_serve_and_is_as_its_settings_say:
        "apache2", "apache-worker", "workers = 2\nthreads = 5", &[("apache2", 1 + 2 * (5 + 2))];
    apache_prefork_serves_what_all_serve_and_is_as_its_settings_say:
        "apache2", "apache-prefork", "workers = 5", &[("apache2", 6)];
    // Besides those that carry out requests there is one that accepts, and one that waits for events.
    tomcat_serves_what_all_serve_and_is_as_its_settings_say:
        "tomcat", "tomcat", "threads = 3", &[("http-nio", 3 + 2)];
    jetty_serves_what_all_serve_and_is_as_its_settings_say: "jetty", "jetty", "threads = 7", &[("qtp", 7)];
    wildfly_serves_what_all_serve_and_is_as_its_settings_say: "wildfly", "wildfly", "threads = 3", &[("default task-", 3)];
    open_liberty_serves_what_all_serve_and_is_as_its_settings_say:
        "open-liberty", "open-liberty", "threads = 4", &[("Default Executo", 4)];
    undertow_serves_what_all_serve_and_is_as_its_settings_say: "undertow", "undertow", "io-threads = 3", &[("I/O-", 3)];
    go_serves_what_all_serve_and_is_as_its_settings_say: "go-http", "go-http", "", &[];
    hyper_serves_what_all_serve_and_is_as_its_settings_say:
        "rust-hyper", "rust-hyper", "threads = 3", &[("tokio-rt-worker", 3)];
    actix_serves_what_all_serve_and_is_as_its_settings_say:
        "rust-actix", "rust-actix", "workers = 3", &[("actix-rt|system", 3)];
    compio_serves_what_all_serve_and_is_as_its_settings_say: "rust-compio", "rust-compio", "", &[];
    node_serves_what_all_serve_and_is_as_its_settings_say: "node", "node", "", &[];
    uvicorn_serves_what_all_serve_and_is_as_its_settings_say: "uvicorn", "uvicorn", "", &[];
}

/// A test for each target with pages that it serves only if they are asked for.
macro_rules! on_demand {
    ($($test:ident: [$($need:literal),*], $target:literal, [$($page:literal),*];)*) => {
        /// The targets that have one, with these pages.
        const TESTED_ON_DEMAND: &[(&str, &[&str])] = &[$(($target, &[$($page),*])),*];
        $(
            #[needs($($need),*)]
            #[test]
            fn $test() {
                $(serves_on_demand($target, $page);)*
            }
        )*
    };
}

on_demand! {
    haproxy_has_large_files_and_an_echo_where_they_are_asked_for: ["haproxy"], "haproxy", ["1m", "echo"];
    lighttpd_has_an_echo_where_it_is_asked_for: ["lighttpd", "lighttpd-magnet"], "lighttpd", ["echo"];
    nginx_has_an_echo_where_it_is_asked_for: ["nginx", "nginx-echo"], "nginx", ["echo"];
}

/// The texts by which the lab knows that a target will never be ready.
fn failures(target: &str) -> Vec<String> {
    serde_json::from_value(entry(target)["failed"].clone()).unwrap()
}

#[needs("wildfly")]
#[test]
fn wildfly_says_that_its_port_is_taken() {
    says_that_its_port_is_taken("wildfly", &failures("wildfly"));
}

#[needs("open-liberty")]
#[test]
fn open_liberty_says_that_its_port_is_taken() {
    says_that_its_port_is_taken("open-liberty", &failures("open-liberty"));
}

#[test]
fn every_target_that_serves_pages_is_tested_here() {
    for entry in listed().iter().filter(|entry| entry["protocol"] == "http") {
        let name = entry["name"].as_str().unwrap();
        assert!(TESTED.contains(&name), "{name}");
        let tested = TESTED_ON_DEMAND.iter().find(|(target, _)| *target == name).map_or(&[][..], |(_, p)| p);
        for page in entry["on_demand"].as_array().unwrap() {
            assert!(tested.contains(&page.as_str().unwrap()), "{name} {page}");
        }
    }
}
