//! Why recipients were refused or given up, told for each domain and each host.

use std::process::{Command, Stdio};

use serde_json::Value;

use super::dns::{self, Data};
use super::host::{Host, Script};
use super::{Files, list, recipients};
use crate::support::{Port, stderr, stdout};

static ZONE: dns::Zone = &[
    ("one.test", &[Data::Mx(10, "first.test")]),
    ("two.test", &[Data::Mx(10, "second.test")]),
    ("dead.test", &[Data::Mx(10, "dead-host.test")]),
    ("first.test", &[Data::A([127, 0, 0, 2])]),
    ("second.test", &[Data::A([127, 0, 0, 3])]),
    ("dead-host.test", &[Data::A([127, 0, 0, 4])]),
];

fn row<'a>(rows: &'a Value, key: &str, name: &str) -> &'a Value {
    rows.as_array().unwrap().iter().find(|row| row[key] == name).unwrap_or_else(|| panic!("{name}: {rows}"))
}

fn reasons(row: &Value) -> Vec<(u64, u64, &str)> {
    let reason = |r: &'_ Value| (r["code"].as_u64().unwrap(), r["count"].as_u64().unwrap());
    row["reasons"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| (reason(r).0, reason(r).1, r["example"].as_str().unwrap()))
        .collect()
}

/// Two hosts that refuse with the same code for different reasons, and one that cannot be reached.
fn run(json: bool) -> (String, Option<i32>, u16) {
    let refuses = |text: fn(&str, u32) -> &'static str| Script { rcpt: text, ..Script::default() };
    let first = Host::at("127.0.0.2:0".parse().unwrap(), refuses(|_, _| "550 5.7.1 blocked by list A\r\n"));
    let port = first.addr.port();
    let at = format!("127.0.0.3:{port}").parse().unwrap();
    let _second = Host::at(at, refuses(|_, _| "550 5.7.1 your domain is too young\r\n"));
    let dns = dns::serve(ZONE).to_string();
    let list = "a@one.test\nb@one.test\nc@two.test\nd@dead.test\n";
    let text_port = port.to_string();
    let mut arguments =
        vec!["--really-send", "--dns", &dns, "--port", &text_port, "--retries", "0", "--helo", "me.test"];
    if json {
        arguments.extend(["--json", "-"]);
    }
    let output = Files::new(list).mail(&arguments);
    (stdout(&output).to_owned(), output.status.code(), port)
}

#[test]
fn each_domain_and_each_host_has_its_own_reasons() {
    let (report, code, port) = run(true);
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!((recipients(&report, "refused"), recipients(&report, "gave_up"), code), (3, 1, Some(1)));
    let domain = |name| reasons(row(&report["domains"], "domain", name));
    assert_eq!(domain("one.test"), [(550, 2, "5.7.1 blocked by list A")]);
    assert_eq!(domain("two.test"), [(550, 1, "5.7.1 your domain is too young")]);
    let dead = format!("dead-host.test at 127.0.0.4:{port}: ECONNREFUSED");
    assert_eq!(domain("dead.test"), [(0, 1, &*dead)]);
    let host = row(&report["hosts"], "host", "second.test");
    assert_eq!(reasons(host), [(550, 1, "5.7.1 your domain is too young")]);
    assert_eq!((&host["refused"], &host["last_failure"]), (&1.into(), &Value::Null));
    let host = row(&report["hosts"], "host", "dead-host.test");
    assert_eq!(
        (&host["failed"], &host["gave_up"], &host["last_failure"]),
        (&1.into(), &1.into(), &"ECONNREFUSED".into())
    );
}

#[test]
fn the_summary_names_the_reasons_of_each_domain_and_host() {
    let (summary, _, port) = run(false);
    for line in [
        "2  refused: 550 5.7.1 blocked by list A".to_owned(),
        "1  refused: 550 5.7.1 your domain is too young".to_owned(),
        format!("1  gave-up: dead-host.test at 127.0.0.4:{port}: ECONNREFUSED"),
        "last failure: ECONNREFUSED".to_owned(),
    ] {
        assert!(summary.contains(&line), "{line}:\n{summary}");
    }
}

#[test]
fn a_run_that_the_journal_ends_writes_its_result_all_the_same() {
    let host = Host::new(Script::default());
    let files = Files::new(&list(1000, 1));
    let journal = files.journal();
    let json = files.path("json").display().to_string();
    let arguments =
        ["--really-send", "--relay", &host.name(), "-c", "5", "--journal", &journal, "--json", &json];
    let mail = files.command(&arguments);
    // A limit on the size of files stands for the disk. It holds for the result too, which is 4 KiB long.
    let mut limited = Command::new("bash");
    limited.args(["-c", "trap '' XFSZ; ulimit -f 6; exec timeout -s KILL 30 \"$@\"", "bash"]);
    let output = limited.arg(mail.get_program()).args(mail.get_args()).stdin(Stdio::null()).output().unwrap();
    let error = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{error}");
    let report: Value = serde_json::from_slice(&std::fs::read(json).unwrap()).expect(error);
    let ended = report["ended_early"].as_str().unwrap();
    assert!(ended.contains("cannot write the journal"), "{ended}");
    assert!(recipients(&report, "sent") > 0 && recipients(&report, "unsettled") > 0, "{report}");
    let kept = std::fs::read_to_string(files.path("journal")).unwrap().lines().count() as u64 - 1;
    // The line that was cut off may count as one.
    let counted = report["journal"]["appended"].as_u64().unwrap();
    assert!(counted <= kept, "{counted} of {kept}");
}

#[test]
fn a_host_that_cannot_be_reached_is_named_with_the_reason() {
    let held = Port::new();
    let closed = held.address.to_string();
    let output = Files::new(&list(5, 2)).mail(&["--test-mode", "--relay", &closed, "--retries", "0"]);
    let summary = stdout(&output);
    assert_eq!(summary.matches("gave-up: ").count(), 1 + 2, "{summary}");
    assert!(summary.contains(&format!("{closed}: ECONNREFUSED")), "{summary}");
}

#[test]
fn who_was_refused_in_an_earlier_run_is_not_counted_as_a_success() {
    let rcpt = |address: &str, _| if address.starts_with("r1@") { "550 5.1.1 no\r\n" } else { "250 ok\r\n" };
    let host = Host::new(Script { rcpt, ..Script::default() });
    let files = Files::new(&list(5, 1));
    let journal = files.journal();
    let (relay, name) = (["--really-send", "--relay"], host.name());
    for settled in [0, 5] {
        let (report, code) = files.json(&[&relay[..], &[&name, "--journal", &journal]].concat());
        assert_eq!((recipients(&report, "settled_before"), code), (settled, 1), "{report}");
        assert_eq!(recipients(&report, "failed_before"), settled / 5, "{report}");
    }
    let output = files.mail(&[&relay[..], &[&name, "--journal", &journal]].concat());
    assert!(stdout(&output).contains("skipped; 1 of them refused or given up"), "{}", stdout(&output));
}
