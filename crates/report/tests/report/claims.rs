//! Claims of publications, and what runs say of them.

use pitot_plan::{Bounds, Claim, Levels, Measure};
use pitot_record::Run;
use pitot_report::{Experiments, Format, Reported};
use serde_json::Value;

use crate::forms::render;
use crate::support::{Fixture, SMALL, written};

fn levels(of: &[(&str, &[&str])]) -> Option<Levels> {
    let own = |(name, levels): &(&str, &[&str])| {
        ((*name).to_owned(), levels.iter().map(|level| (*level).to_owned()).collect())
    };
    Some(Levels(of.iter().map(own).collect()))
}

fn claim(id: &str, holds: &str) -> Claim {
    Claim {
        id: id.to_owned(),
        source: "Someone, 2001".to_owned(),
        text: "a claim".to_owned(),
        metric: "throughput".to_owned(),
        holds: Bounds::read(holds).unwrap_or_default(),
        ..Claim::default()
    }
}

/// What a run with claims says of them, as JSON has it.
fn concluded(claims: Vec<Claim>) -> Vec<Value> {
    let run = with(claims);
    let report: Value = serde_json::from_str(&render(&run, Format::Json)).unwrap();
    report["conclusions"].as_array().unwrap().clone()
}

fn with(claims: Vec<Claim>) -> Run {
    let mut run = written(&Fixture { repetitions: 8, ..SMALL });
    run.plan.claim = claims;
    run
}

const FORK: (&str, &[&str]) = ("server", &["fork+blocking"]);
const LOOP: (&str, &[&str]) = ("server", &["loop+epoll-et"]);
const THREAD: (&str, &[&str]) = ("server", &["thread+blocking"]);
const AT_1000: (&str, &[&str]) = ("load.connections", &["1000"]);
const AT_10: (&str, &[&str]) = ("load.connections", &["10"]);

#[test]
fn a_claim_holds_is_reversed_or_cannot_be_told_by_its_whole_interval() {
    let of = |id: &str, holds: &str| Claim {
        of: levels(&[LOOP, AT_1000]),
        to: levels(&[FORK]),
        ..claim(id, holds)
    };
    let all = concluded(vec![
        of("holds", "above 2"),
        Claim { because: "that is why".into(), ..of("reversed", "below 2") },
        Claim { reversed: Bounds::read("below 1"), ..of("neither", "above 1000") },
        Claim { because: "nobody said".into(), ..of("open", "") },
    ]);
    let ratio = all[0]["measured"].as_f64().unwrap();
    let (low, high) =
        (all[0]["interval"]["low"].as_f64().unwrap(), all[0]["interval"]["high"].as_f64().unwrap());
    assert!(low > 2.0 && low <= ratio && ratio <= high, "{:?}", all[0]);
    let said = |at: usize| (all[at]["verdict"].as_str().unwrap(), all[at]["why"].as_str().unwrap());
    assert_eq!(said(0), ("holds", ""));
    assert_eq!(said(1), ("reversed", "that is why"));
    assert_eq!(
        said(2),
        ("cannot-tell", "it holds above 1000, and is reversed below 1; the interval lies in neither")
    );
    assert_eq!(said(3), ("cannot-tell", "nobody said"));
    assert_eq!(all[3]["measured"], all[0]["measured"], "what is open is shown, too");
}

#[test]
fn figures_are_values_ratios_ratios_of_ratios_differences_and_spreads() {
    let ratio = |of, to| Claim { of: levels(of), to: levels(to), ..claim("ratio", "above 0") };
    let all = concluded(vec![
        Claim { of: levels(&[LOOP, AT_1000]), ..claim("value", "above 1000") },
        ratio(&[LOOP, AT_1000], &[THREAD]),
        ratio(&[LOOP, AT_10], &[THREAD]),
        Claim { than: levels(&[AT_10]), ..ratio(&[LOOP, AT_1000], &[THREAD]) },
        ratio(&[LOOP], &[THREAD]),
        Claim { is_difference: true, ..ratio(&[LOOP, AT_1000], &[THREAD]) },
        Claim { of: levels(&[AT_1000]), over: Some("server".into()), ..claim("spread", "above 2") },
    ]);
    let figure = |at: usize| all[at]["measured"].as_f64().unwrap_or_else(|| panic!("{:?}", all[at]));
    let near = |a: f64, b: f64| (a / b - 1.0).abs() < 0.02;
    assert!(figure(0) > 100_000.0);
    assert!(near(figure(3), figure(1) / figure(2)));
    assert!(near(figure(4), (figure(1) * figure(2)).sqrt()), "the geometric mean over the connections");
    assert!(near(figure(5), figure(0) * (1.0 - 1.0 / figure(1))));
    assert!(figure(6) > figure(1), "fork is the slowest");
    let width = |at: usize| {
        let of = |end: &str| all[at]["interval"][end].as_f64().unwrap();
        (of("high") / of("low")).ln()
    };
    assert!(width(3) > width(1) && width(3) > width(2), "the errors of both ratios count");
}

#[test]
fn what_was_skipped_or_left_out_is_why_a_claim_cannot_be_told() {
    let of = |levels| Claim { of: levels, ..claim("x", "above 1") };
    let all = concluded(vec![
        of(levels(&[("server", &["loop+uring"])])),
        of(levels(&[("server", &["tokio"])])),
        Claim { because: "no run can show it".into(), ..claim("y", "") },
    ]);
    let why: Vec<&str> = all.iter().map(|one| one["why"].as_str().unwrap()).collect();
    assert!(why[0].starts_with("this run skipped loop+uring: io_uring is switched off"), "{why:?}");
    assert_eq!(why[1..], ["this run has no tokio", "no run can show it"]);
    assert!(all.iter().all(|one| one["verdict"] == "cannot-tell" && one["measured"].is_null()));
}

#[test]
fn cells_that_were_measured_in_different_ways_decide_no_claim() {
    let against_fork =
        |server| Claim { of: levels(&[server, AT_10]), to: levels(&[FORK]), ..claim("x", "above 0") };
    let mut run = with(vec![against_fork(LOOP), against_fork(THREAD)]);
    for cell in &mut run.cells {
        if levels(&[LOOP]).is_some_and(|of| of.matches(&cell.factors)) {
            cell.measure = Measure::Slices;
        } else {
            cell.fresh_reason = "its server is never idle".to_owned();
        }
    }
    let report: Value = serde_json::from_str(&render(&run, Format::Json)).unwrap();
    let [of_loop, of_thread] = [0, 1].map(|at| &report["conclusions"][at]);
    assert_eq!(of_loop["verdict"], "cannot-tell");
    let why = of_loop["why"].as_str().unwrap();
    assert!(
        why.starts_with("fork+blocking, 10 was measured alone, since its server is never idle, and loop"),
        "{why}"
    );
    assert_eq!(of_thread["verdict"], "holds", "{of_thread}");
}

#[test]
fn several_experiments_make_one_page_which_names_those_that_were_not_run() {
    let holds = Claim {
        of: levels(&[LOOP, AT_1000]),
        to: levels(&[FORK]),
        published: Some(12.0),
        ..claim("E1.2", "above 2")
    };
    let missing = Run {
        plan: pitot_plan::Plan {
            title: "A mail engine".into(),
            claim: vec![Claim { of: levels(&[LOOP]), ..claim("E2.1", "above 1") }],
            ..pitot_plan::Plan::default()
        },
        ..Run::default()
    };
    let all = Experiments {
        runs: vec![(with(vec![holds]), None), (missing, Some("this build has no mail".into()))],
    };
    let page = all.report(Format::Markdown).unwrap();
    for part in [
        "Of 2 claims, **1 hold**",
        "A mail engine",
        "Not run: This build has no mail.",
        "12 times",
        "cannot be told",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let data: Value = serde_json::from_str(&all.report(Format::Json).unwrap()).unwrap();
    assert_eq!(data["schema"], "pitot-experiments/1");
    let verdicts: Vec<&str> =
        data["conclusions"].as_array().unwrap().iter().map(|one| one["verdict"].as_str().unwrap()).collect();
    assert_eq!(verdicts, ["holds", "cannot-tell"]);
    assert_eq!(data["conclusions"][1]["why"], "this build has no mail");
    assert!(all.report(Format::Html).unwrap().contains("<svg"), "each has its picture");
}
