//! Names that lead elsewhere, sockets of the file system, and proxies that are not used.

use std::process::{Command, Stdio};

use super::server::{Server, ok};
use super::{json, load, refused};
use crate::support::{PITOT, stderr};

#[test]
fn a_name_of_the_internet_leads_to_this_machine() {
    let server = Server::start(ok);
    let port = server.address.port();
    let url = format!("http://www.example.com:{port}/");
    let result = json(&[&url, "-n", "3", "--resolve", &format!("www.example.com:{port}:127.0.0.1")]);
    assert_eq!(result["requests"]["ok"], 3);
    assert_eq!(result["options"]["address"], server.address.to_string());
    assert_eq!(server.seen()[0].header("host"), Some(&*format!("www.example.com:{port}")));
    assert!(
        refused(&[&url, "--resolve", "other:80:127.0.0.1"])
            .contains("--resolve has no address for the target, ")
    );
    assert!(refused(&[&url, "--resolve", "x"]).contains("not an address for a name"));
}

#[test]
fn a_host_that_is_asked_for_takes_the_place_of_the_address() {
    for http in ["1.1", "2"] {
        let server = Server::start(ok);
        let url = server.url("/a");
        for host in ["www.example.com", "www.example.com:81", "[::1]:9"] {
            let result = json(&[&url, "-n", "1", "--host", host, "--http", http]);
            assert_eq!(result["requests"]["ok"], 1);
            assert_eq!(server.seen().last().unwrap().header("host"), Some(host), "{http}");
        }
    }
    let url = "http://127.0.0.1:9/";
    assert!(refused(&[url, "--host", "a b"]).contains("is not a host"));
    assert!(refused(&[url, "--host", "a", "-H", "Host: b"]).contains("set the same header"));
    assert!(refused(&["redis://127.0.0.1:9/", "--host", "a"]).contains("no effect"));
}

#[test]
fn a_socket_of_the_file_system_is_a_target_of_both_engines() {
    let directory = tempfile::tempdir().unwrap();
    for engine in ["epoll", "uring"] {
        let path = directory.path().join(engine);
        let server = Server::unix(&path, ok);
        let path = path.to_str().unwrap();
        let arguments = ["http://name.invalid/x", "-n", "40", "-c", "4", "--unix", path, "--engine", engine];
        let result = json(&arguments);
        assert_eq!(result["requests"]["ok"], 40, "{result:#}");
        assert_eq!(result["options"]["address"], format!("unix:{path}"));
        assert_eq!(server.seen()[0].header("host"), Some("name.invalid"));
    }
    let missing = directory.path().join("missing");
    let output = load(&["http://h/", "-d", "200ms", "--unix", missing.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    let error = stderr(&output);
    assert!(error.contains("from the start on: ENOENT"), "{error}");
    assert!(error.contains(&format!("does it listen on the socket {}?", missing.display())), "{error}");
    assert!(refused(&["http://h/", "--unix", "/x", "--source", "127.0.0.0/28"]).contains("--source"));
}

#[test]
fn a_proxy_is_not_used_and_for_this_machine_not_even_named() {
    let server = Server::start(ok);
    let run = |url: &str, arguments: &[&str]| {
        let output = Command::new(PITOT)
            .args(["load", url, "-n", "2"])
            .args(arguments)
            .env("http_proxy", "http://127.0.0.1:9")
            .env_remove("no_proxy")
            .env_remove("NO_PROXY")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        stderr(&output).to_owned()
    };
    assert_eq!(run(&server.url("/"), &[]), "");
    assert_eq!(server.seen().len(), 2);
    // This address leads to this machine, and does not say so.
    let port = server.address.port();
    let said = run(&format!("http://0.0.0.0:{port}/"), &[]);
    assert_eq!(said, format!("http_proxy is ignored: the load goes to 0.0.0.0:{port} directly\n"));
}
