//! What targets serve is the same for all of them, byte by byte, and what the report says of their settings is so. Each is
//! started by the commands that `--dry-run` shows, so that these are tried as well.

mod server;
mod settings;

use std::process::Command;
use std::sync::OnceLock;

use pitot_needs::needs;

use server::{ask, keeps, start};

const PITOT: &str = env!("CARGO_BIN_EXE_pitot");

/// All targets, as the list has them. It is made once: each of those that are installed is asked for its version.
fn listed() -> &'static [serde_json::Value] {
    static LIST: OnceLock<Vec<serde_json::Value>> = OnceLock::new();
    LIST.get_or_init(|| {
        let output = Command::new(PITOT).args(["list", "targets", "--format", "json"]).output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap()
    })
}

/// Every page of a target is what all serve, but for those that its entry says it cannot serve.
fn conforms(target: &str) {
    let entry = listed().iter().find(|entry| entry["name"] == target).unwrap();
    let can = |page: &str| !entry["cannot"].to_string().contains(&format!("\"{page}\""));
    let server = start(target, "");
    assert!(keeps(&server.address), "{target}");
    for (page, bytes) in [("1k", 1 << 10), ("16k", 16 << 10), ("1m", 1 << 20)] {
        let has_file = server.dir.path().join("html").join(page).is_file();
        if can(page) && has_file {
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
    if can("echo") {
        // All bytes, and twice, so that nothing of the first is left.
        for sent in [(0..=255).collect::<Vec<u8>>(), b"again".to_vec()] {
            let reply = ask(&server.address, "POST", "/echo", &sent).unwrap();
            assert_eq!(reply, (200, sent), "{target} /echo");
        }
    }
}

/// A test for each target: what it serves with its own settings, and then what it does with others.
macro_rules! targets {
    ($($test:ident: $need:literal, $target:literal, $settings:literal, $threads:expr;)*) => {
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

#[test]
fn every_target_that_serves_pages_is_tested_here() {
    let tested = include_str!("main.rs");
    for entry in listed().iter().filter(|entry| entry["protocol"] == "http") {
        assert!(tested.contains(&format!("\"{}\",", entry["name"].as_str().unwrap())), "{}", entry["name"]);
    }
}
