//! Soaks with servers that hang: each kind is told as what it is, with evidence, and the soak goes on or ends.

use std::net::{Ipv4Addr, SocketAddrV4, TcpListener};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use pitot_record::Soak;
use pitot_record::soak::{Event, EventKind, Load};
use rustix::net::{AddressFamily, SocketType, bind, listen, socket};
use rustix::process::Signal;

use super::server::start;
use super::{children, together};
use crate::support::{Running, signal, stderr, stdout, until_ok, until_some};

/// A soak that goes on until the test or a hang ends it.
fn soak(dir: &Path, arguments: &[&str]) -> Command {
    let mut command = super::soak(dir, arguments);
    command.args(["--for", "1h", "--interval", "1s", "-o", "a.pitot"]);
    command
}

/// The events of the soak, once there is one like this.
fn with_event(path: &Path, what: &str, is_it: impl Fn(&Event) -> bool) -> Event {
    until_ok(what, || {
        let events = Soak::open(path).map(|soak| soak.events).unwrap_or_default();
        events.iter().find(|event| is_it(event)).cloned().ok_or(events)
    })
}

/// A soak that ends with the hang of a server of this test.
fn until_it_hangs(port: u16, pid: Option<u32>) -> (Output, Soak) {
    let dir = tempfile::tempdir().unwrap();
    let url = format!("http://127.0.0.1:{port}/");
    let mut command = soak(dir.path(), &[&url, "-c", "4", "--on-hang", "end"]);
    if let Some(pid) = pid {
        command.args(["--pid", &pid.to_string()]);
    }
    let output = command.output().unwrap();
    let said = stderr(&output).to_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("and the soak ends with it"), "{said}");
    let soak = Soak::open(&dir.path().join("a.pitot")).unwrap();
    (output, soak)
}

fn hang(soak: &Soak) -> &Event {
    let hangs: Vec<_> = soak.events.iter().filter(|event| event.kind.is_hang()).collect();
    assert_eq!(hangs.len(), 1, "{:#?}", soak.events);
    hangs[0]
}

#[test]
fn each_kind_of_hang_is_told_as_what_it_is() {
    together(&[
        ("stopped", a_server_that_is_stopped_is_told_and_the_soak_goes_on_when_it_does),
        ("silent", a_server_that_takes_connections_and_answers_nothing_is_told),
        ("not accepting", a_server_whose_listen_queue_is_full_is_told),
    ]);
}

fn a_server_that_is_stopped_is_told_and_the_soak_goes_on_when_it_does() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.pitot");
    let arguments = ["--server", "loop+epoll-et", "--url", "http://{address}/", "-c", "2", "-R", "200"];
    let mut command = soak(dir.path(), &arguments);
    let mut lab = Running::start(command.stderr(Stdio::null()).stdout(Stdio::null()));
    let server = until_some("it runs", || {
        let soak = Soak::open(&path).ok()?;
        children(lab.id(), "serve").first().copied().filter(|_| soak.intervals.len() >= 3)
    });
    signal(server, Signal::STOP);
    let began = with_event(&path, "the hang is told", |event| event.kind.is_hang());
    assert_eq!((began.kind, began.until_s), (EventKind::HangStopped, None), "{began:#?}");
    assert!(began.sentence.contains("is stopped by a signal"), "{began:#?}");
    assert!(began.evidence.contains("(T)") && began.evidence.contains("1 listening"), "{began:#?}");
    signal(server, Signal::CONT);
    let over = with_event(&path, "its end is told", |event| event.until_s.is_some());
    assert_eq!((over.at_s, over.kind), (began.at_s, began.kind));
    signal(lab.id(), Signal::INT);
    assert_eq!(lab.wait().unwrap().code(), Some(1));
    hang(&Soak::open(&path).unwrap());
}

fn a_server_that_takes_connections_and_answers_nothing_is_told() {
    let (server, address) = start("silent");
    let port = address.rsplit_once(':').unwrap().1.parse().unwrap();
    let (_, soak) = until_it_hangs(port, Some(server.id()));
    let hang = hang(&soak);
    assert_eq!(hang.kind, EventKind::HangSilent, "{hang:#?}");
    assert!(hang.sentence.contains("has accepted 4 connections and does not reply"), "{hang:#?}");
    assert!(hang.sentence.contains("requests on 4 of them were not read"), "{hang:#?}");
    assert!(hang.evidence.contains("thread"), "{hang:#?}");
    // The queues of its sockets: requests that nobody has read.
    assert!(hang.evidence.contains("1 listening") && hang.evidence.contains("; 4 with "), "{hang:#?}");
    let unread = hang.evidence.split_once("; 4 with ").unwrap().1.split(' ').next().unwrap();
    assert!(unread.parse::<u64>().unwrap() > 0, "{hang:#?}");
    // Where its threads sleep, as far as the kernel tells.
    let wchan = std::fs::read_to_string(format!("/proc/{}/wchan", server.id())).unwrap_or_default();
    if !["", "0"].contains(&wchan.as_str()) {
        assert!(hang.evidence.contains("wchan "), "{hang:#?}");
    }
}

#[test]
fn a_load_that_alone_gets_no_replies_is_told_by_its_name() {
    let (other, others_address) = start("nothing");
    let (server, address) = start("nothing");
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.pitot");
    let url = format!("http://{address}/");
    let load = format!("http://{others_address}/ -c 1 -R 20 --timeout 1s");
    let pid = server.id().to_string();
    let mut command = soak(dir.path(), &[&url, "--pid", &pid, "-c", "2", "-R", "50", "--load", &load]);
    let mut lab = Running::start(command.stderr(Stdio::null()).stdout(Stdio::null()));
    until_some("both are answered", || {
        let answered = |load: &&Load| load.totals.completed > 0;
        Soak::open(&path).ok().filter(|soak| soak.loads.iter().filter(answered).count() == 2)
    });
    signal(other.id(), Signal::STOP);
    let event = with_event(&path, "it is told", |event| event.kind == EventKind::LoadUnanswered);
    assert!(event.sentence.contains(&load) && event.evidence.contains("listen queue"), "{event:#?}");
    // While it runs its status has the failures by kind, and the time that is left.
    let status = until_some("its status tells the kinds", || {
        let output = super::soak(dir.path(), &["status", "a.pitot"]).output().unwrap();
        let text = stdout(&output).split_whitespace().collect::<Vec<_>>().join(" ");
        text.contains("timeout reply").then_some(text)
    });
    assert!(status.contains(" of 1 h under load, running, ") && status.contains(" left"), "{status}");
    signal(lab.id(), Signal::INT);
    assert_eq!(lab.wait().unwrap().code(), Some(1));
    assert!(!Soak::open(&path).unwrap().events.iter().any(|event| event.kind.is_hang()));
}

fn a_server_whose_listen_queue_is_full_is_told() {
    // Room for one connection, and the kernel lets in one more.
    let listener = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    bind(&listener, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).unwrap();
    listen(&listener, 1).unwrap();
    let listener = TcpListener::from(listener);
    let (_, soak) = until_it_hangs(listener.local_addr().unwrap().port(), None);
    let hang = hang(&soak);
    assert_eq!(hang.kind, EventKind::HangNotAccepting, "{hang:#?}");
    assert!(
        hang.sentence.contains("does not accept connections: 2 wait in its listen queue, which is full"),
        "{hang:#?}"
    );
    assert!(hang.evidence.contains("2 of at most 2 in the listen queue"), "{hang:#?}");
}
