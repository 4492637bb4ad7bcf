//! `pitot history` as a user types it, and labels.

use std::path::Path;
use std::process::{Command, Output};

use pitot_needs::needs;
use serde_json::Value;

use crate::report_and_compare::support::{Fixture, SMALL};
use crate::support::{PITOT, stderr, stdout};

/// A directory with runs, and an empty cache.
struct Runs(tempfile::TempDir);

impl Runs {
    /// So many runs; from `slower` on everything takes 30% longer.
    fn of(count: u64, slower: u64) -> Runs {
        let runs = Runs(tempfile::tempdir().unwrap());
        std::fs::create_dir(runs.folder()).unwrap();
        for number in 0..count {
            let slowdown = if number >= slower { 1.3 } else { 1.0 };
            Fixture { slowdown, seed: number, ..SMALL }
                .run(&runs.folder().join(format!("{number:02}.pitot")));
        }
        runs
    }

    fn folder(&self) -> std::path::PathBuf {
        self.0.path().join("runs")
    }

    fn history(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(PITOT);
        command.arg("history").arg(self.folder()).args(arguments);
        command
            .env("XDG_CACHE_HOME", self.0.path().join("cache"))
            .current_dir(self.0.path())
            .output()
            .unwrap()
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let output = self.history(&[&["--format", "json"], arguments].concat());
        serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", stderr(&output)))
    }
}

#[test]
fn a_step_is_named_with_its_runs_and_decides_the_exit_code() {
    let runs = Runs::of(12, 6);
    let all = runs.json(&[]);
    assert_eq!(
        (all["schema"].as_str(), &all["left_out"]),
        (Some("pitot-history/1"), &Value::Array(Vec::new()))
    );
    // The baseline has figures; what has a ratio to it does not change, since everything became slower.
    for line in all["series"].as_array().unwrap() {
        let changes = line["changes"].as_array().unwrap();
        let is_baseline = line["reference"].is_null();
        assert_eq!((is_baseline, changes.len()), (is_baseline, usize::from(is_baseline)), "{line:#}");
        for change in changes {
            let file = |side: &str| {
                Path::new(change[side]["file"].as_str().unwrap()).file_name().unwrap().to_owned()
            };
            assert_eq!((file("before"), file("after")), ("05.pitot".into(), "06.pitot".into()));
            assert_eq!(change["direction"], "worse");
        }
    }
    for (arguments, code) in [
        (&["--fail-if", "worse"][..], 1),
        (&["--fail-if", "change", "--since", "2026-01-03"], 0),
        (&["--fail-if", "worse", "--last", "6"], 3),
        (&["--fail-if", "worse", "--last", "10", "--metric", "memory"], 0),
        (&["--plan", "other"], 2),
        (&["--metric", "througput"], 2),
        (&["--since-when", "no such cell"], 2),
        (&["--since-when", "fork+blocking, 10"], 2),
    ] {
        let output = runs.history(arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}{}", stdout(&output), stderr(&output));
        assert_eq!(stderr(&output).is_empty(), code != 2, "{}", stderr(&output));
    }
    let output = runs.history(&["--format", "html"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let page = std::fs::read_to_string(runs.0.path().join("history.html")).unwrap();
    assert!(page.contains("History of architectures") && page.contains("<svg"));
}

#[test]
fn what_is_no_run_is_left_out_and_a_changed_file_is_read_again() {
    let runs = Runs::of(2, 9);
    std::fs::write(runs.folder().join("damaged.pitot"), "no database").unwrap();
    let first = runs.json(&[]);
    assert_eq!(first["left_out"].as_array().unwrap().len(), 1, "{first:#}");
    let value = |all: &Value, run: usize| all["series"][0]["points"][run]["value"].as_f64().unwrap();
    let path = runs.folder().join("01.pitot");
    std::fs::remove_file(&path).unwrap();
    Fixture { slowdown: 2.0, seed: 1, ..SMALL }.run(&path);
    let second = runs.json(&[]);
    assert_eq!(value(&first, 0), value(&second, 0));
    assert!(value(&second, 1) < 0.7 * value(&first, 1), "{second:#}");
    std::fs::remove_file(runs.folder().join("00.pitot")).unwrap();
    std::fs::remove_file(path).unwrap();
    let none = runs.history(&[]);
    assert_eq!(none.status.code(), Some(2));
    assert!(stderr(&none).starts_with("pitot: there is no run among 1 files"), "{}", stderr(&none));
}

#[needs("git")]
#[test]
fn a_run_in_a_checkout_has_its_commit() {
    let directory = tempfile::tempdir().unwrap();
    let git = |arguments: &[&str]| {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=a", "-c", "user.email=a@example.org"]).args(arguments);
        git.current_dir(directory.path()).env("GIT_COMMITTER_DATE", "2026-01-02T03:04:05Z");
        git.env("GIT_CONFIG_GLOBAL", "/dev/null").output().map(|output| stdout(&output).trim().to_owned())
    };
    git(&["init", "-q"]).unwrap();
    git(&["commit", "-q", "--allow-empty", "-m", "one"]).unwrap();
    let commit = git(&["rev-parse", "HEAD"]).unwrap();
    let labels = |more: &[&str]| -> Vec<(String, String)> {
        let file = directory.path().join("a.pitot");
        let _ = std::fs::remove_file(&file);
        let mut command = Command::new(PITOT);
        command
            .args(["diff", "true", "true", "--within", "6s", "--tolerance", "50%", "-o", "a.pitot"])
            .args(more);
        let output = command.current_dir(directory.path()).output().unwrap();
        assert!(file.exists(), "{}{}", stdout(&output), stderr(&output));
        pitot_record::Run::open(&file).unwrap().plan.labels
    };
    let label = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let time = label("commit-time", "2026-01-02T03:04:05Z");
    assert_eq!(labels(&[]), [label("commit", &commit), time.clone()]);
    assert_eq!(
        labels(&["--label", "commit=HEAD", "--label", "a=b"]),
        [label("commit", "HEAD"), label("a", "b"), time]
    );
}
