//! Searches among settings, as far as it shows in seconds; `pitot_study::tune` has the statistics.

use std::fs;
use std::process::Command;

use pitot_needs::needs;

use serde_json::Value;

use super::namespaces::{in_namespaces, set_by_hand, sysctl};
use super::snapshot;
use crate::support::{PITOT, stderr, stdout};

#[needs("user-namespaces", "ip")]
#[test]
fn a_search_that_is_too_short_says_how_long_it_takes_and_leaves_all_as_found() {
    let name = "search::a_search_that_is_too_short_says_how_long_it_takes_and_leaves_all_as_found";
    in_namespaces(name, |place| {
        let dir = tempfile::tempdir().unwrap();
        set_by_hand("net.core.somaxconn", "100");
        let file = dir.path().join("wanted.toml");
        let search = |text: &str| {
            fs::write(&file, text).unwrap();
            let mut command = place.pitot(&["tune", "search", "--within", "1s", "--settings"]);
            command.arg(&file).arg("--output").arg(dir.path().join("out")).env("TMPDIR", dir.path());
            command.output().unwrap()
        };
        let same = search("\"net.core.somaxconn\" = 100\n");
        assert!(same.status.code() == Some(2) && stderr(&same).contains("already"), "{}", stderr(&same));
        let unknown = search("no.setting = 1\n");
        assert_eq!(unknown.status.code(), Some(2), "{}", stderr(&unknown));
        assert!(!dir.path().join("out").exists(), "nothing was begun");
        let short = search("\"net.core.somaxconn\" = 200\nnet.ipv4.tcp_sack = 0\n");
        let said = stderr(&short);
        assert!(short.status.code() == Some(2) && said.contains("s are left after the trial"), "{said}");
        assert_eq!(sysctl("net.core.somaxconn"), "100");
        assert!(dir.path().join("out/trial.pitot").exists());
    });
}

#[needs("user-namespaces", "ip")]
#[test]
fn a_search_can_try_what_stands_for_several_steps() {
    in_namespaces("search::a_search_can_try_what_stands_for_several_steps", |place| {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("wanted.toml");
        fs::write(&file, "filesystem = \"tmpfs\"\n").unwrap();
        let mut command = place.pitot(&["tune", "search", "--within", "1s", "--settings"]);
        command.arg(&file).arg("--output").arg(dir.path().join("out")).env("TMPDIR", dir.path());
        let short = command.output().unwrap();
        let said = stderr(&short);
        assert!(short.status.code() == Some(2) && said.contains("s are left after the trial"), "{said}");
        let run = pitot_record::Run::open(&dir.path().join("out/trial.pitot")).unwrap();
        assert!(
            run.cells.len() >= 2 && run.cells.iter().all(|cell| cell.failures().count() == 0),
            "{:?}",
            run.cells[1].verdict()
        );
    });
}

/// The smallest plan: what it says of a setting does not matter, only that it says it.
const PLAN: &str = "slices = 2\nslice = \"5ms\"\nwarmup = \"5ms\"\n[server]\nprotocol = \"http\"\n[load]\n\
                    url = \"http://{address}/bytes/10\"\nconnections = 2\n[factors]\nserver = [\"loop+epoll-et\"]\n";

#[needs("user-namespaces", "ip")]
#[test]
fn a_try_answers_in_a_sentence_and_as_json_and_leaves_all_as_found() {
    in_namespaces("search::a_try_answers_in_a_sentence_and_as_json_and_leaves_all_as_found", |place| {
        let dir = tempfile::tempdir().unwrap();
        let before = snapshot();
        fs::write(dir.path().join("plan.toml"), PLAN).unwrap();
        let attempt = |words: &[&str]| {
            let mut command = place.pitot(&["tune", "try", "net.ipv4.tcp_keepalive_time=600"]);
            command.args(words).current_dir(dir.path()).env("TMPDIR", dir.path());
            command.output().unwrap()
        };
        let output =
            attempt(&["--plan", "plan.toml", "--tolerance", "0.5", "--format", "json", "-o", "a.pitot"]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let json: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((&json["schema"], &json["tolerance"]), (&"pitot-tune-try/1".into(), &0.5.into()));
        assert_eq!(json["settings"]["net.ipv4.tcp_keepalive_time"], "600");
        let [answer] = &json["answers"].as_array().unwrap()[..] else { panic!("{json:#}") };
        assert!(
            ["no-difference", "helps", "harms"].contains(&answer["effect"].as_str().unwrap()),
            "{answer:#}"
        );
        assert!(answer["ratio"].as_f64().unwrap() > 0.0 && answer["interval"].is_array(), "{answer:#}");
        let sentence = answer["sentence"].as_str().unwrap();
        assert!(sentence.starts_with("loop+epoll-et: ") && sentence.ends_with('.'), "{sentence}");
        assert!(json["controls"].is_array() && dir.path().join("a.pitot").exists());
        // Of what has too few generations nothing can be told, which is no success.
        let short = attempt(&["--plan", "plan.toml", "--within", "1ms", "-o", "b.pitot"]);
        assert_ne!(short.status.code(), Some(0), "{}", stderr(&short));
        for (words, what) in [
            (&["--plan", "no-such-suite"][..], "no-such-suite"),
            (&["--metric", "speed"], "unknown metric `speed`"),
            (&["--tolerance", "2"], "2% or 0.02"),
            (&["net.core.somaxconn"], "not a setting with a value"),
            (&["net.core.somaxconn=many"], "it is a number"),
        ] {
            let output = attempt(words);
            assert_eq!(output.status.code(), Some(2), "{words:?}: {}", stderr(&output));
            assert!(stderr(&output).contains(what), "{words:?}: {}", stderr(&output));
        }
        assert_eq!(snapshot(), before);
        assert_eq!(fs::metadata(&place.journal).unwrap().len(), 0, "nothing is left to undo");
    });
}

#[needs("user-namespaces", "ip")]
#[test]
fn a_try_with_which_no_server_starts_is_no_success() {
    in_namespaces("search::a_try_with_which_no_server_starts_is_no_success", |place| {
        let dir = tempfile::tempdir().unwrap();
        let server = format!(
            "[servers.picky]\ncommand = [\"sh\", \"-c\", \"test $(cat /proc/sys/net/core/somaxconn) != 77 && exec {PITOT} serve http \
             --listen {{address}} --stats json\"]\nready = {{ get = \"/bytes/10\" }}\n"
        );
        let plan = PLAN.replace("[server]\nprotocol = \"http\"\n", &server).replace("loop+epoll-et", "picky");
        fs::write(dir.path().join("plan.toml"), plan).unwrap();
        let mut command =
            place.pitot(&["tune", "try", "net.core.somaxconn=77", "--plan", "plan.toml", "-o", "a.pitot"]);
        let output = command.current_dir(dir.path()).env("TMPDIR", dir.path()).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        assert_ne!(sysctl("net.core.somaxconn"), "77");
    });
}

#[test]
fn the_help_of_a_search_names_all_profiles_that_it_takes() {
    let output = Command::new(PITOT).args(["tune", "search", "--help"]).output().unwrap();
    let help = stdout(&output).split_whitespace().collect::<Vec<_>>().join(" ");
    for profile in pitot_host::profile::PROFILES {
        assert!(help.contains(profile.name), "{}: {help}", profile.name);
    }
}
