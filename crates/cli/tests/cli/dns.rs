//! `pitot serve dns`, through its sockets.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::process::{ChildStdout, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::support::{PITOT, Running, TIMEOUT, stderr};

const A: u16 = 1;
const MX: u16 = 15;

/// A running responder, which ends with the test.
struct Responder {
    child: Running,
    stdout: BufReader<ChildStdout>,
    addr: SocketAddr,
}

impl Responder {
    fn start(args: &[&str]) -> Responder {
        Responder::run(&[&["serve", "dns", "--stats", "json"], args].concat())
    }

    /// The resolver that fails and lies when it is told to.
    fn start_resolver(args: &[&str]) -> Responder {
        Responder::run(&[&["fault", "resolver"], args].concat())
    }

    /// Tells it something, and returns what it says to that.
    fn tell(&mut self, command: &str) -> String {
        writeln!(self.child.stdin.as_mut().expect("a pipe"), "{command}").expect("it reads");
        let mut line = String::new();
        self.stdout.read_line(&mut line).expect("a line");
        line
    }

    fn run(args: &[&str]) -> Responder {
        let mut command = Command::new(PITOT);
        command.args(args);
        let mut child = Running::start(command.stdin(Stdio::piped()).stdout(Stdio::piped()));
        let mut stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut first = String::new();
        stdout.read_line(&mut first).expect("a line");
        let addr = first.trim().strip_prefix("ready ").and_then(|addr| addr.parse().ok());
        let addr = addr.unwrap_or_else(|| panic!("it is not ready: {first:?}"));
        Responder { child, stdout, addr }
    }

    fn socket(&self) -> UdpSocket {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        socket.connect(self.addr).expect("an address");
        socket.set_read_timeout(Some(TIMEOUT)).expect("an option");
        socket
    }

    fn ask(&self, name: &str, record_type: u16) -> Vec<u8> {
        let socket = self.socket();
        socket.send(&query(name, record_type)).expect("it listens");
        let mut answer = vec![0; 4096];
        let len = socket.recv(&mut answer).expect("an answer");
        answer.truncate(len);
        answer
    }

    fn stop(mut self) -> Value {
        let pid = Pid::from_raw(self.child.id() as i32).expect("a process number");
        kill_process(pid, Signal::TERM).expect("it runs");
        let mut last = String::new();
        self.stdout.read_to_string(&mut last).expect("its counters");
        assert_eq!(self.child.wait().expect("an exit code").code(), Some(0));
        serde_json::from_str(&last).unwrap_or_else(|e| panic!("{e}: {last}"))
    }
}

fn query(name: &str, record_type: u16) -> Vec<u8> {
    let mut query = vec![0xab, 0xcd, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    for label in name.split('.') {
        query.push(label.len() as u8);
        query.extend_from_slice(label.as_bytes());
    }
    query.push(0);
    query.extend_from_slice(&record_type.to_be_bytes());
    query.extend_from_slice(&[0, 1]);
    query
}

/// The response code, whether it is truncated, and the number of answers.
fn head(answer: &[u8]) -> (u8, bool, u16) {
    assert_eq!(answer[..2], [0xab, 0xcd]);
    (answer[3] & 15, answer[2] & 2 != 0, u16::from_be_bytes([answer[6], answer[7]]))
}

#[test]
fn domains_lead_to_their_sinks_by_udp() {
    let responder = Responder::start(&[
        "--domains",
        "9113",
        "--pattern",
        "lists-{}.example",
        "--mx",
        "a.sink.test:127.0.0.7",
        "--mx",
        "b.sink.test:127.0.0.8,127.0.0.9",
        "--without-mx",
        "13",
    ]);
    let mx = responder.ask("lists-9099.example", MX);
    assert_eq!(head(&mx), (0, false, 1));
    assert!(mx.ends_with(b"\x01b\x04sink\x04test\x00"), "{}", mx.escape_ascii());
    let address = responder.ask("b.sink.test", A);
    assert_eq!(head(&address), (0, false, 2));
    assert!(address.ends_with(&[127, 0, 0, 9]));
    assert_eq!(head(&responder.ask("lists-9100.example", MX)), (0, false, 0));
    assert!(responder.ask("lists-9100.example", A).ends_with(&[127, 0, 0, 7]));
    assert_eq!(head(&responder.ask("lists-9113.example", MX)), (3, false, 0));
    assert_eq!(head(&responder.ask("servfail.test", MX)), (2, false, 0));
    assert_eq!(head(&responder.ask("many-mx.test", MX)), (0, true, 0));
    let stats = responder.stop();
    assert_eq!(
        (&stats["queries"], &stats["truncated"], &stats["schema"]),
        (&7.into(), &1.into(), &"pitot-dns/1".into())
    );
}

#[test]
fn what_a_datagram_cannot_hold_comes_by_tcp() {
    let responder = Responder::start(&[]);
    let mut stream = TcpStream::connect(responder.addr).expect("it listens");
    stream.set_read_timeout(Some(TIMEOUT)).expect("an option");
    for (name, answers) in [("many-mx.test", 60), ("d99.test", 1)] {
        let query = query(name, MX);
        // Byte by byte, as a stream may come.
        for byte in [&(query.len() as u16).to_be_bytes(), &query[..]].concat() {
            stream.write_all(&[byte]).expect("it reads");
        }
        let mut len = [0; 2];
        stream.read_exact(&mut len).expect("an answer");
        let mut answer = vec![0; u16::from_be_bytes(len).into()];
        stream.read_exact(&mut answer).expect("an answer");
        assert_eq!(head(&answer), (0, false, answers));
    }
    drop(stream);
    assert_eq!(responder.stop()["records"], 2);
}

#[test]
fn nonsense_is_survived_and_silence_is_kept() {
    let responder = Responder::start(&["--mx-addresses", "300"]);
    let socket = responder.socket();
    let mut nonsense = 0x1234_5678_u32;
    for len in 0..600 {
        let bytes: Vec<u8> = std::iter::repeat_with(|| {
            nonsense = nonsense.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (nonsense >> 24) as u8
        })
        .take(len)
        .collect();
        socket.send(&bytes).expect("it listens");
        // The kernel drops what finds no room while the responder is not on a CPU; an answer says that all is read.
        if len % 32 == 31 {
            responder.ask("mx299.sink.test", A);
        }
    }
    let silent = responder.socket();
    silent.send(&query("silent.test", MX)).expect("it listens");
    let mut stream = TcpStream::connect(responder.addr).expect("it listens");
    stream.write_all(&[255; 3000]).expect("it reads");
    assert!(responder.ask("mx299.sink.test", A).ends_with(&[127, 0, 1, 44]));
    silent.set_nonblocking(true).expect("an option");
    assert!(silent.recv(&mut [0; 512]).is_err());
    let stats = responder.stop();
    assert!(stats["queries"].as_u64() >= Some(602), "{stats}");
}

#[test]
fn wrong_options_are_explained() {
    for args in [
        &["--mx", "mx.test"][..],
        &["--pattern", "none"],
        &["--domains", "5", "--without-mx", "6"],
        &["--mx-addresses", "0"],
        &["--mx", "a.test:127.0.0.1", "--mx-addresses", "2"],
        &["--listen", "192.0.2.1:53"],
    ] {
        let output = Command::new(PITOT).args(["serve", "dns"]).args(args).output();
        let output = output.expect("the program runs");
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", stderr(&output));
        assert!(!output.stderr.is_empty());
    }
}

/// The code of an answer, how many records it has, and its last four bytes.
fn told(answer: &[u8]) -> (u8, u8, &[u8]) {
    (answer[3] & 15, answer[7], &answer[answer.len() - 4..])
}

#[test]
fn a_resolver_fails_and_lies_for_as_long_as_it_is_told_to() {
    let mut resolver = Responder::start_resolver(&[]);
    let right = (0, 1, &[127, 0, 0, 1][..]);
    assert_eq!(told(&resolver.ask("www.test", A)), right);
    assert_eq!(told(&resolver.ask("www.example", A)).0, 5, "no other name is asked for anywhere");
    for (fault, wrong) in [
        ("dns-fails", (2, 0)),
        ("dns-fails --failure refused", (5, 0)),
        ("dns-lies", (3, 0)),
        ("dns-lies --lie 127.0.0.99", (0, 1)),
    ] {
        let began = resolver.tell(&format!("begin 7 {fault}"));
        assert!(began.starts_with("began 7 "), "{began}");
        let answer = resolver.ask("www.test", A);
        let (code, records, tail) = told(&answer);
        assert!((code, records) == wrong && (records == 0 || tail == [127, 0, 0, 99]), "{fault}: {answer:?}");
        assert!(resolver.tell("end 7").starts_with("ended 7 "));
        assert_eq!(told(&resolver.ask("www.test", A)), right, "after {fault}");
    }
    assert!(resolver.tell("begin 1 stop").starts_with("refused 1 "));
    assert!(resolver.tell("begin 1 dns-lies --lie 192.0.2.1").starts_with("refused 1 "));
    assert!(resolver.tell("to 192.0.2.1:53").starts_with("refused "));
    let last = resolver.tell("quit");
    assert!(last.starts_with("asked 10 answered 6 passed-on 0 in-fault 4"), "{last}");
}

#[test]
fn a_resolver_passes_questions_on_and_nobody_may_remember_the_answers() {
    let responder = Responder::start(&["--domains", "5"]);
    let mut resolver = Responder::start_resolver(&["--to", &responder.addr.to_string()]);
    let (own, passed) = (responder.ask("d3.test", MX), resolver.ask("d3.test", MX));
    let lifetime = |answer: &[u8]| {
        let record = query("d3.test", MX).len();
        // After the name, which is a pointer, type and class.
        answer[record + 6..record + 10].to_vec()
    };
    assert_eq!((own.len(), lifetime(&passed)), (passed.len(), vec![0; 4]));
    assert_ne!(lifetime(&own), [0; 4]);
    assert!(resolver.tell("begin 1 dns-lies").starts_with("began 1 "));
    assert_eq!(told(&resolver.ask("d3.test", MX)).0, 3);
    assert!(resolver.tell("end 1").starts_with("ended 1 "));
    assert_eq!(resolver.ask("d3.test", MX), passed);
}
