//! `pitot mail` as a user and a script meet it, against hosts and DNS servers that follow a script.

mod dns;
mod dry_run;
mod host;
mod kill;
mod login;
mod malformed;
mod reasons;
mod tls;

use std::collections::HashMap;
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::support::{PITOT, Port, Running, stderr, stdout, until};
use dns::Data;
use host::{Host, Script};
use pitot_needs::needs;
use pitot_results::mail::MailResult;
use serde_json::Value;
use tempfile::TempDir;

/// A program from a directory of daemons, which Debian leaves out of a user's `PATH`.
fn daemon(name: &str) -> Command {
    let paths = ["/usr/sbin", "/usr/local/sbin"].map(|directory| Path::new(directory).join(name));
    Command::new(paths.into_iter().find(|path| path.exists()).unwrap_or_else(|| PathBuf::from(name)))
}

/// The files of a run.
struct Files {
    directory: TempDir,
}

impl Files {
    fn new(list: &str) -> Files {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("list"), list).unwrap();
        std::fs::write(directory.path().join("message"), "Subject: hello\n\nhi\n.dot\n").unwrap();
        Files { directory }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(PITOT);
        command.args(["mail", "--from", "me@sender.test", "--list"]).arg(self.path("list"));
        command.arg("--message").arg(self.path("message")).args(arguments);
        // What goes wrong on a busy machine is tried again at once, and not in five minutes.
        if !arguments.contains(&"--retry-delay") {
            command.args(["--retry-delay", "20ms"]);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs it to its end.
    fn mail(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Runs it for its JSON and its exit code.
    fn json(&self, arguments: &[&str]) -> (Value, i32) {
        let output = self.mail(&[arguments, &["--json", "-"]].concat());
        let value: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|e| panic!("{e}: {}{}", stdout(&output), stderr(&output)));
        let read: MailResult = serde_json::from_value(value.clone()).unwrap();
        assert_eq!(serde_json::to_value(read).unwrap(), value, "the lab reads every field");
        (value, output.status.code().unwrap())
    }

    fn journal(&self) -> String {
        self.path("journal").display().to_string()
    }
}

/// `count` recipients at `domains` domains.
fn list(count: usize, domains: usize) -> String {
    (0..count).map(|n| format!("r{n}@d{}.test\n", n % domains)).collect()
}

/// The outcome of each recipient in the journal, and how often.
fn outcomes(journal: &Path) -> HashMap<String, Vec<&'static str>> {
    let mut outcomes: HashMap<String, Vec<&'static str>> = HashMap::new();
    for line in std::fs::read(journal).unwrap().split(|b| *b == b'\n') {
        if let Some((address, outcome)) = pitot_mail::journal::record::settled_of(line) {
            outcomes.entry(address.to_owned()).or_default().push(outcome.word());
        }
    }
    outcomes
}

fn recipients(report: &Value, name: &str) -> u64 {
    report["recipients"][name].as_u64().unwrap()
}

#[test]
fn misuse_is_reported_in_a_line_with_a_cure_and_exit_code_2() {
    let files = Files::new("a@b.test\n");
    std::fs::write(files.path("empty"), "").unwrap();
    std::fs::write(files.path("other"), "not a journal\n").unwrap();
    let (empty, other) = (files.path("empty"), files.path("other"));
    let wrong: &[&[&str]] = &[
        &[],
        &["--test-mode", "--really-send"],
        &["--test-mode", "--from", "nobody"],
        &["--test-mode", "--message", empty.to_str().unwrap()],
        &["--test-mode", "--message", "/nonexistent"],
        &["--test-mode", "--list", "/nonexistent"],
        &["--test-mode", "--list", "/"],
        &["--test-mode", "-c", "0"],
        &["--test-mode", "-c", "100M"],
        &["--test-mode", "--relay", "no-such-host.invalid:25"],
        &["--test-mode", "--relay", "127.0.0.1:1", "--dns", "127.0.0.1:1"],
        // inet_aton(3) would take these for addresses.
        &["--test-mode", "--dns", "127.1"],
        &["--test-mode", "--dns", "0x7f000001:53"],
        &["--test-mode", "--relay", "2130706433:25"],
        &["--test-mode", "--relay", "127.0.1.:25"],
        &["--test-mode", "--journal", "/dev/null"],
        &["--test-mode", "--journal", "/nonexistent/journal"],
        &["--test-mode", "--tls", "maybe"],
        &["--test-mode", "--timeout-scale", "0"],
        &["--test-mode", "--helo", "a b"],
        &["--test-mode", "--journal", other.to_str().unwrap()],
        &["--test-mode", "--json", "/nonexistent/x"],
    ];
    for arguments in wrong {
        // The last of two options with one name counts, which clap refuses: so they replace the usual ones.
        let mut all = vec!["mail"];
        let defaults =
            [("--list", files.path("list")), ("--message", files.path("message")), ("--from", "a@b".into())];
        let defaults: Vec<(&str, String)> =
            defaults.iter().map(|(name, value)| (*name, value.display().to_string())).collect();
        for (name, value) in defaults.iter().filter(|(name, _)| !arguments.contains(name)) {
            all.extend([*name, value]);
        }
        all.extend(*arguments);
        let output = Command::new(PITOT).args(&all).output().unwrap();
        let error = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
        if error.starts_with("pitot: ") {
            assert_eq!(error.lines().count(), 2, "{arguments:?}: {error}");
        }
    }
    assert_eq!(std::fs::read_to_string(other).unwrap(), "not a journal\n");
}

#[test]
fn a_list_without_a_line_is_a_mistake() {
    for empty in ["", "\n# nobody\n\n"] {
        let output = Files::new(empty).mail(&["--test-mode", "--relay", "127.0.0.1:1"]);
        let error = stderr(&output);
        assert_eq!((output.status.code(), error.lines().count()), (Some(2), 2), "{error}");
        assert!(error.contains("is empty") && output.stdout.is_empty(), "{error}");
    }
}

#[test]
fn test_mode_takes_every_step_but_the_last() {
    for offers in [&["PIPELINING"][..], &[]] {
        let host = Host::new(Script { offers, ..Script::default() });
        let files = Files::new(&list(300, 30));
        let (report, code) = files.json(&["--test-mode", "--relay", &host.name(), "-c", "5"]);
        assert_eq!((recipients(&report, "accepted"), code), (300, 0), "{report}");
        let seen = host.seen();
        assert_eq!((seen.named.len(), seen.messages.len()), (300, 0));
        assert_eq!(u64::from(seen.resets), report["transactions"].as_u64().unwrap());
        // A connection that was still being set up when the last recipient was done has nothing to say goodbye to.
        assert!(seen.connections <= 5 && (1..=seen.connections).contains(&seen.quits));
        assert_eq!(report["domains"].as_array().unwrap().len(), 30);
        assert_eq!(report["domains"][0]["taken"], 10);
    }
}

#[test]
fn a_message_arrives_whole_and_once_for_each_recipient() {
    let host = Host::new(Script::default());
    let files = Files::new(&(list(100, 10) + "R0@D0.TEST\nr0@d0.test\n"));
    let (report, code) = files.json(&["--really-send", "--relay", &host.name(), "-c", "10"]);
    assert_eq!(
        (recipients(&report, "sent"), recipients(&report, "duplicates"), code),
        (101, 1, 0),
        "{report}"
    );
    let seen = host.seen();
    assert!(seen.taken.len() == 101 && seen.taken.values().all(|n| *n == 1));
    assert!(seen.messages.iter().all(|m| m == b"Subject: hello\r\n\r\nhi\r\n..dot\r\n.\r\n"));
}

#[test]
fn not_now_is_tried_again_and_never_is_final() {
    let rcpt = |address: &str, times| match &address[..2] {
        "r1" if times == 1 => "450 4.2.1 not now\r\n",
        "r2" => "550 5.1.1 no such user\r\n",
        "r3" => "451 4.7.1 never now\r\n",
        _ => "250 ok\r\n",
    };
    for offers in [&["PIPELINING"][..], &[]] {
        let host = Host::new(Script { rcpt, offers, ..Script::default() });
        let files = Files::new(&list(10, 2));
        let journal = files.journal();
        let again = ["--retries", "2"];
        let arguments = ["--really-send", "--relay", &host.name(), "--journal", &journal];
        let (report, code) = files.json(&[&arguments[..], &again].concat());
        let counts = ["sent", "refused", "gave_up", "unsettled", "deferrals"].map(|n| recipients(&report, n));
        assert_eq!((counts, code), ([8, 1, 1, 0, 4], 1), "{report}");
        let outcomes = outcomes(&files.path("journal"));
        assert_eq!(outcomes["r1@d1.test"], ["sent"]);
        assert_eq!(outcomes["r2@d0.test"], ["refused"]);
        assert_eq!(outcomes["r3@d1.test"], ["gave-up"]);
        assert_eq!(outcomes.len(), 10);
        let reason =
            |code| report["outcomes"].as_array().unwrap().iter().find(|o| o["code"] == code).unwrap().clone();
        assert_eq!(reason(550)["enhanced"], "5.1.1");
        assert_eq!(reason(451)["outcome"], "gave-up");
        assert_eq!(host.seen().named["r3@d1.test"], 3);
    }
}

#[test]
fn a_host_that_takes_few_recipients_at_once_gets_them_all_in_turn() {
    // Every second new recipient is one too many for its transaction, and welcome when it comes again.
    let rcpt = |address: &str, times| {
        let n: u32 = address[1..address.find('@').unwrap()].parse().unwrap();
        if n % 2 == 1 && times == 1 { "452 4.5.3 too many recipients\r\n" } else { "250 ok\r\n" }
    };
    let host = Host::new(Script { rcpt, ..Script::default() });
    let files = Files::new(&list(40, 1));
    let (report, code) = files.json(&["--really-send", "--relay", &host.name()]);
    assert_eq!((recipients(&report, "sent"), recipients(&report, "deferrals"), code), (40, 0, 0), "{report}");
}

#[test]
fn connections_that_break_in_the_middle_cost_an_attempt_and_no_recipient() {
    let host = Host::new(Script { closes: 3, ..Script::default() });
    let files = Files::new(&list(60, 6));
    let (report, code) = files.json(&["--really-send", "--relay", &host.name(), "-c", "4"]);
    assert_eq!((recipients(&report, "sent"), code), (60, 0), "{report}");
    assert_eq!(report["connections"]["lost"], 3);
    assert!(host.seen().taken.values().all(|n| *n == 1));
}

#[test]
fn a_recipient_that_breaks_connections_costs_no_other_one_its_mail() {
    for offers in [&["PIPELINING"][..], &[]] {
        let rcpt = |address: &str, _| if address.starts_with("r7@") { "" } else { "250 ok\r\n" };
        let host = Host::new(Script { rcpt, offers, ..Script::default() });
        let files = Files::new(&list(50, 1));
        let journal = files.journal();
        let (report, code) =
            files.json(&["--really-send", "--relay", &host.name(), "--journal", &journal, "--retries", "2"]);
        assert_eq!(
            (recipients(&report, "sent"), recipients(&report, "gave_up"), code),
            (49, 1, 1),
            "{report}"
        );
        assert_eq!(outcomes(&files.path("journal"))["r7@d0.test"], ["gave-up"]);
        assert!(host.seen().taken.values().all(|n| *n == 1));
    }
}

/// The next attempt of a recipient is an hour away here, and a run that waits for it is killed.
#[test]
fn a_recipient_that_breaks_connections_holds_no_other_one_back() {
    for offers in [&["PIPELINING"][..], &[]] {
        let rcpt = |address: &str, times| match address.starts_with("r7@") && times < 3 {
            true => "",
            false => "250 ok\r\n",
        };
        let host = Host::new(Script { rcpt, offers, ..Script::default() });
        let files = Files::new(&list(41, 1));
        let mut command = files.command(&["--really-send", "--relay", &host.name(), "--retry-delay", "1h"]);
        let mut mail = Running::start(command.stdout(Stdio::null()).stderr(Stdio::null()));
        until("the others have their mail", || host.seen().taken.len() == 40);
        assert!(mail.try_wait().unwrap().is_none(), "the one that broke connections waits");
        let seen = host.seen();
        assert!(!seen.taken.contains_key("r7@d0.test") && seen.taken.values().all(|n| *n == 1));
        // Once to see that it breaks, and where commands went out together once more to see at whom.
        assert_eq!(seen.named["r7@d0.test"], if offers.is_empty() { 1 } else { 2 });
    }
}

/// A host that breaks all connections is not called again and again.
#[test]
fn a_host_that_breaks_every_connection_is_left_alone_soon() {
    let host = Host::new(Script { rcpt: |_, _| "", ..Script::default() });
    let files = Files::new(&list(400, 1));
    let (report, code) = files.json(&[
        "--really-send",
        "--relay",
        &host.name(),
        "--retries",
        "0",
        "--connections-per-host",
        "1",
    ]);
    assert_eq!((recipients(&report, "gave_up"), code), (400, 1), "{report}");
    // Eight batches of fifty, and eight more connections.
    let connections = host.seen().connections;
    assert!(connections <= 8 + 8 + 1, "{connections}");
}

#[test]
fn a_journal_on_a_full_disk_ends_the_run_with_its_reason() {
    let host = Host::new(Script::default());
    let files = Files::new(&list(1000, 1));
    let mail =
        files.command(&["--really-send", "--relay", &host.name(), "-c", "5", "--journal", &files.journal()]);
    // A limit on the size of files, 1 KiB, stands for the disk.
    let mut limited = Command::new("bash");
    limited.args(["-c", "trap '' XFSZ; ulimit -f 1; exec timeout -s KILL 30 \"$@\"", "bash"]);
    let output = limited.arg(mail.get_program()).args(mail.get_args()).stdin(Stdio::null()).output().unwrap();
    let error = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.lines().count() == 2 && error.contains("cannot write the journal"), "{error}");
    // What became of the others is told all the same.
    assert!(stdout(&output).contains("ended early: cannot write the journal"), "{}", stdout(&output));
    // With room again the next run goes on, and nobody is lost.
    let again = ["--really-send", "--relay", &host.name(), "-c", "5", "--journal", &files.journal()];
    let (report, code) = files.json(&again);
    assert!(code == 0 && recipients(&report, "settled_before") > 0, "{report}");
    let seen = host.seen();
    assert_eq!(seen.taken.len(), 1000);
    assert!(seen.taken.values().filter(|n| **n > 1).count() <= 5);
}

#[test]
fn a_table_of_domains_that_is_cut_says_so() {
    let host = Host::new(Script { rcpt: |_, _| "550 5.1.1 no such user\r\n", ..Script::default() });
    for (domains, more) in [(12, Some("... and 2 more domains")), (10, None)] {
        let output = Files::new(&list(12, domains)).mail(&["--test-mode", "--relay", &host.name()]);
        let summary = stdout(&output);
        assert_eq!(summary.contains("... and"), more.is_some(), "{summary}");
        assert!(more.is_none_or(|more| summary.contains(more)), "{summary}");
    }
}

#[test]
fn a_journal_that_is_a_fifo_is_refused() {
    let files = Files::new("a@b.test\n");
    assert!(Command::new("mkfifo").arg(files.path("journal")).status().unwrap().success());
    let mail = files.command(&["--test-mode", "--relay", "127.0.0.1:1", "--journal", &files.journal()]);
    let mut limited = Command::new("timeout");
    let output =
        limited.args(["-s", "KILL", "30"]).arg(mail.get_program()).args(mail.get_args()).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("is not a regular file"));
}

#[test]
fn a_message_without_a_reply_is_sent_again_and_counted_as_in_doubt() {
    let host = Host::new(Script { message: |n| if n == 1 { "" } else { "250 ok\r\n" }, ..Script::default() });
    let files = Files::new(&list(4, 1));
    let (report, code) = files.json(&["--really-send", "--relay", &host.name()]);
    assert_eq!((recipients(&report, "sent"), recipients(&report, "in_doubt"), code), (4, 4, 0), "{report}");
}

#[test]
fn a_host_that_never_answers_is_given_up_in_time() {
    let host = Host::new(Script { mute: true, ..Script::default() });
    let files = Files::new(&list(20, 4));
    let limits = ["--timeout-scale", "0.001", "--retries", "1"];
    let output =
        files.mail(&[&["--test-mode", "--relay", &host.name(), "--json", "-"][..], &limits].concat());
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((recipients(&report, "gave_up"), output.status.code()), (20, Some(1)), "{report}");
    // One line at the first failure, and no more.
    let errors: Vec<&str> = stderr(&output).lines().collect();
    assert!(errors.len() == 1 && errors[0].contains("did not greet in time"), "{errors:?}");
    assert!(errors[0].ends_with("; retrying its recipients within 20ms"), "{errors:?}");
    let example = report["outcomes"][0]["example"].as_str().unwrap();
    assert!(example.contains("did not greet in time"), "{example}");
}

#[test]
fn hosts_that_refuse_connections_or_speak_another_protocol_are_given_up() {
    let held = Port::new();
    let closed = held.address.to_string();
    let busy = Host::new(Script { banner: "421 4.3.2 too busy\r\n", ..Script::default() });
    let other = Host::new(Script { banner: "HTTP/1.1 400 Bad Request\r\n", ..Script::default() });
    for (relay, word) in
        [(closed, "ECONNREFUSED"), (busy.name(), "4.3.2 too busy"), (other.name(), "does not use SMTP")]
    {
        let files = Files::new(&list(5, 1));
        let (report, code) = files.json(&["--test-mode", "--relay", &relay, "--retries", "1"]);
        assert_eq!((recipients(&report, "gave_up"), code), (5, 1), "{report}");
        let example = report["outcomes"][0]["example"].as_str().unwrap();
        assert!(example.contains(word), "{example}");
    }
}

/// RFC 5321 section 3.1: 554 in place of the greeting is a refusal for good, and the client says QUIT.
#[test]
fn a_greeting_of_554_refuses_for_good_unless_another_host_takes_the_mail() {
    let rude = Script { banner: "554 5.3.2 no service\r\n", ..Script::default() };
    let first = Host::at("127.0.0.2:0".parse().unwrap(), rude);
    let port = first.addr.port();
    let second = Host::at(format!("127.0.0.3:{port}").parse().unwrap(), Script::default());
    let dns = dns::serve(ZONE).to_string();
    let files = Files::new("a@same.test\nb@same.test\nc@two.test\nd@mixed.test\n");
    let (port, journal) = (port.to_string(), files.journal());
    let arguments =
        ["--really-send", "--dns", &dns, "--port", &port, "--retries", "1", "--journal", &journal];
    let (report, code) = files.json(&arguments);
    let counts = ["sent", "refused", "gave_up"].map(|n| recipients(&report, n));
    assert_eq!((counts, code), ([1, 2, 1], 1), "{report}");
    let outcomes = outcomes(&files.path("journal"));
    assert_eq!(outcomes["a@same.test"], ["refused"]);
    assert_eq!(outcomes["c@two.test"], ["sent"]);
    // The other host of this domain cannot be reached, and may take the mail one day.
    assert_eq!(outcomes["d@mixed.test"], ["gave-up"]);
    assert_eq!(second.seen().taken.len(), 1);
    until("every refused session ends with QUIT", || {
        let seen = first.seen();
        seen.quits > 0 && seen.quits == seen.connections
    });
}

#[test]
fn a_relay_that_greets_with_554_ends_the_run_and_costs_no_recipient() {
    let rude = Host::new(Script { banner: "554 5.7.1 not from here\r\n", ..Script::default() });
    let files = Files::new(&list(5, 2));
    let journal = files.journal();
    let output =
        files.mail(&["--really-send", "--relay", &rude.name(), "--journal", &journal, "--json", "-"]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((recipients(&report, "unsettled"), output.status.code()), (5, Some(1)), "{report}");
    assert_eq!(outcomes(&files.path("journal")).len(), 0);
    let error = stderr(&output);
    assert!(
        error.contains("the relay refuses all mail: ") && error.contains("554 5.7.1 not from here"),
        "{error}"
    );
}

#[test]
fn bad_lines_are_reported_with_their_numbers_and_end_nothing() {
    let host = Host::new(Script::default());
    let files = Files::new("a@x.test\nno address\n\n# note\nb@@x.test\n\u{fc}@x\u{fc}.test\nc@x.test\n");
    let output = files.mail(&["--test-mode", "--relay", &host.name()]);
    let errors: Vec<&str> = stderr(&output).lines().collect();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(errors.len(), 3, "{errors:?}");
    for (error, line) in errors.iter().zip([2, 5, 6]) {
        assert!(error.starts_with(&format!("pitot: line {line} of the list is not an address: ")), "{error}");
    }
    assert_eq!(host.seen().named.len(), 2);

    let many: String = (0..100).map(|n| format!("bad {n}\n")).collect();
    let output = Files::new(&many).mail(&["--test-mode", "--relay", &host.name()]);
    assert_eq!(stderr(&output).lines().count(), 21);
    assert!(stderr(&output).ends_with("80 more lines are not addresses\n"));
}

#[test]
fn an_unreachable_dns_server_ends_the_run_with_one_line() {
    // One that refuses and one that is silent.
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let refusing = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for dns in [silent.local_addr().unwrap(), refusing] {
        let files = Files::new(&list(50, 25));
        let journal = files.journal();
        let output = files.mail(&[
            "--test-mode",
            "--dns",
            &dns.to_string(),
            "--timeout-scale",
            "0.02",
            "--journal",
            &journal,
        ]);
        let error = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{error}");
        let first = error.lines().next().unwrap();
        assert!(first.contains(&dns.to_string()) && first.contains("does not answer"), "{error}");
        assert_eq!(error.lines().count(), 2, "{error}");
        // Nobody was given up for it: the next run has them all.
        assert_eq!(outcomes(&files.path("journal")).len(), 0);
    }
}

const LOCALHOST_6: [u8; 16] = std::net::Ipv6Addr::LOCALHOST.octets();

static ZONE: dns::Zone = &[
    ("two.test", &[Data::Mx(20, "second.test"), Data::Mx(10, "first.test")]),
    ("same.test", &[Data::Mx(5, "alias-of-first.test")]),
    ("bare.test", &[Data::A([127, 0, 0, 3])]),
    ("null.test", &[Data::Mx(0, "")]),
    ("lame.test", &[Data::Mx(10, "gone.test")]),
    ("down.test", &[Data::Mx(10, "closed.test"), Data::Mx(20, "second.test")]),
    ("sick.test", &[Data::Fail]),
    ("long.test", &[Data::Long, Data::Mx(10, "first.test")]),
    ("new.test", &[Data::Mx(10, "sixth.test")]),
    ("newer.test", &[Data::Aaaa(LOCALHOST_6)]),
    ("sixth.test", &[Data::Aaaa(LOCALHOST_6)]),
    ("first.test", &[Data::A([127, 0, 0, 2])]),
    ("alias-of-first.test", &[Data::A([127, 0, 0, 2])]),
    ("second.test", &[Data::A([127, 0, 0, 3])]),
    ("closed.test", &[Data::A([127, 0, 0, 4])]),
    ("mixed.test", &[Data::Mx(10, "first.test"), Data::Mx(20, "closed.test")]),
    ("cut.test", &[Data::Truncated, Data::Mx(10, "first.test")]),
];

#[test]
fn mail_goes_where_dns_says() {
    let first = Host::at("127.0.0.2:0".parse().unwrap(), Script::default());
    let port = first.addr.port();
    let second = Host::at(format!("127.0.0.3:{port}").parse().unwrap(), Script::default());
    let dns = dns::serve(ZONE).to_string();
    let domains =
        ["two", "same", "bare", "null", "lame", "down", "sick", "missing"].map(|d| format!("a@{d}.test\n"));
    let files = Files::new(&(domains.concat() + "a@[127.0.0.2]\n"));
    let port = port.to_string();
    let retry = ["--retries", "1"];
    let (report, code) =
        files.json(&[&["--really-send", "--dns", &dns, "--port", &port][..], &retry].concat());
    let counts = ["sent", "refused", "gave_up"].map(|n| recipients(&report, n));
    assert_eq!((counts, code), ([5, 3, 1], 1), "{report}");
    let taken = |host: &Host| {
        let mut taken: Vec<String> = host.seen().taken.keys().cloned().collect();
        taken.sort();
        taken
    };
    assert_eq!(taken(&first), ["a@[127.0.0.2]", "a@same.test", "a@two.test"]);
    assert_eq!(taken(&second), ["a@bare.test", "a@down.test"]);
    let reasons: Vec<&str> =
        report["outcomes"].as_array().unwrap().iter().filter_map(|o| o["enhanced"].as_str()).collect();
    assert!(reasons.contains(&"5.1.10") && reasons.contains(&"5.1.2"), "{reasons:?}");
    assert_eq!(report["dns"]["unanswered_attempts"], 0);
}

#[test]
fn an_answer_too_long_for_a_datagram_is_fetched_over_tcp() {
    let host = Host::at("127.0.0.2:0".parse().unwrap(), Script::default());
    let dns = dns::serve(ZONE).to_string();
    let port = host.addr.port().to_string();
    let arguments = ["--really-send", "--dns", &dns, "--port", &port];
    let (report, code) = Files::new("a@long.test\nb@long.test\nc@two.test\n").json(&arguments);
    assert_eq!((recipients(&report, "sent"), code), (3, 0), "{report}");
    assert_eq!(report["dns"]["over_tcp"], 1, "{report}");
    assert_eq!(host.seen().taken.len(), 3);
}

#[test]
fn an_answer_that_is_truncated_over_tcp_too_is_a_failure_for_now() {
    let host = Host::at("127.0.0.2:0".parse().unwrap(), Script::default());
    let dns = dns::serve(ZONE).to_string();
    let port = host.addr.port().to_string();
    let arguments = ["--really-send", "--dns", &dns, "--port", &port, "--retries", "1"];
    let (report, code) = Files::new("a@cut.test\n").json(&arguments);
    let counts = ["sent", "gave_up", "deferrals"].map(|n| recipients(&report, n));
    assert_eq!((counts, code), ([0, 1, 2], 1), "{report}");
    // It is answered with a failure, and not thrice in vain.
    assert_eq!((&report["dns"]["over_tcp"], &report["dns"]["failed"]), (&2.into(), &2.into()), "{report}");
    let example = report["domains"][0]["reasons"][0]["example"].as_str().unwrap();
    assert!(example.contains("truncated its answer over TCP"), "{example}");
}

#[needs("ipv6")]
#[test]
fn hosts_with_addresses_of_version_six_only_are_reached() {
    let host = Host::at("[::1]:0".parse().unwrap(), Script::default());
    let dns = dns::serve(ZONE).to_string();
    let port = host.addr.port().to_string();
    let arguments = ["--really-send", "--dns", &dns, "--port", &port];
    let (report, code) = Files::new("a@new.test\nb@newer.test\nc@[IPv6:::1]\n").json(&arguments);
    assert_eq!((recipients(&report, "sent"), code), (3, 0), "{report}");
    assert_eq!(host.seen().taken.len(), 3);
}

#[test]
fn domains_that_share_a_host_share_its_connections_and_no_transaction() {
    let host = Host::at("127.0.0.2:0".parse().unwrap(), Script::default());
    let dns = dns::serve(ZONE).to_string();
    let list: String = (0..40).map(|n| format!("r{n}@{}.test\n", ["two", "same"][n % 2])).collect();
    let port = host.addr.port().to_string();
    let arguments = ["--really-send", "--dns", &dns, "--port", &port, "--connections-per-host", "1"];
    let (report, code) = Files::new(&list).json(&arguments);
    assert_eq!((recipients(&report, "sent"), code), (40, 0), "{report}");
    let seen = host.seen();
    assert_eq!(seen.connections, 1);
    assert!(seen.messages.len() >= 2);
}

#[needs("smtp-sink")]
#[test]
fn the_debian_sink_takes_what_is_sent() {
    let held = Port::new();
    let addr = held.address.to_string();
    let user = String::from_utf8(Command::new("id").arg("-un").output().unwrap().stdout).unwrap();
    let mut command = daemon("smtp-sink");
    command.args(["-u", user.trim(), &addr, "100"]).stdout(Stdio::null());
    let mut sink = Running::start(&mut command);
    sink.listens(held.address);
    for mode in ["--test-mode", "--really-send"] {
        let (report, code) = Files::new(&list(2000, 50)).json(&[mode, "--relay", &addr, "-c", "20"]);
        assert_eq!(recipients(&report, "sent") + recipients(&report, "accepted"), 2000, "{report}");
        assert_eq!(code, 0);
    }
}
