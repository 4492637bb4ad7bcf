//! What servers acknowledge in a soak is looked for while it goes on, and what was there does not pile up.

use std::path::Path;

use pitot_record::Soak;
use pitot_record::soak::{EventKind, Totals};
use serde_json::Value;

use super::server::forgetful;
use super::{soak, together};
use crate::support::{PITOT, text};

const FAULTS: &str = r#"
[[faults]]
kind = "kill"
process = "all"
at = "1s"
for = "100ms"
[[faults]]
kind = "stop"
process = "all"
at = "2500ms"
for = "200ms"
"#;

/// Runs a soak of four seconds that ends with this code, and returns it with what its terminal showed.
fn run(dir: &Path, plan: &str, code: i32) -> (Soak, String) {
    std::fs::write(dir.join("p.toml"), format!("title = \"Kept\"\n{plan}[soak]\nfor = \"4s\"\n")).unwrap();
    let arguments = ["p.toml", "--interval", "1s", "-o", "a.pitot"];
    let output = soak(dir, &arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(code), "{}", text(&output));
    (Soak::open(&dir.join("a.pitot")).unwrap(), text(&output))
}

fn report(dir: &Path, format: &str) -> String {
    let arguments = ["report", "a.pitot", "--format", format, "-o", "-"];
    let output = std::process::Command::new(PITOT).args(arguments).current_dir(dir).output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    String::from_utf8(output.stdout).unwrap()
}

fn files(dir: &Path) -> usize {
    std::fs::read_dir(dir).unwrap().count()
}

/// Everything was there, in a soak with faults.
fn nothing_is_lost(soak: &Soak, said: &str) {
    assert_eq!(soak.faults.iter().filter(|fault| fault.was_made).count(), 2 * soak.subjects.len(), "{said}");
    for load in &soak.loads {
        let Totals { completed, acknowledged, lost, doubled, .. } = load.totals;
        assert_eq!((lost, doubled), (0, 0), "{:?} {:?}", load.totals, soak.events);
        // Each right reply is one, warm-up is none.
        assert!(acknowledged > 0 && acknowledged <= completed, "{:?}", load.totals);
    }
    let about_kept = |kind| matches!(kind, EventKind::Lost | EventKind::KeptUnreadable);
    assert!(!soak.events.iter().any(|event| about_kept(event.kind)), "{:?}", soak.events);
}

#[test]
fn what_servers_acknowledge_is_found_and_what_they_forget_is_told() {
    together(&[
        ("uploads", uploads_are_found_and_taken_away_in_a_soak_with_faults),
        ("mail", mail_is_found_in_its_maildir),
        ("forgotten", what_a_server_forgets_is_told_when_it_was_acknowledged),
    ]);
}

fn uploads_are_found_and_taken_away_in_a_soak_with_faults() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("kept")).unwrap();
    let plan = format!(
        "durability = \"{{plan}}/kept\"\n{FAULTS}[server]\nprotocol = \"http\"\nroot = \"{{plan}}/kept\"\nwritable = true\n\
         [load]\nurl = \"http://{{address}}/{{request-id}}\"\nmethod = \"PUT\"\nbody = \"0123456789\"\nconnections = 2\n\
         rate = \"200\"\n[factors]\nserver = [\"thread\"]\n"
    );
    let (soak, said) = run(dir.path(), &plan, 0);
    nothing_is_lost(&soak, &said);
    let totals = &soak.loads[0].totals;
    // What was acknowledged by a reply that did not arrive is all that may be left, with the file of the kill.
    assert!(files(&dir.path().join("kept")) <= 10, "{totals:?}");
    let text = report(dir.path(), "terminal");
    assert!(text.contains("no loss in "), "{text}");
}

fn mail_is_found_in_its_maildir() {
    let dir = tempfile::tempdir().unwrap();
    let plan = format!(
        "durability = \"{{dir}}/mail\"\n{FAULTS}[load]\nurl = \"smtp://{{address}}/?size=1KiB\"\nconnections = 2\nrate = \"50\"\n\
         [servers.maildir]\ncommand = [\"pitot\", \"serve\", \"smtp\", \"--listen\", \"{{address}}\", \"--deliver\", \
         \"maildir\", \"{{dir}}/mail\", \"--model\", \"prefork\"]\n[factors]\nserver = [\"maildir\"]\n"
    );
    let (soak, said) = run(dir.path(), &plan, 0);
    nothing_is_lost(&soak, &said);
    let text = report(dir.path(), "terminal");
    assert!(text.contains("no loss in "), "{text}");
}

fn what_a_server_forgets_is_told_when_it_was_acknowledged() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("kept")).unwrap();
    let plan = format!(
        "durability = \"{{plan}}/kept\"\n[[faults]]\nkind = \"stop\"\nat = \"2s\"\nfor = \"100ms\"\n\
         [load]\nurl = \"http://{{address}}/{{request-id}}\"\nmethod = \"PUT\"\nbody = \"0123456789\"\nconnections = 2\n\
         rate = \"100\"\n[servers.forgetful]\ncommand = {:?}\n[factors]\nserver = [\"forgetful\"]\n",
        forgetful(dir.path())
    );
    let (soak, said) = run(dir.path(), &plan, 1);
    assert!(said.contains("that servers had acknowledged are lost"), "{said}");
    let totals = &soak.loads[0].totals;
    let forgot = std::fs::read_to_string(dir.path().join("forgot")).unwrap().lines().count() as u64;
    // The last reply of a connection may have come after the end.
    assert!(forgot > 10 && (forgot - 2..=forgot).contains(&totals.lost), "{forgot} {totals:?}");
    assert!(totals.torn.abs_diff(totals.lost / 2) <= 2, "{totals:?}");
    assert_eq!(soak.losses.iter().map(|loss| loss.lost).sum::<u64>(), totals.lost);
    assert!(soak.losses.len() >= 3, "they are spread over the seconds: {:?}", soak.losses);
    let lost = soak.events.iter().find(|event| event.kind == EventKind::Lost).unwrap();
    assert!(lost.evidence.contains("request-"), "{lost:?}");
    // What is there in part is left for whoever wants to see why.
    let left = files(&dir.path().join("kept")) as u64;
    assert!((totals.torn..=totals.torn + 2).contains(&left), "{left} {totals:?}");
    // Wherever its lines end.
    let text = report(dir.path(), "terminal").split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains(&format!("LOST: {} of ", totals.lost)), "{text}");
    assert!(text.contains(" acknowledged requests were lost"), "{text}");
    let json: Value = serde_json::from_str(&report(dir.path(), "json")).unwrap();
    let of_fault = json["faults"][0]["lost"].as_u64().unwrap();
    assert!(0 < of_fault && of_fault < totals.lost, "{json:#}");
}
