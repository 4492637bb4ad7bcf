//! Every format of a report, and of a comparison, against its snapshot.
//!
//! `INSTA_UPDATE=always cargo test -p pitot-report` writes them again; the difference is then for a human to judge.

use insta::assert_snapshot;
use pitot_report::{Format, Gate, compare};

use crate::forms::{render, render_comparison};
use crate::slices::{QUIET, SLICED, Slicing, sliced};
use crate::support::{Fixture, SMALL, written};

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
        assert_snapshot!(name, &render(&run, format));
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
        assert_snapshot!(name, &render(&run, format));
    }
    let noisy = sliced(&SLICED, Slicing { rate_noise: 0.8, ..QUIET });
    assert_snapshot!("sliced-noisy.txt", &render(&noisy, Format::Terminal));
    let apart = sliced(&SLICED, Slicing { twin: 1.2, ..QUIET });
    assert_snapshot!("sliced-untrusted.txt", &render(&apart, Format::Terminal));
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
        assert_snapshot!(name, &render_comparison(&comparison, &judged, format));
    }
}
