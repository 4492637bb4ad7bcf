//! A refusal is two lines on stderr, the error and its fix, with exit code 2.

use std::net::TcpListener;
use std::process::Command;

use super::pairs::{self, Cell, Pair, on_every_pair};
use super::server::{serve, with_descriptors};
use crate::support::{PITOT, stderr, stdout};

/// Runs a command that must be refused, and returns the two lines.
fn refused(mut command: Command) -> [String; 2] {
    let output = command.output().expect("the program runs");
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{command:?}: {said}");
    assert_eq!(stdout(&output), "", "{command:?}");
    let lines: Vec<_> = said.lines().map(str::to_owned).collect();
    let lines: [String; 2] = lines.try_into().unwrap_or_else(|lines| panic!("{command:?}: {lines:?}"));
    assert!(lines[0].starts_with("pitot: ") && lines[1].starts_with("  "), "{lines:?}");
    lines
}

fn pitot(args: &[&str]) -> Command {
    let mut command = Command::new(PITOT);
    command.arg("serve").args(args);
    command
}

#[test]
fn a_port_in_use_is_refused_by_every_pair() {
    on_every_pair(Cell::Works, |pair| {
        let other = TcpListener::bind("127.0.0.1:0").expect("a port");
        let addr = other.local_addr().expect("an address");
        let [what, fix] = refused(serve(pair, "http", &["--listen", &addr.to_string()]));
        assert!(what.contains(&addr.to_string()) && fix.contains(&addr.port().to_string()), "{what} {fix}");
        let other = super::server::Server::start(pair, "busy", &[]);
        refused(serve(pair, "http", &["--listen", &other.addr.to_string()]));
        other.stop().check_connections();
    });
}

#[test]
fn too_few_descriptors_are_refused_by_every_pair() {
    on_every_pair(Cell::Works, |pair| {
        let [_, fix] = refused(with_descriptors(5, &serve(pair, "http", &[])));
        assert!(fix.contains("ulimit -n"), "{fix}");
    });
}

#[test]
fn a_root_that_cannot_be_served_is_refused() {
    let pair: &Pair = &pairs::usable()[0];
    let file = tempfile::NamedTempFile::new().expect("a file");
    let path = file.path().to_str().expect("UTF-8");
    for root in ["/no/such/directory", path] {
        let [what, _] = refused(serve(pair, "http", &["--root", root]));
        assert!(what.contains(root), "{what}");
    }
    refused(serve(pair, "blob", &["--root", "/"]));
}

#[test]
fn limits_that_leave_nothing_to_serve_are_refused() {
    for args in
        [&["http", "--max-connections", "0"][..], &["http", "--upload-max", "0", "--writable", "--root", "."]]
    {
        let [what, _] = refused(pitot(args));
        assert!(what.contains(args[1]), "{what}");
    }
}

#[test]
fn options_without_an_effect_are_refused() {
    for (args, owner) in [
        (&["http", "--memcache-memory", "1GiB"][..], "memcache"),
        (&["blob", "--memcache-shards", "1"], "memcache"),
        (&["memcache", "--smtp-name", "a.test"], "smtp"),
        (&["http", "--deliver", "discard"], "smtp"),
        (&["smtp", "--domains", "5"], "dns"),
        (&["http", "--mx", "mx.test:127.0.0.1"], "dns"),
        (&["dns", "--model", "loop"], "dns"),
        (&["dns", "--memcache-memory", "64MiB"], "memcache"),
        (&["dns", "--idle-timeout", "75s"], "dns"),
        (&["http", "--keep-files", "1KiB"], "none are served"),
        (&["blob", "--no-cork"], "none are served"),
        (&["blob", "--model", "fork", "--accepts-per-wakeup", "64"], "event loops"),
        (&["blob", "--model", "handoff", "--accepts-per-wakeup", "64"], "handoff+epoll-et"),
        (&["blob", "--model", "tokio", "--accepts-per-wakeup", "64"], "tokio+epoll-et"),
        (&["http", "--model", "fork", "--workers", "1"], "model fork"),
        (&["http", "--model", "spawn", "--workers", "2"], "model spawn"),
        (&["echo", "--model", "thread", "--workers", "2"], "model thread"),
    ] {
        let option = args.iter().rfind(|arg| arg.starts_with("--")).expect("an option");
        let [what, fix] = refused(pitot(args));
        assert!(what.contains(option) && what.contains(owner) && fix.contains("omit"), "{what} {fix}");
    }
    // A default that is given is given as well; an unknown protocol is what matters first.
    refused(pitot(&["http", "--memcache-memory", "64MiB"]));
    let [what, _] = refused(pitot(&["memcached", "--memcache-memory", "64MiB"]));
    assert!(what.contains("unknown protocol"), "{what}");
}

#[test]
fn unknown_names_are_refused_with_the_nearest_one() {
    for (args, nearest) in [
        (&["htpt"][..], "`http`"),
        (&["http", "--model", "lopp"], "`loop`"),
        (&["http", "--mechanism", "epol-et"], "`epoll-et`"),
    ] {
        let [what, _] = refused(pitot(args));
        assert!(what.contains(nearest), "{what}");
    }
}

#[test]
fn pairs_that_make_no_sense_are_refused_with_the_reason() {
    for (model, mechanism) in
        [("loop", "blocking"), ("fork", "epoll-et"), ("hybrid", "uring"), ("tokio", "poll")]
    {
        let [what, _] = refused(pitot(&["http", "--model", model, "--mechanism", mechanism]));
        assert!(what.contains(model) && what.contains(mechanism), "{what}");
    }
    refused(pitot(&["http", "--model", "loops", "--workers", "0"]));
    refused(pitot(&["http", "--model", "loop", "--workers", "2"]));
    refused(pitot(&["http", "--cpus", "4000"]));
    let [what, fix] = refused(pitot(&["http", "--congestion", "nagel"]));
    assert!(what.contains("nagel") && fix.contains("tcp_allowed_congestion_control"), "{what} {fix}");
    for (args, reason) in [
        (&["--model", "loop"][..], "a listener per worker"),
        (&["--model", "loops", "--workers", "3", "--cpus", "0"], "3 workers on 1 CPUs"),
        (&["--model", "loops", "--listen", "unix:never-made"], "a listener per worker"),
    ] {
        let [what, fix] = refused(pitot(&[&["http", "--steer", "bpf"], args].concat()));
        assert!(what.contains(reason) && fix.contains("omit"), "{what} {fix}");
    }
    // An address of documentation, which no host has.
    refused(pitot(&["http", "--listen", "192.0.2.1:0"]));
}

#[test]
fn tls_of_the_kernel_is_refused_where_it_cannot_be() {
    let with = |arguments: &[&str]| {
        refused(pitot(&[&["http", "--tls", "self-signed", "--ktls"], arguments].concat()))
    };
    let uring = pitot_serve::find_mechanism("uring").expect("a mechanism");
    if (uring.probe)().is_ok() {
        let [what, fix] = with(&["--mechanism", "uring"]);
        assert!(what.contains("uring") && fix.contains("epoll-et"), "{what} {fix}");
    }
    let file = tempfile::tempdir().expect("a folder");
    let [what, _] = with(&["--listen", &format!("unix:{}", file.path().join("socket").display())]);
    assert!(what.contains("--ktls needs TCP"), "{what}");
    let [what, _] = refused(pitot(&["smtp", "--tls", "self-signed", "--ktls"]));
    assert!(what.contains("STARTTLS"), "{what}");
    if let Err(missing) = pitot_serve::probe_kernel_tls() {
        for model in ["loop", "thread", "prefork", "tokio", "spawn"] {
            let [what, fix] = with(&["--model", model]);
            assert_eq!((what, fix), (format!("pitot: {missing}"), format!("  {}", missing.fix)));
        }
        assert!(missing.fix.contains("modprobe"), "{missing:?}");
    }
}
