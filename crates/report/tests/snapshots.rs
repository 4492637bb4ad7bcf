//! Every format of a report, and of a comparison, against its snapshot.
//!
//! `PITOT_UPDATE_SNAPSHOTS=1 cargo test -p pitot-report` writes them anew; the difference is then for a human to judge.

mod support;

use std::path::{Path, PathBuf};

use pitot_lab::Run;
use pitot_report::{Format, render};
use support::{Fixture, SMALL};

fn written(fixture: &Fixture, name: &str) -> Run {
    let directory = tempfile::tempdir().unwrap();
    fixture.run(&directory.path().join(name))
}

fn assert_snapshot(name: &str, actual: &str) {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots").join(name);
    if std::env::var_os("PITOT_UPDATE_SNAPSHOTS").is_some() {
        std::fs::write(&path, actual).unwrap();
        return;
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    let differs = expected.lines().zip(actual.lines()).position(|(e, a)| e != a);
    let line = differs.unwrap_or_else(|| expected.lines().count().min(actual.lines().count()));
    assert!(
        expected == actual,
        "{name} differs from its snapshot at line {}:\n  was {:?}\n  is  {:?}",
        line + 1,
        expected.lines().nth(line),
        actual.lines().nth(line),
    );
}

#[test]
fn every_format_shows_the_run_as_before() {
    let run = written(&SMALL, "small.pitot");
    for (format, name) in [
        (Format::Terminal, "report.txt"),
        (Format::Markdown, "report.md"),
        (Format::Csv, "report.csv"),
        (Format::Json, "report.json"),
        (Format::Html, "report.html"),
    ] {
        assert_snapshot(name, &render(&run, format));
    }
}
