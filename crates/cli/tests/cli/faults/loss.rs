//! Packets that are lost on the way to each architecture and back.

use std::path::Path;
use std::process::{Command, Output};

use super::{FOUR, Told, assert_outage};
use crate::support::{PITOT, text};
use pitot_needs::needs;

/// Runs Pitot in a network namespace of its own, in which it may make rules; at the end the tables that are left are printed.
fn in_a_namespace(dir: &Path, arguments: &str) -> Output {
    Command::new("unshare")
        .args(["--user", "--map-root-user", "--net", "sh", "-c"])
        .arg(format!("ip link set lo up; {PITOT:?} {arguments}; status=$?; nft list tables; exit $status"))
        .current_dir(dir)
        .env("TMPDIR", dir)
        .env("PITOT_HOST_JOURNAL", dir.join("journal"))
        .env("PATH", format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap()))
        .output()
        .unwrap()
}

/// Runs a plan of four architectures whose packets are lost, in such a namespace.
fn run(servers: &str, fault: &str) -> Told {
    let dir = tempfile::tempdir().unwrap();
    let plan = format!(
        "repetitions = 1\nduration = \"3s\"\nwarmup = \"100ms\"\n[[faults]]\nkind = \"loss\"\nat = \"800ms\"\n{fault}\n\
         [server]\nprotocol = \"http\"\n[load]\nsize = \"1KiB\"\nconnections = 8\nrate = 1000\ntimeout = \"60s\"\n\
         [factors]\nserver = [{servers}]\n"
    );
    std::fs::write(dir.path().join("plan.toml"), plan).unwrap();
    let output = in_a_namespace(dir.path(), "run plan.toml -o run.pitot");
    assert!(output.status.success(), "{}", text(&output));
    assert!(!text(&output).contains("table inet pitot_loss"), "{}", text(&output));
    Told::of(dir)
}

#[needs("ip", "nft", "user-namespaces")]
#[test]
fn lost_packets_are_sent_again_and_the_rule_is_gone_afterwards() {
    let told = run(FOUR, "share = \"20%\"\nfor = \"1s\"");
    for fault in told.faults(4) {
        assert_eq!((&fault["made"], &fault["server_died"]), (&true.into(), &false.into()), "{fault:#}");
        // Nothing is lost for good: TCP sends it again.
        assert_eq!(fault["errors"].to_string(), "[]", "{fault:#}");
        let rate = |name: &str| fault["service"][name].as_f64();
        let is_less =
            rate("during_rps").zip(rate("before_rps")).is_none_or(|(during, before)| during < before / 2.0);
        assert!(is_less, "{fault:#}");
    }
    for cell in &told.run.cells {
        let resources = cell.repetitions[0].resources.as_ref().unwrap();
        assert!(resources.tcp_retransmits > 0, "{}", cell.label());
    }
}

/// The least time after which Linux sends a packet again of which nothing is heard (TCP_RTO_MIN), which RFC 6298 section 2.4 would
/// have a second.
const SENT_AGAIN_S: f64 = 0.2;

#[needs("ip", "nft", "user-namespaces")]
#[test]
fn service_is_back_when_tcp_sends_again_what_was_lost() {
    // It is over before anything is sent again.
    for fault in run(FOUR, "share = \"100%\"\nfor = \"100ms\"").faults(4) {
        assert_outage(fault, SENT_AGAIN_S);
    }
}

#[needs("ip", "nft", "user-namespaces")]
#[test]
fn a_rule_goes_with_the_program_that_made_it() {
    let dir = tempfile::tempdir().unwrap();
    let output = in_a_namespace(
        dir.path(),
        "fault loss --to 127.0.0.1:9 --for 60s > began & while ! grep -q began began; do sleep 0.01; done; nft list tables; \
         kill -9 $!; wait $!; while nft list tables | grep -q pitot_loss; do sleep 0.01; done; true",
    );
    assert!(output.status.success(), "{}", text(&output));
    assert_eq!(text(&output).matches("table inet pitot_loss").count(), 1, "{}", text(&output));
}

#[needs("ip", "nft", "user-namespaces")]
#[test]
fn a_rule_whose_program_and_guardian_were_killed_goes_with_host_undo() {
    let dir = tempfile::tempdir().unwrap();
    // The guardian is the program's one child.
    let output = in_a_namespace(
        dir.path(),
        &format!(
            "fault loss --to 127.0.0.1:9 --for 60s > began & while ! grep -q began began; do sleep 0.01; done; \
             for p in /proc/[0-9]*; do if grep -q \"^PPid:.$!\\$\" $p/status 2> /dev/null; then kill -9 ${{p#/proc/}}; fi; done; \
             kill -9 $!; wait $!; nft list tables; {PITOT:?} host status; {PITOT:?} host undo"
        ),
    );
    let said = text(&output);
    assert!(output.status.success(), "{said}");
    assert_eq!(said.matches("table inet pitot_loss").count(), 3, "{said}");
    assert!(said.contains("of nftables: LEFT BEHIND") && said.contains("of nftables: undone"), "{said}");
}

#[test]
fn a_share_that_is_none_is_refused() {
    for share in ["0", "101%", "some"] {
        let output = Command::new(PITOT)
            .args(["fault", "loss", "--to", "127.0.0.1:9", "--share", share])
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2), "{share}: {}", text(&output));
        assert!(text(&output).contains("from 0.001% to 100%"), "{}", text(&output));
    }
}
