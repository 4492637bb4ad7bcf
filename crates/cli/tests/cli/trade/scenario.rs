//! `pitot load trade://`: the mix, the checks, browser mode.

use std::process::Command;

use pitot_needs::needs;
use serde_json::Value;

use super::client::Client;
use super::server::Server;
use crate::support::{PITOT, stderr};

pub(crate) fn load(words: &[&str]) -> Value {
    let output = Command::new(PITOT).arg("load").args(words).args(["--json", "-"]).output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", stderr(&output)))
}

fn plays_the_mix(options: &[&str]) {
    let server = Server::start(options);
    let url = format!("trade://{}/?users=40&quotes=60", server.address);
    let result = load(&[&url, "-c", "6", "-n", "60", "-d", "60s"]);
    let sessions = &result["sessions"];
    assert_eq!(
        (&sessions["failed"], &result["requests"]["failed"]),
        (&0.into(), &0.into()),
        "{}",
        result["errors"]
    );
    assert_eq!(sessions["completed"], 60);
    let steps = sessions["steps"].as_array().unwrap();
    let of = |name: &str| steps.iter().find(|step| step["step"] == name).unwrap();
    assert!(of("quotes")["share"].as_f64().unwrap() > 0.25, "{steps:?}");
    assert_eq!((&of("login")["requests"], &of("buy/quotes")["share"]), (&60.into(), &Value::Null));
    assert_eq!(steps.iter().map(|step| step["errors"].as_u64().unwrap()).sum::<u64>(), 0);
    let audit = Client::new(&server.address).audit();
    assert_eq!(audit["holds"], true, "{audit}");
    let stats = server.stop();
    assert_eq!(stats["actions"]["login"]["count"], 60);
}

#[test]
fn the_scenario_on_sqlite_has_no_failed_check() {
    plays_the_mix(&[]);
}

#[test]
fn the_scenario_with_queued_orders_has_no_failed_check() {
    plays_the_mix(&["--orders", "queued"]);
}

#[test]
fn a_server_with_fewer_users_or_quotes_than_the_load_fails_the_run_with_a_hint() {
    let server = Server::start(&[]);
    for (query, hint) in [("quotes=60", "?users=N"), ("users=40", "?quotes=N")] {
        let url = format!("trade://{}/?{query}", server.address);
        let output =
            Command::new(PITOT).args(["load", &url, "-c", "6", "-n", "300", "-d", "60s"]).output().unwrap();
        let [summary, error] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
        assert_eq!(output.status.code(), Some(1), "{summary}{error}");
        assert!(error.contains("sessions failed") && error.contains(hint), "{error}");
        assert!(summary.contains("Verdict: failed"), "{summary}");
        let declined = summary.contains("the server said: login of uid:");
        assert_eq!(declined, query == "quotes=60", "{summary}");
    }
}

#[needs("postgres")]
#[test]
fn the_scenario_on_postgresql_has_no_failed_check() {
    plays_the_mix(&["--with-postgres", "--pool", "4"]);
}

#[needs("postgres")]
#[test]
fn the_scenario_at_the_strictest_level_has_no_failed_check() {
    plays_the_mix(&["--with-postgres", "--isolation", "serializable"]);
}

#[test]
fn each_user_may_have_an_address_and_browsers_get_what_is_embedded() {
    let server = Server::start(&[]);
    let url = format!("trade://{}/?users=40&quotes=60", server.address);
    let source = ["--source", "127.0.3.0/24", "--source-per-user"];
    let result = load(&[&[&url, "-c", "8", "-n", "10"], &source[..]].concat());
    assert_eq!(result["sessions"]["completed"], 10, "{}", result["errors"]);
    let page = format!("http://{}/app?action=market", server.address);
    let result = load(&[&page, "--browser", "-c", "2", "-n", "5"]);
    assert_eq!(result["pages"]["ok"], 5, "{}", result["errors"]);
    assert!(result["pages"]["objects_per_page"].as_f64().unwrap() >= 3.0);
}
