//! Searches among settings, as far as it shows in seconds; `pitot_lab::tune` has the statistics.

use std::fs;

use pitot_needs::needs;

use super::namespaces::{in_namespaces, set_by_hand, sysctl};
use super::stderr;

#[needs("user-namespaces")]
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
        assert!(short.status.code() == Some(2) && said.contains("too few"), "{said}");
        assert_eq!(sysctl("net.core.somaxconn"), "100");
        assert!(dir.path().join("out/trial.pitot").exists());
    });
}
