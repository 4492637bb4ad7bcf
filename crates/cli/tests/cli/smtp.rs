//! `pitot serve smtp` as its users meet it: real clients, a server that is killed, a disk that fails.

use std::collections::HashSet;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;

use pitot_needs::needs;
use rustix::process::Signal;
use serde_json::Value;

use crate::support::{PITOT, Running, TIMEOUT, stderr, stdout, until};

/// A running server, which ends with the test.
struct Server {
    child: Running,
    stdout: BufReader<std::process::ChildStdout>,
    addr: SocketAddr,
}

impl Server {
    fn start(args: &[&str]) -> Server {
        let mut command = Command::new(PITOT);
        command.args(["serve", "smtp", "--stats", "json"]).args(args);
        let mut child = Running::start(command.stdin(Stdio::null()).stdout(Stdio::piped()));
        let mut stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut first = String::new();
        stdout.read_line(&mut first).expect("a line");
        let addr = first.trim().strip_prefix("ready ").and_then(|addr| addr.parse().ok());
        let addr = addr.unwrap_or_else(|| panic!("the server is not ready: {first:?}"));
        Server { child, stdout, addr }
    }

    /// Stops it and returns what it counted.
    fn stop(mut self) -> Value {
        self.child.signal(Signal::TERM);
        let mut last = String::new();
        self.stdout.read_to_string(&mut last).expect("its counters");
        assert!(self.child.wait().expect("an exit code").success());
        serde_json::from_str(&last).unwrap_or_else(|e| panic!("{e}: {last}"))
    }
}

/// A client of bare sockets that has said EHLO.
struct Client(BufReader<TcpStream>);

impl Client {
    fn connect(addr: SocketAddr) -> Client {
        let stream = TcpStream::connect(addr).expect("the server accepts connections");
        stream.set_read_timeout(Some(TIMEOUT)).expect("an option");
        let mut client = Client(BufReader::new(stream));
        assert_eq!(client.reply().as_deref(), Some("220"));
        assert_eq!(client.say("EHLO client.test\r\n").as_deref(), Some("250"));
        client
    }

    /// The code of the next reply; none at the end of the connection.
    fn reply(&mut self) -> Option<String> {
        loop {
            let mut line = String::new();
            match self.0.read_line(&mut line) {
                Ok(n) if n > 0 && line.as_bytes().get(3) == Some(&b'-') => {}
                Ok(n) if n > 0 && line.ends_with('\n') => return Some(line[..3].to_owned()),
                _ => return None,
            }
        }
    }

    fn say(&mut self, text: &str) -> Option<String> {
        self.0.get_mut().write_all(text.as_bytes()).ok()?;
        self.reply()
    }

    /// Sends a message; true once it is acknowledged.
    fn send(&mut self, text: &str) -> bool {
        let transaction = "MAIL FROM:<from@a.test>\r\nRCPT TO:<to@b.test>\r\nDATA\r\n";
        let codes = [self.say(transaction), self.reply(), self.reply()];
        let expected = ["250", "250", "354"].map(|code| Some(code.to_owned()));
        codes == expected && self.say(&format!("{text}.\r\n")).as_deref() == Some("250")
    }
}

fn messages(directory: &Path) -> Vec<String> {
    let files = fs::read_dir(directory).expect("a directory");
    files.map(|file| fs::read_to_string(file.expect("an entry").path()).expect("a message")).collect()
}

#[test]
fn whatever_was_acknowledged_before_a_kill_is_there_and_whole() {
    for model in ["thread", "hybrid", "loop", "prefork"] {
        let dir = tempfile::tempdir().expect("a directory");
        let maildir = dir.path().join("mail");
        let server =
            Server::start(&["--model", model, "--deliver", "maildir", maildir.to_str().expect("a path")]);
        let addr = server.addr;
        let body = "a line of the message\r\n".repeat(500);
        let clients: Vec<_> = (0..4)
            .map(|n| {
                let body = body.clone();
                // Greeted before the first message is sent: the kill meets a client that sends.
                let mut client = Client::connect(addr);
                thread::spawn(move || {
                    let mut acknowledged = Vec::new();
                    for round in 0.. {
                        let subject = format!("Subject: {n}-{round}.");
                        if !client.send(&format!("{subject}\r\n\r\n{body}")) {
                            break;
                        }
                        acknowledged.push(subject);
                    }
                    acknowledged
                })
            })
            .collect();
        until("mail arrives", || messages_so_far(&maildir) >= 40);
        // In the middle of the load: all its processes at once, where it has several.
        server.child.signal(Signal::KILL);
        let acknowledged: Vec<String> =
            clients.into_iter().flat_map(|client| client.join().expect("a client")).collect();
        drop(server);
        let stored = messages(&maildir.join("new"));
        let whole = body.replace('\r', "");
        let mut subjects = HashSet::new();
        for message in &stored {
            assert!(message.ends_with(&format!("\n\n{whole}")), "{model}: a message is not whole");
            let subject = message.lines().find(|line| line.starts_with("Subject: ")).expect("a subject");
            assert!(subjects.insert(subject.to_owned()), "{model}: {subject} is there twice");
        }
        let lost: Vec<_> = acknowledged.iter().filter(|subject| !subjects.contains(*subject)).collect();
        assert!(lost.is_empty(), "{model}: acknowledged and lost: {lost:?}");
        assert!(acknowledged.len() >= 36, "{model}: {}", acknowledged.len());
        // At most one of each client is stored and was not acknowledged.
        assert!(stored.len() <= acknowledged.len() + 4, "{model}: {} {}", stored.len(), acknowledged.len());
    }
}

fn messages_so_far(maildir: &Path) -> usize {
    fs::read_dir(maildir.join("new")).map_or(0, Iterator::count)
}

#[test]
fn a_maildir_that_goes_away_is_reported_and_leaves_nothing() {
    let dir = tempfile::tempdir().expect("a directory");
    let server = Server::start(&["--deliver", "maildir", dir.path().to_str().expect("a path")]);
    let mut client = Client::connect(server.addr);
    assert!(client.send("one\r\n"));
    fs::rename(dir.path().join("new"), dir.path().join("elsewhere")).expect("a name");
    assert!(client.send("the directory is open, whatever its name\r\n"));
    fs::remove_dir_all(dir.path().join("elsewhere")).expect("no directory");
    for command in ["MAIL FROM:<a@b>\r\n", "RCPT TO:<a@b>\r\n"] {
        assert_eq!(client.say(command).as_deref(), Some("250"));
    }
    assert_eq!(client.say("DATA\r\n").as_deref(), Some("354"));
    assert_eq!(client.say("two\r\n.\r\n").as_deref(), Some("451"));
    assert_eq!(client.say("QUIT\r\n").as_deref(), Some("221"));
    assert!(messages(&dir.path().join("tmp")).is_empty());
    let stats = server.stop();
    assert_eq!((&stats["mail"]["messages"], &stats["errors"]["delivery_failed"]), (&2.into(), &1.into()));
}

#[needs("user-namespaces")]
#[test]
fn a_full_disk_is_reported_and_leaves_nothing() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().to_str().expect("a path");
    // A file system of 64 KiB, in a namespace of its own, which takes no privileges.
    let script = "mount -t tmpfs -o size=64k tmpfs \"$1\" && exec \"$0\" serve smtp --stats json --deliver maildir \"$1\"";
    let mut command = Command::new("unshare");
    command.args(["-rm", "sh", "-c", script, PITOT, path]);
    let mut child = Running::start(command.stdin(Stdio::null()).stdout(Stdio::piped()));
    let mut stdout = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut first = String::new();
    stdout.read_line(&mut first).expect("a line");
    let addr = first.trim().strip_prefix("ready ").expect("an address").parse().expect("an address");
    let server = Server { child, stdout, addr };
    let mut client = Client::connect(server.addr);
    let text = "a line of the message\r\n".repeat(4000);
    for _ in 0..2 {
        let transaction = "MAIL FROM:<from@a.test>\r\nRCPT TO:<to@b.test>\r\nDATA\r\n";
        assert_eq!(client.say(transaction).as_deref(), Some("250"));
        assert_eq!([client.reply(), client.reply()], ["250", "354"].map(|code| Some(code.to_owned())));
        assert_eq!(client.say(&format!("{text}.\r\n")).as_deref(), Some("452"));
        // Nothing is left of it, so that a small one finds room again.
        assert!(client.send("small\r\n"));
    }
    let stats = server.stop();
    assert_eq!(stats["mail"]["messages"], 2);
}

#[test]
fn wrong_options_are_explained() {
    for (args, what) in [
        (&["--deliver", "maildir"][..], "--deliver maildir needs a directory"),
        (&["--no-fsync"], "--no-fsync is about what is stored"),
        (&["--deliver", "pigeon"], "unknown delivery `pigeon`"),
        (&["--deliver", "discard", "x"], "unknown delivery `discard x`"),
        (&["--deliver", "maildir", "/proc/none"], "cannot use the Maildir /proc/none"),
        (&["--smtp-name", "a b"], "neither a domain nor an address literal"),
        (&["--smtp-recipients-max", "0"], "the limits of smtp must be greater than 0"),
    ] {
        let output = Command::new(PITOT).args(["serve", "smtp"]).args(args).output();
        let output = output.expect("the program runs");
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(what) && said.lines().count() == 2, "{said}");
    }
}

/// Runs a client of another project.
fn client(program: &str, args: &[&str], input: &str) -> Output {
    let paths = ["/usr/sbin", "/usr/local/sbin"].map(|directory| Path::new(directory).join(program));
    let program = paths.into_iter().find(|path| path.exists()).unwrap_or_else(|| PathBuf::from(program));
    let mut command = Command::new(&program);
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap_or_else(|e| panic!("{}: {e}", program.display()));
    let _ = child.stdin.take().expect("a pipe").write_all(input.as_bytes());
    child.wait_with_output().expect("it ends")
}

/// What one run of a client leaves in a Maildir and in the counters.
fn with_maildir(
    program: &str,
    input: &str,
    args: impl FnOnce(SocketAddr) -> Vec<String>,
) -> (Output, Vec<String>, Value) {
    let dir = tempfile::tempdir().expect("a directory");
    let server =
        Server::start(&["--model", "thread", "--deliver", "maildir", dir.path().to_str().expect("a path")]);
    let args = args(server.addr);
    let output = client(program, &args.iter().map(String::as_str).collect::<Vec<_>>(), input);
    let stats = server.stop();
    (output, messages(&dir.path().join("new")), stats)
}

#[needs("swaks")]
#[test]
fn swaks_delivers_a_message_with_dots_and_a_pipelined_one() {
    for extra in [&[][..], &["--pipeline"]] {
        let (output, messages, stats) = with_maildir("swaks", "", |addr| {
            let addr = addr.to_string();
            let mut args = vec!["--server", &addr, "--from", "a@a.test", "--to", "b@b.test,c@c.test"];
            args.extend(["--helo", "client.test", "--header", "Subject: dots"]);
            args.extend(["--body", ".first\\n..second\\n.\\nlast"]);
            args.extend(extra);
            args.into_iter().map(str::to_owned).collect()
        });
        assert!(output.status.success(), "{}", stdout(&output));
        let [message] = &messages[..] else { panic!("{messages:?}") };
        assert!(
            message.starts_with("Return-Path: <a@a.test>\nDelivered-To: b@b.test\nDelivered-To: c@c.test\n")
        );
        assert!(message.contains("\nSubject: dots\n"), "{message}");
        assert!(message.contains("\n.first\n..second\n.\nlast\n"), "{message}");
        assert_eq!((&stats["mail"]["messages"], &stats["mail"]["recipients"]), (&1.into(), &2.into()));
    }
}

#[needs("smtp-source")]
#[test]
fn smtp_source_delivers_many_messages_over_many_sessions() {
    for reuse in [&[][..], &["-d"]] {
        let server = Server::start(&["--model", "loop"]);
        let addr = format!("inet:{}", server.addr);
        let mut args =
            vec!["-s", "20", "-m", "400", "-r", "3", "-l", "2000", "-f", "a@a.test", "-t", "b@b.test"];
        args.extend(reuse);
        args.push(&addr);
        let output = client("smtp-source", &args, "");
        assert!(output.status.success(), "{}", stderr(&output));
        let stats = server.stop();
        assert_eq!((&stats["mail"]["messages"], &stats["mail"]["recipients"]), (&400.into(), &1200.into()));
        assert_eq!(stats["connections"]["open"], 0);
    }
}

#[needs("python3")]
#[test]
fn smtplib_of_python_delivers_binary_and_utf8() {
    let script = r#"
import smtplib, sys
host, port = sys.argv[1].rsplit(":", 1)
with smtplib.SMTP(host, int(port)) as s:
    s.ehlo("client.test")
    assert s.has_extn("pipelining") and s.has_extn("8bitmime") and s.has_extn("smtputf8")
    assert int(s.esmtp_features["size"]) == 10485760
    s.sendmail("a@a.test", ["b@b.test", "c@c.test"], b"Subject: x\r\n\r\n.dot\r\n\xff\xfe\r\n", ["BODY=8BITMIME"])
    s.sendmail("gr\u00fcn@a.test", ["\u4f8b@b.test"], "Subject: y\r\n\r\n\u00fc\r\n".encode(), ["SMTPUTF8", "BODY=8BITMIME"])
    try:
        s.sendmail("a@a.test", ["not an address"], b"x")
        sys.exit("a bad recipient was taken")
    except smtplib.SMTPRecipientsRefused as e:
        assert list(e.recipients.values())[0][0] == 501, e.recipients
    try:
        s.sendmail("a@a.test", ["b@b.test"], b"x" * 11000000)
        sys.exit("a message that is too large was taken")
    except smtplib.SMTPSenderRefused as e:
        assert e.smtp_code == 552, e
    assert s.verify("b@b.test")[0] == 252
    assert s.noop()[0] == 250
"#;
    let server = Server::start(&["--model", "thread"]);
    let addr = server.addr.to_string();
    let output = client("python3", &["-", &addr], script);
    assert!(output.status.success(), "{}", stderr(&output));
    let stats = server.stop();
    assert_eq!((&stats["mail"]["messages"], &stats["mail"]["recipients"]), (&2.into(), &3.into()));
}

#[needs("curl")]
#[test]
fn curl_delivers_a_message_and_one_with_bare_line_feeds_is_refused() {
    let send = |input: &str| {
        with_maildir("curl", input, |addr| {
            let words =
                format!("-sS smtp://{addr}/client.test --mail-from a@a.test --mail-rcpt b@b.test -T -");
            words.split(' ').map(str::to_owned).collect()
        })
    };
    let (output, messages, _) = send("Subject: x\r\n\r\n.dot\r\nend\r\n");
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(messages.len() == 1 && messages[0].ends_with("\nSubject: x\n\n.dot\nend\n"), "{messages:?}");
    let (output, messages, stats) = send("Subject: x\r\n\r\nbare\nend\r\n");
    // A later curl may fix its line ends by itself.
    assert_eq!(output.status.success(), !messages.is_empty(), "{output:?}");
    assert_eq!(stats["mail"]["messages"], messages.len());
}
