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

#[needs("nginx")]
#[test]
fn nginx_serves_what_all_serve() {
    conforms("nginx");
}

#[needs("apache2")]
#[test]
fn apache_serves_what_all_serve() {
    ["apache-event", "apache-worker", "apache-prefork"].into_iter().for_each(conforms);
}

#[needs("caddy")]
#[test]
fn caddy_serves_what_all_serve() {
    conforms("caddy");
}

#[needs("haproxy")]
#[test]
fn haproxy_serves_what_all_serve() {
    conforms("haproxy");
}

#[needs("lighttpd")]
#[test]
fn lighttpd_serves_what_all_serve() {
    conforms("lighttpd");
}

#[needs("varnishd")]
#[test]
fn varnish_serves_what_all_serve() {
    conforms("varnish");
}

/// Those that `pitot target install` has installed, none on a fresh machine, and Node.
#[test]
fn what_pitot_has_installed_serves_what_all_serve() {
    let installed = listed().iter().filter(|entry| {
        let by_debian = entry["install"].to_string().contains("apt-get") && entry["name"] != "node";
        entry["protocol"] == "http" && entry["installed"] == true && !by_debian
    });
    for entry in installed {
        conforms(entry["name"].as_str().unwrap());
    }
}
