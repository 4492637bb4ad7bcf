//! Every format of a report, and of a comparison, against its snapshot.
//!
//! `PITOT_UPDATE_SNAPSHOTS=1 cargo test -p pitot-report` writes them anew; the difference is then for a human to judge.

use std::path::{Path, PathBuf};

use pitot_report::{Format, Gate, compare, render, render_comparison};

use crate::slices::{QUIET, SLICED, Slicing, sliced};
use crate::support::{Fixture, SMALL, written};

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
    let run = written(&SMALL);
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

#[test]
fn every_format_shows_a_sliced_run_as_before() {
    let run = sliced(&SLICED, QUIET);
    for (format, name) in [
        (Format::Terminal, "sliced.txt"),
        (Format::Markdown, "sliced.md"),
        (Format::Json, "sliced.json"),
        (Format::Html, "sliced.html"),
    ] {
        assert_snapshot(name, &render(&run, format));
    }
    let noisy = sliced(&SLICED, Slicing { rate_noise: 0.8, ..QUIET });
    assert_snapshot("sliced-noisy.txt", &render(&noisy, Format::Terminal));
    let apart = sliced(&SLICED, Slicing { twin: 1.2, ..QUIET });
    assert_snapshot("sliced-untrusted.txt", &render(&apart, Format::Terminal));
}

#[test]
fn every_format_shows_the_comparison_as_before() {
    let (a, mut b) = (written(&SMALL), written(&Fixture { slowdown: 1.08, seed: 8, ..SMALL }));
    b.info.version = "0.2.0".into();
    let gates = ["throughput < -5%", "p99 > +50%"].map(|text| text.parse::<Gate>().unwrap());
    let comparison = compare(&a, &b, &gates);
    let judged = gates.map(|gate| {
        let outcome = gate.judge(&comparison);
        (gate, outcome)
    });
    for (format, name) in [
        (Format::Terminal, "compare.txt"),
        (Format::Markdown, "compare.md"),
        (Format::Json, "compare.json"),
        (Format::Html, "compare.html"),
    ] {
        assert_snapshot(name, &render_comparison(&comparison, &judged, format));
    }
}
